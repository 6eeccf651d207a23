//! Plans of reductions.

use crate::abi::{Code, Form, RawRecord};
use crate::dtype::{Dtype, Overflow};
use crate::local::Mem;
use crate::plan::vector::{Footprints, Lanes, Strided, lanes};
use crate::plan::{
    Checked, Context, Operand, footprint, operand, require_align, require_mem, require_range,
};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReduceOp {
    Sum,
    Max,
    Min,
}

/// What a whole-repeat maximum or minimum stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    ValueIndex,
    IndexValue,
    Value,
    Index,
}

/// How many lanes fold into one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Repeat,
    Block,
    Pair,
}

/// A reduction inside repeats.
#[derive(Clone, Debug)]
pub(crate) struct ReducePlan {
    pub(crate) op: ReduceOp,
    pub(crate) order: Order,
    pub(crate) scope: Scope,
    pub(crate) dtype: Dtype,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    pub(crate) src: Strided,
    pub(crate) dst: usize,
    /// Bytes from the results of one repeat to those of the next.
    pub(crate) dst_step: usize,
    pub(crate) overflow: Overflow,
}

/// A reduction of a whole tensor to one value.
#[derive(Clone, Debug)]
pub(crate) struct TensorPlan {
    pub(crate) op: ReduceOp,
    pub(crate) dtype: Dtype,
    pub(crate) lanes: Lanes,
    pub(crate) repeats: usize,
    pub(crate) src: Strided,
    pub(crate) dst: usize,
    pub(crate) with_index: bool,
    /// Count form: repeat results are added one after another instead of in a second tree.
    pub(crate) sequential: bool,
    pub(crate) overflow: Overflow,
}

fn reduce_op(raw: i64) -> ReduceOp {
    match raw {
        0 => ReduceOp::Sum,
        1 => ReduceOp::Max,
        _ => ReduceOp::Min,
    }
}

fn order(raw: i64) -> Checked<Order> {
    require_range("order", raw, 0, 3)?;
    Ok(match raw {
        0 => Order::ValueIndex,
        1 => Order::IndexValue,
        2 => Order::Value,
        _ => Order::Index,
    })
}

/// Bytes that one repeat's results take, and the unit of the destination stride.
fn result_bytes(
    scope: Scope,
    op: ReduceOp,
    order: Order,
    width: usize,
    context: &Context<'_>,
) -> (usize, usize) {
    match scope {
        Scope::Block => {
            let bytes = context.repeat_bytes() / context.block() * width;
            (bytes, bytes)
        }
        Scope::Pair => (context.repeat_bytes() / 2, context.repeat_bytes() / 2),
        Scope::Repeat if op == ReduceOp::Sum => (width, width),
        Scope::Repeat => match order {
            Order::Value => (width, width),
            Order::ValueIndex | Order::IndexValue => (2 * width, 2 * width),
            Order::Index => (INDEX_BYTES, INDEX_BYTES),
        },
    }
}

/// An index stored alone is a 32-bit integer.
pub(crate) const INDEX_BYTES: usize = 4;

/// Plans `ReduceRepeat`, `ReduceDataBlock`, `ReducePairElem` and their older names.
pub(crate) fn plan(
    context: &mut Context<'_>,
    record: &RawRecord,
    code: Code,
) -> Checked<Option<(ReducePlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let scope = match code {
        Code::ReduceBlock => Scope::Block,
        Code::ReducePair => Scope::Pair,
        _ => Scope::Repeat,
    };
    let op = reduce_op(record.p[7]);
    let order = order(record.p[8])?;
    check_fields(context, record)?;
    require_mem(&src, &[Mem::Ub])?;
    require_mem(&dst, &[Mem::Ub])?;
    require_align(&src, context.block())?;
    let width = src.width();
    let (bytes, unit) = result_bytes(scope, op, order, width, context);
    require_align(&dst, dst_align(scope, width, context))?;
    let per_repeat = context.repeat_bytes() / width;
    let Some((lanes, repeats)) = lanes(context, record, per_repeat)? else {
        return Ok(None);
    };
    let view = source(context, record, &src);
    let dst_step = record.p[4] as usize * unit;
    let prints = [
        Some(footprint(
            context,
            &dst,
            0,
            (repeats - 1) * dst_step + bytes,
            true,
        )?),
        Some(footprint(
            context,
            &src,
            0,
            view.extent(&lanes, repeats, context.block()),
            false,
        )?),
        None,
        None,
    ];
    let plan = ReducePlan {
        op,
        order,
        scope,
        dtype: src.dtype,
        lanes,
        repeats,
        src: view,
        dst: dst.addr,
        dst_step,
        overflow: context.registers.overflow,
    };
    Ok(Some((plan, prints)))
}

