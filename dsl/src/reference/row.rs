//! One row of attention: scores, softmax, weighted sum.

use super::inputs::PairInputs;
use super::{Arithmetic, Place, Reference};
use crate::ir::eval::{Program, Real, Value};
use crate::ir::{ExprId, Node, Var};
use crate::philox;

/// Buffers that rows share.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    mask_slots: Vec<Value<f32>>,
    exact: Buffers<f64>,
    same: Buffers<f32>,
}

#[derive(Clone, Debug, Default)]
struct Buffers<F> {
    slots: Vec<Value<F>>,
    /// The query row.
    q: Vec<F>,
    /// Keys that take part, and their scores, later weights.
    pairs: Vec<(usize, F)>,
    out: Vec<F>,
}

/// What is known of attended pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pairs {
    /// Products of a query row and a key row.
    Dots,
    /// Scores; pairs of which they are -inf are none.
    Scores,
}

/// A float width that a row is computed in.
trait Width:
    Real + std::ops::AddAssign + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> + Default
{
    /// The sum of the products; each sum is rounded where sums have a type of their own.
    fn dot(a: &[Self], b: &[f64], accumulate: Option<fn(Self) -> Self>) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
}

impl Width for f64 {
    /// Eight partial sums, so that the compiler may use vector registers. Exact sums are not rounded.
    fn dot(a: &[f64], b: &[f64], _: Option<fn(f64) -> f64>) -> f64 {
        let mut sums = [0.0; 8];
        let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
        let tail: f64 = a_chunks
            .remainder()
            .iter()
            .zip(b_chunks.remainder())
            .map(|(a, b)| a * b)
            .sum();
        for (a, b) in a_chunks.zip(b_chunks) {
            for lane in 0..8 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        sums.iter().sum::<f64>() + tail
    }

    fn exp(self) -> f64 {
        f64::exp(self)
    }

    fn ln(self) -> f64 {
        f64::ln(self)
    }
}

impl Width for f32 {
    /// In order, as the plainest kernel does.
    fn dot(a: &[f32], b: &[f64], accumulate: Option<fn(f32) -> f32>) -> f32 {
        let products = a.iter().zip(b).map(|(a, b)| a * (*b as f32));
        match accumulate {
            None => products.sum(),
            Some(round) => products.fold(0.0, |sum, product| round(sum + product)),
        }
    }

    fn exp(self) -> f32 {
        f32::exp(self)
    }

    fn ln(self) -> f32 {
        f32::ln(self)
    }
}

/// Where a kernel of some precision rounds.
struct Rounding<F> {
    accumulate: Option<fn(F) -> F>,
    softmax: fn(F) -> F,
    operand: fn(F) -> F,
    output: fn(F) -> F,
}

/// Nowhere.
const EXACT: Rounding<f64> = Rounding {
    accumulate: None,
    softmax: |x| x,
    operand: |x| x,
    output: |x| x,
};

/// Computes one row and returns its LSE.
pub(super) fn compute(
    reference: &Reference<'_>,
    place: Place,
    scratch: &mut Scratch,
    out: &mut [f64],
) -> f64 {
    let Scratch {
        mask_slots,
        exact,
        same,
    } = scratch;
    match reference.arithmetic {
        Arithmetic::Exact => compute_in(reference, place, mask_slots, exact, &EXACT, out),
        Arithmetic::Same {
            accumulate,
            softmax,
            operand,
            output,
        } => {
            let rounding = Rounding {
                accumulate,
                softmax,
                operand,
                output,
            };
            compute_in(reference, place, mask_slots, same, &rounding, out)
        }
    }
}

/// Attended keys and what is wanted of them, exactly.
pub(super) fn attended<'s>(
    reference: &Reference<'_>,
    place: Place,
    wanted: Pairs,
    scratch: &'s mut Scratch,
) -> &'s [(usize, f64)] {
    let Scratch {
        mask_slots, exact, ..
    } = scratch;
    collect(reference, place, wanted, mask_slots, exact, &EXACT);
    &exact.pairs
}

