//! A few rows of a launch that is too large for the reference to evaluate whole.

use fa_dsl::reference::{Arithmetic, Scratch};
use fa_dsl::variant::Variant;

use crate::error::Result;
use crate::launch::{Arguments, logical_strides};
use crate::reference;
use crate::view::TensorView;

/// One row, as the f64 reference computes it.
#[derive(Clone, Debug)]
pub struct SampledRow {
    /// Sequence, head, and row; packed sequences are one.
    pub place: [usize; 3],
    /// Keys that it attends to, those of score -inf left out.
    pub attended: usize,
    /// The output, `[v_head_dim]`.
    pub out: Vec<f64>,
}

/// Evaluates up to `count` rows, spread over the launch; all of them where there are no more.
///
/// # Errors
/// As [`Arguments::check`].
pub fn sample_rows(
    variant: &Variant,
    arguments: &Arguments<'_>,
    count: usize,
) -> Result<Vec<SampledRow>> {
    let checked = arguments.check(variant)?;
    reference::with_reference(variant, &checked, Arithmetic::Exact, |reference| {
        let rows = reference.rows();
        let count = count.min(rows);
        let mut scratch = Scratch::default();
        // First and last are among them: masks cut there.
        let numbered = |number: usize| match count {
            1 => 0,
            _ => number * (rows - 1) / (count - 1),
        };
        let sizes = checked.sizes;
        let row = |index: usize| {
            let (plane, row) = (index / sizes.q_len, index % sizes.q_len);
            let attended = reference.scores(index, &mut scratch).1.len();
            let mut out = vec![0.0; reference.row_width()];
            reference.row(index, &mut scratch, &mut out);
            SampledRow {
                place: [plane / sizes.heads, plane % sizes.heads, row],
                attended,
                out,
            }
        };
        (0..count).map(numbered).map(row).collect()
    })
}

/// The largest error of an output in these rows; infinite where NaN or infinities do not agree.
pub fn sampled_error(variant: &Variant, out: &TensorView<'_>, rows: &[SampledRow]) -> f64 {
    let strides = logical_strides(variant.layout, out, variant.v_head_dim);
    let mut worst: f64 = 0.0;
    for row in rows {
        let axes = row.place.iter().zip(&strides);
        let first: i64 = axes.map(|(index, stride)| *index as i64 * stride).sum();
        let first = out
            .as_ptr()
            .wrapping_add(first as usize * out.dtype().bytes() as usize);
        // SAFETY: the row lies inside the view, which is readable.
        let actual =
            unsafe { TensorView::from_raw(out.dtype(), first, &[row.out.len()], &strides[3..]) };
        for (actual, exact) in actual.to_f64().into_iter().zip(&row.out) {
            let same = actual == *exact || (actual.is_nan() && exact.is_nan());
            let error = (actual - exact).abs();
            worst = worst.max(match (same, error.is_finite()) {
                (true, _) => 0.0,
                (false, true) => error,
                (false, false) => f64::INFINITY,
            });
        }
    }
    worst
}
