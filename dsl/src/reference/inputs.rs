//! What expressions read while a row is computed: positions, parameters, elements of captured tensors.

use super::{Captured, Elements, Place, Problem, ProblemError};
use crate::ir::eval::{Inputs, Real, Value};
use crate::ir::{ParamId, TensorId, Type, Var};
use crate::variant::{Align, Layout, Size, Tensor, Variant};

/// A captured tensor, ready to be indexed by the declared dimensions.
#[derive(Clone, Debug)]
pub(super) struct TensorAccess<'a> {
    elements: Elements<'a>,
    /// Per declared dimension: size and stride of the data; a broadcast dimension has stride 0.
    axes: Vec<Axis<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Axis<'a> {
    /// A dimension of the data.
    Plain { size: usize, stride: usize },
    /// `b` of a packed tensor: the sequence's first row, and the stride of a row.
    Packed {
        first_rows: &'a [usize],
        stride: usize,
    },
}

/// Prepares all captured tensors of a problem.
pub(super) fn access<'a>(problem: &Problem<'a>) -> Result<Vec<TensorAccess<'a>>, ProblemError> {
    problem
        .variant
        .tensors
        .iter()
        .zip(&problem.captured)
        .map(|(declared, captured)| access_one(problem, declared, captured))
        .collect()
}

fn access_one<'a>(
    problem: &Problem<'a>,
    declared: &Tensor,
    captured: &Captured<'a>,
) -> Result<TensorAccess<'a>, ProblemError> {
    let (ty, count) = match captured.elements {
        Elements::Float(data) => (Type::Float, data.len()),
        Elements::Int(data) => (Type::Int, data.len()),
        Elements::Bool(data) => (Type::Bool, data.len()),
    };
    let packed = packed_axis(problem, declared);
    let rank = declared.dims.len() - usize::from(packed.is_some());
    if ty != declared.dtype.expression_type() || captured.dims.len() != rank {
        return Err(ProblemError::Captured {
            name: declared.name.clone(),
        });
    }
    let expected = captured.dims.iter().product();
    if count != expected {
        return Err(ProblemError::Elements {
            argument: declared.name.clone(),
            actual: count,
            expected,
        });
    }
    Ok(TensorAccess {
        elements: captured.elements,
        axes: axes(declared, captured, packed),
    })
}

/// With packed sequences: where the declared dimensions have `b` and a length, and the length's prefix sums.
fn packed_axis<'a>(
    problem: &Problem<'a>,
    declared: &Tensor,
) -> Option<(usize, usize, &'a [usize])> {
    let packed = problem.packed?;
    let axis = declared.packed_axis(Layout::Tnd)?;
    let first_rows = match axis.size {
        Size::QLen => packed.cu_q,
        _ => packed.cu_kv,
    };
    Some((axis.batch, axis.rows, first_rows))
}

fn axes<'a>(
    declared: &Tensor,
    captured: &Captured<'_>,
    packed: Option<(usize, usize, &'a [usize])>,
) -> Vec<Axis<'a>> {
    let mut stride = captured.dims.iter().product::<usize>();
    let mut data_dims = captured.dims.iter();
    let mut axes = Vec::with_capacity(declared.dims.len());
    for index in 0..declared.dims.len() {
        if let Some((b, _, first_rows)) = packed
            && b == index
        {
            axes.push(Axis::Packed {
                first_rows,
                stride: 0,
            });
            continue;
        }
        let size = data_dims.next().copied().unwrap_or(1);
        stride = stride.checked_div(size).unwrap_or(0);
        axes.push(Axis::Plain {
            size,
            stride: if size == 1 { 0 } else { stride },
        });
    }
    if let Some((b, row, first_rows)) = packed
        && let Axis::Plain { stride, .. } = axes[row]
    {
        axes[b] = Axis::Packed { first_rows, stride };
    }
    axes
}

impl TensorAccess<'_> {
    /// The element, or zero where an index is outside, which the checker excludes for what it accepts.
    fn load<F: Real>(&self, index: &[i32]) -> Value<F> {
        let offset = self
            .axes
            .iter()
            .zip(index)
            .try_fold(0_usize, |offset, (axis, index)| {
                let index = usize::try_from(*index).ok()?;
                Some(match axis {
                    Axis::Plain { stride: 0, .. } => offset,
                    Axis::Plain { size, stride } if index < *size => offset + index * stride,
                    Axis::Plain { .. } => return None,
                    Axis::Packed { first_rows, stride } => offset + first_rows.get(index)? * stride,
                })
            });
        match self.elements {
            Elements::Float(data) => {
                let element = offset.and_then(|at| data.get(at)).copied().unwrap_or(0.0);
                Value::Float(F::from_f64(f64::from(element)))
            }
            Elements::Int(data) => {
                Value::Int(offset.and_then(|at| data.get(at)).copied().unwrap_or(0))
            }
            Elements::Bool(data) => {
                Value::Bool(offset.and_then(|at| data.get(at)).copied().unwrap_or(false))
            }
        }
    }
}

/// Everything an expression may read at one pair.
pub(super) struct PairInputs<'p, 'a, F> {
    pub(super) variant: &'p Variant,
    pub(super) params: &'p [Value<f32>],
    pub(super) tensors: &'p [TensorAccess<'a>],
    pub(super) place: Place,
    pub(super) kv_h: usize,
    pub(super) kv_idx: usize,
    pub(super) dot: F,
    pub(super) score: F,
}

fn int<F>(value: usize) -> Value<F> {
    Value::Int(i32::try_from(value).unwrap_or(i32::MAX))
}

impl<F: Real> Inputs<F> for PairInputs<'_, '_, F> {
    fn var(&self, var: Var) -> Value<F> {
        let place = &self.place;
        match var {
            Var::B => int(place.b),
            Var::H => int(place.h),
            Var::KvH => int(self.kv_h),
            Var::QIdx | Var::QFirst | Var::QLast => int(place.q_idx),
            Var::KvIdx | Var::KvFirst | Var::KvLast => int(self.kv_idx),
            Var::QPos => Value::Int(q_pos(self.variant.align, place)),
            Var::QLen => int(place.q_len),
            Var::KvLen => int(place.kv_len),
            Var::Dot => Value::Float(self.dot),
            Var::Score => Value::Float(self.score),
        }
    }

    fn param(&self, param: ParamId) -> Value<F> {
        match self.params[param.0 as usize] {
            Value::Int(value) => Value::Int(value),
            Value::Float(value) => Value::Float(F::from_f64(f64::from(value))),
            Value::Bool(value) => Value::Bool(value),
        }
    }

    fn load(&self, tensor: TensorId, index: &[i32]) -> Value<F> {
        self.tensors[tensor.0 as usize].load(index)
    }
}

fn q_pos(align: Align, place: &Place) -> i32 {
    let shift = match align {
        Align::BottomRight => place.kv_len as i64 - place.q_len as i64,
        Align::TopLeft => 0,
    };
    (place.q_idx as i64 + shift) as i32
}
