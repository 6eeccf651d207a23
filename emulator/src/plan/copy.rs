//! Plans of copies: contiguous and strided, padded, and ND to NZ.

use crate::abi::RawRecord;
use crate::dtype::Dtype;
use crate::instruction::Pipe;
use crate::local::Mem;
use crate::plan::vector::Footprints;
use crate::plan::{
    AtomicOp, Checked, Context, Operand, Place, footprint, operand, place, require_align,
    require_mem, require_range,
};
use crate::report::Refusal;

/// Equal pieces at regular distances.
#[derive(Clone, Debug)]
pub(crate) struct CopyPlan {
    pub(crate) dst: Place,
    pub(crate) src: Place,
    pub(crate) pieces: usize,
    /// Bytes of one piece.
    pub(crate) len: usize,
    pub(crate) dst_step: usize,
    pub(crate) src_step: usize,
    pub(crate) atomic: Option<(AtomicOp, Dtype)>,
}

/// Row-major matrices in global memory to NZ in L1.
#[derive(Clone, Debug)]
pub(crate) struct Nd2NzPlan {
    pub(crate) src: Place,
    pub(crate) dst: usize,
    pub(crate) width: usize,
    pub(crate) matrices: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Bytes between matrices and rows of the source.
    pub(crate) src_matrix: usize,
    pub(crate) src_row: usize,
    /// Bytes between column groups, rows and matrices of the destination.
    pub(crate) dst_group: usize,
    pub(crate) dst_row: usize,
    pub(crate) dst_matrix: usize,
    pub(crate) block: usize,
}

/// What fills the bytes around a padded piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filler {
    /// The piece's first element.
    First,
    /// The low bytes of this value.
    Value(u64),
    /// Nothing in particular.
    Garbage,
}

/// A padded copy from global memory to UB.
#[derive(Clone, Debug)]
pub(crate) struct PadInPlan {
    pub(crate) src: Place,
    pub(crate) dst: usize,
    pub(crate) width: usize,
    pub(crate) pieces: usize,
    pub(crate) len: usize,
    pub(crate) left: usize,
    /// Bytes of a piece in UB: paddings and rounding included.
    pub(crate) total: usize,
    pub(crate) src_step: usize,
    pub(crate) dst_step: usize,
    pub(crate) filler: Filler,
}

/// The pipe and the units of a path, or a refusal if it does not exist.
struct Path {
    pipe: Pipe,
    length_unit: usize,
    dst_align: usize,
}

fn path(context: &Context<'_>, dst: &Operand, src: &Operand) -> Checked<Path> {
    let block = context.block();
    let bt = context.target.memory.bt.align_bytes as usize;
    let fb = context.target.memory.fb.align_bytes as usize;
    let (pipe, length_unit) = match (src.mem, dst.mem) {
        (Mem::Gm, Mem::Ub | Mem::L1) => (Pipe::Mte2, block),
        (Mem::Ub | Mem::L1, Mem::Gm) => (Pipe::Mte3, block),
        (Mem::Ub, Mem::Ub) => (Pipe::V, block),
        (Mem::L1, Mem::Bt) => (Pipe::Mte1, bt),
        (Mem::L1, Mem::Fb) => (Pipe::Fix, fb),
        (Mem::Ub, Mem::L1) => {
            return Err(Refusal::new(
                "wrong-position",
                "DataCopy from UB to L1 is not emulated: this chip has no such path, and the vendor's library has the \
                 server of a Matmul object copy by way of global memory",
                "store to global memory, set a cross-core flag behind it, and load on the cube core",
            ));
        }
        (from, to) => {
            return Err(Refusal::new(
                "wrong-position",
                format!(
                    "this chip has no DataCopy from {} to {}",
                    from.name(),
                    to.name()
                ),
                "go through global memory",
            ));
        }
    };
    if src.dtype.width() != dst.dtype.width() {
        return Err(Refusal::new(
            "not-emulated",
            format!(
                "DataCopy that converts {} to {} is not emulated",
                src.dtype.name(),
                dst.dtype.name()
            ),
            "copy elements of one type",
        ));
    }
    Ok(Path {
        pipe,
        length_unit,
        dst_align: length_unit,
    })
}

/// Alignment check of an on-chip operand.
fn align_local(operand: &Operand, align: usize) -> Checked<()> {
    if operand.mem == Mem::Gm {
        Ok(())
    } else {
        require_align(operand, align)
    }
}

