//! A launch: cores on threads with one baton, switching only where they wait for each other.

mod clock;
mod cross;
mod wait_graph;

pub(crate) use clock::Clock;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::container::KernelType;
use crate::core_model::{Abort, Core};
use crate::device;
use crate::dtype::Overflow;
use crate::experiment::{Experiment, Fault, Observed};
use crate::instruction::Loc;
use crate::loader::Entry;
use crate::local::Mem;
use crate::options::Options;
use crate::order::{self, Alias, History, Race, Token};
use crate::report::{Finding, Severity};
use crate::table;
use crate::time::Moment;
use crate::timeline::{CoreUse, Timeline};

/// Stack of a kernel thread; kernels keep tiling structures there.
const STACK_BYTES: usize = 8 << 20;

/// Which half of an AI core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreKind {
    Aic,
    Aiv,
}

/// One core of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreInfo {
    pub(crate) block: usize,
    pub(crate) sub: usize,
    pub(crate) kind: CoreKind,
}

impl CoreInfo {
    pub(crate) fn name(&self) -> String {
        match self.kind {
            CoreKind::Aic => format!("block {} aic", self.block),
            CoreKind::Aiv => format!("block {} aiv {}", self.block, self.sub),
        }
    }
}

/// What a core waits for.
#[derive(Clone, Debug)]
enum Wait {
    /// `pipes` lists the core's own pipes that are blocked meanwhile.
    Flag { flag: u8, loc: Loc, pipes: String },
    Barrier {
        aiv_only: bool,
        generation: u64,
        loc: Loc,
    },
}

#[derive(Clone, Debug)]
enum Status {
    Unstarted,
    Ready,
    Waiting(Wait),
    Done,
}

/// Cross-core counters of one core, per flag.
#[derive(Clone, Debug, Default)]
struct Flags {
    counter: [VecDeque<Token>; 16],
    /// Sets of this core that wait for its partners', per mode.
    pending: [[VecDeque<Token>; 16]; 3],
    last_set: Option<(String, u32)>,
}

struct State {
    running: Option<usize>,
    status: Vec<Status>,
    flags: Vec<Flags>,
    /// Arrivals and generation of the barrier of all vector cores, and of all cores.
    barriers: [(usize, u64); 2],
    /// What those who have arrived bring to the barrier, and what the last one let go.
    barrier_tokens: [[Token; 2]; 2],
    /// Races reported so far, by places.
    races: HashSet<[(usize, i32); 2]>,
    observed: Observed,
    /// Each core's clock when it last gave the baton away, cycles.
    times: Vec<u64>,
    /// When each core ended, and what it did until then.
    uses: Vec<Option<(Moment, CoreUse)>>,
    findings: Vec<Finding>,
    errors: usize,
    /// A core has stopped early: the others stop at their next wait.
    stop: bool,
    threads: Vec<JoinHandle<()>>,
}

/// What the cores of one launch share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) cores: Vec<CoreInfo>,
    pub(crate) kernel_type: KernelType,
    pub(crate) overflow: Overflow,
    pub(crate) sync_base: u64,
    pub(crate) experiment: Experiment,
    /// Accesses to global memory.
    pub(crate) history: Mutex<History>,
    /// What time needs; `None` when it is not modelled.
    pub(crate) clock: Option<Clock>,
    blocks: usize,
    per_block: usize,
    entries: [Option<Entry>; 2],
    args: Vec<u8>,
    state: Mutex<State>,
    wake: Vec<Condvar>,
    finished: Condvar,
}

/// Everything a launch needs.
pub(crate) struct Launch {
    pub(crate) options: Options,
    pub(crate) kernel_type: KernelType,
    pub(crate) overflow: Overflow,
    pub(crate) sync_base: u64,
    pub(crate) experiment: Experiment,
    pub(crate) blocks: usize,
    /// Entry points for the cube core and the vector core.
    pub(crate) entries: [Option<Entry>; 2],
    pub(crate) args: Vec<u8>,
}

