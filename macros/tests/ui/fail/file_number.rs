//! A number is no path.

fa::attention!(64);

fn main() {}
