//! What a launch's spans say: the tiles of a core, the stretch in which they follow each other steadily, how busy pipes
//! are in it, and how busy each core is over the whole launch.

use fa_codegen::budget::{Budget, Buffer};
use fa_emulator::timeline::{CoreUse, Span, Timeline};

/// The buffer whose filling starts a tile on the cube core.
const FIRST_OF_TILE: &str = "k_tile";

/// Pipes of a cube core and of a vector core, in the order of the data flow.
pub(crate) const CUBE_PIPES: [&str; 5] = ["MTE2", "MTE1", "M", "FIX", "S"];
/// As above.
pub(crate) const VECTOR_PIPES: [&str; 4] = ["MTE2", "V", "MTE3", "S"];

/// Tiles shown of the steady state.
const SHOWN_TILES: usize = 2;

/// A stretch of time, cycles since the launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Its first cycle.
    pub(crate) from: u64,
    /// One past its last.
    pub(crate) to: u64,
}

impl Window {
    /// Its cycles.
    pub(crate) fn cycles(&self) -> u64 {
        self.to.saturating_sub(self.from).max(1)
    }

    /// The part of a span inside, as shares of the window.
    pub(crate) fn clip(&self, start: u64, end: u64) -> Option<(f64, f64)> {
        let (start, end) = (start.max(self.from), end.min(self.to));
        let share = |at: u64| (at - self.from) as f64 / self.cycles() as f64;
        (start < end).then(|| (share(start), share(end)))
    }
}

/// The steady state of the first cube core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// Tiles that the core computed in the whole launch.
    pub(crate) tiles: usize,
    /// Cycles from one tile to the next, the median.
    pub(crate) period: u64,
    /// The middle half of the core's tiles, which averages are taken over.
    pub(crate) middle: Window,
    /// A few tiles in the middle, which are drawn.
    pub(crate) shown: Window,
    /// Tiles in that window.
    pub(crate) shown_tiles: usize,
}

/// Finds the steady state; `None` where the core computed too few tiles for one.
pub(crate) fn steady(timeline: &Timeline, budget: &Budget) -> Option<Steady> {
    let key = buffer(budget, "L1", FIRST_OF_TILE)?;
    let starts = fillings(cube_core(timeline)?, "L1", key);
    let tiles = starts.len();
    if tiles < 2 * SHOWN_TILES {
        return None;
    }
    let mut gaps: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let at = |index: usize| starts[index.min(tiles - 1)];
    let middle = Window {
        from: at(tiles / 4),
        to: at(tiles / 4 + tiles / 2),
    };
    let shown_from = quietest(&starts);
    Some(Steady {
        tiles,
        period: gaps[gaps.len() / 2],
        middle,
        shown: Window {
            from: at(shown_from),
            to: at(shown_from + SHOWN_TILES),
        },
        shown_tiles: SHOWN_TILES,
    })
}

/// The place near the middle where the tiles shown are as regular as anywhere: away from the ends of tasks.
fn quietest(starts: &[u64]) -> usize {
    let (low, high) = (
        starts.len() / 4,
        (3 * starts.len() / 4).min(starts.len() - 1 - SHOWN_TILES),
    );
    let mut lengths: Vec<(u64, usize)> = (low..=high.max(low))
        .filter(|&at| at + SHOWN_TILES < starts.len())
        .map(|at| (starts[at + SHOWN_TILES] - starts[at], at))
        .collect();
    lengths.sort_unstable();
    let middle = lengths.get(lengths.len() / 2);
    middle.map_or(0, |(_, at)| *at)
}

/// When a buffer's first bytes were written by another memory, slot by slot.
fn fillings(core: &CoreUse, memory: &str, buffer: &Buffer) -> Vec<u64> {
    let firsts: Vec<usize> = (0..u64::from(buffer.copies))
        .map(|copy| (buffer.offset_bytes + copy * buffer.copy_bytes) as usize)
        .collect();
    core.spans()
        .iter()
        .filter(|span| {
            span.touched()
                .any(|touch| touch.write && touch.memory == memory && firsts.contains(&touch.start))
        })
        .map(|span| span.start)
        .collect()
}

/// A buffer of a budget.
pub(crate) fn buffer<'b>(budget: &'b Budget, memory: &str, name: &str) -> Option<&'b Buffer> {
    let memory = budget
        .memories
        .iter()
        .find(|found| found.memory == memory)?;
    memory.buffers.iter().find(|buffer| buffer.name == name)
}

/// The first cube core of a launch.
pub(crate) fn cube_core(timeline: &Timeline) -> Option<&CoreUse> {
    timeline.cores.iter().find(|core| is_cube(core))
}

