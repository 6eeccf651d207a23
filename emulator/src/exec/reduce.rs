//! Reductions in the unit's order: balanced trees inside a repeat or a block, lowest index on ties.

use half::f16;

use crate::dtype::Dtype;
use crate::exec::Machine;
use crate::exec::lanes::{Buffer, MAX_LANES};
use crate::local::{Mem, Memory};
use crate::plan::reduce::{INDEX_BYTES, Order, ReduceOp, ReducePlan, Scope, TensorPlan};
use crate::plan::vector::Active;

/// Lanes of one repeat as floats, which take part and which are garbage.
struct Lanes {
    values: [f32; MAX_LANES],
    garbage: [bool; MAX_LANES],
    active: Active,
    half: bool,
}

/// A value, its lane, and whether garbage went into it.
#[derive(Clone, Copy)]
struct Result {
    value: f32,
    lane: usize,
    garbage: bool,
}

/// Rounds to the element type.
fn rounded(value: f32, half: bool) -> f32 {
    if half {
        f16::from_f32(value).to_f32()
    } else {
        value
    }
}

impl Lanes {
    fn sum(&self, range: std::ops::Range<usize>) -> Option<Result> {
        let mut values = [0f32; MAX_LANES];
        let mut present = [false; MAX_LANES];
        let mut garbage = false;
        let mut any = false;
        for (slot, lane) in range.clone().enumerate() {
            if self.active.has(lane) {
                values[slot] = self.values[lane];
                present[slot] = true;
                garbage |= self.garbage[lane];
                any = true;
            }
        }
        let mut count = range.len();
        while count > 1 {
            for pair in 0..count / 2 {
                let (a, b) = (2 * pair, 2 * pair + 1);
                values[pair] = match (present[a], present[b]) {
                    (true, true) => rounded(values[a] + values[b], self.half),
                    (false, true) => values[b],
                    _ => values[a],
                };
                present[pair] = present[a] || present[b];
            }
            count /= 2;
        }
        any.then_some(Result {
            value: values[0],
            lane: range.start,
            garbage,
        })
    }

    fn extreme(&self, range: std::ops::Range<usize>, op: ReduceOp) -> Option<Result> {
        let mut best: Option<Result> = None;
        for lane in range.filter(|&lane| self.active.has(lane)) {
            let value = self.values[lane];
            let garbage = self.garbage[lane];
            best = Some(match best {
                None => Result {
                    value,
                    lane,
                    garbage,
                },
                Some(old) => {
                    let better = match op {
                        ReduceOp::Max => value > old.value,
                        _ => value < old.value,
                    };
                    let wins = !old.value.is_nan() && (better || value.is_nan());
                    let garbage = garbage || old.garbage;
                    if wins {
                        Result {
                            value,
                            lane,
                            garbage,
                        }
                    } else {
                        Result { garbage, ..old }
                    }
                }
            });
        }
        best
    }

    fn fold(&self, range: std::ops::Range<usize>, op: ReduceOp) -> Option<Result> {
        if op == ReduceOp::Sum {
            self.sum(range)
        } else {
            self.extreme(range, op)
        }
    }
}

fn load(memory: &Memory, plan: &ReducePlan, repeat: usize, block: usize) -> Lanes {
    let active = plan.lanes.of(repeat);
    let mut buffer = Buffer::new();
    buffer.load(memory, plan.src, repeat, active.end(), block);
    lanes_of(&buffer, plan.dtype, active)
}

fn lanes_of(buffer: &Buffer, dtype: Dtype, active: Active) -> Lanes {
    let half = dtype == Dtype::F16;
    let mut values = [0f32; MAX_LANES];
    let count = active.end();
    if half {
        buffer.halves(&mut values, count);
    } else {
        buffer.f32s(&mut values, count);
    }
    let mut garbage = [false; MAX_LANES];
    if buffer.garbage {
        for (lane, garbage) in garbage[..count].iter_mut().enumerate() {
            *garbage = buffer.lane_garbage(lane, dtype.width());
        }
    }
    Lanes {
        values,
        garbage,
        active,
        half,
    }
}

fn bits(value: f32, half: bool) -> u64 {
    if half {
        u64::from(f16::from_f32(value).to_bits())
    } else {
        u64::from(value.to_bits())
    }
}

