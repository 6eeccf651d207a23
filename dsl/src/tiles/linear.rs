//! Static ranges of ints, and int expressions as sums over the query row, the key row and scalars.

use std::cell::RefCell;

use crate::ir::{Binary, Dependence, ExprId, Exprs, Node, Type, Unary, Var};
use crate::variant::Align;

use super::floats::{ANY, FloatRange, float_range, truncated};
use super::{Extremes, MAX_BATCH, MAX_HEADS, MAX_LENGTH};

/// A closed range of ints, wide enough that sums of 32-bit values do not overflow it.
pub type Range = (i64, i64);

const WHOLE: Range = (i32::MIN as i64, i32::MAX as i64);

/// `q * q_idx + kv * kv_idx + sum(coefficient * scalar) + constant`, exact over the integers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) q: i64,
    pub(super) kv: i64,
    pub(super) scalars: Vec<(ExprId, i64)>,
    pub(super) constant: i64,
}

impl Linear {
    fn plus(mut self, other: &Linear, factor: i64) -> Linear {
        self.q += factor * other.q;
        self.kv += factor * other.kv;
        self.constant += factor * other.constant;
        for (scalar, coefficient) in &other.scalars {
            match self.scalars.iter_mut().find(|(known, _)| known == scalar) {
                Some((_, known)) => *known += factor * coefficient,
                None => self.scalars.push((*scalar, factor * coefficient)),
            }
        }
        self.scalars.retain(|(_, coefficient)| *coefficient != 0);
        self
    }
}

/// What linear analysis needs to know of an arena while it grows.
pub(super) struct Facts {
    align: Align,
    dependences: Vec<Dependence>,
    ranges: Vec<Option<Range>>,
    /// Lines of tensors whose ranges have been asked for.
    pub(super) extremes: RefCell<Extremes>,
}

impl Facts {
    pub(super) fn new(exprs: &mut Exprs, align: Align) -> Facts {
        // The lengths take part in positions, so their ranges must be known too.
        exprs.var(Var::QLen);
        exprs.var(Var::KvLen);
        Facts {
            align,
            dependences: exprs.dependences(),
            ranges: int_ranges(exprs, MAX_LENGTH),
            extremes: RefCell::default(),
        }
    }

    /// With lines that have been asked for before.
    pub(super) fn with(self, extremes: Extremes) -> Facts {
        Facts {
            extremes: RefCell::new(extremes),
            ..self
        }
    }

    pub(super) fn is_scalar(&self, id: ExprId) -> bool {
        self.dependences[id.index()] == Dependence::default()
    }

    /// The range of an int node whose value never wraps.
    pub(super) fn range(&self, id: ExprId) -> Option<Range> {
        self.ranges.get(id.index()).copied().flatten()
    }

    /// The node as a linear form; `None` where it is not one or might wrap.
    pub(super) fn linear(&self, exprs: &mut Exprs, id: ExprId) -> Option<Linear> {
        let exact = self.range(id).is_some();
        match exprs.node(id).clone() {
            Node::Int(value) => Some(Linear {
                constant: i64::from(value),
                ..Linear::default()
            }),
            Node::Var(Var::QIdx) => Some(Linear {
                q: 1,
                ..Linear::default()
            }),
            Node::Var(Var::KvIdx) => Some(Linear {
                kv: 1,
                ..Linear::default()
            }),
            Node::Var(Var::QPos) => Some(Linear {
                q: 1,
                scalars: self.shift(exprs),
                ..Linear::default()
            }),
            Node::Unary(Unary::Neg, a) if exact => {
                let a = self.linear(exprs, a)?;
                Some(Linear::default().plus(&a, -1))
            }
            Node::Binary(op @ (Binary::Add | Binary::Sub), a, b) if exact => {
                let (a, b) = (self.linear(exprs, a)?, self.linear(exprs, b)?);
                Some(a.plus(&b, if op == Binary::Add { 1 } else { -1 }))
            }
            Node::Binary(Binary::Mul, a, b) if exact => self.product(exprs, a, b),
            _ => self.is_scalar(id).then(|| Linear {
                scalars: vec![(id, 1)],
                ..Linear::default()
            }),
        }
    }

