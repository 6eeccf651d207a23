//! Plans of the matrix unit: LoadData, Mmad, Fixpipe.

use crate::abi::RawRecord;
use crate::dtype::{Dtype, Overflow};
use crate::instruction::Pipe;
use crate::local::Mem;
use crate::plan::copy::atomic;
use crate::plan::vector::Footprints;
use crate::plan::{
    AtomicOp, Checked, Context, Operand, Place, footprint, operand, place, require_align,
    require_mem, require_range,
};
use crate::report::Refusal;

/// Whole fractals from L1 or global memory to an operand buffer.
#[derive(Clone, Debug)]
pub(crate) struct LoadPlan {
    pub(crate) src: Place,
    pub(crate) dst: (Mem, usize),
    pub(crate) repeats: usize,
    /// Bytes from fractal to fractal.
    pub(crate) src_step: usize,
    pub(crate) dst_step: usize,
    pub(crate) src_start: usize,
    pub(crate) fractal: usize,
    /// Transpose 16 x 16 elements of this width; source and destination are `groups` fractals wide.
    pub(crate) transpose: Option<TransposeShape>,
}

/// A square of 16 x 16 elements, spread over one or more fractals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransposeShape {
    pub(crate) width: usize,
    pub(crate) side: usize,
    /// Bytes between the fractals of one square in the destination.
    pub(crate) dst_fractal_step: usize,
}

/// An image-to-column load, restricted to what matrix code uses it for.
#[derive(Clone, Debug)]
pub(crate) struct Load3DPlan {
    pub(crate) src: usize,
    pub(crate) dst: (Mem, usize),
    pub(crate) width: usize,
    pub(crate) rows_in_l1: usize,
    pub(crate) k_start: usize,
    pub(crate) m_start: usize,
    pub(crate) k_extent: usize,
    pub(crate) m_extent: usize,
    pub(crate) c0: usize,
    pub(crate) rows: usize,
    pub(crate) layout: Load3DLayout,
}

/// How an image-to-column load arranges what it fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load3DLayout {
    /// Left operand, as stored.
    Left,
    /// Left operand, transposed as a whole.
    LeftTransposed,
    /// Right operand; its rows run along K.
    Right,
}

/// A constant fill of L1, L0A or L0B.
#[derive(Clone, Debug)]
pub(crate) struct FillPlan {
    pub(crate) dst: (Mem, usize),
    pub(crate) pieces: usize,
    pub(crate) len: usize,
    pub(crate) step: usize,
    pub(crate) width: usize,
    pub(crate) value: u64,
}

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
}

/// Conversion on the way out of L0C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quant {
    None,
    ToHalf,
    ToBfloat,
    /// Scale in fixpipe encoding: one for all, or one per column at a byte of L1.
    Scale(u64),
    ScaleVector(usize),
}

/// A move out of the accumulator.
#[derive(Clone, Debug)]
pub(crate) struct FixpipePlan {
    pub(crate) src: usize,
    pub(crate) dst: Place,
    pub(crate) src_type: Dtype,
    pub(crate) dst_type: Dtype,
    pub(crate) n: usize,
    pub(crate) m: usize,
    /// Elements of one 16-column group of the source.
    pub(crate) src_group: usize,
    pub(crate) matrices: usize,
    pub(crate) src_matrix: usize,
    /// Bytes between rows and between column groups of the destination, and columns of a group.
    pub(crate) dst_row: usize,
    pub(crate) dst_group: usize,
    pub(crate) group_cols: usize,
    pub(crate) dst_matrix: usize,
    pub(crate) quant: Quant,
    pub(crate) relu: bool,
    pub(crate) atomic: Option<(AtomicOp, Dtype)>,
    pub(crate) overflow: Overflow,
    pub(crate) rows: usize,
}

fn fractal_bytes(context: &Context<'_>) -> usize {
    context.target.limits.fractal_rows as usize * context.block()
}

fn operand_align(context: &Context<'_>, mem: Mem) -> usize {
    crate::local::facts(context.target, mem).align_bytes as usize
}

