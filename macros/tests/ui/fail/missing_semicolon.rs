//! The gap belongs to the token before it.

fa::attention! {
    attention local {
        head_dim = 64
        mask = causal;
    }
}

fn main() {}
