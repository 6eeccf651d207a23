//! The pipeline as pictures: some tiles of the steady state, and the whole launch.

use fa_codegen::Plan;
use fa_emulator::timeline::{CoreUse, Timeline};

use super::page::{Figure, Key, Lane, LaneGroup, Tick, WIDTH};
use super::shapes::{LANE, Outline, Scale};
use super::sides::{Side, Sides};
use super::text;
use super::trace::{self, Steady, Window};

/// How figures of the emulator are labelled.
pub(crate) const EMULATED: &str = "modelled, emulated";

/// Parts of a launch's duration that are told apart.
const BINS: usize = 120;
/// Steps of a load, the last one full.
const LEVELS: [&str; 4] = ["load1", "load2", "load3", "load4"];
/// Shapes nearer than this share of the picture become one.
const NEAR: f64 = 0.0012;
/// Lanes of the pipes of one block in a window: name, what it does, share at work, and stretches by side.
pub(crate) struct PipeLane {
    /// Name of the core.
    pub(crate) core: String,
    /// The pipe.
    pub(crate) pipe: &'static str,
    /// Whether it is one of the cube core's.
    pub(crate) cube: bool,
    /// Share of the window at work.
    pub(crate) busy: f64,
    /// Side and stretch, as shares of the window.
    pub(crate) stretches: Vec<(Side, f64, f64)>,
}

/// The pipes of the first block in a window.
pub(crate) fn lanes(plan: &Plan, timeline: &Timeline, window: Window) -> Vec<PipeLane> {
    let sides = Sides::of(plan, timeline);
    let cube = trace::cube_core(timeline)
        .into_iter()
        .map(|core| (core, true));
    let vector = trace::vector_cores(timeline)
        .into_iter()
        .take(1)
        .map(|core| (core, false));
    let mut found = Vec::new();
    for (core, cube) in cube.chain(vector) {
        let of_spans = sides.classify(core);
        let pipes: &[&'static str] = if cube {
            &trace::CUBE_PIPES
        } else {
            &trace::VECTOR_PIPES
        };
        for &pipe in pipes.iter().filter(|pipe| **pipe != "S") {
            let stretches: Vec<(Side, f64, f64)> = core
                .spans()
                .iter()
                .zip(&of_spans)
                .filter(|(span, _)| span.pipe() == pipe)
                .filter_map(|(span, side)| {
                    let (start, end) = window.clip(span.start, span.end)?;
                    Some((*side, start, end))
                })
                .collect();
            found.push(PipeLane {
                core: core.name.clone(),
                pipe,
                cube,
                busy: trace::busy_in(core, pipe, window) as f64 / window.cycles() as f64,
                stretches: joined(stretches),
            });
        }
    }
    found
}

/// Stretches of one side that nearly touch become one.
fn joined(stretches: Vec<(Side, f64, f64)>) -> Vec<(Side, f64, f64)> {
    let mut found: Vec<(Side, f64, f64)> = Vec::new();
    for (side, start, end) in stretches {
        match found.last_mut() {
            Some((last, _, until)) if *last == side && start - *until < NEAR => *until = end,
            _ => found.push((side, start, end)),
        }
    }
    found
}

