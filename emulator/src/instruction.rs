//! The record of one instruction in flight: where it came from, which pipe runs it, what it touches, what it does.

use std::ffi::{CStr, c_char};

use crate::device::StoreSite;
use crate::local::Mem;
use crate::order::Stamp;
use crate::plan::{copy, cube, fixpipe, gather, load, reduce, select, sort, vector};
use crate::time::{Moment, Touch};

/// An execution pipe of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Pipe {
    S,
    V,
    M,
    Mte1,
    Mte2,
    Mte3,
    Fix,
}

impl Pipe {
    pub(crate) const ALL: [Pipe; 7] = [
        Pipe::S,
        Pipe::V,
        Pipe::M,
        Pipe::Mte1,
        Pipe::Mte2,
        Pipe::Mte3,
        Pipe::Fix,
    ];

    /// From the value of `pipe_t`; `None` for `PIPE_ALL`.
    pub(crate) fn from_raw(raw: i64) -> Option<Pipe> {
        Some(match raw {
            0 => Pipe::S,
            1 => Pipe::V,
            2 => Pipe::M,
            3 => Pipe::Mte1,
            4 => Pipe::Mte2,
            5 => Pipe::Mte3,
            10 => Pipe::Fix,
            _ => return None,
        })
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Pipe::S => "S",
            Pipe::V => "V",
            Pipe::M => "M",
            Pipe::Mte1 => "MTE1",
            Pipe::Mte2 => "MTE2",
            Pipe::Mte3 => "MTE3",
            Pipe::Fix => "FIX",
        }
    }
}

/// A place in a kernel's source; the strings live as long as the kernel library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loc {
    pub(crate) file: *const c_char,
    pub(crate) line: i32,
    pub(crate) call: *const c_char,
}

// SAFETY: the pointers name constant strings of a library that outlives every launch of its kernels.
unsafe impl Send for Loc {}
// SAFETY: as above; nothing writes through them.
unsafe impl Sync for Loc {}

impl Loc {
    pub(crate) fn file(&self) -> String {
        text(self.file)
    }

    pub(crate) fn line(&self) -> u32 {
        u32::try_from(self.line).unwrap_or(0)
    }

    /// Name of the call, such as `DataCopy`.
    pub(crate) fn call(&self) -> String {
        text(self.call)
    }

    pub(crate) fn site(&self) -> StoreSite {
        StoreSite {
            file: self.file(),
            line: self.line(),
            call: self.call(),
        }
    }
}

/// Copies a constant string of a kernel library.
pub(crate) fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the headers pass string literals only.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_string_lossy().into_owned()
}

/// A range of one memory that an instruction reads or writes; for global memory the address is the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) mem: Mem,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) write: bool,
}

impl From<Footprint> for Touch {
    fn from(print: Footprint) -> Touch {
        Touch {
            memory: print.mem.name(),
            start: print.start,
            end: print.end,
            write: print.write,
        }
    }
}

/// One binary token between two pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlagId {
    pub(crate) source: Pipe,
    pub(crate) destination: Pipe,
    pub(crate) id: u8,
}

/// What an instruction does, with its parameters checked and resolved.
#[derive(Debug)]
pub(crate) enum Action {
    Vector(vector::VectorPlan),
    Reduce(reduce::ReducePlan),
    ReduceTensor(reduce::TensorPlan),
    Compare(select::ComparePlan),
    Select(select::SelectPlan),
    Gather(gather::GatherPlan),
    GatherMask(gather::GatherMaskPlan),
    Shuffle(select::ShufflePlan),
    Sort(sort::SortPlan),
    Merge(sort::MergePlan),
    Copy(copy::CopyPlan),
    Nd2Nz(copy::Nd2NzPlan),
    PadIn(copy::PadInPlan),
    Load(load::LoadPlan),
    Load3D(load::Load3DPlan),
    Fill(load::FillPlan),
    Mmad(cube::MmadPlan),
    Fixpipe(fixpipe::FixpipePlan),
    SetFlag(FlagId),
    WaitFlag(FlagId),
    Barrier,
    CrossSet {
        mode: u8,
        flag: u8,
    },
    /// A message of a Matmul object to the cube core.
    Post(Vec<u8>),
    /// The cube core's answer: a flag of one of its vector cores.
    Answer {
        sub: usize,
        flag: u8,
    },
}

/// One instruction as it sits in a pipe.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// Position in the core's program order, from 1.
    pub(crate) seq: u64,
    pub(crate) pipe: Pipe,
    pub(crate) loc: Loc,
    /// What it touches; kept for ordering checks and timing, which read records and change nothing else.
    pub(crate) footprints: [Option<Footprint>; 4],
    pub(crate) action: Action,
    /// What was certain when it was issued; `None` when order is not checked.
    pub(crate) stamp: Option<Stamp>,
    /// When it was issued; meaningful where time is modelled.
    pub(crate) issued: Moment,
}
