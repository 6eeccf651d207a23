//! What pipes did and waited for, and what the longest chain of causes of a launch consists of.

use fa_emulator::timeline::Timeline;

use super::page::{Figure, Key, Lane, LaneGroup, TableView, WIDTH};
use super::pipeline::EMULATED;
use super::shapes::{LANE, Outline, Scale};
use super::text;
use super::trace::{self, PipeShare};

/// Stalls named by a style of their own; the rest is one.
const NAMED_STALLS: usize = 5;
const STALL_CLASSES: [&str; NAMED_STALLS] = ["stall0", "stall1", "stall2", "stall3", "stall4"];

/// What pipes did and waited for.
pub(crate) fn figure(
    id: &str,
    timeline: &Timeline,
    cube: &[PipeShare],
    vector: &[PipeShare],
) -> Figure {
    let mut numbers = TableView::new(
        "Utilisation by pipe; waits as shares of the launch",
        &[
            "core",
            "pipe",
            "does",
            ">steady state",
            ">whole launch",
            "waits for",
        ],
    );
    let reasons = reasons(cube, vector);
    let mut group = |title: &str, shares: &[PipeShare], is_cube: bool| LaneGroup {
        title: title.to_owned(),
        note: "mean of all cores".to_owned(),
        class: "pipes",
        lanes: shares
            .iter()
            .map(|share| {
                let waits: Vec<String> = share
                    .stalls
                    .iter()
                    .filter(|(_, part)| *part >= 0.005)
                    .map(|(why, part)| format!("{why} {}", text::percent(*part)))
                    .collect();
                numbers.row(
                    "",
                    [
                        title.to_owned(),
                        share.pipe.to_owned(),
                        trace::pipe_role(share.pipe, is_cube).to_owned(),
                        share.steady.map_or("–".to_owned(), text::percent),
                        text::percent(share.busy),
                        waits.join(", "),
                    ],
                );
                share_lane(share, is_cube, &reasons)
            })
            .collect(),
        axis: Vec::new(),
        axis_title: String::new(),
    };
    let mut lanes = vec![
        group("cube cores", cube, true),
        group("vector cores", vector, false),
    ];
    let scale = Scale::Linear(0.0, 100.0);
    lanes.push(chain(timeline));
    lanes[1].axis = scale.ticks(&scale.round(4), |value| format!("{value:.0} %"));
    lanes[1].axis_title = "share of the time from the first instruction to the last".to_owned();
    let mut legend = vec![Key::new("busy", "at work")];
    for (class, why) in STALL_CLASSES.iter().zip(&reasons) {
        legend.push(Key::new(class, format!("waits for {why}")));
    }
    legend.push(Key::new("stall-rest", "waits for something else"));
    Figure {
        id: format!("{id}-utilisation"),
        title: "Utilisation and stalls".to_owned(),
        origin: EMULATED.to_owned(),
        caption: "What each pipe did from the first instruction to the last, and what it stood still for: a flag of another \
                  pipe of its core (by name), another core, a barrier, the scalar unit, bandwidth that all cores share. The \
                  rest is time in which it had nothing left to do. Waits for bandwidth are a part of the time at work."
            .to_owned(),
        alternative: String::new(),
        legend,
        lanes,
        numbers: vec![numbers],
        ..Figure::default()
    }
}

/// What the longest chain of causes consists of.
fn chain(timeline: &Timeline) -> LaneGroup {
    let total = timeline.cycles.max(1) as f64;
    let lanes = timeline
        .critical_path
        .iter()
        .map(|(name, cycles)| (name, *cycles as f64 / total))
        .filter(|(_, share)| *share >= 0.005)
        .map(|(name, share)| {
            let mut outline = Outline::default();
            outline.rect("free", (0.0, 0.0), (WIDTH, LANE));
            outline.rect("busy", (0.0, 0.0), (share * WIDTH, LANE));
            Lane {
                label: (*name).to_owned(),
                value: text::percent(share),
                alternative: format!("{name} takes {} of it", text::percent(share)),
                shapes: outline.shapes(),
                ..Lane::default()
            }
        });
    LaneGroup {
        title: "longest chain of causes".to_owned(),
        note: "what the launch from start to end consists of".to_owned(),
        class: "pipes",
        lanes: lanes.collect(),
        ..LaneGroup::default()
    }
}

/// The reasons with the largest sums, bandwidth left aside, which is a part of work.
fn reasons(cube: &[PipeShare], vector: &[PipeShare]) -> Vec<String> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (why, part) in cube.iter().chain(vector).flat_map(|share| &share.stalls) {
        match sums.iter_mut().find(|(name, _)| name == why) {
            Some((_, sum)) => *sum += part,
            None => sums.push((why.clone(), *part)),
        }
    }
    sums.retain(|(why, _)| !within_work(why));
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let names = sums.into_iter().map(|(name, _)| name);
    names.take(NAMED_STALLS).collect()
}

/// Bandwidth slows a copy down while it runs, so that the wait is a part of its work.
fn within_work(why: &str) -> bool {
    why == "shared bandwidth"
}

fn share_lane(share: &PipeShare, cube: bool, reasons: &[String]) -> Lane {
    let mut outline = Outline::default();
    let mut at = 0.0;
    let mut part = |class, share: f64| {
        let width = share.min(1.0 - at).max(0.0);
        if width > 0.0005 {
            outline.rect(class, (at * WIDTH, 0.0), (width * WIDTH, LANE));
        }
        at += width;
    };
    part("busy", share.busy);
    let of = |why: &str| {
        let found = share.stalls.iter().find(|(name, _)| name == why);
        found.map_or(0.0, |(_, part)| *part)
    };
    let mut rest: f64 = share
        .stalls
        .iter()
        .filter(|(why, _)| !within_work(why))
        .map(|(_, part)| part)
        .sum();
    for (class, why) in STALL_CLASSES.iter().zip(reasons) {
        part(class, of(why));
        rest -= of(why);
    }
    part("stall-rest", rest);
    let first = share.stalls.iter().find(|(why, _)| !within_work(why));
    Lane {
        label: share.pipe.to_owned(),
        detail: trace::pipe_role(share.pipe, cube).to_owned(),
        value: text::percent(share.busy),
        alternative: format!(
            "{} at work {}{}",
            share.pipe,
            text::percent(share.busy),
            first.map_or(String::new(), |(why, part)| {
                format!(", waits mostly for {why}, {}", text::percent(*part))
            })
        ),
        shapes: outline.shapes(),
    }
}
