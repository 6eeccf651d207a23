//! The reference backend: `fa_dsl::reference` over tensors, rows in parallel.

use fa_dsl::reference::{
    Arithmetic, Captured, Elements, Output, Packed, Problem, Reference, Scratch, Sizes,
};
use fa_dsl::variant::{Dtype, Variant};
use rayon::prelude::*;

use crate::element;
use crate::error::Result;
use crate::launch::{Checked, Outputs, logical_strides};
use crate::view::{TensorView, TensorViewMut};

/// Rows that one thread takes at a time.
const ROWS_PER_STEP: usize = 16;

/// The arithmetic of a naive kernel in the variant's own precision.
pub(crate) fn same_precision(variant: &Variant) -> Arithmetic {
    let precision = variant.precision;
    Arithmetic::Same {
        accumulate: (precision.accumulate != Dtype::Fp32)
            .then(|| element::round(precision.accumulate)),
        softmax: element::round(precision.softmax),
        operand: element::round(precision.qkv),
        output: element::round(precision.output),
    }
}

/// Evaluates a checked launch.
pub(crate) fn evaluate(
    variant: &Variant,
    checked: &Checked<'_>,
    arithmetic: Arithmetic,
) -> Result<Output> {
    with_reference(variant, checked, arithmetic, run_rows)
}

/// What is asked of attended pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attended {
    /// The product of their rows.
    Dots,
    /// Their score; pairs of which it is -inf are none.
    Scores,
}

/// What attended pairs have as scores or products, and those that a limit does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Overflows {
    /// Attended pairs.
    pub(crate) pairs: usize,
    /// Of these, pairs whose value is beyond the limit.
    pub(crate) count: usize,
    /// The first of them: sequence, head, query row and key row, and its value.
    pub(crate) first: Option<([usize; 4], f64)>,
    /// The one with the largest magnitude.
    pub(crate) largest: f64,
}

impl Overflows {
    /// Those of earlier rows, then those of later ones.
    fn then(self, later: Overflows) -> Overflows {
        let larger = self.largest.abs() >= later.largest.abs();
        Overflows {
            pairs: self.pairs + later.pairs,
            count: self.count + later.count,
            first: self.first.or(later.first),
            largest: if larger { self.largest } else { later.largest },
        }
    }
}

/// Counts the attended pairs of a launch whose exact score or product has at least that magnitude.
pub(crate) fn overflows(
    variant: &Variant,
    checked: &Checked<'_>,
    asked: Attended,
    magnitude: f64,
) -> Result<Overflows> {
    let count = |reference: &Reference<'_>| {
        let steps = reference.rows().div_ceil(ROWS_PER_STEP);
        let of_step = |scratch: &mut Scratch, step: usize| {
            let last = ((step + 1) * ROWS_PER_STEP).min(reference.rows());
            let rows = step * ROWS_PER_STEP..last;
            rows.map(|row| of_row(reference, row, asked, magnitude, scratch))
                .fold(Overflows::default(), Overflows::then)
        };
        let found = (0..steps).into_par_iter();
        found
            .map_init(Scratch::default, of_step)
            .reduce(Overflows::default, Overflows::then)
    };
    with_reference(variant, checked, Arithmetic::Exact, count)
}

fn of_row(
    reference: &Reference<'_>,
    row: usize,
    asked: Attended,
    magnitude: f64,
    scratch: &mut Scratch,
) -> Overflows {
    let ([b, h, q_idx], values) = match asked {
        Attended::Dots => reference.dots(row, scratch),
        Attended::Scores => reference.scores(row, scratch),
    };
    let beyond = || values.iter().filter(|(_, value)| value.abs() >= magnitude);
    let larger = |a: f64, b: f64| if b.abs() > a.abs() { b } else { a };
    Overflows {
        pairs: values.len(),
        count: beyond().count(),
        first: beyond()
            .next()
            .map(|(kv_idx, value)| ([b, h, q_idx, *kv_idx], *value)),
        largest: beyond().map(|(_, value)| *value).fold(0.0, larger),
    }
}

