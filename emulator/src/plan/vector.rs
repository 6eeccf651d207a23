//! Plans of vector instructions: lanes, repeats, strides, and the overlap rules.

use crate::abi::{Code, Form, RawRecord};
use crate::dtype::{Dtype, Overflow};
use crate::instruction::Footprint;
use crate::local::Mem;
use crate::plan::overlap::check_overlap;
use crate::plan::{
    Checked, Context, Operand, footprint, operand, require_align, require_mem, require_range,
};
use crate::report::Refusal;

/// Which lanes of each repeat take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// Lanes that one repeat has.
    pub(crate) per_repeat: usize,
    pub(crate) select: LaneSelect,
}

/// Normal mode: the same bits in each repeat; counter mode: a number of elements in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneSelect {
    Bits(u128),
    Total(usize),
}

/// Lanes of one repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Active {
    First(usize),
    Bits(u128),
}

impl Active {
    /// One past the highest lane.
    pub(crate) fn end(self) -> usize {
        match self {
            Active::First(count) => count,
            Active::Bits(bits) => 128 - bits.leading_zeros() as usize,
        }
    }

    pub(crate) fn has(self, lane: usize) -> bool {
        match self {
            Active::First(count) => lane < count,
            Active::Bits(bits) => bits >> lane & 1 == 1,
        }
    }
}

impl Lanes {
    /// Lanes of repeat `index`.
    pub(crate) fn of(&self, index: usize) -> Active {
        match self.select {
            LaneSelect::Total(total) => {
                Active::First((total - index * self.per_repeat).min(self.per_repeat))
            }
            LaneSelect::Bits(bits) => {
                let ones = bits.trailing_ones() as usize;
                if ones == 128 || bits >> ones == 0 {
                    Active::First(ones)
                } else {
                    Active::Bits(bits)
                }
            }
        }
    }
}

/// One tensor walked in blocks and repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    pub(crate) addr: usize,
    pub(crate) width: usize,
    /// Bytes from one block to the next.
    pub(crate) block_step: usize,
    /// Bytes from one repeat to the next.
    pub(crate) repeat_step: usize,
}

impl Strided {
    /// One past the last byte that the lanes of one repeat touch, from the start of the repeat.
    pub(crate) fn reach(&self, active: Active, block: usize) -> usize {
        let end = active.end();
        if end == 0 {
            return 0;
        }
        let last = (end - 1) * self.width;
        let blocks_before = last / block;
        let tail = blocks_before * self.block_step + last % block + self.width;
        if blocks_before == 0 {
            return tail;
        }
        tail.max((blocks_before - 1) * self.block_step + block)
    }

    /// One past the last byte of all repeats, from the start of the tensor.
    pub(crate) fn extent(&self, lanes: &Lanes, repeats: usize, block: usize) -> usize {
        let last = repeats.saturating_sub(1);
        let reach = |index: usize| index * self.repeat_step + self.reach(lanes.of(index), block);
        reach(last).max(reach(last.saturating_sub(1)))
    }
}

/// A checked lane-wise vector instruction.
#[derive(Clone, Debug)]
pub(crate) struct VectorPlan {
    pub(crate) code: Code,
    pub(crate) dst_type: Dtype,
    pub(crate) src_type: Dtype,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    pub(crate) dst: Strided,
    pub(crate) src: [Option<Strided>; 2],
    pub(crate) scalar: u64,
    /// Rounding mode of a cast, rounding of a right shift.
    pub(crate) mode: i64,
    pub(crate) overflow: Overflow,
    pub(crate) deq_scale: Option<u16>,
}

/// Footprints of an instruction, destination first.
pub(crate) type Footprints = [Option<Footprint>; 4];

/// Applies the call's mask to the mask register and returns the lanes and repeats; `None` for a no-op.
pub(crate) fn lanes(
    context: &mut Context<'_>,
    record: &RawRecord,
    per_repeat: usize,
) -> Checked<Option<(Lanes, usize)>> {
    let form = Form::from_raw(record.form);
    let repeat = record.p[0];
    let registers = &mut *context.registers;
    match form {
        Form::Count => {
            registers.mask = [u64::MAX; 2];
            registers.counter = false;
            let count = record.mask[0] as i64;
            require_range("count", count, 0, i64::from(u32::MAX))?;
            return Ok(counter(count as usize, per_repeat));
        }
        Form::Lanes if registers.counter => registers.mask = [record.mask[0], 0],
        Form::Lanes => {
            let most = per_repeat.min(128) as i64;
            let count = record.mask[0] as i64;
            if !(1..=most).contains(&count) {
                return Err(mask_range(format!(
                    "mask is {count}, an instruction of {per_repeat} lanes takes 1 to {most}"
                )));
            }
            registers.mask = words(low_bits(count as usize));
        }
        Form::Bits => {
            check_bits(record, per_repeat, registers.counter)?;
            registers.mask = record.mask;
        }
        Form::Keep => {}
    }
    if registers.counter {
        return Ok(counter(
            (registers.mask[0] & 0xffff_ffff) as usize,
            per_repeat,
        ));
    }
    let max_repeat = i64::from(context.target.limits.max_repeat);
    require_range("repeat", repeat, 0, max_repeat)?;
    let bits = u128::from(context.registers.mask[1]) << 64 | u128::from(context.registers.mask[0]);
    let bits = bits & low_bits(per_repeat.min(128));
    if repeat == 0 || bits == 0 {
        return Ok(None);
    }
    let select = LaneSelect::Bits(bits);
    Ok(Some((Lanes { per_repeat, select }, repeat as usize)))
}

