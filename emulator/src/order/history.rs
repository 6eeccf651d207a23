//! Who touched which bytes of a memory since they were last written: a map of byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::instruction::Loc;

/// How an instruction touches bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// Combines with what is there; two of them may come in any order.
    Atomic,
}

impl Kind {
    fn conflicts(self, other: Kind) -> bool {
        !matches!(
            (self, other),
            (Kind::Read, Kind::Read) | (Kind::Atomic, Kind::Atomic)
        )
    }
}

/// One access that the map remembers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Entry of the clocks: core and pipe.
    pub(crate) slot: u32,
    /// Number of the instruction on that pipe, from 1.
    pub(crate) epoch: u32,
    pub(crate) kind: Kind,
    /// A product so small that the next one on the pipe may overtake it.
    pub(crate) overlaps: bool,
    /// Position in the core's program.
    pub(crate) seq: u64,
    pub(crate) loc: Loc,
}

/// An earlier access that nothing orders before the present one, and the bytes.
pub(crate) type Conflict = (Access, Range<usize>);

type Accesses = Arc<[Access]>;

/// One instruction's walk over the map.
pub(crate) struct Pass<'p> {
    access: Access,
    /// Whether an earlier access completes before this one starts.
    ordered: &'p dyn Fn(&Access) -> bool,
    fresh: Accesses,
    /// The last set of accesses that was judged, and what it became.
    memo: Option<(Accesses, Accesses)>,
    judging: bool,
    pub(crate) conflicts: Vec<Conflict>,
}

impl<'p> Pass<'p> {
    pub(crate) fn new(access: Access, ordered: &'p dyn Fn(&Access) -> bool) -> Pass<'p> {
        Pass {
            access,
            ordered,
            fresh: Arc::new([access]),
            memo: None,
            judging: true,
            conflicts: Vec::new(),
        }
    }

    /// Records only: what is accessed has been judged.
    pub(crate) fn judged(mut self) -> Pass<'p> {
        self.judging = false;
        self
    }

    /// Judges the accesses of a range, and returns what the range holds from now on.
    fn judge(&mut self, old: &Accesses, range: Range<usize>) -> Accesses {
        if let Some((known, result)) = &self.memo
            && Arc::ptr_eq(known, old)
        {
            return Arc::clone(result);
        }
        for earlier in old.iter() {
            let same = earlier.slot == self.access.slot && earlier.epoch == self.access.epoch;
            if self.judging
                && !same
                && earlier.kind.conflicts(self.access.kind)
                && !(self.ordered)(earlier)
            {
                self.conflicts.push((*earlier, range.clone()));
            }
        }
        let result = self.successor(old);
        self.memo = Some((Arc::clone(old), Arc::clone(&result)));
        result
    }

    fn successor(&self, old: &Accesses) -> Accesses {
        if self.access.kind == Kind::Write {
            return Arc::clone(&self.fresh);
        }
        let (slot, kind) = (self.access.slot, self.access.kind);
        old.iter()
            .filter(|earlier| earlier.slot != slot || earlier.kind != kind)
            .copied()
            .chain([self.access])
            .collect()
    }
}

/// The accesses to one memory.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Start of a range to its end and its accesses; ranges do not overlap.
    ranges: BTreeMap<usize, (usize, Accesses)>,
}

impl History {
    /// Judges one contiguous access without recording it.
    pub(crate) fn check(&self, range: Range<usize>, pass: &mut Pass<'_>) {
        let before = self.ranges.range(..range.start).next_back();
        let straddles = before.filter(|(_, (end, _))| *end > range.start);
        for (&start, (end, accesses)) in straddles
            .into_iter()
            .chain(self.ranges.range(range.clone()))
        {
            pass.judge(accesses, start.max(range.start)..(*end).min(range.end));
        }
    }

    /// Judges one contiguous access and records it.
    pub(crate) fn touch(&mut self, range: Range<usize>, pass: &mut Pass<'_>) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        if pass.access.kind == Kind::Write {
            self.overwrite(range, pass);
        } else {
            self.update(range, pass);
        }
    }

    /// Makes `at` a boundary.
    fn split(&mut self, at: usize) {
        let Some((_, (end, accesses))) = self.ranges.range_mut(..at).next_back() else {
            return;
        };
        if *end > at {
            let tail = (*end, Arc::clone(accesses));
            *end = at;
            self.ranges.insert(at, tail);
        }
    }

    fn overwrite(&mut self, range: Range<usize>, pass: &mut Pass<'_>) {
        for (&start, (end, accesses)) in self.ranges.range(range.clone()) {
            pass.judge(accesses, start..*end);
        }
        self.ranges
            .extract_if(range.clone(), |_, _| true)
            .for_each(drop);
        self.insert(range, Arc::clone(&pass.fresh));
    }

    /// Inserts a range, grown together with the one before it where both hold the same accesses.
    fn insert(&mut self, range: Range<usize>, accesses: Accesses) {
        if let Some((_, (end, before))) = self.ranges.range_mut(..range.start).next_back()
            && *end == range.start
            && Arc::ptr_eq(before, &accesses)
        {
            *end = range.end;
            return;
        }
        self.ranges.insert(range.start, (range.end, accesses));
    }

    fn update(&mut self, range: Range<usize>, pass: &mut Pass<'_>) {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (&start, (end, accesses)) in self.ranges.range_mut(range.clone()) {
            if start > at {
                gaps.push(at..start);
            }
            at = *end;
            *accesses = pass.judge(accesses, start..*end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        for gap in gaps {
            self.insert(gap, Arc::clone(&pass.fresh));
        }
    }
}
