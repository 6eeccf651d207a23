//! What the Matmul object needs beyond the basic API: messages to the cube core, and answers by flags of the library.

use std::sync::Arc;

use crate::abi::RawRecord;
use crate::core_model::Core;
use crate::instruction::{Action, Loc, Pipe};
use crate::launch::CoreKind;
use crate::plan::{self, Checked, Context};
use crate::report::Refusal;

/// Cross-core flags of one object.
const FLAGS: i64 = 2;

impl Core {
    /// The kernel registers objects; returns how many vector cores call them. A kernel that cannot have any ends here.
    pub(super) fn matmul_open(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        if let Err(refusal) = self.may_have_objects(record) {
            self.refuse(Pipe::S, loc, refusal);
            self.abort();
        }
        self.matmul_flags = FLAGS * record.p[0];
        Ok(self.shared.kernel_type.cores().1 as u64)
    }

    fn may_have_objects(&mut self, record: &RawRecord) -> Checked<()> {
        let kernel_type = self.shared.kernel_type;
        let (cube, vectors) = kernel_type.cores();
        if !cube || vectors == 0 {
            return Err(Refusal::new(
                "kernel-type",
                format!(
                    "a Matmul object in a kernel of type {kernel_type}, which lacks one of its two sides"
                ),
                "declare KERNEL_TYPE_MIX_AIC_1_1 or KERNEL_TYPE_MIX_AIC_1_2, or define ASCENDC_CUBE_ONLY for the cube core alone",
            ));
        }
        if let Some(first) = self.first_product {
            return Err(Refusal::new(
                "matmul-order",
                format!(
                    "the cube core has products of its own at {}:{}, and serves Matmul objects",
                    first.file(),
                    first.line()
                ),
                "define ASCENDC_CUBE_ONLY before lib/matmul_intf.h and call the object on the cube core",
            ));
        }
        let workspace = plan::operand(record, 0, "workspace")?;
        if workspace.addr == 0 {
            return Err(Refusal::new(
                "workspace-unset",
                "nothing has set the system workspace of this launch",
                "mark the kernel's argument with __kfc_workspace__, or call SetSysWorkspaceForce before",
            ));
        }
        let shared = Arc::clone(&self.shared);
        let target = shared.options.target.ascend();
        let context = Context {
            target: target.expect("options hold split-core targets"),
            registers: &mut self.registers,
        };
        let print = plan::footprint(&context, &workspace, 0, record.p[1] as usize, true)?;
        plan::place(&workspace, &print).map(|_| ())
    }

    /// A vector core sends a message, behind everything that its MTE3 has been given.
    pub(super) fn matmul_post(&mut self, record: &RawRecord, loc: Loc) -> u64 {
        let bytes = record.scalar as *const u8;
        // SAFETY: the headers pass a structure on their own stack, and its size.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, record.p[0] as usize) };
        self.submit_sync(Pipe::Mte3, Action::Post(bytes.to_vec()), loc)
    }

    /// The cube core waits for a message; returns who sent it.
    pub(super) fn matmul_take(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        self.seq += 1;
        self.time_spend_flag();
        self.advance();
        let from = usize::try_from(record.p[1]).ok();
        let shared = Arc::clone(&self.shared);
        let Some(letter) = shared.take_letter(self.index, from, loc) else {
            self.abort()
        };
        let bytes = record.scalar as *mut u8;
        // SAFETY: the headers pass a structure on their own stack, and its size; both sides send the same structure.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, record.p[0] as usize) };
        bytes.copy_from_slice(&letter.bytes);
        self.acquire_all(&letter.token);
        Ok(letter.from as u64)
    }

    /// The cube core tells one vector core that what FIX has been given is done.
    pub(super) fn matmul_answer(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        debug_assert_eq!(self.shared.cores[self.index].kind, CoreKind::Aic);
        let action = Action::Answer {
            sub: record.p[0] as usize,
            flag: record.p[2] as u8,
        };
        Ok(self.submit_sync(Pipe::Fix, action, loc))
    }
}
