//! Named constants and the scratch of the emitted file, in the order of the budget.

use super::Plan;
use super::functions::Emitted;
use super::launch::{self, fixed_sizes};
use super::layout::{AHEAD_ROWS, ALIGNMENT, FEW_ROWS, LANES, MOST_RUNS, ROWS, RUN, STREAMS, STRIP};
use super::view::{BufferView, Constant};
use crate::budget::Buffer;

pub(super) fn constants(plan: &Plan, emitted: &Emitted) -> Vec<Constant> {
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
        "Query rows of a task, filled up to whole micro-kernels.",
        "Q_ROWS",
        blocking.q_rows,
    );
    size("Query rows whose scores are kept at once.", "STRIP", STRIP);
    size(
        "Most rows that packing keys does not pay for.",
        "FEW_ROWS",
        FEW_ROWS,
    );
    size("Key rows of a packed panel.", "PANEL", blocking.panel);
    size(
        "Width of a query or key row, filled up to whole vectors.",
        "K_COLS",
        blocking.k_cols,
    );
    size(
        "Width of a value row, filled up to whole vectors.",
        "V_COLS",
        blocking.v_cols,
    );
    size("Elements that are worked on side by side.", "LANES", LANES);
    size(
        "Bytes of a line of the cache.",
        "CACHE_LINE_BYTES",
        ALIGNMENT,
    );
    size(
        "Parts of a tile that are read in turn: memory gives more to several streams.",
        "STREAMS",
        STREAMS,
    );
    list.push(constant(
        "Query rows that are multiplied with one key of each stream.",
        "DOT_ROWS",
        "usize",
        "LANES / STREAMS",
    ));
    list.push(constant(
        "Rows that a stream is asked for ahead of its use.",
        "AHEAD",
        "i32",
        &AHEAD_ROWS.to_string(),
    ));
    let mut size = |role: &str, name: &str, value: u32| {
        list.push(constant(role, name, "usize", &value.to_string()));
    };
    if !plan.extremes.lines.is_empty() {
        size(
            "Elements of a captured tensor whose least and greatest are kept.",
            "RUN",
            RUN,
        );
        size(
            "Most runs that a tile test looks at; beyond, it knows nothing.",
            "MOST_RUNS",
            MOST_RUNS,
        );
    }
    let pointers = launch::own_pointers(plan).len() + variant.tensors.len();
    let pointers = u32::try_from(pointers).expect("few tensors");
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
        next = format!("{name} + {}", buffer_shape(plan, buffer).0);
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

/// Elements of a buffer as a product of constants, and its type.
fn buffer_shape(plan: &Plan, buffer: &Buffer) -> (String, String) {
    let matrix = |rows: &str, cols: &str| {
        (
            format!("{rows} * {cols} * 4"),
            format!("[[f32; {cols}]; {rows}]"),
        )
    };
    match buffer.name.as_str() {
        "q_tile" => matrix("Q_ROWS", "K_COLS"),
        "key_rows" => matrix("LANES", "K_COLS"),
        "key_tile" => (
            "BLOCK_KV * HEAD_DIM * 4".to_owned(),
            "[KeyPanel; BLOCK_KV / PANEL]".to_owned(),
        ),
        "value_tile" => ("BLOCK_KV * V_COLS * 4".to_owned(), "ValueTile".to_owned()),
        "s_tile" => matrix("STRIP", "BLOCK_KV"),
        "o_acc" => matrix("Q_ROWS", "V_COLS"),
        "columns" => match plan.column_bytes() {
            1 => ("BLOCK_KV".to_owned(), "Columns".to_owned()),
            bytes => (format!("BLOCK_KV * {bytes}"), "Columns".to_owned()),
        },
        "rescale" => ("STRIP * 4".to_owned(), "[f32; STRIP]".to_owned()),
        _ => ("Q_ROWS * 4".to_owned(), "[f32; Q_ROWS]".to_owned()),
    }
}

pub(super) fn buffers(plan: &Plan) -> Vec<BufferView> {
    plan.budget.memories[0]
        .buffers
        .iter()
        .map(|buffer| {
            let mut role = buffer.role.clone();
            role[..1].make_ascii_uppercase();
            BufferView {
                role: format!("{role}."),
                name: buffer.name.clone(),
                ty: buffer_shape(plan, buffer).1,
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
