//! One core: its memories, its registers, the queue of each pipe, and the one place where pipes advance.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use fa_targets::Ascend;

use crate::abi::{Code, RawRecord};
use crate::dtype::{Dtype, Overflow};
use crate::exec::{self, Machine, VectorState};
use crate::instruction::{Action, FlagId, Footprint, Instruction, Loc, Pipe};
use crate::launch::{CoreKind, Shared};
use crate::local::{self, Locals, Mem};
use crate::plan::vector::Footprints;
use crate::plan::{
    self, AtomicOp, Checked, Context, Operand, Registers, copy, cube, reduce, select, vector,
};
use crate::report::{Finding, Refusal, Severity};

/// Thrown through kernel frames to stop a core; never seen by callers.
pub(crate) struct Abort;

/// A core in the middle of a kernel.
pub(crate) struct Core {
    shared: Arc<Shared>,
    /// Position in the launch's list of cores.
    index: usize,
    machine: Machine,
    registers: Registers,
    pipes: [VecDeque<Instruction>; 7],
    flags: Box<[[[Option<Loc>; 8]; 7]; 7]>,
    seq: u64,
    uses_tpipe: bool,
    aborting: bool,
    reported: HashSet<(&'static str, usize, i32)>,
    reserved_touched: bool,
    reserved_needed: bool,
}

/// What the pipe of an instruction and its footprints are, before it is queued.
type Planned = Option<(Pipe, Action, Footprints)>;

impl Core {
    pub(crate) fn new(shared: Arc<Shared>, index: usize) -> Core {
        let target = shared
            .options
            .target
            .ascend()
            .expect("options hold split-core targets");
        let cube = shared.cores[index].kind == CoreKind::Aic;
        let machine = Machine {
            locals: Locals::new(target, cube),
            vector: VectorState::default(),
            block: target.limits.data_block_bytes as usize,
        };
        let registers = Registers {
            overflow: shared.overflow,
            ..Registers::default()
        };
        Core {
            index,
            machine,
            registers,
            pipes: Default::default(),
            flags: Box::default(),
            seq: 0,
            uses_tpipe: false,
            aborting: false,
            reported: HashSet::new(),
            reserved_touched: false,
            reserved_needed: false,
            shared,
        }
    }

    /// Runs one record; returns what the call returns to the scalar unit.
    pub(crate) fn issue(&mut self, record: &RawRecord) -> u64 {
        if self.aborting {
            return 0;
        }
        let loc = Loc {
            file: record.file,
            line: record.line,
            call: record.name,
        };
        let Some(code) = Code::from_raw(record.op) else {
            self.refuse(Pipe::S, loc, unsupported(&loc));
            return 0;
        };
        match self.dispatch(code, record, loc) {
            Ok(value) => value,
            Err(refusal) => {
                let fatal = refusal.kind == "uninitialised";
                self.refuse(Pipe::S, loc, refusal);
                if fatal {
                    self.abort();
                }
                0
            }
        }
    }

    fn dispatch(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        match code {
            Code::SetFlag | Code::WaitFlag => self.flag(code, record, loc),
            Code::Barrier => self.barrier(record, loc),
            Code::CrossSet => self.cross_set(record, loc),
            Code::CrossWait => self.cross_wait(record, loc),
            Code::SyncAll => self.sync_all(record, loc),
            Code::Read => self.read(record),
            Code::Write => self.write(record, loc),
            Code::Query => Ok(self.shared.query(self.index, record.p[0], self.seq)),
            Code::TPipe => self.tpipe(record),
            Code::ReduceSpr => Ok(self.machine.vector.reduced[record.p[0] as usize]),
            Code::GetCmpMask | Code::SetCmpMask => self.compare_register(code, record),
            Code::Trap => Err(Refusal::new(
                "trap",
                "the kernel executed Trap",
                "see the kernel",
            )),
            Code::SetMask
            | Code::MaskMode
            | Code::SetCtrl
            | Code::GetCtrl
            | Code::Atomic
            | Code::SetDeqScale
            | Code::SetPadValue
            | Code::SyncBase => self.register(code, record),
            Code::Init | Code::Dcci | Code::SetMode => Ok(0),
            _ => self.instruction(code, record, loc),
        }
    }

