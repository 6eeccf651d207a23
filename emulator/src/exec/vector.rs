//! Lane-wise vector instructions: load a repeat, compute its lanes, store the active ones.

use half::f16;

use crate::abi::Code;
use crate::dtype::Dtype;
use crate::exec::lanes::{Buffer, MAX_LANES, propagate, to_halves};
use crate::exec::{Machine, arith, cast, fused};
use crate::local::Mem;
use crate::plan::vector::VectorPlan;

/// Runs all repeats in order.
pub(crate) fn run(machine: &mut Machine, plan: &VectorPlan) {
    match plan.code {
        Code::Brcb => return brcb(machine, plan),
        Code::VecIndex => return index(machine, plan),
        Code::Cast => return cast::run(machine, plan),
        Code::Duplicate => return duplicate(machine, plan),
        Code::Copy => return copy(machine, plan),
        Code::MulCast | Code::AddReluCast | Code::SubReluCast | Code::AddDeqRelu => {
            return fused::run(machine, plan);
        }
        _ => {}
    }
    match (plan.dst_type, plan.src_type) {
        (Dtype::F32, Dtype::F32) => floats(machine, plan, false, false),
        (Dtype::F32, Dtype::F16) => floats(machine, plan, false, true),
        (Dtype::F16, _) => floats(machine, plan, true, true),
        (Dtype::I16, _) => integers::<i16>(machine, plan),
        (Dtype::U16, _) => integers::<u16>(machine, plan),
        (Dtype::I32, _) => integers::<i32>(machine, plan),
        (Dtype::U32, _) => integers::<u32>(machine, plan),
        _ => unreachable!("the headers admit no other element types"),
    }
}

fn reads_destination(code: Code) -> bool {
    matches!(
        code,
        Code::MulAddDst | Code::Axpy | Code::FusedMulAdd | Code::FusedMulAddRelu
    )
}

/// Float and half arithmetic; half computes in float and rounds once.
fn floats(machine: &mut Machine, plan: &VectorPlan, half_dst: bool, half_src: bool) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let lanes = plan.lanes.per_repeat;
    let (dst_width, src_width) = (plan.dst_type.width(), plan.src_type.width());
    let mut buffers = [Buffer::new(), Buffer::new(), Buffer::new()];
    let mut values = [[0f32; MAX_LANES]; 3];
    let mut result = [0f32; MAX_LANES];
    let mut rounded = [f16::ZERO; MAX_LANES];
    let scalar = if half_src {
        f16::from_bits(plan.scalar as u16).to_f32()
    } else {
        f32::from_bits(plan.scalar as u32)
    };
    let accumulate = reads_destination(plan.code);
    let mut out = Buffer::new();
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        let end = active.end();
        for (slot, view) in plan.src.iter().enumerate() {
            let Some(view) = view else { continue };
            buffers[slot].load(memory, *view, repeat, end, block);
            decode(&buffers[slot], &mut values[slot], lanes, half_src);
        }
        if accumulate {
            buffers[2].load(memory, plan.dst, repeat, end, block);
            decode(&buffers[2], &mut values[2], lanes, half_dst);
        }
        let [a, b, acc] = &values;
        arith::floats(plan.code, a, b, acc, scalar, &mut result, lanes);
        let sources = [
            (&buffers[0], src_width),
            (&buffers[1], src_width),
            (&buffers[2], dst_width),
        ];
        propagate(&mut out, dst_width, &sources, end);
        if half_dst {
            to_halves(&result[..lanes], &mut rounded[..lanes], plan.overflow);
            out.put_halves(&rounded, lanes);
        } else {
            out.put_f32s(&result, lanes);
        }
        out.store(memory, plan.dst, repeat, active, block);
    }
}

fn decode(buffer: &Buffer, out: &mut [f32; MAX_LANES], lanes: usize, half: bool) {
    if half {
        buffer.halves(out, lanes)
    } else {
        buffer.f32s(out, lanes)
    }
}

