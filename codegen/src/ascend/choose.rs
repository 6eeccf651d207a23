//! Chooses the tile and its arrangement; explains with FA101 where none fits.

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::span::Spanned;
use fa_dsl::variant::{TileSpec, Variant};
use fa_targets::Ascend;

use super::cost::{CostModel, TileCost};
use super::lower::Lowered;
use super::memory::{self, Arrangement, Facts};
use crate::budget::{Budget, MemoryUse, kib};

/// Tiles that `auto` tries, the preferred ones first where the model sees no difference.
const AUTO_BLOCK_KV: [u32; 11] = [512, 384, 640, 768, 1024, 256, 192, 128, 64, 32, 16];
const AUTO_BLOCK_Q: [u32; 9] = [256, 224, 192, 160, 128, 96, 64, 32, 16];
const AUTO_STAGES: [u32; 2] = [3, 2];

/// What the model cannot tell apart: within it the preferred tile is taken. Rows of tasks that are no multiple of 128 lose
/// up to a tenth to what the model leaves out.
const NO_DIFFERENCE: f64 = 1.03;

/// Slots of a ring: with three nobody waits, for one is filled, one used and one emptied.
const VECTOR_SLOTS: [u32; 3] = [3, 2, 1];

/// Slots of probabilities in L1: one loads while the other is read.
const PROBABILITY_SLOTS: u32 = 2;

/// The tile and everything that depends on it.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) arrangement: Arrangement,
    pub(super) budget: Budget,
    pub(super) cost: TileCost,
}

/// What is fixed while tiles are tried.
pub(super) struct Chooser<'a> {
    pub(super) variant: &'a Variant,
    pub(super) target: &'a str,
    pub(super) ascend: Ascend<'a>,
    pub(super) facts: Facts,
    pub(super) lowered: &'a Lowered,
    pub(super) model: CostModel<'a>,
}

