//! What strict mode looks for in scores: those that the type of softmax cannot hold, and products of rows that the type
//! of sums cannot. Pairs are evaluated one by one where the lengths of queries and keys do not already exclude it.

use fa_dsl::codes::SCORE_OVERFLOW;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::{Node, Var};
use fa_dsl::variant::{Dtype, Variant};

use super::Checked;
use crate::reference::{self, Attended, Overflows};
use crate::view::TensorView;

/// The largest finite fp16.
const LARGEST: f64 = 65504.0;
/// The least magnitude that rounds to an infinity: half a step beyond.
const OVERFLOWS: f64 = 65520.0;

/// What overflows in a launch: products of rows, then scores.
pub(super) fn scores(variant: &Variant, checked: &Checked<'_>) -> Vec<Diagnostic> {
    let precision = variant.precision;
    let parts = [
        (precision.accumulate, Attended::Dots),
        (precision.softmax, Attended::Scores),
    ];
    let narrow = parts.iter().filter(|(dtype, _)| *dtype == Dtype::Fp16);
    narrow
        .filter_map(|(_, part)| overflow(variant, checked, *part))
        .collect()
}

fn overflow(variant: &Variant, checked: &Checked<'_>, part: Attended) -> Option<Diagnostic> {
    if are_small(variant, checked, part) {
        return None;
    }
    let found = reference::overflows(variant, checked, part, OVERFLOWS).ok()?;
    let (place, value) = found.first?;
    Some(finding(variant, part, &found, place, value))
}

fn finding(
    variant: &Variant,
    part: Attended,
    found: &Overflows,
    [b, h, q_idx, kv_idx]: [usize; 4],
    value: f64,
) -> Diagnostic {
    let (what, label) = match part {
        Attended::Dots => (
            "products of attended rows",
            "products are summed up in fp16",
        ),
        Attended::Scores => ("attended scores", "scores are rounded to fp16"),
    };
    let message = format!(
        "{} of {} {what} overflow fp16, which ends at {LARGEST}: the first is {value:.6} at b = {b}, h = {h}, \
         q_idx = {q_idx}, kv_idx = {kv_idx}, the largest {:.6}",
        found.count, found.pairs, found.largest
    );
    let share = LARGEST / found.largest.abs();
    let help = match part {
        Attended::Dots => format!(
            "write `accumulate = fp32`, or multiply `q` or `k` by less than {share:.3}: the scale comes after the sum"
        ),
        Attended::Scores => format!(
            "write `precision = mixed;`, cap them as in `score = softcap(score, 50.0)`, or multiply `scale`, {:.6} now, \
             by less than {share:.3}",
            variant.scale
        ),
    };
    let warning = Diagnostic::warning(SCORE_OVERFLOW, message, help);
    match variant.precision_span {
        Some(span) => warning.at(span, label),
        None => warning,
    }
}

/// Whether no product of a query and a key, for scores times the scale, can reach the limit.
fn are_small(variant: &Variant, checked: &Checked<'_>, part: Attended) -> bool {
    let scale = match part {
        Attended::Dots => 1.0,
        Attended::Scores if *variant.exprs.node(variant.score) == Node::Var(Var::Score) => {
            variant.scale.abs()
        }
        Attended::Scores => return false,
    };
    let [q, k, _] = &checked.inputs;
    longest_row(q) * longest_row(k) * scale < LARGEST
}

/// The greatest Euclidean norm of a row.
fn longest_row(view: &TensorView<'_>) -> f64 {
    let width = view.shape().last().copied().unwrap_or(0).max(1);
    let values = view.to_f64();
    let squares = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>();
    let rows = values.chunks_exact(width).map(squares);
    rows.fold(0.0, f64::max).sqrt()
}
