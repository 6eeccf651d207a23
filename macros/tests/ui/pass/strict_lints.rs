//! The expansion passes the strictest lints of the crate around it.

#![deny(
    warnings,
    missing_docs,
    unused,
    nonstandard_style,
    future_incompatible,
    rust_2018_idioms
)]
#![deny(
    unreachable_pub,
    missing_debug_implementations,
    missing_copy_implementations,
    single_use_lifetimes
)]
#![deny(clippy::all, clippy::pedantic)]
#![forbid(unsafe_code, unused_imports)]

/// Variants.
pub mod variants {
    fa::attention! {
        attention local { head_dim = 16; mask = causal; }
        attention alibi { head_dim = 16; tensor slopes: fp32[h]; score = score - slopes[h]; }
    }
}

fn main() {
    let attn = fa::attention!(< head_dim = 16 >);
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    assert!(attn.forward(&q, &q, &q).is_ok());
    assert!(variants::local::forward(&q, &q, &q).is_ok());
}
