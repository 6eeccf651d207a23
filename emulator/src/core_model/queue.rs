//! The queues of a core's pipes: when an instruction runs, and what running it means.

use crate::core_model::Core;
use crate::core_model::sync::double_set;
use crate::core_model::unit::unit_flag;
use crate::device;
use crate::exec;
use crate::experiment::Fault;
use crate::instruction::{Action, FlagId, Instruction, Loc, Pipe};
use crate::local::Mem;
use crate::order::{Stale, Token};
use crate::time::Moment;

/// A set flag: by whom, and what it promises.
#[derive(Clone, Debug)]
pub(super) struct Raised {
    pub(super) loc: Loc,
    pub(super) token: Token,
}

impl Core {
    /// Queues an instruction that touches no memory.
    pub(super) fn submit_sync(&mut self, pipe: Pipe, action: Action, loc: Loc) -> u64 {
        let instruction = self.record_of(pipe, action, [None; 4], loc);
        self.submit(instruction)
    }

    /// Queues an instruction and lets the pipes advance; returns its value if it ran at once.
    pub(super) fn submit(&mut self, instruction: Instruction) -> u64 {
        let pipe = instruction.pipe;
        if self.random.is_some() {
            return self.submit_random(instruction);
        }
        if self.pipes[pipe.index()].is_empty() && self.ready(&instruction) {
            let value = self.run(&instruction);
            if matches!(instruction.action, Action::SetFlag(_))
                || unit_flag(&instruction.action).is_some()
            {
                self.advance();
            }
            return value;
        }
        self.pipes[pipe.index()].push_back(instruction);
        self.advance();
        0
    }

    fn ready(&self, instruction: &Instruction) -> bool {
        match instruction.action {
            Action::WaitFlag(flag) => self.token(flag).is_some(),
            _ => self.unit_ready(instruction),
        }
    }

    /// Runs what can run: in issue order, or in random order where the launch asks for it.
    pub(super) fn advance(&mut self) {
        if self.random.is_some() {
            while self.run_any() {}
            return;
        }
        while let Some(pipe) = self.next_pipe() {
            let instruction = self.pipes[pipe.index()]
                .pop_front()
                .expect("the head is ready");
            self.run(&instruction);
        }
    }

    fn next_pipe(&self) -> Option<Pipe> {
        Pipe::ALL
            .into_iter()
            .filter_map(|pipe| Some((pipe, self.pipes[pipe.index()].front()?)))
            .filter(|(_, head)| self.ready(head))
            .min_by_key(|(_, head)| head.seq)
            .map(|(pipe, _)| pipe)
    }

    fn submit_random(&mut self, instruction: Instruction) -> u64 {
        const YIELD_ONE_IN: u64 = 16;
        let pipe = instruction.pipe;
        if returns_value(&instruction.action) {
            self.advance();
            return self.run(&instruction);
        }
        self.pipes[pipe.index()].push_back(instruction);
        while self.draw(2) == 1 && self.run_any() {}
        if pipe == Pipe::S {
            self.advance();
        }
        if self.draw(YIELD_ONE_IN) == 0 {
            let shared = std::sync::Arc::clone(&self.shared);
            shared.yield_baton(self.index);
        }
        0
    }

    /// The compiler, where it is trusted, has the scalar unit and the vector unit wait for each other.
    pub(super) fn await_vector(&mut self) {
        if self.random.is_some() && self.shared.options.auto_sync {
            self.advance();
        }
    }

