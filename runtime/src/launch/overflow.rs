//! What strict mode looks for in scores: those that the type of softmax cannot hold. Pairs are evaluated one by one
//! where the lengths of queries and keys do not already exclude it.

use fa_dsl::codes::SCORE_OVERFLOW;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::{Node, Var};
use fa_dsl::variant::{Dtype, Variant};

use super::Checked;
use crate::reference::{self, Overflows};
use crate::view::TensorView;

/// The largest finite fp16.
const LARGEST: f64 = 65504.0;
/// The least magnitude that rounds to an infinity: half a step beyond.
const OVERFLOWS: f64 = 65520.0;

/// The scores of a launch that overflow, if there are any.
pub(super) fn scores(variant: &Variant, checked: &Checked<'_>) -> Option<Diagnostic> {
    if variant.precision.softmax != Dtype::Fp16 || are_small(variant, checked) {
        return None;
    }
    let found = reference::overflows(variant, checked, OVERFLOWS).ok()?;
    let (place, score) = found.first?;
    Some(finding(variant, &found, place, score))
}

fn finding(
    variant: &Variant,
    found: &Overflows,
    [b, h, q_idx, kv_idx]: [usize; 4],
    score: f64,
) -> Diagnostic {
    let message = format!(
        "{} of {} attended scores overflow fp16, which ends at {LARGEST}: the first is {score:.6} at b = {b}, h = {h}, \
         q_idx = {q_idx}, kv_idx = {kv_idx}, the largest {:.6}",
        found.count, found.pairs, found.largest
    );
    let share = LARGEST / found.largest.abs();
    let help = format!(
        "write `precision = mixed;`, cap them as in `score = softcap(score, 50.0)`, or multiply `scale`, {:.6} now, by \
         less than {share:.3}",
        variant.scale
    );
    let warning = Diagnostic::warning(SCORE_OVERFLOW, message, help);
    match variant.precision_span {
        Some(span) => warning.at(span, "scores are rounded to fp16"),
        None => warning,
    }
}

/// Whether no product of a query and a key, times the scale, can reach the limit.
fn are_small(variant: &Variant, checked: &Checked<'_>) -> bool {
    let plain = *variant.exprs.node(variant.score) == Node::Var(Var::Score);
    let [q, k, _] = &checked.inputs;
    plain && longest_row(q) * longest_row(k) * variant.scale.abs() < LARGEST
}

/// The greatest Euclidean norm of a row.
fn longest_row(view: &TensorView<'_>) -> f64 {
    let width = view.shape().last().copied().unwrap_or(0).max(1);
    let values = view.to_f64();
    let squares = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
    let rows = values.chunks_exact(width).map(squares);
    rows.fold(0.0, f64::max).sqrt()
}
