//! What the Ascend C templates print: plain fields, every decision and every text ready-made.

use fa_dsl::ir::{ExprId, Node};
use fa_dsl::variant::{Dtype, Layout};
use serde::Serialize;

use super::emit::{self, Lines};
use super::ends_view::EndsView;
use super::lookup_view::{TableView, WindowView, table_views, window_views};
use super::lower::describe::describe;
use super::lower::expand::cpp_type;
use super::lower::names::pascal_case;
use super::lower::program::{Op, Program, Space};
use super::lower::scalar::{Kept, ScalarPrinter, float_literal};
use super::order::LastBarriers;
use super::{Plan, memory, order};
use crate::budget::kib;
use crate::budget::{Buffer, MemoryUse};
use crate::{GENERATOR_VERSION, Provenance};

/// A named constant: `constexpr uint32_t name = value; // role`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) role: String,
}

/// The constants of one memory and its capacity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct MemoryView {
    /// L1, L0A, ...
    pub(super) name: String,
    /// Sizes and offsets of its buffers, bytes.
    pub(super) constants: Vec<Constant>,
    /// Constant that holds the end of the last buffer.
    pub(super) end: String,
    /// The same as it was planned, bytes.
    pub(super) planned_bytes: u64,
    /// Usable bytes of the chip.
    pub(super) capacity_bytes: u64,
    /// How they were counted.
    pub(super) capacity_note: String,
}

/// A function of scalars: only the parameters that its body reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ScalarFn {
    pub(super) params: String,
    /// Arguments at a call in a class that holds `launch_`, with `task` in scope.
    pub(super) member_args: String,
    /// Arguments at a call in the cursor, which holds `launch_` and `task_`.
    pub(super) cursor_args: String,
    pub(super) reads_task: bool,
    /// Whether the body reads a key bound of the tile.
    pub(super) reads_keys: bool,
    pub(super) reads_last_key: bool,
    /// Statements.
    pub(super) body: Vec<String>,
    /// The expression in the spelling of the language; empty where there is none.
    pub(super) note: String,
}

/// A captured tensor or parameter as the tiling struct and the entry point see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Input {
    /// Name in emitted code.
    pub(super) name: String,
    /// C++ element type.
    pub(super) cpp_type: String,
    /// Declaration in the `.fa` file.
    pub(super) note: String,
}

