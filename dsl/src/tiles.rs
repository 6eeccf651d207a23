//! Interval analysis of a mask over tiles: which are empty, full or partial, and closed-form loop limits.

use crate::ir::ExprId;

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
