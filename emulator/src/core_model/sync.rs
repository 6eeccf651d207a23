//! Flags and barriers of a core: between its pipes, and with other cores.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::abi::{Code, RawRecord};
use crate::core_model::Core;
use crate::experiment::Fault;
use crate::instruction::{Action, FlagId, Loc, Pipe};
use crate::order::{Token, Tracker};
use crate::plan::Checked;
use crate::report::{Refusal, Severity};

impl Core {
    pub(super) fn flag(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let limits = self
            .shared
            .options
            .target
            .limits
            .clone()
            .expect("split-core targets have limits");
        let id = self.other_id(record.p[2], &loc);
        if !(0..i64::from(limits.event_ids)).contains(&id) {
            return Err(Refusal::new(
                "event-id",
                format!(
                    "event id is {id}, a pair of pipes has ids 0 to {}",
                    limits.event_ids - 1
                ),
                "use one of the existing ids",
            ));
        }
        if id >= i64::from(limits.static_event_ids) && !self.uses_tpipe {
            let refusal = Refusal::new(
                "event-id-reserved",
                format!(
                    "event id is {id}, code without a TPipe is asked to stay below {}",
                    limits.static_event_ids
                ),
                "library calls may use the upper ids",
            );
            self.note(Pipe::S, loc, refusal);
        }
        let flag = FlagId {
            source: Pipe::from_raw(record.p[0]).expect("the headers pass pipes"),
            destination: Pipe::from_raw(record.p[1]).expect("the headers pass pipes"),
            id: id as u8,
        };
        if code == Code::SetFlag {
            return Ok(self.submit_sync(flag.source, Action::SetFlag(flag), loc));
        }
        self.submit_sync(flag.destination, Action::WaitFlag(flag), loc);
        if flag.destination == Pipe::S && !self.pipes[Pipe::S.index()].is_empty() {
            self.stuck("the scalar unit waits for a flag that nothing can set any more");
        }
        Ok(0)
    }

    pub(super) fn barrier(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        if let Some(pipe) = Pipe::from_raw(record.p[0]) {
            return Ok(self.submit_sync(pipe, Action::Barrier, loc));
        }
        self.drained("PipeBarrier<PIPE_ALL> waits for a pipe that cannot go on");
        if let Some(order) = &mut self.order {
            order.barrier_all();
        }
        self.time_drain();
        Ok(0)
    }

    /// Lets the pipes run empty, or stops the core at the wait that keeps one from it.
    pub(super) fn drained(&mut self, what: &str) {
        self.advance();
        if !self.pipes.iter().all(VecDeque::is_empty) {
            self.stuck(what);
        }
    }

    /// Reports the blocked pipes at the first wait, and stops the core.
    pub(super) fn stuck(&mut self, what: &str) -> ! {
        self.report_stuck(what);
        self.abort();
    }

    pub(super) fn report_stuck(&mut self, what: &str) {
        let first = self
            .pipes
            .iter()
            .filter_map(VecDeque::front)
            .min_by_key(|head| head.seq);
        let Some(first) = first else {
            return;
        };
        let (pipe, loc) = (first.pipe, first.loc);
        if let Some(refusal) = self.unit_stuck(first) {
            self.record(Severity::Error, pipe, loc, refusal);
            return;
        }
        let refusal = Refusal::new(
            "deadlock",
            format!("{what}: {}", self.blocked_pipes()),
            "every WaitFlag needs a SetFlag of the same event and id before it",
        );
        self.record(Severity::Error, pipe, loc, refusal);
    }

    /// The blocked heads of all pipes, as text; empty when none is blocked.
    pub(super) fn blocked_pipes(&self) -> String {
        let heads: Vec<String> = Pipe::ALL
            .into_iter()
            .filter_map(|pipe| {
                let queue = &self.pipes[pipe.index()];
                let head = queue.front()?;
                let Action::WaitFlag(flag) = head.action else {
                    let refusal = self.unit_stuck(head)?;
                    let loc = head.loc;
                    let place = format!(
                        "pipe {} waits at {}:{}",
                        pipe.name(),
                        loc.file(),
                        loc.line()
                    );
                    return Some(format!("{place}: {}", refusal.message));
                };
                Some(format!(
                    "pipe {} waits at {}:{} for {} of {}_{} with {} instruction(s) behind it",
                    pipe.name(),
                    head.loc.file(),
                    head.loc.line(),
                    flag.id,
                    flag.source.name(),
                    flag.destination.name(),
                    queue.len() - 1
                ))
            })
            .collect();
        heads.join("; ")
    }

    pub(super) fn require_cross(&self, what: &str) -> Checked<()> {
        if self.shared.can_synchronise() {
            return Ok(());
        }
        Err(Refusal::new(
            "kernel-type",
            format!(
                "{what} in a kernel of type {}, which has no cross-core flags",
                self.shared.kernel_type
            ),
            "declare a MIX kernel type, such as KERNEL_TYPE_MIX_AIC_1_2 or KERNEL_TYPE_MIX_AIV_1_0",
        ))
    }

