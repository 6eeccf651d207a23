//! Symbolic interval analysis of int expressions: lower and upper bounds as linear forms that hold in every
//! launch. Each side is a list of bounds that all hold; an empty list means that nothing is known beyond
//! the range of a 32-bit int. Wrapping is taken into account: what may pass 32 bits has no bounds.

use super::linear::{self, Facts, Linear};
use crate::ir::{Binary, ExprId, Exprs, Node, Type, Unary};

/// How many bounds of one side are kept.
const KEPT: usize = 8;

/// Bounds of one expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Range {
    pub(super) lower: Vec<Linear>,
    pub(super) upper: Vec<Linear>,
}

/// Bounds of all expressions of an arena, computed as they are asked for.
pub(super) struct Bounds {
    facts: Facts,
    top_left: bool,
    ranges: Vec<Range>,
}

impl Range {
    fn exact(form: Linear) -> Range {
        Range {
            lower: vec![form],
            upper: vec![form],
        }
    }

    /// Whether both sides are known.
    fn closed(&self) -> bool {
        !self.lower.is_empty() && !self.upper.is_empty()
    }

    /// Without duplicates, and without bounds beyond 32 bits: if one side loses all, the value may wrap.
    fn wrapped(mut self) -> Range {
        self.lower.retain(|form| form.fits_below());
        self.upper.retain(|form| form.fits_above());
        self = self.tidy();
        if self.closed() {
            self
        } else {
            Range::default()
        }
    }

    fn tidy(mut self) -> Range {
        for side in [&mut self.lower, &mut self.upper] {
            side.sort();
            side.dedup();
            side.truncate(KEPT);
        }
        self
    }
}

/// All combinations of two lists.
fn pairs(a: &[Linear], b: &[Linear], join: impl Fn(Linear, Linear) -> Linear) -> Vec<Linear> {
    a.iter()
        .flat_map(|x| b.iter().map(move |y| (*x, *y)))
        .map(|(x, y)| join(x, y))
        .collect()
}

impl Bounds {
    pub(super) fn new(facts: Facts, top_left: bool) -> Bounds {
        Bounds {
            facts,
            top_left,
            ranges: Vec::new(),
        }
    }

    pub(super) fn facts(&self) -> Facts {
        self.facts
    }

    /// The bounds of an int expression.
    pub(super) fn range(&mut self, exprs: &Exprs, id: ExprId) -> &Range {
        // Operands have smaller numbers, so everything before is there when a node is reached.
        for index in self.ranges.len()..=id.index() {
            let range = match exprs.id(index) {
                id if exprs.ty(id) == Type::Int => self.compute(exprs, id),
                _ => Range::default(),
            };
            self.ranges.push(range);
        }
        &self.ranges[id.index()]
    }

    /// Whether `form - 1` bounds the expression above and 0 below, under these facts.
    pub(super) fn inside(
        &mut self,
        exprs: &Exprs,
        id: ExprId,
        size: Linear,
        facts: Facts,
    ) -> Inside {
        let last = size.sub(Linear::constant(1));
        let range = self.range(exprs, id);
        Inside {
            below: range.lower.iter().any(|low| low.never_negative(facts)),
            above: range
                .upper
                .iter()
                .any(|high| last.sub(*high).never_negative(facts)),
        }
    }

    /// Whether the int expression is proved to differ from zero.
    pub(super) fn never_zero(&mut self, exprs: &Exprs, id: ExprId) -> bool {
        let facts = self.facts;
        let one = Linear::constant(1);
        let range = self.range(exprs, id);
        range
            .lower
            .iter()
            .any(|low| low.sub(one).never_negative(facts))
            || range
                .upper
                .iter()
                .any(|high| Linear::constant(-1).sub(*high).never_negative(facts))
    }

    /// Whether the int expression is proved to be negative always.
    pub(super) fn always_negative(&mut self, exprs: &Exprs, id: ExprId) -> bool {
        let facts = self.facts;
        self.range(exprs, id)
            .upper
            .iter()
            .any(|high| Linear::constant(-1).sub(*high).never_negative(facts))
    }

