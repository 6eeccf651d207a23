//! Errors in a file are shown with their place.

fa::attention!("broken.fa");

fn main() {}
