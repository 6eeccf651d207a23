//! Moving the accumulator out: conversion, layout, atomic stores.

use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::exec::copy::combine;
use crate::exec::lanes::any;
use crate::exec::{Machine, write_place};
use crate::instruction::Loc;
use crate::local::{Mem, Memory};
use crate::plan::fixpipe::{FixpipePlan, Quant};

/// Writes every matrix, row by row and column group by column group.
pub(crate) fn run(machine: &mut Machine, plan: &FixpipePlan, loc: Loc) {
    let width = plan.dst_type.width();
    let scales = scales(machine, plan);
    let mut data = vec![0u8; plan.n * width];
    let mut shadow = vec![0u8; plan.n * width];
    // Row-major output writes whole rows; NZ writes one column group at a time.
    let row_major = plan.dst_group == plan.rows * width && plan.group_cols == plan.rows;
    let span = if row_major { plan.n } else { plan.group_cols };
    for matrix in 0..plan.matrices {
        for row in 0..plan.m {
            row_values(
                machine.locals.get(Mem::L0c),
                plan,
                matrix,
                row,
                &scales,
                &mut data,
                &mut shadow,
            );
            for start in (0..plan.n).step_by(span) {
                let len = span.min(plan.n - start) * width;
                let at = matrix * plan.dst_matrix
                    + row * plan.dst_row
                    + start / plan.group_cols * plan.dst_group;
                let range = start * width..start * width + len;
                let (mut bytes, mut states) =
                    (data[range.clone()].to_vec(), shadow[range].to_vec());
                if let Some(mode) = plan.atomic {
                    combine(machine, &plan.dst, at, &mut bytes, &mut states, mode);
                }
                write_place(&mut machine.locals, &plan.dst, at, &bytes, &states, loc);
            }
        }
    }
}

/// One scale per column, in fixpipe encoding.
fn scales(machine: &Machine, plan: &FixpipePlan) -> Vec<u64> {
    match plan.quant {
        Quant::Scale(scale) => vec![scale; plan.n],
        Quant::ScaleVector(at) => {
            let memory = machine.locals.get(Mem::L1);
            memory.bytes[at..at + 8 * plan.n]
                .chunks_exact(8)
                .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
                .collect()
        }
        Quant::None | Quant::ToHalf | Quant::ToBfloat => Vec::new(),
    }
}

fn row_values(
    memory: &Memory,
    plan: &FixpipePlan,
    matrix: usize,
    row: usize,
    scales: &[u64],
    data: &mut [u8],
    shadow: &mut [u8],
) {
    let width = plan.dst_type.width();
    for column in 0..plan.n {
        let element = matrix * plan.src_matrix
            + column / plan.rows * plan.src_group
            + row * plan.rows
            + column % plan.rows;
        let at = plan.src + element * 4;
        let raw = u32::from_le_bytes(memory.bytes[at..at + 4].try_into().expect("four bytes"));
        let bits = convert(plan, raw, scales.get(column).copied().unwrap_or(0));
        let range = column * width..(column + 1) * width;
        data[range.clone()].copy_from_slice(&bits.to_le_bytes()[..width]);
        shadow[range].fill(u8::from(any(&memory.shadow[at..at + 4])));
    }
}

fn convert(plan: &FixpipePlan, raw: u32, scale: u64) -> u32 {
    let integer = plan.src_type == Dtype::I32;
    let raw = match (plan.relu, integer) {
        (true, true) => (raw as i32).max(0) as u32,
        (true, false) if f32::from_bits(raw) < 0.0 => 0,
        _ => raw,
    };
    let value = if integer {
        raw as i32 as f32
    } else {
        f32::from_bits(raw)
    };
    match plan.quant {
        Quant::None => raw,
        Quant::ToHalf => u32::from(plan.overflow.half(f16::from_f32(value)).to_bits()),
        Quant::ToBfloat => u32::from(plan.overflow.bfloat(bf16::from_f32(value)).to_bits()),
        Quant::Scale(_) | Quant::ScaleVector(_) => scaled(plan, value, scale),
    }
}

/// First bit of the 9-bit offset, and the sign bit, of the quantisation encoding.
const OFFSET_BIT: u32 = 37;
const OFFSET_MASK: u64 = 0x1ff;

fn scaled(plan: &FixpipePlan, value: f32, encoded: u64) -> u32 {
    let product = value * f32::from_bits(encoded as u32);
    if plan.dst_type == Dtype::F16 {
        return u32::from(plan.overflow.half(f16::from_f32(product)).to_bits());
    }
    let raw_offset = (encoded >> OFFSET_BIT & OFFSET_MASK) as i32;
    let offset = if raw_offset > 255 {
        raw_offset - 512
    } else {
        raw_offset
    };
    let rounded = product.round_ties_even() + offset as f32;
    match plan.dst_type {
        Dtype::I8 => rounded.clamp(-128.0, 127.0) as i8 as u8 as u32,
        _ => rounded.clamp(0.0, 255.0) as u8 as u32,
    }
}
