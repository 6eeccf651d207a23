//! What binds and what to change, from launches with one thing different.

use super::page::{Fact, Figure, Key, Lane, LaneGroup, Prose, TableView, WIDTH};
use super::pipeline::EMULATED;
use super::shapes::{LANE, Outline, Scale};
use super::text;
use super::timing::Waves;
use super::whatif::{Alternative, Outcome, Sensitivity};

/// A round number without idle zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Gains below this are noise of where tasks end.
const WORTH: f64 = 0.01;

/// What is known about a launch's limits.
pub(crate) struct Findings<'f> {
    /// What each thing twice as fast would save, the most first.
    pub(crate) sensitivities: &'f [Sensitivity],
    /// Other tiles, the quickest first.
    pub(crate) alternatives: &'f [Alternative],
    /// How the launch's tasks fill the cores.
    pub(crate) waves: Waves,
    /// Cube cores of the chip.
    pub(crate) cube_cores: u32,
    /// Share of the duration that the launch itself takes.
    pub(crate) launch_share: f64,
    /// Queries and keys of the launches, in words.
    pub(crate) shape: String,
}

impl Findings<'_> {
    /// The unit that saves most, if any saves something.
    pub(crate) fn binding(&self) -> Option<&Sensitivity> {
        self.sensitivities
            .first()
            .filter(|first| first.saves >= WORTH)
    }

    /// The best other tile, if it is quicker.
    pub(crate) fn better(&self) -> Option<(&Alternative, f64)> {
        let first = self.alternatives.first()?;
        match first.outcome {
            Outcome::Timed { gain, .. } if gain >= WORTH => Some((first, gain)),
            Outcome::Timed { .. } | Outcome::Refused(_) => None,
        }
    }

    /// The binding unit as a large number.
    pub(crate) fn fact(&self) -> Option<Fact> {
        let binding = self.binding()?;
        Some(Fact {
            name: "Binding unit".to_owned(),
            value: binding.name.to_owned(),
            unit: String::new(),
            note: format!("twice as fast would save {}", text::percent(binding.saves)),
        })
    }

    /// What to do, a sentence each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut found = Vec::new();
        match self.binding() {
            Some(binding) => found.push(format!(
                "{} binds: twice as fast it would save {} of the time. What a schedule can do: {}.",
                binding.name,
                text::percent(binding.saves),
                binding.advice
            )),
            None if !self.sensitivities.is_empty() => found.push(
                "No single unit binds: none of them twice as fast would save one percent."
                    .to_owned(),
            ),
            None => {}
        }
        match self.better() {
            Some((alternative, gain)) => {
                let tile = alternative.tile;
                found.push(format!(
                    "Write `tile {{ block_q = {}; block_kv = {}; stages = {}; }}`: {} at this shape.",
                    tile.block_q,
                    tile.block_kv,
                    tile.stages,
                    text::signed_percent(gain)
                ));
            }
            None if !self.alternatives.is_empty() => found
                .push("Keep the tile: no tile one step away is quicker at this shape.".to_owned()),
            None => {}
        }
        let filled = self.waves.filled(self.cube_cores);
        if filled < 1.0 - WORTH {
            found.push(format!(
                "{} are dealt to {} of {} cores, at most {} each: {} of the places are filled. As many rows in full waves would \
                 take {} less time.",
                text::count(self.waves.tasks, "task", "tasks"),
                self.waves.cores,
                self.cube_cores,
                self.waves.most(),
                text::percent(filled),
                text::percent((1.0 - filled) * (1.0 - self.launch_share))
            ));
        }
        if self.launch_share >= 0.05 {
            found.push(format!(
                "The launch itself takes {} of the time: longer or batched work hides it.",
                text::percent(self.launch_share)
            ));
        }
        found
    }

    /// The picture.
    pub(crate) fn figure(&self, id: &str) -> Figure {
        let mut table = TableView::new(
            "Tiles one step away, each compiled and launched",
            &["change", "tile", ">gain", "remark"],
        );
        for alternative in self.alternatives {
            let tile = alternative.tile;
            let size = format!("{} × {}, {}", tile.block_q, tile.block_kv, tile.stages);
            let (gain, remark) = match &alternative.outcome {
                Outcome::Timed { gain, at_whole, .. } => (
                    text::signed_percent(*gain),
                    if *at_whole {
                        "at the whole shape".to_owned()
                    } else {
                        format!("at {}", self.shape)
                    },
                ),
                Outcome::Refused(why) => ("–".to_owned(), why.replace('`', "")),
            };
            table.row("", [alternative.change.clone(), size, gain, remark]);
        }
        let most = self
            .sensitivities
            .iter()
            .map(|one| one.saves)
            .fold(0.05, f64::max);
        let scale = Scale::Linear(0.0, most * 100.0 * 1.05);
        let lanes = self.sensitivities.iter().map(|one| {
            let mut outline = Outline::default();
            outline.rect("free", (0.0, 0.0), (WIDTH, LANE));
            let width = scale.x((one.saves * 100.0).max(0.0));
            if width > 0.0 {
                outline.rect("busy", (0.0, 0.0), (width, LANE));
            }
            Lane {
                label: one.name.to_owned(),
                detail: text::micros(one.micros),
                value: text::percent(one.saves.max(0.0)),
                alternative: format!("twice as fast saves {}", text::percent(one.saves.max(0.0))),
                shapes: outline.shapes(),
            }
        });
        Figure {
            id: format!("{id}-advice"),
            title: "What binds, and what to change".to_owned(),
            origin: EMULATED.to_owned(),
            caption: format!(
                "Time that one thing twice as fast would save, each a launch of this kernel on a chip that differs in it alone \
                 ({}). The longest bar is what binds.",
                self.shape
            ),
            alternative: self.sentences().first().cloned().unwrap_or_default(),
            legend: vec![Key::new("busy", "saved by twice the speed")],
            lanes: vec![LaneGroup {
                title: "twice as fast".to_owned(),
                note: "share of the time saved".to_owned(),
                class: "wide",
                lanes: lanes.collect(),
                axis: scale.ticks(&scale.round(4), |value| format!("{} %", plain(value))),
                axis_title: "time saved".to_owned(),
            }],
            tables: (!self.alternatives.is_empty())
                .then_some(table)
                .into_iter()
                .collect(),
            notes: self
                .sentences()
                .iter()
                .map(|text| Prose::new(text))
                .collect(),
            ..Figure::default()
        }
    }
}
