//! Comparisons, selections, gathers and shuffles.

use half::f16;

use crate::dtype::Dtype;
use crate::exec::Machine;
use crate::exec::lanes::{Buffer, MAX_LANES, any};
use crate::local::{Mem, Memory};
use crate::plan::gather::{GatherMaskPlan, GatherPlan};
use crate::plan::select::{Bits, ComparePlan, SelectPlan, ShufflePlan};
use crate::report::Refusal;

fn numbers(buffer: &Buffer, dtype: Dtype, out: &mut [f64; MAX_LANES], count: usize) {
    let mut row = [0f32; MAX_LANES];
    match dtype {
        Dtype::F16 => buffer.halves(&mut row, count),
        Dtype::F32 => buffer.f32s(&mut row, count),
        _ => {
            for (out, bytes) in out[..count].iter_mut().zip(buffer.bytes.chunks_exact(4)) {
                *out = f64::from(i32::from_le_bytes(bytes.try_into().expect("four bytes")));
            }
            return;
        }
    }
    for (out, value) in out[..count].iter_mut().zip(row) {
        *out = f64::from(value);
    }
}

fn scalar(bits: u64, dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => f16::from_bits(bits as u16).to_f64(),
        Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from(bits as u32 as i32),
    }
}

fn holds(mode: i64, a: f64, b: f64) -> bool {
    match mode {
        0 => a < b,
        1 => a > b,
        2 => a == b,
        3 => a <= b,
        4 => a >= b,
        _ => a != b,
    }
}

/// One bit per lane, lowest bit first.
pub(crate) fn compare(machine: &mut Machine, plan: &ComparePlan) {
    let block = machine.block;
    let width = plan.dtype.width();
    let lanes = plan.lanes.per_repeat;
    let (mut a, mut b) = (Buffer::new(), Buffer::new());
    let mut x = [0f64; MAX_LANES];
    let mut y = [scalar(plan.scalar, plan.dtype); MAX_LANES];
    for repeat in 0..plan.repeats {
        let memory = machine.locals.get_mut(Mem::Ub);
        let active = plan.lanes.of(repeat);
        a.load(memory, plan.src0, repeat, active.end(), block);
        numbers(&a, plan.dtype, &mut x, active.end());
        if let Some(view) = plan.src1 {
            b.load(memory, view, repeat, active.end(), block);
            numbers(&b, plan.dtype, &mut y, active.end());
        }
        let mut bits = 0u128;
        let mut garbage = 0u128;
        for lane in (0..lanes).filter(|&lane| active.has(lane)) {
            bits |= u128::from(holds(plan.mode, x[lane], y[lane])) << lane;
        }
        if a.garbage || b.garbage {
            for lane in 0..lanes {
                let undefined = a.lane_garbage(lane, width) || b.lane_garbage(lane, width);
                garbage |= u128::from(undefined) << lane;
            }
        }
        match plan.dst {
            Some(dst) => {
                let at = dst + repeat * lanes / 8;
                let len = lanes / 8;
                memory.bytes[at..at + len].copy_from_slice(&bits.to_le_bytes()[..len]);
                for (state, undefined) in memory.shadow[at..at + len]
                    .iter_mut()
                    .zip(garbage.to_le_bytes())
                {
                    *state = u8::from(undefined != 0);
                }
            }
            None => {
                machine.vector.compare = bits;
                machine.vector.compare_defined = garbage == 0;
            }
        }
    }
}

/// Bit 1 takes the first source.
pub(crate) fn select(machine: &mut Machine, plan: &SelectPlan) {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let width = plan.dtype.width();
    let (mut a, mut b) = (Buffer::new(), Buffer::new());
    for bytes in b.bytes.chunks_exact_mut(width) {
        bytes.copy_from_slice(&plan.scalar.to_le_bytes()[..width]);
    }
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        let end = active.end();
        a.load(memory, plan.src0, repeat, end, block);
        if let Some(view) = plan.src1 {
            b.load(memory, view, repeat, end, block);
        }
        let first = match plan.bits {
            Bits::Repeated => 0,
            Bits::Continuous => repeat * plan.lanes.per_repeat,
        };
        let mut out = Buffer::new();
        for lane in 0..end {
            let (bit, defined) = mask_bit(memory, plan.mask, first + lane);
            let source = if bit { &a } else { &b };
            let range = lane * width..(lane + 1) * width;
            out.bytes[range.clone()].copy_from_slice(&source.bytes[range]);
            out.mark(lane, width, !defined || source.lane_garbage(lane, width));
        }
        out.store(memory, plan.dst, repeat, active, block);
    }
}

fn mask_bit(memory: &Memory, base: usize, index: usize) -> (bool, bool) {
    let at = base + index / 8;
    (
        memory.bytes[at] >> (index % 8) & 1 == 1,
        memory.shadow[at] == 0,
    )
}

