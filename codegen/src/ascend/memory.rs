//! Places the buffers of the forward kernel in the memories of a split-core chip.

use fa_dsl::variant::Variant;
use fa_targets::{Ascend, Memory};

use super::lower::Lowered;
use super::lower::windows::Window;
use crate::budget::{Budget, Buffer, MemoryUse};

/// Groups of lanes that one pass of the vector programs covers, at most. A choice of ours: two make rows of 512
/// bytes, which copies move at full speed, and leave room for many rows in an instruction.
const MAX_GROUPS: u32 = 2;

/// Bytes of an fp32 number.
pub(super) const FP32: u32 = 4;

/// What the variant and the chip fix before any tile is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Facts {
    pub(super) head_dim: u32,
    pub(super) value_dim: u32,
    /// `head_dim` in whole fractals.
    pub(super) head_dim_pad: u32,
    /// `value_dim` in whole fractals.
    pub(super) value_dim_pad: u32,
    /// fp32 numbers from one row of a partial output in global memory to the next: rows start on full-bandwidth
    /// addresses.
    pub(super) partial_pitch: u32,
    /// Bytes of an element of Q, K, V and P.
    pub(super) qkv_bytes: u32,
    /// Rows of a fractal.
    pub(super) fractal: u32,
    /// Lanes of an fp32 vector instruction.
    pub(super) lanes: u32,
    /// fp32 numbers of a 32-byte block.
    pub(super) block_lanes: u32,
    /// Vector cores of a cube core.
    pub(super) vector_cores: u32,
    /// Side of the largest square that L0A, L0B and L0C all hold twice.
    pub(super) square: u32,
    /// Largest repeat count of a vector instruction.
    pub(super) max_repeat: u32,
}

/// The tile and how it is cut up inside a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Arrangement {
    pub(super) block_q: u32,
    pub(super) block_kv: u32,
    pub(super) stages: u32,
    /// Slots of probabilities in L1.
    pub(super) probability_slots: u32,
    /// Rows that the softmax takes at a time.
    pub(super) row_step: u32,
    /// Slots in UB that scores and partial outputs pass through.
    pub(super) vector_slots: u32,
}

/// Sizes that follow from an arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(super) struct Sizes {
    /// Query rows whose left operand L0A holds.
    pub(super) sub_rows: u32,
    /// Query rows of one Mmad of `Q K^T`: two accumulators of them and one of `P V` share L0C.
    pub(super) score_rows: u32,
    /// Key rows of one Mmad.
    pub(super) sub_keys: u32,
    /// Key rows of the first half of a tile, in whole blocks.
    pub(super) half_keys: u32,
    /// Columns of Q and K that one Mmad sums over.
    pub(super) sub_depth: u32,
    /// Value columns of one Mmad.
    pub(super) sub_values: u32,
    /// Query rows of a vector core.
    pub(super) core_rows: u32,
    /// Rows that the output takes at a time.
    pub(super) output_step: u32,
    /// Score columns of one pass of the vector programs.
    pub(super) chunk: u32,
    /// Passes over a full tile.
    pub(super) chunks: u32,
}

impl Facts {
    pub(super) fn new(variant: &Variant, ascend: &Ascend) -> Facts {
        let fractal = ascend.limits.fractal_rows;
        let qkv_bytes = variant.precision.qkv.bytes();
        let fits = |memory: &Memory, side: u32, bytes: u32| {
            u64::from(2 * side * side * bytes) <= memory.usable_bytes
        };
        let memory = ascend.memory;
        let mut square = fractal;
        while fits(&memory.l0a, 2 * square, qkv_bytes)
            && fits(&memory.l0b, 2 * square, qkv_bytes)
            && fits(&memory.l0c, 2 * square, FP32)
        {
            square *= 2;
        }
        Facts {
            head_dim: variant.head_dim,
            value_dim: variant.v_head_dim,
            head_dim_pad: variant.head_dim.next_multiple_of(fractal),
            value_dim_pad: variant.v_head_dim.next_multiple_of(fractal),
            partial_pitch: variant
                .v_head_dim
                .next_multiple_of(ascend.limits.gm_align_bytes / FP32),
            qkv_bytes,
            fractal,
            lanes: ascend.limits.vector_repeat_bytes / FP32,
            block_lanes: ascend.limits.data_block_bytes / FP32,
            vector_cores: ascend.chip.vector_cores_per_cube_core,
            square,
            max_repeat: ascend.limits.max_repeat,
        }
    }

    /// Groups of lanes that one pass over a tile of so many keys covers.
    pub(super) fn groups(&self, block_kv: u32) -> u32 {
        block_kv.div_ceil(self.lanes).min(MAX_GROUPS)
    }

