//! A variant becomes a module.

fa::attention! {
    attention local { head_dim = 16; mask = causal; }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let out = local::forward(&q, &q, &q).expect("a legal launch");
    assert_eq!(out.shape(), [1, 2, 5, 16]);
    assert!(out.to_f64().iter().all(|value| *value == 1.0));
    assert!(local::SOURCE.starts_with("attention local { head_dim = 16;"));
    assert!(local::ASCEND_C.contains("fa_local_forward"));
    assert_eq!(local::ASCEND_FILES[0].1, local::ASCEND_C);
    assert_eq!(local::ATTENTION.name(), "local");
}
