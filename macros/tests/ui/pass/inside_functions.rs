//! Inside functions, generic code, closures, and items of traits.

trait Attend {
    const KERNEL: &'static str;

    fn length<T: Into<f64>>(value: T) -> usize;
}

struct One;

impl Attend for One {
    const KERNEL: &'static str = {
        fa::attention! { attention inner { head_dim = 16; } }
        inner::ASCEND_C
    };

    fn length<T: Into<f64>>(value: T) -> usize {
        fa::attention! {
            attention inner { head_dim = 16; mask = causal; }
        }
        let attn = fa::attention!(< head_dim = 32 >);
        let shorter = || fa::attention!(< head_dim = 16 >).ascend_c().len();
        let _: f64 = value.into();
        inner::ASCEND_C.len() + attn.ascend_c().len() + shorter()
    }
}

pub(crate) fn main() {
    assert!(One::length(1.0_f32) > One::KERNEL.len());
}
