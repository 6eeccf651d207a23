//! An index that may lie outside.

fa::attention! {
    attention local {
        head_dim = 64;
        tensor slopes: fp32[h];
        score = score - slopes[h + 1];
    }
}

fn main() {}
