//! What the templates print: plain lists, texts and ready-made bools. Nothing is decided here.

use serde::Serialize;

/// One emitted file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct View {
    /// Lines of the head, each with its leading space.
    pub(super) head_lines: Vec<String>,
    /// `use` lines, sorted.
    pub(super) imports: Vec<String>,
    /// Named constants, in the order of the budget.
    pub(super) constants: Vec<Constant>,
    /// Fields of the launch block.
    pub(super) launch_fields: Vec<LaunchField>,
    /// Whether one pass computes everything; else scores lie in memory between the steps.
    pub(super) fused: bool,
    /// Whether sequences lie packed, one after the other.
    pub(super) packed: bool,
    /// Whether least and greatest elements of captured tensors decide about tiles.
    pub(super) has_extremes: bool,
    /// Lines of captured tensors that are looked at for that.
    pub(super) runs: Vec<String>,
    /// All of them before the first look, in lines.
    pub(super) no_runs: Vec<String>,
    /// Statements that look at them.
    pub(super) scan_lines: Vec<String>,
    /// Size of the launch block.
    pub(super) launch_bytes: u32,
    /// Which element types occur.
    pub(super) elements: Elements,
    /// Type of Q, K and V.
    pub(super) qkv_element: String,
    /// Type of O.
    pub(super) out_element: String,
    /// `*value * weight`, as an element of O.
    pub(super) out_value: String,
    /// Sizes of Q, K, V, O and LSE.
    pub(super) size_lines: Vec<String>,
    /// Captured tensors, in declaration order.
    pub(super) tensors: Vec<TensorView>,
    /// Name of the entry function.
    pub(super) function: String,
    /// The attribute that exports it.
    pub(super) export_attribute: String,
    /// What `pointers` holds, in words.
    pub(super) pointer_lines: Vec<String>,
    /// Alignment of the scratch, bytes.
    pub(super) alignment: u32,
    /// Buffers of the scratch, in address order.
    pub(super) buffers: Vec<BufferView>,
    /// Which optional items are used.
    pub(super) uses: Uses,
    /// Mask and tile tests.
    pub(super) mask: MaskView,
    /// Values that a task shares.
    pub(super) task_values: Vec<Field>,
    /// Whether there are any.
    pub(super) has_task_values: bool,
    /// Values per key column.
    pub(super) columns: Vec<Field>,
    /// Whether there are any.
    pub(super) has_columns: bool,
    /// Instruction-set levels, best first.
    pub(super) levels: Vec<LevelView>,
    /// How queries are loaded.
    pub(super) query: QueryView,
    /// Whether there is a sink.
    pub(super) sink: bool,
    /// Arguments of its score.
    pub(super) sink_args: String,
    /// What rows start with beside their place: the part of the keys, where the first one has a sink.
    pub(super) start_part: &'static str,
    /// Whether there is dropout.
    pub(super) dropout: bool,
    /// Rounding beyond fp32.
    pub(super) round: RoundView,
    /// Functions without a loop over key columns.
    pub(super) scalar_functions: Vec<Function>,
    /// Functions with such a loop.
    pub(super) row_functions: Vec<Function>,
    /// The step that folds a tile.
    pub(super) fold: FoldView,
    /// Query rows of a task.
    pub(super) block_q: u32,
    /// Sizes that the variant fixes.
    pub(super) fixed_sizes: Vec<FixedSize>,
    /// What the entry function returns beside 0, in words.
    pub(super) refusal_phrase: String,
}

/// What a file of unfused steps has beside it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct UnfusedView {
    /// The exported functions.
    pub(super) steps: Vec<StepView>,
    /// The pattern of the loop that divides weights by their sum.
    pub(super) quotient_pattern: &'static str,
    /// What that loop goes over.
    pub(super) quotient_tiles: &'static str,
}

/// An exported step.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StepView {
    /// The variant of `Step`.
    pub(super) name: &'static str,
    /// What it computes.
    pub(super) formula: &'static str,
    /// Name of the function.
    pub(super) function: String,
    /// Its exported name.
    pub(super) symbol: String,
}

/// A named constant.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Constant {
    /// Unit or role.
    pub(super) role: String,
    /// Name.
    pub(super) name: String,
    /// Type.
    pub(super) ty: String,
    /// Value.
    pub(super) value: String,
}

/// A field of the launch block.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LaunchField {
    /// Role.
    pub(super) role: String,
    /// Name.
    pub(super) name: String,
    /// Type.
    pub(super) ty: String,
    /// First byte.
    pub(super) offset: u32,
}

/// Which element types occur, and which are rounded to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Elements {
    /// `f32`.
    pub(super) fp32: bool,
    /// `i32`.
    pub(super) int32: bool,
    /// `Flag`.
    pub(super) boolean: bool,
    /// `Fp16`.
    pub(super) fp16: bool,
    /// `Fp16::rounded`.
    pub(super) fp16_rounding: bool,
    /// `Fp16` is read.
    pub(super) fp16_value: bool,
    /// `Fp16` is what Q, K and V are made of.
    pub(super) fp16_rows: bool,
    /// `Bf16` is what Q, K and V are made of.
    pub(super) bf16_rows: bool,
    /// Either is.
    pub(super) half_rows: bool,
    /// `Bf16`.
    pub(super) bf16: bool,
    /// `Bf16::rounded`.
    pub(super) bf16_rounding: bool,
    /// `Bf16` is read.
    pub(super) bf16_value: bool,
}

/// A captured tensor.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TensorView {
    /// Its field.
    pub(super) name: String,
    /// Its element type.
    pub(super) element: String,
    /// The statement that views it, in lines.
    pub(super) lines: Vec<String>,
    /// The field of the problem of one packed sequence.
    pub(super) sequence_line: String,
}