/// The results of block and pair reductions start at their own width, those of whole reductions at an element.
fn dst_align(scope: Scope, width: usize, context: &Context<'_>) -> usize {
    match scope {
        Scope::Repeat => width,
        Scope::Block => context.repeat_bytes() / context.block() * width,
        Scope::Pair => context.block(),
    }
}

fn check_fields(context: &Context<'_>, record: &RawRecord) -> Checked<()> {
    let wide = i64::from(u16::MAX);
    let max_repeat = i64::from(context.target.limits.max_repeat);
    require_range("repeatTime", record.p[0], 0, max_repeat)?;
    require_range("dstRepStride", record.p[4], 0, wide)?;
    require_range("srcBlkStride", record.p[2], 0, wide)?;
    require_range("srcRepStride", record.p[5], 0, wide)
}

fn source(context: &Context<'_>, record: &RawRecord, src: &Operand) -> Strided {
    let block = context.block();
    Strided {
        addr: src.addr,
        width: src.width(),
        block_step: record.p[2] as usize * block,
        repeat_step: record.p[5] as usize * block,
    }
}

/// Plans `ReduceMax`, `ReduceMin` and `ReduceSum`.
pub(crate) fn plan_tensor(
    context: &mut Context<'_>,
    record: &RawRecord,
) -> Checked<Option<(TensorPlan, Footprints)>> {
    let dst = operand(record, 0, "dst")?;
    let src = operand(record, 1, "src")?;
    let tmp = operand(record, 2, "sharedTmpBuffer")?;
    for tensor in [&dst, &src, &tmp] {
        require_mem(tensor, &[Mem::Ub])?;
    }
    require_align(&src, context.block())?;
    require_align(&tmp, context.block())?;
    let width = src.width();
    require_align(&dst, width)?;
    let per_repeat = context.repeat_bytes() / width;
    let sequential = Form::from_raw(record.form) == Form::Count;
    let mut view = source(context, record, &src);
    let (lanes, repeats) = if sequential {
        view.block_step = context.block();
        view.repeat_step = context.repeat_bytes();
        match lanes(context, record, per_repeat)? {
            Some(found) => found,
            None => return Ok(None),
        }
    } else {
        // These calls loop over more repeats than one instruction has.
        let total = record.p[0];
        require_range("repeatTime", total, 0, i64::from(i32::MAX))?;
        let mut single = *record;
        single.p[0] = i64::from(total > 0);
        match lanes(context, &single, per_repeat)? {
            Some((lanes, _)) => (lanes, total as usize),
            None => return Ok(None),
        }
    };
    let with_index = record.p[8] != 0;
    let op = reduce_op(record.p[7]);
    let results = if with_index { 2 } else { 1 };
    let scratch = if sequential && op == ReduceOp::Sum {
        0
    } else {
        repeats * width
    };
    let prints = [
        Some(footprint(context, &dst, 0, results * width, true)?),
        Some(footprint(
            context,
            &src,
            0,
            view.extent(&lanes, repeats, context.block()),
            false,
        )?),
        Some(footprint(context, &tmp, 0, scratch, true)?),
        None,
    ];
    let plan = TensorPlan {
        op,
        dtype: src.dtype,
        lanes,
        repeats,
        src: view,
        dst: dst.addr,
        with_index,
        sequential,
        overflow: context.registers.overflow,
    };
    Ok(Some((plan, prints)))
}
