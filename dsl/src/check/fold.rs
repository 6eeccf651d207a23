//! Constants: evaluates typed expressions in f64, for whatever must be known before a kernel is written.

use super::hir::{Hir, HirKind};
use crate::ir::eval::{self, Value};
use crate::span::Span;

/// Why an expression has no constant value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unfoldable {
    /// Something in it is known only at launch or per position.
    Varies(Span),
    /// It has a fault that is reported already.
    Unknown,
    /// An int division by zero.
    DivisionByZero(Span),
}

/// The value of an expression, given those of the `let`s.
pub(super) fn fold(
    hir: &Hir,
    lets: &[Result<Value<f64>, Unfoldable>],
) -> Result<Value<f64>, Unfoldable> {
    let of = |part: &Hir| fold(part, lets);
    match &hir.kind {
        HirKind::Int { value, .. } => Ok(Value::Int(*value)),
        HirKind::Float(value) => Ok(Value::Float(*value)),
        HirKind::Bool(value) => Ok(Value::Bool(*value)),
        HirKind::Var(_) | HirKind::Param(_) | HirKind::Load { .. } => {
            Err(Unfoldable::Varies(hir.span))
        }
        HirKind::Let(index) => lets
            .get(*index)
            .copied()
            .unwrap_or(Err(Unfoldable::Unknown))
            .map_err(|error| match error {
                Unfoldable::Varies(_) => Unfoldable::Varies(hir.span),
                other => other,
            }),
        HirKind::Side(a) => of(a),
        HirKind::Unary(op, a) => Ok(eval::unary(*op, of(a)?)),
        HirKind::Binary(op, a, b) => {
            eval::binary(*op, of(a)?, of(b)?).ok_or(Unfoldable::DivisionByZero(b.span))
        }
        HirKind::Select(cond, then, other) => match of(cond)? {
            Value::Bool(true) => of(then),
            _ => of(other),
        },
    }
}
