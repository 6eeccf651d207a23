//! Vector programs as lines of Ascend C.

use super::lower::program::{Arg, Copy, Instr, Op, Program, Register, Space};
use super::order;

/// Between two vector instructions of which the second needs the first.
pub(super) const BARRIER: &str = "AscendC::PipeBarrier<PIPE_V>();";

/// A broadcasting vector instruction of two operands that some program needs, by API name.
pub(super) const BROADCAST_OPS: [&str; 6] = ["Add", "Sub", "Mul", "Div", "Max", "Min"];

/// The lines of a program, and what its function must declare first.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct Lines {
    /// Declarations of the buffers that the program touches, in order of appearance.
    pub(super) locals: Vec<String>,
    /// Instructions with their barriers.
    pub(super) steps: Vec<String>,
}

/// Prints a program of that space.
pub(super) fn lines(space: Space, program: &Program, ends_with_barrier: bool) -> Lines {
    let mut lines = Lines::default();
    for (instr, waits) in program.instrs.iter().zip(order::barriers(program)) {
        lines.declare(space, instr);
        if waits {
            lines.steps.push(BARRIER.to_owned());
        }
        if !instr.note.is_empty() {
            lines.steps.push(format!("// {}", instr.note));
        }
        lines.steps.push(statement(space, instr));
    }
    if ends_with_barrier {
        lines.steps.push(BARRIER.to_owned());
    }
    lines.locals.sort();
    lines
}

impl Lines {
    /// Declares the buffers of an instruction.
    fn declare(&mut self, space: Space, instr: &Instr) {
        let mut declare = |local: String| {
            if !local.is_empty() && !self.locals.contains(&local) {
                self.locals.push(local);
            }
        };
        for arg in instr.args.iter().chain([&instr.dst]) {
            declare(declaration(space, arg));
        }
        if let Op::GatherWindow(window) = instr.op {
            declare(format!(
                "const float windowFirst{window} = LoadWindow{window}(chunk);"
            ));
        }
    }
}

/// The broadcasting helpers that the programs call over a tile, in a fixed order.
pub(super) fn broadcast_ops(programs: &[&Program]) -> Vec<&'static str> {
    BROADCAST_OPS
        .into_iter()
        .filter(|name| {
            programs
                .iter()
                .flat_map(|program| &program.instrs)
                .any(|instr| instr.op == Op::Binary(name) && has_outer(instr))
        })
        .collect()
}

/// Whether some program repeats an outer value over a tile.
pub(super) fn spreads(programs: &[&Program]) -> bool {
    programs
        .iter()
        .flat_map(|program| &program.instrs)
        .any(|instr| instr.op == Op::Spread)
}

fn has_outer(instr: &Instr) -> bool {
    instr.args.iter().any(|arg| matches!(arg, Arg::Outer(..)))
}

fn buffer(space: Space, register: Register) -> String {
    let Register(index) = register;
    match space {
        Space::Uniform => format!("uniform{index}"),
        Space::Row => format!("row{index}"),
        Space::Column => format!("column{index}"),
        Space::Tile => format!("temp{index}"),
    }
}

/// The declaration of an operand inside a function of that space; empty for what is in scope anyway.
fn declaration(space: Space, arg: &Arg) -> String {
    let (own, register) = match arg {
        Arg::Own(register) => (space, *register),
        Arg::Outer(outer, register) => (*outer, *register),
        Arg::Scores | Arg::Counter => return String::new(),
    };
    let name = buffer(own, register);
    let Register(index) = register;
    let value = match (own, space) {
        (Space::Uniform, _) => format!("UniformValue({index})"),
        (Space::Row, Space::Tile) => format!("RowValue({index})[chunk.firstRow * kBlockLanes]"),
        (Space::Row, _) => format!("RowValue({index})"),
        (Space::Column, Space::Tile) => format!("ColumnValue({index})[chunk.firstCol]"),
        (Space::Column, _) => format!("ColumnValue({index})"),
        (Space::Tile, _) => format!("Temp({index})"),
    };
    format!("const LocalTensor<float> {name} = {value};")
}

fn operand(space: Space, arg: &Arg) -> String {
    match arg {
        Arg::Own(register) => buffer(space, *register),
        Arg::Outer(outer, register) => buffer(*outer, *register),
        Arg::Scores => "chunk.scores".to_owned(),
        Arg::Counter if space == Space::Row => "RowCounter()".to_owned(),
        Arg::Counter => "Counter()".to_owned(),
    }
}

/// An operand together with how it repeats over a tile.
fn stepped(arg: &Arg) -> String {
    let step = match arg {
        Arg::Outer(Space::Row, _) => "kPerRow",
        Arg::Outer(Space::Column, _) => "kPerColumn",
        Arg::Outer(..) => "kEverywhere",
        _ => "kPerPair",
    };
    format!("{{{}, {step}}}", operand(Space::Tile, arg))
}

/// Elements of a value of that space.
fn count(space: Space) -> &'static str {
    match space {
        Space::Uniform => "kLanes",
        Space::Row => "kRowLanes",
        Space::Column => "kColumns",
        Space::Tile => "chunk.count",
    }
}

