//! Tokens that the language does not have.

fa::attention! {
    attention local {
        head_dim = 64;
        mask = 'a' == kv_pos;
    }
}

fn main() {}