/// Everything `templates/ascendc/*` print.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Kernel {
    pub(super) version: String,
    /// Whether sequences are packed: rows are found through cumulative lengths.
    pub(super) packed: bool,
    pub(super) source: String,
    pub(super) source_sha256: String,
    pub(super) target: String,
    pub(super) compiler_arch: String,
    pub(super) variant: String,
    pub(super) variant_upper: String,
    pub(super) namespace: String,
    pub(super) symbol: String,
    pub(super) guard: String,
    pub(super) folder: String,
    pub(super) kernel_file: String,
    pub(super) tiling_file: String,
    pub(super) launch_file: String,
    pub(super) title: String,
    /// `score = …`, `mask = …`: what the kernel computes beyond plain attention.
    pub(super) formulas: Vec<String>,
    pub(super) budget_lines: Vec<String>,
    pub(super) element: String,
    pub(super) element_name: String,
    pub(super) round_mode: String,
    pub(super) output_element: String,
    pub(super) output_name: String,
    pub(super) rounds_output: bool,
    /// Whether scores and probabilities are rounded to a 16-bit type.
    pub(super) rounds_softmax: bool,
    pub(super) softmax_element: String,
    pub(super) memories: Vec<MemoryView>,
    pub(super) head_dim: u32,
    pub(super) head_dim_pad: u32,
    pub(super) value_dim: u32,
    pub(super) value_dim_pad: u32,
    pub(super) partial_pitch: u32,
    pub(super) block_q: u32,
    pub(super) block_kv: u32,
    pub(super) stages: u32,
    pub(super) sub_rows: u32,
    pub(super) sub_keys: u32,
    pub(super) half_keys: u32,
    pub(super) sub_depth: u32,
    pub(super) sub_values: u32,
    pub(super) core_rows: u32,
    pub(super) key_rows: u64,
    pub(super) row_step: u32,
    pub(super) output_step: u32,
    pub(super) chunk: u32,
    pub(super) chunks: u32,
    pub(super) has_one_chunk: bool,
    pub(super) score_rows: u32,
    pub(super) groups: u32,
    /// Whether cube and vector cores work one after the other.
    pub(super) takes_turns: bool,
    /// Whether Q and K are wider than one product sums over.
    pub(super) splits_depth: bool,
    /// Whether a tile has several blocks of keys, each of whole rows: Q stays in L0A while keys change.
    pub(super) has_key_blocks: bool,
    /// Whether every row's maximum is found anew in every tile.
    pub(super) exact_maximum: bool,
    pub(super) probability_slots: u32,
    /// Whether a tile has more blocks of P than slots, so that one is filled again within a tile.
    pub(super) reuses_probabilities: bool,
    pub(super) vector_slots: u32,
    pub(super) has_vector_ring: bool,
    pub(super) folds_groups: bool,
    /// Whether vector programs keep anything between their steps.
    pub(super) has_temp: bool,
    pub(super) max_matrix_stride: u32,
    pub(super) fractal: u32,
    pub(super) fractal_cols: u32,
    /// Whether Q, K, V and P are fp32: fractals of half the columns, which transpose in pairs.
    pub(super) wide_inputs: bool,
    pub(super) lanes: u32,
    pub(super) block_lanes: u32,
    pub(super) block_bytes: u32,
    pub(super) vector_cores: u32,
    pub(super) gm_align: u32,
    pub(super) workspace_bytes: u64,
    pub(super) scale: String,
    pub(super) fixed_heads: u32,
    pub(super) params: Vec<Input>,
    pub(super) captured: Vec<Input>,
    pub(super) kv_begin: ScalarFn,
    pub(super) kv_end: ScalarFn,
    /// Whether a tile inside the limits may be empty.
    pub(super) has_empty_test: bool,
    pub(super) empty: ScalarFn,
    pub(super) has_mask: bool,
    /// Whether some tiles are known to need no mask.
    pub(super) has_full_test: bool,
    pub(super) full: ScalarFn,
    pub(super) has_dropout: bool,
    pub(super) dropout_threshold: u32,
    /// Share of pairs that dropout keeps.
    pub(super) dropout_keep_rate: String,
    pub(super) dropout_rows: u32,
    /// Whether what follows dropout meets it at work.
    pub(super) dropout_barrier: bool,
    pub(super) has_sink: bool,
    pub(super) sink: ScalarFn,
    pub(super) task_scalars: Vec<ScalarFn>,
    /// Offsets into captured tensors at the start of a task.
    pub(super) task_offsets: Vec<ScalarFn>,
    pub(super) tables: Vec<TableView>,
    pub(super) windows: Vec<WindowView>,
    pub(super) has_windows: bool,
    pub(super) has_tables: bool,
    /// Whether vector code reads captured tensors.
    pub(super) has_loads: bool,
    pub(super) has_row_loads: bool,
    /// Whether elements are copied that take a data block each.
    pub(super) has_block_copies: bool,
    pub(super) has_column_loads: bool,
    pub(super) has_pair_loads: bool,
    pub(super) has_run_loads: bool,
    /// Whether a run is copied into a buffer that may still be read.
    pub(super) runs_meet_reads: bool,
    /// Whether a run is read by the next instruction.
    pub(super) runs_are_read_at_once: bool,
    /// Whether a copy behind the scores is waited for before anything happens to them.
    pub(super) scores_wait_for_copies: bool,
    /// Whether a task's output is divided in several steps, which share the buffer of the factors.
    pub(super) divides_in_steps: bool,
    pub(super) has_cast_blocks: bool,
    pub(super) has_int_sub: bool,
    pub(super) has_tile_gather: bool,
    pub(super) row_uses_share: bool,
    pub(super) has_row_positions: bool,
    pub(super) has_column_positions: bool,
    /// Whether anything is computed at the start of a tile.
    pub(super) has_tile_start: bool,
    pub(super) max_repeat: u32,
    /// Whether the start of a task reads the task.
    pub(super) begin_reads_task: bool,
    /// Whether the counters of the rows are read before another barrier.
    pub(super) row_counters_barrier: bool,
    pub(super) uses_abs: bool,
    pub(super) uses_floor_div: bool,
    pub(super) uses_floor_mod: bool,
    pub(super) uses_wrap_add: bool,
    pub(super) uses_wrap_sub: bool,
    pub(super) uses_wrap_mul: bool,
    pub(super) uses_scale: bool,
    pub(super) uses_counter: bool,
    pub(super) has_uniform: bool,
    pub(super) uniform: Lines,
    pub(super) has_row: bool,
    /// Whether row values read `alignShift_`.
    pub(super) uses_align_shift: bool,
    pub(super) row: Lines,
    pub(super) has_column: bool,
    pub(super) column: Lines,
    pub(super) has_score: bool,
    pub(super) score: Lines,
    pub(super) mask: Lines,
    /// Broadcasting instructions needed over a tile, besides `Sub` and `Mul` and `Div` by row.
    pub(super) tile_ops: Vec<String>,
    pub(super) has_spread: bool,
    pub(super) uses_per_column: bool,
    pub(super) uses_everywhere: bool,
    /// Whether tile tests ask for ends of lines of captured tensors.
    pub(super) has_ends: bool,
    pub(super) ends: EndsView,
}