fn check_bits(record: &RawRecord, per_repeat: usize, counter: bool) -> Checked<()> {
    if counter {
        return Ok(());
    }
    if per_repeat <= 64 && record.mask[1] != 0 {
        return Err(mask_range(format!(
            "mask[1] is {:#x}, {per_repeat} lanes use mask[0] only",
            record.mask[1]
        )));
    }
    if record.mask == [0, 0] {
        return Err(mask_range("both words of the mask are 0".to_owned()));
    }
    Ok(())
}

fn mask_range(message: String) -> Refusal {
    Refusal::new(
        "mask-range",
        message,
        "state the lanes that the element type has in one repeat",
    )
}

fn counter(total: usize, per_repeat: usize) -> Option<(Lanes, usize)> {
    let select = LaneSelect::Total(total);
    (total > 0).then(|| (Lanes { per_repeat, select }, total.div_ceil(per_repeat)))
}

pub(crate) fn low_bits(count: usize) -> u128 {
    if count >= 128 {
        u128::MAX
    } else {
        (1 << count) - 1
    }
}

fn words(bits: u128) -> [u64; 2] {
    [bits as u64, (bits >> 64) as u64]
}

/// The strided view of operand `slot` (0 destination, 1 and 2 sources) under the call's strides.
pub(crate) fn strided(
    context: &Context<'_>,
    record: &RawRecord,
    operand: &Operand,
    slot: usize,
    widest: usize,
) -> Checked<Strided> {
    require_mem(operand, &[Mem::Ub])?;
    require_align(operand, context.block())?;
    let block = context.block();
    let width = operand.width();
    if Form::from_raw(record.form) == Form::Count {
        return Ok(Strided {
            addr: operand.addr,
            width,
            block_step: block,
            repeat_step: context.repeat_bytes() * width / widest,
        });
    }
    let blocks = |value: i64| usize::try_from(value).expect("strides are unsigned fields") * block;
    Ok(Strided {
        addr: operand.addr,
        width,
        block_step: blocks(record.p[1 + slot]),
        repeat_step: blocks(record.p[4 + slot]),
    })
}

/// Plans a lane-wise instruction; `None` when it does nothing.
pub(crate) fn plan(
    context: &mut Context<'_>,
    record: &RawRecord,
    code: Code,
) -> Checked<Option<(VectorPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let sources = source_operands(record)?;
    let widest = sources
        .iter()
        .flatten()
        .map(Operand::width)
        .fold(dst.width(), usize::max);
    let per_repeat = context.repeat_bytes() / widest;
    if code == Code::Cast {
        check_cast(
            record.p[7],
            &dst,
            sources[0].as_ref().expect("Cast has a source"),
            context,
        )?;
    }
    if code == Code::AddDeqRelu && context.registers.deq_scale.is_none() {
        return Err(no_scale("AddDeqRelu"));
    }
    let (mut lanes, mut repeats) = match lanes(context, record, per_repeat)? {
        Some(found) => found,
        None => return Ok(None),
    };
    if code == Code::Copy {
        (lanes, repeats) = copy_lanes(context, record, lanes, repeats)?;
    }
    if repeats == 0 {
        return Ok(None);
    }
    let block = context.block();
    let mut prints: Footprints = [None; 4];
    let dst_view = strided(context, record, &dst, 0, widest)?;
    prints[0] = Some(footprint(
        context,
        &dst,
        0,
        dst_view.extent(&lanes, repeats, block),
        true,
    )?);
    let mut src = [None; 2];
    for (slot, source) in sources.iter().enumerate() {
        let Some(source) = source else { continue };
        let view = strided(context, record, source, slot + 1, widest)?;
        let extent = view.extent(&lanes, repeats, block);
        prints[slot + 1] = Some(footprint(context, source, 0, extent, false)?);
        src[slot] = Some(view);
    }
    let plan = VectorPlan {
        code,
        dst_type: dst.dtype,
        src_type: sources[0].map_or(dst.dtype, |source| source.dtype),
        lanes,
        repeats,
        dst: dst_view,
        src,
        scalar: record.scalar,
        mode: record.p[7],
        overflow: context.registers.overflow,
        deq_scale: context.registers.deq_scale,
    };
    check_overlap(&plan, &prints, block)?;
    Ok(Some((plan, prints)))
}