fn cores_of(kernel_type: KernelType, blocks: usize) -> (Vec<CoreInfo>, usize) {
    let (aic, aiv) = kernel_type.cores();
    let mut cores = Vec::new();
    for block in 0..blocks {
        if aic {
            cores.push(CoreInfo {
                block,
                sub: 0,
                kind: CoreKind::Aic,
            });
        }
        for sub in 0..aiv {
            cores.push(CoreInfo {
                block,
                sub,
                kind: CoreKind::Aiv,
            });
        }
    }
    (cores, usize::from(aic) + aiv)
}

/// What a launch leaves behind besides memory.
pub(crate) struct Outcome {
    pub(crate) findings: Vec<Finding>,
    pub(crate) observed: Observed,
    pub(crate) timeline: Option<Timeline>,
}

/// Runs a launch to its end and returns what it found.
pub(crate) fn run(launch: Launch) -> Outcome {
    let (cores, per_block) = cores_of(launch.kernel_type, launch.blocks);
    let clock = Clock::of(&launch);
    let state = State {
        running: None,
        status: vec![Status::Unstarted; cores.len()],
        flags: vec![Flags::default(); cores.len()],
        barriers: [(0, 0); 2],
        barrier_tokens: Default::default(),
        races: HashSet::new(),
        observed: Observed::default(),
        times: vec![0; cores.len()],
        uses: vec![None; cores.len()],
        findings: Vec::new(),
        errors: 0,
        stop: false,
        threads: Vec::new(),
    };
    let shared = Arc::new(Shared {
        options: launch.options,
        kernel_type: launch.kernel_type,
        overflow: launch.overflow,
        sync_base: launch.sync_base,
        experiment: launch.experiment,
        history: Mutex::default(),
        clock,
        blocks: launch.blocks,
        per_block,
        entries: launch.entries,
        args: launch.args,
        wake: cores.iter().map(|_| Condvar::new()).collect(),
        cores,
        state: Mutex::new(state),
        finished: Condvar::new(),
    });
    let mut state = shared.lock();
    shared.pass_baton(&mut state, None);
    while !state
        .status
        .iter()
        .all(|status| matches!(status, Status::Done))
    {
        state = shared
            .finished
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    }
    let threads = std::mem::take(&mut state.threads);
    drop(state);
    for thread in threads {
        // Kernel threads catch every unwind themselves.
        let _ = thread.join();
    }
    let mut state = shared.lock();
    if state.errors == 0 {
        let leftovers = shared.leftovers(&state);
        state.findings.extend(leftovers);
    }
    Outcome {
        findings: std::mem::take(&mut state.findings),
        observed: std::mem::take(&mut state.observed),
        timeline: shared.timeline(&mut state),
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_finding(&self, finding: Finding) {
        let mut state = self.lock();
        state.errors += usize::from(finding.severity == Severity::Error);
        state.findings.push(finding);
    }

    /// Reports a race unless the same two places have been reported.
    pub(crate) fn add_race(&self, race: &Race) {
        if !self.lock().races.insert(race.key()) {
            return;
        }
        let base = match race.mem {
            Mem::Gm => device::find(race.bytes.start).map_or(0, |allocation| allocation.base()),
            _ => 0,
        };
        self.add_finding(order::describe(race, &self.cores, base));
    }

    /// The bytes that a fault lays over others.
    pub(crate) fn alias(&self) -> Option<Alias> {
        let faults = self.experiment.faults.iter();
        let (memory, argument, slot, onto) = faults
            .filter_map(|fault| match fault {
                Fault::SharedSlot {
                    memory,
                    argument,
                    slot,
                    onto,
                } => Some((memory, argument, slot, onto)),
                _ => None,
            })
            .next()?;
        let mem = Mem::LOCAL
            .into_iter()
            .chain([Mem::Gm])
            .find(|mem| mem.name() == *memory)?;
        let word = self.args.chunks_exact(8).nth(*argument);
        let base = match (mem, word) {
            (Mem::Gm, Some(word)) => u64::from_le_bytes(word.try_into().ok()?) as usize,
            _ => 0,
        };
        Some(Alias {
            mem,
            slot: base + slot.start..base + slot.end,
            onto: base + onto,
        })
    }

    /// Adds what a core has observed.
    pub(crate) fn observed(&self, observed: Observed) {
        self.lock().observed.merge(observed);
    }

    /// Whether a wait for the flag would pass at once.
    pub(crate) fn flag_is_up(&self, index: usize, flag: u8) -> bool {
        !self.lock().flags[index].counter[usize::from(flag)].is_empty()
    }

    pub(crate) fn too_many_errors(&self) -> bool {
        self.lock().errors >= self.options.max_errors
    }

    /// Whether the kernel type has cross-core flags.
    pub(crate) fn can_synchronise(&self) -> bool {
        !matches!(self.kernel_type, KernelType::AivOnly | KernelType::AicOnly)
    }

    /// Answers the system variables, in the order of the header's `Query`.
    pub(crate) fn query(&self, index: usize, what: i64, seq: u64) -> u64 {
        let core = self.cores[index];
        let subs = match core.kind {
            CoreKind::Aic => 1,
            CoreKind::Aiv => self.kernel_type.cores().1,
        };
        let value = match what {
            0 => self.blocks,
            1 => core.block * subs + core.sub,
            2 => core.sub,
            3 => subs,
            4 => core.block,
            _ => return seq,
        };
        value as u64
    }

    fn counter_max(&self) -> u32 {
        self.options
            .target
            .limits
            .as_ref()
            .expect("split-core targets have limits")
            .cross_core_counter_max
    }

    fn select(&self, keep: impl Fn(&CoreInfo) -> bool) -> Vec<usize> {
        (0..self.cores.len())
            .filter(|&index| keep(&self.cores[index]))
            .collect()
    }

    /// Waits for a flag and takes one count of it; `None` when the launch stops.
    pub(crate) fn wait_cross(
        self: &Arc<Self>,
        index: usize,
        flag: u8,
        loc: Loc,
        pipes: String,
    ) -> Option<Token> {
        let mut state = self.lock();
        state = self.block(state, index, Wait::Flag { flag, loc, pipes });
        if state.stop {
            return None;
        }
        state.flags[index].counter[usize::from(flag)].pop_front()
    }

    /// Waits until all vector cores, or all cores, have arrived; `None` when the launch stops.
    pub(crate) fn wait_all(
        self: &Arc<Self>,
        index: usize,
        aiv_only: bool,
        token: Token,
        loc: Loc,
    ) -> Option<Token> {
        let mut state = self.lock();
        let slot = usize::from(!aiv_only);
        let needed = if aiv_only {
            self.select(|core| core.kind == CoreKind::Aiv).len()
        } else if self.kernel_type.cores().0 {
            self.cores.len()
        } else {
            // Vector cores alone cannot complete a barrier of both kinds.
            usize::MAX
        };
        let generation = state.barriers[slot].1;
        state.barriers[slot].0 += 1;
        state.barrier_tokens[slot][0].join(&token);
        if state.barriers[slot].0 == needed {
            state.barriers[slot] = (0, generation + 1);
            let all = std::mem::take(&mut state.barrier_tokens[slot][0]);
            state.barrier_tokens[slot][1] = all.clone();
            return Some(all);
        }
        state = self.block(
            state,
            index,
            Wait::Barrier {
                aiv_only,
                generation,
                loc,
            },
        );
        (!state.stop).then(|| state.barrier_tokens[slot][1].clone())
    }

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
    fn block<'s>(
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
    fn pass_baton(self: &Arc<Self>, state: &mut State, from: Option<usize>) {
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

    fn runnable(&self, state: &State, from: Option<usize>) -> Option<usize> {
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
    fn start_block(self: &Arc<Self>, state: &mut State) -> bool {
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

    fn physical_blocks(&self) -> usize {
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
    fn run_core(self: Arc<Self>, index: usize) {
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

fn can_run(state: &State, index: usize) -> bool {
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
    }
}
