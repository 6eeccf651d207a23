//! Elements of every type as `f64` and back. Every element type fits `f64` exactly.

use fa_dsl::reference::Round;
use fa_dsl::variant::Dtype;
use half::{bf16, f16};

/// Reads an element.
///
/// # Safety
/// `at` points to an initialised element of that type, aligned for it.
pub(crate) unsafe fn read(dtype: Dtype, at: *const u8) -> f64 {
    // SAFETY: the caller vouches for the pointer.
    unsafe {
        match dtype {
            Dtype::Fp32 => f64::from(at.cast::<f32>().read()),
            Dtype::Fp16 => at.cast::<f16>().read().to_f64(),
            Dtype::Bf16 => at.cast::<bf16>().read().to_f64(),
            Dtype::Int8 => f64::from(at.cast::<i8>().read()),
            Dtype::Int32 => f64::from(at.cast::<i32>().read()),
            Dtype::Bool => f64::from(u8::from(at.read() != 0)),
        }
    }
}

/// Writes an element, rounded to nearest even; ints saturate.
///
/// # Safety
/// `at` points to memory of an element of that type that may be written, aligned for it.
pub(crate) unsafe fn write(dtype: Dtype, at: *mut u8, value: f64) {
    // SAFETY: the caller vouches for the pointer.
    unsafe {
        match dtype {
            Dtype::Fp32 => at.cast::<f32>().write(value as f32),
            Dtype::Fp16 => at.cast::<f16>().write(f16::from_f64(value)),
            Dtype::Bf16 => at.cast::<bf16>().write(bf16::from_f64(value)),
            Dtype::Int8 => at.cast::<i8>().write(value.round_ties_even() as i8),
            Dtype::Int32 => at.cast::<i32>().write(value.round_ties_even() as i32),
            Dtype::Bool => at.write(u8::from(value != 0.0)),
        }
    }
}

/// Rounding to a type and back, as a naive kernel does when it stores; identity for fp32 and ints.
pub(crate) fn round(dtype: Dtype) -> Round {
    match dtype {
        Dtype::Fp16 => |x| f16::from_f32(x).to_f32(),
        Dtype::Bf16 => |x| bf16::from_f32(x).to_f32(),
        Dtype::Fp32 | Dtype::Int8 | Dtype::Int32 | Dtype::Bool => |x| x,
    }
}
