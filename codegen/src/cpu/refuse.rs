//! What the CPU backend does not do, said before anything is planned.

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::span::Span;
use fa_dsl::variant::{Backward, Dtype, Variant};

/// A feature that this backend does not have.
const UNSUPPORTED: Code = Code(201);
/// Most dimensions of a captured tensor.
const MAX_RANK: usize = 4;

/// All features of the variant that the CPU backend lacks.
pub(super) fn unsupported(variant: &Variant) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(paged) = variant.paged {
        found.push(refuse(
            "a paged key/value cache",
            paged.span,
            "remove the `paged` block and pass keys and values as tensors",
        ));
    }
    if variant.backward.value != Backward::None {
        found.push(refuse(
            "a backward kernel",
            variant.backward.span,
            "use `backward = none`",
        ));
    }
    found.extend(precision(variant));
    for tensor in &variant.tensors {
        if tensor.dims.len() > MAX_RANK {
            found.push(refuse(
                &format!("a captured tensor of {} dimensions", tensor.dims.len()),
                tensor.span,
                "declare at most 4 dimensions",
            ));
        }
    }
    found
}

fn precision(variant: &Variant) -> Option<Diagnostic> {
    let precision = variant.precision;
    let float = |dtype| matches!(dtype, Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16);
    let (role, dtype) = [
        ("qkv", precision.qkv),
        ("softmax", precision.softmax),
        ("accumulate", precision.accumulate),
        ("output", precision.output),
    ]
    .into_iter()
    .find(|(_, dtype)| !float(*dtype))?;
    let at = variant.precision_span.unwrap_or(variant.name.span);
    Some(refuse(
        &format!("{role} in {}", dtype.name()),
        at,
        "use `precision = fp32`, `mixed`, `mixed_bf16`, `fp16` or `bf16`",
    ))
}

pub(super) fn refuse(feature: &str, at: Span, help: &str) -> Diagnostic {
    let message = format!("the cpu backend does not have {feature} yet");
    Diagnostic::error(UNSUPPORTED, message, help).at(at, "asked for here")
}
