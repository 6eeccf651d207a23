//! Plans of comparisons, selections, gathers and shuffles.

use crate::abi::{Code, Form, RawRecord};
use crate::dtype::Dtype;
use crate::instruction::Footprint;
use crate::local::Mem;
use crate::plan::vector::{
    Active, Footprints, LaneSelect, Lanes, Strided, lanes, low_bits, strided,
};
use crate::plan::{
    Checked, Context, footprint, operand, require_align, require_mem, require_range,
};
use crate::report::Refusal;

/// A comparison into a bit mask in UB, or into the compare register.
#[derive(Clone, Debug)]
pub(crate) struct ComparePlan {
    /// `CMPMODE`: 0 LT, 1 GT, 2 EQ, 3 LE, 4 GE, 5 NE.
    pub(crate) mode: i64,
    pub(crate) dtype: Dtype,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    /// `None`: the result goes to the compare register.
    pub(crate) dst: Option<usize>,
    pub(crate) src0: Strided,
    /// `None`: the second operand is `scalar`.
    pub(crate) src1: Option<Strided>,
    pub(crate) scalar: u64,
}

/// Where a selection finds its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    /// The same bits in every repeat.
    Repeated,
    /// Consumed continuously.
    Continuous,
}

/// A selection between a tensor and a tensor or scalar.
#[derive(Clone, Debug)]
pub(crate) struct SelectPlan {
    pub(crate) dtype: Dtype,
    pub(crate) bits: Bits,
    pub(crate) mask: usize,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    pub(crate) dst: Strided,
    pub(crate) src0: Strided,
    pub(crate) src1: Option<Strided>,
    pub(crate) scalar: u64,
}

/// A fixed rearrangement: addresses of 16 source and 16 destination rows, per repeat.
#[derive(Clone, Debug)]
pub(crate) struct ShufflePlan {
    pub(crate) width: usize,
    pub(crate) repeats: usize,
    pub(crate) dst: Vec<usize>,
    pub(crate) src: Vec<usize>,
    pub(crate) dst_step: usize,
    pub(crate) src_step: usize,
    /// 8-bit elements fill half a block: bytes from its start.
    pub(crate) dst_half: usize,
    pub(crate) src_half: usize,
}

/// Plans `Compare` and `Compares`.
pub(crate) fn plan_compare(
    context: &mut Context<'_>,
    record: &RawRecord,
    code: Code,
) -> Checked<Option<(ComparePlan, Footprints)>> {
    let src0 = operand(record, 1, "src0")?;
    let mode = record.p[7];
    require_range("cmpMode", mode, 0, 5)?;
    if src0.dtype == Dtype::I32 && mode != EQ {
        return Err(Refusal::new(
            "wrong-type",
            "int32_t compares for equality only",
            "use CMPMODE::EQ, or compare as float",
        ));
    }
    let per_repeat = context.repeat_bytes() / src0.width();
    let Some((lanes, repeats)) = compare_lanes(context, record, code, per_repeat, src0.width())?
    else {
        return Ok(None);
    };
    let block = context.block();
    let view0 = strided(context, record, &src0, 1, src0.width())?;
    let mut prints: Footprints = [None; 4];
    prints[1] = Some(footprint(
        context,
        &src0,
        0,
        view0.extent(&lanes, repeats, block),
        false,
    )?);
    let mut src1 = None;
    if code != Code::Compares {
        let operand = operand(record, 2, "src1")?;
        let view = strided(context, record, &operand, 2, src0.width())?;
        prints[2] = Some(footprint(
            context,
            &operand,
            0,
            view.extent(&lanes, repeats, block),
            false,
        )?);
        src1 = Some(view);
    }
    let mut dst = None;
    if code != Code::CompareSpr {
        let target = operand(record, 0, "dst")?;
        require_mem(&target, &[Mem::Ub])?;
        require_align(&target, block)?;
        let bytes = repeats * per_repeat / 8;
        prints[0] = Some(footprint(context, &target, 0, bytes, true)?);
        dst = Some(target.addr);
    }
    let plan = ComparePlan {
        mode,
        dtype: src0.dtype,
        lanes,
        repeats,
        dst,
        src0: view0,
        src1,
        scalar: record.scalar,
    };
    Ok(Some((plan, prints)))
}

