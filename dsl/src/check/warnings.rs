//! Warnings and notes that need no target. Each is decided exactly: where the analysis cannot tell, it is
//! silent.

use super::bounds::Bounds;
use super::env::{Def, Env};
use super::layers::Setting;
use super::linear::Facts;
use super::order;
use super::sink::Sink;
use super::truth;
use crate::ast::{Expr, ExprKind, FieldValue};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::eval::Value;
use crate::ir::{Binary, ExprId, Node, Type, Unary, Var};
use crate::span::Span;
use crate::tiles::{ANY, FloatRange, float_range};
use crate::variant::{Align, Backward, Dtype, Layout, Size, Variant};

/// The largest finite fp16 number.
const FP16_MAX: f64 = 65504.0;

/// A score from here down has a weight of exactly 0 in fp32 beside any ordinary score.
const SENTINEL: f32 = -1e4;

/// Looks a finished variant over.
pub(super) fn of_variant(
    variant: &Variant,
    mask: Option<&Setting<'_>>,
    consts: &Env,
    sink: &mut Sink,
) {
    let found = [
        fp16_softmax(variant),
        fp16_training(variant),
        batch_without_lengths(variant),
        scale_not_applied(variant),
        finite_sentinel(variant),
        capped_masking(variant),
        constant_mask(variant, mask, consts),
    ];
    for report in found.into_iter().flatten() {
        if !variant.schedule.allow.contains(&report.code.0) {
            sink.push(report);
        }
    }
}

/// What is found of FA102, FA103 and FA104, silenced or not.
pub(super) fn classic(variant: &Variant) -> Vec<Diagnostic> {
    let found = [
        fp16_softmax(variant),
        batch_without_lengths(variant),
        fp16_training(variant),
    ];
    found.into_iter().flatten().collect()
}

/// Least and greatest score that the file's expressions allow; infinite where nothing is known.
pub(super) fn score_range(variant: &Variant) -> FloatRange {
    float_ranges(variant)[variant.score.index()]
}

fn precision_place(variant: &Variant) -> Span {
    variant.precision_span.unwrap_or(variant.name.span)
}

/// FA102
fn fp16_softmax(variant: &Variant) -> Option<Diagnostic> {
    let precision = variant.precision;
    let at = precision_place(variant);
    if precision.accumulate == Dtype::Fp16 {
        return Some(
            Diagnostic::warning(
                codes::FP16_SOFTMAX,
                "sums are accumulated in fp16, which drops addends below 1/2048 of the sum and overflows at 65504",
                "write `accumulate = fp32`, or `precision = mixed;`",
            )
            .at(at, "accumulates in fp16"),
        );
    }
    let (low, high) = float_ranges(variant)[variant.score.index()];
    if precision.softmax != Dtype::Fp16 || (low >= -FP16_MAX && high <= FP16_MAX) {
        return None;
    }
    Some(
        Diagnostic::warning(
            codes::FP16_SOFTMAX,
            "scores are rounded to fp16 and can pass 65504, its largest number",
            "write `precision = mixed;` for an fp32 softmax, or bound the score, as in `softcap(score, 50.0)`",
        )
        .at(at, "softmax in fp16"),
    )
}

/// FA104
fn fp16_training(variant: &Variant) -> Option<Diagnostic> {
    let precision = variant.precision;
    let part = match (precision.softmax, precision.accumulate) {
        (_, Dtype::Fp16) => "accumulation",
        (Dtype::Fp16, _) => "softmax",
        _ => return None,
    };
    if variant.backward.value == Backward::None {
        return None;
    }
    Some(
        Diagnostic::warning(
            codes::FP16_TRAINING,
            format!("training with {part} in fp16: small gradients vanish below 6e-8, large ones overflow at 65504"),
            "write `precision = mixed;` or `mixed_bf16`",
        )
        .at(variant.backward.span, "asks for gradients")
        .at(precision_place(variant), format!("{part} in fp16")),
    )
}

/// FA103
fn batch_without_lengths(variant: &Variant) -> Option<Diagnostic> {
    let per_batch = variant
        .exprs
        .tensors_read(&[variant.mask, variant.score])
        .into_iter()
        .any(|id| {
            let dims = &variant.tensor(id).dims;
            dims.iter().any(|dim| dim.sizes.contains(&Size::B))
        });
    if variant.layout == Layout::Tnd || per_batch {
        return None;
    }
    Some(
        Diagnostic::note(
            codes::BATCH_WITHOUT_LENGTHS,
            format!(
                "`{}` takes every sequence of a batch as full: it handles no padding, documents or lengths",
                variant.name.value
            ),
            "if sequences differ in length, declare `tensor lens: int32[b];` and add `&& padding(lens)` to the mask, or use `layout = tnd;`",
        )
        .at(variant.name.span, "batched, without lengths"),
    )
}

