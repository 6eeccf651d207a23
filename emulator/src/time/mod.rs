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

pub(crate) use cost::{Table, issue};
pub(crate) use moment::{Moment, SHARE_NAMES, Share};
pub(crate) use shared::Shared;
pub(crate) use timer::{STALLS, Stall, Timer};

/// How much of a launch's timing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Sums per pipe.
    Totals,
    /// Every instruction too, for a trace.
    Spans,
}

/// One instruction on its pipe, cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) pipe: usize,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) call: String,
    pub(crate) line: u32,
}
