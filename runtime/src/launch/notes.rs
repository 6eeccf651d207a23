//! What is worth knowing about a launch that is legal.

use fa_dsl::codes::WINDOW_SEES_ALL;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::{Binary, ExprId, Exprs, Node, Var};
use fa_dsl::variant::{Align, Variant};

use super::Checked;

/// One side of a window: how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Keys before the query.
    Left(i32),
    /// Keys after the query.
    Right(i32),
}

/// Windows that are larger than every length of the launch.
pub(super) fn windows(variant: &Variant, checked: &Checked<'_>) -> Vec<Diagnostic> {
    let (q_len, kv_len) = checked.longest();
    if q_len == 0 || kv_len == 0 {
        return Vec::new();
    }
    let sides = variant
        .exprs
        .reachable(&[variant.mask])
        .into_iter()
        .filter_map(|id| side(&variant.exprs, id));
    sides
        .filter_map(|side| {
            let (name, reach, farthest) = match (side, variant.align) {
                (Side::Left(reach), Align::BottomRight) => ("back", reach, kv_len - 1),
                (Side::Left(reach), Align::TopLeft) => ("back", reach, q_len - 1),
                (Side::Right(reach), Align::BottomRight) => ("ahead", reach, q_len - 1),
                (Side::Right(reach), Align::TopLeft) => ("ahead", reach, kv_len - 1),
            };
            // A side of 0 is how causality is written, and legal for a single query.
            let sees_all = reach > 0 && usize::try_from(reach).is_ok_and(|r| r >= farthest);
            sees_all.then(|| note(variant, name, reach, farthest))
        })
        .collect()
}

/// Reads `q_pos - kv_pos <= n` or `kv_pos - q_pos <= n`, the two sides of `window`.
fn side(exprs: &Exprs, id: ExprId) -> Option<Side> {
    let Node::Binary(Binary::Le, distance, bound) = exprs.node(id) else {
        return None;
    };
    let (Node::Binary(Binary::Sub, from, to), Node::Int(reach)) =
        (exprs.node(*distance), exprs.node(*bound))
    else {
        return None;
    };
    match (exprs.node(*from), exprs.node(*to)) {
        (Node::Var(Var::QPos), Node::Var(Var::KvIdx)) => Some(Side::Left(*reach)),
        (Node::Var(Var::KvIdx), Node::Var(Var::QPos)) => Some(Side::Right(*reach)),
        _ => None,
    }
}

fn note(variant: &Variant, direction: &str, reach: i32, farthest: usize) -> Diagnostic {
    let note = Diagnostic::note(
        WINDOW_SEES_ALL,
        format!(
            "the window reaches {reach} rows {direction}, no key of this launch is more than {farthest} away"
        ),
        "make the window smaller, or write `unbounded` for that side",
    );
    match variant.mask_span {
        Some(span) => note.at(span, "changes nothing here"),
        None => note,
    }
}