    /// Query rows whose scores, probabilities and partial outputs are as many bytes of traffic as the keys and values
    /// of the tile that they meet: what a task costs beside its rows.
    pub(super) fn key_rows(&self, block_kv: u32) -> u64 {
        let (keys, element) = (u64::from(block_kv), u64::from(self.qkv_bytes));
        let loaded = keys * u64::from(self.head_dim_pad + self.value_dim_pad) * element;
        let exchanged =
            2 * keys * (u64::from(FP32) + element) + 2 * u64::from(self.value_dim_pad * FP32);
        loaded.div_ceil(exchanged)
    }

    pub(super) fn sizes(&self, at: &Arrangement) -> Sizes {
        let chunk = self.groups(at.block_kv) * self.lanes;
        let chunks = at.block_kv.div_ceil(chunk);
        let sub_rows = at.block_q.min(self.square);
        let sub_keys = at.block_kv.min(self.square);
        let core_rows = at.block_q / self.vector_cores;
        // Factors of these rows, a block each, take the place of folded scores.
        let output_rows = at.row_step * chunk / self.value_dim_pad.max(self.lanes);
        Sizes {
            sub_rows,
            score_rows: (sub_rows / 2).next_multiple_of(self.fractal),
            sub_keys,
            half_keys: (at.block_kv / 2).next_multiple_of(sub_keys),
            sub_depth: self.head_dim_pad.min(self.square),
            sub_values: self.value_dim_pad.min(self.square),
            core_rows,
            output_step: (output_rows / self.block_lanes * self.block_lanes)
                .clamp(self.block_lanes, core_rows),
            chunk,
            chunks,
        }
    }
}

/// Collects the buffers of one memory, each placed behind the last.
struct Placer {
    align: u64,
    buffers: Vec<Buffer>,
    next: u64,
}

impl Placer {
    fn new(memory: &Memory) -> Placer {
        Placer {
            align: memory.align_bytes,
            buffers: Vec::new(),
            next: 0,
        }
    }

    /// Places `copies` of `rows` x `cols` elements; nothing where there are none.
    fn place(
        &mut self,
        name: &str,
        copies: u32,
        (rows, cols): (u32, u32),
        dtype: (&str, u32),
        role: &str,
    ) {
        let copy_bytes =
            (u64::from(rows) * u64::from(cols) * u64::from(dtype.1)).next_multiple_of(self.align);
        if copies == 0 || copy_bytes == 0 {
            return;
        }
        self.buffers.push(Buffer {
            name: name.to_owned(),
            copies,
            rows,
            cols,
            dtype: dtype.0.to_owned(),
            elem_bytes: dtype.1,
            offset_bytes: self.next,
            copy_bytes,
            role: role.to_owned(),
        });
        self.next += u64::from(copies) * copy_bytes;
    }

    /// The same, half a round of bank groups away from what begins a round, and each copy from the one before: an
    /// instruction that reads both finds no two operands in one group.
    fn place_across(
        &mut self,
        round: u64,
        (name, copies): (&str, u32),
        shape: (u32, u32),
        dtype: (&str, u32),
        role: &str,
    ) {
        let half = round / 2;
        let across = |bytes: u64| (bytes + half).next_multiple_of(round) - half;
        let (before, first) = (self.next, across(self.next));
        self.next = first;
        self.place(name, copies, shape, dtype, role);
        match self.buffers.last_mut() {
            Some(buffer) if self.next > first && copies > 1 => {
                buffer.copy_bytes = across(buffer.copy_bytes);
                self.next = first + buffer.bytes();
            }
            _ if self.next == first => self.next = before,
            _ => {}
        }
    }

    fn finish(self, memory: &str, capacity: &Memory) -> MemoryUse {
        MemoryUse {
            memory: memory.to_owned(),
            capacity_bytes: capacity.usable_bytes,
            capacity_note: capacity.usable_note.clone(),
            buffers: self.buffers,
        }
    }
}

/// Places every buffer; the result may exceed the capacities.
pub(super) fn place(
    variant: &Variant,
    target: &str,
    ascend: &Ascend,
    facts: &Facts,
    lowered: &Lowered,
    at: &Arrangement,
) -> Budget {
    let sizes = facts.sizes(at);
    let qkv = (variant.precision.qkv.name(), facts.qkv_bytes);
    Budget {
        target: target.to_owned(),
        memories: vec![
            l1(ascend, facts, &sizes, at, qkv),
            l0a(ascend, &sizes, qkv),
            l0b(ascend, &sizes, qkv),
            l0c(ascend, &sizes),
            ub(variant, ascend, facts, lowered, &sizes, at),
        ],
    }
}

