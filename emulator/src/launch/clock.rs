//! The time of a launch: when its cores start, and what they add up to.

use std::sync::{Arc, Mutex, PoisonError};

use crate::experiment;
use crate::launch::schedule::can_run;
use crate::launch::{Launch, Shared, State};
use crate::time::{self, Detail, Moment, Share};
use crate::timeline::{CoreUse, Timeline};

/// What the cores' clocks share.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) detail: Detail,
    /// Bandwidth and cache.
    pub(crate) device: Mutex<time::Shared>,
    start: Moment,
    clock_mhz: u32,
}

impl Clock {
    /// The clock of a launch that asks for one, on a target that has costs.
    pub(super) fn of(launch: &Launch) -> Option<Clock> {
        let detail = launch.experiment.timeline?;
        let target = &launch.options.target;
        let (chip, timing) = (target.chip.as_ref()?, target.timing.as_ref()?);
        let device = time::Shared::new(chip, timing, launch.experiment.warm);
        let device = match experiment::take_l2() {
            Some(contents) => device.after(contents),
            None => device,
        };
        Some(Clock {
            detail,
            device: Mutex::new(device),
            start: Moment::default().after(timing.launch.value as u64, Share::Launch),
            clock_mhz: chip.clock_mhz,
        })
    }
}

impl Clock {
    /// What the launch left in L2, for the next one of an experiment that keeps it.
    pub(super) fn leave(&self, keeps_l2: bool) {
        if keeps_l2 {
            let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
            experiment::keep_l2(device.take_contents());
        }
    }
}

/// Cycles that a core may run ahead of the one that is last.
const TURN_CYCLES: u64 = 2000;

impl Shared {
    /// The core that can run and is last in time.
    pub(super) fn earliest(&self, state: &State) -> Option<usize> {
        (0..self.cores.len())
            .filter(|&index| can_run(state, index))
            .min_by_key(|&index| state.times[index])
    }

    /// Core `index` has come to `now`: others that are behind run first. Returns when to ask again.
    pub(crate) fn turn(self: &Arc<Self>, index: usize, now: u64) -> u64 {
        let mut state = self.lock();
        state.times[index] = now;
        let last = self
            .earliest(&state)
            .map_or(now, |other| state.times[other]);
        // Blocks that have a core of their own start together.
        let unstarted = self.start_block(&mut state);
        drop(state);
        if unstarted || last + TURN_CYCLES < now {
            self.yield_baton(index);
        }
        now + TURN_CYCLES
    }

    /// When a core starts: a block beyond the cores of the chip waits for the end of an earlier one.
    pub(super) fn start_of(&self, index: usize) -> Moment {
        let Some(clock) = &self.clock else {
            return Moment::default();
        };
        let block = index / self.per_block;
        let Some(wave) = block.checked_sub(self.physical_blocks()) else {
            return clock.start;
        };
        let state = self.lock();
        let mut ends: Vec<Moment> = state
            .uses
            .chunks(self.per_block)
            .filter_map(|uses| {
                let ends = uses.iter().map(|used| used.as_ref().map(|(end, _)| *end));
                ends.reduce(|a, b| Some(a?.max(b?))).flatten()
            })
            .collect();
        ends.sort_by_key(|end| end.at);
        ends.get(wave).copied().unwrap_or(clock.start)
    }

    /// A core has ended.
    pub(crate) fn finished(&self, index: usize, end: Moment, used: CoreUse) {
        self.lock().uses[index] = Some((end, used));
    }

    /// The launch's timeline, once every core has ended.
    pub(super) fn timeline(&self, state: &mut State) -> Option<Timeline> {
        let clock = self.clock.as_ref()?;
        let mut last = clock.start;
        let mut cores = Vec::new();
        for (end, used) in std::mem::take(&mut state.uses).into_iter().flatten() {
            last = last.max(end);
            cores.push(used);
        }
        let device = clock.device.lock().unwrap_or_else(PoisonError::into_inner);
        let traffic = device.traffic;
        Some(Timeline::of(
            clock.clock_mhz,
            clock.start.at,
            last,
            cores,
            traffic,
        ))
    }
}
