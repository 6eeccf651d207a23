//! What only the CPU can do yet needs `target = cpu`.

fa::attention! {
    attention local {
        head_dim = 64;
        tensor near: bool[9];
        mask = near[clamp(q_idx - kv_idx + 4, 0, 8)];
    }
}

fn main() {}
