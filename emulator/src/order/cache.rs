//! What scalar units keep of global memory: lines of their data caches, which nothing keeps coherent.
//!
//! A scalar store stays in the cache of its core, and a line once read is read again from there, until
//! `DataCacheCleanAndInvalid` gives it back. Whoever else looks at the bytes meanwhile sees the old ones.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::instruction::Loc;
use crate::launch::CoreInfo;
use crate::report::{Finding, Place, Severity};

/// Bytes of a line, one bit each.
type Bytes = u64;

/// A line in the cache of one core.
#[derive(Debug)]
struct Line {
    /// The access that brought it there.
    loaded: Loc,
    /// Bytes that the core has stored, and the last store.
    stored: Option<(Bytes, Loc)>,
    /// Bytes that somebody has changed in global memory since, and who: core and place.
    overtaken: Option<(Bytes, usize, Loc)>,
}

/// An access that sees other bytes than the program means.
#[derive(Debug)]
pub(crate) struct Stale {
    pub(crate) bytes: Range<usize>,
    /// Core and place of the access.
    later: (usize, Loc),
    /// Core that holds the line, and the access that brought it there or changed it there.
    held: (usize, Loc),
    /// Who has changed the bytes in global memory, where the core reads its own old copy.
    changed: Option<(usize, Loc)>,
}

impl Stale {
    /// What tells one from another of the same launch: both places.
    pub(crate) fn key(&self) -> [(usize, i32); 2] {
        let place = |loc: &Loc| (loc.file as usize, loc.line);
        let (_, earlier) = self.changed.as_ref().unwrap_or(&self.held);
        [place(earlier), place(&self.later.1)]
    }
}

/// The data caches of all cores of a launch.
#[derive(Debug)]
pub(crate) struct Caches {
    line_bytes: usize,
    /// By number of the line and core.
    lines: BTreeMap<(usize, usize), Line>,
}

impl Caches {
    /// Empty caches with lines of so many bytes, at most 64.
    pub(crate) fn new(line_bytes: usize) -> Caches {
        Caches {
            line_bytes: line_bytes.clamp(1, Bytes::BITS as usize),
            lines: BTreeMap::new(),
        }
    }

    /// A pipe of `core` reads or writes global memory.
    pub(crate) fn pipe(
        &mut self,
        core: usize,
        range: Range<usize>,
        write: bool,
        loc: Loc,
    ) -> Option<Stale> {
        if self.lines.is_empty() || range.is_empty() {
            return None;
        }
        let mut stale = None;
        let numbers = range.start / self.line_bytes..range.end.div_ceil(self.line_bytes);
        let held = self.lines.range_mut((numbers.start, 0)..(numbers.end, 0));
        for (&(number, holder), line) in held {
            let bytes = mask(number * self.line_bytes, self.line_bytes, &range);
            stale = stale.or_else(|| line.conflict(bytes, &range, holder, (core, loc)));
            if write {
                line.overtake(bytes, core, loc);
            }
        }
        stale
    }

    /// The scalar unit of `core` loads or stores.
    pub(crate) fn scalar(
        &mut self,
        core: usize,
        range: Range<usize>,
        write: bool,
        loc: Loc,
    ) -> Option<Stale> {
        let number = range.start / self.line_bytes;
        let bytes = mask(number * self.line_bytes, self.line_bytes, &range);
        let mut stale = None;
        for (&(_, holder), line) in self.lines.range_mut((number, 0)..(number + 1, 0)) {
            if holder != core {
                stale = stale.or_else(|| line.conflict(bytes, &range, holder, (core, loc)));
                if write {
                    line.overtake(bytes, core, loc);
                }
            }
        }
        let own = self.lines.entry((number, core)).or_insert(Line {
            loaded: loc,
            stored: None,
            overtaken: None,
        });
        if write {
            let before = own.stored.map_or(0, |(before, _)| before);
            own.stored = Some((before | bytes, loc));
            if let Some((overtaken, ..)) = &mut own.overtaken {
                *overtaken &= !bytes;
            }
        } else if let Some((overtaken, writer, place)) = own.overtaken
            && overtaken & bytes != 0
        {
            stale = stale.or(Some(Stale {
                bytes: range,
                later: (core, loc),
                held: (core, own.loaded),
                changed: Some((writer, place)),
            }));
        }
        stale
    }

    /// `core` gives the line of an address back, or all its lines.
    pub(crate) fn clean(&mut self, core: usize, address: Option<usize>) {
        match address {
            Some(address) => drop(self.lines.remove(&(address / self.line_bytes, core))),
            None => self.lines.retain(|&(_, holder), _| holder != core),
        }
    }
}

impl Line {
    /// What an access of others to bytes that are stored here would miss.
    fn conflict(
        &self,
        bytes: Bytes,
        range: &Range<usize>,
        holder: usize,
        later: (usize, Loc),
    ) -> Option<Stale> {
        let (stored, place) = self.stored?;
        (stored & bytes != 0).then(|| Stale {
            bytes: range.clone(),
            later,
            held: (holder, place),
            changed: None,
        })
    }

    fn overtake(&mut self, bytes: Bytes, core: usize, loc: Loc) {
        let before = self.overtaken.map_or(0, |(before, ..)| before);
        if bytes != 0 {
            self.overtaken = Some((before | bytes, core, loc));
        }
    }
}

/// The bytes of a line that a range covers.
fn mask(line: usize, len: usize, range: &Range<usize>) -> Bytes {
    let from = range.start.clamp(line, line + len) - line;
    let to = range.end.clamp(line, line + len) - line;
    let below = |count: usize| {
        Bytes::MAX
            .checked_shr(Bytes::BITS - count as u32)
            .unwrap_or(0)
    };
    below(to) & !below(from)
}

/// The finding for a stale access; `base` is the address that bytes are counted from.
pub(crate) fn describe(stale: &Stale, cores: &[CoreInfo], base: usize) -> Finding {
    let (core, later) = &stale.later;
    let (holder, held) = &stale.held;
    let bytes = stale.bytes.start.wrapping_sub(base)..stale.bytes.end.wrapping_sub(base);
    let subject = format!(
        "{} touches bytes {}..{} of GM",
        later.call(),
        bytes.start,
        bytes.end
    );
    let whole =
        "DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(tensor)";
    let (message, help, other) = match &stale.changed {
        Some((writer, changed)) => (
            format!(
                "{subject} in the data cache, whose line came there with {} at {}:{}; {} at {}:{} of {} has changed them \
                 in memory since",
                held.call(),
                held.file(),
                held.line(),
                changed.call(),
                changed.file(),
                changed.line(),
                cores[*writer].name(),
            ),
            format!("{whole} before line {}", later.line()),
            changed,
        ),
        None => (
            format!(
                "{subject}; {} at {}:{} has left them in the data cache of {}, where nobody else sees them",
                held.call(),
                held.file(),
                held.line(),
                cores[*holder].name(),
            ),
            format!("{whole} after line {}", held.line()),
            held,
        ),
    };
    Finding {
        kind: "stale-cache",
        severity: Severity::Error,
        core: cores[*core].name(),
        pipe: "",
        message,
        help,
        file: later.file(),
        line: later.line(),
        other: Some(Place {
            file: other.file(),
            line: other.line(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn masks_of_a_line() {
        assert_eq!(mask(64, 64, &(0..200)), u64::MAX);
        assert_eq!(mask(64, 64, &(64..68)), 0xF);
        assert_eq!(mask(64, 64, &(126..130)), 3 << 62);
        assert_eq!(mask(64, 64, &(0..64)), 0);
    }
}
