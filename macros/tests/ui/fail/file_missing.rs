//! A file that is not there.

fa::attention!("no_such.fa");

fn main() {}
