//! Definitions that depend on each other.

fa::attention! {
    attention local {
        head_dim = 64;
        let a = b_ + 1;
        let b_ = a - 1;
        mask = a > b_;
    }
}

fn main() {}
