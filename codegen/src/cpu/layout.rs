//! Tile sizes and the buffers of one thread, from the cache sizes of the target.
//!
//! The model is simple. A task keeps its query rows, its output sums and one packed tile of keys and values in the
//! second-level cache. A strip of a few rows at a time is folded with the tile, so that its scores and one panel
//! of keys or values stay in the first-level cache. Tall query blocks amortise the packing, long tiles amortise
//! what a strip costs beside its products, so `tile = auto` takes the largest of both whose scratch fits. A
//! written tile that does not fit is refused with FA101, as on any other target, and the emitted file asserts
//! the same sum.

use fa_dsl::diagnostic::{Code, Diagnostic};
use fa_dsl::span::Spanned;
use fa_dsl::variant::TileSpec;
use fa_targets::Cpu;

use crate::budget::{Budget, Buffer, MemoryUse, kib};

/// Query rows that a micro-kernel works on at once.
pub(super) const ROWS: u32 = 6;
/// Query rows whose scores are kept at once, a few groups.
pub(super) const STRIP: u32 = 24;
/// Up to so many query rows are multiplied with keys as they lie; packing keys pays for more rows only.
pub(super) const FEW_ROWS: u32 = 8;
/// Streams of memory that keys and values are read in.
pub(super) const STREAMS: u32 = 4;
/// Rows that each stream is asked for ahead of their use.
pub(super) const AHEAD_ROWS: u32 = 8;
/// Elements of a captured tensor whose least and greatest are kept: short beside a tile, many beside a pair.
pub(super) const RUN: u32 = 64;
/// Runs that a tile test looks at: those of a tile as long as any, and not of a whole tensor.
pub(super) const MOST_RUNS: u32 = 128;
/// Elements of the widest vector register.
pub(super) const LANES: u32 = 16;
/// Scratch starts at, and its buffers are multiples of, this many bytes: the widest vector register.
pub(super) const ALIGNMENT: u32 = 64;
/// Most vectors of columns that a micro-kernel works on at once: their sums and operands fill the registers.
pub(super) const MOST_VECTORS: u32 = 4;
/// Query rows that `tile = auto` starts from.
const AUTO_BLOCK_Q: u32 = 384;
/// Key rows that it starts from.
const AUTO_BLOCK_KV: u32 = 256;
/// Smallest block, and the step that blocks are multiples of.
const MIN_ROWS: u32 = 16;

/// Decided sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocking {
    /// Query rows of a task.
    pub(super) block_q: u32,
    /// Key rows of a tile.
    pub(super) block_kv: u32,
    /// Query rows of a task, filled up to whole groups.
    pub(super) q_rows: u32,
    /// Key rows of a packed panel.
    pub(super) panel: u32,
    /// Width of a query or key row in scratch.
    pub(super) k_cols: u32,
    /// Width of a value row in scratch.
    pub(super) v_cols: u32,
}

/// What scratch depends on beside the blocking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Width of Q and K rows.
    pub(super) head_dim: u32,
    /// Width of V and O rows.
    pub(super) v_head_dim: u32,
    /// Bytes per key column that hoisted values take, and their number.
    pub(super) column_bytes: u32,
    /// Number of hoisted values per key column.
    pub(super) column_count: u32,
}

impl Blocking {
    /// Panels follow from the tile.
    fn new(block_q: u32, block_kv: u32, shape: Shape) -> Blocking {
        let tile_vectors = block_kv / LANES;
        let vectors = (1..=MOST_VECTORS).rev();
        let vectors = vectors.filter(|vectors| tile_vectors.is_multiple_of(*vectors));
        Blocking {
            block_q,
            block_kv,
            q_rows: block_q.next_multiple_of(ROWS),
            panel: vectors.max().unwrap_or(1) * LANES,
            k_cols: shape.head_dim.next_multiple_of(LANES),
            v_cols: shape.v_head_dim.next_multiple_of(LANES),
        }
    }
}

/// Chooses the tile and places the buffers.
pub(super) fn choose(
    written: &TileSpec,
    shape: Shape,
    cpu: &Cpu,
    target: &str,
) -> Result<(Blocking, Budget), Box<Diagnostic>> {
    let (blocking, fits) = largest_that_fits(written, shape, cpu);
    let budget = budget(blocking, shape, cpu, target);
    if fits {
        return Ok((blocking, budget));
    }
    Err(Box::new(too_large(written, shape, cpu, &budget)))
}