/// Plans `DataCopy` with a count or with `DataCopyParams`.
pub(crate) fn plan(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(CopyPlan, Footprints, Pipe)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let path = path(context, &dst, &src)?;
    let block = context.block();
    align_local(&dst, path.dst_align)?;
    align_local(&src, block)?;
    let (pieces, len, src_gap, dst_gap) = if record.p[4] != 0 {
        let bytes = record.p[5] as usize * dst.width();
        if !bytes.is_multiple_of(path.length_unit) {
            return Err(Refusal::new(
                "copy-length",
                format!(
                    "count is {} elements = {bytes} bytes, this path copies multiples of {} bytes",
                    record.p[5], path.length_unit
                ),
                "use DataCopyPad, or round the count",
            ));
        }
        (usize::from(bytes > 0), bytes, 0, 0)
    } else {
        let most = i64::from(context.target.limits.data_copy_max_blocks);
        require_range("blockCount", record.p[0], 0, most)?;
        let len = record.p[1] as usize * path.length_unit;
        let pieces = if len == 0 { 0 } else { record.p[0] as usize };
        (
            pieces,
            len,
            record.p[2] as usize * block,
            record.p[3] as usize * path.dst_align,
        )
    };
    finish(
        context,
        &dst,
        &src,
        path.pipe,
        (pieces, len, len + src_gap, len + dst_gap),
    )
}

fn finish(
    context: &mut Context<'_>,
    dst: &Operand,
    src: &Operand,
    pipe: Pipe,
    (pieces, len, src_step, dst_step): (usize, usize, usize, usize),
) -> Checked<Option<(CopyPlan, Footprints, Pipe)>> {
    if pieces == 0 {
        return Ok(None);
    }
    let dst_print = footprint(context, dst, 0, (pieces - 1) * dst_step + len, true)?;
    let src_print = footprint(context, src, 0, (pieces - 1) * src_step + len, false)?;
    let atomic = if dst.mem == Mem::Gm {
        atomic(context, dst)?
    } else {
        None
    };
    let plan = CopyPlan {
        dst: place(dst, &dst_print)?,
        src: place(src, &src_print)?,
        pieces,
        len,
        dst_step,
        src_step,
        atomic,
    };
    Ok(Some((
        plan,
        [Some(dst_print), Some(src_print), None, None],
        pipe,
    )))
}

/// The atomic mode of a copy to global memory; its type must be the copied one.
pub(crate) fn atomic(context: &Context<'_>, dst: &Operand) -> Checked<Option<(AtomicOp, Dtype)>> {
    match context.registers.atomic {
        Some((_, dtype)) if dtype != dst.dtype => Err(Refusal::new(
            "atomic-type",
            format!(
                "the atomic mode is set for {}, the copy writes {}",
                dtype.name(),
                dst.dtype.name()
            ),
            "call SetAtomicNone, or set the mode for the copied type",
        )),
        mode => Ok(mode),
    }
}

/// Plans `DataCopyPad` from UB to global memory.
pub(crate) fn plan_pad_out(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(CopyPlan, Footprints, Pipe)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&src, &[Mem::Ub])?;
    require_align(&src, context.block())?;
    let (pieces, len) = pad_shape(context, record, dst.width())?;
    let block = context.block();
    let src_step = len.next_multiple_of(block) + record.p[2] as usize * block;
    let dst_step = len + record.p[3] as usize;
    finish(
        context,
        &dst,
        &src,
        Pipe::Mte3,
        (pieces, len, src_step, dst_step),
    )
}

/// Longest piece of the newer parameter family, bytes (DataCopyPad page).
const MAX_PAD_PIECE_BYTES: i64 = 2_097_151;

fn pad_shape(context: &Context<'_>, record: &RawRecord, width: usize) -> Checked<(usize, usize)> {
    let most = i64::from(context.target.limits.data_copy_max_blocks);
    require_range("blockCount", record.p[0], 0, most)?;
    require_range("blockLen", record.p[1], 0, MAX_PAD_PIECE_BYTES)?;
    let len = record.p[1] as usize;
    if !len.is_multiple_of(width) {
        return Err(Refusal::new(
            "copy-length",
            format!("blockLen is {len} bytes, no multiple of the element's {width} bytes"),
            "blockLen counts bytes: multiply the elements by sizeof",
        ));
    }
    Ok((if len == 0 { 0 } else { record.p[0] as usize }, len))
}

