//! When things happen: costs from the target's table, composed pipe by pipe.
//!
//! Each pipe is a queue: an instruction starts when its pipe is free, the scalar unit has issued it and the flags
//! before it are set, and takes `start + work / rate`. The latency of a copy delays its completion, not the next
//! copy. L2 and the memory behind it are shared by all cores: a transfer takes at least as long as what is left of
//! their bandwidth allows. Every point in time carries the chain of causes that led to it, which makes the critical
//! path of a launch a by-product. Nothing here reads data, so a launch without data has the same times.

mod cost;
mod moment;
mod shared;
mod timer;

use crate::instruction::Pipe;

pub(crate) use cost::{Table, issue};
pub(crate) use moment::{Moment, SHARE_NAMES, Share};
pub(crate) use shared::{Contents, Shared};
pub(crate) use timer::{STALLS, Stall, Timer};

/// How much of a launch's timing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Sums per pipe.
    Totals,
    /// Every instruction too, for a trace.
    Spans,
}

/// One instruction on its pipe, cycles since the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub(crate) pipe: usize,
    /// When it started.
    pub start: u64,
    /// When its pipe was free again.
    pub end: u64,
    /// The call, such as `DataCopy`.
    pub call: String,
    /// Its line in the kernel's source.
    pub line: u32,
    pub(crate) touched: [Option<Touch>; 4],
}

impl Span {
    /// The pipe, such as `V`.
    pub fn pipe(&self) -> &'static str {
        Pipe::ALL[self.pipe].name()
    }

    /// What it read and wrote.
    pub fn touched(&self) -> impl Iterator<Item = &Touch> {
        self.touched.iter().flatten()
    }
}

/// Bytes that an instruction read or wrote, as a range around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The memory, such as `UB` or `GM`.
    pub memory: &'static str,
    /// First byte; of global memory the device's address.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Written, else read.
    pub write: bool,
}

/// What went between the cores and global memory in a launch, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Between the cores and L2, both ways.
    pub l2_bytes: f64,
    /// Between L2 and the memory behind it.
    pub hbm_bytes: f64,
}