    /// Plans, queues and, if nothing blocks, runs an instruction of a pipe.
    fn instruction(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let shared = Arc::clone(&self.shared);
        let target = shared
            .options
            .target
            .ascend()
            .expect("options hold split-core targets");
        let mut context = Context {
            target,
            registers: &mut self.registers,
        };
        match plan_instruction(&mut context, code, record) {
            Ok(None) => Ok(0),
            Ok(Some((pipe, action, footprints))) => {
                let instruction = self.record_of(pipe, action, footprints, loc);
                self.watch_limits(target, &instruction, code, record);
                Ok(self.submit(instruction))
            }
            Err(refusal) => {
                self.refuse(pipe_of(code), loc, refusal);
                Ok(0)
            }
        }
    }

    fn record_of(
        &mut self,
        pipe: Pipe,
        action: Action,
        footprints: Footprints,
        loc: Loc,
    ) -> Instruction {
        self.seq += 1;
        Instruction {
            seq: self.seq,
            pipe,
            loc,
            footprints,
            action,
        }
    }

    /// Queues an instruction that touches no memory.
    fn submit_sync(&mut self, pipe: Pipe, action: Action, loc: Loc) -> u64 {
        let instruction = self.record_of(pipe, action, [None; 4], loc);
        self.submit(instruction)
    }

    /// Queues an instruction and lets the pipes advance; returns its value if it ran at once.
    fn submit(&mut self, instruction: Instruction) -> u64 {
        let pipe = instruction.pipe;
        if self.pipes[pipe.index()].is_empty() && self.ready(&instruction) {
            let value = self.run(&instruction);
            if matches!(instruction.action, Action::SetFlag(_)) {
                self.advance();
            }
            return value;
        }
        self.pipes[pipe.index()].push_back(instruction);
        self.advance();
        0
    }

    fn ready(&self, instruction: &Instruction) -> bool {
        match instruction.action {
            Action::WaitFlag(flag) => self.token(flag).is_some(),
            _ => true,
        }
    }

    /// Runs the heads of all pipes in issue order for as long as any of them can.
    fn advance(&mut self) {
        while let Some(pipe) = self.next_pipe() {
            let instruction = self.pipes[pipe.index()]
                .pop_front()
                .expect("the head is ready");
            self.run(&instruction);
        }
    }

    fn next_pipe(&self) -> Option<Pipe> {
        Pipe::ALL
            .into_iter()
            .filter_map(|pipe| Some((pipe, self.pipes[pipe.index()].front()?)))
            .filter(|(_, head)| self.ready(head))
            .min_by_key(|(_, head)| head.seq)
            .map(|(pipe, _)| pipe)
    }

    fn run(&mut self, instruction: &Instruction) -> u64 {
        let (pipe, loc) = (instruction.pipe, instruction.loc);
        match &instruction.action {
            Action::SetFlag(flag) => {
                if let Some(earlier) = self.token_mut(*flag).replace(loc) {
                    let refusal = double_set(*flag, &earlier);
                    self.refuse(pipe, loc, refusal);
                }
            }
            Action::WaitFlag(flag) => *self.token_mut(*flag) = None,
            Action::CrossSet { mode, flag } => {
                if let Err(refusal) = self.shared.cross_set(self.index, *mode, *flag, loc) {
                    self.refuse(pipe, loc, refusal);
                }
            }
            action => match exec::execute(&mut self.machine, action, loc) {
                Ok(value) => return value,
                Err(refusal) => self.refuse(pipe, loc, refusal),
            },
        }
        0
    }

    fn token(&self, flag: FlagId) -> Option<Loc> {
        self.flags[flag.source.index()][flag.destination.index()][usize::from(flag.id)]
    }

