//! A divisor that may be zero.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = q_pos % b == 0;
    }
}

fn main() {}