/// Some tiles of the steady state, pipe by pipe.
pub(crate) fn steady_figure(id: &str, plan: &Plan, timeline: &Timeline, steady: &Steady) -> Figure {
    let window = steady.shown;
    let lanes = lanes(plan, timeline, window);
    let scale = Scale::Linear(0.0, window.cycles() as f64);
    let axis = || scale.ticks(&scale.round(4), |value| text::grouped(value as i64));
    let group = |cube: bool| {
        let own: Vec<&PipeLane> = lanes.iter().filter(|lane| lane.cube == cube).collect();
        LaneGroup {
            title: own
                .first()
                .map_or(String::new(), |lane| core_name(&lane.core)),
            note: if cube {
                "cube core"
            } else {
                "one of its vector cores"
            }
            .to_owned(),
            class: "pipes",
            lanes: own.into_iter().map(lane_of).collect(),
            axis: if cube { Vec::new() } else { axis() },
            axis_title: if cube {
                String::new()
            } else {
                "cycles since the first tile shown".to_owned()
            },
        }
    };
    let busiest = lanes.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
    let (tiles, period) = (steady.shown_tiles as u64, steady.period);
    let micros = period as f64 / f64::from(timeline.clock_mhz);
    Figure {
        id: format!("{id}-steady"),
        title: "Pipeline, steady state".to_owned(),
        origin: EMULATED.to_owned(),
        caption: format!(
            "{} out of {} that this core computes. A tile takes {} cycles ({}), from the load of its keys to that of the \
             next. Above the line: Q, K and scores on their way to probabilities. Below: P, V and the output.",
            text::count(tiles, "tile", "tiles"),
            text::grouped(steady.tiles as i64),
            text::grouped(period as i64),
            text::micros(micros)
        ),
        alternative: busiest.map_or(String::new(), |lane| {
            format!(
                "The busiest pipe is {} at {} of the time.",
                lane.pipe,
                text::percent(lane.busy)
            )
        }),
        legend: vec![
            Key::new("scores", "Q, K, S"),
            Key::new("output", "P, V, O"),
            Key::new("other", "both or neither"),
        ],
        lanes: vec![group(true), group(false)],
        ..Figure::default()
    }
}

fn core_name(name: &str) -> String {
    name.replace(" aic", ", AIC").replace(" aiv", ", AIV")
}

fn lane_of(lane: &PipeLane) -> Lane {
    let mut outline = Outline::default();
    for (side, start, end) in &lane.stretches {
        let (y, h) = match side {
            Side::Scores => (0.0, LANE / 2.0),
            Side::Output => (LANE / 2.0, LANE / 2.0),
            Side::Other => (LANE / 3.0, LANE / 3.0),
        };
        outline.rect(side.class(), (start * WIDTH, y), ((end - start) * WIDTH, h));
    }
    Lane {
        label: lane.pipe.to_owned(),
        detail: trace::pipe_role(lane.pipe, lane.cube).to_owned(),
        value: text::percent(lane.busy),
        alternative: format!(
            "{} at work {} of this time",
            lane.pipe,
            text::percent(lane.busy)
        ),
        shapes: outline.shapes(),
    }
}

