//! A name that no module can have.

fa::attention! {
    attention crate {
        head_dim = 64;
    }
}

fn main() {}
