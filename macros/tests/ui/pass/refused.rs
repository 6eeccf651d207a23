//! A launch that does not fit is refused by name, before any kernel code runs.

fa::attention! {
    attention local { head_dim = 16; mask = causal; }
}

pub(crate) fn main() {
    let q = fa::Tensor::zeros(fa::Dtype::Fp16, &[1, 2, 5, 16]);
    let k = fa::Tensor::zeros(fa::Dtype::Fp16, &[1, 2, 7, 8]);
    let error = local::forward(&q, &k, &q).expect_err("k is too narrow").to_string();
    assert!(error.contains("the last dimension of `k` is 8"), "{error}");
    let single = fa::Tensor::zeros(fa::Dtype::Fp32, &[1, 2, 5, 16]);
    let error = local::forward(&q, &q, &single).expect_err("v is single").to_string();
    assert!(error.contains("`v` is fp32"), "{error}");
    let nan = fa::Tensor::from_f64(fa::Dtype::Fp16, &[1, 1, 1, 16], &[f64::NAN; 16]);
    assert!(local::forward(&nan, &nan, &nan).is_ok(), "nobody looks at elements");
    let strict = local::call(&nan, &nan, &nan).strict().run();
    let error = strict.expect_err("an element is NaN").to_string();
    assert!(error.contains("`q`"), "{error}");
}
