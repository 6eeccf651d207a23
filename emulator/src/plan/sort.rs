//! Plans of sorting: records of a score and an index, 8 bytes each, in descending order of the score.

use crate::abi::RawRecord;
use crate::dtype::Dtype;
use crate::instruction::Footprint;
use crate::local::Mem;
use crate::plan::vector::Footprints;
use crate::plan::{
    Checked, Context, Operand, footprint, operand, require_align, require_mem, require_range,
};
use crate::report::Refusal;

/// Bytes of a record: the score in the low ones, the index in the upper four.
pub(crate) const RECORD: usize = 8;
/// Elements that one repeat of a sort puts in order.
pub(crate) const RUN: usize = 32;
/// Longest list of a merge (MrgSort page).
const MAX_LIST: i64 = 4095;

/// Sorts runs of 32 scores with their indices.
#[derive(Clone, Debug)]
pub(crate) struct SortPlan {
    pub(crate) dtype: Dtype,
    pub(crate) dst: usize,
    pub(crate) scores: usize,
    pub(crate) indices: usize,
    pub(crate) repeats: usize,
}

/// Merges two to four sorted lists into one.
#[derive(Clone, Debug)]
pub(crate) struct MergePlan {
    pub(crate) dtype: Dtype,
    pub(crate) dst: usize,
    /// Start and records of each list.
    pub(crate) lists: Vec<(usize, usize)>,
    pub(crate) repeats: usize,
    /// Stop when a list has run out.
    pub(crate) suspend: bool,
}

impl MergePlan {
    /// Records of all lists and repeats.
    pub(crate) fn records(&self) -> usize {
        self.repeats * self.per_repeat()
    }

    /// Records of the lists of one repeat.
    pub(crate) fn per_repeat(&self) -> usize {
        self.lists.iter().map(|(_, len)| len).sum()
    }
}

/// Plans `Sort32`.
pub(crate) fn plan_sort(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(SortPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let scores = operand(record, 1, "src0")?;
    let indices = operand(record, 2, "src1")?;
    require_range(
        "repeatTime",
        record.p[0],
        0,
        i64::from(context.target.limits.max_repeat),
    )?;
    let repeats = record.p[0] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    for (tensor, align) in [
        (&dst, RUN * RECORD),
        (&scores, RUN * scores.width()),
        (&indices, RUN * indices.width()),
    ] {
        require_mem(tensor, &[Mem::Ub])?;
        require_align(tensor, align)?;
    }
    let count = repeats * RUN;
    let prints = [
        Some(footprint(context, &dst, 0, count * RECORD, true)?),
        Some(footprint(
            context,
            &scores,
            0,
            count * scores.width(),
            false,
        )?),
        Some(footprint(
            context,
            &indices,
            0,
            count * indices.width(),
            false,
        )?),
        None,
    ];
    apart(&prints)?;
    let plan = SortPlan {
        dtype: scores.dtype,
        dst: dst.addr,
        scores: scores.addr,
        indices: indices.addr,
        repeats,
    };
    Ok(Some((plan, prints)))
}

/// Plans `MrgSort`; the four lists travel by address.
pub(crate) fn plan_merge(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(MergePlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let sources = [operand(record, 1, "src1")?, operand(record, 2, "src2")?];
    let p = &record.p;
    let count = match p[4] {
        3 => 2,
        7 => 3,
        15 => 4,
        other => {
            return Err(Refusal::new(
                "parameter-range",
                format!("validBit is {other}, the field takes 3, 7 or 15"),
                "name the first two, three or four lists",
            ));
        }
    };
    let repeats = p[6] as usize;
    let suspend = p[5] != 0;
    require_mem(&dst, &[Mem::Ub])?;
    require_align(&dst, context.block())?;
    let mut lists = Vec::new();
    let mut ranges = Vec::new();
    for slot in 0..count {
        // The third and fourth list share the element type of the first two.
        let source = match slot {
            0 | 1 => sources[slot],
            2 => operand(record, 3, "src3")?,
            _ => Operand {
                addr: p[7] as usize,
                extent: p[8] as usize,
                role: "src4",
                ..sources[0]
            },
        };
        require_mem(&source, &[Mem::Ub])?;
        require_align(&source, RECORD)?;
        require_range("elementLengths", p[slot], 0, MAX_LIST)?;
        let len = p[slot] as usize;
        lists.push((source.addr, len));
        ranges.push(footprint(context, &source, 0, len * RECORD, false)?);
    }
    if repeats > 1 {
        check_repeats(&lists, suspend)?;
        let bytes = repeats * lists.iter().map(|(_, len)| len * RECORD).sum::<usize>();
        let all = Operand {
            extent: bytes.max(sources[0].extent),
            ..sources[0]
        };
        ranges = vec![footprint(context, &all, 0, bytes, false)?];
    }
    let plan = MergePlan {
        dtype: dst.dtype,
        dst: dst.addr,
        lists,
        repeats,
        suspend,
    };
    if plan.records() == 0 {
        return Ok(None);
    }
    let mut prints: Footprints = [None; 4];
    prints[0] = Some(footprint(context, &dst, 0, plan.records() * RECORD, true)?);
    for (print, range) in prints[1..].iter_mut().zip(joined(ranges)) {
        *print = Some(range);
    }
    apart(&prints)?;
    Ok(Some((plan, prints)))
}

/// More than one repeat works on four equal lists that follow each other.
fn check_repeats(lists: &[(usize, usize)], suspend: bool) -> Checked<()> {
    let (first, len) = lists[0];
    let in_line = lists
        .iter()
        .enumerate()
        .all(|(slot, &list)| list == (first + slot * len * RECORD, len));
    if lists.len() == 4 && in_line && !suspend {
        return Ok(());
    }
    Err(Refusal::new(
        "parameter-range",
        "repeatTimes above 1 needs four lists of one length, one behind the other, that run to their end",
        "merge with one repeat, or lay the lists out in line",
    ))
}

/// At most three ranges that cover the lists: neighbours become one.
fn joined(mut ranges: Vec<Footprint>) -> Vec<Footprint> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    while ranges.len() > 3 {
        let gap = |at: usize| ranges[at + 1].start.saturating_sub(ranges[at].end);
        let nearest = (0..ranges.len() - 1).min_by_key(|&at| gap(at)).unwrap_or(0);
        let next = ranges.remove(nearest + 1);
        ranges[nearest].end = ranges[nearest].end.max(next.end);
    }
    ranges
}

/// Source and destination of a sort may not overlap.
fn apart(prints: &Footprints) -> Checked<()> {
    let [Some(dst), sources @ ..] = prints else {
        return Ok(());
    };
    let overlap = |source: &&Footprint| source.start < dst.end && dst.start < source.end;
    match sources.iter().flatten().find(overlap) {
        None => Ok(()),
        Some(source) => Err(Refusal::new(
            "overlap",
            format!(
                "dst takes bytes {} to {} of UB, a source bytes {} to {}",
                dst.start, dst.end, source.start, source.end
            ),
            "give the sorted records a buffer of their own",
        )),
    }
}
