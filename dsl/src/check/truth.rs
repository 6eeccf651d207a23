//! Whether a condition is the same at every pair of every launch, as far as linear bounds tell.

use super::bounds::Bounds;
use super::linear::Linear;
use crate::ir::{Binary, ExprId, Exprs, Node, Type, Unary};

/// Most conjuncts that are compared with each other.
const MOST_CONJUNCTS: usize = 64;

/// The value that a bool expression always has, if it is proved to have one.
pub(super) fn always(exprs: &Exprs, bounds: &mut Bounds, root: ExprId) -> Option<bool> {
    let mut known: Vec<Option<bool>> = Vec::with_capacity(root.index() + 1);
    for index in 0..=root.index() {
        let id = exprs.id(index);
        let value = match exprs.node(id) {
            Node::Bool(value) => Some(*value),
            Node::Unary(Unary::Not, a) => known[a.index()].map(|value| !value),
            Node::Binary(Binary::And, a, b) => match (known[a.index()], known[b.index()]) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Node::Binary(Binary::Or, a, b) => match (known[a.index()], known[b.index()]) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Node::Binary(op @ (Binary::Le | Binary::Lt), a, b) if exprs.ty(*a) == Type::Int => {
                comparison(exprs, bounds, *op, *a, *b)
            }
            _ => None,
        };
        known.push(value);
    }
    known[root.index()].or_else(|| contradiction(exprs, bounds, root).then_some(false))
}

fn comparison(
    exprs: &Exprs,
    bounds: &mut Bounds,
    op: Binary,
    a: ExprId,
    b: ExprId,
) -> Option<bool> {
    let facts = bounds.facts();
    let strict = Linear::constant(i64::from(op == Binary::Lt));
    let left = bounds.range(exprs, a).clone();
    let right = bounds.range(exprs, b).clone();
    let proved = |greater: &[Linear], smaller: &[Linear], by: Linear| {
        greater.iter().any(|x| {
            smaller
                .iter()
                .any(|y| x.sub(*y).sub(by).never_negative(facts))
        })
    };
    if proved(&right.lower, &left.upper, strict) {
        return Some(true);
    }
    // Not `a <= b` is `a - b >= 1`; not `a < b` is `a - b >= 0`.
    let reverse = Linear::constant(1).sub(strict);
    proved(&left.lower, &right.upper, reverse).then_some(false)
}

/// Whether two conjuncts exclude each other: both say that a form is at most zero, and their sum never is.
fn contradiction(exprs: &Exprs, bounds: &mut Bounds, root: ExprId) -> bool {
    let facts = bounds.facts();
    let mut forms: Vec<Linear> = Vec::new();
    let mut pending = vec![root];
    while let Some(id) = pending.pop() {
        match exprs.node(id) {
            Node::Binary(Binary::And, a, b) => pending.extend([*a, *b]),
            Node::Binary(op @ (Binary::Le | Binary::Lt), a, b) if exprs.ty(*a) == Type::Int => {
                let strict = Linear::constant(i64::from(*op == Binary::Lt));
                let left = bounds.range(exprs, *a).lower.clone();
                let right = bounds.range(exprs, *b).upper.clone();
                for (x, y) in left.iter().flat_map(|x| right.iter().map(move |y| (x, y))) {
                    forms.push(x.sub(*y).add(strict));
                }
            }
            _ => {}
        }
        if forms.len() > MOST_CONJUNCTS {
            return false;
        }
    }
    let one = Linear::constant(1);
    forms.iter().enumerate().any(|(at, x)| {
        forms[..at]
            .iter()
            .any(|y| x.add(*y).sub(one).never_negative(facts))
    })
}