fn l1(
    ascend: &Ascend,
    facts: &Facts,
    sizes: &Sizes,
    at: &Arrangement,
    qkv: (&str, u32),
) -> MemoryUse {
    let mut l1 = Placer::new(&ascend.memory.l1);
    l1.place(
        "q_tile",
        1,
        (at.block_q, facts.head_dim_pad),
        qkv,
        "queries of the task",
    );
    let keys = at.block_kv.next_multiple_of(facts.fractal);
    l1.place(
        "k_tile",
        1,
        (keys, facts.head_dim_pad),
        qkv,
        "keys of the tile",
    );
    l1.place(
        "v_tile",
        1,
        (keys, facts.value_dim_pad),
        qkv,
        "values of the tile",
    );
    l1.place(
        "p_tile",
        at.probability_slots,
        (sizes.sub_rows, sizes.sub_keys),
        qkv,
        "a block of the probabilities",
    );
    l1.finish("L1", &ascend.memory.l1)
}

fn l0a(ascend: &Ascend, sizes: &Sizes, qkv: (&str, u32)) -> MemoryUse {
    let mut l0a = Placer::new(&ascend.memory.l0a);
    let queries = (sizes.sub_rows, sizes.sub_depth);
    l0a.place("q_left", 1, queries, qkv, "queries of a product");
    let probabilities = (sizes.sub_rows, sizes.sub_keys);
    l0a.place(
        "p_left",
        1,
        probabilities,
        qkv,
        "probabilities of a product",
    );
    l0a.finish("L0A", &ascend.memory.l0a)
}

fn l0b(ascend: &Ascend, sizes: &Sizes, qkv: (&str, u32)) -> MemoryUse {
    let mut l0b = Placer::new(&ascend.memory.l0b);
    let keys = (sizes.sub_keys, sizes.sub_depth);
    l0b.place("k_right", 1, keys, qkv, "keys of a product");
    let values = (sizes.sub_keys, sizes.sub_values);
    l0b.place("v_right", 1, values, qkv, "values of a product");
    l0b.finish("L0B", &ascend.memory.l0b)
}

fn l0c(ascend: &Ascend, sizes: &Sizes) -> MemoryUse {
    let fp32 = ("fp32", FP32);
    let mut l0c = Placer::new(&ascend.memory.l0c);
    let scores = (sizes.score_rows, sizes.sub_keys);
    l0c.place("s_sum", 2, scores, fp32, "accumulators of Q K^T");
    let output = (sizes.sub_rows, sizes.sub_values);
    l0c.place("o_sum", 1, output, fp32, "accumulator of P V");
    l0c.finish("L0C", &ascend.memory.l0c)
}

