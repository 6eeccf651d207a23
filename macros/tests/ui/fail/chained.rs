//! Comparisons are not chained.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = 0 <= kv_pos < 4;
    }
}

fn main() {}