impl Chooser<'_> {
    /// The fastest arrangement, by the cost model, for the tile as far as it is written.
    ///
    /// # Errors
    /// FA101 where no arrangement fits.
    pub(super) fn choose(&self, tile: &TileSpec) -> Result<Choice, Box<Diagnostic>> {
        let written = |value: Option<Spanned<u32>>, auto: &[u32]| {
            value.map_or(auto.to_vec(), |value| vec![value.value])
        };
        let all_stages = written(tile.stages, &AUTO_STAGES);
        let all_q = written(tile.block_q, &AUTO_BLOCK_Q);
        let all_kv = written(tile.block_kv, &AUTO_BLOCK_KV);
        let mut found: Vec<(f64, Choice)> = Vec::new();
        for &stages in &all_stages {
            for &block_q in &all_q {
                for &block_kv in &all_kv {
                    let Some(choice) = self.arrange(block_q, block_kv, stages) else {
                        continue;
                    };
                    found.push((self.model.launch(&choice.arrangement), choice));
                }
            }
        }
        let least = found
            .iter()
            .fold(f64::INFINITY, |least, (time, _)| least.min(*time));
        let mut found = found.into_iter();
        let preferred = found.find(|(time, _)| *time <= NO_DIFFERENCE * least);
        preferred.map(|(_, choice)| choice).ok_or_else(|| {
            let smallest = |all: &[u32]| *all.last().expect("never empty");
            let tile_size = (smallest(&all_q), smallest(&all_kv));
            Box::new(self.does_not_fit(tile, tile_size, all_stages[0]))
        })
    }

    /// The fastest arrangement of one tile that fits.
    fn arrange(&self, block_q: u32, block_kv: u32, stages: u32) -> Option<Choice> {
        let mut found: Vec<(TileCost, Arrangement)> = VECTOR_SLOTS
            .into_iter()
            .flat_map(|vector_slots| {
                self.row_steps(block_q, block_kv)
                    .map(move |row_step| Arrangement {
                        block_q,
                        block_kv,
                        stages,
                        probability_slots: PROBABILITY_SLOTS,
                        row_step,
                        vector_slots,
                    })
            })
            .map(|arrangement| (self.model.tile(&arrangement), arrangement))
            .collect();
        found.sort_by(|(one, _), (other, _)| one.bound().1.total_cmp(&other.bound().1));
        found.into_iter().find_map(|(cost, arrangement)| {
            let budget = self.place(&arrangement);
            memory::fits(&budget).then_some(Choice {
                arrangement,
                budget,
                cost,
            })
        })
    }

    /// Numbers of rows that the softmax may take at a time: equal parts of a core's rows, the most first, and the least
    /// that rows come in.
    fn row_steps(&self, block_q: u32, block_kv: u32) -> impl Iterator<Item = u32> + use<> {
        let core_rows = block_q / self.facts.vector_cores;
        let unit = self.facts.block_lanes;
        let most = self.facts.max_repeat / self.facts.groups(block_kv);
        let parts = [1, 2, 3, 4, 6, core_rows / unit];
        let mut steps = parts.map(|parts| core_rows.div_ceil(parts.max(1)).next_multiple_of(unit));
        steps.sort_unstable_by(|a, b| b.cmp(a));
        let mut last = 0;
        steps
            .into_iter()
            .filter(move |rows| *rows <= most && std::mem::replace(&mut last, *rows) != *rows)
    }

    fn place(&self, arrangement: &Arrangement) -> Budget {
        memory::place(
            self.variant,
            self.target,
            &self.ascend,
            &self.facts,
            self.lowered,
            arrangement,
        )
    }

    /// The least that a tile needs: the fewest rows at a time, one slot of everything.
    fn least(&self, block_q: u32, block_kv: u32, stages: u32) -> Budget {
        self.place(&Arrangement {
            block_q,
            block_kv,
            stages,
            probability_slots: PROBABILITY_SLOTS,
            row_step: self.facts.block_lanes,
            vector_slots: 1,
        })
    }

    fn least_fits(&self, block_q: u32, block_kv: u32, stages: u32) -> bool {
        memory::fits(&self.least(block_q, block_kv, stages))
    }

    /// The nearest tile that fits: fewer keys first, then fewer query rows, then fewer stages.
    fn nearest(&self, block_q: u32, block_kv: u32, stages: u32) -> Option<(u32, u32, u32)> {
        let fractal = self.facts.fractal;
        for stages in (1..=stages).rev() {
            for block_q in (fractal..=block_q).rev().step_by(fractal as usize) {
                if !self.least_fits(block_q, fractal, stages) {
                    continue;
                }
                // Need grows with block_kv: the largest that fits lies between one fractal and what was asked for.
                let (mut fits, mut fails) = (1, block_kv / fractal + 1);
                while fails - fits > 1 {
                    let middle = fits.midpoint(fails);
                    if self.least_fits(block_q, middle * fractal, stages) {
                        fits = middle;
                    } else {
                        fails = middle;
                    }
                }
                return Some((block_q, fits * fractal, stages));
            }
        }
        None
    }

    fn does_not_fit(
        &self,
        tile: &TileSpec,
        (block_q, block_kv): (u32, u32),
        stages: u32,
    ) -> Diagnostic {
        let budget = self.least(block_q, block_kv, stages);
        let over: Vec<&MemoryUse> = budget
            .memories
            .iter()
            .filter(|memory| memory.used_bytes() > memory.capacity_bytes)
            .collect();
        let facts: Vec<String> = over
            .iter()
            .map(|memory| memory.overrun(self.target))
            .collect();
        let message = format!(
            "tile {block_q} x {block_kv} does not fit: {}",
            facts.join("; ")
        );
        let nearest = self.nearest(block_q, block_kv, stages);
        let help = match nearest {
            Some((q, kv, stages_that_fit)) => {
                let mut fields = format!("block_q = {q}; block_kv = {kv};");
                if stages_that_fit != stages {
                    fields.push_str(&format!(" stages = {stages_that_fit};"));
                }
                format!(
                    "the nearest tile that fits is `tile {{ {fields} }}`; `tile = auto;` lets the planner choose"
                )
            }
            None => format!(
                "no tile fits head_dim = {} on `{}`: lower `head_dim`, or generate for another target",
                self.facts.head_dim, self.target
            ),
        };
        let mut diagnostic = Diagnostic::error(Code(101), message, help);
        let primary = tile
            .block_kv
            .or(tile.block_q)
            .map(|value| value.span)
            .or(tile.span);
        let label = over
            .iter()
            .filter_map(|memory| memory.largest().map(|largest| (memory, largest)))
            .map(|(memory, largest)| {
                let kib = kib(largest.bytes());
                format!("`{}` alone takes {kib} of {}", largest.name, memory.memory)
            })
            .collect::<Vec<_>>()
            .join(", ");
        diagnostic = diagnostic.at(primary.unwrap_or(self.variant.name.span), label);
        if let (Some(written), Some((_, kv, same_stages))) = (tile.block_kv, nearest)
            && kv != written.value
            && same_stages == stages
            && nearest.map(|(q, ..)| q) == Some(block_q)
        {
            diagnostic = diagnostic.with_patch(written.span, format!("block_kv = {kv}"));
        }
        for memory in over {
            diagnostic = diagnostic.with_note(memory.table());
        }
        diagnostic
    }
}