/// Plans `LoadData` with `LoadData2DParams`.
pub(crate) fn plan_load(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(LoadPlan, Footprints, Pipe)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let pipe = if src.mem == Mem::Gm {
        Pipe::Mte2
    } else {
        Pipe::Mte1
    };
    require_mem(&src, &[Mem::L1, Mem::Gm])?;
    let targets: &[Mem] = if src.mem == Mem::Gm {
        &[Mem::L0a, Mem::L0b, Mem::L1]
    } else {
        &[Mem::L0a, Mem::L0b]
    };
    require_mem(&dst, targets)?;
    require_align(&dst, operand_align(context, dst.mem))?;
    if src.mem == Mem::L1 {
        require_align(&src, context.block())?;
    }
    let p = &record.p;
    require_range("sid", p[5], 0, 0)?;
    if p[6] != 0 {
        return Err(Refusal::new(
            "not-emulated",
            "addrMode 1 is not emulated",
            "use addrMode 0",
        ));
    }
    let transpose = p[4] != 0;
    if transpose && (src.width() != 2 || src.mem == Mem::Gm) {
        return Err(Refusal::new(
            "wrong-type",
            format!(
                "ifTranspose works on 16-bit elements in L1, not on {}",
                src.dtype.name()
            ),
            "use LoadDataWithTranspose, or transpose elsewhere",
        ));
    }
    let repeats = p[1] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    let fractal = fractal_bytes(context);
    let src_start = p[0] as usize * fractal;
    let src_step = p[2] as usize * fractal;
    let dst_step = (1 + p[3] as usize) * fractal;
    let dst_print = footprint(context, &dst, 0, (repeats - 1) * dst_step + fractal, true)?;
    let src_end = src_start + (repeats - 1) * src_step + fractal;
    let src_print = footprint(context, &src, src_start, src_end, false)?;
    let side = context.target.limits.fractal_rows as usize;
    let plan = LoadPlan {
        src: place(&src, &src_print)?,
        dst: (dst.mem, dst.addr),
        repeats,
        src_step,
        dst_step,
        src_start,
        fractal,
        transpose: transpose.then_some(TransposeShape {
            width: src.width(),
            side,
            dst_fractal_step: fractal,
        }),
    };
    Ok(Some((
        plan,
        [Some(dst_print), Some(src_print), None, None],
        pipe,
    )))
}

/// Plans `LoadDataWithTranspose`: squares of 16 x 16 elements.
pub(crate) fn plan_load_transpose(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(LoadPlan, Footprints, Pipe)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&src, &[Mem::L1])?;
    require_mem(&dst, &[Mem::L0a, Mem::L0b])?;
    require_align(&dst, operand_align(context, dst.mem))?;
    require_align(&src, context.block())?;
    let width = src.width();
    if width == 1 {
        return Err(Refusal::new(
            "not-emulated",
            "LoadDataWithTranspose of 8-bit elements is not emulated",
            "use 16-bit or 32-bit elements",
        ));
    }
    let p = &record.p;
    let repeats = p[1] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    let fractal = fractal_bytes(context);
    let side = context.target.limits.fractal_rows as usize;
    // Source indices and strides count whole squares; destination gaps count fractals.
    let square = side * side * width;
    let fractals = square / fractal;
    let dst_fractal_step = (1 + p[4] as usize) * fractal;
    let dst_step = (1 + p[3] as usize) * fractal;
    let src_start = p[0] as usize * square;
    let src_step = p[2] as usize * square;
    let dst_end = (repeats - 1) * dst_step + (fractals - 1) * dst_fractal_step + fractal;
    let dst_print = footprint(context, &dst, 0, dst_end, true)?;
    let src_end = src_start + (repeats - 1) * src_step + square;
    let src_print = footprint(context, &src, src_start, src_end, false)?;
    let plan = LoadPlan {
        src: place(&src, &src_print)?,
        dst: (dst.mem, dst.addr),
        repeats,
        src_step,
        dst_step,
        src_start,
        fractal,
        transpose: Some(TransposeShape {
            width,
            side,
            dst_fractal_step,
        }),
    };
    Ok(Some((
        plan,
        [Some(dst_print), Some(src_print), None, None],
        Pipe::Mte1,
    )))
}

