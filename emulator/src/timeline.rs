//! How long a launch would take, by the model: duration, what each pipe did and waited for, the critical path.
//!
//! Every figure is *modelled*: costs come from the target's table, whose numbers carry how they are known.

use std::cell::RefCell;
use std::fmt::Write as _;

use crate::core_model::CORE_PIPES;
use crate::experiment::Experiment;
use crate::instruction::Pipe;
use crate::time::{Moment, SHARE_NAMES, STALLS, Stall, Timer};

pub use crate::time::{Detail, Span, Touch, Traffic};

/// One pipe of one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeUse {
    /// The pipe, such as `V`.
    pub pipe: &'static str,
    /// Cycles at work.
    pub busy: u64,
    /// Cycles that it stood still, by what it waited for: a pipe of its core, another core, issue, bandwidth.
    pub stalls: Vec<(String, u64)>,
}

/// One core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreUse {
    /// Such as `block 0 aic`.
    pub name: String,
    /// When it had finished, cycles since the launch.
    pub end: u64,
    /// Its pipes.
    pub pipes: Vec<PipeUse>,
    spans: Vec<Span>,
}

/// Times of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The chip's clock.
    pub clock_mhz: u32,
    /// Cycles before the first instruction.
    pub launch_cycles: u64,
    /// Cycles from the launch to the end of the last core.
    pub cycles: u64,
    /// Every core.
    pub cores: Vec<CoreUse>,
    /// What the longest chain of causes consists of: share and cycles, the largest first.
    pub critical_path: Vec<(&'static str, u64)>,
    /// What went through L2.
    pub traffic: Traffic,
}

impl Timeline {
    /// Predicted duration in microseconds, launch included.
    pub fn micros(&self) -> f64 {
        self.cycles as f64 / f64::from(self.clock_mhz)
    }

    /// Predicted duration in microseconds from the first instruction on.
    pub fn core_micros(&self) -> f64 {
        (self.cycles - self.launch_cycles) as f64 / f64::from(self.clock_mhz)
    }

    /// A few lines: duration, critical path, busiest pipes.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "modelled: {:.1} us at {} MHz ({} cycles, {} of them launch)\ncritical path:",
            self.micros(),
            self.clock_mhz,
            self.cycles,
            self.launch_cycles
        );
        let total = self.cycles.max(1) as f64;
        let percent = |cycles: u64| 100.0 * cycles as f64 / total;
        for (index, (share, cycles)) in self.critical_path.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(text, "{comma} {share} {:.0} %", percent(*cycles)).expect("strings take text");
        }
        for core in self.cores.iter().take(3) {
            write!(text, "\n{}:", core.name).expect("strings take text");
            for pipe in core.pipes.iter().filter(|pipe| pipe.busy > 0) {
                let waits: Vec<String> = pipe
                    .stalls
                    .iter()
                    .map(|(why, cycles)| format!("{why} {:.0} %", percent(*cycles)))
                    .collect();
                write!(
                    text,
                    "\n  {:4} busy {:3.0} %",
                    pipe.pipe,
                    percent(pipe.busy)
                )
                .expect("strings take text");
                if !waits.is_empty() {
                    write!(text, ", waits for {}", waits.join(", ")).expect("strings take text");
                }
            }
        }
        text
    }

    /// The trace in Chrome's JSON format, which Perfetto opens; empty rows unless spans were kept.
    pub fn chrome_trace(&self) -> String {
        let mut events = Vec::new();
        // Whole nanoseconds, so that a span ends where the next one starts in a viewer too.
        let nanos = |cycles: u64| cycles * 1000 / u64::from(self.clock_mhz);
        let micros = |nanos: u64| nanos as f64 / 1000.0;
        for (process, core) in self.cores.iter().enumerate() {
            events.push(serde_json::json!({
                "ph": "M", "name": "process_name", "pid": process, "tid": 0,
                "args": {"name": format!("{} (emulated)", core.name)}
            }));
            events.push(serde_json::json!({
                "ph": "M", "name": "process_sort_index", "pid": process, "tid": 0,
                "args": {"sort_index": process}
            }));
            for (index, pipe) in core.pipes.iter().enumerate() {
                events.push(serde_json::json!({
                    "ph": "M", "name": "thread_name", "pid": process, "tid": index,
                    "args": {"name": pipe.pipe}
                }));
            }
            for span in &core.spans {
                let (start, end) = (nanos(span.start), nanos(span.end));
                events.push(serde_json::json!({
                    "ph": "X", "name": span.call, "pid": process, "tid": span.pipe,
                    "ts": micros(start), "dur": micros(end - start),
                    "args": {"line": span.line, "cycles": span.end - span.start}
                }));
            }
        }
        serde_json::json!({"displayTimeUnit": "ns", "traceEvents": events}).to_string()
    }

    /// Puts the cores' clocks together.
    pub(crate) fn of(
        clock_mhz: u32,
        launch_cycles: u64,
        last: Moment,
        cores: Vec<CoreUse>,
        traffic: Traffic,
    ) -> Timeline {
        let mut critical_path: Vec<(&'static str, u64)> = SHARE_NAMES
            .into_iter()
            .zip(last.path.map(u64::from))
            .filter(|(_, cycles)| *cycles > 0)
            .collect();
        critical_path.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
        Timeline {
            clock_mhz,
            launch_cycles,
            cycles: last.at,
            cores,
            critical_path,
            traffic,
        }
    }
}

impl CoreUse {
    /// Every instruction with its time, pipe by pipe in order; none unless spans were asked for.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    pub(crate) fn of(name: String, end: u64, timer: Timer) -> CoreUse {
        let pipe = |index: usize| {
            let stalls = (0..STALLS)
                .map(|why| (Stall::name(why), timer.stalls[index][why]))
                .filter(|(_, cycles)| *cycles > 0);
            PipeUse {
                pipe: Pipe::ALL[index].name(),
                busy: timer.busy[index],
                stalls: stalls.collect(),
            }
        };
        CoreUse {
            name,
            end,
            pipes: (0..CORE_PIPES).map(pipe).collect(),
            spans: timer.spans,
        }
    }
}

/// Name of the environment variable with the file that traces are written to.
const TRACE_VARIABLE: &str = "FA_EMU_TRACE";

/// An experiment with a full timeline where the environment asks for a trace.
pub(crate) fn requested(mut experiment: Experiment) -> Experiment {
    if std::env::var_os(TRACE_VARIABLE).is_some() {
        experiment.timeline = Some(Detail::Spans);
    }
    experiment
}

/// Writes a trace and its summary where the environment asks for it; each launch replaces the one before.
fn write_trace(timeline: &Timeline) {
    let Some(path) = std::env::var_os(TRACE_VARIABLE) else {
        return;
    };
    if let Err(error) = fs_err::write(&path, timeline.chrome_trace()) {
        tracing::warn!(target: "fa_emulator::timeline", "{error}");
    }
    tracing::info!(target: "fa_emulator::timeline", "{}", timeline.summary());
}

thread_local! {
    static TIMELINES: RefCell<Vec<Timeline>> = const { RefCell::new(Vec::new()) };
}

/// Takes the timelines of the launches that this thread has submitted since the last take.
pub fn take() -> Vec<Timeline> {
    TIMELINES.with(RefCell::take)
}

/// Keeps the timeline of a launch of this thread.
pub(crate) fn keep(timeline: Timeline) {
    write_trace(&timeline);
    TIMELINES.with(|kept| kept.borrow_mut().push(timeline));
}
