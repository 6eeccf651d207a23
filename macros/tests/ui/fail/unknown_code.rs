//! A code that cannot be silenced.

fa::attention! {
    attention local {
        head_dim = 64;
        allow = [FA101];
    }
}

fn main() {}
