//! Exactly which bytes an instruction reads and writes, piece by piece.

use crate::instruction::{Action, Footprint};
use crate::local::Mem;
use crate::order::Alias;
use crate::plan::Place;
use crate::plan::copy::{CopyPlan, Nd2NzPlan};
use crate::plan::fixpipe::FixpipePlan;
use crate::plan::load::{Load3DLayout, Load3DPlan, LoadPlan};
use crate::plan::vector::{Active, Footprints, Lanes, Strided};

/// Contiguous bytes of one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) mem: Mem,
    pub(crate) write: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The pieces of one instruction; pieces that follow each other are one.
#[derive(Debug, Default)]
pub(crate) struct Touches {
    pub(crate) list: Vec<Touch>,
}

/// One operand: its memory, the address of its first byte, and whether it is written.
#[derive(Clone, Copy)]
struct Side {
    mem: Mem,
    base: usize,
    write: bool,
}

impl Side {
    fn of(place: &Place, write: bool) -> Side {
        match place {
            Place::Local(mem, base) => Side {
                mem: *mem,
                base: *base,
                write,
            },
            Place::Gm(allocation, offset) => Side {
                mem: Mem::Gm,
                base: allocation.base() + offset,
                write,
            },
        }
    }

    fn local(mem: Mem, base: usize, write: bool) -> Side {
        Side { mem, base, write }
    }
}

impl Touches {
    /// The pieces of an instruction whose bounds are `prints`.
    pub(crate) fn collect(&mut self, action: &Action, prints: &Footprints, block: usize) {
        self.list.clear();
        match action {
            Action::Copy(plan) => self.copy(plan),
            Action::Nd2Nz(plan) => self.nd2nz(plan),
            Action::PadIn(plan) => {
                let dst = Side::local(Mem::Ub, plan.dst, true);
                self.pieces(dst, plan.pieces, plan.total, plan.dst_step);
                let src = Side::of(&plan.src, false);
                self.pieces(src, plan.pieces, plan.len, plan.src_step);
            }
            Action::Load(plan) => self.load(plan, prints),
            Action::Load3D(plan) => self.load3d(plan, prints, block),
            Action::Fill(plan) => {
                let dst = Side::local(plan.dst.0, plan.dst.1, true);
                self.pieces(dst, plan.pieces, plan.len, plan.step);
            }
            Action::Fixpipe(plan) => self.fixpipe(plan, prints),
            Action::Vector(plan) => {
                self.lanes(plan.dst, true, &plan.lanes, plan.repeats, block);
                for view in plan.src.iter().flatten() {
                    self.lanes(*view, false, &plan.lanes, plan.repeats, block);
                }
            }
            Action::Reduce(plan) => {
                self.lanes(plan.src, false, &plan.lanes, plan.repeats, block);
                let whole = prints[0].map_or(0, |print| print.end - print.start);
                let len = whole.saturating_sub((plan.repeats - 1) * plan.dst_step);
                let dst = Side::local(Mem::Ub, plan.dst, true);
                self.pieces(dst, plan.repeats, len, plan.dst_step);
            }
            Action::Select(plan) => {
                self.lanes(plan.dst, true, &plan.lanes, plan.repeats, block);
                self.lanes(plan.src0, false, &plan.lanes, plan.repeats, block);
                if let Some(view) = plan.src1 {
                    self.lanes(view, false, &plan.lanes, plan.repeats, block);
                }
                self.bounds(&prints[3..]);
            }
            Action::Compare(plan) => {
                self.bounds(&prints[..1]);
                self.lanes(plan.src0, false, &plan.lanes, plan.repeats, block);
                if let Some(view) = plan.src1 {
                    self.lanes(view, false, &plan.lanes, plan.repeats, block);
                }
            }
            Action::GatherMask(plan) => {
                let most = plan.repeats * plan.per_repeat * plan.width;
                let len = most.min(plan.dst_limit.saturating_sub(plan.dst));
                self.pieces(Side::local(Mem::Ub, plan.dst, true), 1, len, 0);
                self.bounds(&prints[1..]);
            }
            Action::Shuffle(plan) => {
                for (rows, step, write) in [
                    (&plan.dst, plan.dst_step, true),
                    (&plan.src, plan.src_step, false),
                ] {
                    for &row in rows {
                        let side = Side::local(Mem::Ub, row, write);
                        self.pieces(side, plan.repeats, block, step);
                    }
                }
            }
            Action::ReduceTensor(_)
            | Action::Gather(_)
            | Action::Sort(_)
            | Action::Merge(_)
            | Action::Mmad(_) => self.bounds(prints),
            Action::SetFlag(_)
            | Action::WaitFlag(_)
            | Action::Barrier
            | Action::CrossSet { .. }
            | Action::Post(_)
            | Action::Answer { .. } => {}
        }
    }

    /// Moves pieces that lie in the bytes of a fault.
    pub(crate) fn redirect(&mut self, alias: &Alias) {
        for touch in &mut self.list {
            if touch.mem == alias.mem && alias.slot.contains(&touch.start) {
                let len = touch.end - touch.start;
                touch.start = touch.start - alias.slot.start + alias.onto;
                touch.end = touch.start + len;
            }
        }
    }

