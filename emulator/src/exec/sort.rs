//! Sorting of runs and merging of lists.

use std::cmp::Ordering;

use half::f16;

use crate::dtype::Dtype;
use crate::exec::Machine;
use crate::local::{Mem, Memory};
use crate::plan::sort::{MergePlan, RECORD, RUN, SortPlan};

/// A record with the definedness of its bytes.
#[derive(Clone, Copy)]
struct Entry {
    score: f32,
    bytes: [u8; RECORD],
    shadow: [u8; RECORD],
}

impl Entry {
    /// Descending; equal scores keep their order.
    fn before(&self, other: &Entry) -> Ordering {
        other.score.total_cmp(&self.score)
    }
}

fn score(bytes: &[u8], dtype: Dtype) -> f32 {
    match dtype {
        Dtype::F16 => f16::from_le_bytes([bytes[0], bytes[1]]).to_f32(),
        _ => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}

fn store(memory: &mut Memory, at: usize, entries: &[Entry]) {
    for (slot, entry) in entries.iter().enumerate() {
        let to = at + slot * RECORD;
        memory.bytes[to..to + RECORD].copy_from_slice(&entry.bytes);
        memory.shadow[to..to + RECORD].copy_from_slice(&entry.shadow);
    }
}

/// 32 scores at a time, largest first.
pub(crate) fn sort(machine: &mut Machine, plan: &SortPlan) {
    let memory = machine.locals.get_mut(Mem::Ub);
    let width = plan.dtype.width();
    for repeat in 0..plan.repeats {
        let mut run: Vec<Entry> = (0..RUN)
            .map(|lane| {
                let from = plan.scores + (repeat * RUN + lane) * width;
                let index = plan.indices + (repeat * RUN + lane) * 4;
                let (mut bytes, mut shadow) = ([0; RECORD], [0; RECORD]);
                bytes[..width].copy_from_slice(&memory.bytes[from..from + width]);
                shadow[..width].copy_from_slice(&memory.shadow[from..from + width]);
                bytes[4..].copy_from_slice(&memory.bytes[index..index + 4]);
                shadow[4..].copy_from_slice(&memory.shadow[index..index + 4]);
                Entry {
                    score: score(&bytes, plan.dtype),
                    bytes,
                    shadow,
                }
            })
            .collect();
        run.sort_by(Entry::before);
        store(memory, plan.dst + repeat * RUN * RECORD, &run);
    }
}

/// The largest head of all lists next; an earlier list wins a tie.
pub(crate) fn merge(machine: &mut Machine, plan: &MergePlan) {
    let memory = machine.locals.get_mut(Mem::Ub);
    let step = plan.per_repeat() * RECORD;
    let mut taken = [0usize; 4];
    for repeat in 0..plan.repeats {
        let lists: Vec<Vec<Entry>> = plan
            .lists
            .iter()
            .map(|&(start, len)| entries(memory, start + repeat * step, len, plan.dtype))
            .collect();
        taken = [0; 4];
        let mut merged = Vec::with_capacity(plan.per_repeat());
        loop {
            let spent = |slot: usize| taken[slot] == lists[slot].len();
            if plan.suspend && (0..lists.len()).any(spent) {
                break;
            }
            let heads = (0..lists.len()).filter(|&slot| !spent(slot));
            let Some(best) = heads.min_by(|&a, &b| lists[a][taken[a]].before(&lists[b][taken[b]]))
            else {
                break;
            };
            merged.push(lists[best][taken[best]]);
            taken[best] += 1;
        }
        store(memory, plan.dst + repeat * step, &merged);
    }
    machine.vector.merged = taken.map(|count| count as u16);
}

fn entries(memory: &Memory, start: usize, len: usize, dtype: Dtype) -> Vec<Entry> {
    (0..len)
        .map(|slot| {
            let from = start + slot * RECORD;
            let mut entry = Entry {
                score: score(&memory.bytes[from..], dtype),
                bytes: [0; RECORD],
                shadow: [0; RECORD],
            };
            entry
                .bytes
                .copy_from_slice(&memory.bytes[from..from + RECORD]);
            entry
                .shadow
                .copy_from_slice(&memory.shadow[from..from + RECORD]);
            entry
        })
        .collect()
}