impl Kernel {
    pub(super) fn new(plan: &Plan, provenance: &Provenance, barriers: LastBarriers) -> Kernel {
        let variant = &plan.variant;
        let name = variant.name.value.clone();
        let target = plan.target.name.clone();
        let ascend = plan.target.ascend().expect("checked when planned");
        let (at, sizes, facts) = (&plan.arrangement, &plan.sizes, &plan.facts);
        let printer = ScalarPrinter::new(&plan.exprs, &plan.names);
        let describe = |id| describe(variant, &plan.exprs, id);
        let int_fn = |id: ExprId| scalar_fn(printer.body(id), String::new());
        let test_fn = |id: ExprId, kept: Kept| {
            let printer = printer.clone().with_ends(&plan.ends, kept);
            scalar_fn(printer.body(id), String::new())
        };
        let ends = EndsView::new(plan, &ascend);
        let lowered = &plan.lowered;
        let analysis = &plan.analysis;
        let is_false = |id: ExprId| *plan.exprs.node(id) == Node::Bool(false);
        let has_mask = !lowered.mask.instrs.is_empty();
        let task_scalars: Vec<ScalarFn> = lowered
            .task_scalars
            .iter()
            .map(|scalar| scalar_fn(returns(&scalar.text), scalar.note.clone()))
            .collect();
        let task_offsets: Vec<ScalarFn> = lowered
            .task_offsets
            .iter()
            .map(|offset| scalar_fn(returns(&offset.text), offset.note.clone()))
            .collect();
        let spread_dtypes = |halves: bool| {
            let tables = lowered
                .tables
                .iter()
                .map(|table| (table.spread, table.dtype));
            let windows = lowered
                .windows
                .iter()
                .map(|window| (window.spread, window.dtype));
            tables
                .chain(windows)
                .any(|(spread, dtype)| spread && (!halves || dtype.bytes() < 4))
        };
        let (spreads, spread_halves) = (spread_dtypes(false), spread_dtypes(true));
        let programs = [
            &lowered.uniform,
            &lowered.row,
            &lowered.column,
            &lowered.score,
            &lowered.mask,
        ];
        let loads_with = |helper: &str| {
            emit::any(
                &programs,
                |op| matches!(op, Op::Load(copy) if copy.helper == helper),
            )
        };
        let sink_fn = variant.sink.map_or_else(
            || scalar_fn(Vec::new(), String::new()),
            |sink| {
                scalar_fn(
                    returns(&printer.print_float(sink.value)),
                    describe(sink.value),
                )
            },
        );
        let [kv_begin, kv_end, empty] = [analysis.kv_begin, analysis.kv_end, analysis.empty]
            .map(|limit| test_fn(limit, Kept::OfTask));
        let full = test_fn(analysis.full, Kept::OfTile);
        let windows = window_views(&lowered.windows, &int_fn);
        let bodies: Vec<String> = [&kv_begin, &kv_end, &empty, &full, &sink_fn]
            .into_iter()
            .chain(
                windows
                    .iter()
                    .flat_map(|window| [&window.first, &window.last]),
            )
            .chain(&task_scalars)
            .chain(&task_offsets)
            .chain(ends.functions())
            .flat_map(|function| function.body.clone())
            .collect();
        let helpers = ScalarPrinter::helpers(&bodies);
        let uses = |name: &str| helpers.contains(&name);
        let [uniform, row, column, score, mask] = [
            emit::lines(Space::Uniform, &lowered.uniform, barriers.uniform),
            emit::lines(Space::Row, &lowered.row, barriers.row),
            emit::lines(Space::Column, &lowered.column, barriers.column),
            emit::lines(Space::Tile, &lowered.score, barriers.score),
            emit::lines(Space::Tile, &lowered.mask, barriers.mask),
        ];
        let tile_programs: [&Program; 2] = [&lowered.score, &lowered.mask];
        let mut tile_ops = emit::broadcast_ops(&tile_programs);
        // The softmax itself subtracts a row's maximum.
        if !tile_ops.contains(&"Sub") {
            tile_ops.insert(0, "Sub");
        }
        let has_spread = emit::spreads(&tile_programs);
        let steps: Vec<&String> = score.steps.iter().chain(&mask.steps).collect();
        let mentions = |word: &str| steps.iter().any(|step| step.contains(word));
        let threshold = variant.dropout.map_or(0, |dropout| dropout.threshold);
        let mut formulas = vec![format!("score = {}", describe(variant.score))];
        if has_mask {
            formulas.push(format!("mask  = {}", describe(variant.mask)));
        }
        if let Some(sink) = variant.sink {
            formulas.push(format!("sink  = {}", describe(sink.value)));
        }
        if let Some(dropout) = variant.dropout {
            formulas.push(format!("dropout = {}, in training launches", dropout.rate));
        }
        Kernel {
            version: GENERATOR_VERSION.to_owned(),
            packed: variant.layout == Layout::Tnd,
            source: provenance.source_name.clone(),
            source_sha256: provenance.source_sha256.clone(),
            compiler_arch: ascend.chip.compiler_arch.clone(),
            variant_upper: name.to_uppercase(),
            workspace_bytes: plan.core_workspace().total(),
            namespace: format!("fa_{name}"),
            symbol: plan.symbol.clone(),
            guard: format!("FA_{}_TILING_H", name.to_uppercase()),
            folder: format!("{name}_{target}"),
            kernel_file: format!("{name}_{target}.cpp"),
            tiling_file: format!("{name}_tiling.h"),
            launch_file: format!("{name}_launch.h"),
            title: title(plan),
            formulas,
            budget_lines: budget_lines(&plan.budget.memories),
            element: cpp_type(variant.precision.qkv).to_owned(),
            element_name: variant.precision.qkv.name().to_owned(),
            round_mode: "CAST_RINT".to_owned(),
            output_element: cpp_type(variant.precision.output).to_owned(),
            output_name: variant.precision.output.name().to_owned(),
            rounds_output: variant.precision.output != Dtype::Fp32,
            rounds_softmax: variant.precision.softmax != Dtype::Fp32,
            softmax_element: cpp_type(variant.precision.softmax).to_owned(),
            memories: plan.budget.memories.iter().map(memory_view).collect(),
            head_dim: facts.head_dim,
            head_dim_pad: facts.head_dim_pad,
            value_dim: facts.value_dim,
            value_dim_pad: facts.value_dim_pad,
            partial_pitch: facts.partial_pitch,
            block_q: at.block_q,
            block_kv: at.block_kv,
            stages: at.stages,
            sub_rows: sizes.sub_rows,
            sub_keys: sizes.sub_keys,
            half_keys: sizes.half_keys,
            sub_depth: sizes.sub_depth,
            sub_values: sizes.sub_values,
            core_rows: sizes.core_rows,
            key_rows: facts.key_rows(at.block_kv),
            row_step: at.row_step,
            output_step: sizes.output_step,
            chunk: sizes.chunk,
            chunks: sizes.chunks,
            has_one_chunk: sizes.chunks == 1,
            score_rows: sizes.score_rows,
            groups: sizes.chunk / facts.lanes,
            takes_turns: at.stages == 1,
            splits_depth: facts.head_dim > sizes.sub_depth,
            has_key_blocks: at.block_kv > sizes.sub_keys && facts.head_dim <= sizes.sub_depth,
            exact_maximum: variant.precision.softmax.bytes() == 2,
            probability_slots: at.probability_slots,
            reuses_probabilities: {
                let rows = at.block_q.div_ceil(sizes.sub_rows);
                let keys = at.block_kv.div_ceil(sizes.sub_keys);
                let columns = facts.value_dim_pad.div_ceil(sizes.sub_values);
                rows * keys * columns > at.probability_slots
            },
            vector_slots: at.vector_slots,
            has_vector_ring: at.vector_slots > 1,
            folds_groups: sizes.chunk > facts.lanes,
            has_temp: plan
                .budget
                .memories
                .iter()
                .any(|memory| memory.buffers.iter().any(|buffer| buffer.name == "temp")),
            max_matrix_stride: ascend.limits.nd2nz_max_row_pitch_elems,
            fractal: facts.fractal,
            fractal_cols: ascend.limits.data_block_bytes / facts.qkv_bytes,
            wide_inputs: variant.precision.qkv == Dtype::Fp32,
            lanes: facts.lanes,
            block_lanes: facts.block_lanes,
            block_bytes: ascend.limits.data_block_bytes,
            vector_cores: facts.vector_cores,
            gm_align: ascend.limits.gm_align_bytes,
            scale: float_literal(variant.scale as f32),
            fixed_heads: variant.heads.unwrap_or(0),
            params: params(plan),
            captured: captured(plan),
            kv_begin,
            kv_end,
            has_empty_test: !is_false(analysis.empty),
            empty,
            has_mask,
            has_full_test: plan.skips_masks(),
            full,
            has_dropout: variant.dropout.is_some(),
            dropout_threshold: threshold,
            dropout_keep_rate: float_literal((65536 - threshold) as f32 / 65536.0),
            dropout_rows: memory::dropout_rows(facts),
            // Probabilities of 16 bits are converted next.
            dropout_barrier: variant.precision.qkv != Dtype::Fp32
                || order::dropout_is_met(
                    lowered,
                    &barriers,
                    plan.skips_masks(),
                    variant.precision.softmax != Dtype::Fp32,
                ),
            has_sink: variant.sink.is_some(),
            begin_reads_task: !lowered.row.instrs.is_empty()
                || !lowered.task_offsets.is_empty()
                || task_scalars
                    .iter()
                    .chain([&sink_fn])
                    .any(|function| function.params.contains("Task")),
            sink: sink_fn,
            tables: table_views(&lowered.tables, barriers.tables),
            has_windows: !windows.is_empty(),
            windows,
            has_tables: !lowered.tables.is_empty(),
            has_loads: !lowered.task_offsets.is_empty(),
            has_row_loads: loads_with("LoadRows"),
            has_block_copies: loads_with("LoadRows") || spreads,
            has_column_loads: loads_with("LoadColumns"),
            has_pair_loads: loads_with("LoadPairs"),
            runs_meet_reads: order::copies_meet_reads(lowered),
            // The index into a window is computed before it is read.
            runs_are_read_at_once: loads_with("LoadColumns")
                || loads_with("LoadPairs")
                || lowered.tables.iter().any(|table| !table.spread)
                || lowered
                    .windows
                    .iter()
                    .any(|window| !window.spread && window.dtype != Dtype::Fp32),
            scores_wait_for_copies: order::scores_wait_for_copies(lowered),
            divides_in_steps: sizes.core_rows > sizes.output_step,
            has_run_loads: loads_with("LoadColumns")
                || loads_with("LoadPairs")
                || lowered.windows.iter().any(|window| !window.spread)
                || lowered.tables.iter().any(|table| !table.spread),
            has_cast_blocks: spread_halves
                || row.steps.iter().any(|step| step.contains("CastBlocks<")),
            has_int_sub: emit::any(&[&lowered.score, &lowered.mask], |op| *op == Op::IntSub),
            has_row_positions: row.steps.iter().any(|step| step.contains("queryOrigin_")),
            has_column_positions: column.steps.iter().any(|step| step.contains("keyOrigin_")),
            has_tile_start: !lowered.column.instrs.is_empty()
                || loads_with("LoadPairs")
                || !lowered.windows.is_empty(),
            max_repeat: facts.max_repeat,
            row_counters_barrier: barriers.row_counters,
            has_tile_gather: emit::any(&[&lowered.score, &lowered.mask], |op| {
                matches!(op, Op::Gather(_) | Op::GatherWindow(_))
            }),
            row_uses_share: row.steps.iter().any(|step| step.contains("share.")),
            task_offsets,
            task_scalars,
            uses_abs: uses("Abs"),
            uses_floor_div: uses("FloorDiv"),
            uses_floor_mod: uses("FloorMod"),
            uses_wrap_add: uses("WrapAdd"),
            uses_wrap_sub: uses("WrapSub"),
            uses_wrap_mul: uses("WrapMul"),
            uses_scale: mentions("kScale"),
            uses_counter: !lowered.row.instrs.is_empty() || !lowered.column.instrs.is_empty(),
            has_uniform: !lowered.uniform.instrs.is_empty(),
            uniform,
            has_row: !lowered.row.instrs.is_empty(),
            uses_align_shift: row.steps.iter().any(|step| step.contains("alignShift_")),
            row,
            has_column: !lowered.column.instrs.is_empty(),
            column,
            has_score: !lowered.score.instrs.is_empty(),
            uses_per_column: mentions("kPerColumn"),
            uses_everywhere: mentions("kEverywhere"),
            score,
            mask,
            tile_ops: tile_ops.into_iter().map(str::to_owned).collect(),
            has_spread,
            has_ends: !plan.ends.is_empty(),
            ends,
            variant: name,
            target,
        }
    }
}

