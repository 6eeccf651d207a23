//! A window has two sides.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = window(255);
    }
}

fn main() {}
