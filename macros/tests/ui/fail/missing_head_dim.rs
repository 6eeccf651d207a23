//! The one required field.

fa::attention! {
    attention local {
        mask = causal;
    }
}

fn main() {}
