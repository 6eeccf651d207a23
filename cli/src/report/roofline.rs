//! Where a launch stands under the roofs of the chip: the peak of the cube, and the bandwidths of L2 and of the memory.

use fa_dsl::variant::{Dtype, Variant};
use fa_emulator::timeline::Timeline;
use fa_runtime::verify::Shape;
use fa_targets::Target;

use super::page::{Chart, Figure, Key, Label, Shape as Outline, TableView, WIDTH};
use super::pipeline::EMULATED;
use super::shapes::{Scale, dots, line};
use super::text;

/// Height of a plot in its own units.
const HEIGHT: f64 = 400.0;

/// The roofs of a chip for one type of inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roofs {
    /// Peak of all cubes, operations per microsecond.
    pub(crate) peak: f64,
    /// Bandwidth of L2, bytes per microsecond.
    pub(crate) l2: f64,
    /// Bandwidth of the memory, bytes per microsecond.
    pub(crate) hbm: f64,
}

/// The roofs of a target; `None` where its file has no costs.
pub(crate) fn roofs(target: &Target, variant: &Variant) -> Option<Roofs> {
    let (ascend, timing) = (target.ascend()?, target.timing.as_ref()?);
    let depth = match variant.precision.qkv {
        Dtype::Fp32 => timing.mmad_k_fp32.value,
        Dtype::Int8 => timing.mmad_k_int8.value,
        Dtype::Fp16 | Dtype::Bf16 | Dtype::Int32 | Dtype::Bool => timing.mmad_k_fp16.value,
    };
    let macs = f64::from(ascend.rates.cube_macs_fp16) * depth / timing.mmad_k_fp16.value;
    let cycles = f64::from(ascend.chip.clock_mhz) * f64::from(ascend.chip.cube_cores);
    Some(Roofs {
        peak: 2.0 * macs * cycles,
        l2: timing.l2_gbps.value * 1e3,
        hbm: timing.hbm_gbps.value * 1e3,
    })
}

/// What a launch did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Operations on attended pairs.
    pub(crate) flops: f64,
    /// Duration, microseconds.
    pub(crate) micros: f64,
    /// Bytes of Q, K, V and O, each once.
    pub(crate) compulsory: f64,
    /// Bytes through L2.
    pub(crate) l2_bytes: f64,
}

impl Work {
    /// Of a launch.
    pub(crate) fn of(variant: &Variant, shape: Shape, flops: f64, timeline: &Timeline) -> Work {
        Work {
            flops,
            micros: timeline.micros(),
            compulsory: compulsory(variant, shape),
            l2_bytes: timeline.traffic.l2_bytes,
        }
    }

    /// Operations per microsecond.
    pub(crate) fn rate(&self) -> f64 {
        self.flops / self.micros
    }
}

/// Bytes of Q, K, V and O.
pub(crate) fn compulsory(variant: &Variant, shape: Shape) -> f64 {
    let rows = |heads: usize, len: usize, width: u32, bytes: u32| {
        (shape.batch * heads * len) as f64 * f64::from(width) * f64::from(bytes)
    };
    let precision = &variant.precision;
    let qkv = precision.qkv.bytes();
    rows(shape.heads, shape.q_len, variant.head_dim, qkv)
        + rows(shape.kv_heads, shape.kv_len, variant.head_dim, qkv)
        + rows(shape.kv_heads, shape.kv_len, variant.v_head_dim, qkv)
        + rows(
            shape.heads,
            shape.q_len,
            variant.v_head_dim,
            precision.output.bytes(),
        )
}