/// The whole launch: every core, and every pipe of the first block.
pub(crate) fn launch_figure(id: &str, timeline: &Timeline) -> Figure {
    let window = Window {
        from: 0,
        to: timeline.cycles,
    };
    let clock = f64::from(timeline.clock_mhz);
    let scale = Scale::Linear(0.0, timeline.cycles as f64 / clock);
    let axis = || scale.ticks(&scale.round(4), text::digits);
    let group = |title: &str, note: &str, class, lanes, axis: Vec<Tick>| LaneGroup {
        title: title.to_owned(),
        note: note.to_owned(),
        class,
        lanes,
        axis_title: if axis.is_empty() {
            String::new()
        } else {
            "µs since the launch".to_owned()
        },
        axis,
    };
    let (cubes, vectors): (Vec<&CoreUse>, Vec<&CoreUse>) =
        timeline.cores.iter().partition(|core| trace::is_cube(core));
    let first = trace::cube_core(timeline).map(|core| (core, true));
    let served = trace::vector_cores(timeline)
        .into_iter()
        .next()
        .map(|core| (core, false));
    let mut pipes = Vec::new();
    for (core, cube) in first.into_iter().chain(served) {
        let names: &[&'static str] = if cube {
            &trace::CUBE_PIPES
        } else {
            &trace::VECTOR_PIPES
        };
        for &pipe in names.iter().filter(|pipe| **pipe != "S") {
            let kind = if cube { "AIC" } else { "AIV" };
            let load = trace::load(core, pipe, window, BINS);
            pipes.push(load_lane(&format!("{kind} {pipe}"), &load));
        }
    }
    let ends: Vec<u64> = cubes.iter().map(|core| core.end).collect();
    let (least, most) = (ends.iter().min().copied(), ends.iter().max().copied());
    let micros = |cycles: Option<u64>| text::micros(cycles.unwrap_or(0) as f64 / clock);
    Figure {
        id: format!("{id}-launch"),
        title: "Pipeline, whole launch".to_owned(),
        origin: EMULATED.to_owned(),
        caption: format!(
            "{} in all; the first {} are the launch itself. The first cube core is done after {}, the last after {}. The \
             darker, the more of the time at work.",
            text::micros(timeline.micros()),
            text::micros(timeline.launch_cycles as f64 / clock),
            micros(least),
            micros(most)
        ),
        alternative: format!(
            "{} and {} over {}.",
            text::count(cubes.len() as u64, "cube core", "cube cores"),
            text::count(vectors.len() as u64, "vector core", "vector cores"),
            text::micros(timeline.micros())
        ),
        legend: LEVELS
            .iter()
            .zip([
                "up to a quarter",
                "half",
                "three quarters",
                "all of the time",
            ])
            .map(|(class, text)| Key::new(class, text))
            .collect(),
        lanes: vec![
            group("block 0", "its pipes", "pipes", pipes, Vec::new()),
            group(
                "all cores",
                "cube pipe (M) of each cube core, then vector pipe (V) of each vector core",
                "heat",
                vec![
                    heat("M", &cubes, "M", window),
                    heat("V", &vectors, "V", window),
                ],
                axis(),
            ),
        ],
        ..Figure::default()
    }
}

fn level(load: f64) -> Option<&'static str> {
    let step = (load * LEVELS.len() as f64).ceil() as usize;
    (load > 0.02).then(|| LEVELS[step.clamp(1, LEVELS.len()) - 1])
}

/// Adds a row of equal parts, neighbours of one level as one shape.
fn row(outline: &mut Outline, load: &[f64], y: f64, height: f64) {
    let width = WIDTH / load.len() as f64;
    let mut at = 0;
    while at < load.len() {
        let here = level(load[at]);
        let end = (at..load.len()).find(|&next| level(load[next]) != here);
        let end = end.unwrap_or(load.len());
        if let Some(class) = here {
            let size = ((end - at) as f64 * width, height);
            outline.rect(class, (at as f64 * width, y), size);
        }
        at = end;
    }
}

fn load_lane(label: &str, load: &[f64]) -> Lane {
    let mut outline = Outline::default();
    row(&mut outline, load, 0.0, LANE);
    let mean = load.iter().sum::<f64>() / load.len() as f64;
    Lane {
        label: label.to_owned(),
        value: text::percent(mean),
        alternative: format!("{label} at work {} of the launch", text::percent(mean)),
        shapes: outline.shapes(),
        ..Lane::default()
    }
}

/// One pipe of many cores as rows of one picture.
fn heat(label: &str, cores: &[&CoreUse], pipe: &str, window: Window) -> Lane {
    let mut outline = Outline::default();
    let height = LANE / cores.len().max(1) as f64;
    let mut sum = 0.0;
    for (at, core) in cores.iter().enumerate() {
        let load = trace::load(core, pipe, window, BINS);
        sum += load.iter().sum::<f64>() / load.len() as f64;
        row(&mut outline, &load, at as f64 * height, height * 0.86);
    }
    let mean = sum / cores.len().max(1) as f64;
    Lane {
        label: label.to_owned(),
        detail: format!("{} rows", cores.len()),
        value: text::percent(mean),
        alternative: format!(
            "{label} of {} cores at work {} of the launch",
            cores.len(),
            text::percent(mean)
        ),
        shapes: outline.shapes(),
    }
}