fn compute_in<F: Width>(
    reference: &Reference<'_>,
    place: Place,
    mask_slots: &mut Vec<Value<f32>>,
    buffers: &mut Buffers<F>,
    rounding: &Rounding<F>,
    out: &mut [f64],
) -> f64 {
    collect(
        reference,
        place,
        Pairs::Scores,
        mask_slots,
        buffers,
        rounding,
    );
    let sink = sink(reference, place, &mut buffers.slots);
    let scores = buffers.pairs.iter().map(|(_, score)| score.to_f64());
    // A NaN or +inf score at an attended pair makes the row NaN.
    if scores
        .chain(sink.map(Real::to_f64))
        .any(|s| s.is_nan() || s == f64::INFINITY)
    {
        out.fill(f64::NAN);
        return f64::NAN;
    }
    let Some((row_max, row_sum)) = softmax(&mut buffers.pairs, sink, rounding) else {
        out.fill(0.0);
        return f64::NEG_INFINITY;
    };
    drop_pairs(reference, place, &mut buffers.pairs);
    weighted_sum(reference, place, buffers, row_sum, rounding, out);
    let log_sum = F::from_f64(row_sum).ln();
    F::from_f64(row_max.to_f64() + log_sum.to_f64()).to_f64()
}

fn pair_inputs<'p, 'a, F: Width>(
    reference: &'p Reference<'a>,
    place: Place,
) -> PairInputs<'p, 'a, F> {
    let sizes = reference.problem.sizes;
    PairInputs {
        variant: reference.problem.variant,
        params: &reference.problem.params,
        tensors: &reference.tensors,
        place,
        kv_h: place.h / (sizes.heads / sizes.kv_heads),
        kv_idx: 0,
        dot: F::default(),
        score: F::default(),
    }
}

/// Fills `pairs` with the attended keys. Keys that are masked are never read.
fn collect<F: Width>(
    reference: &Reference<'_>,
    place: Place,
    wanted: Pairs,
    mask_slots: &mut Vec<Value<f32>>,
    buffers: &mut Buffers<F>,
    rounding: &Rounding<F>,
) {
    let problem = &reference.problem;
    let (variant, head_dim) = (problem.variant, problem.variant.head_dim as usize);
    let mask = variable_program(reference, variant.mask);
    let score = variable_program(reference, variant.score);
    let scale = F::from_f64(variant.scale);
    let q_row = &problem.q[place.q_start..place.q_start + head_dim];
    buffers.q.clear();
    buffers.q.extend(q_row.iter().map(|x| F::from_f64(*x)));
    buffers.pairs.clear();
    let mut mask_inputs = pair_inputs::<f32>(reference, place);
    let mut score_inputs = pair_inputs::<F>(reference, place);
    let never = *variant.exprs.node(variant.mask) == Node::Bool(false);
    for kv_idx in 0..if never { 0 } else { place.kv_len } {
        if let Some(mask) = &mask {
            mask_inputs.kv_idx = kv_idx;
            if mask.run(&mask_inputs, mask_slots) != Value::Bool(true) {
                continue;
            }
        }
        let start = (place.kv_first_row + kv_idx) * head_dim;
        let key = &problem.k[start..start + head_dim];
        let dot = F::dot(&buffers.q, key, rounding.accumulate);
        if wanted == Pairs::Dots {
            buffers.pairs.push((kv_idx, dot));
            continue;
        }
        let scaled = dot * scale;
        let s = match &score {
            None => scaled,
            Some(program) => {
                score_inputs.kv_idx = kv_idx;
                score_inputs.dot = dot;
                score_inputs.score = scaled;
                float(program.run(&score_inputs, &mut buffers.slots))
            }
        };
        let s = (rounding.softmax)(s);
        if s.to_f64() != f64::NEG_INFINITY {
            buffers.pairs.push((kv_idx, s));
        }
    }
}