/// Plans `LoadData` with `LoadData3DParamsV2` for plain matrices: one row of pixels, a 1 x 1 filter.
pub(crate) fn plan_load3d(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(Load3DPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&src, &[Mem::L1])?;
    require_mem(&dst, &[Mem::L0a, Mem::L0b])?;
    require_align(&dst, operand_align(context, dst.mem))?;
    require_align(&src, context.block())?;
    let p = &record.p;
    let plain = p[7..13].iter().all(|&value| value == 1) && p[15..19].iter().all(|&pad| pad == 0);
    if !plain {
        return Err(Refusal::new(
            "not-emulated",
            "LoadData 3D is emulated for 1 x 1 filters with strides 1 and no padding",
            "use the matrix form: filters, strides and dilations 1, padList 0",
        ));
    }
    let width = src.width();
    let c0 = context.block() / width;
    let rows = context.target.limits.fractal_rows as usize;
    let [
        height,
        pixels,
        channels,
        k_extent,
        m_extent,
        k_start,
        m_start,
    ] = [p[0], p[1], p[2], p[3], p[4], p[5], p[6]].map(|value| value as usize);
    if k_extent == 0 || m_extent == 0 {
        return Ok(None);
    }
    for (name, value, unit) in [("kStartPt", k_start, c0), ("mStartPt", m_start, rows)] {
        if !value.is_multiple_of(unit) {
            return Err(Refusal::new(
                "parameter-range",
                format!("{name} is {value}, no multiple of {unit}"),
                "start at a fractal",
            ));
        }
    }
    let rows_in_l1 = height * pixels;
    if k_start + k_extent > channels.next_multiple_of(c0) || m_start >= rows_in_l1 {
        return Err(Refusal::new(
            "parameter-range",
            format!(
                "columns {k_start}..{} and rows from {m_start} leave the {rows_in_l1} x {channels} matrix",
                k_start + k_extent
            ),
            "keep the extents inside l1H * l1W and channelSize",
        ));
    }
    let fractal = fractal_bytes(context);
    let layout = match (dst.mem, p[13] != 0) {
        (Mem::L0b, _) => Load3DLayout::Right,
        (_, true) => Load3DLayout::LeftTransposed,
        (_, false) => Load3DLayout::Left,
    };
    let dst_end = if layout == Load3DLayout::Left {
        k_extent.div_ceil(c0) * m_extent.div_ceil(rows) * fractal
    } else {
        k_extent.next_multiple_of(rows) * m_extent.next_multiple_of(rows) * width
    };
    let src_end = channels.div_ceil(c0) * rows_in_l1 * context.block();
    let dst_print = footprint(context, &dst, 0, dst_end, true)?;
    let src_print = footprint(context, &src, 0, src_end, false)?;
    let plan = Load3DPlan {
        src: src.addr,
        dst: (dst.mem, dst.addr),
        width,
        rows_in_l1,
        k_start,
        m_start,
        k_extent,
        m_extent,
        c0,
        rows,
        layout,
    };
    Ok(Some((plan, [Some(dst_print), Some(src_print), None, None])))
}

/// Plans `InitConstValue` and `Fill`.
pub(crate) fn plan_fill(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(FillPlan, Footprints, Pipe)>> {
    let dst = operand(record, 0, "dst")?;
    require_mem(&dst, &[Mem::L1, Mem::L0a, Mem::L0b])?;
    require_align(&dst, operand_align(context, dst.mem))?;
    // Blocks are 32 bytes in L1 and whole fractals in the operand buffers.
    let unit = if dst.mem == Mem::L1 {
        context.block()
    } else {
        fractal_bytes(context)
    };
    let [pieces, blocks, gap] = [0, 1, 2].map(|index| record.p[index] as usize);
    let len = blocks.max(1) * unit;
    if pieces == 0 {
        return Ok(None);
    }
    let step = len + gap * unit;
    let print = footprint(context, &dst, 0, (pieces - 1) * step + len, true)?;
    let pipe = if dst.mem == Mem::L1 {
        Pipe::Mte2
    } else {
        Pipe::Mte1
    };
    let plan = FillPlan {
        dst: (dst.mem, dst.addr),
        pieces,
        len,
        step,
        width: dst.width(),
        value: record.scalar,
    };
    Ok(Some((plan, [Some(print), None, None, None], pipe)))
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
    };
    Ok(Some((plan, prints)))
}

