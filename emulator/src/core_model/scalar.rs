//! What the scalar unit does itself: element accesses, registers, the framework's requests.

use std::sync::Arc;

use crate::abi::{Code, RawRecord};
use crate::core_model::Core;
use crate::dtype::{Dtype, Overflow};
use crate::exec;
use crate::instruction::{Footprint, Loc};
use crate::launch::CoreKind;
use crate::local::{self, Mem};
use crate::plan::{self, AtomicOp, Checked, Context, Operand};
use crate::report::Refusal;

impl Core {
    pub(super) fn read(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let (operand, footprint) = self.scalar_access(record, false)?;
        let place = plan::place(
            &Operand {
                addr: footprint.start,
                ..operand
            },
            &footprint,
        )?;
        self.await_vector();
        self.order_scalar(&footprint, loc);
        let width = operand.width();
        let (bytes, shadow) = exec::read_place(&self.machine.locals, &place, 0, width);
        if shadow.iter().any(|&state| state != 0) {
            if !self.shared.experiment.data {
                // Without data nothing was computed: every number reads as 0.
                return Ok(0);
            }
            return Err(Refusal::new(
                "uninitialised",
                format!(
                    "the scalar unit reads element {} of a {} tensor in {}, which was never defined",
                    record.p[0],
                    operand.dtype.name(),
                    operand.mem.name()
                ),
                "write the value first; on-chip memory and workspaces start as garbage",
            ));
        }
        let mut raw = [0u8; 8];
        raw[..width].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(raw))
    }

    pub(super) fn write(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let (operand, footprint) = self.scalar_access(record, true)?;
        let place = plan::place(
            &Operand {
                addr: footprint.start,
                ..operand
            },
            &footprint,
        )?;
        self.await_vector();
        self.order_scalar(&footprint, loc);
        let width = operand.width();
        let bytes = record.scalar.to_le_bytes();
        exec::write_place(
            &mut self.machine.locals,
            &place,
            0,
            &bytes[..width],
            &[0; 8][..width],
            loc,
        );
        Ok(0)
    }

    fn order_scalar(&mut self, footprint: &Footprint, loc: Loc) {
        self.time_scalar(footprint.mem);
        if let Some(order) = &mut self.order {
            let races = order.scalar(footprint, self.seq, loc, &self.shared.history);
            let stale = (footprint.mem == Mem::Gm).then(|| {
                let range = footprint.start..footprint.end;
                let mut caches = self.shared.caches();
                caches.scalar(self.index, range, footprint.write, loc)
            });
            self.report_races(races);
            self.report_stale(stale.flatten());
        }
    }

    /// Gives lines of the data cache back.
    pub(super) fn clean_cache(&mut self, record: &RawRecord) -> Checked<u64> {
        let operand = plan::operand(record, 0, "the tensor")?;
        plan::require_mem(&operand, &[Mem::Gm])?;
        let (whole, of_global) = (record.p[0] != 0, record.p[1] != 0);
        if of_global {
            let address = (!whole).then_some(operand.addr);
            self.shared.caches().clean(self.index, address);
        }
        Ok(0)
    }

    pub(super) fn scalar_access(
        &mut self,
        record: &RawRecord,
        write: bool,
    ) -> Checked<(Operand, Footprint)> {
        let operand = plan::operand(record, 0, "the tensor")?;
        let scalar_memories: &[Mem] = match self.shared.cores[self.index].kind {
            CoreKind::Aic => &[Mem::Gm],
            CoreKind::Aiv => &[Mem::Gm, Mem::Ub],
        };
        plan::require_mem(&operand, scalar_memories)?;
        let width = operand.width();
        let start = (record.p[0] as usize).wrapping_mul(width);
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
        let footprint =
            plan::footprint(&context, &operand, start, start.wrapping_add(width), write)?;
        self.seq += 1;
        Ok((operand, footprint))
    }

    pub(super) fn compare_register(&mut self, code: Code, record: &RawRecord) -> Checked<u64> {
        const REGISTER_BYTES: usize = 16;
        let slot = usize::from(code == Code::SetCmpMask);
        let operand = plan::operand(record, slot, "the tensor")?;
        plan::require_mem(&operand, &[Mem::Ub])?;
        plan::require_align(&operand, REGISTER_BYTES)?;
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
        plan::footprint(&context, &operand, 0, REGISTER_BYTES, slot == 0)?;
        let memory = self.machine.locals.get_mut(Mem::Ub);
        let range = operand.addr..operand.addr + REGISTER_BYTES;
        let state = &mut self.machine.vector;
        if code == Code::SetCmpMask {
            let bytes = memory.bytes[range.clone()].try_into().expect("16 bytes");
            state.compare = u128::from_le_bytes(bytes);
            state.compare_defined = memory.shadow[range].iter().all(|&state| state == 0);
        } else {
            memory.bytes[range.clone()].copy_from_slice(&state.compare.to_le_bytes());
            memory.shadow[range].fill(u8::from(!state.compare_defined));
        }
        Ok(0)
    }

    pub(super) fn register(&mut self, code: Code, record: &RawRecord) -> Checked<u64> {
        let registers = &mut self.registers;
        match code {
            Code::SetMask => registers.mask = record.mask,
            Code::MaskMode => registers.counter = record.p[0] != 0,
            Code::SetDeqScale => registers.deq_scale = Some(record.scalar as u16),
            Code::SetPadValue => registers.pad_value = Some(record.scalar),
            Code::SetMode if record.p[0] == 0 => registers.hf32 = record.p[1] != 0,
            Code::SetMode => registers.hf32_to_zero = record.p[1] != 0,
            Code::SetCtrl => {
                registers.overflow = if record.p[0] & 1 == 0 {
                    Overflow::Saturate
                } else {
                    Overflow::InfNan
                };
            }
            Code::GetCtrl => return Ok(u64::from(registers.overflow == Overflow::InfNan)),
            Code::Atomic => {
                let dtype = Dtype::from_raw(record.p[1] as u8);
                let op = match (record.p[0], registers.atomic) {
                    (1, _) => Some(AtomicOp::Add),
                    (2, _) => Some(AtomicOp::Max),
                    (3, _) => Some(AtomicOp::Min),
                    (4, Some((op, _))) => Some(op),
                    _ => None,
                };
                registers.atomic = op.zip(dtype);
            }
            _ if record.scalar == self.shared.sync_base => {}
            _ => {
                return Err(Refusal::new(
                    "sync-base",
                    format!(
                        "SetSyncBaseAddr gets {:#x}, the device's address is another",
                        record.scalar
                    ),
                    "pass what aclrtGetHardwareSyncAddr returned",
                ));
            }
        }
        Ok(0)
    }

    pub(super) fn tpipe(&mut self, record: &RawRecord) -> Checked<u64> {
        self.uses_tpipe = true;
        if record.p[0] == 0 {
            return Ok(0);
        }
        let target = self
            .shared
            .options
            .target
            .ascend()
            .expect("options hold split-core targets");
        let mem = Mem::of_position(record.p[1] as u8).unwrap_or(Mem::Ub);
        let usable = local::facts(target, mem).usable_bytes;
        let used = record.p[2] as u64;
        if used > usable {
            return Err(Refusal::new(
                "buffer-budget",
                format!(
                    "the buffers take {used} bytes of {}, {usable} bytes are usable",
                    mem.name()
                ),
                "shorten the buffers or reuse one",
            ));
        }
        Ok(0)
    }
}