    fn product(&self, exprs: &mut Exprs, a: ExprId, b: ExprId) -> Option<Linear> {
        let (factor, other) = match (exprs.node(a), exprs.node(b)) {
            (Node::Int(factor), _) => (*factor, b),
            (_, Node::Int(factor)) => (*factor, a),
            _ if self.is_scalar(a) && self.is_scalar(b) => {
                let product = exprs.binary(Binary::Mul, a, b);
                return Some(Linear {
                    scalars: vec![(product, 1)],
                    ..Linear::default()
                });
            }
            _ => return None,
        };
        let other = self.linear(exprs, other)?;
        Some(Linear::default().plus(&other, i64::from(factor)))
    }

    /// `q_pos - q_idx`.
    fn shift(&self, exprs: &mut Exprs) -> Vec<(ExprId, i64)> {
        match self.align {
            Align::TopLeft => Vec::new(),
            Align::BottomRight => vec![(exprs.var(Var::KvLen), 1), (exprs.var(Var::QLen), -1)],
        }
    }

    /// `a - b` as a linear form.
    pub(super) fn difference(&self, exprs: &mut Exprs, a: ExprId, b: ExprId) -> Option<Linear> {
        let (a, b) = (self.linear(exprs, a)?, self.linear(exprs, b)?);
        Some(a.plus(&b, -1))
    }

    /// The scalar part of `factor * form` as an int expression, clipped to what positions can reach; `None`
    /// where it might wrap.
    pub(super) fn scalar_part(
        &self,
        exprs: &mut Exprs,
        form: &Linear,
        factor: i64,
    ) -> Option<ExprId> {
        let constant = i32::try_from(form.constant * factor).ok()?;
        let mut terms = Vec::new();
        for (scalar, coefficient) in &form.scalars {
            terms.push(self.term(exprs, *scalar, i32::try_from(coefficient * factor).ok()?)?);
        }
        // Positive terms first, so that the sum reads naturally.
        terms.sort_by_key(|term| term.negative);
        let low = i64::from(constant) + terms.iter().map(|term| term.range.0).sum::<i64>();
        let high = i64::from(constant) + terms.iter().map(|term| term.range.1).sum::<i64>();
        if low < WHOLE.0 || high > WHOLE.1 {
            return None;
        }
        let mut sum: Option<ExprId> = None;
        for term in &terms {
            sum = Some(match (sum, term.negative) {
                (None, false) => term.size,
                (None, true) => exprs.unary(Unary::Neg, term.size),
                (Some(sum), true) => exprs.binary(Binary::Sub, sum, term.size),
                (Some(sum), false) => exprs.binary(Binary::Add, sum, term.size),
            });
        }
        let constant = exprs.int(constant);
        let value = sum.map_or(constant, |sum| exprs.binary(Binary::Add, sum, constant));
        Some(clipped(exprs, value, (low, high)))
    }

    /// `coefficient * scalar`. A scalar of unknown size is clipped first: positions and their differences lie
    /// within `MAX_LENGTH`, so a bound beyond twice that is as good as twice that.
    fn term(&self, exprs: &mut Exprs, scalar: ExprId, coefficient: i32) -> Option<Term> {
        let negative = coefficient < 0;
        let (scalar, range) = match self.range(scalar) {
            Some(range) if range.1 - range.0 <= 2 * REACH => (scalar, range),
            _ if coefficient.abs() == 1 => (clipped(exprs, scalar, WHOLE), (-REACH, REACH)),
            _ => return None,
        };
        let factor = exprs.int(coefficient.abs());
        let ends = [
            range.0 * i64::from(coefficient),
            range.1 * i64::from(coefficient),
        ];
        Some(Term {
            size: exprs.binary(Binary::Mul, factor, scalar),
            negative,
            range: (ends[0].min(ends[1]), ends[0].max(ends[1])),
        })
    }
}

