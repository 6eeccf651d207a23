//! An input that nothing reads.

fa::attention! {
    attention local {
        head_dim = 64;
        tensor slopes: fp32[h];
    }
}

fn main() {}
