//! One clause of a mask: a box of rows cut by bands, and what else must hold.

use crate::ir::{Binary, ExprId, Exprs, Node, Type, Unary, Var};
use crate::variant::Align;

use super::bounds::bounds;
use super::extremes::{Extremes, of_load};
use super::linear::{Facts, Linear};
use super::normal::Literal;

/// `q * q_idx + kv * kv_idx + offset <= 0` with coefficients other than 0 and 1.
#[derive(Clone, Copy, Debug)]
struct HalfPlane {
    q: i32,
    kv: i32,
    offset: ExprId,
}

/// A conjunction, its literals sorted by what they bound. All bounds are inclusive scalar ints.
#[derive(Clone, Debug, Default)]
pub(super) struct Clause {
    q_least: Option<ExprId>,
    q_most: Option<ExprId>,
    kv_least: Option<ExprId>,
    kv_most: Option<ExprId>,
    /// `kv_idx - q_idx` is at least this.
    ahead_least: Option<ExprId>,
    /// `kv_idx - q_idx` is at most this.
    ahead_most: Option<ExprId>,
    half_planes: Vec<HalfPlane>,
    /// Bools that do not change within a launch, head or batch.
    conditions: Vec<ExprId>,
    /// Scalar bools: whether a literal that is not linear can hold somewhere in the tile.
    possible: Vec<ExprId>,
    /// Some literal is not bounded at all.
    unknown: bool,
}

impl Clause {
    pub(super) fn new(
        exprs: &mut Exprs,
        literals: &[Literal],
        align: Align,
        extremes: &mut Extremes,
    ) -> Clause {
        let facts = Facts::new(exprs, align).with(std::mem::take(extremes));
        let mut clause = Clause::default();
        for literal in literals {
            clause.add(exprs, &facts, align, *literal);
        }
        *extremes = facts.extremes.into_inner();
        clause
    }

    fn add(&mut self, exprs: &mut Exprs, facts: &Facts, align: Align, literal: Literal) {
        match literal {
            Literal::Opaque(id) if facts.is_scalar(id) => self.conditions.push(id),
            Literal::Opaque(id) => match may_be_true(exprs, facts, align, id) {
                Some(possible) => self.possible.push(possible),
                None => self.unknown = true,
            },
            Literal::IntLe(a, b) => self.add_comparison(exprs, facts, align, Binary::Le, a, b),
            Literal::IntLt(a, b) => self.add_comparison(exprs, facts, align, Binary::Lt, a, b),
            Literal::IntEq(a, b) if facts.is_scalar(a) && facts.is_scalar(b) => {
                let equal = exprs.binary(Binary::Eq, a, b);
                self.conditions.push(equal);
            }
            Literal::IntEq(a, b) => {
                self.add_comparison(exprs, facts, align, Binary::Le, a, b);
                self.add_comparison(exprs, facts, align, Binary::Le, b, a);
            }
        }
    }

    /// `a <= b` or `a < b`.
    fn add_comparison(
        &mut self,
        exprs: &mut Exprs,
        facts: &Facts,
        align: Align,
        op: Binary,
        a: ExprId,
        b: ExprId,
    ) {
        if facts.is_scalar(a) && facts.is_scalar(b) {
            let holds = exprs.binary(op, a, b);
            self.conditions.push(holds);
            return;
        }
        if let Some(mut form) = facts.difference(exprs, a, b) {
            form.constant += i64::from(op == Binary::Lt);
            if self.add_linear(exprs, facts, &form).is_some() {
                return;
            }
        }
        match (
            bounds(exprs, facts, align, a),
            bounds(exprs, facts, align, b),
        ) {
            (Some((least, _)), Some((_, most))) => {
                let possible = exprs.binary(op, least, most);
                self.possible.push(possible);
            }
            _ => self.unknown = true,
        }
    }

