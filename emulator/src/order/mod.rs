//! Which accesses the kernel orders, and which it only believes to.
//!
//! A pipe issues in order and completes when it completes. An instruction is known to have completed where
//! somebody can know it: behind a flag that its pipe set later, behind a barrier of its pipe, behind a cross-core
//! flag or a barrier of all cores. Each pipe carries a vector clock of what has certainly completed when its next
//! instruction starts; a memory remembers who touched which bytes. Two accesses to the same bytes, one of them a
//! write, must be ordered by the clocks: whether they happen to run in the right order says nothing.

mod cache;
mod clock;
mod history;
mod message;
mod touch;

use std::sync::{Arc, Mutex, PoisonError};

use crate::core_model::CORE_PIPES;
use crate::instruction::{Action, Footprint, Instruction, Loc, Pipe};
use crate::local::Mem;

pub(crate) use cache::{Caches, Stale, describe as describe_stale};
pub(crate) use clock::{SLOTS, Snapshot, Token};
pub(crate) use history::History;
pub(crate) use message::{Race, describe};

use clock::{SCALAR_LOADS, join, joined};
use history::{Access, Conflict, Kind, Pass};
use touch::Touches;

/// What was certain when the scalar unit issued an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    clock: Snapshot,
    loads: u32,
}

/// Order as one core's instructions see it.
#[derive(Debug)]
pub(crate) struct Tracker {
    /// First clock entry of this core.
    first: usize,
    /// What has completed when the next instruction of a pipe starts.
    clocks: [Vec<u32>; CORE_PIPES],
    seen: [Option<Snapshot>; CORE_PIPES],
    /// Instructions that a pipe has started.
    counts: [u32; SLOTS],
    /// What has completed when the scalar unit issues its next instruction.
    issue: Snapshot,
    locals: [History; 7],
    touches: Touches,
    auto_sync: bool,
    block: usize,
    /// A fault: bytes of a memory that count as others.
    alias: Option<Alias>,
}

/// Bytes that lie over others because of a fault.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    pub(crate) mem: Mem,
    pub(crate) slot: std::ops::Range<usize>,
    pub(crate) onto: usize,
}

impl Tracker {
    /// Nothing has happened yet; `core` of `cores`.
    pub(crate) fn new(
        core: usize,
        cores: usize,
        block: usize,
        auto_sync: bool,
        alias: Option<Alias>,
    ) -> Tracker {
        let zero = vec![0; cores * SLOTS];
        Tracker {
            first: core * SLOTS,
            clocks: std::array::from_fn(|_| zero.clone()),
            seen: Default::default(),
            counts: [0; SLOTS],
            issue: zero.into(),
            locals: Default::default(),
            touches: Touches::default(),
            auto_sync,
            block,
            alias,
        }
    }

    /// What is certain now, for an instruction that is being issued.
    pub(crate) fn stamp(&self) -> Stamp {
        Stamp {
            clock: Arc::clone(&self.issue),
            loads: self.counts[SCALAR_LOADS],
        }
    }

    /// An instruction reaches the head of its pipe: it knows what was certain when it was issued.
    pub(crate) fn begin(&mut self, pipe: Pipe, stamp: &Stamp) {
        let index = pipe.index();
        let seen = self.seen[index].as_ref();
        if !seen.is_some_and(|seen| Arc::ptr_eq(seen, &stamp.clock)) {
            join(&mut self.clocks[index], &stamp.clock);
            self.seen[index] = Some(Arc::clone(&stamp.clock));
        }
        let loads = &mut self.clocks[index][self.first + SCALAR_LOADS];
        *loads = (*loads).max(stamp.loads);
    }

    /// What a flag that `pipe` sets now promises.
    pub(crate) fn release(&self, pipe: Pipe) -> Snapshot {
        let mut clock: Snapshot = self.clocks[pipe.index()].as_slice().into();
        let entries = Arc::make_mut(&mut clock);
        entries[self.first + pipe.index()] = self.counts[pipe.index()];
        clock
    }

    /// `pipe` has waited for a flag. What holds the scalar unit back holds back all that it issues later.
    pub(crate) fn acquire(&mut self, pipe: Pipe, clock: &[u32]) {
        if pipe == Pipe::S {
            self.acquire_all(clock);
        } else {
            join(&mut self.clocks[pipe.index()], clock);
        }
    }

    /// Everything issued from now on has waited.
    pub(crate) fn acquire_all(&mut self, clock: &[u32]) {
        self.issue = joined(&self.issue, clock);
    }

    /// A barrier of one pipe.
    pub(crate) fn barrier(&mut self, pipe: Pipe) {
        let index = pipe.index();
        self.clocks[index][self.first + index] = self.counts[index];
    }

    /// What holds once every pipe has run empty; the scalar unit has waited for it.
    pub(crate) fn barrier_all(&mut self) -> Snapshot {
        for pipe in Pipe::ALL {
            let clock = self.release(pipe);
            self.acquire_all(&clock);
        }
        Arc::clone(&self.issue)
    }

