//! Element types, and conversions between the 16-bit floats and fp32.

use half::{bf16, f16};

/// Element type of an operand; codes as in `include/fa_emu/types.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dtype {
    F32 = 1,
    F16 = 2,
    Bf16 = 3,
    I8 = 4,
    U8 = 5,
    I16 = 6,
    U16 = 7,
    I32 = 8,
    U32 = 9,
    I64 = 10,
    U64 = 11,
}

impl Dtype {
    pub(crate) fn from_raw(raw: u8) -> Option<Dtype> {
        const ALL: [Dtype; 11] = [
            Dtype::F32,
            Dtype::F16,
            Dtype::Bf16,
            Dtype::I8,
            Dtype::U8,
            Dtype::I16,
            Dtype::U16,
            Dtype::I32,
            Dtype::U32,
            Dtype::I64,
            Dtype::U64,
        ];
        ALL.get(usize::from(raw).checked_sub(1)?).copied()
    }

    /// Bytes of one element.
    pub(crate) fn width(self) -> usize {
        match self {
            Dtype::I8 | Dtype::U8 => 1,
            Dtype::F16 | Dtype::Bf16 | Dtype::I16 | Dtype::U16 => 2,
            Dtype::F32 | Dtype::I32 | Dtype::U32 => 4,
            Dtype::I64 | Dtype::U64 => 8,
        }
    }

    /// Name as a kernel spells it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "float",
            Dtype::F16 => "half",
            Dtype::Bf16 => "bfloat16_t",
            Dtype::I8 => "int8_t",
            Dtype::U8 => "uint8_t",
            Dtype::I16 => "int16_t",
            Dtype::U16 => "uint16_t",
            Dtype::I32 => "int32_t",
            Dtype::U32 => "uint32_t",
            Dtype::I64 => "int64_t",
            Dtype::U64 => "uint64_t",
        }
    }
}

/// What becomes of overflow and NaN in half arithmetic and in conversions to 16-bit floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Overflow {
    /// Infinities become the largest finite value, NaN becomes 0 (the device's default).
    #[default]
    Saturate,
    /// IEEE infinities and NaN.
    InfNan,
}

impl Overflow {
    pub(crate) fn half(self, value: f16) -> f16 {
        match self {
            Overflow::InfNan => value,
            Overflow::Saturate if value.is_nan() => f16::ZERO,
            Overflow::Saturate if value.is_infinite() && value.is_sign_negative() => f16::MIN,
            Overflow::Saturate if value.is_infinite() => f16::MAX,
            Overflow::Saturate => value,
        }
    }

    pub(crate) fn bfloat(self, value: bf16) -> bf16 {
        match self {
            Overflow::InfNan => value,
            Overflow::Saturate if value.is_nan() => bf16::ZERO,
            Overflow::Saturate if value.is_infinite() && value.is_sign_negative() => bf16::MIN,
            Overflow::Saturate if value.is_infinite() => bf16::MAX,
            Overflow::Saturate => value,
        }
    }
}
