//! Vector instructions over virtual registers, and their assignment to buffers.
//!
//! Every instruction works element by element, so a result may take the place of an operand that dies there.

/// Where a vector value lives, by what it changes with inside a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub(crate) enum Space {
    /// One value everywhere; 64 equal lanes, computed once a task.
    Uniform,
    /// One value per query row; a 32-byte block each, computed once a task.
    Row,
    /// One value per key row, computed once a tile.
    Column,
    /// One value per pair, computed for every chunk of a score tile.
    Tile,
}

/// A virtual register of one program before assignment, a buffer of its space after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Register(pub(crate) u32);

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Arg {
    /// A value of the program's own space.
    Own(Register),
    /// A value of a space that changes with less.
    Outer(Space, Register),
    /// The scores of the chunk.
    Scores,
    /// The row or column counter from which positions are made.
    Counter,
}

/// What an instruction does. All values are fp32; bools are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) enum Op {
    /// A vector instruction of one operand: `Exp`, `Ln`, `Sqrt`, `Abs`.
    Unary(&'static str),
    /// A vector instruction with a scalar operand: `Adds`, `Muls`, `Maxs`, `Mins`.
    Scalar(&'static str, String),
    /// A vector instruction of two operands: `Add`, `Sub`, `Mul`, `Div`, `Max`, `Min`.
    Binary(&'static str),
    /// Rounds to an integer value in this mode.
    Round(&'static str),
    /// 0 and -1 to an int of as many bits: all clear or all set.
    ToBits,
    /// Bitwise instruction of two operands: `And`, `Or`.
    BitBinary(&'static str),
    /// Bitwise complement.
    BitNot,
    /// Shifts 32-bit lanes left.
    ShiftLeft(u32),
    /// Shifts 32-bit lanes right, zeros coming in.
    ShiftRight(u32),
    /// Fills with a scalar.
    Fill(String),
    /// Repeats a value of an outer space over the own one.
    Spread,
    /// Copies elements of a captured tensor, as they lie, from global memory.
    Load(Copy),
    /// Elements of 16 bits to fp32, of that C++ type.
    FromHalf(&'static str),
    /// Unsigned bytes to fp16.
    FromByte,
    /// 32-bit ints to fp32, rounded to nearest.
    FromInt,
    /// Difference of 32-bit ints; wraps.
    IntSub,
    /// Elements of a table in UB at byte offsets.
    Gather(u32),
    /// Elements of a window at byte offsets; the window is loaded at the start of the program.
    GatherWindow(u32),
}

impl Op {
    /// Whether the result may not take the place of an operand: it is wider, or read at other places.
    fn needs_own_place(&self) -> bool {
        matches!(
            self,
            Op::FromHalf(_) | Op::FromByte | Op::Gather(_) | Op::GatherWindow(_)
        )
    }
}

/// A copy from a captured tensor.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Copy {
    /// The helper that does it: `LoadRows`, `LoadColumns`, `LoadPairs`.
    pub(crate) helper: &'static str,
    /// Name of the tensor in emitted code.
    pub(crate) tensor: String,
    /// C++ element type.
    pub(crate) cpp_type: &'static str,
    /// Member that holds the offset at row 0.
    pub(crate) offset: String,
    /// Strides along the query row and the key row, as far as the tensor follows them.
    pub(crate) strides: Vec<String>,
}

/// One vector instruction.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Instr {
    /// What it does.
    pub op: Op,
    /// Where the result goes.
    pub dst: Arg,
    /// Operands.
    pub args: Vec<Arg>,
    /// The expression of the `.fa` file that this instruction completes; empty for the steps on the way.
    pub note: String,
}

/// Instructions of one space in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Program {
    /// The instructions.
    pub instrs: Vec<Instr>,
    /// Buffers that the program needs after assignment.
    pub buffers: u32,
    next: u32,
}

impl Program {
    /// A register that nothing has written yet.
    pub(super) fn fresh(&mut self) -> Register {
        self.next += 1;
        Register(self.next - 1)
    }

    /// Appends an instruction with a fresh result, or finds the earlier one that computes the same. Registers are
    /// written once, so equal operands mean equal results; only the scores change in place.
    pub(super) fn push(&mut self, op: Op, args: Vec<Arg>) -> Arg {
        let same = self.instrs.iter().find(|instr| {
            instr.op == op
                && instr.args == args
                && instr.dst != Arg::Scores
                && !args.contains(&Arg::Scores)
        });
        if let Some(same) = same {
            return same.dst.clone();
        }
        let dst = Arg::Own(self.fresh());
        self.instrs.push(Instr {
            op,
            dst: dst.clone(),
            args,
            note: String::new(),
        });
        dst
    }

    /// Marks the instruction that wrote a register as the one that completes an expression.
    pub(super) fn note(&mut self, of: &Arg, note: String) {
        if let Some(instr) = self.instrs.iter_mut().rev().find(|instr| instr.dst == *of) {
            instr.note = note;
        }
    }

    /// Assigns registers to as few buffers as their lifetimes allow; `live_out` stay untouched to the end.
    /// Returns the buffer of each register of `live_out`, in order.
    pub(super) fn assign(&mut self, live_out: &[Register]) -> Vec<Register> {
        let uses = self.next as usize;
        let mut last_use = vec![0; uses];
        for (at, instr) in self.instrs.iter().enumerate() {
            for arg in instr.args.iter().chain([&instr.dst]) {
                if let Arg::Own(register) = arg {
                    last_use[register.0 as usize] = at;
                }
            }
        }
        for register in live_out {
            last_use[register.0 as usize] = usize::MAX;
        }
        let mut home: Vec<Option<Register>> = vec![None; uses];
        let mut free: Vec<Register> = Vec::new();
        let mut count = 0;
        for (at, instr) in self.instrs.iter_mut().enumerate() {
            let mut dying = Vec::new();
            for arg in &mut instr.args {
                if let Arg::Own(register) = arg {
                    let virtual_index = register.0 as usize;
                    *register =
                        home[virtual_index].expect("operands are written before they are read");
                    if last_use[virtual_index] == at && !dying.contains(register) {
                        dying.push(*register);
                    }
                }
            }
            if !instr.op.needs_own_place() {
                free.append(&mut dying);
            }
            free.sort_unstable_by(|a, b| b.cmp(a));
            if let Arg::Own(register) = &mut instr.dst {
                let virtual_index = register.0 as usize;
                let buffer = home[virtual_index]
                    .or_else(|| free.pop())
                    .unwrap_or_else(|| {
                        count += 1;
                        Register(count - 1)
                    });
                home[virtual_index] = Some(buffer);
                *register = buffer;
            }
            free.append(&mut dying);
        }
        self.buffers = count;
        live_out
            .iter()
            .map(|register| home[register.0 as usize].expect("live values are written"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_needs_one_buffer_and_a_kept_value_its_own() {
        let mut program = Program::default();
        let Arg::Own(kept) = program.push(Op::Fill("1.0f".into()), Vec::new()) else {
            panic!("results are registers")
        };
        let a = program.push(Op::Unary("Exp"), vec![Arg::Own(kept)]);
        let b = program.push(Op::Unary("Exp"), vec![a]);
        program.push(Op::Binary("Add"), vec![b, Arg::Scores]);
        assert_eq!(program.assign(&[kept]), [Register(0)]);
        assert_eq!(program.buffers, 2);
        assert_eq!(program.instrs[3].dst, Arg::Own(Register(1)));
    }
}
