//! The timeline in plain text, for `explain`.

use fa_codegen::Plan;

use super::advice::Findings;
use super::choice::sizes;
use super::pipeline::{self, PipeLane};
use super::sides::Side;
use super::study::Times;
use super::text;
use super::timing::Waves;
use crate::table::Table;

/// Letters across a lane.
const ACROSS: usize = 72;

/// The steady state pipe by pipe, utilisation, the binding unit and advice; numbers without spaces in them.
pub(crate) fn timeline_text(plan: &Plan, times: &Times, cube_cores: u32) -> String {
    told(plan, times, cube_cores).replace('\u{202f}', "")
}

fn told(plan: &Plan, times: &Times, cube_cores: u32) -> String {
    let timeline = &times.timeline;
    let mut text = format!(
        "\ntimeline of {} (modelled, emulated): {}, {} of them launch\n",
        sizes(times.traced),
        text::micros(timeline.micros()),
        text::micros(timeline.launch_cycles as f64 / f64::from(timeline.clock_mhz))
    );
    match &times.steady {
        Some(steady) => {
            text.push_str(&format!(
                "  {} of the steady state, {} cycles each\n",
                text::count(steady.shown_tiles as u64, "tile", "tiles"),
                text::grouped(steady.period as i64)
            ));
            for lane in pipeline::lanes(plan, timeline, steady.shown) {
                text.push_str(&line(&lane));
            }
            text.push_str("  s towards scores, o towards output, - both or neither, . idle\n");
        }
        None => text.push_str("  too few tiles for a steady state\n"),
    }
    text.push_str("\nutilisation\n");
    text.push_str(&utilisation(times));
    let findings = Findings {
        sensitivities: times.sensitivities(),
        alternatives: &[],
        waves: Waves::of(times.traced, plan, cube_cores),
        cube_cores,
        launch_share: timeline.launch_cycles as f64 / timeline.cycles.max(1) as f64,
        shape: sizes(times.traced),
    };
    text.push_str("\nwhat binds\n");
    for one in times.sensitivities().iter().take(4) {
        text.push_str(&format!(
            "  {} twice as fast: {} less time\n",
            one.name,
            text::percent(one.saves.max(0.0))
        ));
    }
    for sentence in findings.sentences() {
        text.push_str(&format!("  {sentence}\n"));
    }
    text
}

/// One pipe as letters, each what it did for most of its share of the time.
fn line(lane: &PipeLane) -> String {
    let mut letters = String::new();
    for at in 0..ACROSS {
        let (from, to) = (at as f64 / ACROSS as f64, (at + 1) as f64 / ACROSS as f64);
        let spent = Side::ALL.map(|side| {
            let own = lane.stretches.iter().filter(|(of, ..)| *of == side);
            let cut = own.map(|(_, start, end)| (end.min(to) - start.max(from)).max(0.0));
            (cut.sum::<f64>(), side)
        });
        let most = spent.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let busy: f64 = spent.iter().map(|(time, _)| time).sum();
        let letter = match most {
            Some((_, side)) if busy * 2.0 >= to - from => side.letter(),
            _ => '.',
        };
        letters.push(letter);
    }
    let kind = if lane.cube { "AIC" } else { "AIV" };
    format!(
        "  {kind} {:<5}{letters} {:>6}\n",
        lane.pipe,
        text::percent(lane.busy)
    )
}

fn utilisation(times: &Times) -> String {
    let mut table = Table::new(&["  core", "pipe", ">steady", ">launch", "waits for"]);
    for (shares, cube) in times.shares().into_iter().zip([true, false]) {
        for share in shares {
            let waits: Vec<String> = share
                .stalls
                .iter()
                .filter(|(_, part)| *part >= 0.01)
                .map(|(why, part)| format!("{why} {}", text::percent(*part)))
                .collect();
            table.row([
                if cube { "  AIC" } else { "  AIV" }.to_owned(),
                share.pipe.to_owned(),
                share.steady.map_or("–".to_owned(), text::percent),
                text::percent(share.busy),
                waits.join(", "),
            ]);
        }
    }
    table.text()
}