    fn compute(&self, exprs: &Exprs, id: ExprId) -> Range {
        match exprs.node(id) {
            Node::Int(value) => Range::exact(Linear::constant(i64::from(*value))),
            Node::Var(var) => linear::of_var(*var, self.top_left)
                .map(Range::exact)
                .unwrap_or_default(),
            Node::Unary(Unary::Neg, a) => self.neg(self.of(*a)),
            Node::Unary(Unary::Abs, a) => self.abs(self.of(*a)),
            Node::Binary(op, a, b) => self.binary(*op, self.of(*a), self.of(*b)),
            Node::Select(_, then, other) => {
                let (a, b) = (self.of(*then), self.of(*other));
                Range {
                    lower: self.both_lower(a, b),
                    upper: self.both_upper(a, b),
                }
                .tidy()
            }
            _ => Range::default(),
        }
    }

    fn of(&self, id: ExprId) -> &Range {
        &self.ranges[id.index()]
    }

    fn neg(&self, a: &Range) -> Range {
        let flip = |side: &[Linear]| side.iter().map(|form| form.scale(-1)).collect();
        Range {
            lower: flip(&a.upper),
            upper: flip(&a.lower),
        }
        .wrapped()
    }

    fn abs(&self, a: &Range) -> Range {
        let negated = self.neg(a);
        // The absolute value of -2^31 wraps: then the negation has no bounds either.
        if !a.closed() || !negated.closed() {
            return Range::default();
        }
        Range {
            lower: vec![Linear::constant(0)],
            upper: self.both_upper(a, &negated),
        }
        .tidy()
    }

    fn binary(&self, op: Binary, a: &Range, b: &Range) -> Range {
        match op {
            Binary::Add => Range {
                lower: pairs(&a.lower, &b.lower, Linear::add),
                upper: pairs(&a.upper, &b.upper, Linear::add),
            }
            .wrapped(),
            Binary::Sub => Range {
                lower: pairs(&a.lower, &b.upper, Linear::sub),
                upper: pairs(&a.upper, &b.lower, Linear::sub),
            }
            .wrapped(),
            Binary::Mul => self.product(a, b),
            Binary::Div => self.quotient(a, b),
            Binary::Rem => self.remainder(a, b),
            Binary::Min => Range {
                lower: self.both_lower(a, b),
                upper: [a.upper.as_slice(), &b.upper].concat(),
            }
            .tidy(),
            Binary::Max => Range {
                lower: [a.lower.as_slice(), &b.lower].concat(),
                upper: self.both_upper(a, b),
            }
            .tidy(),
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::And | Binary::Or => {
                Range::default()
            }
        }
    }

    /// Forms that are below both ranges.
    fn both_lower(&self, a: &Range, b: &Range) -> Vec<Linear> {
        let mut found = Vec::new();
        let widened = |side: &[Linear]| with(side, Linear::least);
        for (low, high) in cross(&widened(&a.lower), &widened(&b.lower)) {
            if high.sub(low).never_negative(self.facts) {
                found.push(low);
            } else if low.sub(high).never_negative(self.facts) {
                found.push(high);
            } else if let Some(least) = least_of(low, high, self.facts) {
                found.push(least);
            }
        }
        found
    }

    /// Forms that are above both ranges.
    fn both_upper(&self, a: &Range, b: &Range) -> Vec<Linear> {
        let mut found = Vec::new();
        let widened = |side: &[Linear]| with(side, Linear::greatest);
        for (x, y) in cross(&widened(&a.upper), &widened(&b.upper)) {
            if x.sub(y).never_negative(self.facts) {
                found.push(x);
            } else if y.sub(x).never_negative(self.facts) {
                found.push(y);
            } else if x.never_negative(self.facts) && y.never_negative(self.facts) {
                found.push(x.add(y));
            }
        }
        found.retain(|form| form.fits_above());
        found
    }

