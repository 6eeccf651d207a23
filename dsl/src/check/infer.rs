//! From syntax to typed expressions: resolves names, decides literals, checks the types of operands.

use std::collections::BTreeSet;

use super::env::{self, Def, Env};
use super::hir::{Hir, HirKind};
use super::sink::{Known, Sink};
use crate::ast::{self, BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::eval::Value;
use crate::ir::{Binary, Type, Unary, Var};
use crate::span::{SourceMap, Span};
use crate::variant::{Dim, Size};

/// The state of inference; `None` from its functions means that a fault is reported.
pub(super) struct Infer<'e> {
    pub(super) sources: &'e SourceMap,
    pub(super) env: &'e Env,
    /// The names of the file and of the variant that were read.
    pub(super) used: &'e mut BTreeSet<Span>,
    pub(super) sink: &'e mut Sink,
}

/// The name of a type with its article.
pub(super) fn a_type(ty: Type) -> &'static str {
    match ty {
        Type::Int => "an int",
        Type::Float => "a float",
        Type::Bool => "a bool",
    }
}

impl Infer<'_> {
    /// An expression of whatever type it has.
    pub(super) fn infer(&mut self, expr: &Expr) -> Option<Hir> {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Int(text) => self.int_literal(text, false, span),
            ExprKind::Float(text) => {
                let value = ast::float_value(text).unwrap_or(f64::NAN);
                if !(value as f32).is_finite() {
                    self.too_large(text, span);
                    return None;
                }
                Some(Hir::float(value, span))
            }
            ExprKind::Bool(value) => Some(Hir::bool(*value, span)),
            ExprKind::Text(text) => self.error(
                Diagnostic::error(
                    codes::WRONG_VALUE,
                    format!("quoted text has no meaning here: {text}"),
                    format!("write `{}`, without quotes", text.trim_matches('"')),
                )
                .at(span, "text"),
            ),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Call(name, arguments) => self.call(name, arguments, span),
            ExprKind::Index(name, indices) => self.index(name, indices, span),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, span),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span),
            ExprKind::If(cond, then, other) => {
                let cond = self.expect(cond, Type::Bool, "the condition of `if`");
                let then_hir = self.infer(then);
                let other_hir = self.infer(other);
                let [cond, a, b] = self.all([cond, then_hir, other_hir])?;
                let Some((a, b)) = self.unify(a, b, then, other, "the arms of `if`") else {
                    self.sink.orphan([Some(cond)]);
                    return None;
                };
                let ty = a.ty;
                let kind = HirKind::Select(Box::new(cond), Box::new(a), Box::new(b));
                Some(Hir::new(kind, ty, span))
            }
            ExprKind::Group(inner) => self.infer(inner).map(|hir| Hir { span, ..hir }),
            ExprKind::Broken(parts) => {
                for part in parts {
                    let part = self.infer(part);
                    self.sink.orphan([part]);
                }
                None
            }
            ExprKind::Error => None,
        }
    }

    /// The parts of an expression if there are all; else those that are there are kept to be checked further.
    pub(super) fn all<const N: usize>(&mut self, parts: [Option<Hir>; N]) -> Option<[Hir; N]> {
        if parts.iter().any(Option::is_none) {
            self.sink.orphan(parts);
            return None;
        }
        let parts: Vec<Hir> = parts.into_iter().flatten().collect();
        <[Hir; N]>::try_from(parts).ok()
    }

    /// An expression that must have this type; `role` says for what.
    pub(super) fn expect(&mut self, expr: &Expr, ty: Type, role: &str) -> Option<Hir> {
        let hir = self.infer(expr)?;
        self.coerce(hir, ty, expr, role)
    }

    /// The same value in the wanted type, or an error.
    pub(super) fn coerce(&mut self, hir: Hir, ty: Type, expr: &Expr, role: &str) -> Option<Hir> {
        if hir.ty == ty {
            return Some(hir);
        }
        if ty == Type::Float
            && let Some(float) = hir.literal_as_float()
        {
            return Some(float);
        }
        let help = self.conversion(expr, hir.ty, ty);
        let report = Diagnostic::error(
            codes::WRONG_TYPE,
            format!("{role} must be {}, this is {}", a_type(ty), a_type(hir.ty)),
            help,
        );
        let report = report.at(expr.span, a_type(hir.ty));
        self.sink.orphan([Some(hir)]);
        self.error(report)
    }

    /// How to write an expression in another type.
    fn conversion(&self, expr: &Expr, from: Type, to: Type) -> String {
        let text = self.sources.snippet(expr.span);
        let short = if text.len() <= 40 && !text.contains('\n') {
            text
        } else {
            "…"
        };
        let short = short
            .strip_prefix('(')
            .and_then(|inner| inner.strip_suffix(')'))
            .filter(|inner| !inner.contains([')', '(']))
            .unwrap_or(short);
        match (from, to) {
            (Type::Int, Type::Float) => match with_float_literals(expr) {
                Some(floats) => format!("write `{floats}`; between ints `/` rounds down"),
                None => format!("write `float({short})`"),
            },
            (Type::Float, Type::Int) => format!("write `int({short})`, which truncates"),
            (Type::Int, Type::Bool) => format!("compare it, as in `{short} != 0`"),
            (Type::Float, Type::Bool) => {
                format!(
                    "compare it, as in `{short} > 0.0`; a number is no condition, and an additive bias belongs into `score`"
                )
            }
            (Type::Bool, Type::Int) => format!("write `if {short} {{ 1 }} else {{ 0 }}`"),
            (Type::Bool, Type::Float) => format!("write `if {short} {{ 1.0 }} else {{ 0.0 }}`"),
            _ => "change the expression".to_owned(),
        }
    }

    /// Two operands in one type: an int literal beside a float becomes one.
    pub(super) fn unify(
        &mut self,
        a: Hir,
        b: Hir,
        left: &Expr,
        right: &Expr,
        role: &str,
    ) -> Option<(Hir, Hir)> {
        match (a.ty, b.ty) {
            (x, y) if x == y => return Some((a, b)),
            (Type::Int, Type::Float) => {
                if let Some(float) = a.literal_as_float() {
                    return Some((float, b));
                }
            }
            (Type::Float, Type::Int) => {
                if let Some(float) = b.literal_as_float() {
                    return Some((a, float));
                }
            }
            _ => {}
        }
        let help = match (a.ty, b.ty) {
            (Type::Int, Type::Float) => self.conversion(left, Type::Int, Type::Float),
            (Type::Float, Type::Int) => self.conversion(right, Type::Int, Type::Float),
            (Type::Bool, other) => self.conversion(left, Type::Bool, other),
            (other, _) => self.conversion(right, Type::Bool, other),
        };
        let (a_type, b_type) = (a_type(a.ty), a_type(b.ty));
        let message = format!("{role} differ in type: {a_type} and {b_type}");
        let report = Diagnostic::error(codes::WRONG_TYPE, message, help)
            .at(left.span, a_type)
            .at(right.span, b_type);
        self.sink.orphan([Some(a), Some(b)]);
        self.error(report)
    }

    pub(super) fn error<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.sink.push(diagnostic);
        None
    }

    fn int_literal(&mut self, text: &str, negative: bool, span: Span) -> Option<Hir> {
        let magnitude = ast::int_value(text).and_then(|value| i64::try_from(value).ok())?;
        let signed = if negative { -magnitude } else { magnitude };
        let Ok(value) = i32::try_from(signed) else {
            self.too_large(text, span);
            return None;
        };
        let kind = HirKind::Int {
            value,
            literal: true,
        };
        Some(Hir::new(kind, Type::Int, span))
    }

    fn too_large(&mut self, text: &str, span: Span) {
        self.sink.push(
            Diagnostic::error(
                codes::BAD_NUMBER,
                format!("`{text}` does not fit into 32 bits"),
                "ints end at 2147483647, floats at 3.4028234e38: write a smaller number",
            )
            .at(span, "too large"),
        );
    }

    fn name(&mut self, name: &str, span: Span) -> Option<Hir> {
        if let Some((_, var)) = env::VARS.into_iter().find(|(known, _)| *known == name) {
            return Some(Hir::var(var, span));
        }
        match name {
            "score" => return Some(Hir::var(Var::Score, span)),
            "causal" => return Some(self.causal(span)),
            "head_dim" => return self.known(self.env.head_dim, name, span, Hir::int),
            "scale" => return self.known(self.env.scale, name, span, Hir::float),
            "unbounded" => {
                return self.error(
                    Diagnostic::error(
                        codes::WRONG_PLACE,
                        "`unbounded` stands outside `window`",
                        "use it as a side of a window: `window(unbounded, 0)`",
                    )
                    .at(span, "no value of its own"),
                );
            }
            _ => {}
        }
        match self.lookup(name, span)? {
            Def::Const(Known::Value(value)) => Some(match value {
                Value::Int(value) => Hir::int(value, span),
                Value::Float(value) => Hir::float(value, span),
                Value::Bool(value) => Hir::bool(value, span),
            }),
            Def::Const(Known::Absent | Known::Broken) | Def::Broken => None,
            Def::NotYet => self.error(not_yet(name, span)),
            Def::Param(id, ty) => Some(Hir::new(HirKind::Param(id), ty, span)),
            Def::Let(index) => {
                let ty = self.env.lets.get(index).copied().flatten()?;
                Some(Hir::new(HirKind::Let(index), ty, span))
            }
            Def::Tensor(id) => {
                let dims = &self.env.tensors[id.0 as usize].dims;
                let rank = dims.len();
                let form: Vec<&str> = dims.iter().map(usual_index).collect();
                let form = form.join(", ");
                self.error(
                    Diagnostic::error(
                        codes::WRONG_ARGUMENTS,
                        format!("tensor `{name}` is used without an index"),
                        format!("write `{name}[{form}]`"),
                    )
                    .at(span, format!("a tensor of {}", count(rank, "dimension"))),
                )
            }
        }
    }

    fn known<T: Copy>(
        &mut self,
        value: Known<T>,
        name: &str,
        span: Span,
        build: impl Fn(T, Span) -> Hir,
    ) -> Option<Hir> {
        match value {
            Known::Value(value) => Some(build(value, span)),
            Known::Broken => None,
            Known::Absent => self.error(
                Diagnostic::error(
                    codes::WRONG_PLACE,
                    format!("`{name}` has no value here"),
                    "write the number, or a `const` that holds it",
                )
                .at(span, "belongs to a variant and is not known yet"),
            ),
        }
    }

    /// What a user's name stands for; an unknown one is an error.
    pub(super) fn lookup(&mut self, name: &str, span: Span) -> Option<Def> {
        if let Some((def, at)) = self.env.names.get(name) {
            self.used.insert(*at);
            return Some(*def);
        }
        let report = match env::signature(name) {
            Some(form) => Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                format!("`{name}` is used without arguments"),
                format!("write `{form}`"),
            )
            .at(span, "a function"),
            None => self.unknown(name, span),
        };
        self.error(report)
    }

    fn unknown(&self, name: &str, span: Span) -> Diagnostic {
        let report = |help: String| {
            Diagnostic::error(
                codes::UNKNOWN_NAME,
                format!("`{name}` is not defined"),
                help,
            )
            .at(span, "unknown name")
        };
        if let Some(near) = self.env.nearest(name) {
            return report(format!("did you mean `{near}`?")).with_patch(span, near);
        }
        report(match name {
            "heads" | "kv_heads" | "v_head_dim" => {
                format!("declare a `const` and use it in `{name}` and here")
            }
            "inf" | "infinity" | "nan" => {
                "put the condition into `mask`: a masked pair has weight exactly 0".to_owned()
            }
            "pi" => "write `3.14159265`".to_owned(),
            _ => format!(
                "define it: `const {name}: int = …;` in front of the variant, or `param`, `tensor` or `let` in it"
            ),
        })
    }

    fn index(&mut self, name: &Name, indices: &[Expr], span: Span) -> Option<Hir> {
        let def = if env::is_reserved(&name.text) {
            None
        } else {
            Some(self.lookup(&name.text, name.span))
        };
        let parts: Vec<Option<Hir>> = indices
            .iter()
            .map(|index| self.expect(index, Type::Int, "an index"))
            .collect();
        let id = match def {
            Some(None) | Some(Some(Def::Broken)) => {
                self.sink.orphan(parts);
                return None;
            }
            Some(Some(Def::NotYet)) => return self.error(not_yet(&name.text, name.span)),
            Some(Some(Def::Tensor(id))) => id,
            other => {
                let kind = other.flatten().map_or("a word of the language", Def::kind);
                return self.error(
                    Diagnostic::error(
                        codes::WRONG_ARGUMENTS,
                        format!("`{}` is {kind} and has no elements", name.text),
                        "only a `tensor` is indexed; functions are called with `( )`",
                    )
                    .at(name.span, kind),
                );
            }
        };
        let tensor = &self.env.tensors[id.0 as usize];
        if indices.len() != tensor.dims.len() {
            let report = Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                format!(
                    "`{}` has {}, the index has {}",
                    name.text,
                    count(tensor.dims.len(), "dimension"),
                    count(indices.len(), "part")
                ),
                "give one int for each dimension",
            )
            .at(span, count(indices.len(), "part"))
            .at(tensor.span, count(tensor.dims.len(), "dimension"));
            return self.error(report);
        }
        let ty = tensor.dtype.expression_type();
        if parts.iter().any(Option::is_none) {
            self.sink.orphan(parts);
            return None;
        }
        let index: Vec<Hir> = parts.into_iter().flatten().collect();
        let kind = HirKind::Load {
            tensor: id,
            index,
            covered: false,
        };
        Some(Hir::new(kind, ty, span))
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Option<Hir> {
        if let (UnaryOp::Neg, ExprKind::Int(text)) = (op, &operand.ungrouped().kind) {
            return self.int_literal(text, true, span);
        }
        match op {
            UnaryOp::Not => {
                let a = self.expect(operand, Type::Bool, "the operand of `!`")?;
                Some(Hir::unary(Unary::Not, a, span))
            }
            UnaryOp::Neg => {
                let a = self.infer(operand)?;
                if a.ty == Type::Bool {
                    return self.error(
                        Diagnostic::error(
                            codes::WRONG_TYPE,
                            "the operand of `-` must be a number, this is a bool",
                            "write `!` to negate a condition",
                        )
                        .at(operand.span, "a bool"),
                    );
                }
                Some(Hir::unary(Unary::Neg, a, span))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Option<Hir> {
        let text = op.text();
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let role = format!("an operand of `{text}`");
            let a = self.expect(left, Type::Bool, &role);
            let b = self.expect(right, Type::Bool, &role);
            let ir = if op == BinaryOp::And {
                Binary::And
            } else {
                Binary::Or
            };
            let [a, b] = self.all([a, b])?;
            return Some(Hir::binary(ir, a, b, span));
        }
        let parts = [self.infer(left), self.infer(right)];
        let [a, b] = self.all(parts)?;
        let (a, b) = self.unify(a, b, left, right, &format!("the operands of `{text}`"))?;
        if a.ty == Type::Bool && !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            return self.error(
                Diagnostic::error(
                    codes::WRONG_TYPE,
                    format!("`{text}` does not take bools"),
                    "join conditions by `&&`, `||`, `==` or `!=`",
                )
                .at(left.span, "a bool")
                .at(right.span, "a bool"),
            );
        }
        if op == BinaryOp::Rem && a.ty == Type::Float {
            return self.error(
                Diagnostic::error(
                    codes::WRONG_TYPE,
                    "`%` does not exist on floats",
                    "write `x - y * floor(x / y)`",
                )
                .at(span, "a remainder of floats"),
            );
        }
        // `a > b` is `b < a`, on NaN as well.
        let (ir, a, b) = match op {
            BinaryOp::Gt => (Binary::Lt, b, a),
            BinaryOp::Ge => (Binary::Le, b, a),
            BinaryOp::Eq => (Binary::Eq, a, b),
            BinaryOp::Ne => (Binary::Ne, a, b),
            BinaryOp::Lt => (Binary::Lt, a, b),
            BinaryOp::Le => (Binary::Le, a, b),
            BinaryOp::Add => (Binary::Add, a, b),
            BinaryOp::Sub => (Binary::Sub, a, b),
            BinaryOp::Mul => (Binary::Mul, a, b),
            BinaryOp::Div => (Binary::Div, a, b),
            BinaryOp::Rem | BinaryOp::And | BinaryOp::Or => (Binary::Rem, a, b),
        };
        Some(Hir::binary(ir, a, b, span))
    }
}

