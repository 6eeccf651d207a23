//! A name of the language cannot be defined anew.

fa::attention! {
    attention local {
        head_dim = 64;
        let score = 1.0;
    }
}

fn main() {}
