//! From a plan to what the templates print.

use fa_dsl::ir::Type;
use fa_dsl::variant::{Dim, Dtype, Size, Tensor, Variant};

use super::Plan;
use super::functions::{self, Emitted, Source};
use super::layout::{self, ALIGNMENT, FEW_ROWS, LANES, ROWS};
use super::names::snake_case;
use super::text;
use super::view::{
    BufferView, Constant, Elements, Field, FixedSize, LaunchField, LevelView, QueryView,
    RoundFunction, RoundView, TensorView, Uses, View,
};
use crate::Provenance;
use crate::budget::Buffer;

/// Fields of the launch block that every kernel has, 208 bytes: name, elements, bytes of one, type, role.
const COMMON_FIELDS: &[(&str, &str, u32, &str)] = &[
    ("batch", "i64", 8, "Sequences."),
    ("heads", "i64", 8, "Query heads."),
    ("kv_heads", "i64", 8, "Key/value heads; divides `heads`."),
    ("q_len", "i64", 8, "Query rows of a sequence."),
    ("kv_len", "i64", 8, "Key rows of a sequence."),
    (
        "q_stride",
        "[i64; 4]",
        32,
        "Strides of Q by sequence, head, row and column.",
    ),
    ("k_stride", "[i64; 4]", 32, "Strides of K."),
    ("v_stride", "[i64; 4]", 32, "Strides of V."),
    ("out_stride", "[i64; 4]", 32, "Strides of O."),
    (
        "lse_stride",
        "[i64; 3]",
        24,
        "Strides of LSE by sequence, head and row.",
    ),
    ("seed", "u64", 8, "Seed of dropout."),
    ("offset", "u32", 4, "Last word of the counter of dropout."),
    ("training", "u32", 4, "1 where dropout acts, else 0."),
];

/// Assembles the view of a plan.
pub(super) fn view(plan: &Plan, provenance: &Provenance) -> View {
    let variant = &plan.variant;
    let dependences = plan.exprs.dependences();
    let scaled_query = plan.scaled_query;
    let emitted = functions::emit(Source {
        variant,
        exprs: &plan.exprs,
        dependences: &dependences,
        hoisted: &plan.hoisted,
        tiles: &plan.tiles,
        scaled_query,
    });
    let name = &variant.name.value;
    let function = format!("fa_{}_forward", snake_case(name));
    let round = rounding(variant);
    let elements = elements(variant, &round);
    let (launch_fields, launch_bytes) = launch_fields(plan);
    View {
        head_lines: head_lines(plan, provenance),
        imports: imports(),
        constants: constants(plan, &emitted),
        launch_fields,
        launch_bytes,
        elements,
        qkv_element: element(variant.precision.qkv).to_owned(),
        out_element: element(variant.precision.output).to_owned(),
        out_value: rounded(variant.precision.output, "*value * weight"),
        tensors: tensors(plan),
        export_attribute: export_attribute(plan.symbol(), &function),
        function,
        pointer_lines: pointer_lines(plan),
        alignment: ALIGNMENT,
        buffers: buffers(plan),
        uses: uses(&emitted),
        task_values: fields(plan, plan.hoisted.task.iter()),
        has_task_values: !plan.hoisted.task.is_empty(),
        columns: fields(plan, plan.hoisted.columns.iter()),
        has_columns: !plan.hoisted.columns.is_empty(),
        levels: levels(plan),
        query: QueryView {
            scaled: scaled_query,
            has_rest: !variant.head_dim.is_multiple_of(LANES),
        },
        sink: variant.sink.is_some(),
        sink_args: emitted.sink_args,
        dropout: variant.dropout.is_some(),
        round,
        scalar_functions: emitted.scalar,
        row_functions: emitted.row,
        mask: emitted.mask,
        fold: emitted.fold,
        block_q: plan.blocking.block_q,
        fixed_sizes: fixed_sizes(variant),
        refusal_phrase: refusal_phrase(variant),
    }
}

/// The type of an element in emitted code.
fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Fp32 => "f32",
        Dtype::Fp16 => "Fp16",
        Dtype::Bf16 => "Bf16",
        Dtype::Int32 => "i32",
        Dtype::Bool => "Flag",
        Dtype::Int8 => unreachable!("refused by the planner"),
    }
}