    /// Judges and records an instruction of a pipe.
    pub(crate) fn access(
        &mut self,
        instruction: &Instruction,
        shared: &Mutex<History>,
    ) -> Vec<Race> {
        let pipe = instruction.pipe;
        self.counts[pipe.index()] += 1;
        let mut touches = std::mem::take(&mut self.touches);
        touches.collect(&instruction.action, &instruction.footprints, self.block);
        if let Some(alias) = &self.alias {
            touches.redirect(alias);
        }
        let overlaps = matches!(&instruction.action, Action::Mmad(plan) if plan.overlaps);
        let atomic = is_atomic(&instruction.action);
        let slot = (self.first + pipe.index()) as u32;
        let epoch = self.counts[pipe.index()];
        let access = |kind| Access {
            slot,
            epoch,
            kind,
            overlaps,
            seq: instruction.seq,
            loc: instruction.loc,
        };
        let mut races = Vec::new();
        let written = if atomic { Kind::Atomic } else { Kind::Write };
        let ranges = |mem, write| {
            let list = touches.list.iter();
            list.filter(move |touch| touch.write == write && touch.mem == mem)
                .map(|touch| touch.start..touch.end)
        };
        // Reads are judged before the instruction's own writes replace what was there, and recorded behind them.
        for mem in memories(&touches, false) {
            let reads = ranges(mem, false);
            races.extend(self.walk(pipe, mem, access(Kind::Read), reads, shared, Step::Check));
        }
        for mem in memories(&touches, true) {
            let writes = ranges(mem, true);
            races.extend(self.walk(pipe, mem, access(written), writes, shared, Step::Both));
        }
        for mem in memories(&touches, false) {
            let reads = ranges(mem, false);
            races.extend(self.walk(pipe, mem, access(Kind::Read), reads, shared, Step::Record));
        }
        self.touches = touches;
        races
    }

    /// Bytes of global memory that the last instruction of a pipe touched, and whether it wrote them.
    pub(crate) fn touched_global(&self) -> impl Iterator<Item = (std::ops::Range<usize>, bool)> {
        let global = self
            .touches
            .list
            .iter()
            .filter(|touch| touch.mem == Mem::Gm);
        global.map(|touch| (touch.start..touch.end, touch.write))
    }

    /// Judges and records a load or store of the scalar unit.
    pub(crate) fn scalar(
        &mut self,
        print: &Footprint,
        seq: u64,
        loc: Loc,
        shared: &Mutex<History>,
    ) -> Vec<Race> {
        let stamp = self.stamp();
        self.begin(Pipe::S, &stamp);
        let slot = if print.write {
            Pipe::S.index()
        } else {
            SCALAR_LOADS
        };
        self.counts[slot] += 1;
        let access = Access {
            slot: (self.first + slot) as u32,
            epoch: self.counts[slot],
            kind: if print.write { Kind::Write } else { Kind::Read },
            overlaps: false,
            seq,
            loc,
        };
        let ranges = std::iter::once(print.start..print.end);
        self.walk(Pipe::S, print.mem, access, ranges, shared, Step::Both)
    }

    fn walk(
        &mut self,
        pipe: Pipe,
        mem: Mem,
        access: Access,
        ranges: impl Iterator<Item = std::ops::Range<usize>>,
        shared: &Mutex<History>,
        step: Step,
    ) -> Vec<Race> {
        let mut global;
        let history = if mem == Mem::Gm {
            global = shared.lock().unwrap_or_else(PoisonError::into_inner);
            &mut *global
        } else {
            &mut self.locals[mem.index()]
        };
        let clock = &self.clocks[pipe.index()];
        let (first, auto_sync) = (self.first as u32, self.auto_sync);
        let ordered = |earlier: &Access| {
            clock[earlier.slot as usize] >= earlier.epoch
                || in_pipe_order(first, earlier, pipe, mem, auto_sync)
        };
        let mut pass = Pass::new(access, &ordered);
        if step == Step::Record {
            pass = pass.judged();
        }
        for range in ranges {
            match step {
                Step::Check => history.check(range, &mut pass),
                Step::Record | Step::Both => history.touch(range, &mut pass),
            }
        }
        let race = |(earlier, bytes): Conflict| Race {
            mem,
            bytes,
            earlier,
            later: access,
        };
        pass.conflicts.into_iter().map(race).collect()
    }
}

/// What a walk over the map does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Check,
    Record,
    Both,
}

/// Orders that need neither flag nor barrier.
fn in_pipe_order(first: u32, earlier: &Access, pipe: Pipe, mem: Mem, auto_sync: bool) -> bool {
    let Some(slot) = earlier.slot.checked_sub(first) else {
        return false;
    };
    let slot = slot as usize;
    if auto_sync && [Pipe::S, Pipe::V].contains(&pipe) {
        // The compiler inserts these barriers and events by itself.
        let inserted = [Pipe::S.index(), Pipe::V.index(), SCALAR_LOADS].contains(&slot);
        if inserted {
            return true;
        }
    }
    match pipe {
        // The scalar unit runs one instruction after another.
        Pipe::S => [Pipe::S.index(), SCALAR_LOADS].contains(&slot),
        // The unit accumulates in order unless products are so small that they overlap in it.
        Pipe::M => slot == pipe.index() && !(mem == Mem::L0c && earlier.overlaps),
        // The documents ask for no barrier between loads of operands.
        Pipe::Mte1 => slot == pipe.index(),
        Pipe::V | Pipe::Mte2 | Pipe::Mte3 | Pipe::Fix => false,
    }
}

fn is_atomic(action: &Action) -> bool {
    match action {
        Action::Copy(plan) => plan.atomic.is_some(),
        Action::Fixpipe(plan) => plan.atomic.is_some(),
        _ => false,
    }
}

/// The memories that an instruction reads, or writes.
fn memories(touches: &Touches, write: bool) -> impl Iterator<Item = Mem> + use<> {
    let mut found = [None; 8];
    for touch in touches.list.iter().filter(|touch| touch.write == write) {
        let mut slots = found.iter_mut();
        let slot = slots.find(|slot| slot.is_none_or(|mem| mem == touch.mem));
        *slot.expect("a slot per memory") = Some(touch.mem);
    }
    found.into_iter().flatten()
}