fn title(plan: &Plan) -> String {
    let variant = &plan.variant;
    let layout = match variant.layout {
        Layout::Bnsd | Layout::Bsnd | Layout::Bsh | Layout::Sbh | Layout::Tnd => {
            variant.layout.name()
        }
    };
    format!(
        "Attention variant `{}`, forward, {layout} layout",
        variant.name.value
    )
}

fn params(plan: &Plan) -> Vec<Input> {
    let variant = &plan.variant;
    variant
        .params
        .iter()
        .enumerate()
        .map(|(index, param)| Input {
            name: plan
                .names
                .param_field(fa_dsl::ir::ParamId(index as u32))
                .to_owned(),
            cpp_type: match param.ty {
                fa_dsl::ir::Type::Int => "int32_t",
                fa_dsl::ir::Type::Float => "float",
                // One 4-byte word at launch, like the others.
                fa_dsl::ir::Type::Bool => "uint32_t",
            }
            .to_owned(),
            note: format!("param {}", param.name),
        })
        .collect()
}

fn captured(plan: &Plan) -> Vec<Input> {
    let variant = &plan.variant;
    variant
        .tensors
        .iter()
        .enumerate()
        .map(|(index, tensor)| Input {
            name: plan
                .names
                .captured(fa_dsl::ir::TensorId(index as u32))
                .to_owned(),
            cpp_type: cpp_type(tensor.dtype).to_owned(),
            note: format!("tensor {}, {}", tensor.name, tensor.dtype.name()),
        })
        .collect()
}

