//! Each variant has its own errors.

fa::attention! {
    attention first {
        head_dim = 600;
    }

    attention second : frist {
        mask = causal;
    }
}

fn main() {}
