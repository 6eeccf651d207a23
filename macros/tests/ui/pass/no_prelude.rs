//! The expansion needs no prelude.

#![no_implicit_prelude]

mod variants {
    ::fa::attention! {
        attention local { head_dim = 16; mask = causal; tensor slopes: fp32[h]; score = score - slopes[h]; }
    }
}

fn main() {
    let attn = ::fa::attention!(< head_dim = 16 >);
    ::std::assert!(!attn.ascend_c().is_empty());
    ::std::assert!(!variants::local::ASCEND_C.is_empty());
}
