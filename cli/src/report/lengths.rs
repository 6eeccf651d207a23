//! Predicted time and memory over the sequence length, beside attention in three unfused kernels.

use fa_codegen::{Plan, Tile};
use fa_dsl::variant::Variant;
use fa_emulator::timeline::Detail;
use fa_runtime::verify::Shape;
use fa_runtime::{Error, Kernel};
use fa_targets::Target;

use super::page::{Chart, Figure, Key, Label, TableView};
use super::pipeline::EMULATED;
use super::roofline::{self, Roofs, curve, decade_above, decade_below, power};
use super::shapes::{Scale, dots, line, tick};
use super::text;
use super::timing::{Waves, time, workspace_bytes};
use crate::commands::mask;

/// Pairs of all heads that are emulated for one point; longer ones follow from the slope.
const EMULATED_PAIRS: f64 = 4.0e7;
/// The lengths, in powers of two.
const LENGTHS: std::ops::RangeInclusive<u32> = 9..=15;
/// The first of them are emulated whatever they take, for the others follow from them.
const ALWAYS: usize = 1 << 10;

/// How unfused attention is timed.
pub(crate) trait Unfused {
    /// Duration at a shape, microseconds; `None` where it is too large to be timed.
    ///
    /// # Errors
    /// A launch fails.
    fn micros(&self, shape: Shape) -> Result<Option<f64>, Error>;
    /// Bytes beside Q, K, V and O.
    fn bytes(&self, shape: Shape) -> f64;
    /// How the numbers come about, in a word.
    fn word(&self) -> &'static str;
    /// The same in a sentence.
    fn origin(&self) -> &'static str;
}

/// Three kernels, each as fast as its largest need allows: a product that stores fp32 scores, a softmax that reads them
/// and stores 16-bit probabilities, and a product that reads those.
pub(crate) struct Analytic<'t> {
    pub(crate) variant: &'t Variant,
    pub(crate) target: &'t Target,
    pub(crate) roofs: Roofs,
}

impl Analytic<'_> {
    fn kernel(&self, flops: f64, bytes: f64) -> f64 {
        let chip_l2 = self.target.chip.as_ref().map_or(0, |chip| chip.l2_bytes);
        // What fits into L2 is written and read there; the rest goes to the memory behind it.
        let bandwidth = if bytes <= chip_l2 as f64 {
            self.roofs.l2
        } else {
            self.roofs.hbm
        };
        (flops / self.roofs.peak).max(bytes / bandwidth) + self.launch_micros()
    }

    fn launch_micros(&self) -> f64 {
        let timing = self.target.timing.as_ref();
        let clock = self.target.chip.as_ref().map_or(1, |chip| chip.clock_mhz);
        timing.map_or(0.0, |timing| timing.launch.value / f64::from(clock))
    }

    /// Pairs of all heads of a launch.
    pub(crate) fn pairs(shape: Shape) -> f64 {
        (shape.batch * shape.heads) as f64 * shape.q_len as f64 * shape.kv_len as f64
    }
}

impl Unfused for Analytic<'_> {
    fn micros(&self, shape: Shape) -> Result<Option<f64>, Error> {
        let (variant, pairs) = (self.variant, Analytic::pairs(shape));
        let inputs = roofline::compulsory(variant, shape) / 2.0;
        let probability = f64::from(variant.precision.qkv.bytes());
        let product = |width: u32| 2.0 * f64::from(width) * pairs;
        let kernels = self.kernel(product(variant.head_dim), 4.0 * pairs + inputs)
            + self.kernel(0.0, (4.0 + probability) * pairs)
            + self.kernel(product(variant.v_head_dim), probability * pairs + inputs);
        Ok(Some(kernels))
    }

    fn bytes(&self, shape: Shape) -> f64 {
        (4.0 + f64::from(self.variant.precision.qkv.bytes())) * Analytic::pairs(shape)
    }

    fn word(&self) -> &'static str {
        "analytic"
    }

    fn origin(&self) -> &'static str {
        "analytic: three kernels at the full speed of cube and memory, nothing else counted"
    }
}

/// One length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Query and key rows.
    pub(crate) len: usize,
    /// Duration of the fused kernel, microseconds.
    pub(crate) fused: f64,
    /// Whether it was emulated, or follows from the slope of those that were.
    pub(crate) emulated: bool,
    /// Bytes of its workspace.
    pub(crate) workspace: f64,
    /// Duration of unfused attention.
    pub(crate) unfused: f64,
    /// Whether it was timed itself.
    pub(crate) unfused_timed: bool,
    /// Bytes of its scores and probabilities.
    pub(crate) matrices: f64,
}

