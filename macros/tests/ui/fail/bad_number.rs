//! A number with a suffix of Rust.

fa::attention! {
    attention local {
        head_dim = 64;
        scale = 0.125f32;
    }
}

fn main() {}
