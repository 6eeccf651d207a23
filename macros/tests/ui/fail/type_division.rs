//! Ints do not become floats by themselves.

fa::attention! {
    attention local {
        head_dim = 64;
        scale = 1/8;
    }
}

fn main() {}
