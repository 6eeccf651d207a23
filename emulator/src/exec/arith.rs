//! The lane loops: one match per repeat, straight loops inside.

use crate::abi::Code;
use crate::exec::lanes::MAX_LANES;

/// Larger of two, with NaN winning.
fn maximum(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// Smaller of two, with NaN winning.
fn minimum(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

fn relu(a: f32) -> f32 {
    if a < 0.0 { 0.0 } else { a }
}

/// Exponential as the model defines it: the double result rounded once.
fn exp(a: f32) -> f32 {
    f64::from(a).exp() as f32
}

/// Natural logarithm, likewise.
fn ln(a: f32) -> f32 {
    f64::from(a).ln() as f32
}

type Row = [f32; MAX_LANES];

/// Computes `count` float lanes.
pub(crate) fn floats(
    code: Code,
    a: &Row,
    b: &Row,
    acc: &Row,
    scalar: f32,
    out: &mut Row,
    count: usize,
) {
    macro_rules! each {
        (|$x:ident, $y:ident, $z:ident| $value:expr) => {
            for lane in 0..count {
                let ($x, $y, $z) = (a[lane], b[lane], acc[lane]);
                let _ = ($x, $y, $z);
                out[lane] = $value;
            }
        };
    }
    match code {
        Code::Add => each!(|x, y, z| x + y),
        Code::Sub => each!(|x, y, z| x - y),
        Code::Mul => each!(|x, y, z| x * y),
        Code::Div => each!(|x, y, z| x / y),
        Code::Max => each!(|x, y, z| maximum(x, y)),
        Code::Min => each!(|x, y, z| minimum(x, y)),
        Code::AddRelu => each!(|x, y, z| relu(x + y)),
        Code::SubRelu => each!(|x, y, z| relu(x - y)),
        Code::MulAddDst => each!(|x, y, z| x * y + z),
        Code::FusedMulAdd => each!(|x, y, z| x * z + y),
        Code::FusedMulAddRelu => each!(|x, y, z| relu(x * z + y)),
        Code::Abs => each!(|x, y, z| x.abs()),
        Code::Exp => each!(|x, y, z| exp(x)),
        Code::Ln => each!(|x, y, z| ln(x)),
        Code::Sqrt => each!(|x, y, z| x.sqrt()),
        Code::Rsqrt => each!(|x, y, z| (1.0 / f64::from(x).sqrt()) as f32),
        Code::Reciprocal => each!(|x, y, z| 1.0 / x),
        Code::Relu => each!(|x, y, z| relu(x)),
        Code::Adds => each!(|x, y, z| x + scalar),
        Code::Muls => each!(|x, y, z| x * scalar),
        Code::Maxs => each!(|x, y, z| maximum(x, scalar)),
        Code::Mins => each!(|x, y, z| minimum(x, scalar)),
        Code::LeakyRelu => each!(|x, y, z| if x < 0.0 { x * scalar } else { x }),
        Code::Axpy => each!(|x, y, z| x * scalar + z),
        _ => unreachable!("not a float instruction"),
    }
}

/// An integer lane type.
pub(crate) trait Lane: Copy + Default + Ord {
    fn from_bits(bits: u64) -> Self;
    fn decode(bytes: &[u8], out: &mut [Self]);
    fn encode(values: &[Self], bytes: &mut [u8]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn shl(self, by: u64) -> Self;
    fn shr(self, by: u64, round: bool) -> Self;
    fn bits(self) -> u64;
}

macro_rules! lane {
    ($type:ty, $bytes:literal) => {
        impl Lane for $type {
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
            fn decode(bytes: &[u8], out: &mut [Self]) {
                for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact($bytes)) {
                    *out = <$type>::from_le_bytes(bytes.try_into().expect("whole elements"));
                }
            }
            fn encode(values: &[Self], bytes: &mut [u8]) {
                for (bytes, value) in bytes.chunks_exact_mut($bytes).zip(values) {
                    bytes.copy_from_slice(&value.to_le_bytes());
                }
            }
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn not(self) -> Self {
                !self
            }
            fn shl(self, by: u64) -> Self {
                if by >= <$type>::BITS.into() {
                    0
                } else {
                    self << by
                }
            }
            fn shr(self, by: u64, round: bool) -> Self {
                let by = by.min(u64::from(<$type>::BITS - 1)) as u32;
                let shifted = self >> by;
                if round && by > 0 {
                    shifted.wrapping_add((self >> (by - 1)) & 1)
                } else {
                    shifted
                }
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
    };
}

lane!(i16, 2);
lane!(u16, 2);
lane!(i32, 4);
lane!(u32, 4);

/// Computes `count` integer lanes; overflow wraps.
pub(crate) fn integers<T: Lane>(
    code: Code,
    a: &[T; MAX_LANES],
    b: &[T; MAX_LANES],
    scalar: T,
    round: bool,
    out: &mut [T; MAX_LANES],
    count: usize,
) {
    macro_rules! each {
        (|$x:ident, $y:ident| $value:expr) => {
            for lane in 0..count {
                let ($x, $y) = (a[lane], b[lane]);
                let _ = $y;
                out[lane] = $value;
            }
        };
    }
    let zero = T::default();
    match code {
        Code::Add => each!(|x, y| x.add(y)),
        Code::Sub => each!(|x, y| x.sub(y)),
        Code::Mul => each!(|x, y| x.mul(y)),
        Code::Max => each!(|x, y| x.max(y)),
        Code::Min => each!(|x, y| x.min(y)),
        Code::And => each!(|x, y| x.and(y)),
        Code::Or => each!(|x, y| x.or(y)),
        Code::Not => each!(|x, y| x.not()),
        Code::Relu => each!(|x, y| x.max(zero)),
        Code::AddRelu => each!(|x, y| x.add(y).max(zero)),
        Code::SubRelu => each!(|x, y| x.sub(y).max(zero)),
        Code::Adds => each!(|x, y| x.add(scalar)),
        Code::Muls => each!(|x, y| x.mul(scalar)),
        Code::Maxs => each!(|x, y| x.max(scalar)),
        Code::Mins => each!(|x, y| x.min(scalar)),
        Code::Shl => {
            let by = scalar.bits();
            each!(|x, y| x.shl(by));
        }
        Code::Shr => {
            let by = scalar.bits();
            each!(|x, y| x.shr(by, round));
        }
        _ => unreachable!("not an integer instruction"),
    }
}
