//! The scratch of a CPU core has a budget, too.

fa::attention! {
    attention local {
        head_dim = 512;
        target cpu { tile { block_q = 1024; block_kv = 1024; } }
    }
}

fn main() {}
