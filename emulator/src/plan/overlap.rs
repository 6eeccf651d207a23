//! Which overlaps of source and destination a vector instruction may have.

use crate::abi::Code;
use crate::plan::Checked;
use crate::plan::vector::{Footprints, Strided, VectorPlan};
use crate::report::Refusal;

/// Refuses a destination that a later repeat reads, or that a source of the same repeat meets askew.
pub(super) fn check_overlap(plan: &VectorPlan, prints: &Footprints, block: usize) -> Checked<()> {
    let Some(dst) = prints[0] else { return Ok(()) };
    for slot in 0..2 {
        let (Some(src), Some(view)) = (prints[slot + 1], plan.src[slot]) else {
            continue;
        };
        if src.end <= dst.start || dst.end <= src.start || view == plan.dst {
            continue;
        }
        if is_accumulation(plan, slot, view) {
            continue;
        }
        if let Some(repeat) = collision(plan, view, block) {
            return Err(Refusal::new(
                "overlap",
                format!(
                    "repeat {repeat} reads bytes of src{slot} that dst has overwritten or meets at another offset"
                ),
                "let source and destination coincide or lie apart",
            ));
        }
    }
    Ok(())
}

/// The documented idiom `dst == src1` with repeat stride 0.
fn is_accumulation(plan: &VectorPlan, slot: usize, view: Strided) -> bool {
    let code = matches!(
        plan.code,
        Code::Add | Code::Sub | Code::Mul | Code::Max | Code::Min
    );
    code && slot == 1
        && view.addr == plan.dst.addr
        && view.repeat_step == 0
        && plan.dst.repeat_step == 0
        && view.block_step == plan.dst.block_step
}

/// The first repeat that reads what an earlier one wrote, or overlaps its own destination askew.
fn collision(plan: &VectorPlan, view: Strided, block: usize) -> Option<usize> {
    // Blocks start at block boundaries, so one bit a block tells who has been overwritten.
    let mut written: Vec<u64> = Vec::new();
    for repeat in 0..plan.repeats {
        let end = plan.lanes.of(repeat).end();
        let stale = blocks(view, repeat, end, block).any(|read| bit(&written, read));
        let askew = blocks(view, repeat, end, block)
            .enumerate()
            .any(|(i, read)| {
                blocks(plan.dst, repeat, end, block)
                    .enumerate()
                    .any(|(j, write)| i != j && read == write)
            });
        if stale || askew {
            return Some(repeat);
        }
        for index in blocks(plan.dst, repeat, end, block) {
            if written.len() <= index / 64 {
                written.resize(index / 64 + 1, 0);
            }
            written[index / 64] |= 1 << (index % 64);
        }
    }
    None
}

fn bit(words: &[u64], index: usize) -> bool {
    words
        .get(index / 64)
        .is_some_and(|word| word >> (index % 64) & 1 == 1)
}

/// Numbers of the blocks that the first `end` lanes of a repeat touch.
fn blocks(view: Strided, repeat: usize, end: usize, block: usize) -> impl Iterator<Item = usize> {
    (0..(end * view.width).div_ceil(block))
        .map(move |index| (view.addr + repeat * view.repeat_step + index * view.block_step) / block)
}
