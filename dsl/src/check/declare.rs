//! Declarations of a variant: its parameters, captured tensors and `let`s, those of its parents included.

use std::collections::{BTreeMap, BTreeSet};

use super::consts::{cycle_error, reserved, type_of, unfoldable};
use super::env::{Def, Env};
use super::fold::{Unfoldable, fold};
use super::hir::Hir;
use super::infer::Infer;
use super::layers::{Body, Decl, repeated};
use super::order;
use super::places;
use super::sink::{Sink, nearest, one_of};
use crate::ast::{self, BinaryOp, Expr, ExprKind, Name};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::eval::Value;
use crate::ir::{ParamId, TensorId, Type, Var};
use crate::span::{SourceMap, Span};
use crate::variant::{Dim, Dtype, Param, Size, Tensor};

/// Most sizes that one dimension may sum.
const MOST_SIZES: i64 = 16;

/// All declarations of a variant, checked.
pub(super) struct Declared {
    /// Parameters, with whether this variant itself declares them.
    pub(super) params: Vec<(Param, bool)>,
    /// Captured tensors are in `env.tensors`; whether this variant itself declares them.
    pub(super) own_tensors: Vec<bool>,
    pub(super) lets: Lets,
}

/// The `let`s of a variant.
#[derive(Default)]
pub(super) struct Lets {
    /// Each after those it reads.
    pub(super) order: Vec<usize>,
    /// Typed, or `None` where one has a fault.
    pub(super) typed: Vec<Option<Hir>>,
    /// The names each reads, through others.
    pub(super) vars: Vec<Vec<Var>>,
    /// Their constant values.
    pub(super) values: Vec<Result<Value<f64>, Unfoldable>>,
}

/// What the steps share.
pub(super) struct Declare<'d> {
    pub(super) sources: &'d SourceMap,
    pub(super) env: &'d mut Env,
    pub(super) used: &'d mut BTreeSet<Span>,
    pub(super) sink: &'d mut Sink,
    /// Rows are packed: dimensions over rows must follow `b`.
    pub(super) packed: bool,
}

/// The declarations that hold, the later layer winning, each with whether it is in the last layer.
pub(super) fn merged<'a>(
    layers: &[&Body<'a>],
    consts: &Env,
    sink: &mut Sink,
) -> Vec<(Decl<'a>, bool)> {
    let mut found: Vec<(Decl<'a>, bool)> = Vec::new();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    for (depth, layer) in layers.iter().enumerate() {
        let own = depth + 1 == layers.len();
        for decl in &layer.declared {
            let name = decl.name();
            if let Some(report) = reserved(name) {
                sink.push(report);
                continue;
            }
            if let Some((_, before)) = consts.names.get(&name.text) {
                let what = format!("`{}`", name.text);
                sink.push(repeated(&what, name.span, *before));
                continue;
            }
            match at.get(name.text.as_str()) {
                Some(index) => found[*index] = (*decl, own),
                None => {
                    at.insert(&name.text, found.len());
                    found.push((*decl, own));
                }
            }
        }
    }
    found
}

