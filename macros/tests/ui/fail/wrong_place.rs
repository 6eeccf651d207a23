//! The mask does not see the score.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = score > 0.0;
    }
}

fn main() {}
