//! Unfused attention of the same variant: three kernels with the whole matrix of scores in global memory between them,
//! fp32 scores and probabilities of the input type. It is what fused kernels are timed against, so each is made well
//! for the chip: products with two slots of every operand, whole rows of scores read and written once on all vector
//! cores. Output only; no LSE is written.

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::variant::{Dtype, Layout, TileSpec, Variant};
use fa_targets::{Memory, Target};

use super::lower::program::{Arg, Program};
use super::view::{Kernel, MemoryView, budget_lines, memory_view};
use super::{Plan, order, render};
use crate::budget::{Budget, Buffer, MemoryUse};
use crate::{GeneratedFile, LengthLimits, Provenance};

/// Slots of UB that rows pass through: one is loaded, one is worked on, one is stored.
const SLOTS: u32 = 3;
/// Events of one kind that a kernel may have in slots of its accumulators.
const MOST_SUMS: u32 = 4;
/// Score columns that score and mask are computed for at a time, where they need more than the scores.
const PIECE: u32 = 2048;
/// Bytes of an fp32 number.
const FP32: u32 = 4;

/// The kernels, decided.
#[derive(Clone, Debug)]
pub struct Unfused {
    plan: Plan,
    sizes: Sizes,
    budget: Budget,
}

/// Which of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfusedStep {
    /// S = Q K^T, on cube cores.
    Scores,
    /// P = softmax(S), on vector cores.
    Softmax,
    /// O = P V, on cube cores.
    Output,
}

impl UnfusedStep {
    /// All, in the order in which they run.
    pub const ALL: [UnfusedStep; 3] = [
        UnfusedStep::Scores,
        UnfusedStep::Softmax,
        UnfusedStep::Output,
    ];

    /// Whether it runs on vector cores.
    pub fn is_vector(self) -> bool {
        self == UnfusedStep::Softmax
    }
}

/// Sizes of tasks and of what on-chip memories hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    sub: u32,
    score_rows: u32,
    score_keys: u32,
    output_rows: u32,
    output_keys: u32,
    sub_values: u32,
    sums: u32,
    slot_elems: u32,
    row_unit: u32,
    rows: u32,
}

/// What the template prints beside the view of the fused kernel.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct UnfusedView {
    kernel_file: String,
    memories: Vec<MemoryView>,
    budget_lines: Vec<String>,
    sub: u32,
    score_rows: u32,
    score_keys: u32,
    output_rows: u32,
    output_sub: u32,
    output_keys: u32,
    sub_values: u32,
    sums: u32,
    slots: u32,
    row_unit: u32,
    rows: u32,
    piece: u32,
    pitch_unit: u32,
    overlap_fractals: u32,
    rounding: &'static str,
    /// Whether the score is computed for all rows at once, or piece by piece.
    score_whole: bool,
    score_pieces: bool,
    has_pieces: bool,
    tests_pieces: bool,
    has_temp: bool,
    kernels: Vec<KernelView>,
}

/// An exported kernel.
#[derive(Clone, Debug, serde::Serialize)]
struct KernelView {
    symbol: String,
    kind: &'static str,
    class_name: &'static str,
}

/// Plans the unfused kernels of a variant for a split-core chip. Tiles are the planner's, whatever the file says.
///
/// # Errors
/// As for the fused kernel; also FA201 for what only that one has: packed sequences, 16-bit softmax, captured
/// elements that follow rows or keys, widths of values that are no whole fractals or exceed the accumulators.
pub fn plan_unfused(variant: &Variant, target: &Target) -> Result<Unfused, Vec<Diagnostic>> {
    let mut variant = variant.clone();
    variant.schedule.tile = TileSpec::default();
    for named in &mut variant.targets {
        named.schedule.tile = TileSpec::default();
    }
    let planned = super::plan(&variant, target)?;
    let crate::Plan::Ascend(plan) = planned.plan else {
        unreachable!("split-core targets give Ascend plans")
    };
    let found = refusals(&plan);
    if !found.is_empty() {
        return Err(found);
    }
    let Some((sizes, budget)) = arrange(&plan) else {
        let widths = format!("heads of {} columns", variant.head_dim);
        return Err(vec![refuse(
            &plan,
            &widths,
            "time a variant of narrower heads",
        )]);
    };
    Ok(Unfused {
        plan: *plan,
        sizes,
        budget,
    })
}

fn refuse(plan: &Plan, feature: &str, help: &str) -> Diagnostic {
    let message = format!(
        "the `{}` backend does not have unfused attention with {feature}",
        plan.target.name
    );
    Diagnostic::error(Code(201), message, help).at(plan.variant.name.span, "asked for here")
}

