//! A rate that rounds to nothing.

fa::attention! {
    attention local {
        head_dim = 64;
        dropout = 0.000001;
    }
}

fn main() {}
