//! The functions and mask words, each defined by what it means in terms of operators and names. Nothing
//! behind this module knows of them.

use super::env::{self, Def};
use super::hir::{Hir, HirKind};
use super::infer::{Infer, not_yet};
use crate::ast::{Expr, ExprKind, Name};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{Binary, TensorId, Type, Unary, Var};
use crate::span::Span;
use crate::variant::{Dim, Dtype, Size, Tensor};

/// Functions of one float.
const FLOAT_FUNCTIONS: [(&str, Unary); 7] = [
    ("exp", Unary::Exp),
    ("log", Unary::Log),
    ("sqrt", Unary::Sqrt),
    ("rsqrt", Unary::Rsqrt),
    ("tanh", Unary::Tanh),
    ("sigmoid", Unary::Sigmoid),
    ("floor", Unary::Floor),
];

fn le(a: Hir, b: Hir, span: Span) -> Hir {
    Hir::binary(Binary::Le, a, b, span)
}

fn lt(a: Hir, b: Hir, span: Span) -> Hir {
    Hir::binary(Binary::Lt, a, b, span)
}

impl Infer<'_> {
    /// `kv_pos <= q_pos`
    pub(super) fn causal(&self, span: Span) -> Hir {
        le(Hir::var(Var::KvIdx, span), Hir::var(Var::QPos, span), span)
    }

    /// A call of a function or mask word.
    pub(super) fn call(&mut self, name: &Name, arguments: &[Expr], span: Span) -> Option<Hir> {
        let Some(form) = env::signature(&name.text) else {
            self.parts(arguments);
            return self.not_callable(name);
        };
        let wanted = form.matches(',').count() + 1;
        if arguments.len() != wanted {
            self.parts(arguments);
            return self.error(
                Diagnostic::error(
                    codes::WRONG_ARGUMENTS,
                    format!(
                        "`{}` takes {wanted} argument{}, {} given",
                        name.text,
                        if wanted == 1 { "" } else { "s" },
                        match arguments.len() {
                            1 => "1 is".to_owned(),
                            n => format!("{n} are"),
                        }
                    ),
                    format!("write `{form}`"),
                )
                .at(span, "called here"),
            );
        }
        match name.text.as_str() {
            "min" => self.least_or_most(Binary::Min, arguments, span),
            "max" => self.least_or_most(Binary::Max, arguments, span),
            "abs" => self.abs(&arguments[0], span),
            "clamp" => self.clamp(arguments, span),
            "softcap" => self.softcap(arguments, span),
            "float" => self.convert(&arguments[0], Type::Float, span),
            "int" => self.convert(&arguments[0], Type::Int, span),
            "window" => self.window(arguments, span),
            "prefix" => {
                let n = self.expect(&arguments[0], Type::Int, "the length of `prefix`")?;
                Some(lt(Hir::var(Var::KvIdx, span), n, span))
            }
            "padding" => self.padding(&arguments[0], span),
            "same" => self.same(&arguments[0], span),
            "dense" => self.dense(&arguments[0], span),
            "checkpoint" => self.error(
                Diagnostic::error(
                    codes::WRONG_PLACE,
                    "`checkpoint` stands outside `backward`",
                    "write `backward = checkpoint(0.5);`",
                )
                .at(span, "no value of an expression"),
            ),
            float_function => {
                let op = FLOAT_FUNCTIONS
                    .into_iter()
                    .find_map(|(known, op)| (known == float_function).then_some(op))?;
                let role = format!("the argument of `{float_function}`");
                let a = self.expect(&arguments[0], Type::Float, &role)?;
                Some(Hir::unary(op, a, span))
            }
        }
    }

    /// Arguments of something that is no call, which are expressions all the same, or the names of tensors.
    fn parts(&mut self, arguments: &[Expr]) {
        for argument in arguments {
            if !matches!(argument.ungrouped().kind, ExprKind::Name(_)) {
                let part = self.infer(argument);
                self.sink.orphan([part]);
            }
        }
    }

    fn not_callable(&mut self, name: &Name) -> Option<Hir> {
        if env::is_reserved(&name.text) || self.env.names.contains_key(&name.text) {
            // It is meant to be read, however it is written.
            let def = self.env.names.get(&name.text).copied();
            self.used.extend(def.map(|(_, at)| at));
            let tensor = matches!(def, Some((Def::Tensor(_), _)));
            let help = if tensor {
                format!("write `{}[…]`: tensors are indexed", name.text)
            } else {
                format!("write `{}`, without arguments", name.text)
            };
            return self.error(
                Diagnostic::error(
                    codes::WRONG_ARGUMENTS,
                    format!("`{}` is no function", name.text),
                    help,
                )
                .at(name.span, "called here"),
            );
        }
        let functions = env::FUNCTIONS.into_iter().map(|(known, _)| known);
        let near = super::sink::nearest(&name.text, functions);
        let help = match (near, name.text.as_str()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, "pow") => "multiply by hand, `x * x`, or write `exp(y * log(x))`".to_owned(),
            (None, "where" | "select") => "write `if c { x } else { y }`".to_owned(),
            (None, "ceil") => "write `-floor(-x)`".to_owned(),
            (None, "round") => "write `floor(x + 0.5)`".to_owned(),
            (None, "sliding_window" | "sliding" | "local") => {
                "write `window(left, right)`, with keys on either side, such as `window(255, 0)`".to_owned()
            }
            _ => "the functions are min, max, abs, exp, log, sqrt, rsqrt, tanh, sigmoid, floor, clamp, softcap, float and int; \
                  masks are causal, window, prefix, padding, same and dense"
                .to_owned(),
        };
        let mut report = Diagnostic::error(
            codes::UNKNOWN_NAME,
            format!("there is no function `{}`", name.text),
            help,
        )
        .at(name.span, "unknown function");
        if let Some(near) = near {
            report = report.with_patch(name.span, near);
        }
        self.error(report)
    }

    /// An int or a float.
    fn number(&mut self, expr: &Expr, role: &str) -> Option<Hir> {
        let hir = self.infer(expr)?;
        if hir.ty != Type::Bool {
            return Some(hir);
        }
        self.error(
            Diagnostic::error(
                codes::WRONG_TYPE,
                format!("{role} must be a number, this is a bool"),
                "write `if c { 1.0 } else { 0.0 }` to turn a condition into a number",
            )
            .at(expr.span, "a bool"),
        )
    }

    fn least_or_most(&mut self, op: Binary, arguments: &[Expr], span: Span) -> Option<Hir> {
        let role = "an argument of `min` or `max`";
        let parts = [
            self.number(&arguments[0], role),
            self.number(&arguments[1], role),
        ];
        let role = "the arguments";
        let [a, b] = self.all(parts)?;
        let (a, b) = self.unify(a, b, &arguments[0], &arguments[1], role)?;
        Some(Hir::binary(op, a, b, span))
    }

    fn abs(&mut self, argument: &Expr, span: Span) -> Option<Hir> {
        let a = self.number(argument, "the argument of `abs`")?;
        Some(Hir::unary(Unary::Abs, a, span))
    }

    /// `min(max(x, lo), hi)`
    fn clamp(&mut self, arguments: &[Expr], span: Span) -> Option<Hir> {
        let role = "an argument of `clamp`";
        let parts = [0, 1, 2].map(|index| self.number(&arguments[index], role));
        let [x, lo, hi] = self.all(parts)?;
        let role = "the arguments of `clamp`";
        let (x, lo) = self.unify(x, lo, &arguments[0], &arguments[1], role)?;
        let (x, hi) = self.unify(x, hi, &arguments[0], &arguments[2], role)?;
        // An int literal may have become a float because of the third argument only.
        let (lo, x) = self.unify(lo, x, &arguments[1], &arguments[0], role)?;
        let raised = Hir::binary(Binary::Max, x, lo, span);
        Some(Hir::binary(Binary::Min, raised, hi, span))
    }

    /// `c * tanh(x / c)`
    fn softcap(&mut self, arguments: &[Expr], span: Span) -> Option<Hir> {
        let x = self.expect(&arguments[0], Type::Float, "the score in `softcap`");
        let c = self.expect(&arguments[1], Type::Float, "the cap of `softcap`");
        let [x, c] = self.all([x, c])?;
        if let HirKind::Float(cap) = c.kind
            && (cap.is_nan() || cap <= 0.0)
        {
            return self.error(
                Diagnostic::error(
                    codes::OUT_OF_RANGE,
                    format!("the cap of `softcap` is {cap}, it must be above 0"),
                    "write a positive cap such as `50.0`, or leave `softcap` out",
                )
                .at(arguments[1].span, "the cap"),
            );
        }
        let ratio = Hir::binary(Binary::Div, x, c.clone(), span);
        let bent = Hir::unary(Unary::Tanh, ratio, span);
        Some(Hir::binary(Binary::Mul, c, bent, span))
    }

    fn convert(&mut self, argument: &Expr, to: Type, span: Span) -> Option<Hir> {
        let a = self.number(argument, "the argument of a conversion")?;
        if a.ty == to {
            return Some(Hir { span, ..a });
        }
        let op = match to {
            Type::Float => Unary::ToFloat,
            Type::Int | Type::Bool => Unary::ToInt,
        };
        Some(Hir::unary(op, a, span))
    }

    /// `q_pos - kv_pos <= left && kv_pos - q_pos <= right`, a side left out where it is `unbounded`.
    fn window(&mut self, arguments: &[Expr], span: Span) -> Option<Hir> {
        let left = self.side(&arguments[0], "left");
        let right = self.side(&arguments[1], "right");
        let (left, right) = match (left, right) {
            (Some(left), Some(right)) => (left, right),
            (left, right) => {
                self.sink.orphan([left.flatten(), right.flatten()]);
                return None;
            }
        };
        let distance = |from: Var, to: Var| {
            Hir::binary(Binary::Sub, Hir::var(from, span), Hir::var(to, span), span)
        };
        let left = left.map(|n| le(distance(Var::QPos, Var::KvIdx), n, span));
        let right = right.map(|n| le(distance(Var::KvIdx, Var::QPos), n, span));
        Some(match (left, right) {
            (Some(left), Some(right)) => Hir::binary(Binary::And, left, right, span),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Hir::bool(true, span),
        })
    }

    /// A side of a window: `Some(None)` is `unbounded`.
    fn side(&mut self, argument: &Expr, which: &str) -> Option<Option<Hir>> {
        if matches!(&argument.ungrouped().kind, ExprKind::Name(name) if name == "unbounded") {
            return Some(None);
        }
        let role = format!("the {which} side of `window`");
        let n = self.expect(argument, Type::Int, &role)?;
        let span = argument.span;
        Some(Some(Hir::new(HirKind::Side(Box::new(n)), Type::Int, span)))
    }

    /// The tensor that an argument names.
    fn tensor(&mut self, argument: &Expr, form: &str) -> Option<(TensorId, Tensor)> {
        if let ExprKind::Name(name) = &argument.ungrouped().kind
            && !env::is_reserved(name)
        {
            match self.lookup(name, argument.span)? {
                Def::Tensor(id) => return Some((id, self.env.tensors[id.0 as usize].clone())),
                Def::Broken => return None,
                Def::NotYet => return self.error(not_yet(name, argument.span)),
                Def::Const(_) | Def::Param(..) | Def::Let(_) => {}
            }
        }
        if argument.is_broken() {
            return None;
        }
        self.error(
            Diagnostic::error(
                codes::WRONG_ARGUMENTS,
                format!("`{form}` takes the name of a tensor"),
                "declare the tensor and name it here, without an index",
            )
            .at(argument.span, "not the name of a tensor"),
        )
    }

    fn shape_error<T>(&mut self, tensor: &Tensor, at: Span, form: &str, wanted: &str) -> Option<T> {
        let dims: Vec<String> = tensor.dims.iter().map(Dim::to_string).collect();
        let declared = format!("{}[{}]", tensor.dtype.name(), dims.join(", "));
        self.error(
            Diagnostic::error(
                codes::TENSOR_SHAPE,
                format!(
                    "`{form}` does not fit `{}`, which is `{declared}`",
                    tensor.name
                ),
                format!("declare it as `tensor {}: {wanted};`", tensor.name),
            )
            .at(at, format!("wants `{wanted}`"))
            .at(tensor.span, "declared here"),
        )
    }

    /// `kv_idx < lens[b]`
    fn padding(&mut self, argument: &Expr, span: Span) -> Option<Hir> {
        let (id, tensor) = self.tensor(argument, "padding(lens)")?;
        if tensor.dtype != Dtype::Int32 || !is_sizes(&tensor.dims, &[Size::B]) {
            return self.shape_error(&tensor, argument.span, "padding(lens)", "int32[b]");
        }
        let length = self.element(id, &tensor, vec![Hir::var(Var::B, span)], false, span);
        Some(lt(Hir::var(Var::KvIdx, span), length, span))
    }

    /// `ids[b, q_pos] == ids[b, kv_pos]`
    fn same(&mut self, argument: &Expr, span: Span) -> Option<Hir> {
        let (id, tensor) = self.tensor(argument, "same(ids)")?;
        if tensor.dtype != Dtype::Int32 || !is_sizes(&tensor.dims, &[Size::B, Size::KvLen]) {
            return self.shape_error(&tensor, argument.span, "same(ids)", "int32[b, kv_len]");
        }
        let mut of = |row: Var| {
            let index = vec![Hir::var(Var::B, span), Hir::var(row, span)];
            self.element(id, &tensor, index, true, span)
        };
        let (of_query, of_key) = (of(Var::QPos), of(Var::KvIdx));
        Some(Hir::binary(Binary::Eq, of_query, of_key, span))
    }

    /// The element of a bool tensor at the pair, broadcast along absent and size-1 dimensions.
    fn dense(&mut self, argument: &Expr, span: Span) -> Option<Hir> {
        let (id, tensor) = self.tensor(argument, "dense(m)")?;
        let rank = tensor.dims.len();
        let index = if (2..=4).contains(&rank) {
            dense_index(&tensor.dims, span)
        } else {
            None
        };
        // What is right about the dimensions is kept.
        let wanted = match &index {
            Some(_) => {
                let dims: Vec<String> = tensor.dims.iter().map(Dim::to_string).collect();
                format!("bool[{}]", dims.join(", "))
            }
            None => "bool[b, h, q_len, kv_len]".to_owned(),
        };
        match index {
            Some(index) if tensor.dtype == Dtype::Bool => {
                Some(self.element(id, &tensor, index, false, span))
            }
            _ => self.shape_error(&tensor, argument.span, "dense(m)", &wanted),
        }
    }

    fn element(
        &mut self,
        tensor: TensorId,
        declared: &Tensor,
        index: Vec<Hir>,
        covered: bool,
        span: Span,
    ) -> Hir {
        let kind = HirKind::Load {
            tensor,
            index,
            covered,
        };
        Hir::new(kind, declared.dtype.expression_type(), span)
    }
}

