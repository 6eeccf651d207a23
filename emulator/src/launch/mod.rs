//! A launch: its cores, what they share, and what it leaves behind.

mod clock;
mod cross;
mod letters;
mod schedule;
mod wait_graph;
mod words;

pub(crate) use clock::Clock;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::container::KernelType;
use crate::device;
use crate::dtype::Overflow;
use crate::experiment::{Experiment, Fault, Observed};
use crate::instruction::Loc;
use crate::launch::letters::Letter;
use crate::launch::words::{Turn, Until};
use crate::loader::Entry;
use crate::local::Mem;
use crate::options::Options;
use crate::order::{self, Alias, Caches, History, Race, Stale, Token};
use crate::report::{Finding, Severity};
use crate::time::Moment;
use crate::timeline::{CoreUse, Timeline};

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
    /// A word of global memory.
    Word {
        address: usize,
        until: Until,
        loc: Loc,
    },
    /// A message of the vector cores' Matmul objects, or of one of them.
    Letter { from: Option<usize>, loc: Loc },
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
    /// Messages that a cube core has not taken.
    letters: Vec<VecDeque<Letter>>,
    /// Arrivals and generation of the barrier of all vector cores, and of all cores.
    barriers: [(usize, u64); 2],
    /// What those who have arrived bring to the barrier, and what the last one let go.
    barrier_tokens: [[Token; 2]; 2],
    /// Words of global memory that are up: what their setters had done, and where.
    words: BTreeMap<usize, (Token, Loc)>,
    /// Turns in block order, by the address of their workspace.
    turns: BTreeMap<usize, Turn>,
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
    caches: Mutex<Caches>,
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
    let chip = launch.options.target.ascend();
    let line_bytes = chip.map_or(0, |chip| chip.chip.scalar_line_bytes as usize);
    let state = State {
        running: None,
        status: vec![Status::Unstarted; cores.len()],
        flags: vec![Flags::default(); cores.len()],
        letters: vec![VecDeque::new(); cores.len()],
        barriers: [(0, 0); 2],
        barrier_tokens: Default::default(),
        words: BTreeMap::new(),
        turns: BTreeMap::new(),
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
        caches: Mutex::new(Caches::new(line_bytes)),
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
    if let Some(clock) = &shared.clock {
        clock.leave(shared.experiment.keeps_l2);
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

    /// Reports a stale access unless the same two places have been reported.
    pub(crate) fn add_stale(&self, stale: &Stale) {
        if !self.lock().races.insert(stale.key()) {
            return;
        }
        let base = device::find(stale.bytes.start).map_or(0, |allocation| allocation.base());
        self.add_finding(order::describe_stale(stale, &self.cores, base));
    }

    /// The data caches of the scalar units.
    pub(crate) fn caches(&self) -> MutexGuard<'_, Caches> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
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
            5 => return seq,
            13 => {
                let limits = self.options.target.limits.as_ref();
                limits.map_or(0, |limits| limits.mmad_overlap_fractals as usize)
            }
            12 => {
                let chip = self.options.target.chip.as_ref();
                chip.map_or(0, |chip| {
                    (chip.cube_cores * chip.vector_cores_per_cube_core) as usize
                })
            }
            _ => {
                let memory = self.options.target.memory.as_ref();
                return memory.map_or(0, |memory| {
                    let of_header = [
                        &memory.ub,
                        &memory.l1,
                        &memory.l0a,
                        &memory.l0b,
                        &memory.l0c,
                        &memory.bt,
                    ];
                    let asked = usize::try_from(what - 6).unwrap_or(0);
                    of_header.get(asked).map_or(0, |facts| facts.usable_bytes)
                });
            }
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
}
