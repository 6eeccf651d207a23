//! What a missing order looks like to the one who has to repair it.

use std::ops::Range;

use crate::core_model::CORE_PIPES;
use crate::instruction::Pipe;
use crate::launch::{CoreInfo, CoreKind};
use crate::local::Mem;
use crate::order::SLOTS;
use crate::order::history::{Access, Kind};
use crate::report::{Finding, Place, Severity};

/// Two accesses to the same bytes that nothing orders.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) mem: Mem,
    pub(crate) bytes: Range<usize>,
    pub(crate) earlier: Access,
    pub(crate) later: Access,
}

impl Race {
    /// What tells one race from another of the same launch: both places.
    pub(crate) fn key(&self) -> [(usize, i32); 2] {
        let place = |access: &Access| (access.loc.file as usize, access.loc.line);
        let (earlier, later) = self.in_program_order();
        [place(earlier), place(later)]
    }

    /// Both accesses as the program has them; between cores as they ran.
    fn in_program_order(&self) -> (&Access, &Access) {
        let same_core = core(&self.earlier) == core(&self.later);
        if same_core && self.later.seq < self.earlier.seq {
            (&self.later, &self.earlier)
        } else {
            (&self.earlier, &self.later)
        }
    }
}

fn core(access: &Access) -> usize {
    access.slot as usize / SLOTS
}

fn pipe(access: &Access) -> Pipe {
    let index = access.slot as usize % SLOTS;
    if index < CORE_PIPES {
        Pipe::ALL[index]
    } else {
        Pipe::S
    }
}

fn kind(earlier: &Access, later: &Access) -> (&'static str, &'static str) {
    match (earlier.kind, later.kind) {
        (Kind::Read, _) => ("race-war", "write after read"),
        (_, Kind::Read) => ("race-raw", "read after write"),
        _ => ("race-waw", "write after write"),
    }
}

fn enumerator(pipe: Pipe) -> String {
    format!("PIPE_{}", pipe.name())
}

/// The finding for a race.
pub(crate) fn describe(race: &Race, cores: &[CoreInfo], base: usize) -> Finding {
    let (earlier, later) = race.in_program_order();
    let (kind, words) = kind(earlier, later);
    let names = [earlier, later].map(|access| cores[core(access)].name());
    let other_core = if names[0] == names[1] {
        String::new()
    } else {
        format!(" of {}", names[0])
    };
    let verb = |access: &Access| match access.kind {
        Kind::Read => "reads",
        Kind::Write | Kind::Atomic => "writes",
    };
    let message = format!(
        "{} {} bytes {}..{} of {} on pipe {}; {} at {}:{} {} them on pipe {}{other_core}, and nothing orders the two \
         ({words})",
        later.loc.call(),
        verb(later),
        race.bytes.start.wrapping_sub(base),
        race.bytes.end.wrapping_sub(base),
        race.mem.name(),
        pipe(later).name(),
        earlier.loc.call(),
        earlier.loc.file(),
        earlier.loc.line(),
        verb(earlier),
        pipe(earlier).name(),
    );
    Finding {
        kind,
        severity: Severity::Error,
        core: names[1].clone(),
        pipe: pipe(later).name(),
        message,
        help: remedy(earlier, later, cores),
        file: later.loc.file(),
        line: later.loc.line(),
        other: Some(Place {
            file: earlier.loc.file(),
            line: earlier.loc.line(),
        }),
    }
}

/// The event that would order the two.
fn remedy(earlier: &Access, later: &Access, cores: &[CoreInfo]) -> String {
    let (from, to) = (pipe(earlier), pipe(later));
    let (first, second) = (earlier.loc.line(), later.loc.line());
    if core(earlier) != core(later) {
        let [a, b] = [earlier, later].map(|access| cores[core(access)]);
        if a.block == b.block && a.kind != b.kind {
            return format!(
                "CrossCoreSetFlag<2, {}>(flag) after line {first} on the {} side, CrossCoreWaitFlag(flag) before line \
                 {second} on the {} side",
                enumerator(from),
                side(a),
                side(b)
            );
        }
        return format!(
            "SyncAll between line {first} and line {second}, or bytes of their own for each core"
        );
    }
    if from == to && first == second {
        return format!(
            "PipeBarrier<{}>() before line {second} runs again",
            enumerator(from)
        );
    }
    if from == to {
        return format!(
            "PipeBarrier<{}>() between line {first} and line {second}",
            enumerator(from)
        );
    }
    let event = format!("HardEvent::{}_{}", from.name(), to.name());
    format!("SetFlag<{event}>(id) after line {first}, WaitFlag<{event}>(id) before line {second}")
}

fn side(core: CoreInfo) -> &'static str {
    match core.kind {
        CoreKind::Aic => "cube",
        CoreKind::Aiv => "vector",
    }
}