fn refusals(plan: &Plan) -> Vec<Diagnostic> {
    let (variant, lowered, facts) = (&plan.variant, &plan.lowered, &plan.facts);
    let alone = "the fused kernel is timed alone with `--no-unfused`";
    let follows = !lowered.task_offsets.is_empty();
    [
        (variant.layout == Layout::Tnd, "packed sequences"),
        (
            variant.precision.softmax != Dtype::Fp32,
            "softmax in 16 bits",
        ),
        (follows, "captured elements that follow rows or keys"),
        (
            facts.value_dim != facts.value_dim_pad,
            "rows of V that are no whole fractals",
        ),
    ]
    .into_iter()
    .filter(|(is, _)| *is)
    .map(|(_, feature)| refuse(plan, feature, alone))
    .collect()
}

/// Whether a program needs nothing but the scores, so that it may run over whole rows.
fn is_in_place(program: &Program) -> bool {
    let outer = |arg: &Arg| matches!(arg, Arg::Outer(..));
    program.buffers == 0
        && !program
            .instrs
            .iter()
            .any(|instr| instr.args.iter().any(outer))
}

/// The largest sizes that fit; `None` where none do.
fn arrange(plan: &Plan) -> Option<(Sizes, Budget)> {
    let ascend = plan.target.ascend().expect("checked when planned");
    let facts = &plan.facts;
    let sub = facts.square;
    let sum_bytes = u64::from(sub * sub * FP32);
    let sums = u32::try_from(ascend.memory.l0c.usable_bytes / sum_bytes)
        .ok()?
        .min(MOST_SUMS);
    let sub_values = facts.value_dim_pad.min(sub);
    let columns = facts.value_dim_pad.div_ceil(sub_values);
    if columns > sums {
        return None;
    }
    // Rows in UB are reduced to one number by blocks of lanes, then by blocks of those.
    let row_unit = facts.lanes * facts.block_lanes;
    let most = facts.max_repeat * facts.lanes / row_unit;
    let mut sizes = Sizes {
        sub,
        score_rows: 2 * sub,
        score_keys: 2 * sub,
        output_rows: sub * (sums / columns).min(2),
        output_keys: 2 * sub,
        sub_values,
        sums,
        slot_elems: 0,
        row_unit,
        rows: 0,
    };
    let fits = |sizes: &Sizes, memory: usize| {
        let memory = &place(plan, sizes).memories[memory];
        memory.used_bytes() <= memory.capacity_bytes
    };
    for (rows, keys) in [(2, 2), (2, 1), (1, 1)] {
        (sizes.score_rows, sizes.score_keys) = (rows * sub, keys * sub);
        if fits(&sizes, 0) {
            break;
        }
    }
    if !fits(&sizes, 1) {
        sizes.output_keys = sub;
    }
    for units in (1..=most).rev() {
        sizes.slot_elems = units * row_unit;
        sizes.rows = units.next_multiple_of(facts.block_lanes);
        if fits(&sizes, 5) {
            break;
        }
    }
    let budget = place(plan, &sizes);
    super::memory::fits(&budget).then_some((sizes, budget))
}

