//! Which part of the computation an instruction belongs to: the scores `S = Q K^T` on their way to probabilities, or the
//! output `O = P V`. Told by the buffers of the plan that it touches.

use std::ops::Range;

use fa_codegen::Plan;
use fa_codegen::budget::{Buffer, MemoryUse};
use fa_emulator::timeline::{CoreUse, Span, Timeline};

use super::trace;

/// Buffers that hold something of the scores, and of the output; slots of UB hold now this, now that.
const SCORES: [&str; 6] = ["q_tile", "k_tile", "q_left", "k_right", "s_sum", "s_ring"];
/// As above.
const OUTPUT: [&str; 7] = [
    "p_tile", "v_tile", "p_left", "v_right", "o_sum", "o_ring", "o_acc",
];

/// A part of the computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Towards the probabilities.
    Scores,
    /// Towards the output.
    Output,
    /// Cannot be told.
    Other,
}

impl Side {
    /// All, in the order in which they are drawn.
    pub(crate) const ALL: [Side; 3] = [Side::Scores, Side::Output, Side::Other];

    /// Style class of its shapes.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Side::Scores => "scores",
            Side::Output => "output",
            Side::Other => "other",
        }
    }

    /// Its letter in pictures of text.
    pub(crate) fn letter(self) -> char {
        match self {
            Side::Scores => 's',
            Side::Output => 'o',
            Side::Other => '-',
        }
    }
}

/// A place in a memory and the side of what lies there.
#[derive(Debug)]
struct Place {
    memory: String,
    bytes: Range<usize>,
    side: Side,
}

/// Where the buffers of the first block lie.
#[derive(Debug)]
pub(crate) struct Sides {
    places: Vec<Place>,
    slots: Option<(Range<usize>, usize)>,
}

impl Sides {
    /// Of a plan, and of a launch of it that was traced.
    pub(crate) fn of(plan: &Plan, timeline: &Timeline) -> Sides {
        let mut places = Vec::new();
        for memory in &plan.budget().memories {
            let buffers = memory.buffers.iter();
            places.extend(buffers.filter_map(|buffer| place(&memory.memory, 0, buffer)));
        }
        if let (Plan::Ascend(plan), Some(base)) = (plan, workspace_base(timeline)) {
            let rings = plan.workspace();
            places.extend(rings.iter().filter_map(|ring| place("GM", base, ring)));
        }
        let slot = trace::buffer(plan.budget(), "UB", "slot");
        Sides {
            places,
            slots: slot.map(|slot| (range(0, slot), slot.copy_bytes.max(1) as usize)),
        }
    }

    /// The side of every span of a core, in order.
    pub(crate) fn classify(&self, core: &CoreUse) -> Vec<Side> {
        let mut held: Vec<Side> = Vec::new();
        let mut sides = Vec::with_capacity(core.spans().len());
        for span in core.spans() {
            let slot = self.slot(span);
            let mut side = self.side(span);
            if let Some(slot) = slot {
                if held.len() <= slot {
                    held.resize(slot + 1, Side::Other);
                }
                if span.pipe() == "MTE2" {
                    held[slot] = side;
                } else if side == Side::Other {
                    side = held[slot];
                }
            }
            sides.push(side);
        }
        sides
    }

    /// The slot of UB that a span touches.
    fn slot(&self, span: &Span) -> Option<usize> {
        let (slots, bytes) = self.slots.as_ref()?;
        let touch = span
            .touched()
            .find(|touch| touch.memory == "UB" && slots.contains(&touch.start))?;
        Some((touch.start - slots.start) / bytes)
    }

    fn side(&self, span: &Span) -> Side {
        let sides = span.touched().filter_map(|touch| {
            let places = self.places.iter();
            places
                .filter(|place| place.memory == touch.memory && place.bytes.contains(&touch.start))
                .map(|place| place.side)
                .next()
        });
        sides.min().unwrap_or(Side::Other)
    }
}

fn place(memory: &str, base: usize, buffer: &Buffer) -> Option<Place> {
    let side = side_of(&buffer.name)?;
    Some(Place {
        memory: memory.to_owned(),
        bytes: range(base, buffer),
        side,
    })
}

fn side_of(name: &str) -> Option<Side> {
    if SCORES.contains(&name) {
        Some(Side::Scores)
    } else if OUTPUT.contains(&name) {
        Some(Side::Output)
    } else {
        None
    }
}

fn range(base: usize, buffer: &Buffer) -> Range<usize> {
    base + buffer.offset_bytes as usize..base + buffer.end_bytes() as usize
}

/// Where the workspace of the first block starts: the first byte that its Fixpipe stores to, for the ring of scores
/// comes first.
pub(crate) fn workspace_base(timeline: &Timeline) -> Option<usize> {
    let core = trace::cube_core(timeline)?;
    trace::spans_of(core, "FIX")
        .flat_map(Span::touched)
        .filter(|touch| touch.write && touch.memory == "GM")
        .map(|touch| touch.start)
        .min()
}

/// The workspace of one cube core as a memory of its own.
pub(crate) fn workspace(plan: &Plan) -> Option<MemoryUse> {
    let Plan::Ascend(plan) = plan else {
        return None;
    };
    let mut workspace = MemoryUse {
        memory: "workspace".to_owned(),
        capacity_bytes: 0,
        capacity_note: "of one cube core, in global memory".to_owned(),
        buffers: plan.workspace(),
    };
    workspace.capacity_bytes = workspace.used_bytes();
    Some(workspace)
}
