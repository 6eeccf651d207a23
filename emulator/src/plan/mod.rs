//! From a raw record to a checked plan: every range, alignment and position rule is applied here, before anything runs.

pub(crate) mod copy;
pub(crate) mod cube;
pub(crate) mod fixpipe;
pub(crate) mod gather;
pub(crate) mod load;
mod overlap;
pub(crate) mod reduce;
pub(crate) mod select;
pub(crate) mod sort;
pub(crate) mod vector;

use std::sync::Arc;

use fa_targets::Ascend;

use crate::abi::{RawOperand, RawRecord};
use crate::device::{self, Allocation};
use crate::dtype::{Dtype, Overflow};
use crate::instruction::Footprint;
use crate::local::{self, Mem};
use crate::report::Refusal;

/// Result of checking one instruction.
pub(crate) type Checked<T> = Result<T, Refusal>;

/// What atomic copies to global memory do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Max,
    Min,
}

/// Registers that the scalar unit sets and later instructions read when they are issued.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    /// Mask register, low word first.
    pub(crate) mask: [u64; 2],
    /// Counter mode of the mask register.
    pub(crate) counter: bool,
    pub(crate) overflow: Overflow,
    pub(crate) atomic: Option<(AtomicOp, Dtype)>,
    /// Scale of int32 to half conversions, as half bits.
    pub(crate) deq_scale: Option<u16>,
    /// Filler of padded copies that ask for none.
    pub(crate) pad_value: Option<u64>,
    /// Float operands of the matrix unit lose mantissa bits; ties go to zero, or to even.
    pub(crate) hf32: bool,
    pub(crate) hf32_to_zero: bool,
}

impl Default for Registers {
    fn default() -> Registers {
        Registers {
            mask: [u64::MAX; 2],
            counter: false,
            overflow: Overflow::default(),
            atomic: None,
            deq_scale: None,
            pad_value: None,
            hf32: false,
            hf32_to_zero: false,
        }
    }
}

/// What checks need to know.
pub(crate) struct Context<'a> {
    pub(crate) target: Ascend<'a>,
    pub(crate) registers: &'a mut Registers,
}

impl Context<'_> {
    pub(crate) fn block(&self) -> usize {
        self.target.limits.data_block_bytes as usize
    }

    pub(crate) fn repeat_bytes(&self) -> usize {
        self.target.limits.vector_repeat_bytes as usize
    }
}

/// One tensor of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) mem: Mem,
    pub(crate) addr: usize,
    /// Declared bytes from `addr`; unknown for global tensors.
    pub(crate) extent: usize,
    pub(crate) dtype: Dtype,
    pub(crate) role: &'static str,
}

impl Operand {
    pub(crate) fn width(&self) -> usize {
        self.dtype.width()
    }
}

/// Reads the tensor at `index`; the headers always fill the ones a call has.
pub(crate) fn operand(record: &RawRecord, index: usize, role: &'static str) -> Checked<Operand> {
    let raw: &RawOperand = &record.t[index];
    let mem = Mem::of_position(raw.position).ok_or_else(|| {
        Refusal::new(
            "wrong-position",
            format!(
                "{role} has position {}, which has no memory on this chip",
                raw.position
            ),
            "use one of VECIN, VECOUT, VECCALC, A1, B1, A2, B2, C2, CO1",
        )
    })?;
    let dtype = Dtype::from_raw(raw.dtype).ok_or_else(|| {
        Refusal::new(
            "wrong-type",
            format!("{role} has no element type"),
            "declare the tensor",
        )
    })?;
    Ok(Operand {
        mem,
        addr: usize::try_from(raw.addr).expect("addresses fit the host"),
        extent: usize::try_from(raw.bytes).expect("sizes fit the host"),
        dtype,
        role,
    })
}

