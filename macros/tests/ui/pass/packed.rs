//! Packed sequences take their lengths among the inputs.

use fa::PackedLengths;

fa::attention! {
    attention packed { head_dim = 16; layout = tnd; mask = causal; target = cpu; }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 5 * 2 * 16];
    let q = fa::View::new(&elements, &[5, 2, 16]).expect("as many elements");
    let lengths = PackedLengths { cu_q: vec![0, 2, 5], cu_kv: vec![0, 2, 5] };
    let results = packed::call(&q, &q, &q, packed::Inputs { packed: lengths }).run();
    let lse = results.expect("a legal launch").lse.to_f64();
    // A head's rows see 1, 2 keys of the first sequence, then 1, 2, 3 of the second; every score is 4.
    for (row, keys) in [1.0_f64, 2.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
        assert!((lse[row] - 4.0 - keys.ln()).abs() < 1e-3, "row {row}: {lse:?}");
    }
    let wrong = PackedLengths { cu_q: vec![0, 2, 4], cu_kv: vec![0, 2, 5] };
    let error = packed::forward(&q, &q, &q, packed::Inputs { packed: wrong }).expect_err("4 of 5 rows");
    assert!(error.to_string().contains("`cu_q`"), "{error}");
}
