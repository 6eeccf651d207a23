//! Tables and windows of tables as the kernel template prints them: where their elements are copied, and how they
//! become fp32.

use fa_dsl::ir::ExprId;
use fa_dsl::variant::Dtype;
use serde::Serialize;

use super::emit::BARRIER;
use super::lower::expand::cpp_type;
use super::lower::windows::Window;
use super::lower::{Table, table_step};
use super::view::ScalarFn;

/// A run of captured elements on its way into a buffer of fp32.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Elements {
    pub(super) tensor: String,
    pub(super) cpp_type: String,
    /// The buffer that they are copied to as they lie.
    pub(super) raw: String,
    /// From there to fp32; empty where they are.
    pub(super) steps: Vec<String>,
    pub(super) offset: String,
    pub(super) stride: String,
    /// Whether elements lie apart and take a data block each.
    pub(super) spread: bool,
    pub(super) note: String,
}

/// A table in UB, loaded at the start of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct TableView {
    #[serde(flatten)]
    pub(super) elements: Elements,
    pub(super) len: u32,
}

/// A window of a table in UB, loaded for every chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct WindowView {
    #[serde(flatten)]
    pub(super) elements: Elements,
    /// Bytes from one element to the next.
    pub(super) step: u32,
    /// The least and the greatest index of a chunk.
    pub(super) first: ScalarFn,
    pub(super) last: ScalarFn,
}

/// Where elements lie before their conversion, and the instructions of it. 16-bit elements pass through a buffer that
/// all tables share; bytes start in the one of the table and pass through that as halves.
fn conversion(dtype: Dtype, table: &str, spread: bool, len: &str) -> (String, Vec<String>) {
    const RAW: &str = "kTableRawAt, kTableRawBytes";
    let cpp_type = cpp_type(dtype);
    let count = if spread {
        format!("{len} * kBlockLanes")
    } else {
        len.to_owned()
    };
    let widen = |from: &str| {
        if spread {
            format!("CastBlocks<float, {from}>({table}, Buffer<float>({RAW}), kBlockLanes, {len});")
        } else {
            format!(
                "AscendC::Cast({table}, Buffer<{from}>({RAW}), AscendC::RoundMode::CAST_NONE, {count});"
            )
        }
    };
    match dtype {
        Dtype::Fp32 => (table.to_owned(), Vec::new()),
        Dtype::Int32 => {
            let raw = format!("{table}.ReinterpretCast<{cpp_type}>()");
            let step =
                format!("AscendC::Cast({table}, {raw}, AscendC::RoundMode::CAST_RINT, {count});");
            (raw, vec![step])
        }
        Dtype::Fp16 | Dtype::Bf16 => (format!("Buffer<{cpp_type}>({RAW})"), vec![widen(cpp_type)]),
        Dtype::Bool | Dtype::Int8 => {
            let raw = format!("{table}.ReinterpretCast<{cpp_type}>()");
            let halve = if spread {
                format!(
                    "CastBlocks<half, {cpp_type}>(Buffer<float>({RAW}), {table}, 2 * kBlockLanes, {len});"
                )
            } else {
                format!(
                    "AscendC::Cast(Buffer<half>({RAW}), {raw}, AscendC::RoundMode::CAST_NONE, {count});"
                )
            };
            let steps = vec![
                halve,
                BARRIER.to_owned(),
                widen("half"),
                BARRIER.to_owned(),
                format!(
                    "AscendC::Mins({table}, {table}, 1.0f, {count}); // any byte but 0 is true"
                ),
            ];
            (raw, steps)
        }
    }
}

/// The tables of a kernel; the last of them ends with a barrier or not.
pub(super) fn table_views(tables: &[Table], ends_with_barrier: bool) -> Vec<TableView> {
    // An element that is repeated is written by the vector unit itself, also where it still reads the table before.
    let shares = |table: &Table, next: &Table| {
        table.dtype.bytes() < 4 && next.dtype.bytes() == 2 && !next.spread
    };
    let view = |(at, table): (usize, &Table)| {
        let buffer = format!("Table{at}()");
        let (raw, mut steps) =
            conversion(table.dtype, &buffer, table.spread, &table.len.to_string());
        let needs_barrier = tables
            .get(at + 1)
            .map_or(ends_with_barrier, |next| shares(table, next));
        if needs_barrier {
            steps.push(BARRIER.to_owned());
        }
        TableView {
            elements: Elements {
                tensor: table.tensor.clone(),
                cpp_type: cpp_type(table.dtype).to_owned(),
                raw,
                steps,
                offset: table.offset.clone(),
                stride: table.stride.clone(),
                spread: table.spread,
                note: table.note.clone(),
            },
            len: table.len,
        }
    };
    tables.iter().enumerate().map(view).collect()
}

/// The windows of a kernel.
pub(super) fn window_views(
    windows: &[Window],
    int_fn: &dyn Fn(ExprId) -> ScalarFn,
) -> Vec<WindowView> {
    let view = |(at, window): (usize, &Window)| {
        let buffer = format!("Window{at}()");
        let (raw, mut steps) = conversion(window.dtype, &buffer, window.spread, "count");
        if !steps.is_empty() {
            steps.push(BARRIER.to_owned());
        }
        WindowView {
            elements: Elements {
                tensor: window.tensor.clone(),
                cpp_type: cpp_type(window.dtype).to_owned(),
                raw,
                steps,
                offset: window.offset.clone(),
                stride: window.stride.clone(),
                spread: window.spread,
                note: window.note.clone(),
            },
            step: table_step(window.spread),
            first: int_fn(window.first),
            last: int_fn(window.last),
        }
    };
    windows.iter().enumerate().map(view).collect()
}