/// Twice the longest length: no difference of positions gets there.
const REACH: i64 = 2 * MAX_LENGTH as i64;

/// A term of a scalar part: plus or minus `size`.
struct Term {
    size: ExprId,
    negative: bool,
    range: Range,
}

/// The value clipped to `-REACH..=REACH`, as far as its range makes that necessary.
fn clipped(exprs: &mut Exprs, value: ExprId, (low, high): Range) -> ExprId {
    let mut value = value;
    if high > REACH {
        let most = exprs.int(i32::try_from(REACH).expect("REACH fits"));
        value = exprs.binary(Binary::Min, value, most);
    }
    if low < -REACH {
        let least = exprs.int(i32::try_from(-REACH).expect("REACH fits"));
        value = exprs.binary(Binary::Max, value, least);
    }
    value
}

/// The range of every int node of an arena for lengths up to `max_len`, by index; `None` for nodes of other
/// types and for those that might wrap. Batch and head indices lie below [`MAX_BATCH`] and [`MAX_HEADS`].
pub fn int_ranges(exprs: &Exprs, max_len: u32) -> Vec<Option<Range>> {
    let length = i64::from(max_len);
    let var_range = |var| match var {
        Var::B => (0, i64::from(MAX_BATCH) - 1),
        Var::H | Var::KvH => (0, i64::from(MAX_HEADS) - 1),
        Var::QLen | Var::KvLen => (0, length),
        Var::QPos => (-length, length - 1),
        _ => (0, length - 1),
    };
    let mut found: Vec<Option<Range>> = Vec::with_capacity(exprs.len());
    let mut floats: Vec<FloatRange> = Vec::with_capacity(exprs.len());
    for id in exprs.ids() {
        let range = (exprs.ty(id) == Type::Int)
            .then(|| node_range(exprs, id, &found, &floats, &var_range))
            .flatten()
            .filter(|(low, high)| *low >= WHOLE.0 && *high <= WHOLE.1);
        found.push(range);
        floats.push(match exprs.ty(id) {
            Type::Float => {
                float_range(exprs, id, &|id| floats[id.index()], &|id| found[id.index()])
            }
            Type::Int | Type::Bool => ANY,
        });
    }
    found
}

fn node_range(
    exprs: &Exprs,
    id: ExprId,
    found: &[Option<Range>],
    floats: &[FloatRange],
    var_range: &impl Fn(Var) -> Range,
) -> Option<Range> {
    let of = |id: ExprId| found[id.index()];
    // A wrapped operand may still be anything; only sums and products of it are hopeless.
    let any = |id: ExprId| of(id).unwrap_or(WHOLE);
    Some(match exprs.node(id) {
        Node::Int(value) => (i64::from(*value), i64::from(*value)),
        Node::Var(var) => var_range(*var),
        Node::Param(..) | Node::Load(..) => WHOLE,
        Node::Unary(Unary::ToInt, a) => truncated(floats[a.index()]).unwrap_or(WHOLE),
        Node::Unary(Unary::Neg, a) => {
            let (low, high) = of(*a)?;
            (-high, -low)
        }
        Node::Unary(Unary::Abs, a) => abs_range(of(*a)?),
        Node::Binary(op, a, b) => match op {
            Binary::Rem => remainder_range(any(*a), any(*b)),
            Binary::Div => quotient_range(any(*a), any(*b)),
            Binary::Min => (any(*a).0.min(any(*b).0), any(*a).1.min(any(*b).1)),
            Binary::Max => (any(*a).0.max(any(*b).0), any(*a).1.max(any(*b).1)),
            Binary::Add => (of(*a)?.0 + of(*b)?.0, of(*a)?.1 + of(*b)?.1),
            Binary::Sub => (of(*a)?.0 - of(*b)?.1, of(*a)?.1 - of(*b)?.0),
            Binary::Mul => product_range(of(*a)?, of(*b)?),
            _ => return None,
        },
        Node::Select(_, then, other) => (
            any(*then).0.min(any(*other).0),
            any(*then).1.max(any(*other).1),
        ),
        _ => return None,
    })
}

