//! Instructions that add, subtract or multiply, clamp at zero, and convert, in one pass.

use half::f16;

use crate::abi::Code;
use crate::dtype::Dtype;
use crate::exec::lanes::{Buffer, propagate};
use crate::exec::{Machine, cast};
use crate::local::Mem;
use crate::plan::vector::VectorPlan;

/// Runs all repeats.
pub(crate) fn run(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let (dst_width, src_width) = (plan.dst_type.width(), plan.src_type.width());
    let [Some(first), Some(second)] = plan.src else {
        unreachable!("the headers pass two sources");
    };
    let (mut a, mut b, mut out) = (Buffer::new(), Buffer::new(), Buffer::new());
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        let end = active.end();
        a.load(memory, first, repeat, end, block);
        b.load(memory, second, repeat, end, block);
        propagate(
            &mut out,
            dst_width,
            &[(&a, src_width), (&b, src_width)],
            end,
        );
        for lane in 0..end {
            let bits = combine(
                plan,
                element(&a, lane, src_width),
                element(&b, lane, src_width),
            );
            let bits = cast::one(plan, bits);
            out.bytes[lane * dst_width..(lane + 1) * dst_width]
                .copy_from_slice(&bits.to_le_bytes()[..dst_width]);
        }
        out.store(memory, plan.dst, repeat, active, block);
    }
}

fn element(buffer: &Buffer, lane: usize, width: usize) -> u64 {
    let mut raw = [0u8; 8];
    raw[..width].copy_from_slice(&buffer.bytes[lane * width..(lane + 1) * width]);
    u64::from_le_bytes(raw)
}

/// The sum, difference or product in the source's type, clamped where the instruction clamps.
fn combine(plan: &VectorPlan, x: u64, y: u64) -> u64 {
    let clamp = plan.code != Code::MulCast;
    let float = |x: f32, y: f32| {
        let value = match plan.code {
            Code::MulCast => x * y,
            Code::SubReluCast => x - y,
            _ => x + y,
        };
        if clamp && value < 0.0 { 0.0 } else { value }
    };
    let integer = |x: i64, y: i64, wrap: fn(i64) -> i64| {
        let value = wrap(if plan.code == Code::SubReluCast {
            x - y
        } else {
            x + y
        });
        if clamp { value.max(0) } else { value }
    };
    match plan.src_type {
        Dtype::F16 => {
            let value = float(
                f16::from_bits(x as u16).to_f32(),
                f16::from_bits(y as u16).to_f32(),
            );
            f16::from_f32(value).to_bits().into()
        }
        Dtype::F32 => float(f32::from_bits(x as u32), f32::from_bits(y as u32))
            .to_bits()
            .into(),
        Dtype::I16 => {
            let wide = |bits: u64| i64::from(bits as u16 as i16);
            integer(wide(x), wide(y), |value| i64::from(value as i16)) as u16 as u64
        }
        _ => {
            let wide = |bits: u64| i64::from(bits as u32 as i32);
            integer(wide(x), wide(y), |value| i64::from(value as i32)) as u32 as u64
        }
    }
}
