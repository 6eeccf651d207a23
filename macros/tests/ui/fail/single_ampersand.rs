//! `&` is not an operator.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = (q_pos >= kv_pos) & (b % 2 == 0);
    }
}

fn main() {}