    /// A random number below `limit`.
    fn draw(&mut self, limit: u64) -> u64 {
        let state = self.random.as_mut().expect("only random launches draw");
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 20) % limit
    }

    /// Completes one instruction that may complete now; false when none may.
    fn run_any(&mut self) -> bool {
        let candidates: Vec<(Pipe, usize)> = Pipe::ALL
            .into_iter()
            .flat_map(|pipe| (0..self.window(pipe)).map(move |index| (pipe, index)))
            .collect();
        if candidates.is_empty() {
            return false;
        }
        let (pipe, index) = candidates[self.draw(candidates.len() as u64) as usize];
        let instruction = self.pipes[pipe.index()]
            .remove(index)
            .expect("candidates are in the queue");
        self.run(&instruction);
        true
    }

    /// How many instructions at the head of a pipe may complete in any order.
    fn window(&self, pipe: Pipe) -> usize {
        let queue = &self.pipes[pipe.index()];
        let Some(head) = queue.front() else { return 0 };
        if holds_order(head) {
            return usize::from(self.ready(head));
        }
        let ordered = pipe == Pipe::V && self.shared.options.auto_sync;
        if ordered || matches!(pipe, Pipe::S | Pipe::M | Pipe::Mte1) {
            return 1;
        }
        let free = queue.iter().position(holds_order);
        free.unwrap_or(queue.len())
    }

    pub(super) fn run(&mut self, instruction: &Instruction) -> u64 {
        let (pipe, loc) = (instruction.pipe, instruction.loc);
        if let (Some(order), Some(stamp)) = (&mut self.order, &instruction.stamp) {
            order.begin(pipe, stamp);
        }
        self.time_begin(instruction);
        match &instruction.action {
            Action::SetFlag(flag) => self.set_flag(*flag, loc),
            Action::WaitFlag(flag) => self.take_flag(*flag, loc),
            Action::Barrier => self.run_barrier(pipe, loc),
            Action::CrossSet { mode, flag } => {
                let mut token = self.release(pipe, loc);
                token.time = self.time_cross_set(pipe);
                if self.shared.experiment.observe {
                    self.observed.cross_sets.insert(loc.line());
                }
                let outcome = self.shared.cross_set(self.index, *mode, *flag, loc, token);
                if let Err(refusal) = outcome {
                    self.refuse(pipe, loc, refusal);
                }
            }
            Action::Post(bytes) => {
                let mut token = self.release(pipe, loc);
                token.time = self.time_cross_set(pipe);
                self.shared.post(self.index, bytes.clone(), token);
            }
            Action::Answer { sub, flag } => {
                let mut token = self.release(pipe, loc);
                token.time = self.time_cross_set(pipe);
                let outcome = self.shared.answer(self.index, *sub, *flag, loc, token);
                if let Err(refusal) = outcome {
                    self.refuse(pipe, loc, refusal);
                }
            }
            action => {
                self.unit_begin(instruction);
                self.check_order(instruction);
                self.time_run(instruction);
                self.unit_end(instruction);
                if !self.shared.experiment.data {
                    self.define(instruction);
                    return 0;
                }
                match exec::execute(&mut self.machine, action, loc) {
                    Ok(value) => return value,
                    Err(refusal) => self.refuse(pipe, loc, refusal),
                }
            }
        }
        0
    }

    fn check_order(&mut self, instruction: &Instruction) {
        if let Some(order) = &mut self.order {
            let races = order.access(instruction, &self.shared.history);
            let mut caches = self.shared.caches();
            let loc = instruction.loc;
            let stale: Vec<Stale> = order
                .touched_global()
                .filter_map(|(range, write)| caches.pipe(self.index, range, write, loc))
                .collect();
            drop(caches);
            self.report_stale(stale);
            if !races.is_empty() {
                self.report_races(races);
            }
        }
    }

    /// Without data, what would be written to global memory counts as written.
    fn define(&mut self, instruction: &Instruction) {
        for print in instruction.footprints.iter().flatten() {
            if print.write
                && print.mem == Mem::Gm
                && let Some(allocation) = device::find(print.start)
            {
                allocation.mark_defined(print.start - allocation.base(), print.end - print.start);
            }
        }
    }

    /// What a flag that `pipe` sets promises, unless a fault takes the promise away.
    pub(super) fn release(&self, pipe: Pipe, loc: Loc) -> Token {
        let lost = self.fault_at(&loc, |fault, line| {
            *fault
                == Fault::LostFlag {
                    set: line,
                    wait: None,
                }
        });
        Token {
            clock: self
                .order
                .as_ref()
                .filter(|_| !lost)
                .map(|order| order.release(pipe)),
            time: Moment::default(),
        }
    }

    fn set_flag(&mut self, flag: FlagId, loc: Loc) {
        let mut token = self.release(flag.source, loc);
        token.time = self.time_set(flag.source);
        let raised = Raised { loc, token };
        if let Some(earlier) = self.token_mut(flag).replace(raised) {
            let refusal = double_set(flag, &earlier.loc);
            self.refuse(flag.source, loc, refusal);
        }
    }

    fn take_flag(&mut self, flag: FlagId, loc: Loc) {
        let Some(raised) = self.token_mut(flag).take() else {
            return;
        };
        self.time_wait(flag, raised.token.time);
        let set = raised.loc.line();
        if self.shared.experiment.observe {
            self.observed.flags.insert((set, loc.line()));
        }
        let lost = self.fault_at(&loc, |fault, line| {
            *fault
                == Fault::LostFlag {
                    set,
                    wait: Some(line),
                }
        });
        if let (Some(order), Some(clock), false) = (&mut self.order, &raised.token.clock, lost) {
            order.acquire(flag.destination, clock);
        }
    }

    fn run_barrier(&mut self, pipe: Pipe, loc: Loc) {
        if self.shared.experiment.observe {
            self.observed.barriers.insert(loc.line());
        }
        self.time_barrier(pipe);
        let lost = self.fault_at(&loc, |fault, line| *fault == Fault::LostBarrier { line });
        if let (Some(order), false) = (&mut self.order, lost) {
            order.barrier(pipe);
        }
    }

    pub(super) fn token(&self, flag: FlagId) -> &Option<Raised> {
        &self.flags[flag.source.index()][flag.destination.index()][usize::from(flag.id)]
    }

    fn token_mut(&mut self, flag: FlagId) -> &mut Option<Raised> {
        &mut self.flags[flag.source.index()][flag.destination.index()][usize::from(flag.id)]
    }
}

/// Flags and barriers keep their place in a pipe, and so do instructions that leave something in a register.
fn holds_order(instruction: &Instruction) -> bool {
    match &instruction.action {
        Action::SetFlag(_)
        | Action::WaitFlag(_)
        | Action::Barrier
        | Action::CrossSet { .. }
        | Action::Post(_)
        | Action::Answer { .. }
        | Action::Reduce(_)
        | Action::ReduceTensor(_)
        | Action::Select(_)
        | Action::Merge(_) => true,
        Action::Compare(plan) => plan.dst.is_none(),
        action => unit_flag(action).is_some(),
    }
}

/// Whether the scalar unit gets a number back.
fn returns_value(action: &Action) -> bool {
    matches!(action, Action::GatherMask(_))
}
