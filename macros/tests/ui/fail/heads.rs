//! Heads that do not divide each other.

fa::attention! {
    attention local {
        head_dim = 64;
        heads = 33;
        kv_heads = 2;
    }
}

fn main() {}