    fn token_mut(&mut self, flag: FlagId) -> &mut Option<Loc> {
        &mut self.flags[flag.source.index()][flag.destination.index()][usize::from(flag.id)]
    }

    fn flag(&mut self, code: Code, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let limits = self
            .shared
            .options
            .target
            .limits
            .clone()
            .expect("split-core targets have limits");
        let id = record.p[2];
        if !(0..i64::from(limits.event_ids)).contains(&id) {
            return Err(Refusal::new(
                "event-id",
                format!(
                    "event id is {id}, a pair of pipes has ids 0 to {}",
                    limits.event_ids - 1
                ),
                "use one of the existing ids",
            ));
        }
        if id >= i64::from(limits.static_event_ids) && !self.uses_tpipe {
            let refusal = Refusal::new(
                "event-id-reserved",
                format!(
                    "event id is {id}, code without a TPipe is asked to stay below {}",
                    limits.static_event_ids
                ),
                "library calls may use the upper ids",
            );
            self.note(Pipe::S, loc, refusal);
        }
        let flag = FlagId {
            source: Pipe::from_raw(record.p[0]).expect("the headers pass pipes"),
            destination: Pipe::from_raw(record.p[1]).expect("the headers pass pipes"),
            id: id as u8,
        };
        if code == Code::SetFlag {
            return Ok(self.submit_sync(flag.source, Action::SetFlag(flag), loc));
        }
        self.submit_sync(flag.destination, Action::WaitFlag(flag), loc);
        if flag.destination == Pipe::S && !self.pipes[Pipe::S.index()].is_empty() {
            self.stuck("the scalar unit waits for a flag that nothing can set any more");
        }
        Ok(0)
    }

    fn barrier(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        if let Some(pipe) = Pipe::from_raw(record.p[0]) {
            return Ok(self.submit_sync(pipe, Action::Barrier, loc));
        }
        self.drained("PipeBarrier<PIPE_ALL> waits for a pipe that cannot go on");
        Ok(0)
    }

    /// Lets the pipes run empty, or stops the core at the wait that keeps one from it.
    fn drained(&mut self, what: &str) {
        self.advance();
        if !self.pipes.iter().all(VecDeque::is_empty) {
            self.stuck(what);
        }
    }

    /// Reports the blocked pipes at the first wait, and stops the core.
    fn stuck(&mut self, what: &str) -> ! {
        self.report_stuck(what);
        self.abort();
    }

    fn report_stuck(&mut self, what: &str) {
        let first = self
            .pipes
            .iter()
            .filter_map(VecDeque::front)
            .min_by_key(|head| head.seq);
        let Some((pipe, loc)) = first.map(|head| (head.pipe, head.loc)) else {
            return;
        };
        let refusal = Refusal::new(
            "deadlock",
            format!("{what}: {}", self.blocked_pipes()),
            "every WaitFlag needs a SetFlag of the same event and id before it",
        );
        self.record(Severity::Error, pipe, loc, refusal);
    }

    /// The blocked heads of all pipes, as text; empty when none is blocked.
    fn blocked_pipes(&self) -> String {
        let heads: Vec<String> = Pipe::ALL
            .into_iter()
            .filter_map(|pipe| {
                let queue = &self.pipes[pipe.index()];
                let head = queue.front()?;
                let Action::WaitFlag(flag) = head.action else {
                    return None;
                };
                Some(format!(
                    "pipe {} waits at {}:{} for {} of {}_{} with {} instruction(s) behind it",
                    pipe.name(),
                    head.loc.file(),
                    head.loc.line(),
                    flag.id,
                    flag.source.name(),
                    flag.destination.name(),
                    queue.len() - 1
                ))
            })
            .collect();
        heads.join("; ")
    }

    fn require_cross(&self, what: &str) -> Checked<()> {
        if self.shared.can_synchronise() {
            return Ok(());
        }
        Err(Refusal::new(
            "kernel-type",
            format!(
                "{what} in a kernel of type {}, which has no cross-core flags",
                self.shared.kernel_type
            ),
            "declare a MIX kernel type, such as KERNEL_TYPE_MIX_AIC_1_2 or KERNEL_TYPE_MIX_AIV_1_0",
        ))
    }

