//! From the expression IR to programs for the vector unit.
//!
//! A value is computed where it changes least: scalars in scalar code once a task, values of one axis once a
//! task (rows) or once a tile (columns), the rest for every chunk of a score tile. Ints and bools of the vector
//! programs are fp32 numbers: the vector unit has no int division and no int comparison but equality, and fp32
//! is exact below 2^24, which [`exact_length`] makes sure of.

pub(crate) mod describe;
pub(crate) mod expand;
pub(crate) mod loads;
pub(crate) mod names;
pub(crate) mod program;
pub(crate) mod scalar;
pub(crate) mod windows;

use std::collections::BTreeMap;

use fa_dsl::ir::{Dependence, ExprId, Exprs, Node, Type, Var};
use fa_dsl::tiles;
use fa_dsl::variant::{Align, Dtype, Variant};

use describe::describe;
use loads::LoadPlan;
use names::Names;
use program::{Arg, Instr, Op, Program, Register, Space};
use scalar::{ScalarPrinter, float_literal};
use windows::Window;

/// Ints below this are exact in fp32 (24 bits of significand).
const EXACT_FLOAT: i64 = 1 << 24;

/// A value that scalar code computes once a task.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct TaskScalar {
    /// C++ of type `float`.
    pub text: String,
    /// The expression in the spelling of the language.
    pub note: String,
}

/// Where a captured tensor starts for a task: an offset in elements.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct TaskOffset {
    /// C++ of type `int64_t`.
    pub(crate) text: String,
    /// The tensor's name in the `.fa` file.
    pub(crate) note: String,
}

/// A table in UB.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Table {
    /// Name of the tensor in emitted code.
    pub(crate) tensor: String,
    /// Element type in global memory.
    pub(crate) dtype: Dtype,
    /// Elements.
    pub(crate) len: u32,
    /// Member that holds the offset of the first one.
    pub(crate) offset: String,
    /// Stride between elements.
    pub(crate) stride: String,
    /// Whether elements lie apart: each then fills a data block.
    pub(crate) spread: bool,
    /// The tensor's name in the `.fa` file.
    pub(crate) note: String,
}

impl Table {
    /// Whether its elements become fp32 after the copy.
    pub(crate) fn is_converted(&self) -> bool {
        self.dtype != Dtype::Fp32
    }
}

/// Bytes from element to element of a table in UB.
pub(crate) fn table_step(spread: bool) -> u32 {
    if spread { BLOCK_BYTES } else { FLOAT_BYTES }
}

/// Bytes of a data block, and of an fp32 number.
const BLOCK_BYTES: u32 = 32;
const FLOAT_BYTES: u32 = 4;

/// The vector programs of a variant.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(crate) struct Lowered {
    /// Scalars computed at the start of a task.
    pub task_scalars: Vec<TaskScalar>,
    /// Offsets into captured tensors, computed at the start of a task.
    pub task_offsets: Vec<TaskOffset>,
    /// Tables, loaded at the start of a task.
    pub tables: Vec<Table>,
    /// Windows of tables, loaded for every chunk.
    pub windows: Vec<Window>,
    /// Values equal everywhere, once a task.
    pub uniform: Program,
    /// Values of a query row, once a task.
    pub row: Program,
    /// Values of a key row, once a tile.
    pub column: Program,
    /// From products to scores, in place.
    pub score: Program,
    /// From scores to scores with -inf at masked pairs, in place; empty without a mask.
    pub mask: Program,
}

/// A lowered value.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// C++ of type `float`, a constant or a name.
    Scalar(String),
    /// A vector value of that space.
    Vector(Space, Arg),
}

/// The longest sequences for which every int of the vector programs is exact, or the node that is exact for no
/// useful length.
pub(crate) fn exact_length(
    variant: &Variant,
    exprs: &Exprs,
    roots: &[ExprId],
    loads: &BTreeMap<ExprId, LoadPlan>,
) -> Result<u32, ExprId> {
    let dependences = exprs.dependences();
    let nodes = loads::vector_nodes(exprs, roots, loads);
    if let Some(misused) = loads::misused_wide(exprs, variant, &nodes) {
        return Err(misused);
    }
    let vector: Vec<ExprId> = nodes
        .into_iter()
        .filter(|id| exprs.ty(*id) == Type::Int && dependences[id.index()] != Dependence::default())
        .filter(|id| !loads::is_wide(exprs, variant, *id))
        .collect();
    let mut length = tiles::MAX_LENGTH;
    loop {
        let ranges = tiles::int_ranges(exprs, length);
        let inexact = vector.iter().find(|id| match ranges[id.index()] {
            Some((low, high)) => low < -EXACT_FLOAT || high > EXACT_FLOAT,
            None => true,
        });
        match inexact {
            None => return Ok(length),
            // Shorter than a tile or two is of no use to anybody.
            Some(id) if length <= 1024 => return Err(*id),
            Some(_) => length /= 2,
        }
    }
}