/// A buffer of the scratch.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BufferView {
    /// Role, a sentence.
    pub(super) role: String,
    /// Name.
    pub(super) name: String,
    /// Type.
    pub(super) ty: String,
    /// The constant that holds its offset.
    pub(super) offset: String,
}

/// A field of a small struct.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Field {
    /// Name.
    pub(super) name: String,
    /// Type.
    pub(super) ty: String,
}

/// Which optional items are used.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Uses {
    /// `Task::q_len`.
    pub(super) q_len: bool,
    /// `Task::kv_len`.
    pub(super) kv_len: bool,
    /// `Task::q_shift`.
    pub(super) q_shift: bool,
    /// `View::at`.
    pub(super) element: bool,
    /// `exp`.
    pub(super) exp: bool,
    /// `tanh`.
    pub(super) tanh: bool,
    /// `sigmoid`.
    pub(super) sigmoid: bool,
    /// `log`.
    pub(super) log: bool,
    /// `floor_div`.
    pub(super) floor_div: bool,
    /// `floor_rem`.
    pub(super) floor_rem: bool,
}

/// Mask and tile tests.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct MaskView {
    /// Arguments of the question for limits.
    pub(super) limit_args: String,
    /// Whether a tile is asked for being full.
    pub(super) has_full: bool,
    /// Arguments of that question.
    pub(super) full_args: String,
    /// Whether a tile is asked for being empty.
    pub(super) has_empty: bool,
    /// Arguments of that question.
    pub(super) empty_args: String,
}

/// An instruction-set level.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LevelView {
    /// Type name.
    pub(super) name: String,
    /// What it is, a sentence.
    pub(super) role: String,
    /// What it is, a phrase.
    pub(super) phrase: String,
    /// Whether it is there only on x86-64 and asked for at run time.
    pub(super) detected: bool,
    /// Features to compile with.
    pub(super) features: String,
    /// The first feature to ask for.
    pub(super) first_feature: String,
    /// Further ones.
    pub(super) other_features: Vec<String>,
    /// The module whose `run` is compiled with the features.
    pub(super) module: String,
    /// Whether sums are.fused always.
    pub(super) fused: bool,
    /// Intrinsics that convert halves; those of `Portable` are not printed.
    pub(super) half: HalfView,
    /// Statements that store `halves`, elements of Q, K or V in a register, as single precision at `values`.
    pub(super) widen_rows: Vec<String>,
    /// Whether it is AVX-512.
    pub(super) avx512: bool,
    /// Whether it is AVX2.
    pub(super) avx2: bool,
    /// Type of `LANES` numbers.
    pub(super) vector: &'static str,
    /// Vectors of columns of the score micro-kernel.
    pub(super) score_vectors: u32,
    /// Keys that are multiplied with `DOT_ROWS` queries at once.
    pub(super) dot_keys: u32,
    /// Vectors of columns of the value micro-kernel.
    pub(super) wide_vectors: u32,
    /// Where columns begin that go by fewer vectors at once.
    pub(super) wide_end: u32,
    /// By how many; 0 where there are none.
    pub(super) narrow_vectors: u32,
    /// The statements that go through the vectors of columns.
    pub(super) value_lines: Vec<String>,
}

/// Names of intrinsics that convert halves, a register at a time.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct HalfView {
    /// Elements of a register of single precision.
    pub(super) lanes: u32,
    /// Loads single precision.
    pub(super) load: &'static str,
    /// Stores single precision.
    pub(super) store: &'static str,
    /// Loads as many halves.
    pub(super) load_halves: &'static str,
    /// Halves to single precision.
    pub(super) widen: &'static str,
    /// Single precision to halves.
    pub(super) narrow: &'static str,
}

/// How queries are loaded.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct QueryView {
    /// Whether they are multiplied by the scale.
    pub(super) scaled: bool,
}

/// Rounding of intermediate values to a narrow type.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct RoundView {
    /// Whether scores and weights are.
    pub(super) softmax: bool,
    /// By this function.
    pub(super) softmax_call: String,
    /// Whether sums are.
    pub(super) accumulate: bool,
    /// By this function.
    pub(super) accumulate_call: String,
    /// As an element type.
    pub(super) accumulate_type: String,
    /// Whether some row of a tile is rounded to fp16.
    pub(super) fp16: bool,
    /// The functions that round a row of a tile.
    pub(super) functions: Vec<RoundFunction>,
}

/// A function that rounds a row of a tile.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RoundFunction {
    /// `fp16` or `bf16`.
    pub(super) dtype: String,
    /// Element type.
    pub(super) element: String,
    /// Whether instruction-set levels differ in how they do it.
    pub(super) by_level: bool,
}

/// A function, in lines.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Function {
    /// Doc comment, head, body, brace.
    pub(super) lines: Vec<String>,
}

/// The step that folds a tile.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FoldView {
    /// Head of the function that weighs a group.
    pub(super) weigh_signature: Vec<String>,
    /// The call of it.
    pub(super) weigh_call: String,
    /// Head of the function that folds a strip.
    pub(super) strip_signature: Vec<String>,
    /// The call of it.
    pub(super) strip_call: String,
    /// The call that computes values per key column.
    pub(super) column_call: Vec<String>,
    /// Whether that call names the task.
    pub(super) column_task: bool,
    /// The calls that apply score and mask to a row.
    pub(super) row_calls: Vec<String>,
}

/// A size that the variant fixes and the launch must agree with.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FixedSize {
    /// Field of the launch block.
    pub(super) field: String,
    /// Constant.
    pub(super) constant: String,
}
