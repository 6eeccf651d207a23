//! A captured tensor is missing.

use fa::{Dtype, Tensor, View};

fa::attention! {
    attention alibi {
        head_dim = 64;
        tensor slopes: fp32[h];
        param heat: float;
        score = score / heat - slopes[h];
    }
}

fn main() {
    let q = Tensor::zeros(Dtype::Fp16, &[1, 1, 1, 64]);
    let _ = alibi::forward(&q, &q, &q, alibi::Inputs { heat: 1.0 });
    let _ = View::new(&[1.0_f32], &[1]);
}
