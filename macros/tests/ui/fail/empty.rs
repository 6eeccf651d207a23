//! Nothing at all.

fa::attention! {

}

fn main() {}
