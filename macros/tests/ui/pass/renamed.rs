//! The facade under another name, and the macro through a re-export.

extern crate fa as kernels;

mod tools {
    pub(crate) use kernels::attention as describe;
}

kernels::attention! {
    attention local { head_dim = 16; }
}

tools::describe! {
    attention other { head_dim = 16; mask = causal; }
}

fn main() {
    let attn = tools::describe!(< head_dim = 16 >);
    assert_ne!(local::ASCEND_C, other::ASCEND_C);
    assert!(!attn.ascend_c().is_empty());
}
