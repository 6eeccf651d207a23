//! From a plan to what the templates print.

use fa_dsl::ir::Type;
use fa_dsl::variant::{Dtype, Variant};

use super::Plan;
use super::constants;
use super::functions::{self, Emitted, Source};
use super::launch;
use super::layout::{self, ALIGNMENT, LANES, MOST_VECTORS, STREAMS};
use super::names::snake_case;
use super::text;
use super::view::{
    Elements, Field, HalfView, LevelView, QueryView, RoundFunction, RoundView, Uses, View,
};
use crate::Provenance;

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
        extremes: &plan.extremes,
        scaled_query,
    });
    let name = &variant.name.value;
    let function = format!("fa_{}_forward", snake_case(name));
    let round = rounding(variant);
    let elements = elements(variant, &round);
    let (launch_fields, launch_bytes) = launch::launch_fields(plan);
    View {
        head_lines: head_lines(plan, provenance),
        imports: imports(),
        constants: constants::constants(plan, &emitted),
        launch_fields,
        fused: true,
        packed: plan.is_packed(),
        has_extremes: !plan.extremes.lines.is_empty(),
        runs: plan.hoisted.runs.clone(),
        no_runs: no_runs(&plan.hoisted.runs),
        scan_lines: emitted.scan.clone(),
        launch_bytes,
        elements,
        qkv_element: element(variant.precision.qkv).to_owned(),
        out_element: element(variant.precision.output).to_owned(),
        out_value: rounded(variant.precision.output, "*value * weight"),
        size_lines: launch::size_lines(plan),
        tensors: launch::tensors(plan),
        export_attribute: launch::export_attribute(plan.symbol(), &function),
        function,
        pointer_lines: launch::pointer_lines(plan),
        alignment: ALIGNMENT,
        buffers: constants::buffers(plan),
        uses: uses(&emitted),
        task_values: fields(plan, plan.hoisted.task.iter()),
        has_task_values: !plan.hoisted.task.is_empty(),
        columns: fields(plan, plan.hoisted.columns.iter()),
        has_columns: !plan.hoisted.columns.is_empty(),
        levels: levels(plan),
        query: QueryView {
            scaled: scaled_query,
        },
        sink: variant.sink.is_some(),
        sink_args: emitted.sink_args,
        start_part: if variant.sink.is_some() { "part, " } else { "" },
        dropout: variant.dropout.is_some(),
        round,
        scalar_functions: emitted.scalar,
        row_functions: emitted.row,
        mask: emitted.mask,
        fold: emitted.fold,
        block_q: plan.blocking.block_q,
        fixed_sizes: launch::fixed_sizes(variant),
        refusal_phrase: launch::refusal_phrase(variant),
    }
}

/// Lines of captured tensors before the first look.
fn no_runs(runs: &[String]) -> Vec<String> {
    let fields: Vec<String> = runs
        .iter()
        .map(|name| format!("{name}: Runs::new()"))
        .collect();
    text::struct_literal("Extremes", &fields)
}

/// The type of an element in emitted code.
pub(super) fn element(dtype: Dtype) -> &'static str {
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

/// What counts the parts of a task.
pub(super) const ATOMICS: &str = "use std::sync::atomic::{AtomicU32, Ordering};";

fn imports() -> Vec<String> {
    [
        "#[cfg(target_arch = \"x86_64\")]",
        "use std::arch::x86_64::*;",
        "use std::array;",
        "use std::cell::RefCell;",
        "use std::ffi::c_void;",
        "use std::hint;",
        "use std::mem::offset_of;",
        "use std::ops::Range;",
        "use std::slice;",
        "#[cfg(target_arch = \"x86_64\")]",
        "use std::sync::OnceLock;",
        ATOMICS,
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
        fp16_rows: precision.qkv == Dtype::Fp16,
        bf16_rows: precision.qkv == Dtype::Bf16,
        half_rows: matches!(precision.qkv, Dtype::Fp16 | Dtype::Bf16),
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
                by_level: dtype == Dtype::Fp16,
            });
        }
    }
    RoundView {
        softmax: narrow(precision.softmax),
        softmax_call: rounding_call(precision.softmax),
        accumulate: narrow(precision.accumulate),
        accumulate_call: rounding_call(precision.accumulate),
        accumulate_type: element(precision.accumulate).to_owned(),
        fp16: functions.iter().any(|function| function.by_level),
        functions,
    }
}

/// What rounds a row of a tile.
fn rounding_call(dtype: Dtype) -> String {
    let level = if dtype == Dtype::Fp16 { "::<L>" } else { "" };
    format!("round_to_{}{level}", dtype.name())
}

