//! What only the CPU can do yet needs `target = cpu`.

fa::attention! {
    attention local {
        head_dim = 64;
        tensor blocks: bool[8, 8];
        mask = blocks[clamp(q_idx / 64, 0, 7), clamp(kv_idx / 64, 0, 7)];
    }
}

fn main() {}
