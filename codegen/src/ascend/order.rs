//! Where vector programs need a barrier: between their instructions, and behind them.
//!
//! Instructions of the vector unit are issued in order and overlap; only a barrier makes one wait for those before it.
//! A program leaves its last instructions unfinished, and ends with a barrier if a later program touches what they do
//! before a barrier of its own.

use super::lower::Lowered;
use super::lower::program::{Arg, Instr, Op, Program, Register, Space};

/// What an instruction reads or writes, by one name in all programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Value(Space, Register),
    Scores,
    RowCounter,
    Counter,
    Table(u32),
}

/// An instruction that may still be at work.
#[derive(Clone, Debug)]
struct Access {
    writes: Place,
    reads: Vec<Place>,
}

/// Whether an access has to wait for an earlier one.
fn conflict(later: &Access, earlier: &Access) -> bool {
    later.writes == earlier.writes
        || later.reads.contains(&earlier.writes)
        || earlier.reads.contains(&later.writes)
}

fn access(space: Space, instr: &Instr) -> Access {
    let place = |arg: &Arg| match *arg {
        Arg::Own(register) => Place::Value(space, register),
        Arg::Outer(outer, register) => Place::Value(outer, register),
        Arg::Scores => Place::Scores,
        Arg::Counter if space == Space::Row => Place::RowCounter,
        Arg::Counter => Place::Counter,
    };
    let table = match instr.op {
        Op::Gather(table) => Some(Place::Table(table)),
        _ => None,
    };
    Access {
        writes: place(&instr.dst),
        reads: instr.args.iter().map(place).chain(table).collect(),
    }
}

/// A copy is ordered by flags: it waits for all vector code before it, and all after it waits for the copy.
fn is_copy(instr: &Instr) -> bool {
    matches!(instr.op, Op::Load(_))
}

/// For every instruction whether a barrier stands before it.
pub(super) fn barriers(program: &Program) -> Vec<bool> {
    // Which space it is does not matter here.
    let accesses = program
        .instrs
        .iter()
        .map(|instr| access(Space::Tile, instr));
    let mut pending: Vec<Access> = Vec::new();
    let mut barriers = Vec::new();
    for (instr, access) in program.instrs.iter().zip(accesses) {
        let waits = !is_copy(instr) && pending.iter().any(|earlier| conflict(&access, earlier));
        if waits || is_copy(instr) {
            pending.clear();
        }
        barriers.push(waits);
        if !is_copy(instr) {
            pending.push(access);
        }
    }
    barriers
}

/// A vector program among those that run one after another.
struct Step {
    /// What it touches before its first barrier.
    head: Vec<Access>,
    /// What it touches behind its last one.
    tail: Vec<Access>,
    /// Whether it has a barrier at all, counting the one at its end.
    has_barrier: bool,
    /// Whether it runs every time.
    is_certain: bool,
}

impl Step {
    fn new(space: Space, program: &Program) -> Step {
        let mut step = Step {
            head: Vec::new(),
            tail: Vec::new(),
            // Windows are loaded at the start.
            has_barrier: program
                .instrs
                .iter()
                .any(|instr| matches!(instr.op, Op::GatherWindow(_))),
            is_certain: !program.instrs.is_empty(),
        };
        for (instr, waits) in program.instrs.iter().zip(barriers(program)) {
            if waits || is_copy(instr) {
                step.has_barrier = true;
                step.tail.clear();
            }
            if is_copy(instr) {
                continue;
            }
            let access = access(space, instr);
            if !step.has_barrier {
                step.head.push(access.clone());
            }
            step.tail.push(access);
        }
        step
    }

    /// The start of a task copies these tables and converts the last of them.
    fn tables(lowered: &Lowered) -> Step {
        let last = lowered.tables.len().checked_sub(1);
        let converted = last.filter(|last| lowered.tables[*last].is_converted());
        let write = converted.and_then(|last| u32::try_from(last).ok());
        let write = write.map(|table| Access {
            writes: Place::Table(table),
            reads: Vec::new(),
        });
        Step {
            head: Vec::new(),
            tail: write.into_iter().collect(),
            has_barrier: last.is_some(),
            is_certain: last.is_some(),
        }
    }

    /// The counters of the rows are spread from those of the columns, once a launch.
    fn row_counters() -> Step {
        let spread = Access {
            writes: Place::RowCounter,
            reads: vec![Place::Counter],
        };
        Step {
            head: vec![spread.clone()],
            tail: vec![spread],
            has_barrier: false,
            is_certain: true,
        }
    }
}

