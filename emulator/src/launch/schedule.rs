//! Who runs: cores on threads with one baton, blocks that start as cores of the chip come free.

use std::sync::{Arc, MutexGuard, PoisonError};

use crate::core_model::{Abort, Core};
use crate::launch::{CoreKind, Shared, State, Status, Wait, letters, words};
use crate::report::{Finding, Severity};
use crate::table;

/// Stack of a kernel thread; kernels keep tiling structures there.
const STACK_BYTES: usize = 8 << 20;

impl Shared {
    /// Lets another core run, if one can.
    pub(crate) fn yield_baton(self: &Arc<Self>, index: usize) {
        let mut state = self.lock();
        state.status[index] = Status::Ready;
        self.pass_baton(&mut state, Some(index));
        while state.running != Some(index) {
            state = self.wake[index]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the baton away until the wait is over or the launch stops.
    pub(super) fn block<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, State>,
        index: usize,
        wait: Wait,
    ) -> MutexGuard<'s, State> {
        if satisfied(&state, index, &wait) || state.stop {
            return state;
        }
        state.status[index] = Status::Waiting(wait);
        self.pass_baton(&mut state, Some(index));
        while state.running != Some(index) {
            state = self.wake[index]
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.status[index] = Status::Ready;
        state
    }

    /// Picks the next core that can run, in round-robin order from `from`.
    pub(super) fn pass_baton(self: &Arc<Self>, state: &mut State, from: Option<usize>) {
        loop {
            if let Some(next) = self.runnable(state, from) {
                state.running = Some(next);
                self.wake[next].notify_one();
                return;
            }
            if self.start_block(state) {
                continue;
            }
            if state
                .status
                .iter()
                .all(|status| matches!(status, Status::Done | Status::Unstarted))
            {
                for status in &mut state.status {
                    *status = Status::Done;
                }
                state.running = None;
                self.finished.notify_all();
                return;
            }
            self.deadlock(state);
            state.stop = true;
        }
    }

    pub(super) fn runnable(&self, state: &State, from: Option<usize>) -> Option<usize> {
        if self.clock.is_some() {
            return self.earliest(state);
        }
        let count = self.cores.len();
        let first = from.map_or(0, |index| index + 1);
        (0..count)
            .map(|step| (first + step) % count)
            .find(|&index| can_run(state, index))
    }

    /// Starts the cores of the next block, if the chip has room for it.
    pub(super) fn start_block(self: &Arc<Self>, state: &mut State) -> bool {
        if state.stop {
            return false;
        }
        let Some(first) = state
            .status
            .iter()
            .position(|status| matches!(status, Status::Unstarted))
        else {
            return false;
        };
        let resident = state
            .status
            .chunks(self.per_block)
            .filter(|block| {
                block
                    .iter()
                    .any(|status| matches!(status, Status::Ready | Status::Waiting(_)))
            })
            .count();
        if resident >= self.physical_blocks() {
            return false;
        }
        for index in first..first + self.per_block {
            state.status[index] = Status::Ready;
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new()
                .name(format!("emulated {}", self.cores[index].name()))
                .stack_size(STACK_BYTES)
                .spawn(move || shared.run_core(index))
                .expect("the host can start a thread per core");
            state.threads.push(thread);
        }
        true
    }

    pub(super) fn physical_blocks(&self) -> usize {
        let chip = self
            .options
            .target
            .chip
            .as_ref()
            .expect("split-core targets have a chip");
        let cubes = chip.cube_cores as usize;
        let (aic, _) = self.kernel_type.cores();
        if aic {
            cubes
        } else {
            cubes * chip.vector_cores_per_cube_core as usize
        }
    }

    /// Body of a core's thread.
    pub(super) fn run_core(self: Arc<Self>, index: usize) {
        {
            let mut state = self.lock();
            while state.running != Some(index) {
                state = self.wake[index]
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        if !self.lock().stop {
            let start = self.start_of(index);
            self.lock().times[index] = start.at;
            let mut core = Core::new(Arc::clone(&self), index, start);
            let entry = self.entries[usize::from(self.cores[index].kind == CoreKind::Aiv)];
            let entry = entry.expect("a kernel has an entry for each kind of core it uses");
            let args = self.args.as_ptr();
            let run = || {
                // SAFETY: the library is loaded, and the block has the size that the kernel's parameters take.
                unsafe { (entry.call)(args) }
            };
            let outcome = table::with_core(&mut core, || {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
            });
            match outcome {
                Ok(()) => core.finish(),
                Err(payload) => self.stopped(index, &*payload),
            }
        }
        let mut state = self.lock();
        state.status[index] = Status::Done;
        self.pass_baton(&mut state, Some(index));
    }

    fn stopped(&self, index: usize, payload: &(dyn std::any::Any + Send)) {
        if !payload.is::<Abort>() {
            let reason = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| {
                    payload
                        .downcast_ref::<&str>()
                        .map(|text| (*text).to_owned())
                })
                .unwrap_or_else(|| "no reason given".to_owned());
            self.add_finding(Finding {
                kind: "internal",
                severity: Severity::Error,
                core: self.cores[index].name(),
                pipe: "",
                message: format!("the emulator failed: {reason}"),
                help: "report this as a defect of the emulator".to_owned(),
                file: String::new(),
                line: 0,
                other: None,
            });
        }
        self.lock().stop = true;
    }
}

/// Whether a core could go on.
pub(super) fn can_run(state: &State, index: usize) -> bool {
    match &state.status[index] {
        Status::Ready => true,
        Status::Waiting(wait) => state.stop || satisfied(state, index, wait),
        Status::Unstarted | Status::Done => false,
    }
}

fn satisfied(state: &State, index: usize, wait: &Wait) -> bool {
    match wait {
        Wait::Flag { flag, .. } => !state.flags[index].counter[usize::from(*flag)].is_empty(),
        Wait::Barrier {
            aiv_only,
            generation,
            ..
        } => state.barriers[usize::from(!aiv_only)].1 != *generation,
        Wait::Word { address, until, .. } => words::satisfied(state, *address, *until),
        Wait::Letter { from, .. } => letters::next(state, index, *from).is_some(),
    }
}