/// Halves what is left to the planner until the scratch fits.
fn largest_that_fits(written: &TileSpec, shape: Shape, cpu: &Cpu) -> (Blocking, bool) {
    let mut block_q = written.block_q.map_or(AUTO_BLOCK_Q, |rows| rows.value);
    let mut block_kv = written.block_kv.map_or(AUTO_BLOCK_KV, |rows| rows.value);
    loop {
        let blocking = Blocking::new(block_q, block_kv, shape);
        if scratch_bytes(blocking, shape) <= cpu.l2_bytes {
            return (blocking, true);
        }
        let (free_q, free_kv) = (written.block_q.is_none(), written.block_kv.is_none());
        let halves = |free: bool, rows: u32| free && rows / 2 >= MIN_ROWS;
        if halves(free_q, block_q) && (block_q > block_kv || !halves(free_kv, block_kv)) {
            block_q /= 2;
        } else if halves(free_kv, block_kv) {
            block_kv /= 2;
        } else {
            return (blocking, false);
        }
    }
}

fn too_large(written: &TileSpec, shape: Shape, cpu: &Cpu, budget: &Budget) -> Diagnostic {
    let memory = &budget.memories[0];
    let size = |rows: Option<Spanned<u32>>| rows.map_or(MIN_ROWS, |rows| rows.value);
    let (block_q, block_kv) = (size(written.block_q), size(written.block_kv));
    let message = format!(
        "tile {block_q} x {block_kv} does not fit: {}",
        memory.overrun(&budget.target)
    );
    let nearest = nearest_tile((block_q, block_kv), shape, cpu);
    let help = match nearest {
        Some((q, kv)) => format!(
            "the nearest tile that fits is `tile {{ block_q = {q}; block_kv = {kv}; }}`; `target {} {{ tile = auto; }}` \
             lets the planner choose on this target alone",
            budget.target
        ),
        None => "reduce `head_dim`: no tile fits".to_owned(),
    };
    let mut diagnostic = Diagnostic::error(Code(101), message, help);
    let (rows_shrink, keys_shrink) = match nearest {
        Some((q, kv)) => (q != block_q, kv != block_kv),
        None => (true, true),
    };
    let label = memory.largest().map_or_else(String::new, |largest| {
        let size = kib(largest.bytes());
        format!("`{}` alone takes {size} of {}", largest.name, memory.memory)
    });
    let sides = [
        (written.block_kv, keys_shrink),
        (written.block_q, rows_shrink),
    ];
    let mut labels = [label, "too long as well".to_owned()].into_iter();
    for (side, shrinks) in sides {
        if let (Some(rows), true) = (side, shrinks) {
            diagnostic = diagnostic.at(rows.span, labels.next().unwrap_or_default());
        }
    }
    if let (Some(keys), Some((q, kv))) = (written.block_kv, nearest)
        && q == block_q
    {
        diagnostic = diagnostic.with_patch(keys.span, format!("block_kv = {kv}"));
    }
    let mut note = memory.table();
    if !block_q.is_multiple_of(ROWS) {
        note.push_str(&format!(
            "\n  rows of a task are filled up to whole micro-kernels of {ROWS}"
        ));
    }
    diagnostic.with_note(note)
}

/// The tile with the most key rows that fits, with the query rows that are written, or halves of them where these leave
/// too little room for keys.
fn nearest_tile((block_q, block_kv): (u32, u32), shape: Shape, cpu: &Cpu) -> Option<(u32, u32)> {
    let fits = |q: u32, kv: u32| scratch_bytes(Blocking::new(q, kv, shape), shape) <= cpu.l2_bytes;
    let halves = || {
        let next = |rows: &u32| (rows / 2).next_multiple_of(MIN_ROWS);
        std::iter::successors(Some(block_q), move |rows| {
            (*rows > MIN_ROWS).then(|| next(rows))
        })
    };
    let wanted = [block_kv.min(AUTO_BLOCK_KV / 2), MIN_ROWS];
    let rows = wanted
        .into_iter()
        .find_map(|keys| halves().find(|rows| fits(*rows, keys)))?;
    let sizes: Vec<u32> = (1..=block_kv / MIN_ROWS)
        .map(|units| units * MIN_ROWS)
        .collect();
    let fitting = sizes.partition_point(|keys| fits(rows, *keys));
    Some((rows, sizes.get(fitting.checked_sub(1)?).copied()?))
}

