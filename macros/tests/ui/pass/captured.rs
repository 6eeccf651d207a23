//! Captured tensors and parameters are fields.

use fa::View;

fa::attention! {
    attention alibi {
        head_dim = 16;
        tensor slopes: fp32[h];
        tensor keep: bool[b, kv_len];
        param heat: float;
        param shift: float = 0.0;
        mask = keep[b, kv_idx];
        score = score / heat - slopes[h] * (float(q_pos - kv_pos) + shift);
    }
}

pub(crate) fn main() {
    let elements = vec![fa::f16::ONE; 2 * 5 * 16];
    let q = fa::View::new(&elements, &[1, 2, 5, 16]).expect("as many elements");
    let slopes = View::new(&[0.5_f32, 0.25], &[2]).expect("two heads");
    let keep = [true, false, true, true, false];
    let keep = View::new(&keep, &[1, 5]).expect("five keys");
    let inputs = alibi::Inputs { slopes, keep, heat: 2.0, shift: None };
    let out = alibi::forward(&q, &q, &q, inputs).expect("a legal launch");
    assert!(out.to_f64().iter().all(|value| (value - 1.0).abs() < 1e-3));
}