/// Plans `DataCopyPad` from global memory to UB.
pub(crate) fn plan_pad_in(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(PadInPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&dst, &[Mem::Ub])?;
    require_align(&dst, context.block())?;
    let width = dst.width();
    let (pieces, len) = pad_shape(context, record, width)?;
    if pieces == 0 {
        return Ok(None);
    }
    let block = context.block();
    let [left, right] = [5, 6].map(|index| record.p[index] as usize * width);
    for (name, bytes) in [("leftPadding", left), ("rightPadding", right)] {
        if bytes > block {
            return Err(Refusal::new(
                "parameter-range",
                format!("{name} is {bytes} bytes, at most {block} bytes are padded"),
                "paddings count elements; pad less, or fill the rest with Duplicate",
            ));
        }
    }
    let filler = match (record.p[4] != 0, context.registers.pad_value) {
        (true, _) => Filler::Value(record.scalar),
        (false, _) if left == 0 && right == 0 => Filler::First,
        (false, Some(value)) => Filler::Value(value),
        (false, None) => Filler::Garbage,
    };
    if width == 8 && matches!(filler, Filler::Value(value) if value != 0) {
        return Err(Refusal::new(
            "parameter-range",
            "the padding value of 64-bit elements is 0",
            "pad with 0",
        ));
    }
    let total = (left + len + right).next_multiple_of(block);
    let src_step = len + record.p[2] as usize;
    let dst_step = total + record.p[3] as usize * block;
    let dst_print = footprint(context, &dst, 0, (pieces - 1) * dst_step + total, true)?;
    let src_print = footprint(context, &src, 0, (pieces - 1) * src_step + len, false)?;
    let plan = PadInPlan {
        src: place(&src, &src_print)?,
        dst: dst.addr,
        width,
        pieces,
        len,
        left,
        total,
        src_step,
        dst_step,
        filler,
    };
    Ok(Some((plan, [Some(dst_print), Some(src_print), None, None])))
}

/// Largest row count and strides of an ND to NZ copy (DataCopy Nd2Nz page).
const MAX_ND2NZ_STRIDE: i64 = 16384;

/// Plans `DataCopy` with `Nd2NzParams`.
pub(crate) fn plan_nd2nz(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(Nd2NzPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    require_mem(&dst, &[Mem::L1])?;
    require_align(&dst, context.block())?;
    let p = &record.p;
    require_range(
        "ndNum",
        p[0],
        0,
        i64::from(context.target.limits.data_copy_max_blocks),
    )?;
    require_range("nValue", p[1], 0, MAX_ND2NZ_STRIDE)?;
    let [matrices, rows, cols] = [p[0], p[1], p[2]].map(|value| value as usize);
    if matrices == 0 || rows == 0 || cols == 0 {
        return Ok(None);
    }
    let pitch = i64::from(context.target.limits.nd2nz_max_row_pitch_elems);
    require_range("srcDValue", p[4], 1, pitch)?;
    require_range("dstNzC0Stride", p[5], 1, MAX_ND2NZ_STRIDE)?;
    require_range("dstNzNStride", p[6], 1, MAX_ND2NZ_STRIDE)?;
    let width = dst.width();
    let block = context.block();
    let src_matrix = p[3] as usize * width;
    let src_row = p[4] as usize * width;
    let dst_group = p[5] as usize * block;
    let dst_row = p[6] as usize * block;
    let dst_matrix = p[7] as usize * width;
    let groups = (cols * width).div_ceil(block);
    let dst_end =
        (matrices - 1) * dst_matrix + (groups - 1) * dst_group + (rows - 1) * dst_row + block;
    let src_end = (matrices - 1) * src_matrix + (rows - 1) * src_row + cols * width;
    let dst_print = footprint(context, &dst, 0, dst_end, true)?;
    let src_print = footprint(context, &src, 0, src_end, false)?;
    let plan = Nd2NzPlan {
        src: place(&src, &src_print)?,
        dst: dst.addr,
        width,
        matrices,
        rows,
        cols,
        src_matrix,
        src_row,
        dst_group,
        dst_row,
        dst_matrix,
        block,
    };
    Ok(Some((plan, [Some(dst_print), Some(src_print), None, None])))
}