fn scratch_bytes(blocking: Blocking, shape: Shape) -> u64 {
    buffers(blocking, shape)
        .iter()
        .map(Buffer::bytes)
        .sum::<u64>()
        .next_multiple_of(u64::from(ALIGNMENT))
}

fn budget(blocking: Blocking, shape: Shape, cpu: &Cpu, target: &str) -> Budget {
    Budget {
        target: target.to_owned(),
        memories: vec![MemoryUse {
            memory: "L2".to_owned(),
            capacity_bytes: cpu.l2_bytes,
            capacity_note: "second-level cache of a core; scratch of one thread".to_owned(),
            buffers: buffers(blocking, shape),
        }],
    }
}

/// Buffers in address order, one after the other.
fn buffers(blocking: Blocking, shape: Shape) -> Vec<Buffer> {
    let Blocking {
        block_kv,
        q_rows,
        k_cols,
        v_cols,
        ..
    } = blocking;
    let mut list = vec![
        buffer("q_tile", q_rows, k_cols, "query rows of the task"),
        buffer("key_rows", LANES, k_cols, "key rows, as they come"),
        buffer(
            "key_tile",
            block_kv,
            shape.head_dim,
            "keys of a tile, column by column",
        ),
        buffer("value_tile", block_kv, v_cols, "values of a tile"),
        buffer(
            "s_tile",
            STRIP,
            block_kv,
            "scores of a strip, then their weights",
        ),
        buffer("o_acc", q_rows, v_cols, "output sums, not yet divided"),
        buffer("row_max", 1, q_rows, "running maximum of each row"),
        buffer("row_sum", 1, q_rows, "running sum of each row"),
        buffer(
            "rescale",
            1,
            STRIP,
            "factor for older sums of each row of a strip",
        ),
    ];
    if shape.column_count > 0 {
        let mut columns = buffer(
            "columns",
            shape.column_count,
            block_kv,
            "values per key of a tile",
        );
        columns.copy_bytes = u64::from(shape.column_bytes) * u64::from(block_kv);
        if shape.column_bytes == shape.column_count {
            (columns.dtype, columns.elem_bytes) = ("bool".to_owned(), 1);
        } else if shape.column_bytes < 4 * shape.column_count {
            columns.dtype = "fp32, bool".to_owned();
        }
        list.push(columns);
    }
    let mut offset_bytes = 0;
    for buffer in &mut list {
        buffer.offset_bytes = offset_bytes;
        offset_bytes += buffer.bytes();
    }
    list
}

fn buffer(name: &str, rows: u32, cols: u32, role: &str) -> Buffer {
    let elem_bytes = 4;
    Buffer {
        name: name.to_owned(),
        copies: 1,
        rows,
        cols,
        dtype: "fp32".to_owned(),
        elem_bytes,
        offset_bytes: 0,
        copy_bytes: u64::from(rows) * u64::from(cols) * u64::from(elem_bytes),
        role: role.to_owned(),
    }
}

/// The budget as lines of text, largest buffer marked.
pub(super) fn table(budget: &Budget) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<11} {:<6} {:>4} x {:>4} x bytes {:>9}",
        "buffer", "memory", "rows", "cols", "KiB"
    )];
    for memory in &budget.memories {
        let largest = memory.largest().map(|buffer| &buffer.name);
        for buffer in &memory.buffers {
            let mark = if Some(&buffer.name) == largest {
                "  largest"
            } else {
                ""
            };
            lines.push(format!(
                "{:<11} {:<6} {:>4} x {:>4} x {:>5} {:>9.2}{mark}",
                buffer.name,
                memory.memory,
                buffer.rows,
                buffer.cols,
                buffer.elem_bytes,
                buffer.bytes() as f64 / 1024.0
            ));
        }
        lines.push(format!(
            "{:<11} {:<6} {:<19} {:>9.2} of {:.2}",
            "",
            memory.memory,
            "total",
            memory.used_bytes() as f64 / 1024.0,
            memory.capacity_bytes as f64 / 1024.0
        ));
    }
    lines
}
