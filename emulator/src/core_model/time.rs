//! The clock of a core at work: every event that takes time, or waits for some.

use crate::core_model::Core;
use crate::instruction::{Action, FlagId, Instruction, Pipe};
use crate::launch::Clock;
use crate::local::Mem;
use crate::time::{self, Moment, Share, Stall, Table, Timer};

impl Core {
    fn clock(&mut self) -> Option<(&mut Timer, &Clock, Table<'_>)> {
        let timer = self.timer.as_mut()?;
        let clock = self.shared.clock.as_ref()?;
        let target = &self.shared.options.target;
        let table = Table {
            timing: target.timing.as_ref()?,
            limits: target.limits.as_ref()?,
        };
        Some((timer, clock, table))
    }

    /// Lets cores whose clocks are behind go first, so that they meet at shared bandwidth in order of time.
    fn take_turns(&mut self) {
        let now = self.timer.as_ref().map_or(0, Timer::now);
        if now > self.turn_ends {
            let shared = std::sync::Arc::clone(&self.shared);
            self.turn_ends = shared.turn(self.index, now);
        }
    }

    /// The scalar unit issues an instruction; returns when.
    pub(super) fn time_issue(&mut self, pipe: Pipe, action: &Action) -> Moment {
        self.take_turns();
        let queued = self.pipes[pipe.index()].len();
        self.clock()
            .map_or_else(Moment::default, |(timer, _, table)| {
                let cycles = time::issue(table.timing, action);
                timer.issue(
                    pipe,
                    queued,
                    cycles,
                    table.timing.queue_depth.value as usize,
                )
            })
    }

    pub(super) fn time_begin(&mut self, instruction: &Instruction) {
        if let Some((timer, _, table)) = self.clock() {
            let depth = table.timing.queue_depth.value as usize;
            timer.begin(instruction.pipe, instruction.issued, depth);
        }
    }

    pub(super) fn time_run(&mut self, instruction: &Instruction) {
        if let Some((timer, clock, table)) = self.clock() {
            timer.run(table, instruction, &clock.device);
        }
    }

    /// A load or store of the scalar unit.
    pub(super) fn time_scalar(&mut self, mem: Mem) {
        if let Some((timer, _, table)) = self.clock() {
            let cost = if mem == Mem::Gm {
                table.timing.scalar_gm
            } else {
                table.timing.scalar_ub
            };
            timer.spend(cost.value);
        }
    }

    pub(super) fn time_spend_flag(&mut self) {
        if let Some((timer, _, table)) = self.clock() {
            timer.spend(table.timing.flag_issue.value);
        }
    }

    /// When a flag that `pipe` sets can be seen.
    pub(super) fn time_set(&mut self, pipe: Pipe) -> Moment {
        self.clock()
            .map_or_else(Moment::default, |(timer, _, table)| {
                timer.set(pipe, table.timing.flag_latency.value, Share::Flag)
            })
    }

    /// When another core can see a flag that `pipe` sets.
    pub(super) fn time_cross_set(&mut self, pipe: Pipe) -> Moment {
        self.clock()
            .map_or_else(Moment::default, |(timer, _, table)| {
                timer.set(pipe, table.timing.cross_core.value, Share::CrossCore)
            })
    }

    pub(super) fn time_wait(&mut self, flag: FlagId, until: Moment) {
        if let Some((timer, _, _)) = self.clock() {
            timer.wait(flag.destination, flag.source, until);
        }
    }

    /// A unit flag lets go of an instruction.
    pub(super) fn time_unit(&mut self, pipe: Pipe, source: Pipe, until: Moment) {
        if let Some((timer, _, _)) = self.clock() {
            timer.wait(pipe, source, until);
        }
    }

    /// When the unit passes on the blocks of an instruction that has just run.
    pub(super) fn time_unit_set(&mut self, pipe: Pipe) -> Moment {
        self.clock().map_or_else(Moment::default, |(timer, _, _)| {
            timer.set(pipe, 0.0, Share::Flag)
        })
    }

    pub(super) fn time_barrier(&mut self, pipe: Pipe) {
        if let Some((timer, _, _)) = self.clock() {
            timer.barrier(pipe);
        }
    }

    pub(super) fn time_drain(&mut self) {
        if let Some((timer, _, _)) = self.clock() {
            timer.drain();
        }
    }

    /// The scalar unit waits for another core.
    pub(super) fn time_hold(&mut self, until: Moment) {
        if let Some((timer, _, _)) = self.clock() {
            timer.hold(until, Stall::CrossCore);
        }
    }

    /// When a barrier of all cores lets go, as far as this core is concerned.
    pub(super) fn time_sync_all(&mut self) -> Moment {
        self.clock()
            .map_or_else(Moment::default, |(timer, _, table)| {
                let cycles = table.timing.sync_all.value as u64;
                timer.drain().after(cycles, Share::CrossCore)
            })
    }
}
