//! Names of the crate around it do not reach into the expansion.

#![allow(
    dead_code,
    non_camel_case_types,
    reason = "the names stand in the way, and are not for use"
)]

mod std {}
mod core {}
struct Option;
struct Result;
struct Box;
struct Sized;
struct i32;
struct f32;
struct bool;
struct str;
fn drop() {}

macro_rules! assert {
    () => {};
}

fa::attention! {
    attention local { head_dim = 16; mask = causal; param heat: float = 1.0; score = score * heat; }
}

fn main() {
    let attn = fa::attention!(< head_dim = 16, mask = causal >);
    if attn.ascend_c().is_empty() || local::ASCEND_C.is_empty() {
        ::std::process::exit(1);
    }
    assert!();
}
