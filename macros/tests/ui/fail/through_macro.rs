//! A value that came through another macro is marked where it was written.

macro_rules! local {
    ($mask:expr) => {
        fa::attention! {
            attention local {
                head_dim = 64;
                mask = $mask;
            }
        }
    };
}

local!(causal && windw(4, 0));

fn main() {}