    pub(super) fn cross_flag(&mut self, record: &RawRecord, loc: Loc) -> Checked<u8> {
        let limits = self
            .shared
            .options
            .target
            .limits
            .clone()
            .expect("split-core targets have limits");
        let flag = record.p[2];
        if flag >= i64::from(limits.cross_core_flags) {
            return Err(Refusal::new(
                "cross-core-flag",
                format!(
                    "flag is {flag}, a core has flags 0 to {}",
                    limits.cross_core_flags - 1
                ),
                "use one of the first flags",
            ));
        }
        let library = Code::from_raw(record.op) == Some(Code::MatmulAwait);
        if flag < self.matmul_flags && !library {
            return Err(Refusal::new(
                "cross-core-flag-reserved",
                format!(
                    "flag {flag} belongs to the kernel's Matmul objects, two flags each: 0 to {}",
                    self.matmul_flags - 1
                ),
                format!("use a flag from {} on", self.matmul_flags),
            ));
        }
        if flag >= i64::from(limits.user_cross_core_flags) {
            let refusal = Refusal::new(
                "cross-core-flag-reserved",
                format!(
                    "flag {flag} belongs to SyncAll; kernels use 0 to {}",
                    limits.user_cross_core_flags - 1
                ),
                "use a lower flag",
            );
            self.note(Pipe::S, loc, refusal);
        }
        Ok(flag as u8)
    }

    pub(super) fn cross_set(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        self.require_cross("CrossCoreSetFlag")?;
        let flag = self.cross_flag(record, loc)?;
        let pipe = Pipe::from_raw(record.p[0]).expect("the headers pass pipes");
        let pipe = self.other_pipe(pipe, &loc);
        let action = Action::CrossSet {
            mode: record.p[1] as u8,
            flag,
        };
        Ok(self.submit_sync(pipe, action, loc))
    }

    /// The event id of a set or wait, unless a fault gives another.
    fn other_id(&self, id: i64, loc: &Loc) -> i64 {
        let mut faults = self.shared.experiment.faults.iter();
        let other = faults.find_map(|fault| match fault {
            Fault::OtherId { line, id } if *line == loc.line() => Some(i64::from(*id)),
            _ => None,
        });
        other.unwrap_or(id)
    }

    /// The pipe that a set names, unless a fault names another.
    fn other_pipe(&self, pipe: Pipe, loc: &Loc) -> Pipe {
        let named = self
            .shared
            .experiment
            .faults
            .iter()
            .find_map(|fault| match fault {
                Fault::OtherPipe { line, pipe } if *line == loc.line() => Some(*pipe),
                _ => None,
            });
        Pipe::ALL
            .into_iter()
            .find(|pipe| Some(pipe.name()) == named)
            .unwrap_or(pipe)
    }

    pub(super) fn cross_wait(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        self.require_cross("CrossCoreWaitFlag")?;
        let flag = self.cross_flag(record, loc)?;
        self.seq += 1;
        self.time_spend_flag();
        let shared = Arc::clone(&self.shared);
        if !shared.flag_is_up(self.index, flag) {
            self.advance();
        }
        let Some(token) = shared.wait_cross(self.index, flag, loc, self.blocked_pipes()) else {
            self.abort()
        };
        if shared.experiment.observe {
            self.observed.cross_waits.insert(loc.line());
        }
        self.acquire_all(&token);
        Ok(0)
    }

    /// Whoever gave the token is known to have done what it promises.
    pub(super) fn acquire_all(&mut self, token: &Token) {
        if let (Some(order), Some(clock)) = (&mut self.order, &token.clock) {
            order.acquire_all(clock);
        }
        self.time_hold(token.time);
    }

    pub(super) fn sync_all(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        if record.p[1] == 0 {
            self.require_cross("SyncAll")?;
        }
        self.drained("SyncAll waits for a pipe that cannot go on");
        self.seq += 1;
        let shared = Arc::clone(&self.shared);
        let token = Token {
            clock: self.order.as_mut().map(Tracker::barrier_all),
            time: self.time_sync_all(),
        };
        let Some(token) = shared.wait_all(self.index, record.p[0] != 0, token, loc) else {
            self.abort()
        };
        self.acquire_all(&token);
        Ok(0)
    }
}

pub(super) fn double_set(flag: FlagId, earlier: &Loc) -> Refusal {
    Refusal::new(
        "flag-set-twice",
        format!(
            "flag {} of {}_{} is still set, by {}:{}",
            flag.id,
            flag.source.name(),
            flag.destination.name(),
            earlier.file(),
            earlier.line()
        ),
        "wait for the flag before setting it again, or use another id",
    )
}

pub(super) fn leftover(flag: FlagId) -> Refusal {
    Refusal::new(
        "leftover-flag",
        format!(
            "flag {} of {}_{} is set and never waited for; it would break the next kernel",
            flag.id,
            flag.source.name(),
            flag.destination.name()
        ),
        "add the missing WaitFlag before the kernel ends",
    )
}
