//! Conversions between element types with the rounding modes of the unit.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::exec::Machine;
use crate::exec::lanes::{Buffer, MAX_LANES, propagate, to_halves};
use crate::local::Mem;
use crate::plan::vector::{VectorPlan, round};

/// Runs all repeats of a cast.
pub(crate) fn run(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let source = plan.src[0].expect("Cast has a source");
    let lanes = plan.lanes.per_repeat;
    let (dst_width, src_width) = (plan.dst_type.width(), plan.src_type.width());
    let mut input = Buffer::new();
    let mut out = Buffer::new();
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        input.load(memory, source, repeat, active.end(), block);
        propagate(&mut out, dst_width, &[(&input, src_width)], active.end());
        convert(plan, &input, &mut out, lanes);
        out.store(memory, plan.dst, repeat, active, block);
    }
}

fn convert(plan: &VectorPlan, input: &Buffer, out: &mut Buffer, lanes: usize) {
    use Dtype::{Bf16, F16, F32};
    let mut row = [0f32; MAX_LANES];
    match (plan.src_type, plan.dst_type) {
        (F16, F32) => {
            input.halves(&mut row, lanes);
            out.put_f32s(&row, lanes);
        }
        (F32, F16) if plan.mode <= round::RINT => {
            input.f32s(&mut row, lanes);
            let mut halves = [f16::ZERO; MAX_LANES];
            to_halves(&row[..lanes], &mut halves[..lanes], plan.overflow);
            out.put_halves(&halves, lanes);
        }
        (Bf16, F32) => {
            for (to, from) in out
                .bytes
                .chunks_exact_mut(4)
                .zip(input.bytes.chunks_exact(2))
                .take(lanes)
            {
                to[..2].fill(0);
                to[2..].copy_from_slice(from);
            }
        }
        (F32, Bf16) if plan.mode == round::RINT => {
            for (to, from) in out
                .bytes
                .chunks_exact_mut(2)
                .zip(input.bytes.chunks_exact(4))
                .take(lanes)
            {
                let value = f32::from_le_bytes(from.try_into().expect("four bytes"));
                let value = plan.overflow.bfloat(bf16::from_f32(value));
                to.copy_from_slice(&value.to_le_bytes());
            }
        }
        _ => each(plan, input, out, lanes),
    }
}

/// The rare conversions, one lane at a time through double precision or 64-bit integers.
fn each(plan: &VectorPlan, input: &Buffer, out: &mut Buffer, lanes: usize) {
    let (src_width, dst_width) = (plan.src_type.width(), plan.dst_type.width());
    for lane in 0..lanes {
        let mut raw = [0u8; 8];
        raw[..src_width].copy_from_slice(&input.bytes[lane * src_width..(lane + 1) * src_width]);
        let bits = one(plan, u64::from_le_bytes(raw));
        out.bytes[lane * dst_width..(lane + 1) * dst_width]
            .copy_from_slice(&bits.to_le_bytes()[..dst_width]);
    }
}

/// Converts one element, given and returned as bits.
pub(super) fn one(plan: &VectorPlan, raw: u64) -> u64 {
    use Dtype::{Bf16, F16, F32, I8, I16, I32, I64, U8};
    let value = match plan.src_type {
        F32 => f64::from(f32::from_bits(raw as u32)),
        F16 => f16::from_bits(raw as u16).to_f64(),
        Bf16 => bf16::from_bits(raw as u16).to_f64(),
        I8 => f64::from(raw as u8 as i8),
        U8 => f64::from(raw as u8),
        I16 => f64::from(raw as u16 as i16),
        I32 => f64::from(raw as u32 as i32),
        _ => return from_wide(plan, raw as i64),
    };
    match plan.dst_type {
        I8 => to_integer(value, plan.mode, i8::MIN.into(), i8::MAX.into()) as u8 as u64,
        U8 => to_integer(value, plan.mode, 0, u8::MAX.into()) as u64,
        I16 => to_integer(value, plan.mode, i16::MIN.into(), i16::MAX.into()) as u16 as u64,
        I32 => to_integer(value, plan.mode, i32::MIN.into(), i32::MAX.into()) as u32 as u64,
        I64 => to_integer(value, plan.mode, i64::MIN.into(), i64::MAX.into()) as u64,
        F32 if plan.src_type == F32 => {
            u64::from((round_integral(value, plan.mode) as f32).to_bits())
        }
        F32 => u64::from(to_f32(value, plan.mode).to_bits()),
        F16 => u64::from(to_half(plan, value).to_bits()),
        Bf16 => u64::from(
            plan.overflow
                .bfloat(to_bfloat(value as f32, plan.mode))
                .to_bits(),
        ),
        _ => unreachable!("no such conversion"),
    }
}

