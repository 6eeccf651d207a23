//! Nothing is described.

fa::attention! {
    const radius: int = 4;
}

fn main() {}
