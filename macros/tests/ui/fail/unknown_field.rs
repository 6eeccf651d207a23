//! A misspelt field.

fa::attention! {
    attention local {
        head_dm = 64;
    }
}

fn main() {}