/// Integer arithmetic and bit operations.
fn integers<T: arith::Lane>(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let width = size_of::<T>();
    let lanes = plan.lanes.per_repeat;
    let mut a = Buffer::new();
    let mut b = Buffer::new();
    let (mut x, mut y, mut z) = (
        [T::default(); MAX_LANES],
        [T::default(); MAX_LANES],
        [T::default(); MAX_LANES],
    );
    let scalar = T::from_bits(plan.scalar);
    let mut out = Buffer::new();
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        let end = active.end();
        if let Some(view) = plan.src[0] {
            a.load(memory, view, repeat, end, block);
            T::decode(&a.bytes, &mut x[..lanes]);
        }
        if let Some(view) = plan.src[1] {
            b.load(memory, view, repeat, end, block);
            T::decode(&b.bytes, &mut y[..lanes]);
        }
        arith::integers(plan.code, &x, &y, scalar, plan.mode != 0, &mut z, lanes);
        propagate(&mut out, width, &[(&a, width), (&b, width)], end);
        if out.garbage && matches!(plan.code, Code::And | Code::Or) {
            absorb(&mut out, &a, &b, plan.code, end * width);
        }
        T::encode(&z[..lanes], &mut out.bytes);
        out.store(memory, plan.dst, repeat, active, block);
    }
}

/// A defined byte of zeros makes `And` defined, one of ones makes `Or` defined.
fn absorb(out: &mut Buffer, a: &Buffer, b: &Buffer, code: Code, bytes: usize) {
    let absorbing = if code == Code::And { 0x00 } else { 0xff };
    for index in 0..bytes {
        let decides = |x: &Buffer| x.shadow[index] == 0 && x.bytes[index] == absorbing;
        let both = a.shadow[index] == 0 && b.shadow[index] == 0;
        out.shadow[index] = u8::from(!(both || decides(a) || decides(b)));
    }
}

fn duplicate(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let width = plan.dst_type.width();
    let mut out = Buffer::new();
    let value = plan.scalar.to_le_bytes();
    for bytes in out.bytes.chunks_exact_mut(width) {
        bytes.copy_from_slice(&value[..width]);
    }
    for repeat in 0..plan.repeats {
        out.store(memory, plan.dst, repeat, plan.lanes.of(repeat), block);
    }
}

fn copy(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let source = plan.src[0].expect("Copy has a source");
    let mut buffer = Buffer::new();
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        buffer.load(memory, source, repeat, active.end(), block);
        buffer.store(memory, plan.dst, repeat, active, block);
    }
}

fn brcb(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let source = plan.src[0].expect("Brcb has a source");
    let width = source.width;
    for repeat in 0..plan.repeats {
        for lane in 0..plan.lanes.per_repeat {
            let from = source.addr + repeat * source.repeat_step + lane * width;
            let to = plan.dst.addr + repeat * plan.dst.repeat_step + lane * plan.dst.block_step;
            for offset in (0..block).step_by(width) {
                memory.bytes.copy_within(from..from + width, to + offset);
                memory.shadow.copy_within(from..from + width, to + offset);
            }
        }
    }
}

fn index(machine: &mut Machine, plan: &VectorPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let lanes = plan.lanes.per_repeat;
    for repeat in 0..plan.repeats {
        let mut out = Buffer::new();
        let width = plan.dst_type.width();
        for (lane, bytes) in out.bytes.chunks_exact_mut(width).take(lanes).enumerate() {
            let step = (repeat * lanes + lane) as u64;
            bytes.copy_from_slice(&index_value(plan, step).to_le_bytes()[..width]);
        }
        out.store(memory, plan.dst, repeat, plan.lanes.of(repeat), block);
    }
}

fn index_value(plan: &VectorPlan, step: u64) -> u64 {
    match plan.dst_type {
        Dtype::F32 => u64::from((f32::from_bits(plan.scalar as u32) + step as f32).to_bits()),
        Dtype::F16 => {
            let first = f16::from_bits(plan.scalar as u16).to_f32();
            u64::from(f16::from_f32(first + step as f32).to_bits())
        }
        _ => plan.scalar.wrapping_add(step),
    }
}
