//! The budget as pictures: each memory as a line of addresses, and when its buffers hold something that is still read.

use fa_codegen::Plan;
use fa_codegen::budget::{Buffer, MemoryUse};
use fa_emulator::timeline::{CoreUse, Timeline};

use super::page::{Figure, Key, Lane, LaneGroup, TableView, WIDTH};
use super::shapes::{LANE, Outline, Scale};
use super::sides;
use super::text;
use super::trace::{self, Steady, Window};
use crate::table::kib;

/// Windows before and after the one shown that are searched for writes and reads.
const AROUND: u64 = 3;

/// The names of styles of neighbouring buffers.
const BANDS: [&str; 4] = ["band0", "band1", "band2", "band3"];

/// A launch that was traced, and its steady state.
pub(crate) type Traced<'t> = (&'t Timeline, &'t Steady);

/// The memories of a plan.
pub(crate) fn figure(id: &str, plan: &Plan, traced: Option<Traced<'_>>) -> Figure {
    let mut memories: Vec<MemoryUse> = plan.budget().memories.clone();
    memories.extend(sides::workspace(plan));
    let mut numbers = TableView::new(
        "Every buffer of the plan",
        &[
            "memory",
            "buffer",
            ">copies",
            ">rows",
            ">columns",
            "type",
            ">offset, bytes",
            ">KiB",
            ">live",
            "for",
        ],
    );
    let mut groups = Vec::new();
    for memory in &memories {
        groups.push(group(memory, traced, &mut numbers));
    }
    let with_life = traced.is_some();
    let mut legend = vec![
        Key::new("band0", "a buffer, by address"),
        Key::new("free", "free"),
    ];
    if with_life {
        legend.push(Key::new(
            "life",
            "holds something that is still read; one strip a copy",
        ));
    }
    Figure {
        id: format!("{id}-budget"),
        title: "Memory map".to_owned(),
        origin: if with_life {
            "addresses from the plan; lifetimes modelled, emulated".to_owned()
        } else {
            "from the plan".to_owned()
        },
        caption: caption(traced),
        alternative: memories
            .iter()
            .map(alternative)
            .collect::<Vec<_>>()
            .join(" "),
        legend,
        lanes: groups,
        numbers: vec![numbers],
        ..Figure::default()
    }
}

fn caption(traced: Option<Traced<'_>>) -> String {
    let first = "The first line of a memory is its address space; every buffer has one place for the whole launch.";
    match traced {
        Some((_, steady)) => format!(
            "{first} The lines below show {} of the steady state, {} cycles: a copy is live from the write that fills it \
             to the last read before the next one. A gap is time in which the place could serve something else.",
            text::count(steady.shown_tiles as u64, "tile", "tiles"),
            text::grouped(steady.shown.cycles() as i64)
        ),
        None => first.to_owned(),
    }
}

fn alternative(memory: &MemoryUse) -> String {
    let names: Vec<String> = memory
        .buffers
        .iter()
        .map(|buffer| format!("{} {} KiB", buffer.name, kib(buffer.bytes())))
        .collect();
    format!(
        "{}: {} of {} KiB used, by {}.",
        memory.memory,
        kib(memory.used_bytes()),
        kib(memory.capacity_bytes),
        text::listing(&names)
    )
}

