//! Errors of small launches against the f64 reference, beside what is allowed.

use fa_dsl::variant::Variant;
use fa_runtime::verify::{self, Case, Row, Shape};
use fa_runtime::{Error, Kernel};

use super::page::{Figure, Key, Lane, LaneGroup, TableView, WIDTH};
use super::shapes::{LANE, Outline, Scale};
use super::text;

/// Lengths of the launches: one row, less than a tile, no multiple of one, more keys than queries.
const LENGTHS: [(usize, usize); 4] = [(1, 257), (70, 70), (129, 130), (200, 700)];

/// Launches kernels on random tensors; a launch that the variant does not allow is left out.
///
/// # Errors
/// The reference fails.
pub(crate) fn rows(variant: &Variant, kernels: &[&Kernel]) -> Result<Vec<Row>, Error> {
    let kv_heads = variant.kv_heads.or(variant.heads).unwrap_or(1) as usize;
    let heads = variant.heads.map_or(kv_heads, |heads| heads as usize);
    let mut rows = Vec::new();
    for (seed, (q_len, kv_len)) in LENGTHS.into_iter().enumerate() {
        let shape = Shape {
            batch: 1,
            heads,
            kv_heads,
            q_len,
            kv_len,
        };
        let case = Case::random(variant, shape, seed as u64, false);
        match verify::compare(variant, kernels, &case) {
            Ok(found) => rows.extend(found),
            Err(Error::Launch(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

/// The picture: errors as shares of what is allowed.
pub(crate) fn figure(id: &str, rows: &[Row]) -> Figure {
    let mut numbers = TableView::new(
        "Launches against the f64 reference",
        &[
            "by",
            ">queries × keys",
            ">error of O",
            ">allowed",
            ">error of LSE",
            ">allowed",
            "verdict",
        ],
    );
    let mut lanes = Vec::new();
    for row in rows {
        let by = who(row);
        let size = format!("{} × {}", row.shape.q_len, row.shape.kv_len);
        let verdict = match (&row.failure, row.pass) {
            (Some(failure), _) => failure.clone(),
            (None, true) => "within".to_owned(),
            (None, false) => "too large".to_owned(),
        };
        numbers.row(
            "",
            [
                by.clone(),
                size.clone(),
                text::error(row.out_error),
                text::error(row.out_allowed),
                text::error(row.lse_error),
                text::error(row.lse_allowed),
                verdict,
            ],
        );
        lanes.push(lane(by, &size, row));
    }
    let scale = Scale::Linear(0.0, 100.0);
    let worst = rows.iter().map(share).fold(0.0, f64::max);
    let failed = rows.iter().filter(|row| !row.pass).count();
    Figure {
        id: format!("{id}-numerics"),
        title: "Numerics".to_owned(),
        origin: "computed, on random normal tensors".to_owned(),
        caption: format!(
            "The largest error of O against an f64 interpreter of the checked program, as a share of what is allowed: twice the \
             error of a plain kernel of the same precision, plus a millionth of the largest output. {}",
            if failed == 0 {
                format!(
                    "All {} launches are within; the worst takes {} of its bound.",
                    rows.len(),
                    text::percent(worst)
                )
            } else {
                format!("{failed} of {} launches are not within.", rows.len())
            }
        ),
        alternative: String::new(),
        legend: vec![Key::new("busy", "error, share of the bound")],
        lanes: vec![LaneGroup {
            title: "error of O".to_owned(),
            note: "by launch".to_owned(),
            class: "pipes",
            lanes,
            axis: scale.ticks(&scale.round(4), |value| format!("{value:.0} %")),
            axis_title: "share of the allowed error".to_owned(),
        }],
        numbers: vec![numbers],
        ..Figure::default()
    }
}

fn who(row: &Row) -> String {
    let name = row.backend.name();
    if row.emulated {
        format!("{name}, emulated")
    } else {
        name.to_owned()
    }
}

/// Error over bound; 1 where there is no result.
fn share(row: &Row) -> f64 {
    let share = row.out_error / row.out_allowed;
    if row.out_error == 0.0 {
        0.0
    } else if share.is_finite() {
        share
    } else {
        1.0
    }
}

fn lane(by: String, size: &str, row: &Row) -> Lane {
    let share = share(row);
    let mut outline = Outline::default();
    outline.rect("free", (0.0, 0.0), (WIDTH, LANE));
    let class = if row.pass { "busy" } else { "stall0" };
    outline.rect(class, (0.0, 0.0), (share.clamp(0.002, 1.0) * WIDTH, LANE));
    Lane {
        label: size.to_owned(),
        detail: by,
        value: text::percent(share),
        alternative: format!(
            "error {} of {} allowed",
            text::error(row.out_error),
            text::error(row.out_allowed)
        ),
        shapes: outline.shapes(),
    }
}
