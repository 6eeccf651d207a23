//! Times of emulated launches, by the emulator's model of the chip.

use fa_emulator::experiment::{self, Experiment};
use fa_emulator::timeline::{self, Detail};
use serde::Serialize;

/// How long one launch would take; *modelled*.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelledTime {
    /// Launch included, microseconds.
    pub micros: f64,
    /// From the first instruction on.
    pub core_micros: f64,
    /// Share of the whole time that the first core's pipes were at work, the busiest first.
    pub busy: Vec<(String, f64)>,
}

/// Runs a body whose emulated launches move no data and are timed; returns their times in order. L2 is warm for the
/// first of them, and each further one finds there what the one before it left.
///
/// Results that the launches would write are undefined.
pub fn modelled<T>(body: impl FnOnce() -> T) -> (T, Vec<ModelledTime>) {
    modelled_with(false, body)
}

/// The same; with `data` for kernels that decide by what they have computed, as those with a global barrier do.
pub fn modelled_with<T>(data: bool, body: impl FnOnce() -> T) -> (T, Vec<ModelledTime>) {
    let plan = Experiment {
        data,
        hazards: false,
        warm: true,
        keeps_l2: true,
        timeline: Some(Detail::Totals),
        ..Experiment::default()
    };
    timeline::take();
    let (result, _) = experiment::run(plan, body);
    let times = timeline::take().into_iter().map(|timeline| {
        let cycles = timeline.cycles.max(1) as f64;
        let mut busy: Vec<(String, f64)> = Vec::new();
        let blocks = |name: &str| name.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let first = timeline.cores.first().map(|core| blocks(&core.name));
        let own = timeline
            .cores
            .iter()
            .filter(|core| Some(blocks(&core.name)) == first);
        for core in own.take(2) {
            let kind = core.name.split(' ').nth(2).unwrap_or_default();
            let used = core.pipes.iter().filter(|pipe| pipe.busy > 0);
            busy.extend(
                used.map(|pipe| (format!("{kind} {}", pipe.pipe), pipe.busy as f64 / cycles)),
            );
        }
        busy.sort_by(|a, b| b.1.total_cmp(&a.1));
        ModelledTime {
            micros: timeline.micros(),
            core_micros: timeline.core_micros(),
            busy,
        }
    });
    (result, times.collect())
}
