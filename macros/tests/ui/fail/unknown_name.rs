//! A misspelt name, with the one that was meant.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = causl;
    }
}

fn main() {}
