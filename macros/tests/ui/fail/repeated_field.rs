//! A field is written twice.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = causal;
        mask = window(4, 0);
    }
}

fn main() {}
