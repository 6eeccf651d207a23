//! Plans of moves out of the accumulator.

use crate::abi::RawRecord;
use crate::dtype::{Dtype, Overflow};
use crate::local::Mem;
use crate::plan::copy::atomic;
use crate::plan::cube::{UnitFlag, fractal_bytes, require_unit_flag};
use crate::plan::vector::Footprints;
use crate::plan::{
    AtomicOp, Checked, Context, Operand, Place, footprint, operand, place, require_align,
    require_mem, require_range,
};
use crate::report::Refusal;

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
    pub(crate) unit: Option<UnitFlag>,
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
    // The older call asks for whole fractals of 16-bit elements.
    let l0c_unit = if record.p[12] != 0 {
        fractal_bytes(context) * src.width().div_ceil(2)
    } else {
        context.target.limits.fractal_rows as usize * src.width()
    };
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
    let groups = (0..matrices).flat_map(|matrix| {
        let group = move |group| matrix * src_matrix + group * src_group;
        (0..n.div_ceil(rows)).map(group)
    });
    let groups = groups.map(|element| src.addr + element * src.width());
    let unit = UnitFlag::new(p[9], groups, m, rows, src.width());
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
        unit,
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
