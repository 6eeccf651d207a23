//! Interval analysis of a mask over tiles: which are empty, full or partial, and closed-form loop limits.
//!
//! The analysis is symbolic. Its results are expressions of the same IR over the tile's bounds, so that the
//! Ascend kernel, the CPU kernel and `explain` all evaluate one formula. Answers err on the side of work: a
//! tile called empty or full is so; a partial one may be either. For masks made of comparisons that are linear
//! in the query row, the key row and their difference, "empty" is exact, and so is "full".
//!
//! Method: the mask is brought into disjunctive normal form. A clause is a box of rows cut by bands; it is
//! empty over a tile when the box is, or when a band misses it. A tile is empty when every clause of the mask
//! is, and full when every clause of the negated mask is.

mod bounds;
mod classes;
mod clause;
mod extremes;
mod floats;
mod linear;
mod normal;

use crate::ir::{Binary, ExprId, Exprs, Var};
use crate::variant::Align;

pub use classes::TileClasses;
use clause::Clause;
pub use extremes::{End, Extremes, Line};
pub(crate) use floats::{ANY, FloatRange, float_range};
pub use linear::{Range, int_ranges};

/// Longest sequence that the analysis (and hence any kernel) is exact for, rows. Positions, their differences
/// and a clipped bound then sum within 32 bits.
pub const MAX_LENGTH: u32 = 1 << 29;

/// Largest batch that a launch may have.
pub const MAX_BATCH: u32 = 1 << 20;

/// Largest number of query heads that a launch may have.
pub const MAX_HEADS: u32 = 1 << 16;

/// What interval analysis derives from a mask. Every expression is scalar: it reads the tile's bounds
/// (`QFirst`, `QLast`, `KvFirst`, `KvLast`, all inclusive row indices), `B H KvH QLen KvLen` and parameters.
#[derive(Clone, Debug)]
pub struct TileAnalysis {
    /// First key row that any query row of the tile may see; int, within `0..=KvLen`; reads no key bounds.
    pub kv_begin: ExprId,
    /// One past the last such key row; int, within `0..=KvLen`; may lie below `kv_begin`: nothing to see.
    pub kv_end: ExprId,
    /// Bool: no pair of the tile is attended. `false` constant where the limits above already say it all.
    pub empty: ExprId,
    /// Bool: every pair of the tile is attended.
    pub full: ExprId,
}

/// What is known of one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TileKind {
    /// No pair is attended.
    Empty,
    /// Some are, or it is not known.
    Partial,
    /// All are.
    Full,
}

/// Analyses a mask (bool); appends the results to the arena. Where elements of tensors decide, a tile is partial.
pub fn analyse(exprs: &mut Exprs, mask: ExprId, align: Align) -> TileAnalysis {
    analyse_with(exprs, mask, align, &mut Extremes::default())
}

/// The same for who can tell the least and greatest elements of tensors: loads of tensors that [`Extremes::resolve`]
/// knows ask for them.
pub fn analyse_with(
    exprs: &mut Exprs,
    mask: ExprId,
    align: Align,
    extremes: &mut Extremes,
) -> TileAnalysis {
    let mask_clauses = clauses(exprs, mask, false, align, extremes);
    let hole_clauses = clauses(exprs, mask, true, align, extremes);
    let (kv_begin, kv_end) = limits(exprs, mask_clauses.as_deref());
    let no = exprs.bool(false);
    let empty = match &mask_clauses {
        Some(list) if list.len() <= 1 && list.iter().all(Clause::limits_are_exact) => no,
        Some(list) => all_empty(exprs, list),
        None => no,
    };
    let full = hole_clauses.map_or(no, |list| all_empty(exprs, &list));
    TileAnalysis {
        kv_begin,
        kv_end,
        empty,
        full,
    }
}

fn clauses(
    exprs: &mut Exprs,
    mask: ExprId,
    negated: bool,
    align: Align,
    extremes: &mut Extremes,
) -> Option<Vec<Clause>> {
    let normal = normal::disjunctive(exprs, mask, negated)?;
    Some(
        normal
            .iter()
            .map(|literals| Clause::new(exprs, literals, align, extremes))
            .collect(),
    )
}

/// True where every clause is empty over the tile.
fn all_empty(exprs: &mut Exprs, clauses: &[Clause]) -> ExprId {
    let mut occupied: Vec<ExprId> = Vec::new();
    for clause in clauses {
        let may_hold = clause.may_hold(exprs);
        if !occupied.contains(&may_hold) {
            occupied.push(may_hold);
        }
    }
    let mut all = exprs.bool(true);
    for may_hold in occupied {
        let empty = exprs.not(may_hold);
        all = exprs.and(all, empty);
    }
    all
}

/// An int expression as `q * q_idx + kv * kv_idx + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// Factor of the query row.
    pub q: i64,
    /// Factor of the key row.
    pub kv: i64,
    /// What does not change within a tile; int.
    pub offset: ExprId,
}

/// The affine form of an int expression, exact over the integers; `None` where it has none or might wrap. Appends
/// the offset to the arena.
pub fn affine(exprs: &mut Exprs, id: ExprId, align: Align) -> Option<Affine> {
    let facts = linear::Facts::new(exprs, align);
    let form = facts.linear(exprs, id)?;
    Some(Affine {
        q: form.q,
        kv: form.kv,
        offset: facts.scalar_part(exprs, &form, 1)?,
    })
}

/// The hull of the keys that the clauses allow, within `0..=KvLen`.
fn limits(exprs: &mut Exprs, clauses: Option<&[Clause]>) -> (ExprId, ExprId) {
    let zero = exprs.int(0);
    let kv_len = exprs.var(Var::KvLen);
    let Some(clauses) = clauses else {
        return (zero, kv_len);
    };
    let mut hull: Option<(ExprId, ExprId)> = None;
    for clause in clauses {
        let (begin, end) = clause.limits(exprs);
        hull = Some(match hull {
            None => (begin, end),
            Some((first, last)) => (
                // No limit lies below 0.
                if first == zero || begin == zero {
                    zero
                } else {
                    exprs.binary(Binary::Min, first, begin)
                },
                exprs.binary(Binary::Max, last, end),
            ),
        });
    }
    hull.unwrap_or((zero, zero))
}

#[cfg(test)]
mod tensor_tests;
#[cfg(test)]
mod tests;
