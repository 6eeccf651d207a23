//! One core: its memories, its registers, the queue of each pipe, and the one place where pipes advance.

mod dispatch;
mod matmul;
mod queue;
mod scalar;
mod sync;
mod time;
mod unit;
mod words;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use fa_targets::Ascend;

use crate::abi::{Code, RawRecord};
use crate::core_model::dispatch::{pipe_of, plan_instruction};
use crate::core_model::queue::Raised;
use crate::core_model::sync::leftover;
use crate::core_model::unit::UnitFlags;
use crate::exec::{Machine, VectorState};
use crate::experiment::{Fault, Observed};
use crate::instruction::{Action, FlagId, Instruction, Loc, Pipe};
use crate::launch::{CoreKind, Shared};
use crate::local::{self, Locals, Mem};
use crate::order::{Race, Stale, Tracker};
use crate::plan::vector::Footprints;
use crate::plan::{Checked, Context, Registers};
use crate::report::{Finding, Refusal, Severity};
use crate::time::{Moment, Timer};
use crate::timeline::CoreUse;

/// Thrown through kernel frames to stop a core; never seen by callers.
pub(crate) struct Abort;

/// Pipes of a core, the scalar unit included.
pub(crate) const CORE_PIPES: usize = 7;

/// A core in the middle of a kernel.
pub(crate) struct Core {
    shared: Arc<Shared>,
    /// Position in the launch's list of cores.
    index: usize,
    machine: Machine,
    registers: Registers,
    pipes: [VecDeque<Instruction>; 7],
    flags: Box<[[[Option<Raised>; 8]; 7]; 7]>,
    units: UnitFlags,
    /// Order of accesses; `None` when it is not checked.
    order: Option<Tracker>,
    /// The clock; `None` when time is not modelled.
    timer: Option<Timer>,
    /// When the clock has run so far ahead that another core gets its turn, cycles.
    turn_ends: u64,
    observed: Observed,
    /// State of the random numbers; `None` when instructions run as soon as they can.
    random: Option<u64>,
    seq: u64,
    uses_tpipe: bool,
    /// Cross-core flags below this one belong to the Matmul objects of the kernel.
    matmul_flags: i64,
    /// The first instruction of the matrix unit.
    first_product: Option<Loc>,
    aborting: bool,
    reported: HashSet<(&'static str, usize, i32)>,
    reserved_touched: bool,
    reserved_needed: bool,
}

/// What the pipe of an instruction and its footprints are, before it is queued.
type Planned = Option<(Pipe, Action, Footprints)>;

impl Core {
    /// A core that starts at `start`.
    pub(crate) fn new(shared: Arc<Shared>, index: usize, start: Moment) -> Core {
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
        let experiment = &shared.experiment;
        let order = (shared.options.hazards && experiment.hazards).then(|| {
            let (count, block) = (shared.cores.len(), machine.block);
            Tracker::new(
                index,
                count,
                block,
                shared.options.auto_sync,
                shared.alias(),
            )
        });
        let random = experiment
            .seed
            .map(|seed| (seed << 8 | index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Core {
            index,
            order,
            turn_ends: 0,
            timer: shared
                .clock
                .as_ref()
                .map(|clock| Timer::new(start, clock.detail)),
            random,
            observed: Observed::default(),
            machine,
            registers,
            pipes: Default::default(),
            flags: Box::default(),
            units: UnitFlags::default(),
            seq: 0,
            uses_tpipe: false,
            matmul_flags: 0,
            first_product: None,
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
        if self.seq >= self.shared.options.max_steps {
            self.refuse(Pipe::S, loc, endless(self.seq));
            self.abort();
        }
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
            Code::Read => self.read(record, loc),
            Code::Write => self.write(record, loc),
            Code::Query => Ok(self.shared.query(self.index, record.p[0], self.seq)),
            Code::TPipe => self.tpipe(record),
            Code::ReduceSpr => Ok(self.machine.vector.reduced[record.p[0] as usize]),
            Code::MrgResult => Ok(self.machine.vector.merged[record.p[0] as usize].into()),
            Code::WordSet | Code::WordWait => self.word(code, record, loc),
            Code::TurnInit | Code::TurnWait | Code::TurnNext => self.turn(code, record, loc),
            Code::GetCmpMask | Code::SetCmpMask => self.compare_register(code, record),
            Code::MatmulOpen => self.matmul_open(record, loc),
            Code::MatmulPost => Ok(self.matmul_post(record, loc)),
            Code::MatmulTake => self.matmul_take(record, loc),
            Code::MatmulAnswer => self.matmul_answer(record, loc),
            Code::MatmulAwait => self.cross_wait(record, loc),
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
            | Code::SetMode
            | Code::SyncBase => self.register(code, record),
            Code::Init => Ok(0),
            Code::Dcci => self.clean_cache(record),
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
                if code == Code::Mmad {
                    self.first_product.get_or_insert(loc);
                }
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
        let issued = self.time_issue(pipe, &action);
        Instruction {
            seq: self.seq,
            pipe,
            loc,
            footprints,
            action,
            stamp: self.order.as_ref().map(Tracker::stamp),
            issued,
        }
    }

    pub(crate) fn is_aborting(&self) -> bool {
        self.aborting
    }

    /// Stops this core by unwinding through the kernel's frames.
    fn abort(&mut self) -> ! {
        self.aborting = true;
        std::panic::resume_unwind(Box::new(Abort));
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

    /// Records races, once per pair of places in the launch.
    fn report_races(&mut self, races: Vec<Race>) {
        for race in races {
            self.shared.add_race(&race);
        }
        if self.shared.too_many_errors() {
            self.abort();
        }
    }

    /// Reports stale accesses, once per pair of places in the launch.
    fn report_stale(&mut self, found: impl IntoIterator<Item = Stale>) {
        for stale in found {
            self.shared.add_stale(&stale);
        }
        if self.shared.too_many_errors() {
            self.abort();
        }
    }

    /// Whether a fault of this launch sits at a place.
    fn fault_at(&self, loc: &Loc, find: impl Fn(&Fault, u32) -> bool) -> bool {
        let mut faults = self.shared.experiment.faults.iter();
        faults.any(|fault| find(fault, loc.line()))
    }

    /// Records a warning, once per place.
    pub(crate) fn note(&mut self, pipe: Pipe, loc: Loc, refusal: Refusal) {
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
            other: None,
        });
    }

    /// Checks what a kernel leaves behind when it returns.
    pub(crate) fn finish(&mut self) {
        self.advance();
        self.shared.observed(std::mem::take(&mut self.observed));
        if let Some(mut timer) = self.timer.take() {
            let end = timer.drain();
            let name = self.shared.cores[self.index].name();
            let used = CoreUse::of(name, end.at, timer);
            self.shared.finished(self.index, end, used);
        }
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
                if let Some(loc) = self.token(flag).as_ref().map(|raised| raised.loc) {
                    self.record(Severity::Error, source, loc, leftover(flag));
                }
            }
        }
        self.unit_left_over();
    }
}

fn endless(steps: u64) -> Refusal {
    Refusal::new(
        "step-limit",
        format!("the core has issued {steps} instructions and goes on"),
        "end the loop, or raise `max_steps` for a kernel that is meant to run this long",
    )
}

fn unsupported(loc: &Loc) -> Refusal {
    Refusal::new(
        "not-emulated",
        format!("{} is not emulated", loc.call()),
        "use an instruction that the emulator knows",
    )
}
