//! A layout that there is not.

fa::attention! {
    attention local {
        head_dim = 64;
        layout = bhsd;
    }
}

fn main() {}