fn abs_range((low, high): Range) -> Range {
    let most = low.abs().max(high.abs());
    let least = if low <= 0 && high >= 0 {
        0
    } else {
        low.abs().min(high.abs())
    };
    (least, most)
}

fn product_range(a: Range, b: Range) -> Range {
    let ends = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    let low = ends.iter().copied().min().expect("four ends");
    let high = ends.iter().copied().max().expect("four ends");
    (low, high)
}

/// Remainders have the sign of the divisor, which is never 0, and are smaller than it.
fn remainder_range(a: Range, divisor: Range) -> Range {
    let (low, high) = ((divisor.0 + 1).min(0), (divisor.1 - 1).max(0));
    // A number from 0 on is not made larger by a divisor from 1 on.
    if a.0 >= 0 && divisor.0 > 0 {
        return (0, high.min(a.1));
    }
    (low, high)
}

/// Quotients rounded down, of a divisor that is never 0.
fn quotient_range(a: Range, divisor: Range) -> Range {
    // The one quotient that wraps is i32::MIN / -1.
    if a.0 == WHOLE.0 && divisor.0 <= -1 && divisor.1 >= -1 {
        return WHOLE;
    }
    // Where both signs occur, the nearest to 0 of each gives the largest quotients.
    let ends = [
        divisor.0,
        divisor.1,
        if divisor.1 >= 1 {
            divisor.0.max(1)
        } else {
            divisor.1
        },
        if divisor.0 <= -1 {
            divisor.1.min(-1)
        } else {
            divisor.0
        },
    ];
    let quotients = ends
        .into_iter()
        .filter(|end| *end != 0)
        .flat_map(|end| [floor(a.0, end), floor(a.1, end)]);
    let (low, high) = quotients.fold((i64::MAX, i64::MIN), |(low, high), quotient| {
        (low.min(quotient), high.max(quotient))
    });
    if low > high { WHOLE } else { (low, high) }
}

/// A quotient rounded down.
fn floor(a: i64, divisor: i64) -> i64 {
    let quotient = a / divisor;
    let exact = quotient * divisor == a;
    if exact || (a < 0) == (divisor < 0) {
        quotient
    } else {
        quotient - 1
    }
}

#[cfg(test)]
mod tests {
    use super::{floor, quotient_range, remainder_range};

    /// All closed ranges within -4..=4.
    fn ranges() -> impl Iterator<Item = (i64, i64)> {
        (-4..=4).flat_map(|low| (low..=4).map(move |high| (low, high)))
    }

    #[test]
    fn quotients_and_remainders_lie_in_their_ranges() {
        for (a, divisor) in ranges().flat_map(|a| ranges().map(move |divisor| (a, divisor))) {
            let (quotients, remainders) = (quotient_range(a, divisor), remainder_range(a, divisor));
            let mut seen: Vec<i64> = Vec::new();
            for d in (divisor.0..=divisor.1).filter(|d| *d != 0) {
                for x in a.0..=a.1 {
                    let (quotient, remainder) = (floor(x, d), x - d * floor(x, d));
                    assert_eq!(quotient, (x as f64 / d as f64).floor() as i64);
                    let inside = remainders.0 <= remainder && remainder <= remainders.1;
                    assert!(
                        inside,
                        "{x} % {d} beyond {remainders:?} of {a:?} % {divisor:?}"
                    );
                    seen.push(quotient);
                }
            }
            let hull = (seen.iter().min().copied(), seen.iter().max().copied());
            if let (Some(low), Some(high)) = hull {
                assert_eq!(quotients, (low, high), "{a:?} / {divisor:?}");
            }
        }
    }
}
