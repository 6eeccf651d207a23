//! Synchronisation of vector cores through words of global memory: `IBSet` / `IBWait`, and turns in block order.

use std::sync::Arc;

use crate::abi::{Code, RawRecord};
use crate::core_model::Core;
use crate::instruction::Loc;
use crate::local::Mem;
use crate::order::{Token, Tracker};
use crate::plan::{self, Checked, Context, Place};
use crate::report::Refusal;

/// Bytes of one word's slot in global memory and in UB.
const SLOT: usize = 32;

impl Core {
    /// `IBSet` raises a word once it is down, `IBWait` takes it down once it is up.
    pub(super) fn word(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let offset = record.p[0];
        if offset < 0 {
            return Err(Refusal::new(
                "parameter-range",
                format!("blockIdx and eventID name element {offset} of the workspace"),
                "both count from 0",
            ));
        }
        let start = offset as usize * 4;
        let address =
            self.sync_buffers(record, start..start + SLOT, SLOT, code == Code::WordSet)?;
        let token = self.arrive("IBSet and IBWait wait for a pipe that cannot go on");
        let shared = Arc::clone(&self.shared);
        let outcome = if code == Code::WordSet {
            shared.raise_word(self.index, address, token, loc)
        } else {
            shared.take_word(self.index, address, loc)
        };
        self.depart(outcome);
        Ok(0)
    }

    /// `InitDetermineComputeWorkspace`, `WaitPreBlock`, `NotifyNextBlock`.
    pub(super) fn turn(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let shared = Arc::clone(&self.shared);
        let blocks = shared.query(self.index, 0, 0) as usize;
        let block = shared.query(self.index, 1, 0) as usize;
        if block >= blocks {
            return Err(Refusal::new(
                "kernel-type",
                format!("vector core {block} takes turns among {blocks} blocks"),
                "ordered accumulation is for kernels of vector cores alone",
            ));
        }
        let address = self.sync_buffers(record, 0..blocks * SLOT, (blocks + 1) * SLOT, false)?;
        if code == Code::TurnInit {
            shared.start_turns(address);
            return Ok(0);
        }
        if !shared.turns_started(address) {
            return Err(Refusal::new(
                "turn-order",
                "no core has called InitDetermineComputeWorkspace for this workspace",
                "call it on every core before the first WaitPreBlock",
            ));
        }
        let token = self.arrive("a turn waits for a pipe that cannot go on");
        if code == Code::TurnNext {
            return shared.end_turn(address, block, token).map(|()| 0);
        }
        let outcome = shared.take_turn(self.index, address, block, loc);
        self.depart(outcome);
        Ok(0)
    }

    /// Checks the workspace in global memory and the one in UB; returns the address of the first.
    fn sync_buffers(
        &mut self,
        record: &RawRecord,
        range: std::ops::Range<usize>,
        ub_bytes: usize,
        fresh_is_zero: bool,
    ) -> Checked<usize> {
        let shared = Arc::clone(&self.shared);
        let target = shared
            .options
            .target
            .ascend()
            .expect("options hold split-core targets");
        let context = Context {
            target,
            registers: &mut self.registers,
        };
        let gm = plan::operand(record, 0, "gmWorkspace")?;
        let ub = plan::operand(record, 1, "ubWorkspace")?;
        plan::require_mem(&gm, &[Mem::Gm])?;
        plan::require_mem(&ub, &[Mem::Ub])?;
        plan::require_align(&ub, SLOT)?;
        plan::footprint(&context, &ub, 0, ub_bytes, true)?;
        let print = plan::footprint(&context, &gm, range.start, range.end, true)?;
        let place = plan::place(&gm, &print)?;
        let Place::Gm(allocation, base) = place else {
            unreachable!("a global tensor has a global place");
        };
        let (at, len) = (base + range.start, range.len());
        let unset = allocation.shadow(at, len).iter().any(|&state| state != 0)
            || allocation.bytes(at, len).iter().any(|&byte| byte != 0);
        if fresh_is_zero && unset && self.shared.experiment.data {
            return Err(Refusal::new(
                "uninitialised",
                "the word in gmWorkspace is not 0 when the kernel starts",
                "clear the workspace before the launch",
            ));
        }
        Ok(print.start)
    }

    /// Everything the core has done so far, for whoever waits for it.
    fn arrive(&mut self, what: &str) -> Token {
        self.drained(what);
        self.seq += 1;
        Token {
            clock: self.order.as_mut().map(Tracker::barrier_all),
            time: self.time_sync_all(),
        }
    }

    fn depart(&mut self, outcome: Option<Token>) {
        let Some(token) = outcome else { self.abort() };
        self.acquire_all(&token);
    }
}
