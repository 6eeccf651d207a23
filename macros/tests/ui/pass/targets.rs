//! What a variant says about targets.

fa::attention! {
    attention on_cpu { head_dim = 16; precision = fp32; target = cpu; }
    attention on_chip { head_dim = 128; target ascend910_93 { tile { block_q = 64; } } }
}

pub(crate) fn main() {
    assert_eq!(on_cpu::CPU_BUDGET.target, "cpu");
    assert_eq!(on_chip::BUDGET.target, "ascend910_93");
    let q = fa::Tensor::from_f32(&[1, 1, 1, 16], &[1.0; 16]);
    assert!(on_cpu::forward(&q, &q, &q).is_ok());
}