/// 64-bit integers to 32-bit integers (saturating) and to float.
fn from_wide(plan: &VectorPlan, value: i64) -> u64 {
    if plan.dst_type == Dtype::I32 {
        return u64::from(value.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32);
    }
    u64::from((value as f32).to_bits())
}

/// Rounds to an integral value.
fn round_integral(value: f64, mode: i64) -> f64 {
    match mode {
        round::FLOOR => value.floor(),
        round::CEIL => value.ceil(),
        round::ROUND => value.round(),
        round::TRUNC => value.trunc(),
        _ => value.round_ties_even(),
    }
}

/// Rounds and clamps; NaN becomes 0.
fn to_integer(value: f64, mode: i64, low: i128, high: i128) -> i128 {
    let rounded = round_integral(value, mode);
    if rounded.is_nan() {
        return 0;
    }
    (rounded as i128).clamp(low, high)
}

/// An exact double to float under a rounding mode.
fn to_f32(value: f64, mode: i64) -> f32 {
    let nearest = value as f32;
    let up = |x: f32| if f64::from(x) < value { x.next_up() } else { x };
    let down = |x: f32| {
        if f64::from(x) > value {
            x.next_down()
        } else {
            x
        }
    };
    match mode {
        round::FLOOR => down(nearest),
        round::CEIL => up(nearest),
        round::TRUNC if value > 0.0 => down(nearest),
        round::TRUNC => up(nearest),
        _ => nearest,
    }
}

fn to_half(plan: &VectorPlan, value: f64) -> f16 {
    let value = match (plan.src_type, plan.deq_scale) {
        (Dtype::I32, Some(scale)) => value * f16::from_bits(scale).to_f64(),
        _ => value,
    };
    let mode = if plan.src_type == Dtype::I32 {
        round::RINT
    } else {
        plan.mode
    };
    let bits = narrow(value, mode, HALF);
    plan.overflow.half(f16::from_bits(bits as u16))
}

fn to_bfloat(value: f32, mode: i64) -> bf16 {
    bf16::from_bits(narrow(f64::from(value), mode, BFLOAT) as u16)
}

/// A 16-bit float format.
struct Format {
    mantissa: i32,
    min_exponent: i32,
    max_exponent: i32,
    infinity: u64,
}

const HALF: Format = Format {
    mantissa: 10,
    min_exponent: -14,
    max_exponent: 15,
    infinity: 0x7c00,
};
const BFLOAT: Format = Format {
    mantissa: 7,
    min_exponent: -126,
    max_exponent: 127,
    infinity: 0x7f80,
};

/// Rounds a double to a 16-bit float under any mode; overflow gives infinity.
fn narrow(value: f64, mode: i64, format: Format) -> u64 {
    let sign = u64::from(value.is_sign_negative()) << 15;
    if value.is_nan() {
        return sign | format.infinity | 1 << (format.mantissa - 1);
    }
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return sign | format.infinity;
    }
    let exponent = if magnitude == 0.0 {
        format.min_exponent
    } else {
        (((magnitude.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(format.min_exponent)
    };
    let unit = 2f64.powi(exponent - format.mantissa);
    let scaled = magnitude / unit;
    let rounded = match mode {
        round::FLOOR if value < 0.0 => scaled.ceil(),
        round::FLOOR => scaled.floor(),
        round::CEIL if value < 0.0 => scaled.floor(),
        round::CEIL => scaled.ceil(),
        round::TRUNC => scaled.floor(),
        round::ROUND => scaled.round(),
        round::ODD if scaled.fract() != 0.0 => scaled.floor() + 1.0 - scaled.floor() % 2.0,
        _ => scaled.round_ties_even(),
    };
    let biased = (exponent - format.min_exponent) as u64;
    // Subnormals and normals share the encoding: the hidden bit carries into the exponent field.
    let bits = (biased << format.mantissa) + rounded as u64;
    let limit = format.infinity;
    let _ = format.max_exponent;
    sign | bits.min(limit)
}