fn put(memory: &mut Memory, at: usize, bits: u64, width: usize, garbage: bool) {
    memory.bytes[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
    memory.shadow[at..at + width].fill(u8::from(garbage));
}

/// Reduces inside each repeat.
pub(crate) fn run(machine: &mut Machine, plan: &ReducePlan) {
    let block = machine.block;
    let width = plan.dtype.width();
    let per_block = block / width;
    for repeat in 0..plan.repeats {
        let memory = machine.locals.get_mut(Mem::Ub);
        let lanes = load(memory, plan, repeat, block);
        let at = plan.dst + repeat * plan.dst_step;
        match plan.scope {
            Scope::Repeat => {
                let Some(mut result) = lanes.fold(0..plan.lanes.per_repeat, plan.op) else {
                    continue;
                };
                result.value = saturated(result.value, plan.dtype, plan.overflow);
                write_whole(memory, plan, at, result);
                let half = lanes.half;
                let value = bits(result.value, half);
                machine.vector.reduced = match plan.op {
                    ReduceOp::Sum => [value, machine.vector.reduced[1], machine.vector.reduced[2]],
                    _ => [machine.vector.reduced[0], value, result.lane as u64],
                };
            }
            Scope::Block => {
                for group in 0..plan.lanes.per_repeat / per_block {
                    let range = group * per_block..(group + 1) * per_block;
                    let Some(result) = lanes.fold(range, plan.op) else {
                        continue;
                    };
                    let value = saturated(result.value, plan.dtype, plan.overflow);
                    put(
                        memory,
                        at + group * width,
                        bits(value, lanes.half),
                        width,
                        result.garbage,
                    );
                }
            }
            Scope::Pair => {
                for pair in 0..plan.lanes.per_repeat / 2 {
                    let Some(result) = lanes.sum(2 * pair..2 * pair + 2) else {
                        continue;
                    };
                    let value = saturated(result.value, plan.dtype, plan.overflow);
                    put(
                        memory,
                        at + pair * width,
                        bits(value, lanes.half),
                        width,
                        result.garbage,
                    );
                }
            }
        }
    }
}

fn saturated(value: f32, dtype: Dtype, overflow: crate::dtype::Overflow) -> f32 {
    if dtype == Dtype::F16 {
        overflow.half(f16::from_f32(value)).to_f32()
    } else {
        value
    }
}

fn write_whole(memory: &mut Memory, plan: &ReducePlan, at: usize, result: Result) {
    let width = plan.dtype.width();
    let value = bits(result.value, plan.dtype == Dtype::F16);
    let index = result.lane as u64;
    let garbage = result.garbage;
    if plan.op == ReduceOp::Sum {
        return put(memory, at, value, width, garbage);
    }
    match plan.order {
        Order::Value => put(memory, at, value, width, garbage),
        Order::Index => put(memory, at, index, INDEX_BYTES, garbage),
        Order::ValueIndex => {
            put(memory, at, value, width, garbage);
            put(memory, at + width, index, width, garbage);
        }
        Order::IndexValue => {
            put(memory, at, index, width, garbage);
            put(memory, at + width, value, width, garbage);
        }
    }
}

/// Reduces a whole tensor to one value.
pub(crate) fn run_tensor(machine: &mut Machine, plan: &TensorPlan) {
    let block = machine.block;
    let width = plan.dtype.width();
    let half = plan.dtype == Dtype::F16;
    let memory = machine.locals.get_mut(Mem::Ub);
    let mut partial = Vec::with_capacity(plan.repeats);
    for repeat in 0..plan.repeats {
        let active = match plan.sequential {
            true => plan.lanes.of(repeat),
            false => plan.lanes.of(0),
        };
        let mut buffer = Buffer::new();
        buffer.load(memory, plan.src, repeat, active.end(), block);
        let lanes = lanes_of(&buffer, plan.dtype, active);
        if let Some(mut result) = lanes.fold(0..plan.lanes.per_repeat, plan.op) {
            result.lane += repeat * plan.src.repeat_step / width;
            partial.push(result);
        }
    }
    let Some(total) = combine(plan, &partial, half) else {
        return;
    };
    let value = saturated(total.value, plan.dtype, plan.overflow);
    put(memory, plan.dst, bits(value, half), width, total.garbage);
    if plan.with_index {
        put(
            memory,
            plan.dst + width,
            total.lane as u64,
            width,
            total.garbage,
        );
    }
    let index = usize::from(plan.op != ReduceOp::Sum);
    machine.vector.reduced[index] = bits(value, half);
    if index == 1 {
        machine.vector.reduced[2] = total.lane as u64;
    }
}

/// Results of repeats to one: sums one after another or in a second tree, extremes by comparison.
fn combine(plan: &TensorPlan, partial: &[Result], half: bool) -> Option<Result> {
    if plan.op != ReduceOp::Sum || plan.sequential {
        return partial.iter().copied().reduce(|a, b| {
            let garbage = a.garbage || b.garbage;
            let winner = match plan.op {
                ReduceOp::Sum => Result {
                    value: rounded(a.value + b.value, half),
                    ..a
                },
                ReduceOp::Max if b.value > a.value || (b.value.is_nan() && !a.value.is_nan()) => b,
                ReduceOp::Min if b.value < a.value || (b.value.is_nan() && !a.value.is_nan()) => b,
                ReduceOp::Max | ReduceOp::Min => a,
            };
            Result { garbage, ..winner }
        });
    }
    let mut level = partial.to_vec();
    while level.len() > 1 {
        level = level
            .chunks(plan.lanes.per_repeat)
            .filter_map(|chunk| tree(plan, chunk, half))
            .collect();
    }
    level.first().copied()
}

fn tree(plan: &TensorPlan, chunk: &[Result], half: bool) -> Option<Result> {
    let mut values = [0f32; MAX_LANES];
    for (value, result) in values.iter_mut().zip(chunk) {
        *value = result.value;
    }
    let active = Active::First(chunk.len());
    let lanes = Lanes {
        values,
        garbage: [false; MAX_LANES],
        active,
        half,
    };
    let garbage = chunk.iter().any(|result| result.garbage);
    lanes.sum(0..plan.lanes.per_repeat).map(|result| Result {
        garbage,
        lane: 0,
        ..result
    })
}