/// The curves.
#[derive(Clone, Debug)]
pub(crate) struct Curves {
    /// By length, two at least.
    pub(crate) points: Vec<Point>,
    /// How those of unfused attention come about, in a word and in a sentence.
    pub(crate) unfused: (&'static str, &'static str),
}

/// Times a kernel over the lengths; one launch has been timed already.
///
/// # Errors
/// A launch fails.
pub(crate) fn points(
    kernel: &Kernel,
    plan: &Plan,
    target: &Target,
    (shape, micros): (Shape, f64),
    unfused: &dyn Unfused,
) -> Result<Curves, Error> {
    let cores = target.chip.as_ref().map_or(1, |chip| chip.cube_cores);
    let mut measured: Vec<(f64, f64)> = Vec::new();
    let mut others: Vec<(f64, f64)> = Vec::new();
    let mut points = Vec::new();
    let known = shape;
    for len in LENGTHS.map(|power| 1_usize << power) {
        let shape = Shape {
            q_len: len,
            kv_len: len,
            ..shape
        };
        let tiles = tiles_of_busiest(kernel.variant(), plan, shape, cores);
        let timed = if shape == known {
            Some(micros)
        } else if len <= ALWAYS || Analytic::pairs(shape) <= EMULATED_PAIRS {
            time(kernel, shape, Detail::Totals)?.map(|timeline| timeline.micros())
        } else {
            None
        };
        let emulated = timed.is_some();
        measured.extend(timed.map(|micros| (tiles, micros)));
        let Some(fused) = timed.or_else(|| beyond(&measured, tiles)) else {
            continue;
        };
        let timed = unfused.micros(shape)?;
        let unfused_timed = timed.is_some();
        others.extend(timed.map(|micros| (Analytic::pairs(shape), micros)));
        let Some(other) = timed.or_else(|| beyond(&others, Analytic::pairs(shape))) else {
            continue;
        };
        points.push(Point {
            len,
            fused,
            emulated,
            workspace: workspace(plan, shape, cores),
            unfused: other,
            unfused_timed,
            matrices: unfused.bytes(shape),
        });
    }
    Ok(Curves {
        points,
        unfused: (unfused.word(), unfused.origin()),
    })
}

fn workspace(plan: &Plan, shape: Shape, cores: u32) -> f64 {
    let waves = Waves::of(shape, plan, cores);
    match plan {
        Plan::Ascend(ascend) => workspace_bytes(ascend, waves, shape, cores) as f64,
        Plan::Cpu(_) => 0.0,
    }
}

/// Tiles of the core that has most of them, as far as all tasks of a wave are alike.
fn tiles_of_busiest(variant: &Variant, plan: &Plan, shape: Shape, cores: u32) -> f64 {
    let (q_len, kv_len) = (shape.q_len as u32, shape.kv_len as u32);
    let heads = (shape.batch * shape.heads) as u64;
    let tile = Tile {
        block_q: plan.task_rows(heads, shape.q_len as u64, cores),
        ..plan.tile()
    };
    let tiles = mask::classify(variant, tile, q_len, kv_len);
    let of_head = (tiles.full + tiles.partial) as f64;
    let waves = Waves::of(shape, plan, cores);
    let blocks = q_len.div_ceil(tile.block_q).max(1);
    of_head / f64::from(blocks) * waves.most() as f64
}

/// Continues the line through the last two points.
fn beyond(measured: &[(f64, f64)], tiles: f64) -> Option<f64> {
    let [.., (x0, y0), (x1, y1)] = measured else {
        return None;
    };
    let slope = if x1 > x0 {
        (y1 - y0) / (x1 - x0)
    } else {
        return None;
    };
    Some(y1 + slope * (tiles - x1))
}