    /// Takes `form <= 0` in, or returns `None` where its bound might wrap.
    fn add_linear(&mut self, exprs: &mut Exprs, facts: &Facts, form: &Linear) -> Option<()> {
        let (slot, factor, op) = match (form.q, form.kv) {
            (1, 0) => (&mut self.q_most, -1, Binary::Min),
            (-1, 0) => (&mut self.q_least, 1, Binary::Max),
            (0, 1) => (&mut self.kv_most, -1, Binary::Min),
            (0, -1) => (&mut self.kv_least, 1, Binary::Max),
            (-1, 1) => (&mut self.ahead_most, -1, Binary::Min),
            (1, -1) => (&mut self.ahead_least, 1, Binary::Max),
            (0, 0) => {
                let value = facts.scalar_part(exprs, form, 1)?;
                let zero = exprs.int(0);
                let holds = exprs.binary(Binary::Le, value, zero);
                self.conditions.push(holds);
                return Some(());
            }
            _ => return self.add_half_plane(exprs, facts, form),
        };
        let bound = facts.scalar_part(exprs, form, factor)?;
        *slot = Some(match *slot {
            None => bound,
            Some(known) => exprs.binary(op, known, bound),
        });
        Some(())
    }

    /// Coefficients are kept small enough that a sum over a tile stays within 32 bits for any lengths; larger
    /// ones go through general bounds, which check their range.
    fn add_half_plane(&mut self, exprs: &mut Exprs, facts: &Facts, form: &Linear) -> Option<()> {
        let (q, kv) = (i32::try_from(form.q).ok()?, i32::try_from(form.kv).ok()?);
        if q.abs() > 1 || kv.abs() > 1 {
            return None;
        }
        let offset = facts.scalar_part(exprs, form, 1)?;
        self.half_planes.push(HalfPlane { q, kv, offset });
        Some(())
    }

    /// Whether a tile that meets the clause's key limits always holds a pair.
    pub(super) fn limits_are_exact(&self) -> bool {
        self.half_planes.is_empty() && self.possible.is_empty() && !self.unknown
    }

    /// Bool: some pair of the tile may satisfy the clause.
    pub(super) fn may_hold(&self, exprs: &mut Exprs) -> ExprId {
        let mut holds = exprs.bool(true);
        for condition in self.conditions.iter().chain(&self.possible) {
            holds = exprs.and(holds, *condition);
        }
        let (q_low, q_high) = self.query_box(exprs);
        let (kv_first, kv_last) = (exprs.var(Var::KvFirst), exprs.var(Var::KvLast));
        let kv_low = tighter(exprs, Binary::Max, kv_first, self.kv_least);
        let kv_high = tighter(exprs, Binary::Min, kv_last, self.kv_most);
        if self.q_least.is_some() || self.q_most.is_some() {
            holds = and_le(exprs, holds, q_low, q_high);
        }
        if self.kv_least.is_some() || self.kv_most.is_some() {
            holds = and_le(exprs, holds, kv_low, kv_high);
        }
        // The band kv - q meets the box when it meets the range of differences over the box.
        if let Some(most) = self.ahead_most {
            let reach = exprs.binary(Binary::Add, q_high, most);
            holds = and_le(exprs, holds, kv_low, reach);
        }
        if let Some(least) = self.ahead_least {
            let reach = exprs.binary(Binary::Add, q_low, least);
            holds = and_le(exprs, holds, reach, kv_high);
        }
        if let (Some(least), Some(most)) = (self.ahead_least, self.ahead_most) {
            holds = and_le(exprs, holds, least, most);
        }
        for plane in &self.half_planes {
            let q_term = term(exprs, plane.q, q_low, q_high);
            let kv_term = term(exprs, plane.kv, kv_low, kv_high);
            let sum = exprs.binary(Binary::Add, q_term, kv_term);
            let limit = exprs.unary(Unary::Neg, plane.offset);
            holds = and_le(exprs, holds, sum, limit);
        }
        holds
    }