fn ub(
    variant: &Variant,
    ascend: &Ascend,
    facts: &Facts,
    lowered: &Lowered,
    sizes: &Sizes,
    at: &Arrangement,
) -> MemoryUse {
    let fp32 = ("fp32", FP32);
    let columns = sizes.chunk * sizes.chunks;
    let core_rows = sizes.core_rows;
    let lanes = facts.block_lanes;
    let own = u32::from(variant.dropout.is_some() || variant.precision.softmax.bytes() == 2);
    let temporaries = lowered.score.buffers.max(lowered.mask.buffers).max(own);
    let groups = sizes.chunk / facts.lanes;
    let slot_rows = at
        .row_step
        .max((sizes.output_step * facts.value_dim_pad).div_ceil(sizes.chunk));
    let folded = (at.row_step * sizes.chunk / lanes)
        .max(core_rows)
        .max(sizes.output_step * lanes);
    let counts_rows = u32::from(!lowered.row.instrs.is_empty());
    let counts = u32::from(counts_rows == 1 || !lowered.column.instrs.is_empty());
    let mut ub = Placer::new(&ascend.memory.ub);
    let groups_of_banks = ascend.timing.bank_groups.value as u64;
    let round = groups_of_banks * u64::from(ascend.limits.data_block_bytes);
    ub.place(
        "slot",
        at.vector_slots,
        (slot_rows, sizes.chunk),
        fp32,
        "scores, probabilities in their place, partial outputs",
    );
    ub.place_across(
        round,
        ("temp", temporaries),
        (at.row_step, sizes.chunk),
        fp32,
        "steps of the vector programs",
    );
    ub.place_across(
        round,
        ("folded", 2),
        (1, folded),
        fp32,
        "scores on the way to one number a row; factors of the output",
    );
    ub.place_across(
        round,
        ("o_acc", 1),
        (core_rows, facts.value_dim_pad),
        fp32,
        "output of the task, unscaled",
    );
    ub.place(
        "row_blocks",
        1,
        (core_rows * groups, lanes),
        fp32,
        "a row's reference, one block for every group of lanes",
    );
    ub.place(
        "row_max",
        1,
        (1, core_rows),
        fp32,
        "reference of a row: a maximum of its scores",
    );
    ub.place("row_sum", 1, (1, core_rows), fp32, "running sum of a row");
    ub.place("tile_max", 1, (1, core_rows), fp32, "maximum of the tile");
    ub.place("tile_sum", 1, (1, core_rows), fp32, "sum of the tile");
    ub.place(
        "rescale",
        at.stages,
        (1, core_rows),
        fp32,
        "exp(old reference - new reference)",
    );
    ub.place(
        "final_sum",
        at.stages,
        (1, core_rows),
        fp32,
        "divisor of finished rows",
    );
    ub.place(
        "lse",
        1,
        (1, core_rows),
        fp32,
        "log of the sum of exponentials",
    );
    ub.place(
        "counter",
        counts,
        (1, columns.max(core_rows)),
        fp32,
        "0, 1, 2, ...",
    );
    ub.place(
        "row_counter",
        counts_rows,
        (core_rows, lanes),
        fp32,
        "0, 1, 2, ..., one block each",
    );
    ub.place(
        "row_value",
        lowered.row.buffers,
        (core_rows, lanes),
        fp32,
        "values of a query row, one block each",
    );
    ub.place(
        "column_value",
        lowered.column.buffers,
        (1, columns),
        fp32,
        "values of a key row",
    );
    for (index, table) in lowered.tables.iter().enumerate() {
        ub.place(
            &format!("table{index}"),
            1,
            table_shape(facts, table.spread, table.len),
            fp32,
            "a captured table",
        );
    }
    let window_len = |window: &Window| window.len(at.row_step, sizes.chunk);
    for (index, window) in lowered.windows.iter().enumerate() {
        ub.place(
            &format!("window{index}"),
            1,
            table_shape(facts, window.spread, window_len(window)),
            fp32,
            "what a chunk reads of a captured table",
        );
    }
    let narrow = lowered
        .windows
        .iter()
        .filter(|window| window.dtype.bytes() < 4);
    let raw_window = narrow.map(|window| raw_len(facts, window.spread, window_len(window)));
    let raw_lens = lowered
        .tables
        .iter()
        .filter(|table| table.dtype.bytes() < 4)
        .map(|table| raw_len(facts, table.spread, table.len))
        .chain(raw_window);
    ub.place(
        "table_raw",
        1,
        (1, raw_lens.max().unwrap_or(0)),
        ("16-bit", 2),
        "a table before its conversion",
    );
    ub.place(
        "uniform_value",
        lowered.uniform.buffers,
        (1, facts.lanes),
        fp32,
        "values equal everywhere",
    );
    if variant.dropout.is_some() {
        philox(&mut ub, facts, sizes);
    }
    ub.finish("UB", &ascend.memory.ub)
}

/// Rows and columns of a table in UB: elements that lie apart in global memory take a data block each.
fn table_shape(facts: &Facts, spread: bool, len: u32) -> (u32, u32) {
    if spread {
        (len, facts.block_lanes)
    } else {
        (1, len)
    }
}

/// 16-bit elements of the same before their conversion.
fn raw_len(facts: &Facts, spread: bool, len: u32) -> u32 {
    if spread {
        2 * facts.block_lanes * len
    } else {
        len
    }
}

/// Neighbouring keys that share a counter of the dropout generator, one 16-bit limb of its words each.
const DRAWS_PER_COUNTER: u32 = fa_dsl::philox::DRAWS_PER_COUNTER;

/// Query rows whose dropout is drawn at a time: the least that rows come in, for these buffers are many.
pub(super) fn dropout_rows(facts: &Facts) -> u32 {
    facts.block_lanes
}

/// The buffers of the dropout generator.
fn philox(ub: &mut Placer, facts: &Facts, sizes: &Sizes) {
    let int32 = ("int32", FP32);
    let counters = sizes.chunk / DRAWS_PER_COUNTER;
    let rows = dropout_rows(facts);
    ub.place(
        "philox_words",
        2,
        (DRAWS_PER_COUNTER * rows, counters),
        int32,
        "limbs of words, before and after a round",
    );
    ub.place(
        "philox_part",
        2,
        (rows, counters),
        int32,
        "partial products of a round",
    );
    ub.place("philox_index", 1, (1, counters), int32, "0, 1, 2, ...");
}

/// Whether every memory holds what was placed in it.
pub(super) fn fits(budget: &Budget) -> bool {
    budget
        .memories
        .iter()
        .all(|memory| memory.used_bytes() <= memory.capacity_bytes)
}