/// Prepares a checked launch for the interpreter.
pub(crate) fn with_reference<T>(
    variant: &Variant,
    checked: &Checked<'_>,
    arithmetic: Arithmetic,
    use_it: impl FnOnce(&Reference<'_>) -> T,
) -> Result<T> {
    let [q, k, v] = checked.inputs.each_ref().map(TensorView::to_f64);
    let owned: Vec<Owned> = checked.captured.iter().map(Owned::new).collect();
    let cumulative = checked.packed.as_ref().map(|packed| {
        let index = |at: &i64| usize::try_from(*at).expect("checked lengths are not negative");
        let cu_q: Vec<usize> = packed.cu_q.iter().map(index).collect();
        let cu_kv: Vec<usize> = packed.cu_kv.iter().map(index).collect();
        (cu_q, cu_kv)
    });
    let sizes = checked.sizes;
    let problem = Problem {
        variant,
        sizes: Sizes {
            batch: sizes.batch,
            heads: sizes.heads,
            kv_heads: sizes.kv_heads,
            q_len: sizes.q_len,
            kv_len: sizes.kv_len,
        },
        packed: cumulative
            .as_ref()
            .map(|(cu_q, cu_kv)| Packed { cu_q, cu_kv }),
        q: &q,
        k: &k,
        v: &v,
        captured: owned.iter().map(Owned::captured).collect(),
        params: checked.params.clone(),
        training: checked.training,
    };
    Ok(use_it(&Reference::new(problem, arithmetic)?))
}

fn run_rows(reference: &Reference<'_>) -> Output {
    let width = reference.row_width();
    let mut out = vec![0.0; reference.rows() * width];
    let mut lse = vec![0.0; reference.rows()];
    out.par_chunks_mut(ROWS_PER_STEP * width)
        .zip(lse.par_chunks_mut(ROWS_PER_STEP))
        .enumerate()
        .for_each_init(Scratch::default, |scratch, (step, (out, lse))| {
            let rows = out.chunks_exact_mut(width).zip(lse);
            for (i, (out, lse)) in rows.enumerate() {
                *lse = reference.row(step * ROWS_PER_STEP + i, scratch, out);
            }
        });
    Output { out, lse }
}

/// Evaluates a checked launch exactly and writes the results.
pub(crate) fn launch(
    variant: &Variant,
    checked: &Checked<'_>,
    outputs: &mut Outputs<'_>,
) -> Result<()> {
    let output = evaluate(variant, checked, Arithmetic::Exact)?;
    write_out(variant, checked, &mut outputs.out, &output.out);
    outputs.lse.write_f64(&output.lse);
    Ok(())
}

/// Writes O, given in `[b, h, n, d]` order, in the variant's layout.
fn write_out(
    variant: &Variant,
    checked: &Checked<'_>,
    out: &mut TensorViewMut<'_>,
    values: &[f64],
) {
    let strides = logical_strides(variant.layout, &out.as_view(), variant.v_head_dim);
    let planes = checked.inputs[0].shape();
    let shape = [planes[0], planes[1], planes[2], variant.v_head_dim as usize];
    let dtype = out.as_view().dtype();
    // SAFETY: the same elements as `out`, with their axes split and reordered.
    let mut logical = unsafe { TensorViewMut::from_raw(dtype, out.as_mut_ptr(), &shape, &strides) };
    logical.write_f64(values);
}

/// A captured tensor copied into the reference's element types.
struct Owned {
    dims: Vec<usize>,
    data: Data,
}

enum Data {
    Float(Vec<f32>),
    Int(Vec<i32>),
    Bool(Vec<bool>),
}

impl Owned {
    fn new(view: &TensorView<'_>) -> Owned {
        let values = view.to_f64();
        let data = match view.dtype() {
            Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => {
                Data::Float(values.iter().map(|value| *value as f32).collect())
            }
            Dtype::Int8 | Dtype::Int32 => {
                Data::Int(values.iter().map(|value| *value as i32).collect())
            }
            Dtype::Bool => Data::Bool(values.iter().map(|value| *value != 0.0).collect()),
        };
        Owned {
            dims: view.shape().to_vec(),
            data,
        }
    }

    fn captured(&self) -> Captured<'_> {
        Captured {
            elements: match &self.data {
                Data::Float(data) => Elements::Float(data),
                Data::Int(data) => Elements::Int(data),
                Data::Bool(data) => Elements::Bool(data),
            },
            dims: self.dims.clone(),
        }
    }
}