    fn cross_flag(&mut self, record: &RawRecord, loc: Loc) -> Checked<u8> {
        let limits = self
            .shared
            .options
            .target
            .limits
            .clone()
            .expect("split-core targets have limits");
        let flag = record.p[2];
        if flag >= i64::from(limits.cross_core_flags) {
            return Err(Refusal::new(
                "cross-core-flag",
                format!(
                    "flag is {flag}, a core has flags 0 to {}",
                    limits.cross_core_flags - 1
                ),
                "use one of the first flags",
            ));
        }
        if flag >= i64::from(limits.user_cross_core_flags) {
            let refusal = Refusal::new(
                "cross-core-flag-reserved",
                format!(
                    "flag {flag} belongs to SyncAll; kernels use 0 to {}",
                    limits.user_cross_core_flags - 1
                ),
                "use a lower flag",
            );
            self.note(Pipe::S, loc, refusal);
        }
        Ok(flag as u8)
    }

    fn cross_set(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        self.require_cross("CrossCoreSetFlag")?;
        let flag = self.cross_flag(record, loc)?;
        let pipe = Pipe::from_raw(record.p[0]).expect("the headers pass pipes");
        let action = Action::CrossSet {
            mode: record.p[1] as u8,
            flag,
        };
        Ok(self.submit_sync(pipe, action, loc))
    }

    fn cross_wait(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        self.require_cross("CrossCoreWaitFlag")?;
        let flag = self.cross_flag(record, loc)?;
        self.seq += 1;
        let shared = Arc::clone(&self.shared);
        if shared.wait_cross(self.index, flag, loc, self.blocked_pipes()) {
            Ok(0)
        } else {
            self.abort()
        }
    }

    fn sync_all(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        if record.p[1] == 0 {
            self.require_cross("SyncAll")?;
        }
        self.drained("SyncAll waits for a pipe that cannot go on");
        self.seq += 1;
        let shared = Arc::clone(&self.shared);
        if shared.wait_all(self.index, record.p[0] != 0, loc) {
            Ok(0)
        } else {
            self.abort()
        }
    }

    /// Stops this core by unwinding through the kernel's frames.
    fn abort(&mut self) -> ! {
        self.aborting = true;
        std::panic::resume_unwind(Box::new(Abort));
    }

