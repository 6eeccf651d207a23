//! Ranges of floats: what an expression can be, NaN left aside, by interval arithmetic in double precision.

use crate::ir::{Binary, ExprId, Exprs, Node, Unary};

use super::linear::Range;

/// A closed range of floats; infinite where nothing is known.
pub(crate) type FloatRange = (f64, f64);

/// Nothing is known.
pub(crate) const ANY: FloatRange = (f64::NEG_INFINITY, f64::INFINITY);

/// Beyond this, rounding to fp32 may move a number by more than 1.
const WHOLE_STEPS: f64 = 8_388_608.0;

/// The range of a float node from those of its operands; loads and variables may be anything.
pub(crate) fn float_range(
    exprs: &Exprs,
    id: ExprId,
    of: &impl Fn(ExprId) -> FloatRange,
    int: &impl Fn(ExprId) -> Option<Range>,
) -> FloatRange {
    let range = match exprs.node(id) {
        Node::Float(bits) => (f64::from(bits.get()), f64::from(bits.get())),
        Node::Unary(Unary::ToFloat, a) => int(*a)
            .map_or((-2147483648.0, 2147483648.0), |(low, high)| {
                (low as f64, high as f64)
            }),
        Node::Unary(op, a) => float_unary(*op, of(*a)),
        Node::Binary(op, a, b) => float_binary(*op, of(*a), of(*b)),
        Node::Select(_, a, b) => (of(*a).0.min(of(*b).0), of(*a).1.max(of(*b).1)),
        _ => ANY,
    };
    if range.0.is_nan() || range.1.is_nan() {
        ANY
    } else {
        range
    }
}

/// What truncating a float gives; NaN gives 0. One is added on both sides for what fp32 rounds on the way.
pub(super) fn truncated((low, high): FloatRange) -> Option<Range> {
    if low < -WHOLE_STEPS || high > WHOLE_STEPS {
        return None;
    }
    let (low, high) = (low.trunc() as i64 - 1, high.trunc() as i64 + 1);
    Some((low.min(0), high.max(0)))
}

fn float_unary(op: Unary, (low, high): FloatRange) -> FloatRange {
    match op {
        Unary::Neg => (-high, -low),
        Unary::Abs => (0.0, low.abs().max(high.abs())),
        Unary::Tanh => (-1.0, 1.0),
        Unary::Sigmoid => (0.0, 1.0),
        Unary::Floor => (low.floor(), high.floor()),
        Unary::Exp => (low.exp(), high.exp()),
        Unary::Sqrt => (0.0, high.max(0.0).sqrt()),
        Unary::Log | Unary::Rsqrt | Unary::Not | Unary::ToInt | Unary::ToFloat => ANY,
    }
}

fn float_binary(op: Binary, a: FloatRange, b: FloatRange) -> FloatRange {
    let corners = |join: fn(f64, f64) -> f64| {
        let all = [
            join(a.0, b.0),
            join(a.0, b.1),
            join(a.1, b.0),
            join(a.1, b.1),
        ];
        if all.iter().any(|x| x.is_nan()) {
            return ANY;
        }
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    match op {
        Binary::Add => (a.0 + b.0, a.1 + b.1),
        Binary::Sub => (a.0 - b.1, a.1 - b.0),
        Binary::Mul => corners(|x, y| x * y),
        Binary::Div if b.0 > 0.0 || b.1 < 0.0 => corners(|x, y| x / y),
        Binary::Min => (a.0.min(b.0), a.1.min(b.1)),
        Binary::Max => (a.0.max(b.0), a.1.max(b.1)),
        _ => ANY,
    }
}
