//! A constant that the file does not have.

fa::attention!("../pass/local.fa", raduis = 3);

fn main() {}
