//! Variants built by hand, so that these tests depend on no grammar.

use fa_dsl::ir::{Binary, ExprId, Exprs, ParamId, TensorId, Type, Unary, Var};
use fa_dsl::span::{SourceMap, Span, Spanned};
use fa_dsl::variant::{Dim, Dropout, Dtype, Param, Precision, Size, Tensor, Variant};

/// A place in no text.
pub(crate) fn nowhere() -> Span {
    let mut map = SourceMap::new();
    let file = map.add("test.fa", "");
    Span {
        file,
        start: 0,
        end: 0,
    }
}

/// An fp32 variant with everything else at its default.
pub(crate) fn plain(name: &str, head_dim: u32) -> Variant {
    let mut variant = Variant::with_defaults(name, head_dim, nowhere());
    variant.precision = Precision::FP32;
    variant
}

/// With a declared tensor; an element of it can then be loaded.
pub(crate) fn with_tensor(
    variant: &mut Variant,
    name: &str,
    dtype: Dtype,
    dims: &[&[Size]],
) -> TensorId {
    let dims = dims
        .iter()
        .map(|sizes| Dim {
            sizes: sizes.to_vec(),
            constant: 0,
        })
        .collect();
    with_dims(variant, name, dtype, dims)
}

/// As [`with_tensor`], with any dimensions.
pub(crate) fn with_dims(
    variant: &mut Variant,
    name: &str,
    dtype: Dtype,
    dims: Vec<Dim>,
) -> TensorId {
    variant.tensors.push(Tensor {
        name: name.to_owned(),
        dtype,
        dims,
        grad: false,
        span: nowhere(),
    });
    TensorId(u32::try_from(variant.tensors.len() - 1).expect("few tensors"))
}

/// With a declared parameter.
pub(crate) fn with_param(variant: &mut Variant, name: &str, ty: Type) -> ExprId {
    variant.params.push(Param {
        name: name.to_owned(),
        ty,
        default: None,
        span: nowhere(),
    });
    let id = ParamId(u32::try_from(variant.params.len() - 1).expect("few parameters"));
    variant.exprs.param(id, ty)
}

/// With dropout of this rate.
pub(crate) fn with_dropout(variant: &mut Variant, rate: f64) {
    variant.dropout = Some(Dropout {
        rate,
        threshold: (rate * 65536.0).round_ties_even() as u32,
        span: nowhere(),
    });
}

/// With a sink.
pub(crate) fn with_sink(variant: &mut Variant, sink: ExprId) {
    variant.sink = Some(Spanned {
        value: sink,
        span: nowhere(),
    });
}

/// Short constructors of expressions.
pub(crate) trait Build {
    /// `a op b`.
    fn op(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId;
    /// A name.
    fn v(&mut self, var: Var) -> ExprId;
    /// `kv_pos <= q_pos`.
    fn causal(&mut self) -> ExprId;
    /// `q_pos - kv_pos <= left && kv_pos - q_pos <= right`.
    fn window(&mut self, left: i32, right: i32) -> ExprId;
    /// `c * tanh(x / c)`.
    fn softcap(&mut self, x: ExprId, c: f32) -> ExprId;
}

impl Build for Exprs {
    fn op(&mut self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        self.binary(op, a, b)
    }

    fn v(&mut self, var: Var) -> ExprId {
        self.var(var)
    }

    fn causal(&mut self) -> ExprId {
        let (key, query) = (self.var(Var::KvIdx), self.var(Var::QPos));
        self.binary(Binary::Le, key, query)
    }

    fn window(&mut self, left: i32, right: i32) -> ExprId {
        let (key, query) = (self.var(Var::KvIdx), self.var(Var::QPos));
        let (left, right) = (self.int(left), self.int(right));
        let behind = self.binary(Binary::Sub, query, key);
        let ahead = self.binary(Binary::Sub, key, query);
        let behind = self.binary(Binary::Le, behind, left);
        let ahead = self.binary(Binary::Le, ahead, right);
        self.binary(Binary::And, behind, ahead)
    }

    fn softcap(&mut self, x: ExprId, c: f32) -> ExprId {
        let c = self.float(c);
        let ratio = self.binary(Binary::Div, x, c);
        let squashed = self.unary(Unary::Tanh, ratio);
        self.binary(Binary::Mul, c, squashed)
    }
}
