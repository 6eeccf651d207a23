//! An expression takes its inputs one by one, whatever they are called.

use fa::View;

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let attn = fa::attention!(<
        head_dim = 16,
        tensor k: fp32[h],
        param v: float = 1.0,
        score = score - k[h] * v,
    >);
    let slopes = [0.5_f32, 0.25];
    let slopes = View::new(&slopes, &[2]).expect("two heads");
    let out = attn.forward(&q, &q, &q, slopes, None).expect("a legal launch");
    assert_eq!(out.shape(), [1, 2, 5, 16]);
}