/// The vector cores that serve the first cube core.
pub(crate) fn vector_cores(timeline: &Timeline) -> Vec<&CoreUse> {
    let block = |core: &CoreUse| core.name.split(' ').nth(1).map(str::to_owned);
    let first = cube_core(timeline).and_then(block);
    let cores = timeline.cores.iter();
    cores
        .filter(|core| !is_cube(core) && block(core) == first)
        .collect()
}

/// Whether a core is a cube core, by its name.
pub(crate) fn is_cube(core: &CoreUse) -> bool {
    core.name.ends_with("aic")
}

/// Cycles that a pipe worked inside a window.
pub(crate) fn busy_in(core: &CoreUse, pipe: &str, window: Window) -> u64 {
    spans_of(core, pipe)
        .filter_map(|span| {
            let (start, end) = (span.start.max(window.from), span.end.min(window.to));
            (start < end).then(|| end - start)
        })
        .sum()
}

/// The spans of one pipe.
pub(crate) fn spans_of<'c>(core: &'c CoreUse, pipe: &str) -> impl Iterator<Item = &'c Span> {
    core.spans().iter().filter(move |span| span.pipe() == pipe)
}

/// Share of each of `bins` equal parts of a window in which a pipe of a core worked.
pub(crate) fn load(core: &CoreUse, pipe: &str, window: Window, bins: usize) -> Vec<f64> {
    let mut load = vec![0.0; bins];
    for span in spans_of(core, pipe) {
        let Some((start, end)) = window.clip(span.start, span.end) else {
            continue;
        };
        let (start, end) = (start * bins as f64, end * bins as f64);
        let mut bin = start as usize;
        while bin < bins && (bin as f64) < end {
            load[bin] += end.min(bin as f64 + 1.0) - start.max(bin as f64);
            bin += 1;
        }
    }
    load
}

/// How a kind of core used a pipe: shares of the launch from the first instruction on, the mean of all cores.
#[derive(Clone, Debug)]
pub(crate) struct PipeShare {
    /// The pipe.
    pub(crate) pipe: &'static str,
    /// At work over the launch.
    pub(crate) busy: f64,
    /// At work in the steady state of the first block; not known of the scalar unit, whose work has no spans.
    pub(crate) steady: Option<f64>,
    /// What it waited for, the longest first.
    pub(crate) stalls: Vec<(String, f64)>,
}

/// The pipes of all cube cores or of all vector cores.
pub(crate) fn shares(timeline: &Timeline, cube: bool, steady: Option<&Steady>) -> Vec<PipeShare> {
    let cores: Vec<&CoreUse> = timeline
        .cores
        .iter()
        .filter(|core| is_cube(core) == cube)
        .collect();
    let total =
        ((timeline.cycles - timeline.launch_cycles).max(1) * cores.len().max(1) as u64) as f64;
    let pipes: &[&'static str] = if cube { &CUBE_PIPES } else { &VECTOR_PIPES };
    let near: Vec<&CoreUse> = if cube {
        cube_core(timeline).into_iter().collect()
    } else {
        vector_cores(timeline)
    };
    pipes
        .iter()
        .map(|&pipe| {
            let uses: Vec<_> = cores
                .iter()
                .flat_map(|core| core.pipes.iter().filter(|used| used.pipe == pipe))
                .collect();
            let busy = uses.iter().map(|used| used.busy).sum::<u64>() as f64 / total;
            let mut stalls: Vec<(String, f64)> = Vec::new();
            for (why, cycles) in uses.iter().flat_map(|used| &used.stalls) {
                let share = *cycles as f64 / total;
                match stalls.iter_mut().find(|(name, _)| name == why) {
                    Some((_, sum)) => *sum += share,
                    None => stalls.push((why.clone(), share)),
                }
            }
            stalls.sort_by(|a, b| b.1.total_cmp(&a.1));
            let in_steady = |steady: &Steady| {
                let worked: u64 = near
                    .iter()
                    .map(|core| busy_in(core, pipe, steady.middle))
                    .sum();
                worked as f64 / (steady.middle.cycles() * near.len().max(1) as u64) as f64
            };
            PipeShare {
                pipe,
                busy,
                steady: steady.filter(|_| pipe != "S").map(in_steady),
                stalls,
            }
        })
        .collect()
}

/// What a pipe does, for readers who do not know its name.
pub(crate) fn pipe_role(pipe: &str, cube: bool) -> &'static str {
    match (pipe, cube) {
        ("MTE2", true) => "global memory to L1",
        ("MTE1", true) => "L1 to L0A, L0B",
        ("M", true) => "matrix products",
        ("FIX", true) => "L0C to global memory",
        ("MTE2", false) => "global memory to UB",
        ("V", false) => "softmax",
        ("MTE3", false) => "UB to global memory",
        _ => "issue, addresses",
    }
}
