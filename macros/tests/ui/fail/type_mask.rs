//! A mask is a bool.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = q_pos - kv_pos;
    }
}

fn main() {}
