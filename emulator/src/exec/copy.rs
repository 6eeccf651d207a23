//! Copies: pieces, ND to NZ, padding, and atomic stores.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::exec::{Machine, read_place, write_place};
use crate::instruction::Loc;
use crate::local::Mem;
use crate::plan::copy::{CopyPlan, Filler, Nd2NzPlan, PadInPlan};
use crate::plan::{AtomicOp, Place};

/// Equal pieces at regular distances.
pub(crate) fn copy(machine: &mut Machine, plan: &CopyPlan, loc: Loc) {
    let mut data = Vec::with_capacity(plan.len);
    let mut shadow = Vec::with_capacity(plan.len);
    for piece in 0..plan.pieces {
        data.clear();
        shadow.clear();
        let (bytes, states) =
            read_place(&machine.locals, &plan.src, piece * plan.src_step, plan.len);
        data.extend_from_slice(bytes);
        shadow.extend_from_slice(states);
        let at = piece * plan.dst_step;
        if let Some(mode) = plan.atomic {
            combine(machine, &plan.dst, at, &mut data, &mut shadow, mode);
        }
        write_place(&mut machine.locals, &plan.dst, at, &data, &shadow, loc);
    }
}

/// Merges `data` with what the destination holds.
pub(crate) fn combine(
    machine: &Machine,
    dst: &Place,
    at: usize,
    data: &mut [u8],
    shadow: &mut [u8],
    (op, dtype): (AtomicOp, Dtype),
) {
    let (old, old_shadow) = read_place(&machine.locals, dst, at, data.len());
    let width = dtype.width();
    for (index, new) in data.chunks_exact_mut(width).enumerate() {
        let range = index * width..(index + 1) * width;
        merge(dtype, op, new, &old[range.clone()]);
        for byte in range {
            shadow[byte] |= old_shadow[byte];
        }
    }
}

fn merge(dtype: Dtype, op: AtomicOp, new: &mut [u8], old: &[u8]) {
    macro_rules! number {
        ($type:ty, $add:expr, $less:expr) => {{
            let a = <$type>::from_le_bytes(new.try_into().expect("one element"));
            let b = <$type>::from_le_bytes(old.try_into().expect("one element"));
            let value = match op {
                AtomicOp::Add => $add(a, b),
                AtomicOp::Max => {
                    if $less(a, b) {
                        b
                    } else {
                        a
                    }
                }
                AtomicOp::Min => {
                    if $less(b, a) {
                        b
                    } else {
                        a
                    }
                }
            };
            new.copy_from_slice(&value.to_le_bytes());
        }};
    }
    match dtype {
        Dtype::F32 => number!(f32, |a, b| a + b, |a, b| a < b),
        Dtype::F16 => number!(
            f16,
            |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32()),
            |a, b| a < b
        ),
        Dtype::Bf16 => number!(
            bf16,
            |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32()),
            |a, b| a < b
        ),
        Dtype::I8 => number!(i8, i8::wrapping_add, |a, b| a < b),
        Dtype::I16 => number!(i16, i16::wrapping_add, |a, b| a < b),
        _ => number!(i32, i32::wrapping_add, |a, b| a < b),
    }
}

/// Row-major matrices to column groups of one data block each.
pub(crate) fn nd2nz(machine: &mut Machine, plan: &Nd2NzPlan) {
    let row_bytes = plan.cols * plan.width;
    let Place::Gm(allocation, base) = &plan.src else {
        unreachable!("ND to NZ reads global memory");
    };
    let memory = machine.locals.get_mut(Mem::L1);
    for matrix in 0..plan.matrices {
        for row in 0..plan.rows {
            let from = base + matrix * plan.src_matrix + row * plan.src_row;
            let bytes = allocation.bytes(from, row_bytes);
            let shadow = allocation.shadow(from, row_bytes);
            let to = plan.dst + matrix * plan.dst_matrix + row * plan.dst_row;
            for (group, start) in (0..row_bytes).step_by(plan.block).enumerate() {
                let len = plan.block.min(row_bytes - start);
                let at = to + group * plan.dst_group;
                memory.bytes[at..at + len].copy_from_slice(&bytes[start..start + len]);
                memory.shadow[at..at + len].copy_from_slice(&shadow[start..start + len]);
                memory.bytes[at + len..at + plan.block].fill(0);
                memory.shadow[at + len..at + plan.block].fill(0);
            }
        }
    }
}

/// Pieces with paddings; each starts at a data block.
pub(crate) fn pad_in(machine: &mut Machine, plan: &PadInPlan) {
    let mut data = vec![0u8; plan.total];
    let mut shadow = vec![0u8; plan.total];
    for piece in 0..plan.pieces {
        let (bytes, states) =
            read_place(&machine.locals, &plan.src, piece * plan.src_step, plan.len);
        fill(plan, bytes, states, &mut data, &mut shadow);
        let body = plan.left..plan.left + plan.len;
        data[body.clone()].copy_from_slice(bytes);
        shadow[body].copy_from_slice(states);
        let at = plan.dst + piece * plan.dst_step;
        let memory = machine.locals.get_mut(Mem::Ub);
        memory.bytes[at..at + plan.total].copy_from_slice(&data);
        memory.shadow[at..at + plan.total].copy_from_slice(&shadow);
    }
}

fn fill(plan: &PadInPlan, bytes: &[u8], states: &[u8], data: &mut [u8], shadow: &mut [u8]) {
    let value = match plan.filler {
        Filler::First => {
            let mut raw = [0u8; 8];
            raw[..plan.width].copy_from_slice(&bytes[..plan.width]);
            raw
        }
        Filler::Value(value) => value.to_le_bytes(),
        Filler::Garbage => [0xff; 8],
    };
    for element in data.chunks_exact_mut(plan.width) {
        element.copy_from_slice(&value[..plan.width]);
    }
    match plan.filler {
        Filler::First => {
            for element in shadow.chunks_exact_mut(plan.width) {
                element.copy_from_slice(&states[..plan.width]);
            }
        }
        Filler::Value(_) => shadow.fill(0),
        Filler::Garbage => shadow.fill(1),
    }
}
