//! Launches that differ from the plain one: a fault put in on purpose, completion in random order, no data.
//!
//! For tests of kernels and of the checks themselves. A fault changes what the model sees of one line of the
//! kernel, which needs no recompilation: a flag without its promise of order is what the kernel would be without
//! this `SetFlag` and the `WaitFlag` that consumes it.

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::time::{Contents, Detail};

/// How the launches of a call of [`run`] differ from plain ones.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Faults, each in one place.
    pub faults: Vec<Fault>,
    /// Seed of a random order of completion, inside what the kernel orders.
    pub seed: Option<u64>,
    /// Whether data moves and is computed; without it every byte that a kernel writes counts as defined.
    pub data: bool,
    /// Whether order is checked, where the options ask for it.
    pub hazards: bool,
    /// Whether the places that order something are collected.
    pub observe: bool,
    /// Whether time is modelled, and in which detail; the result is taken by [`crate::timeline::take`].
    pub timeline: Option<Detail>,
    /// Whether L2 holds the launch's data already, as it does when a launch is measured again and again.
    pub warm: bool,
    /// Whether a timed launch finds in L2 what the one before it left there; only the first one may be warm.
    pub keeps_l2: bool,
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment {
            faults: Vec::new(),
            seed: None,
            data: true,
            hazards: true,
            observe: false,
            timeline: None,
            warm: false,
            keeps_l2: false,
        }
    }
}

/// A fault; lines are those of the kernel's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Flags set at a line (inside a core or between cores) promise no order; with `wait`, only to that line.
    LostFlag {
        /// Line of the set.
        set: u32,
        /// Line of the wait.
        wait: Option<u32>,
    },
    /// The barriers of a line do nothing.
    LostBarrier {
        /// Line of the barrier.
        line: u32,
    },
    /// The sets or waits of a line use this event id.
    OtherId {
        /// Line of the set or wait.
        line: u32,
        /// The id.
        id: u8,
    },
    /// The cross-core sets of a line name another pipe.
    OtherPipe {
        /// Line of the set.
        line: u32,
        /// The pipe named instead, such as `MTE2`.
        pipe: &'static str,
    },
    /// Bytes of a memory lie over other bytes of it, as if a ring had a slot less.
    SharedSlot {
        /// The memory, such as `UB` or `GM`.
        memory: &'static str,
        /// For global memory: which 64-bit word of the kernel's arguments the bytes count from.
        argument: usize,
        /// The bytes.
        slot: std::ops::Range<usize>,
        /// The first byte that they lie over.
        onto: usize,
    },
}

/// Places of a kernel that ordered something in the launches of a call of [`run`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Lines of a `SetFlag` and of the `WaitFlag` that consumed it.
    pub flags: BTreeSet<(u32, u32)>,
    /// Lines of barriers of a pipe.
    pub barriers: BTreeSet<u32>,
    /// Lines of cross-core sets.
    pub cross_sets: BTreeSet<u32>,
    /// Lines of cross-core waits.
    pub cross_waits: BTreeSet<u32>,
}

impl Observed {
    pub(crate) fn merge(&mut self, other: Observed) {
        self.flags.extend(other.flags);
        self.barriers.extend(other.barriers);
        self.cross_sets.extend(other.cross_sets);
        self.cross_waits.extend(other.cross_waits);
    }
}

thread_local! {
    static CURRENT: RefCell<Experiment> = RefCell::new(Experiment::default());
    /// What the last timed launch of an experiment that keeps it left in L2.
    static L2: RefCell<Option<Contents>> = const { RefCell::new(None) };
    static OBSERVED: RefCell<Observed> = RefCell::new(Observed::default());
}

/// Runs `body`; launches that it submits on this thread follow `experiment`.
pub fn run<R>(experiment: Experiment, body: impl FnOnce() -> R) -> (R, Observed) {
    struct Reset(Experiment);
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.with(|current| current.swap(&RefCell::new(std::mem::take(&mut self.0))));
        }
    }
    let before = CURRENT.with(|current| current.replace(experiment));
    let reset = Reset(before);
    OBSERVED.with(RefCell::take);
    L2.with(RefCell::take);
    let result = body();
    drop(reset);
    L2.with(RefCell::take);
    (result, OBSERVED.with(RefCell::take))
}

/// The experiment of this thread.
pub(crate) fn current() -> Experiment {
    CURRENT.with(|current| current.borrow().clone())
}

/// Keeps what a launch of this thread observed.
pub(crate) fn observed(observed: Observed) {
    OBSERVED.with(|all| all.borrow_mut().merge(observed));
}

/// What L2 holds when a launch of this thread begins, where an earlier one of the experiment says.
pub(crate) fn take_l2() -> Option<Contents> {
    L2.with(RefCell::take)
}

/// Keeps what a launch of this thread left in L2.
pub(crate) fn keep_l2(contents: Contents) {
    L2.with(|kept| kept.replace(Some(contents)));
}