    fn product(&self, a: &Range, b: &Range) -> Range {
        for (factor, other) in [(a, b), (b, a)] {
            if let Some(factor) = exact_constant(factor) {
                let scaled = |side: &[Linear]| side.iter().map(|form| form.scale(factor)).collect();
                let (lower, upper) = if factor >= 0 {
                    (scaled(&other.lower), scaled(&other.upper))
                } else {
                    (scaled(&other.upper), scaled(&other.lower))
                };
                return Range { lower, upper }.wrapped();
            }
        }
        let (Some(a), Some(b)) = (self.numbers(a), self.numbers(b)) else {
            return Range::default();
        };
        let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
        let least = corners.into_iter().min().expect("four corners");
        let most = corners.into_iter().max().expect("four corners");
        Range {
            lower: vec![Linear::constant(least)],
            upper: vec![Linear::constant(most)],
        }
        .wrapped()
    }

    /// `a / b` rounded down, for divisors of at least 1.
    fn quotient(&self, a: &Range, b: &Range) -> Range {
        let one = Linear::constant(1);
        let positive = b
            .lower
            .iter()
            .any(|low| low.sub(one).never_negative(self.facts));
        if !positive {
            return Range::default();
        }
        let mut found = Range::default();
        if a.lower.iter().any(|low| low.never_negative(self.facts)) {
            found.lower.push(Linear::constant(0));
            found.upper.extend(&a.upper);
        }
        if let (Some((least, most)), Some(by)) = (self.numbers(a), exact_constant(b)) {
            found.lower.push(Linear::constant(least.div_euclid(by)));
            found.upper.push(Linear::constant(most.div_euclid(by)));
        }
        found.tidy()
    }

    /// The remainder of a quotient rounded down, for divisors of at least 1: it lies in `0..b`.
    fn remainder(&self, a: &Range, b: &Range) -> Range {
        let one = Linear::constant(1);
        let positive = b
            .lower
            .iter()
            .any(|low| low.sub(one).never_negative(self.facts));
        if !positive {
            return Range::default();
        }
        let mut found = Range {
            lower: vec![Linear::constant(0)],
            upper: b.upper.iter().map(|high| high.sub(one)).collect(),
        };
        if a.lower.iter().any(|low| low.never_negative(self.facts)) {
            found.upper.extend(&a.upper);
        }
        found.tidy()
    }

    /// The range in plain numbers, where sizes do not matter.
    fn numbers(&self, range: &Range) -> Option<(i64, i64)> {
        let limit = 1i64 << 31;
        let least = |form: &Linear| {
            form.as_constant()
                .or_else(|| self.search(*form, limit).map(|most| -most))
        };
        let low = range.lower.iter().filter_map(least).max()?;
        let high = range
            .upper
            .iter()
            .filter_map(|form| {
                form.as_constant()
                    .or_else(|| self.search(form.scale(-1), limit))
            })
            .min()?;
        Some((low, high))
    }

    /// The least `k` in `-limit..=limit` with `form + k` never negative, by bisection.
    fn search(&self, form: Linear, limit: i64) -> Option<i64> {
        let enough = |k: i64| form.add(Linear::constant(k)).never_negative(self.facts);
        if !enough(limit) {
            return None;
        }
        let (mut low, mut high) = (-limit, limit);
        while low < high {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(high)
    }
}

/// What was proved of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    /// It is never negative.
    pub(super) below: bool,
    /// It is always below the size.
    pub(super) above: bool,
}

fn cross(a: &[Linear], b: &[Linear]) -> Vec<(Linear, Linear)> {
    a.iter()
        .flat_map(|x| b.iter().map(move |y| (*x, *y)))
        .collect()
}

/// Bounds, and what they come to over all indices: two of the latter can more often be compared.
fn with(side: &[Linear], extreme: impl Fn(Linear) -> Linear) -> Vec<Linear> {
    let extremes = side.iter().map(|form| extreme(*form));
    let mut all: Vec<Linear> = side.iter().copied().chain(extremes).collect();
    all.sort();
    all.dedup();
    all
}

/// Zero, where it is below two forms that cannot be compared with each other.
fn least_of(a: Linear, b: Linear, facts: Facts) -> Option<Linear> {
    (a.never_negative(facts) && b.never_negative(facts)).then(|| Linear::constant(0))
}

/// The number that a range is.
fn exact_constant(range: &Range) -> Option<i64> {
    let low = range.lower.iter().find_map(|form| form.as_constant())?;
    let high = range.upper.iter().find_map(|form| form.as_constant())?;
    (low == high).then_some(low)
}
