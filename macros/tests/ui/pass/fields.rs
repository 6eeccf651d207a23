//! Fields are an expression.

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let attn = fa::attention!(< head_dim = 16, mask = causal && window(3, 0), block_q = 64 >);
    let results = attn.call(&q, &q, &q).run().expect("a legal launch");
    let copy = attn;
    assert_eq!(copy.budget().target, "ascend910b");
    assert!(copy.ascend_c().contains("__aicore__"));
    let lse = results.lse.to_f64();
    assert!((lse[0] - 4.0).abs() < 1e-3, "16 / sqrt(16) + ln(1), got {}", lse[0]);
}
