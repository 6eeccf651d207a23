//! A value outside its range.

fa::attention! {
    attention local {
        head_dim = 64;
        v_head_dim = 513;
    }
}

fn main() {}
