//! The clock of one core: when its scalar unit issues, when its pipes start and complete.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::core_model::CORE_PIPES;
use crate::instruction::{Instruction, Pipe};
use crate::time::cost::{self, Table};
use crate::time::moment::{Moment, Share};
use crate::time::shared::Shared;
use crate::time::{Detail, Span, Touch};

/// Why a pipe stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// A flag of that pipe.
    Flag(Pipe),
    /// A flag of another core.
    CrossCore,
    /// The scalar unit had not issued its next instruction.
    Issue,
    /// A barrier: its own instructions had to complete.
    Barrier,
    /// A pipe whose queue was full held the scalar unit.
    Queue,
    /// Device-wide bandwidth.
    Bandwidth,
}

/// Kinds of stalls: a flag of each pipe, then the others.
pub(crate) const STALLS: usize = CORE_PIPES + 5;

impl Stall {
    fn index(self) -> usize {
        match self {
            Stall::Flag(pipe) => pipe.index(),
            Stall::CrossCore => CORE_PIPES,
            Stall::Issue => CORE_PIPES + 1,
            Stall::Barrier => CORE_PIPES + 2,
            Stall::Queue => CORE_PIPES + 3,
            Stall::Bandwidth => CORE_PIPES + 4,
        }
    }

    /// What a pipe waited for, by index.
    pub(crate) fn name(index: usize) -> String {
        const OTHERS: [&str; 5] = [
            "another core",
            "issue",
            "its own barrier",
            "a full queue",
            "shared bandwidth",
        ];
        match Pipe::ALL.get(index) {
            Some(pipe) => pipe.name().to_owned(),
            None => OTHERS[index - CORE_PIPES].to_owned(),
        }
    }
}

/// The clock of one core.
#[derive(Debug)]
pub(crate) struct Timer {
    detail: Detail,
    /// When the scalar unit can issue next.
    now: Moment,
    /// When a pipe can start next, and when all that it started has completed.
    free: [Moment; CORE_PIPES],
    done: [Moment; CORE_PIPES],
    /// End of the last instruction that did some work.
    last_end: [u64; CORE_PIPES],
    starts: [VecDeque<Moment>; CORE_PIPES],
    /// The last time that the scalar unit was held back: from, to, why.
    held: (u64, u64, Stall),
    pub(crate) busy: [u64; CORE_PIPES],
    pub(crate) stalls: [[u64; STALLS]; CORE_PIPES],
    pub(crate) spans: Vec<Span>,
}

impl Timer {
    /// A core that starts at `start`.
    pub(crate) fn new(start: Moment, detail: Detail) -> Timer {
        Timer {
            detail,
            now: start,
            free: [start; CORE_PIPES],
            done: [start; CORE_PIPES],
            last_end: [0; CORE_PIPES],
            starts: Default::default(),
            held: (0, 0, Stall::Issue),
            busy: [0; CORE_PIPES],
            stalls: [[0; STALLS]; CORE_PIPES],
            spans: Vec::new(),
        }
    }

    /// The scalar unit's time, cycles.
    pub(crate) fn now(&self) -> u64 {
        self.now.at
    }

    /// The scalar unit spends cycles.
    pub(crate) fn spend(&mut self, cycles: f64) {
        let cycles = cycles.round() as u64;
        self.busy[Pipe::S.index()] += cycles;
        self.now = self.now.after(cycles, Share::Pipe(Pipe::S.index()));
    }

    /// The scalar unit is held back until `until`.
    pub(crate) fn hold(&mut self, until: Moment, why: Stall) {
        if until.at > self.now.at {
            self.held = (self.now.at, until.at, why);
            self.stalls[Pipe::S.index()][why.index()] += until.at - self.now.at;
        }
        self.now = self.now.max(until);
    }

    /// Issues an instruction to a pipe in front of which `queued` others wait; returns when.
    pub(crate) fn issue(&mut self, pipe: Pipe, queued: usize, cycles: f64, depth: usize) -> Moment {
        let starts = &self.starts[pipe.index()];
        let behind = depth.saturating_sub(queued);
        if behind > 0 && behind <= starts.len() {
            let start = starts[starts.len() - behind];
            self.hold(start, Stall::Queue);
        }
        self.spend(cycles);
        self.now
    }

