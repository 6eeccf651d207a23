//! How much of the processors' time goes to other processes while something is timed.

use std::time::Instant;

/// Ticks a second, as Linux counts time for programs.
const TICKS: f64 = 100.0;

/// A span of time, from its start on.
#[derive(Debug)]
pub(crate) struct Watch {
    start: Instant,
    ticks: Option<(u64, u64)>,
}

impl Watch {
    /// Starts a span.
    pub(crate) fn start() -> Watch {
        Watch {
            start: Instant::now(),
            ticks: ticks(),
        }
    }

    /// The share of all processors that others took since the start; `None` where the system does not say.
    pub(crate) fn foreign(&self) -> Option<f64> {
        let ((busy_before, own_before), (busy, own)) = (self.ticks?, ticks()?);
        let processors = std::thread::available_parallelism().ok()?.get() as f64;
        let others = (busy - busy_before) as f64 - (own - own_before) as f64;
        Some((others / TICKS / self.start.elapsed().as_secs_f64() / processors).max(0.0))
    }
}

/// Ticks that all processors were busy, and that this process was at work.
fn ticks() -> Option<(u64, u64)> {
    let all = fs_err::read_to_string("/proc/stat").ok()?;
    let line = all.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let busy = fields.get(..3)?.iter().chain(fields.get(5..8)?).sum();
    let own = fs_err::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in brackets, may hold anything.
    let fields: Vec<&str> = own.rsplit_once(") ")?.1.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((busy, field(11)? + field(12)?))
}