fn garbage_address(what: &str) -> Refusal {
    Refusal::new(
        "uninitialised",
        format!("{what} was never defined and is used as an address"),
        "write the offsets before gathering",
    )
}

/// Elements or blocks at byte offsets.
pub(crate) fn gather(machine: &mut Machine, plan: &GatherPlan) -> Result<(), Refusal> {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    for repeat in 0..plan.repeats {
        let active = plan.lanes.of(repeat);
        for lane in (0..active.end()).filter(|&lane| active.has(lane)) {
            let at = plan.offsets + (repeat * plan.lanes.per_repeat + lane) * 4;
            if any(&memory.shadow[at..at + 4]) {
                return Err(garbage_address("an offset"));
            }
            let offset =
                u32::from_le_bytes(memory.bytes[at..at + 4].try_into().expect("four bytes"));
            let from = plan.base + offset as usize;
            if from + plan.piece > plan.limit || !from.is_multiple_of(plan.piece) {
                return Err(Refusal::new(
                    "out-of-bounds",
                    format!(
                        "offset {offset} fetches bytes to {} of src, which ends at byte {}",
                        from + plan.piece,
                        plan.limit
                    ),
                    "offsets count bytes, aligned to what they fetch",
                ));
            }
            let within = lane * plan.piece;
            let to = plan.dst.addr
                + repeat * plan.dst.repeat_step
                + within / block * plan.dst.block_step
                + within % block;
            memory.bytes.copy_within(from..from + plan.piece, to);
            memory.shadow.copy_within(from..from + plan.piece, to);
        }
    }
    let _ = plan.width;
    Ok(())
}

/// Keeps the elements that a pattern names, packed; returns how many.
pub(crate) fn gather_mask(machine: &mut Machine, plan: &GatherMaskPlan) -> Result<u64, Refusal> {
    let block = machine.block;
    let memory = machine.locals.get_mut(Mem::Ub);
    let mut kept = Vec::new();
    for repeat in 0..plan.repeats {
        for index in 0..plan.per_repeat {
            let take = match plan.fixed {
                Some(pattern) => fixed_pattern(pattern, index),
                None => {
                    let base = plan.pattern + repeat * plan.pattern_step;
                    let (bit, defined) = mask_bit(memory, base, index);
                    if !defined {
                        return Err(garbage_address("the pattern"));
                    }
                    bit
                }
            };
            if take {
                let within = index * plan.width;
                kept.push(
                    plan.src.addr
                        + repeat * plan.src.repeat_step
                        + within / block * plan.src.block_step
                        + within % block,
                );
            }
        }
    }
    let end = plan.dst + kept.len() * plan.width;
    if end > plan.dst_limit {
        return Err(Refusal::new(
            "tensor-extent",
            format!(
                "the kept elements reach byte {end}, dst ends at byte {}",
                plan.dst_limit
            ),
            "make dst as large as the elements the pattern keeps",
        ));
    }
    for (index, &from) in kept.iter().enumerate() {
        let to = plan.dst + index * plan.width;
        memory.bytes.copy_within(from..from + plan.width, to);
        memory.shadow.copy_within(from..from + plan.width, to);
    }
    Ok(kept.len() as u64)
}

fn fixed_pattern(pattern: u8, index: usize) -> bool {
    match pattern {
        1 => index.is_multiple_of(2),
        2 => index % 2 == 1,
        3..=6 => index % 4 == usize::from(pattern - 3),
        _ => true,
    }
}

/// Rows to columns: 16 rows of one block each.
pub(crate) fn shuffle(machine: &mut Machine, plan: &ShufflePlan) {
    let block = machine.block;
    let rows = plan.src.len();
    let memory = machine.locals.get_mut(Mem::Ub);
    // 8-bit elements use one half of a block.
    let per_row = (block / plan.width).min(rows);
    for repeat in 0..plan.repeats {
        let mut writes = Vec::with_capacity(rows * per_row);
        for (row, &source) in plan.src.iter().enumerate() {
            for column in 0..per_row {
                let from = source + repeat * plan.src_step + plan.src_half + column * plan.width;
                // 16-bit: column j becomes row j; 32-bit: it becomes the halves 2j and 2j+1 of 8 columns each.
                let line = column * rows / per_row + row / per_row * (rows / per_row - 1).min(1);
                let to = plan.dst[line.min(rows - 1)]
                    + repeat * plan.dst_step
                    + plan.dst_half
                    + row % per_row * plan.width;
                let mut value = ([0u8; 4], [0u8; 4]);
                value.0[..plan.width].copy_from_slice(&memory.bytes[from..from + plan.width]);
                value.1[..plan.width].copy_from_slice(&memory.shadow[from..from + plan.width]);
                writes.push((to, value));
            }
        }
        for (to, (bytes, states)) in writes {
            memory.bytes[to..to + plan.width].copy_from_slice(&bytes[..plan.width]);
            memory.shadow[to..to + plan.width].copy_from_slice(&states[..plan.width]);
        }
    }
}
