//! Mirror of `include/fa_emu/abi.h`: the record and the function table shared with kernel libraries.

use std::ffi::c_char;

/// Version of the record layout; a container built by another version is refused.
pub(crate) const ABI_VERSION: u32 = 2;

/// One operand as the headers fill it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawOperand {
    pub(crate) addr: u64,
    pub(crate) bytes: u64,
    pub(crate) position: u8,
    pub(crate) dtype: u8,
    pub(crate) present: u16,
    pub(crate) reserved: u32,
}

/// One instruction as the headers fill it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRecord {
    pub(crate) op: u32,
    pub(crate) form: u32,
    pub(crate) file: *const c_char,
    pub(crate) line: i32,
    pub(crate) reserved: u32,
    pub(crate) name: *const c_char,
    pub(crate) mask: [u64; 2],
    pub(crate) scalar: u64,
    pub(crate) p: [i64; 20],
    pub(crate) t: [RawOperand; 4],
}

/// The function table given to a kernel library.
#[repr(C)]
pub(crate) struct Api {
    pub(crate) version: u32,
    pub(crate) reserved: u32,
    pub(crate) issue: unsafe extern "C-unwind" fn(*const RawRecord) -> u64,
    pub(crate) report: unsafe extern "C-unwind" fn(
        u32,
        *const c_char,
        *const c_char,
        *const c_char,
        *const c_char,
        i32,
    ),
    pub(crate) print: unsafe extern "C-unwind" fn(*const c_char, u64),
}

/// How a vector call states its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An element count.
    Count,
    /// The first lanes of each repeat.
    Lanes,
    /// A bit per lane.
    Bits,
    /// Whatever the mask register holds.
    Keep,
}

impl Form {
    pub(crate) fn from_raw(raw: u32) -> Form {
        match raw {
            0 => Form::Count,
            1 => Form::Lanes,
            2 => Form::Bits,
            _ => Form::Keep,
        }
    }
}

macro_rules! codes {
    ($($name:ident = $value:literal),* $(,)?) => {
        /// Instruction codes, in the order of `FaEmuOp`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Code { $($name = $value),* }

        impl Code {
            pub(crate) fn from_raw(raw: u32) -> Option<Code> {
                match raw { $($value => Some(Code::$name),)* _ => None }
            }
        }
    };
}

codes! {
    Add = 1, Sub = 2, Mul = 3, Div = 4, Max = 5, Min = 6, And = 7, Or = 8, MulAddDst = 9, FusedMulAdd = 10,
    FusedMulAddRelu = 11, AddRelu = 12, SubRelu = 13, MulCast = 14, AddReluCast = 15, SubReluCast = 16, AddDeqRelu = 17,
    Abs = 20, Exp = 21, Ln = 22, Sqrt = 23, Rsqrt = 24, Reciprocal = 25, Relu = 26, Not = 27,
    Adds = 30, Muls = 31, Maxs = 32, Mins = 33, Shl = 34, Shr = 35, LeakyRelu = 36, Axpy = 37,
    Duplicate = 40, Brcb = 41, Cast = 42, Copy = 43, VecIndex = 44,
    Compare = 50, Compares = 51, CompareSpr = 52, Select = 53, Gather = 54, Gatherb = 55, GatherMask = 56,
    Transpose = 57, Trans5Hd = 58, GetCmpMask = 59, SetCmpMask = 60, Sort32 = 61, MrgSort = 62,
    MrgResult = 63,
    ReduceRepeat = 70, ReduceBlock = 71, ReducePair = 72, ReduceTensor = 73, ReduceSpr = 74,
    DataCopy = 80, Nd2Nz = 81, PadIn = 82, PadOut = 83, SetPadValue = 84,
    Load2D = 90, Load2DTranspose = 91, Load3D = 92, Fill = 93,
    Mmad = 100, Fixpipe = 101, SetMode = 102,
    SetFlag = 110, WaitFlag = 111, Barrier = 112, CrossSet = 113, CrossWait = 114, SyncAll = 115, WordSet = 116,
    WordWait = 117, TurnInit = 118, TurnWait = 119,
    SetMask = 120, MaskMode = 121, SetCtrl = 122, GetCtrl = 123, Atomic = 124, SetDeqScale = 125,
    Read = 130, Write = 131, Dcci = 132,
    Query = 140, Init = 141, SyncBase = 142, TPipe = 143, Trap = 147, TurnNext = 148,
    MatmulOpen = 150, MatmulPost = 151, MatmulTake = 152, MatmulAnswer = 153, MatmulAwait = 154,
}