    fn read(&mut self, record: &RawRecord) -> Checked<u64> {
        let (operand, footprint) = self.scalar_access(record, false)?;
        let place = plan::place(
            &Operand {
                addr: footprint.start,
                ..operand
            },
            &footprint,
        )?;
        let width = operand.width();
        let (bytes, shadow) = exec::read_place(&self.machine.locals, &place, 0, width);
        if shadow.iter().any(|&state| state != 0) {
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

    fn write(&mut self, record: &RawRecord, loc: Loc) -> Checked<u64> {
        let (operand, footprint) = self.scalar_access(record, true)?;
        let place = plan::place(
            &Operand {
                addr: footprint.start,
                ..operand
            },
            &footprint,
        )?;
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

    fn scalar_access(&mut self, record: &RawRecord, write: bool) -> Checked<(Operand, Footprint)> {
        let operand = plan::operand(record, 0, "the tensor")?;
        let scalar_memories: &[Mem] = match self.shared.cores[self.index].kind {
            CoreKind::Aic => &[Mem::Gm, Mem::L1],
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

    fn compare_register(&mut self, code: Code, record: &RawRecord) -> Checked<u64> {
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

    fn register(&mut self, code: Code, record: &RawRecord) -> Checked<u64> {
        let registers = &mut self.registers;
        match code {
            Code::SetMask => registers.mask = record.mask,
            Code::MaskMode => registers.counter = record.p[0] != 0,
            Code::SetDeqScale => registers.deq_scale = Some(record.scalar as u16),
            Code::SetPadValue => registers.pad_value = Some(record.scalar),
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

    fn tpipe(&mut self, record: &RawRecord) -> Checked<u64> {
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

    /// Notes the use of memory that the toolchain keeps, and refuses it where an instruction needs it.
    fn watch_limits(
        &mut self,
        target: Ascend<'_>,
        instruction: &Instruction,
        code: Code,
        record: &RawRecord,
    ) {
        let loc = instruction.loc;
        let ub = &target.memory.ub;
        let scratch = ub.usable_unreserved_bytes.unwrap_or(ub.usable_bytes) - ub.usable_bytes;
        let reserved = (ub.bytes - scratch) as usize;
        for print in instruction.footprints.iter().flatten() {
            self.reserved_touched |= print.mem == Mem::Ub && print.end > reserved && scratch > 0;
            if print.mem != Mem::Gm {
                let facts = local::facts(target, print.mem);
                let usable = facts.usable_unreserved_bytes.unwrap_or(facts.usable_bytes) as usize;
                if print.end > usable {
                    let refusal = Refusal::new(
                        "beyond-usable",
                        format!(
                            "byte {} of {} is used, the toolchain promises {usable} bytes",
                            print.end,
                            print.mem.name()
                        ),
                        "keep the last bytes free; the toolchain uses them in mixed kernels",
                    );
                    self.note(instruction.pipe, loc, refusal);
                }
            }
        }
        self.reserved_needed |= code == Code::Select && record.p[7] != 0;
        if self.reserved_needed && self.reserved_touched {
            let refusal = Refusal::new(
                "reserved-ub",
                format!(
                    "Select modes 1 and 2 use UB from byte {reserved}, where the kernel keeps data"
                ),
                "leave the last 8 KiB of UB free, or use mode 0",
            );
            self.refuse(Pipe::V, loc, refusal);
        }
    }

    /// Records an error, once per place.
    pub(crate) fn refuse(&mut self, pipe: Pipe, loc: Loc, refusal: Refusal) {
        self.record(Severity::Error, pipe, loc, refusal);
        if self.shared.too_many_errors() {
            self.abort();
        }
    }

    fn note(&mut self, pipe: Pipe, loc: Loc, refusal: Refusal) {
        self.record(Severity::Warning, pipe, loc, refusal);
    }

    fn record(&mut self, severity: Severity, pipe: Pipe, loc: Loc, refusal: Refusal) {
        if !self
            .reported
            .insert((refusal.kind, loc.file as usize, loc.line))
        {
            return;
        }
        let call = loc.call();
        let message = if call.is_empty() {
            refusal.message
        } else {
            format!("{call}: {}", refusal.message)
        };
        self.shared.add_finding(Finding {
            kind: refusal.kind,
            severity,
            core: self.shared.cores[self.index].name(),
            pipe: pipe.name(),
            message,
            help: refusal.help,
            file: loc.file(),
            line: loc.line(),
        });
    }

    /// Checks what a kernel leaves behind when it returns.
    pub(crate) fn finish(&mut self) {
        self.advance();
        self.report_stuck("the kernel ends while a pipe still waits");
        for (source, destination) in Pipe::ALL
            .into_iter()
            .flat_map(|a| Pipe::ALL.map(|b| (a, b)))
        {
            for id in 0..8 {
                let flag = FlagId {
                    source,
                    destination,
                    id,
                };
                if let Some(loc) = self.token(flag) {
                    self.record(Severity::Error, source, loc, leftover(flag));
                }
            }
        }
    }
}

fn double_set(flag: FlagId, earlier: &Loc) -> Refusal {
    Refusal::new(
        "flag-set-twice",
        format!(
            "flag {} of {}_{} is still set, by {}:{}",
            flag.id,
            flag.source.name(),
            flag.destination.name(),
            earlier.file(),
            earlier.line()
        ),
        "wait for the flag before setting it again, or use another id",
    )
}

fn leftover(flag: FlagId) -> Refusal {
    Refusal::new(
        "leftover-flag",
        format!(
            "flag {} of {}_{} is set and never waited for; it would break the next kernel",
            flag.id,
            flag.source.name(),
            flag.destination.name()
        ),
        "add the missing WaitFlag before the kernel ends",
    )
}

fn unsupported(loc: &Loc) -> Refusal {
    Refusal::new(
        "not-emulated",
        format!("{} is not emulated", loc.call()),
        "use an instruction that the emulator knows",
    )
}

/// The pipe that an instruction belongs to, for findings about instructions that were not planned.
fn pipe_of(code: Code) -> Pipe {
    match code {
        Code::DataCopy | Code::Nd2Nz | Code::PadIn => Pipe::Mte2,
        Code::PadOut | Code::Nz2Nd => Pipe::Mte3,
        Code::Load2D | Code::Load2DTranspose | Code::Load3D | Code::Fill => Pipe::Mte1,
        Code::Mmad => Pipe::M,
        Code::Fixpipe => Pipe::Fix,
        _ => Pipe::V,
    }
}

fn plan_instruction(context: &mut Context<'_>, code: Code, record: &RawRecord) -> Checked<Planned> {
    macro_rules! on {
        ($pipe:expr, $plan:expr, $action:path) => {
            Ok($plan?.map(|(plan, prints)| ($pipe, $action(plan), prints)))
        };
    }
    macro_rules! routed {
        ($plan:expr, $action:path) => {
            Ok($plan?.map(|(plan, prints, pipe)| (pipe, $action(plan), prints)))
        };
    }
    let v = Pipe::V;
    match code {
        Code::Brcb => on!(v, vector::plan_brcb(context, record), Action::Vector),
        Code::ReduceRepeat | Code::ReduceBlock | Code::ReducePair => {
            on!(v, reduce::plan(context, record, code), Action::Reduce)
        }
        Code::ReduceTensor => on!(
            v,
            reduce::plan_tensor(context, record),
            Action::ReduceTensor
        ),
        Code::Compare | Code::Compares | Code::CompareSpr => {
            on!(
                v,
                select::plan_compare(context, record, code),
                Action::Compare
            )
        }
        Code::Select => on!(v, select::plan_select(context, record), Action::Select),
        Code::Gather | Code::Gatherb => on!(
            v,
            select::plan_gather(context, record, code),
            Action::Gather
        ),
        Code::GatherMask => on!(
            v,
            select::plan_gather_mask(context, record),
            Action::GatherMask
        ),
        Code::Transpose => on!(v, select::plan_transpose(context, record), Action::Shuffle),
        Code::Trans5Hd => on!(v, select::plan_5hd(context, record), Action::Shuffle),
        Code::DataCopy => routed!(copy::plan(context, record), Action::Copy),
        Code::PadOut => routed!(copy::plan_pad_out(context, record), Action::Copy),
        Code::Nd2Nz => on!(Pipe::Mte2, copy::plan_nd2nz(context, record), Action::Nd2Nz),
        Code::PadIn => on!(
            Pipe::Mte2,
            copy::plan_pad_in(context, record),
            Action::PadIn
        ),
        Code::Load2D => routed!(cube::plan_load(context, record), Action::Load),
        Code::Load2DTranspose => routed!(cube::plan_load_transpose(context, record), Action::Load),
        Code::Load3D => on!(
            Pipe::Mte1,
            cube::plan_load3d(context, record),
            Action::Load3D
        ),
        Code::Fill => routed!(cube::plan_fill(context, record), Action::Fill),
        Code::Mmad => on!(Pipe::M, cube::plan_mmad(context, record), Action::Mmad),
        Code::Fixpipe => on!(
            Pipe::Fix,
            cube::plan_fixpipe(context, record),
            Action::Fixpipe
        ),
        Code::Nz2Nd => Err(Refusal::new(
            "not-emulated",
            "DataCopy from NZ in UB to ND in GM is not emulated",
            "copy column groups with DataCopyParams",
        )),
        _ => on!(v, vector::plan(context, record, code), Action::Vector),
    }
}