/// An `f32` expression as an element.
fn rounded(dtype: Dtype, value: &str) -> String {
    match dtype {
        Dtype::Fp16 | Dtype::Bf16 => format!("{}::rounded({value})", element(dtype)),
        _ => value.to_owned(),
    }
}

fn rust_type(ty: Type) -> &'static str {
    match ty {
        Type::Int => "i32",
        Type::Float => "f32",
        Type::Bool => "bool",
    }
}

fn fields<'p>(
    plan: &Plan,
    named: impl Iterator<Item = (&'p fa_dsl::ir::ExprId, &'p String)>,
) -> Vec<Field> {
    named
        .map(|(id, name)| Field {
            name: name.clone(),
            ty: rust_type(plan.exprs.ty(*id)).to_owned(),
        })
        .collect()
}

fn imports() -> Vec<String> {
    [
        "use std::ffi::c_void;",
        "use std::mem::offset_of;",
        "use std::ops::Range;",
        "use std::slice;",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn head_lines(plan: &Plan, provenance: &Provenance) -> Vec<String> {
    let variant = &plan.variant;
    let hash = provenance
        .source_sha256
        .get(..16)
        .unwrap_or(&provenance.source_sha256);
    let source = &provenance.source_name;
    let mut lines = vec![
        format!(
            "Attention `{}`, forward. Written by fa-gen {}; edit {source}, not this file.",
            variant.name.value,
            env!("CARGO_PKG_VERSION")
        ),
        String::new(),
        "```text".to_owned(),
        format!("source     {source}, sha256 {hash}"),
        format!("target     {}", plan.budget.target),
        format!(
            "precision  qkv {}, softmax {}, sums {}, output {}",
            variant.precision.qkv.name(),
            variant.precision.softmax.name(),
            variant.precision.accumulate.name(),
            variant.precision.output.name()
        ),
        format!("layout     {}; any strides", variant.layout.name()),
        String::new(),
    ];
    lines.extend(layout::table(&plan.budget));
    lines.push("```".to_owned());
    lines
        .into_iter()
        .map(|line| {
            if line.is_empty() {
                line
            } else {
                format!(" {}", line.trim_end())
            }
        })
        .collect()
}

fn constants(plan: &Plan, emitted: &Emitted) -> Vec<Constant> {
    let (variant, blocking) = (&plan.variant, plan.blocking);
    let mut list = Vec::new();
    let mut size = |role: &str, name: &str, value: u32| {
        list.push(constant(role, name, "usize", &value.to_string()));
    };
    size("Width of Q and K rows.", "HEAD_DIM", variant.head_dim);
    size("Width of V and O rows.", "V_HEAD_DIM", variant.v_head_dim);
    size("Query rows of a task.", "BLOCK_Q", blocking.block_q);
    size("Key rows of a tile.", "BLOCK_KV", blocking.block_kv);
    size("Query rows of a micro-kernel.", "ROWS", ROWS);
    size(
        "Most rows that packing keys does not pay for.",
        "FEW_ROWS",
        FEW_ROWS,
    );
    size("Key rows that are packed at once.", "PANEL", blocking.panel);
    size(
        "Value rows that are loaded at once.",
        "VALUE_ROWS",
        blocking.value_rows,
    );
    size(
        "Width of a value row, filled up to whole vectors.",
        "V_COLS",
        blocking.v_cols,
    );
    size("Elements that are worked on side by side.", "LANES", LANES);
    size(
        "The axis of rows that their elements lie on.",
        "HEAD_AXIS",
        3,
    );
    let pointers = 5 + u32::try_from(variant.tensors.len()).expect("few tensors");
    size("Pointers of a launch.", "POINTERS", pointers);
    for fixed in fixed_sizes(variant) {
        let value = if fixed.field == "heads" {
            variant.heads
        } else {
            variant.kv_heads
        };
        let role = format!("What the launch must say for `{}`.", fixed.field);
        let value = value.expect("only fixed sizes are listed").to_string();
        list.push(constant(&role, &fixed.constant, "i64", &value));
    }
    let reads_scale = emitted
        .row
        .iter()
        .any(|f| f.lines.iter().any(|line| line.contains("SCALE")));
    if plan.scaled_query || reads_scale {
        let value = format!("{:?}", variant.scale as f32);
        list.push(constant("Score of a unit product.", "SCALE", "f32", &value));
    }
    list.push(constant(
        "Weight of a masked pair: a zero that no exponential gives.",
        "MASKED",
        "f32",
        "-0.0",
    ));
    if let Some(dropout) = variant.dropout {
        let role = "A pair is dropped when its 16-bit number is below.";
        list.push(constant(
            role,
            "DROPOUT_THRESHOLD",
            "u32",
            &dropout.threshold.to_string(),
        ));
        let rescale = 65536.0 / (65536.0 - f64::from(dropout.threshold));
        let value = format!("{:?}", rescale as f32);
        list.push(constant(
            "What a kept weight is multiplied by.",
            "DROPOUT_RESCALE",
            "f32",
            &value,
        ));
    }
    list.extend(offsets(plan));
    list
}

/// First byte of each buffer, as the sum of what lies before it.
fn offsets(plan: &Plan) -> Vec<Constant> {
    let memory = &plan.budget.memories[0];
    let mut list = Vec::new();
    let mut next = "0".to_owned();
    for buffer in &memory.buffers {
        let name = offset_name(buffer);
        let role = format!("First byte of `{}` in the scratch.", buffer.name);
        list.push(constant(&role, &name, "usize", &next));
        next = format!("{name} + {}", buffer_bytes(plan, buffer));
    }
    let all = format!("({next}).next_multiple_of({ALIGNMENT})");
    list.push(constant(
        "Bytes of the scratch of one thread.",
        "SCRATCH_BYTES",
        "usize",
        &all,
    ));
    let l2 = memory.capacity_bytes.to_string();
    list.push(constant(
        "Bytes of the second-level cache of a core.",
        "L2_BYTES",
        "usize",
        &l2,
    ));
    list
}

fn offset_name(buffer: &Buffer) -> String {
    format!("{}_OFFSET", buffer.name.to_uppercase())
}

fn buffer_shape(buffer: &Buffer) -> Option<[&'static str; 2]> {
    Some(match buffer.name.as_str() {
        "q_tile" => ["BLOCK_Q", "HEAD_DIM"],
        "key_rows" => ["PANEL", "HEAD_DIM"],
        "key_panel" => ["HEAD_DIM", "PANEL"],
        "s_tile" => ["BLOCK_Q", "BLOCK_KV"],
        "value_rows" => ["VALUE_ROWS", "V_COLS"],
        "o_acc" => ["BLOCK_Q", "V_COLS"],
        _ => return None,
    })
}

fn buffer_bytes(plan: &Plan, buffer: &Buffer) -> String {
    match buffer_shape(buffer) {
        Some([rows, cols]) => format!("{rows} * {cols} * 4"),
        None if buffer.name == "columns" => {
            format!("BLOCK_KV * {}", plan.column_bytes())
        }
        None => "BLOCK_Q * 4".to_owned(),
    }
}

fn buffers(plan: &Plan) -> Vec<BufferView> {
    plan.budget.memories[0]
        .buffers
        .iter()
        .map(|buffer| {
            let ty = match buffer_shape(buffer) {
                Some([rows, cols]) => format!("[[f32; {cols}]; {rows}]"),
                None if buffer.name == "columns" => "Columns".to_owned(),
                None => "[f32; BLOCK_Q]".to_owned(),
            };
            let mut role = buffer.role.clone();
            role[..1].make_ascii_uppercase();
            BufferView {
                role: format!("{role}."),
                name: buffer.name.clone(),
                ty,
                offset: offset_name(buffer),
            }
        })
        .collect()
}

fn constant(role: &str, name: &str, ty: &str, value: &str) -> Constant {
    Constant {
        role: role.to_owned(),
        name: name.to_owned(),
        ty: ty.to_owned(),
        value: value.to_owned(),
    }
}

/// The launch block: common fields, strides of captured tensors, parameters, padding.
fn launch_fields(plan: &Plan) -> (Vec<LaunchField>, u32) {
    let mut list: Vec<LaunchField> = Vec::new();
    let mut offset = 0;
    let mut push = |name: &str, ty: &str, bytes: u32, role: &str| {
        list.push(LaunchField {
            role: role.to_owned(),
            name: name.to_owned(),
            ty: ty.to_owned(),
            offset,
        });
        offset += bytes;
    };
    for (name, ty, bytes, role) in COMMON_FIELDS {
        push(name, ty, *bytes, role);
    }
    for (tensor, field) in plan.variant.tensors.iter().zip(&plan.hoisted.tensors) {
        let role = format!(
            "Strides of `{}`, outermost first; 0 broadcasts.",
            tensor.name
        );
        push(&format!("{field}_stride"), "[i64; 4]", 32, &role);
    }
    for (param, field) in plan.variant.params.iter().zip(&plan.hoisted.params) {
        let (ty, words) = match param.ty {
            Type::Int => ("i32", "an int"),
            Type::Float => ("f32", "a float"),
            Type::Bool => ("u32", "a bool, 0 or 1"),
        };
        push(
            field,
            ty,
            4,
            &format!("Parameter `{}`, {words}.", param.name),
        );
    }
    if plan.variant.params.len() % 2 == 1 {
        push(
            "padding",
            "u32",
            4,
            "Fills the block up to whole words of 8 bytes.",
        );
    }
    (list, offset)
}

fn tensors(plan: &Plan) -> Vec<TensorView> {
    plan.variant
        .tensors
        .iter()
        .zip(&plan.hoisted.tensors)
        .zip(5..)
        .map(|((tensor, name), pointer)| {
            let args = [
                format!("pointers[{pointer}]"),
                format!("[{}]", sizes(tensor).join(", ")),
                format!("launch.{name}_stride"),
            ];
            TensorView {
                name: name.clone(),
                element: element(tensor.dtype).to_owned(),
                lines: text::call(16, &format!("{name}: View::new"), &args, ","),
            }
        })
        .collect()
}

/// Four sizes; those of axes that a tensor does not have are 1.
fn sizes(tensor: &Tensor) -> Vec<String> {
    let mut list: Vec<String> = tensor.dims.iter().map(size).collect();
    list.resize(4, "1".to_owned());
    list
}

fn size(dim: &Dim) -> String {
    let mut terms: Vec<String> = dim
        .sizes
        .iter()
        .map(|size| {
            match size {
                Size::B => "batch",
                Size::H => "heads",
                Size::KvH => "kv_heads",
                Size::QLen => "q_len",
                Size::KvLen => "kv_len",
            }
            .to_owned()
        })
        .collect();
    let sign = if dim.constant < 0 { "-" } else { "+" };
    match (terms.is_empty(), dim.constant) {
        (true, constant) => constant.to_string(),
        (false, 0) => terms.join(" + "),
        (false, constant) => {
            let last = terms.pop().expect("not empty");
            terms.push(format!("{last} {sign} {}", constant.unsigned_abs()));
            terms.join(" + ")
        }
    }
}

fn elements(variant: &Variant, round: &RoundView) -> Elements {
    let precision = variant.precision;
    let occurs = |dtype| variant.tensors.iter().any(|tensor| tensor.dtype == dtype);
    let reads = |dtype| precision.qkv == dtype || occurs(dtype);
    let narrows = |dtype| {
        let element = element(dtype);
        round
            .functions
            .iter()
            .any(|function| function.element == element)
            || (round.accumulate && round.accumulate_type == element)
    };
    let fp16_value = reads(Dtype::Fp16) || narrows(Dtype::Fp16);
    let bf16_value = reads(Dtype::Bf16) || narrows(Dtype::Bf16);
    let fp16_rounding = precision.output == Dtype::Fp16 || narrows(Dtype::Fp16);
    let bf16_rounding = precision.output == Dtype::Bf16 || narrows(Dtype::Bf16);
    Elements {
        fp32: reads(Dtype::Fp32),
        int32: occurs(Dtype::Int32),
        boolean: occurs(Dtype::Bool),
        fp16: fp16_value || fp16_rounding,
        fp16_rounding,
        fp16_value,
        bf16: bf16_value || bf16_rounding,
        bf16_rounding,
        bf16_value,
    }
}

fn rounding(variant: &Variant) -> RoundView {
    let precision = variant.precision;
    let narrow = |dtype| dtype != Dtype::Fp32;
    let mut functions: Vec<RoundFunction> = Vec::new();
    for dtype in [precision.accumulate, precision.softmax] {
        let known = functions
            .iter()
            .any(|function| function.dtype == dtype.name());
        if narrow(dtype) && !known {
            functions.push(RoundFunction {
                dtype: dtype.name().to_owned(),
                element: element(dtype).to_owned(),
            });
        }
    }
    RoundView {
        softmax: narrow(precision.softmax),
        softmax_type: precision.softmax.name().to_owned(),
        accumulate: narrow(precision.accumulate),
        accumulate_name: precision.accumulate.name().to_owned(),
        accumulate_type: element(precision.accumulate).to_owned(),
        functions,
    }
}

fn uses(emitted: &Emitted) -> Uses {
    let needs = emitted.needs;
    Uses {
        q_len: needs.q_len,
        q_shift: needs.q_shift,
        element: needs.element,
        exp: needs.helpers.exp,
        tanh: needs.helpers.tanh,
        sigmoid: needs.helpers.sigmoid,
        log: needs.helpers.log,
        floor_div: needs.helpers.floor_div,
        floor_rem: needs.helpers.floor_rem,
    }
}

fn levels(plan: &Plan) -> Vec<LevelView> {
    let wide = |cols: u32, limit: u32| {
        if cols.is_multiple_of(limit) {
            limit
        } else {
            LANES
        }
    };
    let score = |limit: u32| wide(plan.blocking.panel, limit);
    let value = |limit: u32| wide(plan.blocking.v_cols, limit);
    let detected =
        |name: &str, phrase: &str, features: &[&str], function: &str, columns: u32| LevelView {
            name: name.to_owned(),
            role: format!("{phrase}."),
            phrase: phrase.to_owned(),
            detected: true,
            features: features.join(","),
            first_feature: features[0].to_owned(),
            other_features: features[1..]
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            function: function.to_owned(),
            fused: true,
            score_columns: score(columns),
            value_columns: value(columns),
        };
    let avx512 = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];
    let avx2 = ["avx2", "fma", "f16c"];
    vec![
        detected("Avx512", "x86-64 with AVX-512", &avx512, "run_avx512", 32),
        detected(
            "Avx2",
            "x86-64 with AVX2, FMA and F16C",
            &avx2,
            "run_avx2",
            16,
        ),
        LevelView {
            name: "Portable".to_owned(),
            role: "Any processor; on AArch64 the compiler uses NEON.".to_owned(),
            phrase: "any processor".to_owned(),
            detected: false,
            features: String::new(),
            first_feature: String::new(),
            other_features: Vec::new(),
            function: "run_tasks".to_owned(),
            fused: false,
            score_columns: 8,
            value_columns: 8,
        },
    ]
}

fn fixed_sizes(variant: &Variant) -> Vec<FixedSize> {
    [("heads", variant.heads), ("kv_heads", variant.kv_heads)]
        .into_iter()
        .filter(|(_, fixed)| fixed.is_some())
        .map(|(field, _)| FixedSize {
            field: field.to_owned(),
            constant: field.to_uppercase(),
        })
        .collect()
}

fn refusal_phrase(variant: &Variant) -> String {
    let fields: Vec<String> = fixed_sizes(variant)
        .into_iter()
        .map(|fixed| format!("`{}`", fixed.field))
        .collect();
    if fields.is_empty() {
        return String::new();
    }
    format!(", or 1 where {} is not as compiled in", fields.join(" or "))
}

fn pointer_lines(plan: &Plan) -> Vec<String> {
    let mut names = vec!["q", "k", "v", "out", "lse"];
    names.extend(
        plan.variant
            .tensors
            .iter()
            .map(|tensor| tensor.name.as_str()),
    );
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let text = format!(
        "`pointers` holds {}; `lse` may be null. Any split of the tasks over threads gives the same bits. \
         Returns 0{}.",
        list.join(", "),
        refusal_phrase(&plan.variant)
    );
    text::comment("/// ", &text)
}

fn export_attribute(symbol: &str, function: &str) -> String {
    if symbol == function {
        "#[unsafe(no_mangle)]".to_owned()
    } else {
        format!("#[unsafe(export_name = \"{symbol}\")]")
    }
}