fn uses(emitted: &Emitted) -> Uses {
    let needs = emitted.needs;
    Uses {
        q_len: needs.q_len,
        kv_len: needs.kv_len,
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

const HALF_512: HalfView = HalfView {
    lanes: 16,
    load: "_mm512_loadu_ps",
    store: "_mm512_storeu_ps",
    load_halves: "_mm256_loadu_si256",
    widen: "_mm512_cvtph_ps",
    narrow: "_mm512_cvtps_ph",
};

const HALF_256: HalfView = HalfView {
    lanes: 8,
    load: "_mm256_loadu_ps",
    store: "_mm256_storeu_ps",
    load_halves: "_mm_loadu_si128",
    widen: "_mm256_cvtph_ps",
    narrow: "_mm256_cvtps_ph",
};

/// Names of the instruction-set levels of a kernel, best ones first.
pub const LEVELS: [&str; 3] = ["avx512", "avx2", "portable"];

/// x86-64 with AVX-512.
const AVX512: [&str; 4] = ["avx512f", "avx512bw", "avx512dq", "avx512vl"];
/// x86-64 with AVX2.
const AVX2: [&str; 3] = ["avx2", "fma", "f16c"];

fn levels(plan: &Plan) -> Vec<LevelView> {
    let blocking = plan.blocking;
    let (panel, columns) = (blocking.panel / LANES, blocking.v_cols / LANES);
    let mut avx512 = detected("Avx512", "x86-64 with AVX-512", &AVX512, LEVELS[0]);
    let groups = columns.div_ceil(MOST_VECTORS);
    let (wide, narrow) = (columns.div_ceil(groups), columns / groups);
    let wide_end = wide * (columns - narrow * groups);
    avx512.avx512 = true;
    avx512.vector = "__m512";
    avx512.half = HALF_512;
    avx512.widen_rows = widen_rows(plan.variant.precision.qkv, "_mm512", "si512", HALF_512);
    avx512.score_vectors = panel;
    avx512.dot_keys = STREAMS;
    avx512.wide_vectors = wide;
    if narrow < wide {
        (avx512.wide_end, avx512.narrow_vectors) = (wide_end, narrow);
        avx512.value_lines = value_lines("Avx512", 0, wide_end, wide);
        let rest = value_lines("Avx512", wide_end, columns, narrow);
        avx512.value_lines.extend(rest);
    } else {
        avx512.value_lines = value_lines("Avx512", 0, columns, wide);
    }
    let phrase = "x86-64 with AVX2, FMA and F16C";
    let mut avx2 = detected("Avx2", phrase, &AVX2, LEVELS[1]);
    avx2.avx2 = true;
    avx2.vector = "[__m256; 2]";
    avx2.widen_rows = widen_rows(plan.variant.precision.qkv, "_mm256", "si256", HALF_256);
    avx2.value_lines = value_lines("Avx2", 0, columns, 1);
    vec![
        avx512,
        avx2,
        LevelView {
            role: "Any processor; on AArch64 the compiler uses NEON.".to_owned(),
            ..level("Portable", "any processor", LEVELS[2])
        },
    ]
}

/// A bfloat16 is the upper half of single precision; halves have an instruction.
fn widen_rows(dtype: Dtype, prefix: &str, integers: &str, half: HalfView) -> Vec<String> {
    let store = half.store;
    if dtype == Dtype::Bf16 {
        vec![
            format!("let bits = {prefix}_slli_epi32::<16>({prefix}_cvtepu16_epi32(halves));"),
            format!("{store}(values, {prefix}_cast{integers}_ps(bits));"),
        ]
    } else {
        vec![format!("{store}(values, {}(halves));", half.widen)]
    }
}

/// Calls of the value micro-kernel for these vectors of columns, `width` at once.
fn value_lines(level: &str, first: u32, last: u32, width: u32) -> Vec<String> {
    let call = |vector: &str| {
        format!(
            "value_columns::<{level}, {width}>(weights, keys, values, {vector}, rescale, outputs);"
        )
    };
    let vectors = match (last - first) / width {
        1 => return vec![call(&first.to_string())],
        _ if width == 1 => format!("{first}..{last}"),
        _ => format!("({first}..{last}).step_by({width})"),
    };
    vec![
        format!("for vector in {vectors} {{"),
        format!("    {}", call("vector")),
        "}".to_owned(),
    ]
}

fn detected(name: &str, phrase: &str, features: &[&str], module: &str) -> LevelView {
    LevelView {
        detected: true,
        features: features.join(","),
        first_feature: features[0].to_owned(),
        other_features: features[1..]
            .iter()
            .map(|name| (*name).to_owned())
            .collect(),
        fused: true,
        ..level(name, phrase, module)
    }
}

/// A level whose micro-kernels take one vector of columns at once.
fn level(name: &str, phrase: &str, module: &str) -> LevelView {
    LevelView {
        name: name.to_owned(),
        role: format!("{phrase}."),
        phrase: phrase.to_owned(),
        detected: false,
        features: String::new(),
        first_feature: String::new(),
        other_features: Vec::new(),
        module: module.to_owned(),
        fused: false,
        half: HALF_256,
        widen_rows: Vec::new(),
        avx512: false,
        avx2: false,
        vector: "Lanes",
        score_vectors: 1,
        dot_keys: 1,
        wide_vectors: 1,
        wide_end: 0,
        narrow_vectors: 0,
        value_lines: Vec::new(),
    }
}
