//! What a tile costs each unit of a core: the analytic model by which `tile = auto` compares arrangements.
//!
//! A unit is busy for the sum of its instructions, which it takes one at a time; from one tile to the next, a core is as
//! slow as its busiest unit, or as its share of the L2 cache. A launch adds the tiles of its tasks up, of which the first
//! ones raise the references of all rows, and the way of the last tile through all units. Arrangements are compared by a
//! launch of middling size in which every query sees every key. Numbers come from the `[timing]` table of the target,
//! which the emulator uses too; what the model leaves out is how units wait for one another inside a tile.

use fa_dsl::tiles::{TileClasses, TileKind};
use fa_dsl::variant::Variant;
use fa_targets::{Ascend, Slope, Timing};

use super::lower::Lowered;
use super::lower::program::{Op, Program};
use super::memory::{Arrangement, FP32, Facts, Sizes};

/// Query rows of a core and key rows in the launch by which arrangements are compared: prefill of 4096 tokens in 6
/// heads on 24 cores, say.
const ROWS_OF_CORE: u32 = 1024;
const KEYS: u32 = 4096;

/// Tiles of a task that raise references without a try: no row has met keys before the first, and the second passes the
/// sum of the first too often.
const RAISING_TILES: u32 = 2;

/// What is fixed while arrangements are compared.
#[derive(Clone, Copy)]
pub(super) struct CostModel<'a> {
    pub(super) variant: &'a Variant,
    pub(super) ascend: &'a Ascend<'a>,
    pub(super) timing: &'a Timing,
    pub(super) facts: &'a Facts,
    pub(super) lowered: &'a Lowered,
    /// Whether hardly any tile is known to need no mask.
    pub(super) always_masks: bool,
}

/// Side and tiles of the square by which [`always_masks`] judges, rows, and the share of tiles from which on it holds.
const JUDGED: (u32, u32) = (1024, 128);
const ALWAYS: f64 = 0.9;

/// Whether nearly all tiles that a mask of positions leaves have to apply it; where elements decide, nobody knows.
pub(super) fn always_masks(variant: &Variant) -> bool {
    if !variant.exprs.tensors_read(&[variant.mask]).is_empty() {
        return false;
    }
    let (side, block) = JUDGED;
    let (mut partial, mut full) = (0.0, 0.0);
    let classes = TileClasses::new(variant);
    classes.each((block, block), (side, side), |_, _, kind| match kind {
        TileKind::Partial => partial += 1.0,
        TileKind::Full => full += 1.0,
        TileKind::Empty => {}
    });
    partial > ALWAYS * (partial + full)
}

/// Core cycles that the units are busy with one tile.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct TileCost {
    /// The products.
    pub cube: f64,
    /// Operands on their way to L0A and L0B.
    pub mte1: f64,
    /// Keys, values and probabilities on their way to L1.
    pub mte2_cube: f64,
    /// Sums on their way out of L0C.
    pub fixpipe: f64,
    /// Softmax and output, of one vector core.
    pub vector: f64,
    /// Scores and partial outputs on their way to UB, of one vector core.
    pub mte2_vector: f64,
    /// Probabilities on their way out, of one vector core.
    pub mte3: f64,
    /// The core's share of the L2 cache.
    pub l2: f64,
    /// From the arrival of scores in UB to the departure of probabilities, over the slots that they pass through.
    pub slots: f64,
    /// From the first score of a tile to its last partial output, over the tiles that the cube core is ahead.
    pub latency: f64,
}

impl TileCost {
    /// The units by name.
    pub fn units(&self) -> [(&'static str, f64); 10] {
        [
            ("cube", self.cube),
            ("MTE1", self.mte1),
            ("MTE2 of the cube core", self.mte2_cube),
            ("Fixpipe", self.fixpipe),
            ("vector", self.vector),
            ("MTE2 of a vector core", self.mte2_vector),
            ("MTE3", self.mte3),
            ("L2", self.l2),
            ("slots of a vector core", self.slots),
            ("tiles in flight", self.latency),
        ]
    }

    /// The unit that is busy longest, and its cycles: what lies between two tiles.
    pub fn bound(&self) -> (&'static str, f64) {
        let [first, rest @ ..] = self.units();
        rest.into_iter().fold(
            first,
            |most, unit| if unit.1 > most.1 { unit } else { most },
        )
    }
}

/// Sums up instructions of a vector core.
struct VectorTime<'t> {
    timing: &'t Timing,
    cycles: f64,
}

impl VectorTime<'_> {
    /// So many instructions on which others depend, and the repeats of all of them.
    fn add(&mut self, instructions: u32, repeats: f64, slope: Slope) {
        let start = self.timing.vector_start.value + self.timing.vector_dependent.value;
        self.cycles += f64::from(instructions) * start + repeats * slope.free;
    }
}

