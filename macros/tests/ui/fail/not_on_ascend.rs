//! What only the CPU can do yet needs `target = cpu`.

fa::attention! {
    attention local {
        head_dim = 64;
        precision = fp32;
    }
}

fn main() {}