fn group(memory: &MemoryUse, traced: Option<Traced<'_>>, numbers: &mut TableView) -> LaneGroup {
    let (used, capacity) = (memory.used_bytes(), memory.capacity_bytes);
    let mut lanes = vec![addresses(memory)];
    for (at, buffer) in memory.buffers.iter().enumerate() {
        let name = if at == 0 {
            memory.memory.clone()
        } else {
            String::new()
        };
        let mut live = String::from("–");
        if let Some((timeline, steady)) = traced {
            let lives = lives(memory, buffer, timeline, steady.shown);
            live = text::percent(share(&lives));
            lanes.push(lifetime(buffer, &lives, &live));
        } else {
            lanes.push(place(memory, buffer, BANDS[at % BANDS.len()]));
        }
        numbers.row(
            "",
            [
                name,
                buffer.name.clone(),
                buffer.copies.to_string(),
                buffer.rows.to_string(),
                buffer.cols.to_string(),
                buffer.dtype.clone(),
                buffer.offset_bytes.to_string(),
                kib(buffer.bytes()),
                live,
                buffer.role.clone(),
            ],
        );
    }
    let mut total = vec![String::new(); 10];
    total[1] = format!("total of {}", kib(capacity));
    total[7] = kib(used);
    total[9] = memory.capacity_note.clone();
    numbers.row("total", total);
    let axis = traced.map(|(timeline, steady)| axis(timeline, steady));
    LaneGroup {
        title: memory.memory.clone(),
        note: format!(
            "{} of {} KiB, {} · {}",
            kib(used),
            kib(capacity),
            text::percent(used as f64 / capacity.max(1) as f64),
            memory.capacity_note
        ),
        class: "memory",
        lanes,
        axis: axis.unwrap_or_default(),
        axis_title: if traced.is_some() {
            "cycles since the first tile shown".to_owned()
        } else {
            String::new()
        },
    }
}

/// Marks of the time below lifetimes.
fn axis(_timeline: &Timeline, steady: &Steady) -> Vec<super::page::Tick> {
    let scale = Scale::Linear(0.0, steady.shown.cycles() as f64);
    scale.ticks(&scale.round(4), |value| text::grouped(value as i64))
}

fn addresses(memory: &MemoryUse) -> Lane {
    let capacity = memory.capacity_bytes.max(1) as f64;
    let mut outline = Outline::default();
    outline.rect("free", (0.0, 0.0), (WIDTH, LANE));
    for (at, buffer) in memory.buffers.iter().enumerate() {
        for copy in 0..u64::from(buffer.copies) {
            let start = (buffer.offset_bytes + copy * buffer.copy_bytes) as f64;
            let x = start / capacity * WIDTH;
            let width = buffer.copy_bytes as f64 / capacity * WIDTH;
            outline.rect(BANDS[at % BANDS.len()], (x, 0.0), (width, LANE));
        }
    }
    Lane {
        label: "addresses".to_owned(),
        detail: format!("0 to {} bytes", memory.capacity_bytes),
        value: text::percent(memory.used_bytes() as f64 / capacity),
        alternative: format!(
            "{} of {} KiB hold buffers",
            kib(memory.used_bytes()),
            kib(memory.capacity_bytes)
        ),
        shapes: outline.shapes(),
    }
}

/// Where a buffer lies, where nothing is known of its lifetime.
fn place(memory: &MemoryUse, buffer: &Buffer, band: &'static str) -> Lane {
    let capacity = memory.capacity_bytes.max(1) as f64;
    let mut outline = Outline::default();
    let x = buffer.offset_bytes as f64 / capacity * WIDTH;
    let width = buffer.bytes() as f64 / capacity * WIDTH;
    outline.rect(band, (x, 0.0), (width.max(1.0), LANE));
    Lane {
        label: buffer.name.clone(),
        detail: extent(buffer),
        value: format!("{} KiB", kib(buffer.bytes())),
        alternative: format!("{}, from byte {}", buffer.role, buffer.offset_bytes),
        shapes: outline.shapes(),
    }
}

/// Copies, rows, columns and type of a buffer.
fn extent(buffer: &Buffer) -> String {
    let (copies, rows, cols) = (buffer.copies, buffer.rows, buffer.cols);
    format!("{copies} × {rows} × {cols} {}", buffer.dtype)
}

fn lifetime(buffer: &Buffer, lives: &[Vec<(f64, f64)>], live: &str) -> Lane {
    let mut outline = Outline::default();
    let strip = LANE / lives.len().max(1) as f64;
    for (copy, stretches) in lives.iter().enumerate() {
        for (start, end) in stretches {
            let size = ((end - start) * WIDTH, (strip - 1.0).max(1.0));
            outline.rect("life", (start * WIDTH, copy as f64 * strip), size);
        }
    }
    Lane {
        label: buffer.name.clone(),
        detail: extent(buffer),
        value: format!("{} KiB", kib(buffer.bytes())),
        alternative: format!("{}, live {live} of the time", buffer.role),
        shapes: outline.shapes(),
    }
}