impl<'a> CostModel<'a> {
    /// Cycles of the launch by which arrangements are compared.
    pub(super) fn launch(&self, at: &Arrangement) -> f64 {
        self.work(at, ROWS_OF_CORE, KEYS)
    }

    /// Cycles of a core with so many query rows that meet so many keys each.
    pub(super) fn work(&self, at: &Arrangement, rows_of_core: u32, keys: u32) -> f64 {
        let tile = |rows: u32, keys: u32, raises: bool| {
            let part = Arrangement {
                block_q: rows,
                block_kv: keys,
                ..*at
            };
            self.cost(&part, raises).bound().1
        };
        let (whole, rest) = (keys / at.block_kv, keys % at.block_kv);
        let raising = whole.min(RAISING_TILES);
        let task = |rows: u32| {
            let last = if rest == 0 {
                0.0
            } else {
                tile(rows, rest, whole < RAISING_TILES)
            };
            f64::from(raising) * tile(rows, at.block_kv, true)
                + f64::from(whole - raising) * tile(rows, at.block_kv, false)
                + last
        };
        let (tasks, rows) = (rows_of_core / at.block_q, rows_of_core % at.block_q);
        let last = if rows == 0 { 0.0 } else { task(rows) };
        let tasks = f64::from(tasks) * task(at.block_q) + last;
        tasks + self.tile(at).latency * tiles_ahead(at)
    }

    /// What a full tile without a mask costs.
    pub(super) fn tile(&self, at: &Arrangement) -> TileCost {
        self.cost(at, false)
    }

    fn cost(&self, at: &Arrangement, raises: bool) -> TileCost {
        let sizes = self.facts.sizes(at);
        let (score_products, output_products) = self.products(at, &sizes);
        let (score_loads, output_loads) = self.operands(at, &sizes);
        let (vector, mte2_vector) = self.softmax(at, &sizes, raises);
        let [mte2_cube, mte3] = self.copies(at);
        let fixpipe = self.sums(at, &sizes);
        // Operands of one product load while the other multiplies.
        let cube = score_products.max(output_loads) + output_products.max(score_loads);
        let hand_offs = 3.0 * (self.timing.cross_core.value + self.timing.store_latency.value);
        let waits = self.timing.copy_latency_hit.value + self.timing.store_latency.value;
        let steps = sizes.core_rows.div_ceil(at.row_step);
        let looks = if raises || self.is_exact() { 2 } else { 1 };
        let passes = f64::from(looks * steps * sizes.chunks);
        let pass = vector + mte2_vector + mte3 + passes * waits;
        let scores = score_products.max(fixpipe / 2.0);
        let outputs = output_products.max(fixpipe / 2.0);
        let chain = scores + vector + outputs + hand_offs + 2.0 * waits;
        TileCost {
            cube,
            mte1: score_loads + output_loads,
            mte2_cube,
            fixpipe,
            vector,
            mte2_vector,
            mte3,
            l2: self.exchange(at, looks),
            slots: pass / f64::from(at.vector_slots),
            latency: chain / tiles_ahead(at),
        }
    }

    /// Whether every tile raises the references of its rows.
    fn is_exact(&self) -> bool {
        self.variant.precision.softmax.bytes() == 2
    }

    /// Cycles of `Q K^T` and of `P V`.
    fn products(&self, at: &Arrangement, sizes: &Sizes) -> (f64, f64) {
        let facts = self.facts;
        let depth = match facts.qkv_bytes {
            4 => self.timing.mmad_k_fp32,
            _ => self.timing.mmad_k_fp16,
        };
        let product = |rows: u32, columns: u32, sum: u32| {
            let blocks = rows.div_ceil(facts.fractal) * columns.div_ceil(facts.fractal);
            let steps = (f64::from(sum) / depth.value).ceil();
            f64::from(blocks) * steps + self.timing.mmad_queued.value
        };
        let scores = blocks(at.block_q, sizes.score_rows).map(|rows| {
            over(at.block_kv, sizes.sub_keys, |keys| {
                over(facts.head_dim_pad, sizes.sub_depth, |sum| {
                    product(rows, keys, sum)
                })
            })
        });
        let outputs = blocks(at.block_q, sizes.sub_rows).map(|rows| {
            over(at.block_kv, sizes.sub_keys, |keys| {
                over(facts.value_dim_pad, sizes.sub_values, |columns| {
                    product(rows, columns, keys)
                })
            })
        });
        (scores.sum(), outputs.sum())
    }

