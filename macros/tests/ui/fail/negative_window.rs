//! An open side has a name.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = window(-1, 0);
    }
}

fn main() {}
