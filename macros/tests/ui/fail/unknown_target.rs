//! A target that nobody has described.

fa::attention! {
    attention local {
        head_dim = 64;
        target ascend910c { tile { block_q = 64; } }
    }
}

fn main() {}