    /// Cycles in which the operands of both products move from L1 to L0.
    fn operands(&self, at: &Arrangement, sizes: &Sizes) -> (f64, f64) {
        let (timing, facts) = (self.timing, self.facts);
        let load = |rows: u32, columns: u32, rate: f64| {
            let bytes = f64::from(rows) * f64::from(columns) * f64::from(facts.qkv_bytes);
            timing.load_start.value + bytes / rate
        };
        let left = |rows, columns| load(rows, columns, timing.l1_to_l0a.value);
        let right = |rows, columns| load(rows, columns, timing.l1_to_l0b.value);
        let splits_depth = facts.head_dim_pad > sizes.sub_depth;
        let scores = over(at.block_q, sizes.sub_rows, |rows| {
            let keys = over(at.block_kv, sizes.sub_keys, |keys| {
                over(facts.head_dim_pad, sizes.sub_depth, |depth| {
                    let queries = if splits_depth { left(rows, depth) } else { 0.0 };
                    queries + right(keys, depth)
                })
            });
            let once = if splits_depth {
                0.0
            } else {
                left(rows, facts.head_dim_pad)
            };
            once + keys
        });
        let outputs = over(at.block_q, sizes.sub_rows, |rows| {
            over(facts.value_dim_pad, sizes.sub_values, |columns| {
                over(at.block_kv, sizes.sub_keys, |keys| {
                    left(rows, keys) + right(keys, columns)
                })
            })
        });
        (scores, outputs)
    }

    /// Cycles in which Fixpipe moves scores and partial outputs.
    fn sums(&self, at: &Arrangement, sizes: &Sizes) -> f64 {
        let timing = self.timing;
        let whole = self.ascend.limits.gm_align_bytes;
        let moved = |rows: u32, columns: u32, pitch: u32| {
            let aligned = (pitch * FP32).is_multiple_of(whole);
            let slower = if aligned {
                1.0
            } else {
                timing.fixpipe_unaligned.value
            };
            let bytes = f64::from(rows) * f64::from(columns) * f64::from(FP32);
            timing.fixpipe_start.value + slower * bytes / timing.fixpipe_to_gm.value
        };
        let scores = over(at.block_q, sizes.score_rows, |rows| {
            over(at.block_kv, sizes.sub_keys, |keys| {
                moved(rows, keys, at.block_kv)
            })
        });
        let outputs = over(at.block_q, sizes.sub_rows, |rows| {
            over(self.facts.value_dim_pad, sizes.sub_values, |columns| {
                moved(rows, columns, self.facts.partial_pitch)
            })
        });
        scores + outputs
    }

    /// Cycles of MTE2 of the cube core and of MTE3 of a vector core.
    fn copies(&self, at: &Arrangement) -> [f64; 2] {
        let (timing, facts) = (self.timing, self.facts);
        let element = f64::from(facts.qkv_bytes);
        let (rows, keys) = (f64::from(at.block_q), f64::from(at.block_kv));
        let short = |columns: f64, pieces: f64| {
            if columns * element < timing.copy_burst_bytes.value {
                pieces * timing.nd2nz_row.value
            } else {
                0.0
            }
        };
        let width = f64::from(facts.head_dim_pad + facts.value_dim_pad);
        // Probabilities are read once for every part of the value columns.
        let parts = f64::from(facts.value_dim_pad.div_ceil(facts.square));
        let loaded = (keys * width + parts * rows * keys) * element / timing.gm_to_l1_hit.value;
        let blocks = f64::from(at.block_kv.div_ceil(facts.square));
        let short_rows = short(f64::from(facts.head_dim), keys)
            + short(f64::from(facts.value_dim), keys)
            + short(
                f64::from(at.block_kv.min(facts.square)),
                parts * rows * blocks,
            );
        let stored = rows / f64::from(facts.vector_cores) * keys * element;
        [loaded + short_rows, stored / timing.ub_to_gm.value]
    }

