//! Names that Rust keeps for itself.

use fa::View;

fa::attention! {
    attention match { head_dim = 16; tensor type: fp32[h]; score = score - type[h]; }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let slopes = View::new(&[0.5_f32, 0.25], &[2]).expect("two heads");
    assert!(r#match::forward(&q, &q, &q, r#match::Inputs { r#type: slopes }).is_ok());
}
