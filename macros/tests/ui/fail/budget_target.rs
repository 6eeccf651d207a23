//! The tile fits by itself, but not the one of a target.

fa::attention! {
    attention local {
        head_dim = 128;
        target ascend910b { tile { block_q = 1024; } }
    }
}

fn main() {}