fn returns(text: &str) -> Vec<String> {
    vec![format!("return {text};")]
}

/// A function that takes what its body reads.
pub(super) fn scalar_fn(body: Vec<String>, note: String) -> ScalarFn {
    let reads = |word: &str| body.iter().any(|line| line.contains(word));
    let mut params = Vec::new();
    let mut args = Vec::new();
    let mut cursor_args = Vec::new();
    for (word, param, arg, cursor_arg) in [
        ("launch.", "const Launch& launch", "launch_", "launch_"),
        ("task.", "const Task& task", "task", "task_"),
        ("kvFirst", "int32_t kvFirst", "kvFirst", "kvFirst"),
        ("kvLast", "int32_t kvLast", "kvLast", "kvLast"),
        ("keyEnds.", "const KeyEnds& keyEnds", "keyEnds_", "keyEnds"),
    ] {
        if reads(word) {
            params.push(param);
            args.push(arg);
            cursor_args.push(cursor_arg);
        }
    }
    ScalarFn {
        params: params.join(", "),
        member_args: args.join(", "),
        cursor_args: cursor_args.join(", "),
        reads_task: reads("task."),
        reads_keys: reads("kvFirst") || reads("kvLast"),
        reads_last_key: reads("kvLast"),
        body,
        note,
    }
}

