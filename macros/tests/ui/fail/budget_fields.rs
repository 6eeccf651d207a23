//! The same as an expression, whose keys of the tile are flat.

fn main() {
    let attn = fa::attention!(< head_dim = 256, block_q = 512, block_kv = 512 >);
}