/// Lowers the score and mask expressions of a variant.
pub(crate) fn lower(
    variant: &Variant,
    exprs: &Exprs,
    names: &Names,
    loads: &BTreeMap<ExprId, LoadPlan>,
) -> Lowered {
    let mut lowering = Lowering {
        variant,
        exprs,
        names,
        loads,
        raw: BTreeMap::new(),
        scalars: ScalarPrinter::new(exprs, names),
        dependences: exprs.dependences(),
        outer: BTreeMap::new(),
        inner: BTreeMap::new(),
        lowered: Lowered::default(),
        in_mask: false,
        dot_is_read: exprs.reads(variant.score, Var::Dot),
    };
    lowering.score();
    lowering.mask();
    lowering.finish()
}

struct Lowering<'a> {
    variant: &'a Variant,
    exprs: &'a Exprs,
    names: &'a Names,
    loads: &'a BTreeMap<ExprId, LoadPlan>,
    /// Int elements as they were copied, before the conversion to fp32.
    raw: BTreeMap<ExprId, Value>,
    scalars: ScalarPrinter<'a>,
    dependences: Vec<Dependence>,
    /// Values outside the tile programs.
    outer: BTreeMap<ExprId, Value>,
    /// Values of the tile program being lowered.
    inner: BTreeMap<ExprId, Value>,
    lowered: Lowered,
    in_mask: bool,
    dot_is_read: bool,
}

