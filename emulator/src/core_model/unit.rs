//! Unit flags: the order between products and moves of their sums, kept by the unit block by block of L0C.
//!
//! A product with `unitFlag` waits until its blocks are free, and the last one (3) marks them full. A move with
//! `unitFlag` waits until its blocks are full, and the last one (3) frees them. Both have to cover the same blocks: a
//! block that stays full, or is never filled, holds the other side for ever.

use std::collections::BTreeMap;

use crate::core_model::Core;
use crate::instruction::{Action, Instruction, Loc, Pipe};
use crate::order::{Snapshot, Token};
use crate::plan::cube::UnitFlag;
use crate::report::{Refusal, Severity};

/// The state of a block that has been used.
#[derive(Clone, Debug)]
enum Block {
    /// Products without a last one, by this line.
    Begun(Loc),
    /// The last product has marked it.
    Full(Loc, Token),
    /// The last move has freed it.
    Free(Token),
}

/// Blocks of L0C by their first byte; those that are not here are free from the start.
#[derive(Debug, Default)]
pub(super) struct UnitFlags {
    blocks: BTreeMap<usize, Block>,
}

impl UnitFlags {
    fn is_ready(&self, pipe: Pipe, flag: &UnitFlag) -> bool {
        flag.starts.iter().all(|start| {
            let full = matches!(self.blocks.get(start), Some(Block::Full(..)));
            full == (pipe == Pipe::Fix)
        })
    }

    /// What the blocks of a ready instruction carry.
    fn tokens<'a>(&'a self, flag: &'a UnitFlag) -> impl Iterator<Item = &'a Token> {
        let blocks = flag
            .starts
            .iter()
            .filter_map(|start| self.blocks.get(start));
        let mut last: Option<&Snapshot> = None;
        blocks
            .filter_map(|block| match block {
                Block::Begun(_) => None,
                Block::Full(_, token) | Block::Free(token) => Some(token),
            })
            // Neighbours mostly come from one instruction.
            .filter(move |token| {
                let clock = token.clock.as_ref();
                let known = clock.is_some()
                    && clock
                        .zip(last)
                        .is_some_and(|(a, b)| std::sync::Arc::ptr_eq(a, b));
                last = clock;
                !known
            })
    }
}

/// The unit flag of an instruction that uses one.
pub(super) fn unit_flag(action: &Action) -> Option<&UnitFlag> {
    match action {
        Action::Mmad(plan) => plan.unit.as_ref(),
        Action::Fixpipe(plan) => plan.unit.as_ref(),
        _ => None,
    }
}

impl Core {
    pub(super) fn unit_ready(&self, instruction: &Instruction) -> bool {
        unit_flag(&instruction.action)
            .is_none_or(|flag| self.units.is_ready(instruction.pipe, flag))
    }

    /// The instruction has waited for its blocks.
    pub(super) fn unit_begin(&mut self, instruction: &Instruction) {
        let Some(flag) = unit_flag(&instruction.action) else {
            return;
        };
        let (pipe, source) = match instruction.pipe {
            Pipe::Fix => (Pipe::Fix, Pipe::M),
            pipe => (pipe, Pipe::Fix),
        };
        let tokens: Vec<Token> = self.units.tokens(flag).cloned().collect();
        for token in tokens {
            self.time_unit(pipe, source, token.time);
            if let (Some(order), Some(clock)) = (&mut self.order, &token.clock) {
                order.acquire(pipe, clock);
            }
        }
    }

    /// The instruction has run: its blocks change hands.
    pub(super) fn unit_end(&mut self, instruction: &Instruction) {
        let Some(flag) = unit_flag(&instruction.action) else {
            return;
        };
        let (pipe, loc) = (instruction.pipe, instruction.loc);
        let block = match (pipe, flag.last) {
            (Pipe::Fix, false) => return,
            (_, false) => Block::Begun(loc),
            (_, true) => {
                let mut token = self.release(pipe, loc);
                token.time = self.time_unit_set(pipe);
                if pipe == Pipe::Fix {
                    Block::Free(token)
                } else {
                    Block::Full(loc, token)
                }
            }
        };
        for &start in &flag.starts {
            self.units.blocks.insert(start, block.clone());
        }
    }

    /// What keeps an instruction at the head of a pipe from starting.
    pub(super) fn unit_stuck(&self, instruction: &Instruction) -> Option<Refusal> {
        let flag = unit_flag(&instruction.action)?;
        let is_ready = |start: &&usize| {
            let full = matches!(self.units.blocks.get(start), Some(Block::Full(..)));
            full != (instruction.pipe == Pipe::Fix)
        };
        let start = *flag.starts.iter().find(is_ready)?;
        let bytes = format!("bytes {start}..{} of L0C", start + flag.block);
        Some(match self.units.blocks.get(&start) {
            Some(Block::Full(loc, _)) => Refusal::new(
                "unit-flag",
                format!(
                    "unitFlag waits for {bytes}, which {}:{} marked with unitFlag 3 and no Fixpipe with unitFlag 3 takes",
                    loc.file(),
                    loc.line()
                ),
                "give the Fixpipe of these sums unitFlag 3, and let it cover the block that the Mmad fills",
            ),
            _ => Refusal::new(
                "unit-flag",
                format!("unitFlag waits for {bytes}, which no Mmad with unitFlag 3 marks"),
                "give the last Mmad of these sums unitFlag 3 and the earlier ones 2, or clear unitFlag here",
            ),
        })
    }

    /// Reports blocks that products marked and nobody took, once per line.
    pub(super) fn unit_left_over(&mut self) {
        let blocks = std::mem::take(&mut self.units.blocks);
        for (start, block) in blocks {
            let (loc, message, help) = match block {
                Block::Free(_) => continue,
                Block::Full(loc, _) => (
                    loc,
                    format!(
                        "unitFlag 3 marks byte {start} of L0C, and no Fixpipe with unitFlag 3 takes it"
                    ),
                    "give the Fixpipe of these sums unitFlag 3, and let it cover the block that the Mmad fills",
                ),
                Block::Begun(loc) => (
                    loc,
                    format!(
                        "unitFlag 2 covers byte {start} of L0C, and no Mmad with unitFlag 3 ends these sums"
                    ),
                    "give the last Mmad of these sums unitFlag 3",
                ),
            };
            self.record(
                Severity::Error,
                Pipe::M,
                loc,
                Refusal::new("unit-flag", message, help),
            );
        }
    }
}