/// Whether the dimensions are these sizes.
fn is_sizes(dims: &[Dim], sizes: &[Size]) -> bool {
    dims.len() == sizes.len()
        && dims
            .iter()
            .zip(sizes)
            .all(|(dim, size)| dim.constant == 0 && dim.sizes == [*size])
}

/// The index of `dense`: each dimension in its place or 1, batch before head, rows and keys last.
fn dense_index(dims: &[Dim], span: Span) -> Option<Vec<Hir>> {
    let (outer, inner) = dims.split_at(dims.len() - 2);
    let places: [&[Size]; 2] = [&[Size::B], &[Size::H, Size::KvH]];
    let mut next = 0;
    let mut index = Vec::new();
    for dim in outer {
        let (at, var) = outer_place(dim, &places, next)?;
        next = at;
        index.push(var.map_or_else(|| Hir::int(0, span), |var| Hir::var(var, span)));
    }
    for (dim, (size, var)) in inner
        .iter()
        .zip([(Size::QLen, Var::QIdx), (Size::KvLen, Var::KvIdx)])
    {
        index.push(match (dim.sizes.as_slice(), dim.constant) {
            ([one], 0) if *one == size => Hir::var(var, span),
            ([], 1) => Hir::int(0, span),
            _ => return None,
        });
    }
    Some(index)
}

/// Where an outer dimension of `dense` belongs: the place after it, and the name that indexes it.
fn outer_place(dim: &Dim, places: &[&[Size]], from: usize) -> Option<(usize, Option<Var>)> {
    match (dim.sizes.as_slice(), dim.constant) {
        ([], 1) => Some((from, None)),
        ([size], 0) => {
            let at = (from..places.len()).find(|at| places[*at].contains(size))?;
            let var = match size {
                Size::B => Var::B,
                Size::H => Var::H,
                Size::KvH => Var::KvH,
                Size::QLen | Size::KvLen => return None,
            };
            Some((at + 1, Some(var)))
        }
        _ => None,
    }
}