impl Lowering<'_> {
    fn score(&mut self) {
        let root = self.value(self.variant.score);
        let note = format!(
            "score = {}",
            describe(self.variant, self.exprs, self.variant.score)
        );
        let last = match root {
            Value::Vector(Space::Tile, Arg::Scores) => return,
            Value::Vector(Space::Tile, _) => None,
            other => Some(self.spread(other)),
        };
        debug_assert!(last.is_none() || !self.lowered.score.instrs.is_empty());
        let program = &mut self.lowered.score;
        let last = program
            .instrs
            .last_mut()
            .expect("a vector value has been computed");
        last.dst = Arg::Scores;
        last.note = note;
    }

    fn mask(&mut self) {
        if self.exprs.as_constant(self.variant.mask).is_some() && self.is_true(self.variant.mask) {
            return;
        }
        self.in_mask = true;
        self.inner.clear();
        // Copies of whole tiles belong to the program that made them.
        let dependences = &self.dependences;
        self.raw.retain(|id, _| {
            dependences[id.index()]
                != Dependence {
                    row: true,
                    col: true,
                }
        });
        let keep = match self.value(self.variant.mask) {
            Value::Vector(Space::Tile, arg) => arg,
            other => self.spread(other),
        };
        // Select by bits: a masked score may be NaN, which no arithmetic would remove.
        let program = &mut self.lowered.mask;
        let negative = program.push(Op::Scalar("Muls", float_literal(-1.0)), vec![keep]);
        let bits = program.push(Op::ToBits, vec![negative]);
        program.note(&bits, "all bits set where attended".to_owned());
        let push = |program: &mut Program, op, args: Vec<Arg>, note: &str| {
            program.instrs.push(Instr {
                op,
                dst: Arg::Scores,
                args,
                note: note.to_owned(),
            });
        };
        push(
            program,
            Op::BitBinary("And"),
            vec![Arg::Scores, bits.clone()],
            "",
        );
        let hole = program.push(Op::BitNot, vec![bits]);
        let hole = program.push(Op::ShiftLeft(23), vec![hole]);
        program.note(&hole, "the bits of -inf where masked".to_owned());
        push(
            program,
            Op::BitBinary("Or"),
            vec![Arg::Scores, hole],
            "score, or -inf where masked",
        );
    }

    fn is_true(&self, id: ExprId) -> bool {
        *self.exprs.node(id) == Node::Bool(true)
    }

    /// Assigns registers to buffers in every program.
    fn finish(mut self) -> Lowered {
        let mut homes: BTreeMap<(Space, Register), Register> = BTreeMap::new();
        for space in [Space::Uniform, Space::Row, Space::Column] {
            let live = self.live_out(space);
            let assigned = self.program(space).assign(&live);
            homes.extend(live.iter().map(|register| (space, *register)).zip(assigned));
        }
        let Lowered { score, mask, .. } = &mut self.lowered;
        score.assign(&[]);
        mask.assign(&[]);
        let Lowered {
            uniform,
            row,
            column,
            score,
            mask,
            ..
        } = &mut self.lowered;
        for program in [uniform, row, column, score, mask] {
            for arg in program.instrs.iter_mut().flat_map(|instr| &mut instr.args) {
                if let Arg::Outer(space, register) = arg {
                    *register = homes[&(*space, *register)];
                }
            }
        }
        self.lowered
    }

    /// The registers of a space that other programs read, in ascending order.
    fn live_out(&self, space: Space) -> Vec<Register> {
        let Lowered {
            uniform,
            row,
            column,
            score,
            mask,
            ..
        } = &self.lowered;
        let mut live: Vec<Register> = [uniform, row, column, score, mask]
            .into_iter()
            .flat_map(|program| &program.instrs)
            .flat_map(|instr| &instr.args)
            .filter_map(|arg| match arg {
                Arg::Outer(outer, register) if *outer == space => Some(*register),
                _ => None,
            })
            .collect();
        live.sort_unstable();
        live.dedup();
        live
    }

    fn space_of(&self, id: ExprId) -> Space {
        match self.dependences[id.index()] {
            Dependence {
                row: false,
                col: false,
            } => Space::Uniform,
            Dependence {
                row: true,
                col: false,
            } => Space::Row,
            Dependence {
                row: false,
                col: true,
            } => Space::Column,
            Dependence {
                row: true,
                col: true,
            } => Space::Tile,
        }
    }

    fn program(&mut self, space: Space) -> &mut Program {
        match space {
            Space::Uniform => &mut self.lowered.uniform,
            Space::Row => &mut self.lowered.row,
            Space::Column => &mut self.lowered.column,
            Space::Tile if self.in_mask => &mut self.lowered.mask,
            Space::Tile => &mut self.lowered.score,
        }
    }

    /// The lowered value of a node; equal nodes are lowered once.
    fn value(&mut self, id: ExprId) -> Value {
        let space = self.space_of(id);
        let known = if space == Space::Tile {
            &self.inner
        } else {
            &self.outer
        };
        if let Some(value) = known.get(&id) {
            return value.clone();
        }
        let value = if space == Space::Uniform && self.scalars.prints(id) {
            self.scalar(id)
        } else {
            let arg = self.vector(space, id);
            let note = describe(self.variant, self.exprs, id);
            self.program(space).note(&arg, note);
            Value::Vector(space, arg)
        };
        let known = if space == Space::Tile {
            &mut self.inner
        } else {
            &mut self.outer
        };
        known.insert(id, value.clone());
        value
    }

    /// A scalar: constants stay literals, the rest is computed once a task under a name.
    fn scalar(&mut self, id: ExprId) -> Value {
        let text = self.scalars.print_float(id);
        if self.exprs.as_constant(id).is_some() {
            return Value::Scalar(text);
        }
        self.lowered.task_scalars.push(TaskScalar {
            text,
            note: describe(self.variant, self.exprs, id),
        });
        Value::Scalar(format!("scalar{}_", self.lowered.task_scalars.len() - 1))
    }

    fn vector(&mut self, space: Space, id: ExprId) -> Arg {
        match self.exprs.node(id).clone() {
            Node::Var(Var::QIdx) => self.position("queryOrigin_", Space::Row),
            Node::Var(Var::KvIdx) => self.position("keyOrigin_", Space::Column),
            Node::Var(Var::QPos) => match self.variant.align {
                Align::TopLeft => self.position("queryOrigin_", Space::Row),
                Align::BottomRight => self.position("queryOrigin_ + alignShift_", Space::Row),
            },
            Node::Var(Var::Dot) => Arg::Scores,
            Node::Var(Var::Score) => self.scaled_product(),
            Node::Unary(op, a) => self.unary(space, op, a),
            Node::Binary(op, a, b) => self.binary(space, op, a, b),
            Node::Select(cond, then, other) => self.select(space, cond, then, other),
            Node::Load(..) => self.load(space, id),
            node => unreachable!("refused before lowering or printed as a scalar: {node:?}"),
        }
    }

    /// A counter plus where it starts.
    fn position(&mut self, origin: &str, space: Space) -> Arg {
        self.program(space)
            .push(Op::Scalar("Adds", origin.to_owned()), vec![Arg::Counter])
    }

    /// `dot * scale`: in place, unless the expression reads `dot` too.
    fn scaled_product(&mut self) -> Arg {
        let op = Op::Scalar("Muls", "kScale".to_owned());
        let keeps_dot = self.dot_is_read;
        let program = self.program(Space::Tile);
        let arg = program.push(op, vec![Arg::Scores]);
        if keeps_dot {
            return arg;
        }
        program.instrs.last_mut().expect("just pushed").dst = Arg::Scores;
        Arg::Scores
    }
}
