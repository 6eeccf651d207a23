//! A float mask is no mask.

fa::attention! {
    attention local {
        head_dim = 64;
        tensor drop: fp32[b, q_len, kv_len];
        mask = drop[b, q_idx, kv_idx];
    }
}

fn main() {}
