//! The bracket is never closed.

fn main() {
    let attn = fa::attention!(< head_dim = 64, mask = causal);
}
