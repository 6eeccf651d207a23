//! What one instruction costs its pipe, from the target's table.

use fa_targets::{Cost, Limits, Slope, Timing};

use crate::abi::Code;
use crate::dtype::Dtype;
use crate::instruction::{Action, Footprint, Instruction, Pipe};
use crate::local::Mem;
use crate::plan::Place;
use crate::plan::reduce::Scope;
use crate::plan::vector::{Footprints, Strided, VectorPlan};
use crate::time::shared::Transfer;

/// Cost of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Cycles that the pipe is taken, apart from a transfer's share of device-wide bandwidth.
    pub(crate) busy: f64,
    /// Cycles that the pipe is taken behind a transfer.
    pub(crate) extra: f64,
    /// Cycles more until the result can be used.
    pub(crate) latency: f64,
    pub(crate) transfer: Option<Transfer>,
}

impl Work {
    fn busy(cycles: f64) -> Work {
        Work {
            busy: cycles,
            extra: 0.0,
            latency: 0.0,
            transfer: None,
        }
    }
}

/// The target's numbers that costs are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'t> {
    pub(crate) timing: &'t Timing,
    pub(crate) limits: &'t Limits,
}

/// Cycles that the scalar unit needs to issue an instruction.
pub(crate) fn issue(timing: &Timing, action: &Action) -> f64 {
    match action {
        Action::Copy(_) | Action::Nd2Nz(_) | Action::PadIn(_) | Action::Fixpipe(_) => {
            timing.copy_issue.value
        }
        Action::SetFlag(_)
        | Action::WaitFlag(_)
        | Action::CrossSet { .. }
        | Action::Answer { .. } => timing.flag_issue.value,
        // The message is copied to global memory.
        Action::Post(_) => timing.copy_issue.value,
        _ => timing.issue.value,
    }
}

/// The cost of an instruction; `follows` says that its pipe has just finished another.
pub(crate) fn work(table: Table<'_>, instruction: &Instruction, follows: bool) -> Work {
    let prints = &instruction.footprints;
    let timing = table.timing;
    match &instruction.action {
        Action::Copy(plan) => {
            let outward = matches!(plan.dst, Place::Gm(..));
            let step = if outward {
                plan.dst_step
            } else {
                plan.src_step
            };
            copy(
                table,
                instruction.pipe,
                prints,
                (plan.pieces, plan.len, step),
            )
        }
        Action::PadIn(plan) => {
            let shape = (plan.pieces, plan.len, plan.src_step);
            copy(table, instruction.pipe, prints, shape)
        }
        Action::Nd2Nz(plan) => {
            let rows = plan.matrices * plan.rows;
            let shape = (rows, plan.cols * plan.width, plan.src_row);
            nd2nz(table, prints, shape)
        }
        Action::Load(plan) => {
            let bytes = plan.repeats
                * plan
                    .transpose
                    .map_or(plan.fractal, |shape| shape.side * shape.side * shape.width);
            Work::busy(load_start(timing.load_start, plan.dst.0, bytes, timing))
        }
        Action::Load3D(plan) => {
            let bytes = plan.k_extent * plan.m_extent * plan.width;
            Work::busy(load_start(timing.load3d_start, plan.dst.0, bytes, timing))
        }
        Action::Fill(plan) => {
            let bytes = plan.pieces * plan.len;
            Work::busy(load_start(timing.load_start, plan.dst.0, bytes, timing))
        }
        Action::Mmad(plan) => {
            let depth = match plan.operand {
                Dtype::F32 if plan.hf32.is_some() => timing.mmad_k_hf32,
                Dtype::F32 => timing.mmad_k_fp32,
                Dtype::I8 | Dtype::U8 => timing.mmad_k_int8,
                _ => timing.mmad_k_fp16,
            };
            let blocks = plan.m.div_ceil(plan.rows) * plan.n.div_ceil(plan.rows);
            let steps = plan.k.div_ceil(depth.value as usize);
            let start = if follows {
                timing.mmad_queued
            } else {
                timing.mmad_first
            };
            Work::busy((blocks * steps) as f64 + start.value)
        }
        Action::Fixpipe(plan) => fixpipe(timing, prints, plan.matrices * plan.m, plan.n, plan),
        action => Work {
            busy: timing.vector_start.value + vector(table, action),
            extra: 0.0,
            latency: timing.vector_dependent.value,
            transfer: None,
        },
    }
}

fn load_start(start: Cost, dst: Mem, bytes: usize, timing: &Timing) -> f64 {
    let rate = if dst == Mem::L0a {
        timing.l1_to_l0a
    } else {
        timing.l1_to_l0b
    };
    start.value + bytes as f64 / rate.value
}

fn global(prints: &Footprints) -> Option<&Footprint> {
    prints.iter().flatten().find(|print| print.mem == Mem::Gm)
}

fn copy(
    table: Table<'_>,
    pipe: Pipe,
    prints: &Footprints,
    (pieces, len, step): (usize, usize, usize),
) -> Work {
    let timing = table.timing;
    let bytes = pieces * len;
    let Some(print) = global(prints) else {
        let (start, rate) = if pipe == Pipe::V {
            (
                timing.vector_start,
                f64::from(table.limits.vector_repeat_bytes),
            )
        } else {
            (timing.table_start, timing.table_load.value)
        };
        return Work::busy(start.value + bytes as f64 / rate);
    };
    let mut busy = timing.copy_issue.value;
    // Pieces that follow each other in global memory are one.
    let short = pieces > 1 && step != len && (len as f64) < timing.copy_burst_bytes.value;
    if short {
        busy = busy.max(pieces as f64 * timing.copy_burst.value);
    }
    let to_l1 = prints.iter().flatten().any(|print| print.mem == Mem::L1);
    let (hit, miss) = match (print.write, to_l1) {
        (true, _) => (timing.ub_to_gm, timing.ub_to_gm),
        (false, true) => (timing.gm_to_l1_hit, timing.gm_to_l1_miss),
        (false, false) => (timing.gm_to_ub_hit, timing.gm_to_ub_miss),
    };
    Work {
        busy,
        extra: 0.0,
        latency: 0.0,
        transfer: Some(Transfer {
            start: print.start,
            pieces,
            len,
            step,
            write: print.write,
            hit_rate: hit.value,
            miss_rate: miss.value,
        }),
    }
}

