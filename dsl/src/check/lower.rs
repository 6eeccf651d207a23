//! From typed expressions to the IR, with the checks that need to know values: divisors, indices, windows.

use std::collections::BTreeMap;

use super::bounds::{Bounds, Inside};
use super::hir::{Hir, HirKind};
use super::linear::{Facts, Linear};
use super::sink::Sink;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::eval::Value;
use crate::ir::{Binary, ExprId, Exprs, Node, TensorId, Type, Var};
use crate::span::{SourceMap, Span};
use crate::variant::{Dim, Requirement, Size, Tensor};

/// Builds the expressions of one variant.
pub(super) struct Lower<'e> {
    pub(super) sources: &'e SourceMap,
    pub(super) exprs: Exprs,
    pub(super) bounds: Bounds,
    pub(super) tensors: &'e [Tensor],
    /// The `let`s that are lowered; `None` where one has a fault.
    pub(super) lets: Vec<Option<ExprId>>,
    /// Where each expression is written first.
    pub(super) places: BTreeMap<ExprId, Span>,
    /// Conditions on launches, each with the expression that needs it.
    pub(super) requirements: Vec<(ExprId, Requirement)>,
    pub(super) sink: &'e mut Sink,
}

impl Lower<'_> {
    /// The node of an expression; `None` where a fault is reported.
    pub(super) fn lower(&mut self, hir: &Hir) -> Option<ExprId> {
        let id = self.node(hir)?;
        self.places.entry(id).or_insert(hir.span);
        Some(id)
    }

    fn node(&mut self, hir: &Hir) -> Option<ExprId> {
        match &hir.kind {
            HirKind::Int { value, .. } => Some(self.exprs.int(*value)),
            HirKind::Float(value) => Some(self.exprs.float(*value as f32)),
            HirKind::Bool(value) => Some(self.exprs.bool(*value)),
            HirKind::Var(var) => Some(self.exprs.var(*var)),
            HirKind::Param(id) => Some(self.exprs.param(*id, hir.ty)),
            HirKind::Let(index) => self.lets.get(*index).copied().flatten(),
            HirKind::Load {
                tensor,
                index,
                covered,
            } => self.load(*tensor, index, *covered, hir),
            HirKind::Side(n) => self.side(n, hir.span),
            HirKind::Unary(op, a) => {
                let a = self.lower(a)?;
                Some(self.exprs.unary(*op, a))
            }
            HirKind::Binary(op, left, right) => {
                let (a, b) = (self.lower(left), self.lower(right));
                let (a, b) = (a?, b?);
                if matches!(op, Binary::Div | Binary::Rem) && left.ty == Type::Int {
                    self.divisor(*op, b, right.span)?;
                }
                Some(self.exprs.binary(*op, a, b))
            }
            HirKind::Select(cond, then, other) => {
                let parts = (self.lower(cond), self.lower(then), self.lower(other));
                Some(self.exprs.select(parts.0?, parts.1?, parts.2?))
            }
        }
    }

    /// Whether an int divisor is provably not zero.
    fn divisor(&mut self, op: Binary, divisor: ExprId, span: Span) -> Option<()> {
        if self.bounds.never_zero(&self.exprs, divisor) {
            return Some(());
        }
        let sign = if op == Binary::Div { "/" } else { "%" };
        let text = unwrapped(self.sources.snippet(span));
        let (fact, help) = match self.exprs.as_constant(divisor) {
            Some(_) => (
                format!("the divisor of `{sign}` is 0"),
                "divide by something else".to_owned(),
            ),
            None => (
                format!("the divisor of `{sign}` may be 0"),
                format!("write `max({text}, 1)` if it is never below 1"),
            ),
        };
        self.sink.push(
            Diagnostic::error(codes::DIVISION_BY_ZERO, fact, help)
                .at(span, "not provably different from 0"),
        );
        None
    }

    /// A side of a window: never negative, as far as it is known; what a launch gives is checked there.
    fn side(&mut self, n: &Hir, span: Span) -> Option<ExprId> {
        let id = self.lower(n)?;
        if self.bounds.always_negative(&self.exprs, id) {
            let value = match self.exprs.as_constant(id) {
                Some(Value::Int(value)) => format!("`window` has a side of {value}"),
                _ => "`window` has a side that is always negative".to_owned(),
            };
            self.sink.push(
                Diagnostic::error(
                    codes::NEGATIVE_WINDOW,
                    format!("{value}, a side counts keys and starts at 0"),
                    "write `unbounded` for an open side, or a number from 0 on",
                )
                .at(span, "a negative side"),
            );
            return None;
        }
        let zero = self.exprs.int(0);
        let condition = self.exprs.binary(Binary::Le, zero, id);
        if self.known_at_launch(condition) {
            let requirement = Requirement {
                condition,
                message: format!(
                    "`{}` of at least 0, as a side of `window`",
                    self.sources.snippet(span)
                ),
                span,
            };
            self.requirements.push((id, requirement));
        }
        Some(id)
    }

    /// Whether an expression is no constant and reads nothing but parameters and lengths.
    fn known_at_launch(&self, id: ExprId) -> bool {
        self.exprs.as_constant(id).is_none()
            && self.exprs.reachable(&[id]).into_iter().all(|part| {
                !matches!(
                    self.exprs.node(part),
                    Node::Load(..)
                        | Node::Var(
                            Var::B
                                | Var::H
                                | Var::KvH
                                | Var::QIdx
                                | Var::KvIdx
                                | Var::QPos
                                | Var::Dot
                                | Var::Score
                        )
                )
            })
    }

    /// An element of a tensor, each index provably inside.
    fn load(&mut self, id: TensorId, index: &[Hir], covered: bool, whole: &Hir) -> Option<ExprId> {
        let mut parts = Vec::new();
        for (axis, part) in index.iter().enumerate() {
            let lowered = self.lower(part);
            if let Some(lowered) = lowered {
                let inside = self.index(id, axis, part, lowered, covered);
                parts.push(inside.map(|()| lowered));
                continue;
            }
            parts.push(None);
        }
        let parts = parts.into_iter().collect::<Option<Vec<ExprId>>>()?;
        let loaded = self.exprs.load(id, parts, whole.ty);
        if covered {
            let (q_len, kv_len) = (self.exprs.var(Var::QLen), self.exprs.var(Var::KvLen));
            let requirement = Requirement {
                condition: self.exprs.binary(Binary::Le, q_len, kv_len),
                message: "`q_len` at most `kv_len`, because of `same`".to_owned(),
                span: whole.span,
            };
            self.requirements.push((loaded, requirement));
        }
        Some(loaded)
    }

    fn index(
        &mut self,
        id: TensorId,
        axis: usize,
        part: &Hir,
        lowered: ExprId,
        covered: bool,
    ) -> Option<()> {
        let tensor = &self.tensors[id.0 as usize];
        let dim = &tensor.dims[axis];
        let facts = Facts {
            covered,
            ..self.bounds.facts()
        };
        let size = Linear::dim(dim);
        let inside = self.bounds.inside(&self.exprs, lowered, size, facts);
        if inside.below && inside.above {
            return Some(());
        }
        let text = self.sources.snippet(part.span);
        let report = outside(
            text,
            self.exprs.as_constant(lowered),
            inside,
            dim,
            axis,
            &tensor.name,
        );
        self.sink.push(
            report
                .at(
                    part.span,
                    format!("not provably from 0 to {}", last_of(dim)),
                )
                .at(tensor.span, format!("dimension {axis} is `{dim}`")),
        );
        None
    }
}

