//! Plans of gathers.

use crate::abi::{Code, RawRecord};
use crate::local::Mem;
use crate::plan::select::last_lane;
use crate::plan::vector::{Footprints, LaneSelect, Lanes, Strided, lanes, low_bits, strided};
use crate::plan::{
    Checked, Context, footprint, operand, require_align, require_mem, require_range,
};

/// A gather of elements or of blocks.
#[derive(Clone, Debug)]
pub(crate) struct GatherPlan {
    pub(crate) width: usize,
    /// Bytes that one offset fetches.
    pub(crate) piece: usize,
    pub(crate) base: usize,
    pub(crate) offsets: usize,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    pub(crate) dst: Strided,
    /// Bytes of UB that a source address may reach.
    pub(crate) limit: usize,
}

/// A compaction by a pattern.
#[derive(Clone, Debug)]
pub(crate) struct GatherMaskPlan {
    pub(crate) width: usize,
    /// Fixed pattern 1 to 7, or `None` for a pattern in UB.
    pub(crate) fixed: Option<u8>,
    pub(crate) pattern: usize,
    pub(crate) pattern_step: usize,
    pub(crate) src: Strided,
    pub(crate) dst: usize,
    pub(crate) dst_limit: usize,
    pub(crate) repeats: usize,
    /// Elements of each repeat that are looked at.
    pub(crate) per_repeat: usize,
}

/// Plans `Gather` and `Gatherb`.
pub(crate) fn plan_gather(
    context: &mut Context<'_>,
    record: &RawRecord,
    code: Code,
) -> Checked<Option<(GatherPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let offsets = operand(record, 2, "srcOffset")?;
    for tensor in [&dst, &src, &offsets] {
        require_mem(tensor, &[Mem::Ub])?;
        require_align(tensor, context.block())?;
    }
    let blocks = code == Code::Gatherb;
    let width = dst.width();
    let block = context.block();
    let per_repeat = if blocks {
        context.repeat_bytes() / block
    } else {
        context.repeat_bytes() / width
    };
    let found = if blocks {
        let all = Lanes {
            per_repeat,
            select: LaneSelect::Bits(low_bits(per_repeat)),
        };
        (record.p[0] > 0).then_some((all, record.p[0] as usize))
    } else {
        lanes(context, record, per_repeat)?
    };
    let Some((lanes, repeats)) = found else {
        return Ok(None);
    };
    let view = strided(context, record, &dst, 0, width)?;
    let dst_end = if blocks {
        (repeats - 1) * view.repeat_step + (per_repeat - 1) * view.block_step + block
    } else {
        view.extent(&lanes, repeats, block)
    };
    let count = (repeats - 1) * per_repeat + last_lane(lanes, repeats);
    // Which bytes of the source are read is data: all that the tensor declares counts.
    let capacity = crate::local::capacity(context.target, Mem::Ub);
    let declared = src.extent.min(capacity.saturating_sub(src.addr));
    let prints = [
        Some(footprint(context, &dst, 0, dst_end, true)?),
        Some(footprint(context, &src, 0, declared, false)?),
        Some(footprint(
            context,
            &offsets,
            0,
            count * offsets.width(),
            false,
        )?),
        None,
    ];
    let plan = GatherPlan {
        width,
        piece: if blocks { block } else { width },
        base: src.addr + record.p[7] as usize,
        offsets: offsets.addr,
        lanes,
        repeats,
        dst: view,
        limit: src.addr + src.extent,
    };
    Ok(Some((plan, prints)))
}

/// Plans `GatherMask`.
pub(crate) fn plan_gather_mask(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(GatherMaskPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src0")?;
    for tensor in [&dst, &src] {
        require_mem(tensor, &[Mem::Ub])?;
        require_align(tensor, context.block())?;
    }
    context.registers.counter = false;
    let block = context.block();
    let width = src.width();
    let full = context.repeat_bytes() / width;
    let reduce = record.p[8] != 0;
    let per_repeat = if reduce { record.p[9] as usize } else { full };
    let repeats = record.p[0] as usize;
    if repeats == 0 || per_repeat == 0 {
        return Ok(None);
    }
    let view = Strided {
        addr: src.addr,
        width,
        block_step: record.p[2] as usize * block,
        repeat_step: record.p[5] as usize * block,
    };
    let last_block = (per_repeat * width - 1) / block;
    let src_end = (repeats - 1) * view.repeat_step
        + last_block * view.block_step
        + (per_repeat * width - last_block * block);
    let mut prints: Footprints = [None; 4];
    prints[0] = Some(footprint(context, &dst, 0, 0, true)?);
    prints[1] = Some(footprint(context, &src, 0, src_end, false)?);
    let has_pattern = record.t[2].present != 0;
    let (mut pattern, mut pattern_step) = (0, 0);
    if has_pattern {
        let operand = operand(record, 2, "src1Pattern")?;
        require_mem(&operand, &[Mem::Ub])?;
        require_align(&operand, block)?;
        pattern = operand.addr;
        pattern_step = record.p[6] as usize * block;
        let bytes = (repeats - 1) * pattern_step + per_repeat.div_ceil(8);
        prints[2] = Some(footprint(context, &operand, 0, bytes, false)?);
    } else {
        require_range("src1Pattern", record.p[7], 1, 7)?;
    }
    let plan = GatherMaskPlan {
        width,
        fixed: (!has_pattern).then_some(record.p[7] as u8),
        pattern,
        pattern_step,
        src: view,
        dst: dst.addr,
        dst_limit: dst.addr + dst.extent,
        repeats,
        per_repeat,
    };
    Ok(Some((plan, prints)))
}
