//! Typed expressions with their places: names resolved, literals decided, mask words replaced by what they
//! mean. From here they are folded to constants in f64 ([`super::fold`]) or lowered to the IR ([`super::lower`]).

use crate::ir::{Binary, ParamId, TensorId, Type, Unary, Var};
use crate::span::Span;

/// A typed expression.
#[derive(Clone, Debug)]
pub(super) struct Hir {
    pub(super) kind: HirKind,
    pub(super) ty: Type,
    pub(super) span: Span,
}

/// Kinds of typed expressions.
#[derive(Clone, Debug)]
pub(super) enum HirKind {
    Int {
        value: i32,
        /// Written as a literal, so that beside a float it is one.
        literal: bool,
    },
    Float(f64),
    Bool(bool),
    Var(Var),
    Param(ParamId),
    /// A `let`, by its number.
    Let(usize),
    Load {
        tensor: TensorId,
        index: Vec<Hir>,
        /// The launch makes sure of `q_len <= kv_len`.
        covered: bool,
    },
    /// A side of a window: the int itself, which must not be negative.
    Side(Box<Hir>),
    Unary(Unary, Box<Hir>),
    Binary(Binary, Box<Hir>, Box<Hir>),
    Select(Box<Hir>, Box<Hir>, Box<Hir>),
}

impl Hir {
    pub(super) fn new(kind: HirKind, ty: Type, span: Span) -> Hir {
        Hir { kind, ty, span }
    }

    pub(super) fn int(value: i32, span: Span) -> Hir {
        let kind = HirKind::Int {
            value,
            literal: false,
        };
        Hir::new(kind, Type::Int, span)
    }

    pub(super) fn float(value: f64, span: Span) -> Hir {
        Hir::new(HirKind::Float(value), Type::Float, span)
    }

    pub(super) fn bool(value: bool, span: Span) -> Hir {
        Hir::new(HirKind::Bool(value), Type::Bool, span)
    }

    pub(super) fn var(var: Var, span: Span) -> Hir {
        Hir::new(HirKind::Var(var), var.ty(), span)
    }

    pub(super) fn unary(op: Unary, a: Hir, span: Span) -> Hir {
        let ty = match op {
            Unary::Not => Type::Bool,
            Unary::Neg | Unary::Abs => a.ty,
            Unary::ToInt => Type::Int,
            Unary::Exp
            | Unary::Log
            | Unary::Sqrt
            | Unary::Rsqrt
            | Unary::Tanh
            | Unary::Sigmoid
            | Unary::Floor
            | Unary::ToFloat => Type::Float,
        };
        Hir::new(HirKind::Unary(op, Box::new(a)), ty, span)
    }

    pub(super) fn binary(op: Binary, a: Hir, b: Hir, span: Span) -> Hir {
        let ty = if op.is_comparison() { Type::Bool } else { a.ty };
        Hir::new(HirKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    /// The same value as a float, if it is written as int literals that stand where a float is wanted.
    pub(super) fn literal_as_float(&self) -> Option<Hir> {
        match &self.kind {
            HirKind::Int {
                value,
                literal: true,
            } => Some(Hir::float(f64::from(*value), self.span)),
            HirKind::Select(cond, then, other) if self.ty == Type::Int => {
                let arms = (then.literal_as_float()?, other.literal_as_float()?);
                let kind = HirKind::Select(cond.clone(), Box::new(arms.0), Box::new(arms.1));
                Some(Hir::new(kind, Type::Float, self.span))
            }
            _ => None,
        }
    }

    /// The parts, in order.
    pub(super) fn children(&self) -> Vec<&Hir> {
        match &self.kind {
            HirKind::Load { index, .. } => index.iter().collect(),
            HirKind::Unary(_, a) | HirKind::Side(a) => vec![a],
            HirKind::Binary(_, a, b) => vec![a, b],
            HirKind::Select(cond, then, other) => vec![cond, then, other],
            _ => Vec::new(),
        }
    }
}