fn statement(space: Space, instr: &Instr) -> String {
    let dst = operand(space, &instr.dst);
    let args: Vec<String> = instr.args.iter().map(|arg| operand(space, arg)).collect();
    let count = count(space);
    match &instr.op {
        Op::Unary(name) => format!("AscendC::{name}({dst}, {}, {count});", args[0]),
        Op::Scalar(name, scalar) => {
            format!("AscendC::{name}({dst}, {}, {scalar}, {count});", args[0])
        }
        Op::Binary(name) if !has_outer(instr) => {
            format!("AscendC::{name}({dst}, {}, {}, {count});", args[0], args[1])
        }
        Op::Binary(name) if space == Space::Tile => {
            let (a, b) = (stepped(&instr.args[0]), stepped(&instr.args[1]));
            format!("{name}Tile({dst}, {a}, {b}, chunk);")
        }
        Op::Binary(name) => {
            // One uniform value against a whole row or column vector.
            let step = |arg: &Arg| {
                if matches!(arg, Arg::Outer(..)) {
                    "0"
                } else {
                    "kLaneBlocks"
                }
            };
            let (a, b) = (step(&instr.args[0]), step(&instr.args[1]));
            format!(
                "AscendC::{name}({dst}, {}, {}, kLanes, {count} / kLanes, \
                 {{1, 1, 1, kLaneBlocks, {a}, {b}}});",
                args[0], args[1]
            )
        }
        Op::Round(mode) => format!(
            "AscendC::Cast({dst}, {}, AscendC::RoundMode::{mode}, {count});",
            args[0]
        ),
        Op::ToBits => format!(
            "AscendC::Cast({dst}.ReinterpretCast<int32_t>(), {}, AscendC::RoundMode::CAST_RINT, {count});",
            args[0]
        ),
        Op::BitBinary(name) => {
            format!(
                "AscendC::{name}(Bits({dst}), Bits({}), Bits({}), 2 * {count});",
                args[0], args[1]
            )
        }
        Op::BitNot => format!("AscendC::Not(Bits({dst}), Bits({}), 2 * {count});", args[0]),
        Op::ShiftLeft(by) => shift("ShiftLeft", *by, &dst, &args[0], count),
        Op::ShiftRight(by) => shift("ShiftRight", *by, &dst, &args[0], count),
        Op::Load(copy) => load(space, copy, &dst),
        Op::FromHalf(cpp_type) if space == Space::Row => {
            format!(
                "CastBlocks<float, {cpp_type}>({dst}, {}, kBlockLanes, kCoreRows);",
                args[0]
            )
        }
        Op::FromHalf(cpp_type) => format!(
            "AscendC::Cast({dst}, {}.ReinterpretCast<{cpp_type}>(), AscendC::RoundMode::CAST_NONE, {count});",
            args[0]
        ),
        Op::FromByte if space == Space::Row => {
            format!(
                "CastBlocks<half, uint8_t>({dst}, {}, 2 * kBlockLanes, kCoreRows);",
                args[0]
            )
        }
        Op::FromByte => format!(
            "AscendC::Cast({dst}.ReinterpretCast<half>(), {}.ReinterpretCast<uint8_t>(),{BROKEN}\
             AscendC::RoundMode::CAST_NONE, {count});",
            args[0]
        ),
        Op::FromInt => format!(
            "AscendC::Cast({dst}, {}.ReinterpretCast<int32_t>(), AscendC::RoundMode::CAST_RINT, {count});",
            args[0]
        ),
        Op::IntSub if space == Space::Tile => {
            let (a, b) = (stepped(&instr.args[0]), stepped(&instr.args[1]));
            format!("IntSubTile({dst}, {a}, {b}, chunk);")
        }
        Op::IntSub => format!(
            "AscendC::Sub({dst}.ReinterpretCast<int32_t>(), {}.ReinterpretCast<int32_t>(), \
             {}.ReinterpretCast<int32_t>(), {count});",
            args[0], args[1]
        ),
        Op::Gather(table) if space == Space::Tile => {
            format!("GatherTile({dst}, Table{table}(), {}, chunk);", args[0])
        }
        Op::GatherWindow(window) => {
            format!("GatherTile({dst}, Window{window}(), {}, chunk);", args[0])
        }
        Op::Gather(table) => format!(
            "AscendC::Gather({dst}, Table{table}(), {}.ReinterpretCast<uint32_t>(), 0u, {count});",
            args[0]
        ),
        Op::Fill(scalar) => format!("AscendC::Duplicate({dst}, {scalar}, {count});"),
        Op::Spread if space == Space::Tile => {
            format!("SpreadTile({dst}, {}, chunk);", stepped(&instr.args[0]))
        }
        Op::Spread => format!(
            "AscendC::Adds({dst}, {}, 0.0f, kLanes, {count} / kLanes, {{1, 1, kLaneBlocks, 0}});",
            args[0]
        ),
    }
}

fn shift(name: &str, by: u32, dst: &str, src: &str, count: &str) -> String {
    format!("AscendC::{name}(Words({dst}), Words({src}), static_cast<uint32_t>({by}), {count});")
}

/// A copy from a captured tensor; the helper waits for it.
fn load(space: Space, copy: &Copy, dst: &str) -> String {
    let Copy {
        helper,
        tensor,
        cpp_type,
        offset,
        strides,
    } = copy;
    let source = format!("{helper}<{cpp_type}>({dst}, launch_.{tensor}, {offset}");
    let strides = strides.join(&format!(",{BROKEN}"));
    match space {
        Space::Row => format!("{source}, {strides}, share.rows);"),
        Space::Column => format!("{source}, {strides});"),
        _ => format!("{source},{BROKEN}{strides}, chunk);"),
    }
}

/// A line break inside a statement of a member function.
const BROKEN: &str = "\n            ";

/// Whether some program has an instruction of that kind.
pub(super) fn any(programs: &[&Program], is: impl Fn(&Op) -> bool) -> bool {
    programs
        .iter()
        .flat_map(|program| &program.instrs)
        .any(|instr| is(&instr.op))
}
