//! Two errors are two compile errors.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = causl;
        score = score * sloep;
    }
}

fn main() {}
