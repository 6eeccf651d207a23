//! Chooses the tile and its arrangement; explains with FA101 where none fits.

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::span::Spanned;
use fa_dsl::variant::{TileSpec, Variant};
use fa_targets::Ascend;

use super::lower::Lowered;
use super::memory::{self, Arrangement, Facts};
use crate::budget::{Budget, MemoryUse};

/// Tiles that `auto` tries.
const AUTO_BLOCK_KV: [u32; 6] = [512, 256, 128, 64, 32, 16];
const AUTO_BLOCK_Q: [u32; 5] = [256, 128, 64, 32, 16];
const AUTO_STAGES: u32 = 3;

/// Rows that the softmax should take at a time for its instructions to be long; fewer only if nothing else fits.
const GOOD_ROW_STEP: u32 = 32;

/// Slots of a ring whose producer and consumer never wait for one another: one filled, one used, one emptied.
const GOOD_SLOTS: u32 = 3;

/// The tile and everything that depends on it.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) arrangement: Arrangement,
    pub(super) budget: Budget,
}

/// What is fixed while tiles are tried.
pub(super) struct Chooser<'a> {
    pub(super) variant: &'a Variant,
    pub(super) target: &'a str,
    pub(super) ascend: Ascend<'a>,
    pub(super) facts: Facts,
    pub(super) lowered: &'a Lowered,
}

/// What a pair of a tile adds to the traffic through L2 beyond its score and its probability, which every tile
/// exchanges: keys and values (two bytes, read once) are shared by the query rows, partial outputs (four bytes,
/// written and read) by the keys. Only for comparison; scaled so that it is whole.
fn traffic((block_q, block_kv): (u32, u32)) -> u32 {
    const SCALE: u32 = 1 << 16;
    2 * 2 * SCALE / block_q + 2 * 4 * SCALE / block_kv
}

impl Chooser<'_> {
    /// The best arrangement for the tile as far as it is written.
    ///
    /// # Errors
    /// FA101 where no arrangement fits.
    pub(super) fn choose(&self, tile: &TileSpec) -> Result<Choice, Box<Diagnostic>> {
        let written = |value: Option<Spanned<u32>>| value.map(|value| value.value);
        let stages = written(tile.stages).unwrap_or(AUTO_STAGES);
        let all_q = written(tile.block_q).map_or(AUTO_BLOCK_Q.to_vec(), |value| vec![value]);
        let all_kv = written(tile.block_kv).map_or(AUTO_BLOCK_KV.to_vec(), |value| vec![value]);
        let mut tiles: Vec<(u32, u32)> = all_q
            .iter()
            .flat_map(|&block_q| all_kv.iter().map(move |&block_kv| (block_q, block_kv)))
            .collect();
        tiles.sort_by_key(|&tile| traffic(tile));
        for good in [true, false] {
            for &(block_q, block_kv) in &tiles {
                if let Some(choice) = self.arrange(block_q, block_kv, stages, good) {
                    return Ok(choice);
                }
            }
        }
        let smallest = (
            *all_q.last().expect("never empty"),
            *all_kv.last().expect("never empty"),
        );
        Err(Box::new(self.does_not_fit(tile, smallest, stages)))
    }

    /// The best arrangement of one tile: as many rows at a time as fit, and no ring that makes somebody wait if
    /// possible.
    fn arrange(&self, block_q: u32, block_kv: u32, stages: u32, good: bool) -> Option<Choice> {
        let slots = if good {
            vec![GOOD_SLOTS]
        } else {
            vec![GOOD_SLOTS, 2, 1]
        };
        slots
            .into_iter()
            .flat_map(|slots| {
                self.row_steps(block_q, block_kv, good)
                    .map(move |rows| (slots, rows))
            })
            .flat_map(|(vector_slots, row_step)| {
                [GOOD_SLOTS, 2].map(|probability_slots| Arrangement {
                    block_q,
                    block_kv,
                    stages,
                    probability_slots,
                    row_step,
                    vector_slots,
                })
            })
            .map(|arrangement| Choice {
                budget: self.place(&arrangement),
                arrangement,
            })
            .find(|choice| memory::fits(&choice.budget))
    }

    /// Numbers of rows that the softmax may take at a time: equal parts of a core's rows, the most first.
    fn row_steps(
        &self,
        block_q: u32,
        block_kv: u32,
        good: bool,
    ) -> impl Iterator<Item = u32> + use<> {
        let core_rows = block_q / self.facts.vector_cores;
        let unit = self.facts.block_lanes;
        let groups = self.facts.groups(block_kv);
        let most = self.facts.max_repeat / groups;
        let least = if good {
            GOOD_ROW_STEP.min(core_rows)
        } else {
            unit
        };
        (1..=core_rows / unit)
            .map(move |parts| core_rows.div_ceil(parts).next_multiple_of(unit))
            .filter(move |rows| (least..=most).contains(rows))
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
            probability_slots: 2,
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
        let facts: Vec<String> = over.iter().map(|memory| self.overrun(memory)).collect();
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
            diagnostic = diagnostic.with_note(table(memory));
        }
        diagnostic
    }

    fn overrun(&self, memory: &MemoryUse) -> String {
        format!(
            "{} needs {} and `{}` has {} ({} bytes too many)",
            memory.memory,
            kib(memory.used_bytes()),
            self.target,
            kib(memory.capacity_bytes),
            memory.used_bytes() - memory.capacity_bytes
        )
    }
}

/// Bytes as KiB with at most two decimals.
pub(crate) fn kib(bytes: u64) -> String {
    let text = format!("{:.2}", bytes as f64 / 1024.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} KiB")
}

/// The budget of one memory, a line a buffer, the largest marked.
fn table(memory: &MemoryUse) -> String {
    let largest = memory.largest().map(|buffer| buffer.name.clone());
    let mut lines = vec![format!("{} at the least, buffer by buffer:", memory.memory)];
    for buffer in &memory.buffers {
        let mark = if Some(&buffer.name) == largest.as_ref() {
            "  <- largest"
        } else {
            ""
        };
        lines.push(format!(
            "  {:<14}{:>2} x {:>5} x {:>5} {:<5}{:>10} bytes{mark}",
            buffer.name,
            buffer.copies,
            buffer.rows,
            buffer.cols,
            buffer.dtype,
            buffer.bytes()
        ));
    }
    let (used, capacity) = (memory.used_bytes(), memory.capacity_bytes);
    lines.push(format!(
        "  required {used} bytes, available {capacity} ({})",
        memory.capacity_note
    ));
    lines.join("\n")
}
