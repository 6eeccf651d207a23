//! What timing on any backend needs: sizes, the memory that they take, errors as text.

use fa_dsl::variant::Variant;
use fa_runtime::verify::Shape;
use fa_runtime::{Error, machine};

use super::shape::BenchShape;

/// Sizes of the tensors of a shape.
pub(super) fn sizes_of(shape: BenchShape) -> Shape {
    Shape {
        batch: shape.batch,
        heads: shape.heads,
        kv_heads: shape.kv_heads.unwrap_or(shape.heads),
        q_len: shape.q_len,
        kv_len: shape.kv_len,
    }
}

/// Bytes of K and V.
pub(super) fn kv_bytes(variant: &Variant, shape: BenchShape) -> f64 {
    let rows = shape.batch * shape.kv_heads.unwrap_or(shape.heads) * shape.kv_len;
    let width = variant.head_dim + variant.v_head_dim;
    rows as f64 * f64::from(width * variant.precision.qkv.bytes())
}

/// What tensors and their copies in f64, for the reference, take beyond what is free.
pub(super) fn missing_memory(variant: &Variant, shape: BenchShape) -> Option<String> {
    let queries = shape.batch * shape.heads * shape.q_len;
    let width = u64::from(variant.head_dim + variant.v_head_dim);
    let keys = kv_bytes(variant, shape) as u64 / u64::from(variant.precision.qkv.bytes());
    // Packed sequences and captured tensors are small beside these.
    let elems = queries as u64 * 2 * width + keys;
    let needed = elems * (u64::from(variant.precision.qkv.bytes()) + 8);
    let available = machine::available_bytes()?;
    (needed > available).then(|| {
        format!(
            "tensors take {:.0} MiB, {:.0} MiB of memory are free",
            mib(needed),
            mib(available)
        )
    })
}

/// Bytes as MiB.
pub(super) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What went wrong, on one line.
pub(super) fn text(error: &Error) -> String {
    match error {
        Error::Plan(faults) | Error::Launch(faults) | Error::Results(faults) => {
            let messages = faults
                .iter()
                .map(|fault| format!("{}: {}", fault.code, fault.message));
            messages.collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
