//! The last step of a variant: only what its expressions read stays, in a fresh arena, with the inputs
//! renumbered.

use std::collections::BTreeMap;

use crate::ir::{ExprId, Exprs, Node, ParamId, TensorId};

/// Copies expressions into a fresh arena; every input that they read must be in the maps.
pub(super) struct Compact<'e> {
    pub(super) from: &'e Exprs,
    pub(super) into: Exprs,
    pub(super) params: BTreeMap<ParamId, ParamId>,
    pub(super) tensors: BTreeMap<TensorId, TensorId>,
    copied: BTreeMap<ExprId, ExprId>,
}

impl<'e> Compact<'e> {
    /// Renumbers the kept inputs in their order.
    pub(super) fn new(
        from: &'e Exprs,
        params: impl IntoIterator<Item = ParamId>,
        tensors: impl IntoIterator<Item = TensorId>,
    ) -> Compact<'e> {
        Compact {
            from,
            into: Exprs::new(),
            params: (0..)
                .zip(params)
                .map(|(new, old)| (old, ParamId(new)))
                .collect(),
            tensors: (0..)
                .zip(tensors)
                .map(|(new, old)| (old, TensorId(new)))
                .collect(),
            copied: BTreeMap::new(),
        }
    }

    /// The copy of an expression.
    pub(super) fn copy(&mut self, root: ExprId) -> ExprId {
        // Ascending numbers: operands come first.
        for id in self.from.reachable(&[root]) {
            if !self.copied.contains_key(&id) {
                let new = self.node(id);
                self.copied.insert(id, new);
            }
        }
        self.copied[&root]
    }

    /// What an expression has become, if it was copied.
    pub(super) fn copied(&self, id: ExprId) -> Option<ExprId> {
        self.copied.get(&id).copied()
    }

    fn node(&mut self, id: ExprId) -> ExprId {
        let of = |id: &ExprId| self.copied[id];
        match self.from.node(id) {
            Node::Int(value) => self.into.int(*value),
            Node::Float(bits) => self.into.float(bits.get()),
            Node::Bool(value) => self.into.bool(*value),
            Node::Var(var) => self.into.var(*var),
            Node::Param(param, ty) => self.into.param(self.params[param], *ty),
            Node::Load(tensor, index, ty) => {
                let index = index.iter().map(of).collect();
                self.into.load(self.tensors[tensor], index, *ty)
            }
            Node::Unary(op, a) => {
                let a = of(a);
                self.into.unary(*op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (of(a), of(b));
                self.into.binary(*op, a, b)
            }
            Node::Select(cond, then, other) => {
                let (cond, then, other) = (of(cond), of(then), of(other));
                self.into.select(cond, then, other)
            }
        }
    }
}