/// The program of an expression, or `None` where it is `true` or plain `score`.
fn variable_program<'p>(reference: &'p Reference<'_>, root: ExprId) -> Option<Program<'p>> {
    let exprs = &reference.problem.variant.exprs;
    match exprs.node(root) {
        Node::Bool(_) | Node::Var(Var::Score) => None,
        _ => Some(Program::new(exprs, root)),
    }
}

fn float<F>(value: Value<F>) -> F {
    match value {
        Value::Float(value) => value,
        Value::Int(_) | Value::Bool(_) => unreachable!("scores and sinks are checked to be floats"),
    }
}

fn sink<F: Width>(reference: &Reference<'_>, place: Place, slots: &mut Vec<Value<F>>) -> Option<F> {
    let variant = reference.problem.variant;
    let sink = variant.sink?;
    let program = Program::new(&variant.exprs, sink.value);
    Some(float(program.run(&pair_inputs(reference, place), slots)))
}

/// Turns scores into `exp(s - m)`; returns m and the sum, or `None` for a row that attends to nothing.
fn softmax<F: Width>(
    pairs: &mut [(usize, F)],
    sink: Option<F>,
    rounding: &Rounding<F>,
) -> Option<(F, f64)> {
    let row_max = pairs
        .iter()
        .map(|(_, s)| *s)
        .chain(sink)
        .map(Real::to_f64)
        .fold(f64::NEG_INFINITY, f64::max);
    if row_max == f64::NEG_INFINITY {
        return None;
    }
    let shifted = |s: F| F::from_f64(s.to_f64() - row_max).exp();
    let mut row_sum = F::default();
    for (_, s) in pairs.iter_mut() {
        let weight = shifted(*s);
        row_sum += weight;
        *s = (rounding.softmax)(weight);
    }
    if let Some(sink) = sink {
        row_sum += shifted(sink);
    }
    Some((F::from_f64(row_max), row_sum.to_f64()))
}

/// Multiplies the weights by their keep factors, in training launches of a variant with dropout.
fn drop_pairs<F: Width>(reference: &Reference<'_>, place: Place, pairs: &mut [(usize, F)]) {
    let problem = &reference.problem;
    let (Some(dropout), Some(seed)) = (problem.variant.dropout, problem.training) else {
        return;
    };
    let plane = (place.b * problem.sizes.heads + place.h) as u32;
    let mut group = u32::MAX;
    let mut drawn = [0; philox::DRAWS_PER_COUNTER as usize];
    for (kv_idx, weight) in pairs {
        let kv_idx = *kv_idx as u32;
        if kv_idx / philox::DRAWS_PER_COUNTER != group {
            group = kv_idx / philox::DRAWS_PER_COUNTER;
            drawn = philox::draws(seed, plane, place.q_idx as u32, group);
        }
        let draw = drawn[(kv_idx % philox::DRAWS_PER_COUNTER) as usize];
        let keep = philox::keep_factor(dropout.threshold, draw);
        *weight = *weight * F::from_f64(keep);
    }
}

fn weighted_sum<F: Width>(
    reference: &Reference<'_>,
    place: Place,
    buffers: &mut Buffers<F>,
    row_sum: f64,
    rounding: &Rounding<F>,
    out: &mut [f64],
) {
    let width = reference.row_width();
    let v = reference.problem.v;
    buffers.out.clear();
    buffers.out.resize(width, F::default());
    for (kv_idx, weight) in &buffers.pairs {
        let weight = (rounding.operand)(*weight);
        let start = (place.kv_first_row + kv_idx) * width;
        for (sum, v) in buffers.out.iter_mut().zip(&v[start..start + width]) {
            let added = *sum + weight * F::from_f64(*v);
            *sum = rounding.accumulate.map_or(added, |round| round(added));
        }
    }
    for (out, sum) in out.iter_mut().zip(&buffers.out) {
        let quotient = F::from_f64(sum.to_f64() / row_sum);
        *out = (rounding.output)(quotient).to_f64();
    }
}