/// The picture.
pub(crate) fn figure(id: &str, roofs: Roofs, work: Work) -> Figure {
    let tflops = |rate: f64| rate / 1e6;
    let intensity = |bytes: f64| work.flops / bytes.max(1.0);
    let (by_l2, by_hbm) = (intensity(work.l2_bytes), intensity(work.compulsory));
    let (ridge_l2, ridge_hbm) = (roofs.peak / roofs.l2, roofs.peak / roofs.hbm);
    let low = [by_l2, by_hbm, ridge_l2, ridge_hbm]
        .into_iter()
        .fold(f64::INFINITY, f64::min);
    let high = [by_l2, by_hbm, ridge_l2, ridge_hbm]
        .into_iter()
        .fold(0.0, f64::max);
    let x = Scale::Log(decade_below(low / 2.0), decade_above(high * 2.0));
    let top = decade_above(tflops(roofs.peak) * 1.2);
    let bottom = (top / 1e2).min(decade_below(tflops(work.rate()) / 1.5));
    let y = Scale::Log(bottom, top);
    let at = |bytes: f64, rate: f64| (x.x(bytes), (1.0 - y.share(tflops(rate))) * HEIGHT);
    let roof = |bandwidth: f64| {
        let ridge = roofs.peak / bandwidth;
        let Scale::Log(left, right) = x else {
            return String::new();
        };
        let from = left.max(bottom * 1e6 / bandwidth);
        line(&[
            at(from, from * bandwidth),
            at(ridge, roofs.peak),
            at(right, roofs.peak),
        ])
    };
    let share = |limit: f64| text::percent(work.rate() / limit.min(roofs.peak));
    let label = |(left, top): (f64, f64), text: String, class| Label {
        left: format!("{:.2}", left / WIDTH * 100.0),
        top: format!("{:.2}", top / HEIGHT * 100.0),
        text,
        class,
    };
    let mut numbers = TableView::new(
        "Roofs and the launch beneath them",
        &[
            "roof",
            ">bandwidth",
            ">traffic",
            ">FLOP per byte",
            ">roof there",
            ">reached",
        ],
    );
    for (name, bandwidth, bytes, intensity) in [
        ("L2", roofs.l2, work.l2_bytes, by_l2),
        ("HBM, Q K V O once", roofs.hbm, work.compulsory, by_hbm),
    ] {
        numbers.row(
            "",
            [
                name.to_owned(),
                format!("{} GB/s", text::digits(bandwidth / 1e3)),
                text::bytes(bytes),
                text::digits(intensity),
                format!(
                    "{} TFLOPS",
                    text::digits(tflops((intensity * bandwidth).min(roofs.peak)))
                ),
                share(intensity * bandwidth),
            ],
        );
    }
    numbers.row(
        "total",
        [
            "cube peak".to_owned(),
            String::new(),
            String::new(),
            String::new(),
            format!("{} TFLOPS", text::digits(tflops(roofs.peak))),
            share(roofs.peak),
        ],
    );
    let yticks = y.round(0);
    let xticks = x.round(0);
    Figure {
        id: format!("{id}-roofline"),
        title: "Roofline".to_owned(),
        origin: format!("roofs from the target file; position {EMULATED}"),
        caption: format!(
            "{} TFLOPS on attended pairs: {} of the cube's peak. Against L2 the launch does {} operations a byte, and the roof \
             there is {} TFLOPS, of which it reaches {}. The scores, probabilities and partial outputs that cube and vector \
             cores exchange go through L2, so the L2 point lies left of that of Q, K, V and O alone.",
            text::digits(tflops(work.rate())),
            share(roofs.peak),
            text::digits(by_l2),
            text::digits(tflops((by_l2 * roofs.l2).min(roofs.peak))),
            share(by_l2 * roofs.l2)
        ),
        alternative: format!(
            "Peak {} TFLOPS; the launch reaches {}.",
            text::digits(tflops(roofs.peak)),
            text::digits(tflops(work.rate()))
        ),
        legend: vec![
            Key::new("curve-a", "roof by L2 bandwidth"),
            Key::new("curve-b", "roof by HBM bandwidth"),
            Key::new("dot", "this launch, by L2 traffic and by Q, K, V, O"),
        ],
        chart: Some(Chart {
            x: x.ticks(&xticks, power),
            x_title: "operations per byte".to_owned(),
            y: yticks
                .iter()
                .map(|&value| super::shapes::tick(1.0 - y.share(value), power(value)))
                .collect(),
            y_title: "TFLOPS".to_owned(),
            grid: grid(&xticks, &yticks, x, y),
            curves: vec![
                curve("curve-a", roof(roofs.l2)),
                curve("curve-b", roof(roofs.hbm)),
                curve("drop", {
                    let (a, b) = (at(by_l2, work.rate()), at(by_hbm, work.rate()));
                    line(&[a, b])
                }),
                curve("dot-a", dots(&[at(by_l2, work.rate())])),
                curve("dot-b", dots(&[at(by_hbm, work.rate())])),
            ],
            labels: vec![
                label(at(by_l2, work.rate()), "L2".to_owned(), "below"),
                label(at(by_hbm, work.rate()), "Q K V O".to_owned(), "below"),
                label(
                    (WIDTH, at(1.0, roofs.peak).1),
                    format!("peak {}", text::digits(tflops(roofs.peak))),
                    "end",
                ),
            ],
        }),
        numbers: vec![numbers],
        ..Figure::default()
    }
}

/// Grid lines of a plot.
pub(crate) fn grid(xs: &[f64], ys: &[f64], x: Scale, y: Scale) -> String {
    let vertical = xs.iter().map(|&value| {
        let at = x.x(value);
        line(&[(at, 0.0), (at, HEIGHT)])
    });
    let horizontal = ys.iter().map(|&value| {
        let at = (1.0 - y.share(value)) * HEIGHT;
        line(&[(0.0, at), (WIDTH, at)])
    });
    vertical.chain(horizontal).collect()
}

/// Height of every plot.
pub(crate) fn height() -> f64 {
    HEIGHT
}

/// A curve of a style.
pub(crate) fn curve(class: &'static str, path: String) -> Outline {
    Outline { class, path }
}

/// A power of ten as people write it on an axis.
pub(crate) fn power(value: f64) -> String {
    if value >= 1.0 {
        text::grouped(value.round() as i64)
    } else {
        format!("{value}")
    }
}

/// The power of ten at or below a value.
pub(crate) fn decade_below(value: f64) -> f64 {
    10_f64.powf(value.max(1e-9).log10().floor())
}

/// The power of ten at or above a value.
pub(crate) fn decade_above(value: f64) -> f64 {
    10_f64.powf(value.max(1e-9).log10().ceil())
}
