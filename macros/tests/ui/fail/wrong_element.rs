//! A captured tensor of another type.

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
    let slopes = View::new(&[1_i32], &[1]).expect("one element");
    let _ = alibi::forward(&q, &q, &q, alibi::Inputs { slopes, heat: 1.0 });
}
