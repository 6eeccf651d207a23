//! An expression takes its inputs one by one.

fn main() {
    let q = fa::Tensor::zeros(fa::Dtype::Fp16, &[1, 1, 1, 64]);
    let attn = fa::attention!(< head_dim = 64, tensor slopes: fp32[h], score = score - slopes[h] >);
    let _ = attn.forward(&q, &q, &q);
}
