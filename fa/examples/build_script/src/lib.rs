//! Variants that the build script of this package wrote, and what a program does with them.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the included file is printed from tokens, which hold no comments"
)]

fa::include_attention!("local");

/// The Ascend C of the variant, as it was written to the output folder.
pub const ASCEND_C: &str = include_str!(concat!(
    env!("OUT_DIR"),
    "/local_ascend910b/local_ascend910b.cpp"
));

/// Attention over close keys.
///
/// # Errors
/// The tensors do not fit the variant or each other.
pub fn attend(
    q: &fa::Tensor,
    k: &fa::Tensor,
    v: &fa::Tensor,
    slopes: &[f32],
) -> fa::Result<fa::Tensor> {
    let slopes = fa::View::new(slopes, &[slopes.len()])?;
    let inputs = local::Inputs {
        slopes,
        temperature: None,
    };
    local::forward(q, k, v, inputs)
}
