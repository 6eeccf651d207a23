//! The scale is known when the kernel is written.

fa::attention! {
    attention local {
        head_dim = 64;
        param heat: float;
        scale = 1.0 / heat;
    }
}

fn main() {}