/// An index that may lie outside: which end it may pass, and how to keep it inside.
fn outside(
    text: &str,
    constant: Option<Value<f32>>,
    inside: Inside,
    dim: &Dim,
    axis: usize,
    tensor: &str,
) -> Diagnostic {
    let last = last_of(dim);
    let by_count = dim
        .sizes
        .iter()
        .any(|size| matches!(size, Size::B | Size::H | Size::KvH));
    let (fact, help) = match constant {
        Some(Value::Int(value)) if dim.sizes.is_empty() => (
            format!(
                "index {value} lies outside dimension {axis} of `{tensor}`, which ends at {last}"
            ),
            format!("write an index from 0 to {last}"),
        ),
        _ => {
            let end = match (inside.below, inside.above) {
                (true, false) => format!("pass {last}, the last index"),
                (false, true) => "be negative, as an index".to_owned(),
                _ => format!("lie outside 0 to {last}, the indices"),
            };
            let help = if by_count {
                // Expressions have no name for the number of heads or sequences.
                format!(
                    "index dimension `{dim}` by `{dim}` itself, or declare it as a constant N and write `clamp({text}, 0, N - 1)`"
                )
            } else {
                format!("write `clamp({text}, 0, {last})`, or an index whose bounds are known")
            };
            (
                format!("`{text}` may {end} of dimension {axis} of `{tensor}`"),
                help,
            )
        }
    };
    Diagnostic::error(codes::INDEX_OUTSIDE, fact, help)
}

/// An expression as text, without the parentheses around all of it.
fn unwrapped(text: &str) -> &str {
    let inner = text
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let mut depth = 0i32;
    match inner {
        Some(inner)
            if inner.chars().all(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth >= 0
            }) =>
        {
            inner
        }
        _ => text,
    }
}

/// The last index of a dimension, as text.
fn last_of(dim: &Dim) -> String {
    let last = Dim {
        sizes: dim.sizes.clone(),
        constant: dim.constant - 1,
    };
    last.to_string()
}