    /// Cycles of the vector unit and of MTE2 of a vector core.
    fn softmax(&self, at: &Arrangement, sizes: &Sizes, raises: bool) -> (f64, f64) {
        let (timing, facts, slopes) = (self.timing, self.facts, &self.timing.slopes);
        let rounds = self.is_exact();
        let steps = sizes.core_rows.div_ceil(at.row_step);
        let rows = f64::from(sizes.core_rows);
        let groups = facts.groups(at.block_kv);
        // Lanes that are no keys are computed too.
        let repeats = rows * f64::from(groups * sizes.chunks);
        let chunks = steps * sizes.chunks;
        let mut time = VectorTime {
            timing,
            cycles: 0.0,
        };
        let mut loaded = rows * f64::from(at.block_kv * FP32);
        let mut transform = |time: &mut VectorTime<'_>| {
            loaded += self.program(time, &self.lowered.score, chunks, repeats);
            if self.always_masks {
                loaded += self.program(time, &self.lowered.mask, chunks, repeats);
            }
            if rounds {
                time.add(chunks, repeats, slopes.narrow);
                time.add(chunks, repeats, slopes.widen);
            }
        };
        transform(&mut time);
        time.add(chunks, repeats, slopes.add); // minus the reference
        time.add(chunks, repeats, slopes.exp_fp32);
        time.add(chunks, repeats, slopes.reduce_block);
        time.add(
            chunks - steps,
            repeats / f64::from(facts.block_lanes),
            slopes.add,
        );
        if facts.qkv_bytes == 2 {
            time.add(chunks, repeats, slopes.narrow);
        }
        if rounds {
            time.add(chunks, repeats, slopes.narrow);
            time.add(chunks, repeats, slopes.widen);
        }
        if rounds || raises {
            // The maximum comes first, with the scores once more.
            transform(&mut time);
            loaded += rows * f64::from(at.block_kv * FP32);
            time.add(chunks, repeats, slopes.reduce_block);
            time.add(
                chunks - steps,
                repeats / f64::from(facts.block_lanes),
                slopes.add,
            );
        }
        // From blocks to a number a row, and whether references hold.
        time.add(2 * steps + 8, rows / 4.0, slopes.add);
        let outputs = sizes.core_rows.div_ceil(sizes.output_step);
        let output = rows * f64::from(facts.value_dim_pad);
        time.add(outputs, output / f64::from(facts.lanes), slopes.add);
        if rounds || raises {
            let parts = facts.value_dim_pad.div_ceil(facts.lanes);
            time.add(
                outputs * (1 + parts),
                output / f64::from(facts.lanes),
                slopes.mul,
            );
        }
        loaded += output * f64::from(FP32);
        (time.cycles, loaded / timing.gm_to_ub_hit.value)
    }

    /// Adds the instructions of a program over so many chunks; returns the bytes that it loads.
    fn program(
        &self,
        time: &mut VectorTime<'_>,
        program: &Program,
        chunks: u32,
        repeats: f64,
    ) -> f64 {
        let slopes = &self.timing.slopes;
        let mut loaded = 0.0;
        for instr in &program.instrs {
            let slope = match &instr.op {
                Op::Load(_) => {
                    // The program waits for what it loads.
                    let bytes = repeats * f64::from(self.facts.lanes * FP32);
                    let timing = self.timing;
                    let copy = bytes / timing.gm_to_ub_hit.value;
                    time.cycles += f64::from(chunks) * timing.copy_latency_hit.value + copy;
                    loaded += bytes;
                    continue;
                }
                Op::Unary("Exp") => slopes.exp_fp32,
                Op::Unary("Ln" | "Sqrt") => slopes.root,
                Op::Binary("Div") => slopes.div_fp32,
                Op::Binary("Mul") => slopes.mul,
                Op::Binary(_) | Op::IntSub => slopes.add,
                Op::Unary(_) | Op::Scalar(..) | Op::Fill(_) => slopes.scalar,
                Op::BitBinary(_)
                | Op::BitNot
                | Op::ShiftLeft(_)
                | Op::ShiftRight(_)
                | Op::Spread => slopes.bitwise,
                Op::Round(_) | Op::ToBits => slopes.narrow,
                Op::FromHalf(_) | Op::FromByte | Op::FromInt => slopes.widen,
                Op::Gather(_) | Op::GatherWindow(_) => slopes.gather,
            };
            time.add(chunks, repeats, slope);
        }
        loaded
    }

    /// Cycles of the core's share of L2: scores out and, at every look at them, in; probabilities and partial outputs
    /// out and in; keys and values in.
    fn exchange(&self, at: &Arrangement, looks: u32) -> f64 {
        let (facts, chip) = (self.facts, self.ascend.chip);
        let element = f64::from(facts.qkv_bytes);
        let (rows, keys) = (f64::from(at.block_q), f64::from(at.block_kv));
        let scores = rows * keys * (f64::from((1 + looks) * FP32) + 2.0 * element);
        let partial = 2.0 * rows * f64::from(facts.value_dim_pad * FP32);
        let operands = keys * f64::from(facts.head_dim_pad + facts.value_dim_pad) * element;
        let bytes_per_cycle = self.timing.l2_gbps.value * 1e3
            / f64::from(chip.clock_mhz)
            / f64::from(chip.cube_cores);
        (scores + partial + operands) / bytes_per_cycle
    }
}

/// Tiles that the cube core is ahead of the vector cores: scores of the next ones are ready when partial outputs of this
/// one are. Without any the chain of a tile is what lies between two.
fn tiles_ahead(at: &Arrangement) -> f64 {
    f64::from(at.stages.saturating_sub(1).max(1))
}

/// The sizes of the blocks of a length.
fn blocks(len: u32, block: u32) -> impl Iterator<Item = u32> {
    (0..len.div_ceil(block)).map(move |index| block.min(len - index * block))
}

/// The sum over the blocks of a length.
fn over(len: u32, block: u32, cost: impl Fn(u32) -> f64) -> f64 {
    blocks(len, block).map(cost).sum()
}