/// As a copy, but short rows cost a little each.
fn nd2nz(table: Table<'_>, prints: &Footprints, (rows, len, step): (usize, usize, usize)) -> Work {
    let timing = table.timing;
    let mut work = copy(table, Pipe::Mte2, prints, (rows, len, step));
    work.busy = timing.copy_issue.value;
    if rows > 1 && step != len && (len as f64) < timing.copy_burst_bytes.value {
        work.extra = rows as f64 * timing.nd2nz_row.value;
    }
    work
}

fn fixpipe(
    timing: &Timing,
    prints: &Footprints,
    rows: usize,
    columns: usize,
    plan: &crate::plan::fixpipe::FixpipePlan,
) -> Work {
    let start = timing.fixpipe_start.value;
    let Some(print) = global(prints) else {
        let elements = (rows * columns) as f64;
        return Work::busy(start + elements / timing.fixpipe_to_l1_elems.value);
    };
    let align = timing.copy_burst_bytes.value as usize;
    let aligned = print.start.is_multiple_of(align) && plan.dst_row.is_multiple_of(align);
    let slower = if aligned || rows <= 1 {
        1.0
    } else {
        timing.fixpipe_unaligned.value
    };
    let rate = timing.fixpipe_to_gm.value / slower;
    Work {
        busy: start,
        extra: 0.0,
        latency: 0.0,
        transfer: Some(Transfer {
            start: print.start,
            pieces: rows,
            len: columns * plan.dst_type.width(),
            step: plan.dst_row,
            write: true,
            hit_rate: rate,
            miss_rate: rate,
        }),
    }
}

/// Cycles of a vector instruction behind its start.
fn vector(table: Table<'_>, action: &Action) -> f64 {
    let slopes = &table.timing.slopes;
    let (slope, repeats, conflict) = match action {
        Action::Vector(plan) => (
            slope_of(table.timing, plan),
            plan.repeats,
            conflict_of(table, plan),
        ),
        Action::Reduce(plan) => {
            let slope = if plan.scope == Scope::Repeat {
                slopes.reduce_repeat
            } else {
                slopes.reduce_block
            };
            (slope, plan.repeats, 0.0)
        }
        // A second round folds the results of the first.
        Action::ReduceTensor(plan) => (slopes.reduce_repeat, plan.repeats + 1, 0.0),
        Action::Compare(plan) => (slopes.select, plan.repeats, 0.0),
        Action::Select(plan) => (slopes.select, plan.repeats, 0.0),
        Action::Gather(plan) => (slopes.gather, plan.repeats, 0.0),
        Action::GatherMask(plan) => (slopes.gather, plan.repeats, 0.0),
        Action::Shuffle(plan) => (slopes.other, plan.repeats, 0.0),
        Action::Sort(plan) => (slopes.other, plan.repeats, 0.0),
        // One repeat's worth of records at a time.
        Action::Merge(plan) => (slopes.other, plan.records().div_ceil(32), 0.0),
        _ => (slopes.other, 0, 0.0),
    };
    repeats as f64 * (slope.free + (slope.conflict - slope.free) * conflict)
}

fn slope_of(timing: &Timing, plan: &VectorPlan) -> Slope {
    let slopes = &timing.slopes;
    let half = plan.dst_type.width() == 2;
    match plan.code {
        Code::Add | Code::Sub | Code::Max | Code::Min | Code::AddRelu | Code::SubRelu => slopes.add,
        Code::Mul => slopes.mul,
        Code::MulAddDst | Code::FusedMulAdd | Code::FusedMulAddRelu => slopes.fused,
        Code::Div if half => slopes.div_fp16,
        Code::Div => slopes.div_fp32,
        Code::And | Code::Or | Code::Not | Code::Shl | Code::Shr => slopes.bitwise,
        Code::Exp if half => slopes.exp_fp16,
        Code::Exp => slopes.exp_fp32,
        Code::Ln | Code::Sqrt => slopes.root,
        Code::Rsqrt | Code::Reciprocal => slopes.rsqrt,
        Code::Axpy => slopes.axpy,
        Code::Cast if plan.src_type == Dtype::F32 => slopes.narrow,
        Code::Cast => slopes.widen,
        Code::Brcb => slopes.brcb,
        Code::Abs
        | Code::Relu
        | Code::LeakyRelu
        | Code::Adds
        | Code::Muls
        | Code::Maxs
        | Code::Mins
        | Code::Duplicate
        | Code::Copy => slopes.scalar,
        _ => slopes.other,
    }
}

/// How much of a repeat finds both sources in one bank group, 0 to 1.
fn conflict_of(table: Table<'_>, plan: &VectorPlan) -> f64 {
    let [Some(a), Some(b)] = plan.src else {
        return 0.0;
    };
    let groups = table.timing.bank_groups.value as usize;
    let block = table.limits.data_block_bytes as usize;
    let group = |view: Strided, index| (view.addr + index * view.block_step) / block % groups;
    let blocks = table.limits.vector_repeat_bytes as usize / block;
    let same = (0..blocks).filter(|&index| group(a, index) == group(b, index));
    same.count() as f64 / blocks as f64
}
