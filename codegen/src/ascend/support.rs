//! What this backend does not do yet, refused by name.

use std::collections::BTreeMap;

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::ir::{ExprId, Exprs, Node, Type, Unary};
use fa_dsl::span::{Span, Spanned};
use fa_dsl::variant::{Backward, Dtype, Precision, SplitKv, Variant};

use super::lower::loads::{LoadPlan, Unloadable};
use super::lower::{describe::describe, exact_length};

/// Most dimensions of a captured tensor: its strides in the launch block.
const MAX_RANK: usize = 4;

/// Every feature of the variant that the backend lacks.
pub(super) fn refusals(variant: &Variant, target: &str) -> Vec<Diagnostic> {
    let name = variant.name.span;
    let mut found = Vec::new();
    let mut refuse = |feature: String, at: Option<Span>, help: &str| {
        let message = format!("the `{target}` backend does not support {feature} yet");
        found.push(
            Diagnostic::error(Code(201), message, help).at(at.unwrap_or(name), "asked for here"),
        );
    };
    if !has_precision(variant.precision) {
        let precision = variant
            .precision
            .name()
            .map_or("this precision block".to_owned(), |name| {
                format!("`precision = {name}`")
            });
        refuse(
            precision,
            variant.precision_span,
            "write `precision = mixed;` or another row with float inputs and fp32 sums, or generate for `cpu`",
        );
    }
    if variant.backward.value != Backward::None {
        refuse(
            "`backward`".into(),
            Some(variant.backward.span),
            "write `backward = none;`",
        );
    }
    for tensor in &variant.tensors {
        if tensor.dims.len() > MAX_RANK {
            refuse(
                format!("a captured tensor of {} dimensions", tensor.dims.len()),
                Some(tensor.span),
                "declare at most 4 dimensions",
            );
        }
    }
    if let Some(paged) = variant.paged {
        refuse(
            "`paged`".into(),
            Some(paged.span),
            "remove the block and pass K and V unpaged",
        );
    }
    if let SplitKv::Fixed(splits) = variant.schedule_for(target).split_kv {
        refuse(
            format!("`split_kv = {}`", splits.value),
            Some(splits.span),
            "write `split_kv = auto;`",
        );
    }
    found
}

/// Inputs, softmax and output in any of the float types, sums in fp32.
fn has_precision(precision: Precision) -> bool {
    let is_float = |dtype| matches!(dtype, Dtype::Fp16 | Dtype::Bf16 | Dtype::Fp32);
    is_float(precision.qkv)
        && is_float(precision.softmax)
        && precision.accumulate == Dtype::Fp32
        && is_float(precision.output)
}

/// A sink that the scalar unit has no operations for.
pub(super) fn sink_beyond_scalar_unit(sink: &Spanned<ExprId>, target: &str) -> Diagnostic {
    let message =
        format!("the `{target}` backend does not support functions such as `exp` in `sink` yet");
    let help = "pass the sink of each head as a tensor, `tensor sinks: fp32[h]; sink = sinks[h];`";
    Diagnostic::error(Code(201), message, help).at(
        sink.span,
        "computed by scalar code, which has no such function",
    )
}

/// Reads of captured tensors that the backend has no way for.
pub(super) fn unloadable(
    variant: &Variant,
    exprs: &Exprs,
    target: &str,
    refused: &[Unloadable],
) -> Vec<Diagnostic> {
    refused
        .iter()
        .map(|read| {
            let text = describe(variant, exprs, read.load);
            let message = format!(
                "the `{target}` backend does not support a captured tensor {} yet (`{text}`)",
                read.why
            );
            Diagnostic::error(Code(201), message, read.help)
                .at(variant.tensor(read.tensor).span, "declared here")
        })
        .collect()
}

/// A parameter or an element that an expression rests on and that may be any int.
fn unbounded(variant: &Variant, exprs: &Exprs, id: ExprId) -> Option<String> {
    let mut parts = exprs.children(id);
    parts.push(id);
    let part = parts.into_iter().find(|part| {
        let open = matches!(exprs.node(*part), Node::Param(..) | Node::Load(..));
        open && exprs.ty(*part) == Type::Int
    })?;
    Some(describe(variant, exprs, part))
}

/// The longest sequences for which ints of the vector programs are exact.
///
/// # Errors
/// FA203 where an int expression is exact for no useful length.
pub(super) fn length_limit(
    variant: &Variant,
    exprs: &Exprs,
    loads: &BTreeMap<ExprId, LoadPlan>,
    target: &str,
) -> Result<u32, Box<Diagnostic>> {
    exact_length(variant, exprs, &[variant.score, variant.mask], loads).map_err(|id| {
        let text = describe(variant, exprs, id);
        let message = format!(
            "`{text}` can pass 2^24 = 16777216, beyond which `{target}` vector code is not exact"
        );
        let help = match unbounded(variant, exprs, id) {
            Some(text) => format!(
                "`{text}` is known at launch only: bound it, as in `clamp({text}, 0, 65536)`"
            ),
            None if matches!(exprs.node(id), Node::Unary(Unary::ToInt, _)) => {
                "bound what is converted, as in `int(clamp(x, 0.0, 65536.0))`".to_owned()
            }
            None => "reduce its parts first, as in `(q_pos % 64) * 64 + kv_pos % 64`".to_owned(),
        };
        let place = variant.places.get(&id).copied();
        let place = place
            .or(variant.mask_span)
            .or(variant.score_span)
            .unwrap_or(variant.name.span);
        let label = "computed here, in fp32 on the vector unit";
        Box::new(Diagnostic::error(Code(203), message, help).at(place, label))
    })
}
