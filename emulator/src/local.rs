//! The memories of one core: bytes, and for each byte whether anything defined was ever put there.

use fa_targets::Ascend;

/// A memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mem {
    Gm,
    Ub,
    L1,
    L0a,
    L0b,
    L0c,
    Bt,
    Fb,
}

impl Mem {
    /// The on-chip memories, in the order of [`Locals`].
    pub(crate) const LOCAL: [Mem; 7] = [
        Mem::Ub,
        Mem::L1,
        Mem::L0a,
        Mem::L0b,
        Mem::L0c,
        Mem::Bt,
        Mem::Fb,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mem::Gm => "GM",
            Mem::Ub => "UB",
            Mem::L1 => "L1",
            Mem::L0a => "L0A",
            Mem::L0b => "L0B",
            Mem::L0c => "L0C",
            Mem::Bt => "BT",
            Mem::Fb => "FB",
        }
    }

    /// The memory behind a `TPosition` on split-core chips; `None` for positions that need a framework.
    pub(crate) fn of_position(position: u8) -> Option<Mem> {
        Some(match position {
            0 | 8 => Mem::Gm,
            1 | 3 | 5 | 13 => Mem::L1,
            2 => Mem::L0a,
            4 => Mem::L0b,
            6 => Mem::Bt,
            7 => Mem::L0c,
            9..=11 => Mem::Ub,
            14 => Mem::Fb,
            _ => return None,
        })
    }

    /// Position in [`Mem::LOCAL`].
    pub(crate) fn index(self) -> usize {
        match self {
            Mem::Gm => unreachable!("global memory is not local to a core"),
            Mem::Ub => 0,
            Mem::L1 => 1,
            Mem::L0a => 2,
            Mem::L0b => 3,
            Mem::L0c => 4,
            Mem::Bt => 5,
            Mem::Fb => 6,
        }
    }
}

/// Start-up contents: a NaN in every float type and -1 in every integer type.
const GARBAGE: u8 = 0xff;

/// One on-chip memory.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Contents.
    pub(crate) bytes: Vec<u8>,
    /// 0 where the byte is defined, anything else where it is garbage.
    pub(crate) shadow: Vec<u8>,
}

impl Memory {
    fn new(bytes: usize) -> Memory {
        Memory {
            bytes: vec![GARBAGE; bytes],
            shadow: vec![1; bytes],
        }
    }
}

/// All on-chip memories of one core; those of the other kind of core are empty.
#[derive(Debug)]
pub(crate) struct Locals {
    memories: [Memory; 7],
}

impl Locals {
    /// Fresh memories of a cube core or of a vector core.
    pub(crate) fn new(target: Ascend<'_>, cube: bool) -> Locals {
        let sizes = Mem::LOCAL.map(|mem| {
            if (mem == Mem::Ub) == cube {
                0
            } else {
                capacity(target, mem)
            }
        });
        Locals {
            memories: sizes.map(Memory::new),
        }
    }

    pub(crate) fn get(&self, mem: Mem) -> &Memory {
        &self.memories[mem.index()]
    }

    pub(crate) fn get_mut(&mut self, mem: Mem) -> &mut Memory {
        &mut self.memories[mem.index()]
    }
}

/// Bytes that the hardware has of a memory.
pub(crate) fn capacity(target: Ascend<'_>, mem: Mem) -> usize {
    let memory = facts(target, mem);
    usize::try_from(memory.bytes).expect("on-chip memories are small")
}

/// The target file's entry for an on-chip memory.
pub(crate) fn facts<'t>(target: Ascend<'t>, mem: Mem) -> &'t fa_targets::Memory {
    match mem {
        Mem::Gm => unreachable!("global memory is not local to a core"),
        Mem::Ub => &target.memory.ub,
        Mem::L1 => &target.memory.l1,
        Mem::L0a => &target.memory.l0a,
        Mem::L0b => &target.memory.l0b,
        Mem::L0c => &target.memory.l0c,
        Mem::Bt => &target.memory.bt,
        Mem::Fb => &target.memory.fb,
    }
}