    /// Accounts for the time from `from` that a pipe waits for the scalar unit.
    fn idle_until_issue(&mut self, pipe: Pipe, issued: Moment) {
        let free = self.free[pipe.index()];
        if issued.at <= free.at {
            return;
        }
        let (from, to, why) = self.held;
        let held = to.min(issued.at).saturating_sub(from.max(free.at));
        let stalls = &mut self.stalls[pipe.index()];
        stalls[why.index()] += held;
        stalls[Stall::Issue.index()] += issued.at - free.at - held;
        self.free[pipe.index()] = free.max(issued);
    }

    /// An instruction reaches the head of its pipe.
    pub(crate) fn begin(&mut self, pipe: Pipe, issued: Moment, depth: usize) {
        if pipe != Pipe::S {
            self.idle_until_issue(pipe, issued);
        }
        let starts = &mut self.starts[pipe.index()];
        if starts.len() == depth {
            starts.pop_front();
        }
        starts.push_back(self.free[pipe.index()]);
    }

    /// Runs an instruction.
    pub(crate) fn run(
        &mut self,
        table: Table<'_>,
        instruction: &Instruction,
        shared: &Mutex<Shared>,
    ) {
        let (timing, pipe) = (table.timing, instruction.pipe);
        let index = pipe.index();
        let start = self.free[index];
        let follows = self.last_end[index] == start.at;
        let work = cost::work(table, instruction, follows);
        let share = Share::Pipe(index);
        let mut end = start.after(work.busy.round() as u64, share);
        let mut done = end.after(work.latency.round() as u64, Share::Latency);
        if let Some(transfer) = &work.transfer {
            let mut device = shared.lock().unwrap_or_else(PoisonError::into_inner);
            // The start of a copy runs while the one before it is on its way; that of Fixpipe does not.
            let from = if pipe == Pipe::Fix { end } else { start };
            let booked = device.book(from.at, transfer);
            drop(device);
            let alone = (transfer.bytes() as f64 / transfer.hit_rate).ceil() as u64;
            let own = if booked.hit {
                alone
            } else {
                (transfer.bytes() as f64 / transfer.miss_rate).ceil() as u64
            };
            let taken = booked.end.saturating_sub(from.at);
            let moved = from
                .after(own.min(taken), share)
                .after(taken.saturating_sub(own), Share::Bandwidth);
            self.stalls[index][Stall::Bandwidth.index()] += taken.saturating_sub(own);
            end = end.max(moved).after(work.extra.round() as u64, share);
            let latency = match (transfer.write, booked.hit) {
                (true, _) => timing.store_latency,
                (false, true) => timing.copy_latency_hit,
                (false, false) => timing.copy_latency_miss,
            };
            done = end.after(latency.value as u64, Share::Latency);
        }
        self.busy[index] += end.at - start.at;
        self.last_end[index] = end.at;
        self.free[index] = end;
        self.done[index] = self.done[index].max(done);
        if self.detail == Detail::Spans {
            self.spans.push(Span {
                pipe: index,
                start: start.at,
                end: end.at,
                call: instruction.loc.call(),
                line: instruction.loc.line(),
                touched: instruction.footprints.map(|print| print.map(Touch::from)),
            });
        }
    }

    /// When a flag that `pipe` sets now can be seen.
    pub(crate) fn set(&mut self, pipe: Pipe, latency: f64, share: Share) -> Moment {
        let own = if pipe == Pipe::S {
            self.now
        } else {
            self.free[pipe.index()]
        };
        own.max(self.done[pipe.index()])
            .after(latency as u64, share)
    }

    /// `pipe` waits for a flag of `source`.
    pub(crate) fn wait(&mut self, pipe: Pipe, source: Pipe, until: Moment) {
        if pipe == Pipe::S {
            return self.hold(until, Stall::Flag(source));
        }
        self.delay(pipe, until, Stall::Flag(source));
    }

    /// A barrier of one pipe.
    pub(crate) fn barrier(&mut self, pipe: Pipe) {
        self.delay(pipe, self.done[pipe.index()], Stall::Barrier);
    }

    fn delay(&mut self, pipe: Pipe, until: Moment, why: Stall) {
        let free = &mut self.free[pipe.index()];
        self.stalls[pipe.index()][why.index()] += until.at.saturating_sub(free.at);
        *free = free.max(until);
    }

    /// When everything that was issued has completed; the scalar unit waits for it.
    pub(crate) fn drain(&mut self) -> Moment {
        for pipe in Pipe::ALL {
            let last = self.done[pipe.index()].max(self.free[pipe.index()]);
            self.hold(last, Stall::Flag(pipe));
        }
        self.now
    }
}