    fn push(&mut self, side: Side, offset: usize, len: usize) {
        let start = side.base + offset;
        if len == 0 {
            return;
        }
        if let Some(last) = self.list.last_mut()
            && last.mem == side.mem
            && last.write == side.write
            && start >= last.start
            && start <= last.end
        {
            last.end = last.end.max(start + len);
            return;
        }
        self.list.push(Touch {
            mem: side.mem,
            write: side.write,
            start,
            end: start + len,
        });
    }

    fn pieces(&mut self, side: Side, count: usize, len: usize, step: usize) {
        if step == len {
            return self.push(side, 0, count * len);
        }
        for index in 0..count {
            self.push(side, index * step, len);
        }
    }

    fn bounds(&mut self, prints: &[Option<Footprint>]) {
        for print in prints.iter().flatten() {
            let side = Side::local(print.mem, print.start, print.write);
            self.push(side, 0, print.end - print.start);
        }
    }

    fn copy(&mut self, plan: &CopyPlan) {
        self.pieces(
            Side::of(&plan.dst, true),
            plan.pieces,
            plan.len,
            plan.dst_step,
        );
        self.pieces(
            Side::of(&plan.src, false),
            plan.pieces,
            plan.len,
            plan.src_step,
        );
    }

    fn nd2nz(&mut self, plan: &Nd2NzPlan) {
        let row_bytes = plan.cols * plan.width;
        let groups = row_bytes.div_ceil(plan.block);
        for matrix in 0..plan.matrices {
            let base = plan.dst + matrix * plan.dst_matrix;
            for group in 0..groups {
                let side = Side::local(Mem::L1, base + group * plan.dst_group, true);
                self.pieces(side, plan.rows, plan.block, plan.dst_row);
            }
        }
        let src = Side::of(&plan.src, false);
        for matrix in 0..plan.matrices {
            let side = Side {
                base: src.base + matrix * plan.src_matrix,
                ..src
            };
            self.pieces(side, plan.rows, row_bytes, plan.src_row);
        }
    }

    fn load(&mut self, plan: &LoadPlan, prints: &Footprints) {
        if plan.transpose.is_some_and(|shape| shape.width != 2) {
            return self.bounds(prints);
        }
        let dst = Side::local(plan.dst.0, plan.dst.1, true);
        self.pieces(dst, plan.repeats, plan.fractal, plan.dst_step);
        let src = Side::of(&plan.src, false);
        let side = Side {
            base: src.base + plan.src_start,
            ..src
        };
        self.pieces(side, plan.repeats, plan.fractal, plan.src_step);
    }

    fn load3d(&mut self, plan: &Load3DPlan, prints: &Footprints, block: usize) {
        self.bounds(&prints[..1]);
        if plan.layout == Load3DLayout::Right || !plan.window.is_plain() {
            return self.bounds(&prints[1..2]);
        }
        let rows = plan
            .m_extent
            .min(plan.rows_in_l1.saturating_sub(plan.m_start));
        let first = plan.k_start / plan.c0;
        for group in first..(plan.k_start + plan.k_extent).div_ceil(plan.c0) {
            let base = plan.src + (group * plan.rows_in_l1 + plan.m_start) * block;
            self.pieces(Side::local(Mem::L1, base, false), 1, rows * block, 0);
        }
    }

    fn fixpipe(&mut self, plan: &FixpipePlan, prints: &Footprints) {
        let width = plan.dst_type.width();
        let dst = Side::of(&plan.dst, true);
        let row_major = plan.dst_group == plan.group_cols * width;
        for matrix in 0..plan.matrices {
            let side = Side {
                base: dst.base + matrix * plan.dst_matrix,
                ..dst
            };
            if row_major {
                self.pieces(side, plan.m, plan.n * width, plan.dst_row);
            } else {
                let groups = plan.n.div_ceil(plan.group_cols);
                let len = plan.m * plan.group_cols * width;
                self.pieces(side, groups, len, plan.dst_group);
            }
            let wide = plan.src_type.width();
            let base = plan.src + matrix * plan.src_matrix * wide;
            let src = Side::local(Mem::L0c, base, false);
            let groups = plan.n.div_ceil(plan.rows);
            let len = plan.m * plan.rows * wide;
            self.pieces(src, groups, len, plan.src_group * wide);
        }
        self.bounds(&prints[2..]);
    }

    fn lanes(&mut self, view: Strided, write: bool, lanes: &Lanes, repeats: usize, block: usize) {
        for repeat in 0..repeats {
            let side = Side::local(Mem::Ub, view.addr + repeat * view.repeat_step, write);
            match lanes.of(repeat) {
                Active::First(count) => self.blocks(side, view, 0, count, block),
                Active::Bits(mut bits) => {
                    let mut lane = 0;
                    while bits != 0 {
                        let skip = bits.trailing_zeros();
                        bits = bits.checked_shr(skip).unwrap_or(0);
                        lane += skip as usize;
                        let run = bits.trailing_ones();
                        self.blocks(side, view, lane, lane + run as usize, block);
                        bits = bits.checked_shr(run).unwrap_or(0);
                        lane += run as usize;
                    }
                }
            }
        }
    }

    /// Lanes `from..to` of one repeat.
    fn blocks(&mut self, side: Side, view: Strided, from: usize, to: usize, block: usize) {
        let (mut at, end) = (from * view.width, to * view.width);
        if view.block_step == block {
            return self.push(side, at, end - at);
        }
        while at < end {
            let len = (block - at % block).min(end - at);
            self.push(side, at / block * view.block_step + at % block, len);
            at += len;
        }
    }
}