    /// First key row and one past the last that the clause allows any query row of the tile, within the keys
    /// that exist; an empty range where a condition fails.
    pub(super) fn limits(&self, exprs: &mut Exprs) -> (ExprId, ExprId) {
        let (q_low, q_high) = self.query_box(exprs);
        let (zero, kv_len) = (exprs.int(0), exprs.var(Var::KvLen));
        let band_first = self
            .ahead_least
            .map(|least| exprs.binary(Binary::Add, q_low, least));
        let band_last = self
            .ahead_most
            .map(|most| exprs.binary(Binary::Add, q_high, most));
        let mut begin = zero;
        for first in [self.kv_least, band_first].into_iter().flatten() {
            begin = exprs.binary(Binary::Max, begin, first);
        }
        let mut end = kv_len;
        let mut may_be_negative = false;
        for last in [self.kv_most, band_last].into_iter().flatten() {
            let one = exprs.int(1);
            let past = exprs.binary(Binary::Add, last, one);
            may_be_negative |= !matches!(exprs.node(past), Node::Int(0..));
            end = exprs.binary(Binary::Min, end, past);
        }
        if begin != zero {
            begin = exprs.binary(Binary::Min, begin, kv_len);
        }
        if may_be_negative {
            end = exprs.binary(Binary::Max, end, zero);
        }
        let open = self.limits_are_ordered(exprs, (q_low, q_high), (band_first, band_last));
        // A closed clause must not widen the hull of the others.
        (
            exprs.select(open, begin, kv_len),
            exprs.select(open, end, zero),
        )
    }

    /// Bool: the conditions hold, and every lower limit lies below every upper one. (The ends of a band do where
    /// the band and the rows are not empty.)
    fn limits_are_ordered(
        &self,
        exprs: &mut Exprs,
        (q_low, q_high): (ExprId, ExprId),
        (band_first, band_last): (Option<ExprId>, Option<ExprId>),
    ) -> ExprId {
        let mut open = exprs.bool(true);
        for condition in &self.conditions {
            open = exprs.and(open, *condition);
        }
        if self.q_least.is_some() || self.q_most.is_some() {
            open = and_le(exprs, open, q_low, q_high);
        }
        for (low, high) in [
            (self.ahead_least, self.ahead_most),
            (self.kv_least, self.kv_most),
            (self.kv_least, band_last),
            (band_first, self.kv_most),
        ] {
            if let (Some(low), Some(high)) = (low, high) {
                open = and_le(exprs, open, low, high);
            }
        }
        open
    }

    /// The tile's query rows, cut by the clause.
    fn query_box(&self, exprs: &mut Exprs) -> (ExprId, ExprId) {
        let (first, last) = (exprs.var(Var::QFirst), exprs.var(Var::QLast));
        (
            tighter(exprs, Binary::Max, first, self.q_least),
            tighter(exprs, Binary::Min, last, self.q_most),
        )
    }
}

/// Whether a bool element, or its negation, may be true somewhere in the tile.
fn may_be_true(exprs: &mut Exprs, facts: &Facts, align: Align, id: ExprId) -> Option<ExprId> {
    if let Node::Unary(Unary::Not, a) = *exprs.node(id) {
        let (least, _) = of_load(exprs, facts, align, a)?;
        let one = exprs.int(1);
        return Some(exprs.binary(Binary::Lt, least, one));
    }
    let (_, greatest) = of_load(exprs, facts, align, id)?;
    let zero = exprs.int(0);
    Some(exprs.binary(Binary::Lt, zero, greatest))
}

fn tighter(exprs: &mut Exprs, op: Binary, own: ExprId, bound: Option<ExprId>) -> ExprId {
    debug_assert_eq!(exprs.ty(own), Type::Int);
    bound.map_or(own, |bound| exprs.binary(op, own, bound))
}

fn and_le(exprs: &mut Exprs, holds: ExprId, low: ExprId, high: ExprId) -> ExprId {
    let ordered = match (offset(exprs, low), offset(exprs, high)) {
        ((a, low), (b, high)) if a == b => exprs.bool(low <= high),
        _ => exprs.binary(Binary::Le, low, high),
    };
    exprs.and(holds, ordered)
}

/// The int as something plus a constant. Bounds never wrap, so two of one base compare by their constants.
fn offset(exprs: &Exprs, id: ExprId) -> (ExprId, i32) {
    if let Node::Binary(Binary::Add, base, constant) = *exprs.node(id)
        && let Node::Int(constant) = *exprs.node(constant)
    {
        return (base, constant);
    }
    (id, 0)
}

/// The least value of `coefficient * x` for x in `low..=high`, the coefficient being -1, 0 or 1.
fn term(exprs: &mut Exprs, coefficient: i32, low: ExprId, high: ExprId) -> ExprId {
    match coefficient {
        0 => exprs.int(0),
        1 => low,
        _ => exprs.unary(Unary::Neg, high),
    }
}