fn require_unit_flag(flag: i64) -> Checked<()> {
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

/// Codes of `QuantMode_t`.
mod quant {
    pub(super) const NONE: i64 = 0;
    pub(super) const F322F16: i64 = 1;
    pub(super) const F322BF16: i64 = 2;
    pub(super) const DEQF16: i64 = 3;
    pub(super) const VDEQF16: i64 = 4;
    pub(super) const QF322B8: i64 = 5;
    pub(super) const VQF322B8: i64 = 6;
    pub(super) const REQ8: i64 = 7;
    pub(super) const VREQ8: i64 = 8;
}

/// What the default constructor of the headers leaves in `deqScalar`.
const UNSET_SCALAR: u64 = 0xfae0_fae0_fae0_fae0;
/// Largest row count with and without ND output (Fixpipe page).
const MAX_ND_ROWS: i64 = 8192;
/// Largest distance of source matrices (Fixpipe page).
const MAX_SRC_ND_STRIDE: i64 = 512;

/// Plans `Fixpipe`.
pub(crate) fn plan_fixpipe(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(FixpipePlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&src, &[Mem::L0c])?;
    require_mem(&dst, &[Mem::Gm, Mem::L1])?;
    let l0c_unit = context.target.limits.fractal_rows as usize * src.width();
    require_align(&src, l0c_unit)?;
    if dst.mem == Mem::L1 {
        require_align(&dst, context.block())?;
    }
    let p = &record.p;
    let row_major = p[11] == 1;
    check_fixpipe(context, record, &dst, &src)?;
    let [n, m, src_stride, dst_stride, matrices] =
        [p[0], p[1], p[2], p[3], p[5]].map(|value| value as usize);
    if n == 0 || m == 0 || matrices == 0 {
        return Ok(None);
    }
    let matrices = if row_major { matrices } else { 1 };
    let rows = context.target.limits.fractal_rows as usize;
    let width = dst.width();
    let (dst_row, dst_group, group_cols) =
        fixpipe_layout(context, record, width, row_major, dst_stride);
    let src_group = src_stride * rows;
    let src_matrix = p[6] as usize * rows * rows;
    let dst_matrix = p[7] as usize * width;
    let last_group = (n - 1) / group_cols;
    let dst_end = (matrices - 1) * dst_matrix
        + (m - 1) * dst_row
        + last_group * dst_group
        + (n - last_group * group_cols) * width;
    let src_end =
        ((matrices - 1) * src_matrix + (n.div_ceil(rows) - 1) * src_group + m * rows) * src.width();
    let dst_print = footprint(context, &dst, 0, dst_end, true)?;
    let src_print = footprint(context, &src, 0, src_end, false)?;
    let (quant, quant_print) = quant_of(context, record, n)?;
    let plan = FixpipePlan {
        src: src.addr,
        dst: place(&dst, &dst_print)?,
        src_type: src.dtype,
        dst_type: dst.dtype,
        n,
        m,
        src_group,
        matrices,
        src_matrix,
        dst_row,
        dst_group,
        group_cols,
        dst_matrix,
        quant,
        relu: p[8] != 0,
        atomic: if dst.mem == Mem::Gm {
            atomic(context, &dst)?
        } else {
            None
        },
        overflow: context.registers.overflow,
        rows,
    };
    Ok(Some((
        plan,
        [Some(dst_print), Some(src_print), quant_print, None],
    )))
}

/// Bytes between rows and between column groups, and the columns of a group.
fn fixpipe_layout(
    context: &Context<'_>,
    record: &RawRecord,
    width: usize,
    row_major: bool,
    dst_stride: usize,
) -> (usize, usize, usize) {
    let block = context.block();
    let rows = context.target.limits.fractal_rows as usize;
    if row_major {
        return (dst_stride * width, rows * width, rows);
    }
    let group_cols = match width {
        1 => block,
        4 if record.p[10] != 0 => block / width,
        _ => rows,
    };
    (group_cols * width, dst_stride * block, group_cols)
}

fn check_fixpipe(
    context: &Context<'_>,
    record: &RawRecord,
    dst: &Operand,
    src: &Operand,
) -> Checked<()> {
    let p = &record.p;
    if p[11] > 1 {
        return Err(Refusal::new(
            "wrong-position",
            "column-major Fixpipe does not exist on this chip",
            "use CFG_ROW_MAJOR or CFG_NZ",
        ));
    }
    let row_major = p[11] == 1;
    let max_n = i64::from(context.target.limits.mmad_max_dim);
    require_range("nSize", p[0], 0, max_n)?;
    let max_m = if row_major {
        MAX_ND_ROWS
    } else {
        i64::from(u16::MAX)
    };
    require_range("mSize", p[1], 0, max_m)?;
    require_range("dstStride", p[3], 1, i64::from(u32::MAX))?;
    require_unit_flag(p[9])?;
    let split = p[10] != 0;
    let unit = if split {
        8
    } else {
        i64::from(context.target.limits.fractal_rows)
    };
    if !row_major && p[0] % unit != 0 {
        return Err(Refusal::new(
            "parameter-range",
            format!("nSize is {}, NZ output takes multiples of {unit}", p[0]),
            "round nSize up, the extra columns land in the padding",
        ));
    }
    if split && (row_major || dst.dtype != Dtype::F32) {
        return Err(Refusal::new(
            "parameter-range",
            "isChannelSplit goes with float NZ output only",
            "clear isChannelSplit",
        ));
    }
    if p[5] > 1 && row_major {
        require_range("srcNdStride", p[6], 1, MAX_SRC_ND_STRIDE)?;
        require_range("dstNdStride", p[7], 1, i64::from(u16::MAX))?;
    }
    check_quant(p[4], dst, src)
}

fn check_quant(mode: i64, dst: &Operand, src: &Operand) -> Checked<()> {
    use Dtype::{Bf16, F16, F32, I8, I32, U8};
    let allowed = match (src.dtype, dst.dtype) {
        (F32, F32) | (I32, I32) => mode == quant::NONE && dst.mem != Mem::L1,
        (F32, F16) => mode == quant::F322F16,
        (F32, Bf16) => mode == quant::F322BF16,
        (F32, I8 | U8) => matches!(mode, quant::QF322B8 | quant::VQF322B8),
        (I32, F16) => matches!(mode, quant::DEQF16 | quant::VDEQF16),
        (I32, I8 | U8) => matches!(mode, quant::REQ8 | quant::VREQ8),
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    Err(Refusal::new(
        "quant-mode",
        format!(
            "quantPre {mode} does not turn {} into {} in {}",
            src.dtype.name(),
            dst.dtype.name(),
            dst.mem.name()
        ),
        "set quantPre by hand: F322F16 for half, F322BF16 for bfloat16_t, NoQuant for float to GM",
    ))
}

fn quant_of(
    context: &Context<'_>,
    record: &RawRecord,
    n: usize,
) -> Checked<(Quant, Option<crate::instruction::Footprint>)> {
    Ok(match record.p[4] {
        quant::F322F16 => (Quant::ToHalf, None),
        quant::F322BF16 => (Quant::ToBfloat, None),
        quant::DEQF16 | quant::QF322B8 | quant::REQ8 => {
            if record.scalar == UNSET_SCALAR {
                return Err(Refusal::new(
                    "deq-scalar-unset",
                    "deqScalar was never set; the structure leaves it uninitialised",
                    "assign deqScalar the bits of the float scale",
                ));
            }
            (Quant::Scale(record.scalar), None)
        }
        quant::VDEQF16 | quant::VQF322B8 | quant::VREQ8 => {
            if record.t[2].present == 0 {
                return Err(Refusal::new(
                    "quant-mode",
                    "a vector quantisation needs its scales",
                    "pass the L1 tensor of scales to Fixpipe",
                ));
            }
            let scales = operand(record, 2, "cbufWorkspace")?;
            require_mem(&scales, &[Mem::L1])?;
            require_align(&scales, context.block())?;
            let print = footprint(context, &scales, 0, n * scales.width(), false)?;
            (Quant::ScaleVector(scales.addr), Some(print))
        }
        _ => (Quant::None, None),
    })
}
