//! Rewrites expressions so that emitted code asks nothing that rustc or clippy would call pointless: comparisons
//! with the least or largest int, and bools compared with constants.

use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, ExprId, Exprs, Node, Type};

/// Rewrites what the roots need; the new nodes join the same arena.
pub(super) fn simplify(exprs: &mut Exprs, roots: &mut [&mut ExprId]) {
    let wanted: Vec<ExprId> = roots.iter().map(|root| **root).collect();
    let order = exprs.reachable(&wanted);
    let mut renewed: Vec<Option<ExprId>> = vec![None; exprs.len()];
    for id in order {
        let of = |child: ExprId| renewed[child.index()].expect("operands come first");
        let new = match exprs.node(id).clone() {
            Node::Unary(op, a) => exprs.unary(op, of(a)),
            Node::Binary(op, a, b) => binary(exprs, op, of(a), of(b)),
            Node::Select(cond, then, other) => exprs.select(of(cond), of(then), of(other)),
            Node::Load(tensor, index, ty) => {
                let index = index.into_iter().map(of).collect();
                exprs.load(tensor, index, ty)
            }
            Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Var(_) | Node::Param(..) => id,
        };
        renewed[id.index()] = Some(new);
    }
    for root in roots {
        **root = renewed[root.index()].expect("roots are reachable");
    }
}

fn binary(exprs: &mut Exprs, op: Binary, a: ExprId, b: ExprId) -> ExprId {
    let (left, right) = (exprs.as_constant(a), exprs.as_constant(b));
    let is = |value: Option<Value<f32>>, limit: i32| value == Some(Value::Int(limit));
    match op {
        Binary::Le if is(right, i32::MAX) || is(left, i32::MIN) => exprs.bool(true),
        Binary::Lt if is(right, i32::MIN) || is(left, i32::MAX) => exprs.bool(false),
        Binary::Eq | Binary::Ne if exprs.ty(a) == Type::Bool => match (left, right) {
            (Some(Value::Bool(known)), _) => same(exprs, b, known == (op == Binary::Eq)),
            (_, Some(Value::Bool(known))) => same(exprs, a, known == (op == Binary::Eq)),
            _ => exprs.binary(op, a, b),
        },
        _ => exprs.binary(op, a, b),
    }
}

/// The value, or its opposite.
fn same(exprs: &mut Exprs, value: ExprId, same: bool) -> ExprId {
    if same { value } else { exprs.not(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fa_dsl::ir::Var;

    #[test]
    fn comparisons_with_the_limits_are_decided() {
        let mut exprs = Exprs::new();
        let (key, most) = (exprs.var(Var::KvIdx), exprs.int(i32::MAX));
        let always = exprs.binary(Binary::Le, key, most);
        let zero = exprs.int(0);
        let first = exprs.binary(Binary::Eq, key, zero);
        let yes = exprs.bool(true);
        let is_first = exprs.binary(Binary::Eq, first, yes);
        let mut root = exprs.and(always, is_first);
        simplify(&mut exprs, &mut [&mut root]);
        assert_eq!(root, first);
    }
}
