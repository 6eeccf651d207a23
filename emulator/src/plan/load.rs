//! Plans of loads into the operand buffers of the matrix unit.

use crate::abi::RawRecord;
use crate::instruction::Pipe;
use crate::local::Mem;
use crate::plan::cube::{fractal_bytes, operand_align};
use crate::plan::vector::Footprints;
use crate::plan::{
    Checked, Context, Place, footprint, operand, place, require_align, require_mem, require_range,
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

/// How a filter moves over an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Rows and columns of the image in L1.
    pub(crate) image: [usize; 2],
    pub(crate) filter: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    /// Padding at the top and at the left; all around it is `value`.
    pub(crate) before: [usize; 2],
    pub(crate) after: [usize; 2],
    pub(crate) value: u64,
}

impl Window {
    /// A matrix: one pixel after the other.
    pub(crate) fn is_plain(&self) -> bool {
        self.filter == [1, 1]
            && self.stride == [1, 1]
            && self.before == [0, 0]
            && self.after == [0, 0]
    }

    /// Rows and columns of the output.
    pub(crate) fn output(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let reach = (self.filter[axis] - 1) * self.dilation[axis] + 1;
            let padded = self.image[axis] + self.before[axis] + self.after[axis];
            if padded < reach {
                0
            } else {
                (padded - reach) / self.stride[axis] + 1
            }
        })
    }

    /// Pixel under filter tap (`tap` row-major) for output `index`; `None` in the padding.
    pub(crate) fn pixel(&self, index: usize, tap: usize) -> Option<usize> {
        if self.is_plain() {
            return Some(index);
        }
        let columns = self.output()[1];
        let place = [index / columns, index % columns];
        let taps = [tap / self.filter[1], tap % self.filter[1]];
        let at = |axis: usize| {
            let padded = place[axis] * self.stride[axis] + taps[axis] * self.dilation[axis];
            padded
                .checked_sub(self.before[axis])
                .filter(|&at| at < self.image[axis])
        };
        Some(at(0)? * self.image[1] + at(1)?)
    }
}

/// An image-to-column load.
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
    pub(crate) window: Window,
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
    let p = &record.p;
    if p[5] != 0 {
        return Err(Refusal::new(
            "not-emulated",
            "addrMode 1 is not emulated",
            "use addrMode 0",
        ));
    }
    let repeats = p[1] as usize;
    if repeats == 0 {
        return Ok(None);
    }
    let fractal = fractal_bytes(context);
    // 16 x 16 elements; two rows of fractals, 32 x 32, where an element is one byte.
    let rows = context.target.limits.fractal_rows as usize;
    let side = if width == 1 { 2 * rows } else { rows };
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

/// Plans `LoadData` with `LoadData3DParamsV2`.
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
    let window = window(record)?;
    let width = src.width();
    let c0 = context.block() / width;
    let rows = context.target.limits.fractal_rows as usize;
    let [channels, k_extent, m_extent, k_start, m_start] =
        [p[2], p[3], p[4], p[5], p[6]].map(|value| value as usize);
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
    let outputs: usize = window.output().iter().product();
    let depth = channels.next_multiple_of(c0) * window.filter[0] * window.filter[1];
    if k_start + k_extent > depth || m_start >= outputs {
        return Err(Refusal::new(
            "parameter-range",
            format!(
                "columns {k_start}..{} and rows from {m_start} leave the {outputs} x {depth} matrix",
                k_start + k_extent
            ),
            "keep the extents inside what l1H, l1W, channelSize and the filter make",
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
    let pixels = window.image[0] * window.image[1];
    let src_end = channels.div_ceil(c0) * pixels * context.block();
    let dst_print = footprint(context, &dst, 0, dst_end, true)?;
    let src_print = footprint(context, &src, 0, src_end, false)?;
    let plan = Load3DPlan {
        src: src.addr,
        dst: (dst.mem, dst.addr),
        width,
        rows_in_l1: pixels,
        k_start,
        m_start,
        k_extent,
        m_extent,
        c0,
        rows,
        layout,
        window,
    };
    Ok(Some((plan, [Some(dst_print), Some(src_print), None, None])))
}

/// Largest stride of a filter (LoadData 3D page).
const MAX_FILTER_STRIDE: i64 = 63;

fn window(record: &RawRecord) -> Checked<Window> {
    let p = &record.p;
    for (name, index, most) in [
        ("strideW", 7, MAX_FILTER_STRIDE),
        ("strideH", 8, MAX_FILTER_STRIDE),
        ("filterW", 9, 511),
        ("filterH", 10, 511),
        ("dilationFilterW", 11, 255),
        ("dilationFilterH", 12, 255),
    ] {
        require_range(name, p[index], 1, most)?;
    }
    let pair = |row: usize, column: usize| [p[row] as usize, p[column] as usize];
    // padList is left, right, top, bottom.
    Ok(Window {
        image: pair(0, 1),
        stride: pair(8, 7),
        filter: pair(10, 9),
        dilation: pair(12, 11),
        before: pair(17, 15),
        after: pair(18, 16),
        value: record.scalar,
    })
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