/// Which programs end with a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastBarriers {
    /// Counters of the rows, which are made once a launch.
    pub(super) row_counters: bool,
    /// Values of a task.
    pub(super) uniform: bool,
    /// Tables of a task.
    pub(super) tables: bool,
    /// Values of a query row.
    pub(super) row: bool,
    /// Values of a key row.
    pub(super) column: bool,
    /// The score.
    pub(super) score: bool,
    /// The mask.
    pub(super) mask: bool,
}

/// Whether a copy overwrites what an instruction may still read: one of its own program, or of the end of an earlier one.
pub(super) fn copies_meet_reads(lowered: &Lowered) -> bool {
    let programs = [
        (Space::Uniform, &lowered.uniform),
        (Space::Row, &lowered.row),
        (Space::Column, &lowered.column),
        (Space::Tile, &lowered.score),
        (Space::Tile, &lowered.mask),
    ];
    let mut pending: Vec<Access> = Vec::new();
    for (space, program) in programs {
        for (instr, waits) in program.instrs.iter().zip(barriers(program)) {
            let access = access(space, instr);
            if is_copy(instr) && pending.iter().any(|earlier| conflict(&access, earlier)) {
                return true;
            }
            if waits || is_copy(instr) {
                pending.clear();
            }
            if !is_copy(instr) {
                pending.push(access);
            }
        }
    }
    false
}

/// Whether the first that happens to scores is that a copy of captured elements is waited for.
pub(super) fn scores_wait_for_copies(lowered: &Lowered) -> bool {
    let program = &lowered.score.instrs;
    let is_window = |instr: &Instr| matches!(instr.op, Op::GatherWindow(_));
    program.first().is_some_and(is_copy) || program.iter().any(is_window)
}

/// All programs that leave anything unfinished, for kernels that run them in another order or leave some out.
pub(super) fn barriers_everywhere(lowered: &Lowered) -> LastBarriers {
    let leaves = |space, program| !Step::new(space, program).tail.is_empty();
    LastBarriers {
        row_counters: true,
        uniform: leaves(Space::Uniform, &lowered.uniform),
        tables: !Step::tables(lowered).tail.is_empty(),
        row: leaves(Space::Row, &lowered.row),
        column: leaves(Space::Column, &lowered.column),
        score: leaves(Space::Tile, &lowered.score),
        mask: leaves(Space::Tile, &lowered.mask),
    }
}

/// Decides for the programs of the fused kernel, in the order in which they run; a mask may be skipped where tiles can be full.
pub(super) fn last_barriers(lowered: &Lowered, skips_masks: bool) -> LastBarriers {
    let mut mask = Step::new(Space::Tile, &lowered.mask);
    mask.is_certain &= !skips_masks;
    let mut steps = [
        Step::row_counters(),
        Step::new(Space::Uniform, &lowered.uniform),
        Step::tables(lowered),
        Step::new(Space::Row, &lowered.row),
        Step::new(Space::Column, &lowered.column),
        Step::new(Space::Tile, &lowered.score),
        mask,
    ];
    let mut found = [false; 7];
    for at in (0..steps.len()).rev() {
        let (before, after) = steps.split_at_mut(at + 1);
        let step = &mut before[at];
        found[at] = is_met(&step.tail, after);
        step.has_barrier |= found[at];
    }
    let [row_counters, uniform, tables, row, column, score, mask] = found;
    LastBarriers {
        row_counters,
        uniform,
        tables,
        row,
        column,
        score,
        mask,
    }
}

/// Whether the next chunk touches the first temporary, in which dropout may still read its factors, before a barrier. The
/// rounding of scores uses it too.
pub(super) fn dropout_is_met(
    lowered: &Lowered,
    ends: &LastBarriers,
    skips_masks: bool,
    rounds: bool,
) -> bool {
    let factors = Place::Value(Space::Tile, Register(0));
    let touches = |later: &Access| later.writes == factors || later.reads.contains(&factors);
    for (program, ends_with_barrier, is_skipped) in [
        (&lowered.score, ends.score, false),
        (&lowered.mask, ends.mask, skips_masks),
    ] {
        let step = Step::new(Space::Tile, program);
        if step.head.iter().any(touches) {
            return true;
        }
        if step.is_certain && !is_skipped && (step.has_barrier || ends_with_barrier) {
            return false;
        }
    }
    rounds
}

/// Whether one of the following programs, or the softmax behind them, touches what is pending before a barrier. The
/// softmax starts with the scores alone, and a barrier behind that.
fn is_met(pending: &[Access], following: &[Step]) -> bool {
    let meets = |later: &Access| pending.iter().any(|earlier| conflict(later, earlier));
    for step in following {
        if step.head.iter().any(meets) {
            return true;
        }
        if step.is_certain && step.has_barrier {
            return false;
        }
    }
    meets(&Access {
        writes: Place::Scores,
        reads: Vec::new(),
    })
}