/// Requires the tensor to sit in one of the memories.
pub(crate) fn require_mem(operand: &Operand, allowed: &[Mem]) -> Checked<()> {
    if allowed.contains(&operand.mem) {
        return Ok(());
    }
    let names: Vec<&str> = allowed.iter().map(|mem| mem.name()).collect();
    Err(Refusal::new(
        "wrong-position",
        format!(
            "{} is in {}, the instruction takes {}",
            operand.role,
            operand.mem.name(),
            names.join(" or ")
        ),
        "give the tensor a position of that memory",
    ))
}

/// Requires the start of the tensor to be a multiple of `align` bytes.
pub(crate) fn require_align(operand: &Operand, align: usize) -> Checked<()> {
    if operand.addr.is_multiple_of(align) {
        return Ok(());
    }
    Err(Refusal::new(
        "misaligned",
        format!(
            "{} starts at byte {} of {}, {} bytes past a multiple of {align}",
            operand.role,
            operand.addr,
            operand.mem.name(),
            operand.addr % align
        ),
        format!("start the operand at a multiple of {align} bytes"),
    ))
}

/// Requires a parameter to lie in a closed range.
pub(crate) fn require_range(name: &str, value: i64, low: i64, high: i64) -> Checked<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Refusal::new(
        "parameter-range",
        format!("{name} is {value}, the field takes {low} to {high}"),
        "split the instruction, or correct the parameter",
    ))
}

/// Range of a tensor that an instruction touches, relative to the tensor's start.
pub(crate) fn footprint(
    context: &Context<'_>,
    operand: &Operand,
    start: usize,
    end: usize,
    write: bool,
) -> Checked<Footprint> {
    if operand.mem != Mem::Gm {
        check_local(context, operand, end)?;
    }
    Ok(Footprint {
        mem: operand.mem,
        start: operand.addr.wrapping_add(start),
        end: operand.addr.wrapping_add(end),
        write,
    })
}

fn check_local(context: &Context<'_>, operand: &Operand, end: usize) -> Checked<()> {
    let capacity = local::capacity(context.target, operand.mem);
    if operand.addr + end > capacity {
        return Err(Refusal::new(
            "out-of-bounds",
            format!(
                "{} reaches byte {} of {}, which has {capacity} bytes",
                operand.role,
                operand.addr + end,
                operand.mem.name()
            ),
            "move the buffer, or make the access shorter",
        ));
    }
    if end > operand.extent {
        return Err(Refusal::new(
            "tensor-extent",
            format!(
                "{} needs {end} bytes from its start, the tensor declares {} bytes",
                operand.role, operand.extent
            ),
            "declare the tensor as large as the instruction's mask, repeat and strides reach",
        ));
    }
    Ok(())
}

/// Where the bytes of an operand are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A memory of the core and a byte offset in it.
    Local(Mem, usize),
    /// An allocation of global memory and a byte offset in it.
    Gm(Arc<Allocation>, usize),
}

/// Resolves an operand whose touched range is `footprint`.
pub(crate) fn place(operand: &Operand, footprint: &Footprint) -> Checked<Place> {
    if operand.mem != Mem::Gm {
        return Ok(Place::Local(operand.mem, operand.addr));
    }
    let (start, end) = (footprint.start, footprint.end);
    let Some(allocation) = device::nearest(operand.addr) else {
        return Err(Refusal::new(
            "out-of-bounds",
            format!(
                "{} is at address {start:#x}, before any device allocation",
                operand.role
            ),
            "pass a pointer that came from aclrtMalloc",
        ));
    };
    let base = allocation.base();
    if start < base || end > base + allocation.size() || end < start {
        return Err(Refusal::new(
            "out-of-bounds",
            format!(
                "{} covers bytes {} to {} of an allocation of {} bytes in GM",
                operand.role,
                signed(start, base),
                signed(end, base),
                allocation.size()
            ),
            "check the offset, the strides and the size of the allocation",
        ));
    }
    let offset = operand.addr.wrapping_sub(base);
    Ok(Place::Gm(allocation, offset))
}

fn signed(address: usize, base: usize) -> i128 {
    address as i128 - base as i128
}