/// What a dimension is mostly indexed by.
fn usual_index(dim: &Dim) -> &'static str {
    match (dim.sizes.as_slice(), dim.constant) {
        ([Size::B], 0) => "b",
        ([Size::H], 0) => "h",
        ([Size::KvH], 0) => "kv_h",
        ([Size::QLen], 0) => "q_idx",
        ([Size::KvLen], 0) => "kv_idx",
        ([], 1) => "0",
        _ => "…",
    }
}

/// Reports a name of the variant where only constants stand.
pub(super) fn not_yet(name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::NOT_CONSTANT,
        format!("`{name}` has no value here, where only constants stand"),
        "write a number or a `const`; `-D` sets a `const` without editing the file",
    )
    .at(span, "belongs to the variant")
}

/// A number of things: "1 part", "2 parts".
fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// The text of an expression made of int literals alone, each as a float: `1/8` gives `1.0/8.0`.
fn with_float_literals(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Int(text) => Some(format!("{text}.0")),
        ExprKind::Group(inner) => Some(format!("({})", with_float_literals(inner)?)),
        ExprKind::Unary(UnaryOp::Neg, inner) => Some(format!("-{}", with_float_literals(inner)?)),
        ExprKind::Binary(op, left, right) if op.precedence() > 3 && *op != BinaryOp::Rem => {
            let (left, right) = (with_float_literals(left)?, with_float_literals(right)?);
            let space = if op.precedence() == 4 { " " } else { "" };
            Some(format!("{left}{space}{}{space}{right}", op.text()))
        }
        _ => None,
    }
}
