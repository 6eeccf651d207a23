//! Plans of matrix multiplications.

use crate::abi::RawRecord;
use crate::dtype::Dtype;
use crate::local::Mem;
use crate::plan::vector::Footprints;
use crate::plan::{
    Checked, Context, Operand, footprint, operand, require_align, require_mem, require_range,
};

/// What the accumulator starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initial {
    Zero,
    Accumulate,
    /// One value per column, at this byte of the bias table.
    Bias(usize),
}

/// One matrix multiplication.
#[derive(Clone, Debug)]
pub(crate) struct MmadPlan {
    pub(crate) dst: usize,
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) operand: Dtype,
    pub(crate) initial: Initial,
    /// Elements of an operand row in a fractal.
    pub(crate) c0: usize,
    pub(crate) rows: usize,
    /// Column blocks of the left operand in L0A.
    pub(crate) a_blocks: usize,
    pub(crate) gemv: bool,
    /// So small that an accumulating product behind it overlaps with it in the unit.
    pub(crate) overlaps: bool,
    pub(crate) unit: Option<UnitFlag>,
    /// Operands are rounded to the short float first; `true`: ties go to zero.
    pub(crate) hf32: Option<bool>,
}

/// The blocks of L0C whose flags an instruction waits for.
#[derive(Clone, Debug)]
pub(crate) struct UnitFlag {
    /// Whether it hands them on (3), or more of its kind follow (2).
    pub(crate) last: bool,
    /// First byte of each block, and the bytes of one.
    pub(crate) starts: Vec<usize>,
    pub(crate) block: usize,
}

impl UnitFlag {
    /// From the parameter, for groups of 16 columns that start at these bytes and have so many rows.
    pub(super) fn new(
        flag: i64,
        groups: impl Iterator<Item = usize>,
        m: usize,
        rows: usize,
        width: usize,
    ) -> Option<UnitFlag> {
        let block = rows * rows * width;
        let blocks = m.div_ceil(rows);
        let starts = groups.flat_map(|group| (0..blocks).map(move |at| group + at * block));
        (flag != 0).then(|| UnitFlag {
            last: flag == 3,
            starts: starts.collect(),
            block,
        })
    }
}

pub(super) fn fractal_bytes(context: &Context<'_>) -> usize {
    context.target.limits.fractal_rows as usize * context.block()
}

pub(super) fn operand_align(context: &Context<'_>, mem: Mem) -> usize {
    crate::local::facts(context.target, mem).align_bytes as usize
}

/// Plans `Mmad`.
pub(crate) fn plan_mmad(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(MmadPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let a = operand(record, 1, "fm")?;
    let b = operand(record, 2, "filter")?;
    for (tensor, mem) in [(&dst, Mem::L0c), (&a, Mem::L0a), (&b, Mem::L0b)] {
        require_mem(tensor, &[mem])?;
        require_align(tensor, operand_align(context, mem))?;
    }
    let p = &record.p;
    let most = i64::from(context.target.limits.mmad_max_dim);
    for (name, value) in [("m", p[0]), ("n", p[1]), ("k", p[2])] {
        require_range(name, value, 0, most)?;
    }
    require_unit_flag(p[5])?;
    let [m, n, k] = [0, 1, 2].map(|index| p[index] as usize);
    if m == 0 || n == 0 || k == 0 {
        return Ok(None);
    }
    let rows = context.target.limits.fractal_rows as usize;
    let width = a.width();
    let c0 = context.block() / width;
    let align_k = if p[6] != 0 && width == 4 { 2 } else { 1 };
    let a_blocks = k.div_ceil(c0).next_multiple_of(align_k);
    let fractal = fractal_bytes(context);
    let gemv = m == 1;
    let a_bytes = if gemv {
        k * width
    } else {
        m.div_ceil(rows) * a_blocks * fractal
    };
    let b_bytes = k.div_ceil(c0) * n.div_ceil(rows) * fractal;
    let c_bytes = n.div_ceil(rows) * m.div_ceil(rows) * rows * rows * dst.width();
    let mut prints = [
        Some(footprint(context, &dst, 0, c_bytes, true)?),
        Some(footprint(context, &a, 0, a_bytes, false)?),
        Some(footprint(context, &b, 0, b_bytes, false)?),
        None,
    ];
    let (initial, bias_print) = initial(context, record, n)?;
    prints[3] = bias_print;
    let plan = MmadPlan {
        dst: dst.addr,
        a: a.addr,
        b: b.addr,
        m,
        n,
        k,
        operand: a.dtype,
        initial,
        c0,
        rows,
        a_blocks,
        gemv,
        overlaps: m.div_ceil(rows) * n.div_ceil(rows)
            < context.target.limits.mmad_overlap_fractals as usize,
        unit: UnitFlag::new(
            p[5],
            (0..n.div_ceil(rows))
                .map(|group| dst.addr + group * m.div_ceil(rows) * rows * rows * dst.width()),
            m,
            rows,
            dst.width(),
        ),
        hf32: (a.dtype == Dtype::F32 && context.registers.hf32)
            .then_some(context.registers.hf32_to_zero),
    };
    Ok(Some((plan, prints)))
}

pub(super) fn require_unit_flag(flag: i64) -> Checked<()> {
    if matches!(flag, 0 | 2 | 3) {
        return Ok(());
    }
    require_range("unitFlag", flag, 2, 3)
}

fn initial(
    context: &Context<'_>,
    record: &RawRecord,
    n: usize,
) -> Checked<(Initial, Option<crate::instruction::Footprint>)> {
    let p = &record.p;
    let has_bias = record.t[3].present != 0;
    let overwrite = p[8] != 0 && p[3] == 0;
    if overwrite && !has_bias {
        return Ok((Initial::Zero, None));
    }
    if !has_bias && p[7] == 0 {
        return Ok((Initial::Accumulate, None));
    }
    let bias = if has_bias {
        operand(record, 3, "bias")?
    } else {
        let bytes = context.target.memory.bt.bytes as usize;
        Operand {
            mem: Mem::Bt,
            addr: 0,
            extent: bytes,
            dtype: Dtype::F32,
            role: "bias",
        }
    };
    require_mem(&bias, &[Mem::Bt])?;
    require_align(&bias, operand_align(context, Mem::Bt))?;
    let print = footprint(context, &bias, 0, n * bias.width(), false)?;
    Ok((Initial::Bias(bias.addr), Some(print)))
}