/// FA041
fn scale_not_applied(variant: &Variant) -> Option<Diagnostic> {
    let exprs = &variant.exprs;
    let reads = |var| exprs.reads(variant.score, var);
    if !reads(Var::Dot) || reads(Var::Score) || variant.scale == 1.0 {
        return None;
    }
    let nodes = exprs.reachable(&[variant.score]);
    let is_dot = |id: &ExprId| *exprs.node(*id) == Node::Var(Var::Dot);
    let in_tanh = |id: ExprId| {
        nodes
            .iter()
            .any(|node| *exprs.node(*node) == Node::Unary(Unary::Tanh, id))
    };
    let scaled = nodes.iter().any(|id| match exprs.node(*id) {
        Node::Binary(Binary::Mul, a, b) => is_dot(a) || is_dot(b),
        // `softcap(dot, c)` divides by its cap, which is no scaling.
        Node::Binary(Binary::Div, a, _) => is_dot(a) && !in_tanh(*id),
        _ => false,
    });
    if scaled {
        return None;
    }
    Some(
        Diagnostic::warning(
            codes::SCALE_NOT_APPLIED,
            format!(
                "`score` uses `dot` unscaled: the scale of {} is not applied",
                variant.scale
            ),
            "write `score`, which is `dot * scale`; if no scale is meant, say `scale = 1.0;`",
        )
        .at(
            variant.score_span.unwrap_or(variant.name.span),
            "reads `dot`, not `score`",
        ),
    )
}

/// The conditionals of the score with an arm that stands for "masked", and that arm's value.
fn sentinels(variant: &Variant) -> Vec<(ExprId, f32)> {
    let exprs = &variant.exprs;
    let mut found = Vec::new();
    for id in exprs.reachable(&[variant.score]) {
        if let Node::Select(_, then, other) = exprs.node(id) {
            for arm in [then, other] {
                if let Some(Value::Float(value)) = exprs.as_constant(*arm)
                    && value <= SENTINEL
                {
                    found.push((id, value));
                }
            }
        }
    }
    found
}

/// FA042
fn finite_sentinel(variant: &Variant) -> Option<Diagnostic> {
    let (_, value) = sentinels(variant)
        .into_iter()
        .find(|(_, value)| value.is_finite())?;
    Some(
        Diagnostic::warning(
            codes::FINITE_SENTINEL,
            format!("`score` masks by {value:e}: a row with nothing else attends to all of it equally"),
            "move the condition into `mask`: a masked pair has weight exactly 0, an empty row the output 0",
        )
        .at(variant.score_span.unwrap_or(variant.name.span), "a finite number stands for minus infinity"),
    )
}

/// FA043
fn capped_masking(variant: &Variant) -> Option<Diagnostic> {
    let exprs = &variant.exprs;
    let masking: Vec<ExprId> = sentinels(variant).into_iter().map(|(id, _)| id).collect();
    let undone = exprs
        .reachable(&[variant.score])
        .into_iter()
        .any(|id| match exprs.node(id) {
            Node::Unary(Unary::Tanh | Unary::Sigmoid, inside) => exprs
                .reachable(&[*inside])
                .iter()
                .any(|part| masking.contains(part)),
            _ => false,
        });
    undone.then(|| {
        Diagnostic::warning(
            codes::CAPPED_MASKING,
            "a masked score passes through `tanh` or `softcap`, which makes it an ordinary score again",
            "move the condition into `mask`, which is applied after the score",
        )
        .at(variant.score_span.unwrap_or(variant.name.span), "caps what it has masked")
    })
}

/// FA044
fn constant_mask(
    variant: &Variant,
    mask: Option<&Setting<'_>>,
    consts: &Env,
) -> Option<Diagnostic> {
    let Some(Setting::Field(field)) = mask else {
        return None;
    };
    let FieldValue::Expr(expr) = &field.value else {
        return None;
    };
    if matches!(expr.ungrouped().kind, ExprKind::Bool(true)) {
        return None;
    }
    let facts = Facts {
        heads: variant.heads,
        kv_heads: variant.kv_heads,
        covered: false,
    };
    let mut bounds = Bounds::new(facts, variant.align == Align::TopLeft);
    let value = truth::always(&variant.exprs, &mut bounds, variant.mask)?;
    let (message, help) = if value {
        if reads_const(expr, consts) {
            // One of several configurations of the file: always true is what this one asks for.
            return None;
        }
        (
            "`mask` is true for every pair",
            "remove `mask`, or correct the condition",
        )
    } else {
        (
            "`mask` is false for every pair: every row is empty and every output 0",
            "correct the condition: `mask` is true where a query attends to a key",
        )
    };
    Some(Diagnostic::warning(codes::CONSTANT_MASK, message, help).at(expr.span, "never changes"))
}

fn reads_const(expr: &Expr, consts: &Env) -> bool {
    order::names(expr)
        .into_iter()
        .any(|name| matches!(consts.names.get(name), Some((Def::Const(_), _))))
}

/// Bounds of every float of the arena, NaN left aside; infinite where nothing is known.
fn float_ranges(variant: &Variant) -> Vec<FloatRange> {
    let exprs = &variant.exprs;
    let mut ranges: Vec<FloatRange> = Vec::with_capacity(exprs.len());
    for id in exprs.ids() {
        let range = match exprs.node(id) {
            _ if exprs.ty(id) != Type::Float => ANY,
            Node::Load(tensor, ..) if variant.tensor(*tensor).dtype == Dtype::Fp16 => {
                (-FP16_MAX, FP16_MAX)
            }
            _ => float_range(exprs, id, &|id| ranges[id.index()], &|_| None),
        };
        ranges.push(range);
    }
    ranges
}