/// Mean share of the window in which the copies are live.
fn share(lives: &[Vec<(f64, f64)>]) -> f64 {
    let live: f64 = lives.iter().flatten().map(|(start, end)| end - start).sum();
    live / lives.len().max(1) as f64
}

/// When each copy of a buffer is live, as shares of the window.
fn lives(
    memory: &MemoryUse,
    buffer: &Buffer,
    timeline: &Timeline,
    window: Window,
) -> Vec<Vec<(f64, f64)>> {
    let shared = memory.memory == "workspace";
    let base = if shared {
        sides::workspace_base(timeline)
    } else {
        Some(0)
    };
    let (name, base) = (
        if shared { "GM" } else { memory.memory.as_str() },
        base.unwrap_or(usize::MAX / 2),
    );
    let cube: Vec<&CoreUse> = trace::cube_core(timeline).into_iter().collect();
    let vector = trace::vector_cores(timeline);
    let cores: Vec<&CoreUse> = match (shared, name) {
        (true, _) => cube.into_iter().chain(vector).collect(),
        (false, "UB") => vector.into_iter().take(1).collect(),
        (false, _) => cube,
    };
    (0..u64::from(buffer.copies))
        .map(|copy| {
            let start = base + (buffer.offset_bytes + copy * buffer.copy_bytes) as usize;
            let uses = uses(
                &cores,
                name,
                start..start + buffer.copy_bytes as usize,
                window,
            );
            let stretches = stretches(uses).into_iter();
            stretches
                .filter_map(|(from, to)| window.clip(from, to))
                .collect()
        })
        .collect()
}

/// An access of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Use {
    start: u64,
    end: u64,
    reads: bool,
    writes: bool,
}

/// Accesses of some bytes around a window, by time.
fn uses(
    cores: &[&CoreUse],
    memory: &str,
    bytes: std::ops::Range<usize>,
    window: Window,
) -> Vec<Use> {
    let reach = AROUND * window.cycles();
    let (from, to) = (window.from.saturating_sub(reach), window.to + reach);
    let mut found: Vec<Use> = cores
        .iter()
        .flat_map(|core| core.spans())
        .filter(|span| span.end > from && span.start < to)
        .filter_map(|span| {
            let touches = |write: bool| {
                span.touched().any(|touch| {
                    touch.write == write
                        && touch.memory == memory
                        && touch.start < bytes.end
                        && touch.end > bytes.start
                })
            };
            let (reads, writes) = (touches(false), touches(true));
            (reads || writes).then_some(Use {
                start: span.start,
                end: span.end,
                reads,
                writes,
            })
        })
        .collect();
    found.sort_by_key(|used| (used.start, used.end));
    found
}

/// From the write that fills a copy to its last read, again and again.
fn stretches(uses: Vec<Use>) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = Vec::new();
    let mut live: Option<(u64, u64, bool)> = None;
    for used in uses {
        live = Some(match live {
            // The first write after a read is the next value.
            Some((from, to, true)) if used.writes && !used.reads => {
                found.push((from, to));
                (used.start, used.end, false)
            }
            Some((from, to, read)) => (from, to.max(used.end), read || used.reads),
            None => (used.start, used.end, used.reads),
        });
    }
    found.extend(live.map(|(from, to, _)| (from, to)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(start: u64, reads: bool, writes: bool) -> Use {
        Use {
            start,
            end: start + 10,
            reads,
            writes,
        }
    }

    #[test]
    fn a_value_lives_from_its_first_write_to_its_last_read() {
        let uses = vec![
            used(0, false, true),
            used(20, false, true),
            used(50, true, false),
            used(80, true, false),
            used(200, false, true),
            used(230, true, true),
            used(300, true, false),
        ];
        assert_eq!(stretches(uses), [(0, 90), (200, 310)]);
    }
}
