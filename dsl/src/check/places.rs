//! Which names may stand where: `dot` and `score` in the score expression only, and no position in `sink`.

use super::hir::{Hir, HirKind};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::Var;
use crate::span::Span;

/// A field with an expression of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Mask,
    Score,
    Sink,
}

impl Place {
    fn allows(self, var: Var) -> bool {
        match self {
            Place::Score => true,
            Place::Mask => !matches!(var, Var::Dot | Var::Score),
            Place::Sink => matches!(var, Var::B | Var::H | Var::KvH),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Place::Mask => "mask",
            Place::Score => "score",
            Place::Sink => "sink",
        }
    }
}

/// All names that an expression reads, through its `let`s, each with the place that leads to it.
pub(super) fn vars(hir: &Hir, lets: &[Vec<Var>]) -> Vec<(Var, Span)> {
    let (mut found, mut pending) = (Vec::new(), vec![hir]);
    while let Some(part) = pending.pop() {
        match &part.kind {
            HirKind::Var(var) => found.push((*var, part.span)),
            HirKind::Let(index) => {
                let read = lets.get(*index).map_or(&[][..], Vec::as_slice);
                found.extend(read.iter().map(|var| (*var, part.span)));
            }
            _ => pending.extend(part.children()),
        }
    }
    found
}

/// The names that have no value in this place, each reported where it stands first.
pub(super) fn misplaced(hir: &Hir, place: Place, lets: &[Vec<Var>]) -> Vec<Diagnostic> {
    let mut found = vars(hir, lets);
    found.retain(|(var, _)| !place.allows(*var));
    found.sort_by_key(|(_, span)| *span);
    let mut first: Vec<(Var, Span)> = Vec::new();
    for (var, span) in found {
        if first.iter().all(|(before, _)| *before != var) {
            first.push((var, span));
        }
    }
    first
        .into_iter()
        .map(|(var, span)| has_no_value(var, place, span))
        .collect()
}

fn has_no_value(var: Var, place: Place, span: Span) -> Diagnostic {
    let name = spelling(var);
    let here = place.name();
    let (label, help) = match (place, var) {
        (Place::Sink, _) => (
            "a sink is one number for each head",
            "use `b`, `h`, `kv_h`, params, and tensors indexed by these".to_owned(),
        ),
        _ => (
            "exists in the `score` expression only",
            format!(
                "masks decide by position: change the score in `score`, and leave `{name}` out of `{here}`"
            ),
        ),
    };
    Diagnostic::error(
        codes::WRONG_PLACE,
        format!("`{name}` has no value in `{here}`"),
        help,
    )
    .at(span, label)
}

fn spelling(var: Var) -> &'static str {
    super::env::VARS
        .into_iter()
        .find_map(|(name, known)| (known == var).then_some(name))
        .unwrap_or("score")
}