const EQ: i64 = 2;

/// A comparison into UB ignores the mask; its count must fill whole repeats.
fn compare_lanes(
    context: &mut Context<'_>,
    record: &RawRecord,
    code: Code,
    per_repeat: usize,
    width: usize,
) -> Checked<Option<(Lanes, usize)>> {
    if code == Code::CompareSpr {
        return lanes(context, record, per_repeat);
    }
    let all = Lanes {
        per_repeat,
        select: LaneSelect::Bits(low_bits(per_repeat)),
    };
    if Form::from_raw(record.form) != Form::Count {
        let repeats = record.p[0] as usize;
        return Ok((repeats > 0).then_some((all, repeats)));
    }
    context.registers.mask = [u64::MAX; 2];
    context.registers.counter = false;
    let bytes = record.mask[0] as usize * width;
    if !bytes.is_multiple_of(context.repeat_bytes()) {
        return Err(Refusal::new(
            "compare-count",
            format!(
                "count covers {bytes} bytes, a comparison works on multiples of {}",
                context.repeat_bytes()
            ),
            "round the count up; the tail would be left out",
        ));
    }
    let repeats = bytes / context.repeat_bytes();
    Ok((repeats > 0).then_some((all, repeats)))
}

/// Plans `Select`.
pub(crate) fn plan_select(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(SelectPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src0 = operand(record, 1, "src0")?;
    let mask = operand(record, 3, "selMask")?;
    require_mem(&mask, &[Mem::Ub])?;
    require_align(&mask, context.block())?;
    let bits = select_bits(record)?;
    let width = dst.width();
    let per_repeat = context.repeat_bytes() / width;
    let Some((lanes, repeats)) = lanes(context, record, per_repeat)? else {
        return Ok(None);
    };
    let block = context.block();
    let dst_view = strided(context, record, &dst, 0, width)?;
    let view0 = strided(context, record, &src0, 1, width)?;
    let mut prints: Footprints = [None; 4];
    prints[0] = Some(footprint(
        context,
        &dst,
        0,
        dst_view.extent(&lanes, repeats, block),
        true,
    )?);
    prints[1] = Some(footprint(
        context,
        &src0,
        0,
        view0.extent(&lanes, repeats, block),
        false,
    )?);
    let mut src1 = None;
    if record.t[2].present != 0 {
        let operand = operand(record, 2, "src1")?;
        let view = strided(context, record, &operand, 2, width)?;
        prints[2] = Some(footprint(
            context,
            &operand,
            0,
            view.extent(&lanes, repeats, block),
            false,
        )?);
        src1 = Some(view);
    }
    prints[3] = Some(mask_footprint(context, &mask, bits, lanes, repeats)?);
    let plan = SelectPlan {
        dtype: dst.dtype,
        bits,
        mask: mask.addr,
        lanes,
        repeats,
        dst: dst_view,
        src0: view0,
        src1,
        scalar: record.scalar,
    };
    Ok(Some((plan, prints)))
}

fn select_bits(record: &RawRecord) -> Checked<Bits> {
    let tensor = record.t[2].present != 0;
    match (record.p[7], tensor) {
        (0, true) => Ok(Bits::Repeated),
        (1, false) | (2, true) => Ok(Bits::Continuous),
        (mode, _) => Err(Refusal::new(
            "select-mode",
            format!(
                "SELMODE {mode} does not go with a {} as src1",
                if tensor { "tensor" } else { "scalar" }
            ),
            "mode 1 takes a scalar, modes 0 and 2 take a tensor",
        )),
    }
}

fn mask_footprint(
    context: &Context<'_>,
    mask: &crate::plan::Operand,
    bits: Bits,
    lanes: Lanes,
    repeats: usize,
) -> Checked<Footprint> {
    let used = match bits {
        Bits::Repeated => lanes.per_repeat,
        Bits::Continuous => (repeats - 1) * lanes.per_repeat + last_lane(lanes, repeats),
    };
    footprint(context, mask, 0, used.div_ceil(8), false)
}

pub(super) fn last_lane(lanes: Lanes, repeats: usize) -> usize {
    match lanes.of(repeats - 1) {
        Active::First(count) => count,
        active @ Active::Bits(_) => active.end(),
    }
}

/// Plans `Transpose` of one 16 x 16 tile.
pub(crate) fn plan_transpose(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(ShufflePlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let rows = context.target.limits.fractal_rows as usize;
    let bytes = rows * context.block();
    for tensor in [&dst, &src] {
        require_mem(tensor, &[Mem::Ub])?;
        require_align(tensor, context.block())?;
    }
    let prints = [
        Some(footprint(context, &dst, 0, bytes, true)?),
        Some(footprint(context, &src, 0, bytes, false)?),
        None,
        None,
    ];
    let row = |base: usize| {
        (0..rows)
            .map(|index| base + index * context.block())
            .collect()
    };
    let plan = ShufflePlan {
        width: src.width(),
        repeats: 1,
        dst: row(dst.addr),
        src: row(src.addr),
        dst_step: 0,
        src_step: 0,
        dst_half: 0,
        src_half: 0,
    };
    Ok(Some((plan, prints)))
}

/// Plans `TransDataTo5HD`.
pub(crate) fn plan_5hd(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(ShufflePlan, Footprints)>> {
    let dtype = Dtype::from_raw(record.t[0].dtype);
    let width = dtype.map_or(2, Dtype::width);
    let repeats = record.p[0] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    if repeats == 1 && (record.p[1] != 0 || record.p[2] != 0) {
        return Err(Refusal::new(
            "parameter-range",
            "with one repeat both repeat strides of TransDataTo5HD are 0",
            "set dstRepStride and srcRepStride to 0",
        ));
    }
    let block = context.block();
    let rows = context.target.limits.fractal_rows as usize;
    let steps = [record.p[1] as usize * block, record.p[2] as usize * block];
    let mut lists = [Vec::new(), Vec::new()];
    for (index, list) in lists.iter_mut().enumerate() {
        let pointer = record.mask[index] as *const u64;
        // SAFETY: the header passes arrays of exactly 16 addresses, alive during the call.
        let values = unsafe { std::slice::from_raw_parts(pointer, rows) };
        list.extend(values.iter().map(|&value| value as usize));
    }
    let [dst, src] = lists;
    let capacity = crate::local::capacity(context.target, Mem::Ub);
    let half = |index: usize| {
        if width == 1 && record.p[index] != 0 {
            rows
        } else {
            0
        }
    };
    let mut prints: Footprints = [None; 4];
    for (index, list) in [&dst, &src].into_iter().enumerate() {
        let start = *list.iter().min().expect("16 rows");
        let end = *list.iter().max().expect("16 rows") + (repeats - 1) * steps[index] + block;
        if end > capacity || list.iter().any(|addr| !addr.is_multiple_of(block)) {
            return Err(Refusal::new(
                if end > capacity {
                    "out-of-bounds"
                } else {
                    "misaligned"
                },
                format!(
                    "rows reach byte {end} of UB, which has {capacity} bytes; each starts at a multiple of {block}"
                ),
                "correct the address list",
            ));
        }
        prints[index] = Some(Footprint {
            mem: Mem::Ub,
            start,
            end,
            write: index == 0,
        });
    }
    let plan = ShufflePlan {
        width,
        repeats,
        dst,
        src,
        dst_step: steps[0],
        src_step: steps[1],
        dst_half: half(3),
        src_half: half(4),
    };
    Ok(Some((plan, prints)))
}