/// Places every buffer; the result may exceed the capacities. Products have L1 one after the other.
fn place(plan: &Plan, sizes: &Sizes) -> Budget {
    let ascend = plan.target.ascend().expect("checked when planned");
    let (facts, lowered, memory) = (&plan.facts, &plan.lowered, ascend.memory);
    let qkv = (plan.variant.precision.qkv.name(), facts.qkv_bytes);
    let fp32 = ("fp32", FP32);
    let (width, values) = (facts.head_dim_pad, facts.value_dim_pad);
    let temporaries = match is_in_place(&lowered.score) {
        true => lowered.mask.buffers,
        false => lowered.mask.buffers.max(lowered.score.buffers),
    };
    let counts_rows = u32::from(!lowered.row.instrs.is_empty());
    let counts = u32::from(counts_rows == 1 || !lowered.column.instrs.is_empty());
    let (slot, rows, lanes) = (sizes.slot_elems, sizes.rows, facts.block_lanes);
    let squares = (sizes.sub, sizes.sub);
    let uses = [
        memory_use(
            "L1_qk",
            &memory.l1,
            &[
                (
                    "q_tile",
                    2,
                    (sizes.score_rows, width),
                    qkv,
                    "queries of a task",
                ),
                ("k_tile", 2, (sizes.score_keys, width), qkv, "keys"),
            ],
        ),
        memory_use(
            "L1_pv",
            &memory.l1,
            &[
                ("v_tile", 2, (sizes.output_keys, values), qkv, "values"),
                (
                    "p_tile",
                    2,
                    (sizes.output_rows, sizes.output_keys),
                    qkv,
                    "probabilities",
                ),
            ],
        ),
        memory_use(
            "L0A",
            &memory.l0a,
            &[("left", 2, squares, qkv, "left operands")],
        ),
        memory_use(
            "L0B",
            &memory.l0b,
            &[("right", 2, squares, qkv, "right operands")],
        ),
        memory_use(
            "L0C",
            &memory.l0c,
            &[("sum", sizes.sums, squares, fp32, "accumulators")],
        ),
        memory_use(
            "UB",
            &memory.ub,
            &[
                (
                    "slot",
                    SLOTS,
                    (1, slot),
                    fp32,
                    "rows of scores, probabilities in their place",
                ),
                (
                    "temp",
                    temporaries,
                    (1, PIECE),
                    fp32,
                    "steps of the vector programs",
                ),
                (
                    "folded",
                    1,
                    (1, slot / lanes),
                    fp32,
                    "a number per block of lanes",
                ),
                (
                    "twice",
                    1,
                    (1, slot / facts.lanes),
                    fp32,
                    "a number per block of those",
                ),
                ("row_max", 1, (1, rows), fp32, "maximum of a row"),
                (
                    "row_sum",
                    1,
                    (1, rows),
                    fp32,
                    "sum of a row, then its reciprocal",
                ),
                (
                    "row_part",
                    1,
                    (1, rows),
                    fp32,
                    "a number of a row on its way",
                ),
                (
                    "row_blocks",
                    1,
                    (rows, lanes),
                    fp32,
                    "a row's number, one block each",
                ),
                ("counter", counts, (1, PIECE), fp32, "0, 1, 2, ..."),
                (
                    "row_counter",
                    counts_rows,
                    (rows, lanes),
                    fp32,
                    "0, 1, 2, ..., one block each",
                ),
                (
                    "row_value",
                    lowered.row.buffers,
                    (rows, lanes),
                    fp32,
                    "values of a query row, one block each",
                ),
                (
                    "column_value",
                    lowered.column.buffers,
                    (1, PIECE),
                    fp32,
                    "values of a key row",
                ),
                (
                    "uniform_value",
                    lowered.uniform.buffers,
                    (1, facts.lanes),
                    fp32,
                    "values equal everywhere",
                ),
            ],
        ),
    ];
    Budget {
        target: plan.target.name.clone(),
        memories: uses.into(),
    }
}