/// Binds all names without values, so that a constant that reads one is told why it cannot.
pub(super) fn announce(env: &mut Env, decls: &[(Decl<'_>, bool)]) {
    for (decl, _) in decls {
        let def = match decl {
            Decl::Broken(_) => Def::Broken,
            Decl::Param(_) | Decl::Tensor(_) | Decl::Let(_) => Def::NotYet,
        };
        let name = decl.name();
        env.names.insert(name.text.clone(), (def, name.span));
    }
}

impl Declare<'_> {
    /// Checks all declarations and puts their names into the environment.
    pub(super) fn run(&mut self, decls: &[(Decl<'_>, bool)]) -> Declared {
        announce(self.env, decls);
        let mut declared = Declared {
            params: Vec::new(),
            own_tensors: Vec::new(),
            lets: Lets::default(),
        };
        let mut lets = Vec::new();
        for (decl, own) in decls {
            match decl {
                Decl::Param(param) => self.param(param, *own, &mut declared),
                Decl::Tensor(tensor) => match self.tensor(tensor) {
                    Some(checked) => {
                        let id = TensorId(narrow(self.env.tensors.len()));
                        self.bind(&tensor.name, Def::Tensor(id));
                        self.env.tensors.push(checked);
                        declared.own_tensors.push(*own);
                    }
                    None => self.bind(&tensor.name, Def::Broken),
                },
                Decl::Let(binding) => lets.push(*binding),
                Decl::Broken(_) => {}
            }
        }
        declared.lets = self.lets(&lets);
        declared
    }

    fn bind(&mut self, name: &Name, def: Def) {
        self.env.names.insert(name.text.clone(), (def, name.span));
    }

    fn infer(&mut self) -> Infer<'_> {
        Infer {
            sources: self.sources,
            env: self.env,
            used: self.used,
            sink: self.sink,
        }
    }

    fn param(&mut self, param: &ast::Param, own: bool, declared: &mut Declared) {
        self.bind(&param.name, Def::Broken);
        let Some(ty) = type_of(&param.ty, self.sink) else {
            return;
        };
        let default = match &param.default {
            None => None,
            Some(expr) => match self.default(param, expr, ty) {
                Some(value) => Some(value),
                None => return,
            },
        };
        let id = ParamId(narrow(declared.params.len()));
        self.bind(&param.name, Def::Param(id, ty));
        let param = Param {
            name: param.name.text.clone(),
            ty,
            default,
            span: param.name.span,
        };
        declared.params.push((param, own));
    }

    fn default(&mut self, param: &ast::Param, expr: &Expr, ty: Type) -> Option<Value<f32>> {
        let role = format!("the default of `{}`", param.name.text);
        let hir = self.infer().expect(expr, ty, &role)?;
        match fold(&hir, &[]) {
            Ok(Value::Int(value)) => Some(Value::Int(value)),
            Ok(Value::Float(value)) => Some(Value::Float(value as f32)),
            Ok(Value::Bool(value)) => Some(Value::Bool(value)),
            Err(error) => {
                let report = unfoldable(error, &role, self.sources);
                self.sink.extend(report);
                None
            }
        }
    }

    fn tensor(&mut self, tensor: &ast::Tensor) -> Option<Tensor> {
        let dtype = self.dtype(&tensor.dtype);
        let dims: Vec<Option<Dim>> = tensor.dims.iter().map(|dim| self.dim(dim)).collect();
        let (dtype, dims) = (dtype?, dims.into_iter().collect::<Option<Vec<Dim>>>()?);
        let name = &tensor.name;
        if dims.is_empty() || dims.len() > 8 {
            self.sink.push(
                Diagnostic::error(
                    codes::TENSOR_SHAPE,
                    format!(
                        "`{}` has {} dimensions, 1 to 8 are allowed",
                        name.text,
                        dims.len()
                    ),
                    "a single number is a `param`; give a tensor a dimension such as `[h]`",
                )
                .at(name.span, "declared here"),
            );
            return None;
        }
        if let Some(grad) = tensor.grad
            && dtype.expression_type() != Type::Float
        {
            self.sink.push(
                Diagnostic::error(
                    codes::TENSOR_SHAPE,
                    format!(
                        "`{}` has no gradient: its elements are {}",
                        name.text,
                        dtype.name()
                    ),
                    "remove `grad`, or make the elements fp32, fp16 or bf16",
                )
                .at(grad, "asks for a gradient")
                .at(tensor.dtype.span, "not a float type"),
            );
            return None;
        }
        if self.packed {
            self.packed_dims(tensor, &dims)?;
        }
        Some(Tensor {
            name: name.text.clone(),
            dtype,
            dims,
            grad: tensor.grad.is_some(),
            span: name.span,
        })
    }

    /// Under `tnd`, rows are counted within their sequence: a dimension over them follows `b`.
    fn packed_dims(&mut self, tensor: &ast::Tensor, dims: &[Dim]) -> Option<()> {
        let rows = |dim: &Dim| {
            dim.sizes
                .iter()
                .any(|size| matches!(size, Size::QLen | Size::KvLen))
        };
        let batches = dims.iter().filter(|dim| dim.sizes == [Size::B]);
        let packed = batches.count() == 1;
        for (axis, dim) in dims.iter().enumerate() {
            let plain = dim.constant == 0 && dim.sizes.len() == 1;
            let after_batch = axis > 0 && dims[axis - 1].sizes == [Size::B];
            if rows(dim) && !(plain && after_batch && packed) {
                self.sink.push(
                    Diagnostic::error(
                        codes::TENSOR_SHAPE,
                        format!(
                            "`{dim}` differs from sequence to sequence under `tnd`, `{}` has no such axis",
                            tensor.name.text
                        ),
                        "write `b, q_len` or `b, kv_len`, which together are the packed axis, or a constant",
                    )
                    .at(tensor.dims[axis].span, "not a packed axis"),
                );
                return None;
            }
        }
        Some(())
    }

    fn dtype(&mut self, name: &Name) -> Option<Dtype> {
        const KNOWN: [Dtype; 5] = [
            Dtype::Fp32,
            Dtype::Fp16,
            Dtype::Bf16,
            Dtype::Int32,
            Dtype::Bool,
        ];
        let found = KNOWN.into_iter().find(|dtype| dtype.name() == name.text);
        if found.is_none() {
            let names = KNOWN.map(Dtype::name);
            let help = match (nearest(&name.text, names), name.text.as_str()) {
                (_, "int") => "write `int32`".to_owned(),
                (_, "float") => "write `fp32`".to_owned(),
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, _) => format!("write {}", one_of(names)),
            };
            self.sink.push(
                Diagnostic::error(
                    codes::WRONG_VALUE,
                    format!("`{}` is no element type of a tensor", name.text),
                    help,
                )
                .at(name.span, "an element type is expected here"),
            );
        }
        found
    }

    /// A dimension: sizes and constants, added.
    fn dim(&mut self, expr: &Expr) -> Option<Dim> {
        let mut counts = [0i64; 5];
        let constant = self.sum(expr, 1, &mut counts)?;
        let sizes = [Size::B, Size::H, Size::KvH, Size::QLen, Size::KvLen];
        let total: i64 = counts.iter().map(|count| count.saturating_abs()).sum();
        let wrong = if counts.iter().any(|count| *count < 0) {
            Some("subtracts a size")
        } else if total > MOST_SIZES {
            Some("sums too many sizes")
        } else if total == 0 && constant < 1 {
            Some("is below 1")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.sink.push(
                Diagnostic::error(
                    codes::TENSOR_SHAPE,
                    format!("dimension `{}` {wrong}", self.sources.snippet(expr.span)),
                    "write a size, a constant from 1 on, or a sum of these, as in `q_len + kv_len`",
                )
                .at(expr.span, wrong),
            );
            return None;
        }
        let sizes = sizes
            .into_iter()
            .zip(counts)
            .flat_map(|(size, count)| (0..count).map(move |_| size))
            .collect();
        Some(Dim { sizes, constant })
    }

    /// Adds `factor` times an expression: sizes into `counts`, the constant part as the result.
    fn sum(&mut self, expr: &Expr, factor: i64, counts: &mut [i64; 5]) -> Option<i64> {
        match &expr.kind {
            ExprKind::Group(inner) => self.sum(inner, factor, counts),
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right)
                if mentions_size(expr) =>
            {
                let a = self.sum(left, factor, counts);
                let sign = if *op == BinaryOp::Add { 1 } else { -1 };
                let b = self.sum(right, factor * sign, counts);
                a?.checked_add(b?)
            }
            ExprKind::Binary(BinaryOp::Mul, left, right) if mentions_size(expr) => {
                let (times, size) = if mentions_size(left) {
                    (right, left)
                } else {
                    (left, right)
                };
                let times = self.constant(times)?;
                self.sum(size, factor.checked_mul(times)?, counts)
            }
            ExprKind::Name(name) if size_index(name).is_some() => {
                let index = size_index(name)?;
                counts[index] = counts[index].checked_add(factor)?;
                Some(0)
            }
            ExprKind::Name(name)
                if ["heads", "kv_heads"].contains(&name.as_str())
                    && !self.env.names.contains_key(name.as_str()) =>
            {
                let size = if name == "heads" { "h" } else { "kv_h" };
                self.sink.push(
                    Diagnostic::error(
                        codes::UNKNOWN_NAME,
                        format!("`{name}` is no size of a dimension"),
                        format!("did you mean `{size}`?"),
                    )
                    .at(expr.span, "a field of the variant")
                    .with_patch(expr.span, size),
                );
                None
            }
            _ => self.constant(expr)?.checked_mul(factor),
        }
    }

    fn constant(&mut self, expr: &Expr) -> Option<i64> {
        let role = "a dimension";
        let hir = self.infer().expect(expr, Type::Int, role)?;
        match fold(&hir, &[]) {
            Ok(Value::Int(value)) => Some(i64::from(value)),
            Ok(_) => None,
            Err(error) => {
                let report = unfoldable(error, role, self.sources);
                self.sink.extend(report);
                None
            }
        }
    }

    /// Types the `let`s in the order in which they read each other.
    fn lets(&mut self, bindings: &[&ast::Let]) -> Lets {
        let numbers: BTreeMap<&str, usize> = bindings
            .iter()
            .enumerate()
            .map(|(number, binding)| (binding.name.text.as_str(), number))
            .collect();
        for (number, binding) in bindings.iter().enumerate() {
            self.bind(&binding.name, Def::Let(number));
        }
        let reads: Vec<Vec<usize>> = bindings
            .iter()
            .map(|binding| {
                order::names(&binding.value)
                    .into_iter()
                    .filter_map(|name| numbers.get(name).copied())
                    .collect()
            })
            .collect();
        let sorted = order::sort(&reads);
        let mut cyclic = BTreeSet::new();
        for cycle in &sorted.cycles {
            let names: Vec<&Name> = cycle.iter().map(|index| &bindings[*index].name).collect();
            self.sink.push(cycle_error("let", &names));
            cyclic.extend(cycle.iter().copied());
        }
        let mut lets = Lets {
            order: sorted.order,
            typed: vec![None; bindings.len()],
            vars: vec![Vec::new(); bindings.len()],
            values: vec![Err(Unfoldable::Unknown); bindings.len()],
        };
        self.env.lets = vec![None; bindings.len()];
        for number in lets.order.clone() {
            if cyclic.contains(&number) {
                continue;
            }
            let Some(hir) = self.infer().infer(&bindings[number].value) else {
                continue;
            };
            self.env.lets[number] = Some(hir.ty);
            let mut vars: Vec<Var> = places::vars(&hir, &lets.vars)
                .into_iter()
                .map(|(var, _)| var)
                .collect();
            vars.sort();
            vars.dedup();
            lets.vars[number] = vars;
            lets.values[number] = fold(&hir, &lets.values);
            lets.typed[number] = Some(hir);
        }
        lets
    }
}

/// The place of a size among the counts of a dimension.
fn size_index(name: &str) -> Option<usize> {
    ["b", "h", "kv_h", "q_len", "kv_len"]
        .into_iter()
        .position(|size| size == name)
}

fn mentions_size(expr: &Expr) -> bool {
    order::names(expr)
        .into_iter()
        .any(|name| size_index(name).is_some())
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 declarations")
}
