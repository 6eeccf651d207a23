//! Bounds of int expressions over a tile, as scalar expressions: interval arithmetic that stays symbolic.

use crate::ir::{Binary, ExprId, Exprs, Node, Unary, Var};
use crate::variant::Align;

use super::extremes::of_load;
use super::linear::Facts;

/// Least and greatest value over a tile.
pub(super) type Bounds = (ExprId, ExprId);

/// Bounds of an int expression; `None` where nothing is known or where it might wrap.
pub(super) fn bounds(exprs: &mut Exprs, facts: &Facts, align: Align, id: ExprId) -> Option<Bounds> {
    if facts.is_scalar(id) {
        return Some((id, id));
    }
    let of = |exprs: &mut Exprs, id| bounds(exprs, facts, align, id);
    let node = exprs.node(id).clone();
    match node {
        Node::Var(Var::QIdx) => Some((exprs.var(Var::QFirst), exprs.var(Var::QLast))),
        Node::Var(Var::KvIdx) => Some((exprs.var(Var::KvFirst), exprs.var(Var::KvLast))),
        Node::Var(Var::QPos) => {
            let (first, last) = (exprs.var(Var::QFirst), exprs.var(Var::QLast));
            Some((position(exprs, align, first), position(exprs, align, last)))
        }
        Node::Select(_, then, other) => {
            let (a, b) = (of(exprs, then)?, of(exprs, other)?);
            Some((
                exprs.binary(Binary::Min, a.0, b.0),
                exprs.binary(Binary::Max, a.1, b.1),
            ))
        }
        Node::Load(..) => of_load(exprs, facts, align, id),
        // From here on arithmetic: exact only where nothing wraps.
        _ if facts.range(id).is_none() => None,
        Node::Unary(Unary::Neg, a) => {
            let (low, high) = of(exprs, a)?;
            Some((exprs.unary(Unary::Neg, high), exprs.unary(Unary::Neg, low)))
        }
        Node::Unary(Unary::Abs, a) => {
            let (low, high) = of(exprs, a)?;
            let (zero, negated) = (exprs.int(0), exprs.unary(Unary::Neg, high));
            let outside = exprs.binary(Binary::Max, low, negated);
            let away = exprs.unary(Unary::Neg, low);
            let least = exprs.binary(Binary::Max, outside, zero);
            Some((least, exprs.binary(Binary::Max, away, high)))
        }
        Node::Binary(op, a, b) => {
            let (left, right) = (of(exprs, a)?, of(exprs, b)?);
            binary(exprs, op, left, right)
        }
        _ => None,
    }
}

/// `q_pos` of a query row.
pub(super) fn position(exprs: &mut Exprs, align: Align, q_idx: ExprId) -> ExprId {
    match align {
        Align::TopLeft => q_idx,
        Align::BottomRight => {
            let (kv_len, q_len) = (exprs.var(Var::KvLen), exprs.var(Var::QLen));
            let shift = exprs.binary(Binary::Sub, kv_len, q_len);
            exprs.binary(Binary::Add, q_idx, shift)
        }
    }
}

fn binary(exprs: &mut Exprs, op: Binary, a: Bounds, b: Bounds) -> Option<Bounds> {
    let mut apply = |a, b| exprs.binary(op, a, b);
    match op {
        Binary::Add | Binary::Min | Binary::Max => Some((apply(a.0, b.0), apply(a.1, b.1))),
        Binary::Sub => Some((apply(a.0, b.1), apply(a.1, b.0))),
        Binary::Mul => {
            if let Node::Int(factor) = *exprs.node(b.0)
                && b.0 == b.1
            {
                return Some(scaled(exprs, a, b.0, factor));
            }
            match *exprs.node(a.0) {
                Node::Int(factor) if a.0 == a.1 => Some(scaled(exprs, b, a.0, factor)),
                _ => None,
            }
        }
        Binary::Div | Binary::Rem => match *exprs.node(b.0) {
            Node::Int(divisor) if divisor > 0 && b.0 == b.1 => {
                Some(divided(exprs, op, a, b.0, divisor))
            }
            _ => None,
        },
        _ => None,
    }
}

fn scaled(exprs: &mut Exprs, a: Bounds, factor_id: ExprId, factor: i32) -> Bounds {
    let (low, high) = if factor >= 0 { a } else { (a.1, a.0) };
    (
        exprs.binary(Binary::Mul, low, factor_id),
        exprs.binary(Binary::Mul, high, factor_id),
    )
}

fn divided(exprs: &mut Exprs, op: Binary, a: Bounds, divisor_id: ExprId, divisor: i32) -> Bounds {
    let low_quotient = exprs.binary(Binary::Div, a.0, divisor_id);
    let high_quotient = exprs.binary(Binary::Div, a.1, divisor_id);
    if op == Binary::Div {
        return (low_quotient, high_quotient);
    }
    let same_period = exprs.binary(Binary::Eq, low_quotient, high_quotient);
    let low = exprs.binary(Binary::Rem, a.0, divisor_id);
    let high = exprs.binary(Binary::Rem, a.1, divisor_id);
    let (zero, most) = (exprs.int(0), exprs.int(divisor - 1));
    (
        exprs.select(same_period, low, zero),
        exprs.select(same_period, high, most),
    )
}
