//! Vector clocks: for each pipe of each core, how many of its instructions have certainly completed.

use std::sync::Arc;

use crate::time::Moment;

/// Clock entries of one core: its seven pipes, then the loads of its scalar unit.
pub(crate) const SLOTS: usize = 8;
/// Entry of the scalar unit's loads: they complete before anything later is issued.
pub(crate) const SCALAR_LOADS: usize = 7;

/// A clock that somebody passed on; it does not change any more.
pub(crate) type Snapshot = Arc<[u32]>;

/// Adds what `from` knows to `into`.
pub(crate) fn join(into: &mut [u32], from: &[u32]) {
    for (own, other) in into.iter_mut().zip(from) {
        *own = (*own).max(*other);
    }
}

/// The two clocks as one.
pub(crate) fn joined(a: &[u32], b: &[u32]) -> Snapshot {
    a.iter().zip(b).map(|(a, b)| *a.max(b)).collect()
}

/// What a set flag carries to the one who waits for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Token {
    /// Everything that had completed; `None` when order is not checked, or the edge was taken away.
    pub(crate) clock: Option<Snapshot>,
    /// When the flag can be seen.
    pub(crate) time: Moment,
}

impl Token {
    /// Waits for both.
    pub(crate) fn join(&mut self, other: &Token) {
        self.time = self.time.max(other.time);
        self.clock = match (self.clock.take(), &other.clock) {
            (Some(own), Some(other)) => Some(joined(&own, other)),
            (own, other) => own.or_else(|| other.clone()),
        };
    }
}