/// A buffer to be placed: name, copies, rows and columns, type and its bytes, role.
type Wanted = (
    &'static str,
    u32,
    (u32, u32),
    (&'static str, u32),
    &'static str,
);

/// Places buffers one behind the other, those without copies left out.
fn memory_use(name: &str, memory: &Memory, wanted: &[Wanted]) -> MemoryUse {
    let mut next = 0;
    let wanted = wanted.iter().filter(|(_, copies, ..)| *copies > 0);
    let buffers = wanted.map(|(name, copies, (rows, cols), (dtype, bytes), role)| {
        let copy_bytes = u64::from(*rows) * u64::from(*cols) * u64::from(*bytes);
        let buffer = Buffer {
            name: (*name).to_owned(),
            copies: *copies,
            rows: *rows,
            cols: *cols,
            dtype: (*dtype).to_owned(),
            elem_bytes: *bytes,
            offset_bytes: next,
            copy_bytes: copy_bytes.next_multiple_of(memory.align_bytes),
            role: (*role).to_owned(),
        };
        next = buffer.end_bytes();
        buffer
    });
    MemoryUse {
        memory: name.to_owned(),
        buffers: buffers.collect(),
        capacity_bytes: memory.usable_bytes,
        capacity_note: memory.usable_note.clone(),
    }
}

impl Unfused {
    /// Dimensions of the captured tensors along which elements are neighbours, as in the fused kernel.
    pub fn inner_axes(&self) -> &[usize] {
        self.plan.inner_axes()
    }

    /// The exported symbol of a kernel.
    pub fn symbol(&self, step: UnfusedStep) -> String {
        let word = match step {
            UnfusedStep::Scores => "scores",
            UnfusedStep::Softmax => "softmax",
            UnfusedStep::Output => "output",
        };
        format!("fa_{}_unfused_{word}", self.plan.variant.name.value)
    }

    /// Tasks of a kernel, each for one core at a time.
    pub fn tasks(&self, step: UnfusedStep, planes: u64, q_len: u64, kv_len: u64) -> u64 {
        let rows = match step {
            UnfusedStep::Scores => self.sizes.score_rows.into(),
            UnfusedStep::Output => self.sizes.output_rows.into(),
            UnfusedStep::Softmax => {
                let columns = kv_len.next_multiple_of(self.sizes.row_unit.into()).max(1);
                let rows = u64::from(self.sizes.slot_elems) / columns;
                rows.clamp(1, self.sizes.rows.into())
            }
        };
        planes * q_len.div_ceil(rows)
    }

    /// The longest sequences: a row of scores fits a slot of UB.
    pub fn limits(&self) -> LengthLimits {
        LengthLimits {
            max_len: self.plan.max_len.min(self.sizes.slot_elems),
        }
    }

    /// Where every buffer lies.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Bytes of scores and of probabilities of so many rows, each from an aligned start.
    pub fn workspace_bytes(&self, rows: u64, kv_len: u64) -> [u64; 2] {
        let elems = rows * kv_len.next_multiple_of(self.pitch_unit().into());
        [
            elems * u64::from(FP32),
            elems * u64::from(self.plan.facts.qkv_bytes),
        ]
    }

    /// Columns that rows in global memory are filled up to: they start on full-bandwidth addresses.
    fn pitch_unit(&self) -> u32 {
        let ascend = self.plan.target.ascend().expect("checked when planned");
        ascend.limits.gm_align_bytes / self.plan.facts.qkv_bytes
    }

    /// Prints the kernels and their tiling header; the kernels come first.
    pub fn render(&self, provenance: &Provenance) -> Vec<GeneratedFile> {
        let barriers = order::barriers_everywhere(&self.plan.lowered);
        let kernel = Kernel::new(&self.plan, provenance, barriers);
        let view = self.view(&kernel);
        render::unfused(&kernel, &view)
    }

    fn view(&self, kernel: &Kernel) -> UnfusedView {
        let ascend = self.plan.target.ascend().expect("checked when planned");
        let (sizes, lowered) = (&self.sizes, &self.plan.lowered);
        let score_whole = kernel.has_score && is_in_place(&lowered.score);
        let score_pieces = kernel.has_score && !score_whole;
        let kernel_of = |step| {
            let (kind, class_name) = match step {
                UnfusedStep::Scores => ("KERNEL_TYPE_AIC_ONLY", "ScoreProduct"),
                UnfusedStep::Softmax => ("KERNEL_TYPE_AIV_ONLY", "Softmax"),
                UnfusedStep::Output => ("KERNEL_TYPE_AIC_ONLY", "OutputProduct"),
            };
            KernelView {
                symbol: self.symbol(step),
                kind,
                class_name,
            }
        };
        let holds = |name: &str| {
            let mut buffers = self
                .budget
                .memories
                .iter()
                .flat_map(|memory| &memory.buffers);
            buffers.any(|buffer| buffer.name == name)
        };
        UnfusedView {
            kernel_file: format!("{}_unfused_{}.cpp", kernel.variant, kernel.target),
            memories: self.budget.memories.iter().map(memory_view).collect(),
            budget_lines: budget_lines(&self.budget.memories),
            sub: sizes.sub,
            score_rows: sizes.score_rows,
            score_keys: sizes.score_keys,
            output_rows: sizes.output_rows,
            output_sub: sizes.sub,
            output_keys: sizes.output_keys,
            sub_values: sizes.sub_values,
            sums: sizes.sums,
            slots: SLOTS,
            row_unit: sizes.row_unit,
            rows: sizes.rows,
            piece: PIECE,
            pitch_unit: self.pitch_unit(),
            overlap_fractals: ascend.limits.mmad_overlap_fractals,
            rounding: match self.plan.variant.precision.output {
                Dtype::Fp16 => "F322F16",
                Dtype::Bf16 => "F322BF16",
                _ => "NoQuant",
            },
            score_whole,
            score_pieces,
            has_pieces: score_pieces || kernel.has_mask,
            tests_pieces: kernel.has_full_test && score_pieces,
            has_temp: holds("temp"),
            kernels: UnfusedStep::ALL.map(kernel_of).into(),
        }
    }
}

impl UnfusedView {
    /// Name of the file of the kernels.
    pub(super) fn file(&self) -> &str {
        &self.kernel_file
    }
}
