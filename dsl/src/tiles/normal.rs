//! Disjunctive normal form of a mask, negations pushed down to the literals.

use crate::ir::{Binary, ExprId, Exprs, Node, Type, Unary};

/// More clauses than this are not worth their code: such a mask is partial everywhere.
const MAX_CLAUSES: usize = 24;

/// A literal of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    /// `a <= b` on ints.
    IntLe(ExprId, ExprId),
    /// `a < b` on ints.
    IntLt(ExprId, ExprId),
    /// `a == b` on ints.
    IntEq(ExprId, ExprId),
    /// Any other bool expression that stands for itself.
    Opaque(ExprId),
}

type Clauses = Vec<Vec<Literal>>;

/// The clauses of `root`, or of its negation; `None` where they would be too many.
pub(super) fn disjunctive(exprs: &mut Exprs, root: ExprId, negated: bool) -> Option<Clauses> {
    let node = exprs.node(root).clone();
    match node {
        Node::Bool(value) => Some(if value != negated {
            vec![Vec::new()]
        } else {
            Vec::new()
        }),
        Node::Unary(Unary::Not, a) => disjunctive(exprs, a, !negated),
        Node::Binary(Binary::And | Binary::Or, a, b) => {
            let left = disjunctive(exprs, a, negated)?;
            let right = disjunctive(exprs, b, negated)?;
            let both = matches!(node, Node::Binary(Binary::And, ..)) != negated;
            if both {
                product(&left, &right)
            } else {
                sum(left, right)
            }
        }
        Node::Binary(op @ (Binary::Eq | Binary::Ne), a, b) if exprs.ty(a) == Type::Bool => {
            let same = (op == Binary::Eq) != negated;
            let when_true = branch(exprs, a, false, b, !same)?;
            let when_false = branch(exprs, a, true, b, same)?;
            sum(when_true, when_false)
        }
        Node::Binary(op, a, b) if exprs.ty(a) == Type::Int => int_comparison(op, a, b, negated),
        Node::Select(cond, then, other) => {
            let taken = branch(exprs, cond, false, then, negated)?;
            let refused = branch(exprs, cond, true, other, negated)?;
            sum(taken, refused)
        }
        _ => {
            let literal = if negated { exprs.not(root) } else { root };
            Some(vec![vec![Literal::Opaque(literal)]])
        }
    }
}

/// `a` (or its negation) and `b` (or its negation).
fn branch(
    exprs: &mut Exprs,
    a: ExprId,
    a_negated: bool,
    b: ExprId,
    b_negated: bool,
) -> Option<Clauses> {
    let left = disjunctive(exprs, a, a_negated)?;
    let right = disjunctive(exprs, b, b_negated)?;
    product(&left, &right)
}

fn int_comparison(op: Binary, a: ExprId, b: ExprId, negated: bool) -> Option<Clauses> {
    Some(match (op, negated) {
        (Binary::Le, false) => vec![vec![Literal::IntLe(a, b)]],
        (Binary::Le, true) => vec![vec![Literal::IntLt(b, a)]],
        (Binary::Lt, false) => vec![vec![Literal::IntLt(a, b)]],
        (Binary::Lt, true) => vec![vec![Literal::IntLe(b, a)]],
        (Binary::Eq, false) | (Binary::Ne, true) => vec![vec![Literal::IntEq(a, b)]],
        (Binary::Ne, false) | (Binary::Eq, true) => {
            vec![vec![Literal::IntLt(a, b)], vec![Literal::IntLt(b, a)]]
        }
        _ => return None,
    })
}

fn sum(mut left: Clauses, right: Clauses) -> Option<Clauses> {
    for clause in right {
        if !left.contains(&clause) {
            left.push(clause);
        }
    }
    (left.len() <= MAX_CLAUSES).then_some(left)
}

fn product(left: &Clauses, right: &Clauses) -> Option<Clauses> {
    if left.len() * right.len() > MAX_CLAUSES {
        return None;
    }
    let mut clauses = Vec::new();
    for a in left {
        for b in right {
            let mut clause = a.clone();
            clause.extend(b.iter().filter(|literal| !a.contains(literal)));
            clauses.push(clause);
        }
    }
    Some(clauses)
}