/// The picture.
pub(crate) fn figure(id: &str, shape: Shape, curves: &Curves) -> Figure {
    let points = curves.points.as_slice();
    let (word, origin) = curves.unfused;
    let times = || points.iter().flat_map(|point| [point.fused, point.unfused]);
    let low = times().fold(f64::INFINITY, f64::min);
    let high = times().fold(0.0, f64::max);
    let lens: Vec<f64> = points.iter().map(|point| point.len as f64).collect();
    let (first, last) = (lens[0], lens[lens.len() - 1]);
    let x = Scale::Log(first, last);
    let y = Scale::Log(decade_below(low), decade_above(high));
    let height = roofline::height();
    let at = |len: f64, micros: f64| (x.x(len), (1.0 - y.share(micros)) * height);
    let fused = points
        .iter()
        .map(|point| (at(point.len as f64, point.fused), point.emulated));
    let other = points
        .iter()
        .map(|point| (at(point.len as f64, point.unfused), point.unfused_timed));
    let (known, continued) = parts(fused.collect());
    let (other_known, other_continued) = parts(other.collect());
    let ends = [
        points[points.len() - 1].fused,
        points[points.len() - 1].unfused,
    ];
    let label = |micros: f64, text: &str, class| Label {
        left: "100".to_owned(),
        top: format!("{:.2}", (1.0 - y.share(micros)) * 100.0),
        text: text.to_owned(),
        class,
    };
    let yticks = y.round(0);
    let best = points
        .iter()
        .filter(|point| point.emulated && point.unfused_timed)
        .map(|point| point.unfused / point.fused)
        .fold(0.0, f64::max);
    let gain = if best > 0.0 {
        let times = text::digits(best);
        format!("Fused is up to {times} times as fast where both were timed. ")
    } else {
        String::new()
    };
    Figure {
        id: format!("{id}-lengths"),
        title: "Time over sequence length".to_owned(),
        origin: format!("fused {EMULATED}; unfused {origin}"),
        caption: format!(
            "{} × {} heads, as many queries as keys. {}At {} keys it needs {} of workspace beside \
             Q, K, V and O, where unfused attention keeps {} of scores and probabilities in memory.",
            shape.batch,
            shape.heads,
            gain,
            text::grouped(points[points.len() - 1].len as i64),
            text::bytes(points[points.len() - 1].workspace),
            text::bytes(points[points.len() - 1].matrices)
        ),
        alternative: String::new(),
        legend: vec![
            Key::new("curve-a", "fused, emulated"),
            Key::new("curve-b", format!("unfused, {word}")),
            Key::new("curve-dashed", "continued by the slope of the last two"),
        ],
        chart: Some(Chart {
            x: x.ticks(&lens, |len| {
                let len = len as usize;
                if len >= 1024 {
                    format!("{}K", len / 1024)
                } else {
                    len.to_string()
                }
            }),
            x_title: "sequence length".to_owned(),
            y: yticks
                .iter()
                .map(|&value| tick(1.0 - y.share(value), time_mark(value)))
                .collect(),
            y_title: "time".to_owned(),
            grid: roofline::grid(&lens, &yticks, x, y),
            curves: [
                curve("curve-b", line(&other_known)),
                curve("curve-b dashed", line(&other_continued)),
                curve("curve-a", line(&known)),
                curve("curve-a dashed", line(&continued)),
                curve("dot-b", dots(&other_known)),
                curve("dot-a", dots(&known)),
            ]
            .into_iter()
            .filter(|curve| !curve.path.is_empty())
            .collect(),
            labels: vec![
                label(ends[0], "fused", "end-below"),
                label(ends[1], "unfused", "end"),
            ],
        }),
        numbers: vec![numbers(points, word)],
        ..Figure::default()
    }
}

/// A point of a picture.
type Place = (f64, f64);

/// A curve's points that were timed, and those that continue it.
fn parts(points: Vec<(Place, bool)>) -> (Vec<Place>, Vec<Place>) {
    let of = |timed: bool| {
        let own = points.iter().filter(move |(_, known)| *known == timed);
        own.map(|(point, _)| *point)
    };
    let known: Vec<Place> = of(true).collect();
    let mut continued: Vec<Place> = of(false).collect();
    if let (Some(last), false) = (known.last(), continued.is_empty()) {
        continued.insert(0, *last);
    }
    (known, continued)
}

/// A round time on an axis.
fn time_mark(micros: f64) -> String {
    if micros >= 1e6 {
        format!("{} s", power(micros / 1e6))
    } else if micros >= 1e3 {
        format!("{} ms", power(micros / 1e3))
    } else {
        format!("{} µs", power(micros))
    }
}

fn numbers(points: &[Point], word: &str) -> TableView {
    let mut table = TableView::new(
        "Time and memory by length",
        &[
            ">length",
            ">fused",
            "from",
            ">unfused",
            "from",
            ">ratio",
            ">workspace",
            ">scores and probabilities",
        ],
    );
    for point in points {
        table.row(
            "",
            [
                text::grouped(point.len as i64),
                text::micros(point.fused),
                if point.emulated { "emulated" } else { "slope" }.to_owned(),
                text::micros(point.unfused),
                if point.unfused_timed { word } else { "slope" }.to_owned(),
                format!("{}×", text::digits(point.unfused / point.fused)),
                text::bytes(point.workspace),
                text::bytes(point.matrices),
            ],
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_last_point_the_slope_goes_on() {
        assert_eq!(beyond(&[(1.0, 10.0)], 5.0), None);
        assert_eq!(
            beyond(&[(0.0, 1.0), (2.0, 10.0), (4.0, 14.0)], 8.0),
            Some(22.0)
        );
    }
}