fn source_operands(record: &RawRecord) -> Checked<[Option<Operand>; 2]> {
    let mut sources = [None; 2];
    for (slot, role) in ["src0", "src1"].into_iter().enumerate() {
        if record.t[slot + 1].present != 0 {
            sources[slot] = Some(operand(record, slot + 1, role)?);
        }
    }
    Ok(sources)
}

/// `Copy` takes its mask per repeat and honours the repeat count in counter mode too.
fn copy_lanes(
    context: &Context<'_>,
    record: &RawRecord,
    lanes: Lanes,
    repeats: usize,
) -> Checked<(Lanes, usize)> {
    let LaneSelect::Total(total) = lanes.select else {
        return Ok((lanes, repeats));
    };
    require_range(
        "repeat",
        record.p[0],
        0,
        i64::from(context.target.limits.max_repeat),
    )?;
    let bits = low_bits(total.min(lanes.per_repeat));
    let select = LaneSelect::Bits(bits);
    Ok((Lanes { select, ..lanes }, record.p[0] as usize))
}

/// Codes of `RoundMode`.
pub(crate) mod round {
    pub(crate) const NONE: i64 = 0;
    pub(crate) const RINT: i64 = 1;
    pub(crate) const FLOOR: i64 = 2;
    pub(crate) const CEIL: i64 = 3;
    pub(crate) const ROUND: i64 = 4;
    pub(crate) const TRUNC: i64 = 5;
    pub(crate) const ODD: i64 = 6;
    pub(crate) const NAMES: [&str; 7] = [
        "CAST_NONE",
        "CAST_RINT",
        "CAST_FLOOR",
        "CAST_CEIL",
        "CAST_ROUND",
        "CAST_TRUNC",
        "CAST_ODD",
    ];
}

fn no_scale(what: &str) -> Refusal {
    Refusal::new(
        "deq-scale",
        format!("{what} runs without a scale"),
        "call SetDeqScale first",
    )
}

fn check_cast(mode: i64, dst: &Operand, src: &Operand, context: &Context<'_>) -> Checked<()> {
    use Dtype::{Bf16, F16, F32, I8, I16, I32, I64, U8};
    let rounding = (round::RINT..=round::TRUNC).contains(&mode);
    let allowed = match (src.dtype, dst.dtype) {
        (F32, F16) => (round::NONE..=round::ODD).contains(&mode),
        (F32, Bf16 | F32 | I16 | I32 | I64) | (F16, I16 | I32) | (Bf16, I32) | (I64, F32) => {
            rounding
        }
        (F16, I8 | U8) | (I16, F16) | (I32, F32) => rounding || mode == round::NONE,
        (I32, F16) if context.registers.deq_scale.is_none() => {
            return Err(no_scale("Cast from int32_t to half"));
        }
        _ => mode == round::NONE,
    };
    if allowed {
        return Ok(());
    }
    let name = round::NAMES
        .get(mode as usize)
        .copied()
        .unwrap_or("an unknown mode");
    Err(Refusal::new(
        "cast-mode",
        format!(
            "Cast from {} to {} does not take {name}",
            src.dtype.name(),
            dst.dtype.name()
        ),
        "use a rounding mode of the conversion table",
    ))
}

/// Plans `Brcb`: ignores the mask, reads eight elements a repeat, fills eight blocks.
pub(crate) fn plan_brcb(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(VectorPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src0")?;
    let block = context.block();
    for tensor in [&dst, &src] {
        require_mem(tensor, &[Mem::Ub])?;
        require_align(tensor, block)?;
    }
    let repeats = record.p[0] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    let width = dst.width();
    let per_repeat = context.repeat_bytes() / block;
    let dst_view = Strided {
        addr: dst.addr,
        width,
        block_step: (record.p[1].max(1) as usize) * block,
        repeat_step: record.p[4] as usize * block,
    };
    let src_view = Strided {
        addr: src.addr,
        width,
        block_step: block,
        repeat_step: per_repeat * width,
    };
    let dst_end =
        (repeats - 1) * dst_view.repeat_step + (per_repeat - 1) * dst_view.block_step + block;
    let src_end = repeats * per_repeat * width;
    let prints = [
        Some(footprint(context, &dst, 0, dst_end, true)?),
        Some(footprint(context, &src, 0, src_end, false)?),
        None,
        None,
    ];
    let select = LaneSelect::Bits(low_bits(per_repeat));
    let plan = VectorPlan {
        code: Code::Brcb,
        dst_type: dst.dtype,
        src_type: src.dtype,
        lanes: Lanes { per_repeat, select },
        repeats,
        dst: dst_view,
        src: [Some(src_view), None],
        scalar: 0,
        mode: 0,
        overflow: context.registers.overflow,
        deq_scale: None,
    };
    Ok(Some((plan, prints)))
}