/// The budget as the table of the file head.
pub(super) fn budget_lines(memories: &[MemoryUse]) -> Vec<String> {
    let mut lines =
        vec!["buffer         memory  copies x rows x cols x bytes        KiB".to_owned()];
    for memory in memories {
        for buffer in &memory.buffers {
            lines.push(format!(
                "{:<15}{:<8}{:>6} x {:>4} x {:>4} x {:<5} {:>10.2}",
                buffer.name,
                memory.memory,
                buffer.copies,
                buffer.rows,
                buffer.cols,
                buffer.elem_bytes,
                buffer.bytes() as f64 / 1024.0
            ));
        }
        lines.push(format!(
            "{:<15}{:<8}{:<29} {:>6} of {}",
            "",
            memory.memory,
            "total",
            kib(memory.used_bytes()),
            kib(memory.capacity_bytes)
        ));
    }
    lines
}

pub(super) fn memory_view(memory: &MemoryUse) -> MemoryView {
    let prefix = pascal_case(&memory.memory.to_lowercase());
    let mut constants = Vec::new();
    let mut end = "0".to_owned();
    let mut end_bytes = 0;
    for buffer in &memory.buffers {
        let gap = buffer.offset_bytes - end_bytes;
        let name = pascal_case(&buffer.name);
        constants.push(Constant {
            name: format!("k{name}Bytes"),
            value: bytes_text(buffer),
            role: format!(
                "{}: {} x {} {}",
                buffer.role, buffer.rows, buffer.cols, buffer.dtype
            ),
        });
        constants.push(Constant {
            name: format!("k{name}At"),
            value: if gap == 0 {
                end
            } else {
                format!("{end} + {gap}")
            },
            role: if gap == 0 {
                String::new()
            } else {
                "in other bank groups than what it meets".to_owned()
            },
        });
        end_bytes = buffer.end_bytes();
        end = if buffer.copies == 1 {
            format!("k{name}At + k{name}Bytes")
        } else {
            format!("k{name}At + {} * k{name}Bytes", buffer.copies)
        };
    }
    MemoryView {
        name: prefix,
        constants,
        end,
        planned_bytes: memory.used_bytes(),
        capacity_bytes: memory.capacity_bytes,
        capacity_note: memory.capacity_note.clone(),
    }
}

/// Bytes of a copy: the product, and what fills it up.
fn bytes_text(buffer: &Buffer) -> String {
    let product = u64::from(buffer.rows) * u64::from(buffer.cols) * u64::from(buffer.elem_bytes);
    if product == buffer.copy_bytes {
        format!("{} * {} * {}", buffer.rows, buffer.cols, buffer.elem_bytes)
    } else {
        let filler = buffer.copy_bytes.saturating_sub(product);
        format!(
            "{} * {} * {} + {filler}",
            buffer.rows, buffer.cols, buffer.elem_bytes
        )
    }
}
