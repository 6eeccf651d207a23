//! What instructions cost, each number with how sure it is.

use serde::{Deserialize, Serialize};

/// How a number is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Mark {
    /// Printed in a public document.
    #[serde(rename = "D")]
    Documented,
    /// Computed from documented measurements.
    #[serde(rename = "X")]
    Derived,
    /// Chosen so that nothing else contradicts it.
    #[serde(rename = "G")]
    Guess,
}

/// One number.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The number.
    pub value: f64,
    /// How it is known.
    pub mark: Mark,
}

/// Cycles per repeat of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Slope {
    /// Sources in different bank groups.
    pub free: f64,
    /// Both sources in one bank group.
    pub conflict: f64,
    /// How the numbers are known.
    pub mark: Mark,
}

/// Costs in core cycles, rates in bytes per core cycle.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Scalar cycles of a plain instruction.
    pub issue: Cost,
    /// Cycles of a copy instruction, whatever its size.
    pub copy_issue: Cost,
    /// Cycles of each short piece of a copy.
    pub copy_burst: Cost,
    /// Cycles of each short row of an ND to NZ copy, beside its bytes.
    pub nd2nz_row: Cost,
    /// Pieces shorter than this are short, bytes.
    pub copy_burst_bytes: Cost,
    /// From the last byte requested to completion when the data comes from HBM.
    pub copy_latency_miss: Cost,
    /// The same from L2.
    pub copy_latency_hit: Cost,
    /// From the last byte stored to its visibility.
    pub store_latency: Cost,
    /// L2 to L1.
    pub gm_to_l1_hit: Cost,
    /// HBM to L1.
    pub gm_to_l1_miss: Cost,
    /// L2 to UB.
    pub gm_to_ub_hit: Cost,
    /// HBM to UB, one core alone.
    pub gm_to_ub_miss: Cost,
    /// UB to L2.
    pub ub_to_gm: Cost,
    /// L1 to L0A.
    pub l1_to_l0a: Cost,
    /// L1 to L0B.
    pub l1_to_l0b: Cost,
    /// Start of a load of operands.
    pub load_start: Cost,
    /// Start of an image-to-column load.
    pub load3d_start: Cost,
    /// L1 to the bias table and the fixpipe buffer.
    pub table_load: Cost,
    /// Start of such a load.
    pub table_start: Cost,
    /// Instructions that wait in front of a pipe before the scalar unit stalls.
    pub queue_depth: Cost,
    /// Start of the first product of a run.
    pub mmad_first: Cost,
    /// Start of a product that follows another at once.
    pub mmad_queued: Cost,
    /// Depth per cycle of a block of 16 x 16 results, 16-bit operands.
    pub mmad_k_fp16: Cost,
    /// The same for fp32.
    pub mmad_k_fp32: Cost,
    /// The same for floats in HF32 mode.
    pub mmad_k_hf32: Cost,
    /// The same for int8.
    pub mmad_k_int8: Cost,
    /// Start of a move out of L0C.
    pub fixpipe_start: Cost,
    /// L0C to L2.
    pub fixpipe_to_gm: Cost,
    /// L0C to L1, elements.
    pub fixpipe_to_l1_elems: Cost,
    /// Factor for rows that start off full-bandwidth addresses.
    pub fixpipe_unaligned: Cost,
    /// Start of a vector instruction.
    pub vector_start: Cost,
    /// From the end of a vector instruction to the use of its result.
    pub vector_dependent: Cost,
    /// Bank groups of UB.
    pub bank_groups: Cost,
    /// Setting or waiting for a flag, on its pipe.
    pub flag_issue: Cost,
    /// From a set to the release of its wait.
    pub flag_latency: Cost,
    /// From a cross-core set to the release of its wait.
    pub cross_core: Cost,
    /// Barrier of all cores.
    pub sync_all: Cost,
    /// Scalar access to UB.
    pub scalar_ub: Cost,
    /// Scalar access to global memory.
    pub scalar_gm: Cost,
    /// From the host to the first instruction.
    pub launch: Cost,
    /// HBM of the device, GB/s.
    pub hbm_gbps: Cost,
    /// L2 of the device, reads and writes together, GB/s.
    pub l2_gbps: Cost,
    /// Vector instructions.
    pub slopes: Slopes,
}

/// Cycles per repeat, by kind of vector instruction.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Slopes {
    /// Add, Sub, Max, Min.
    pub add: Slope,
    /// Mul.
    pub mul: Slope,
    /// Instructions with a scalar, Duplicate, Copy.
    pub scalar: Slope,
    /// And, Or, Not, shifts.
    pub bitwise: Slope,
    /// Exp of fp32.
    pub exp_fp32: Slope,
    /// Exp of fp16.
    pub exp_fp16: Slope,
    /// Ln and Sqrt.
    pub root: Slope,
    /// Rsqrt and Reciprocal.
    pub rsqrt: Slope,
    /// Div of fp32.
    pub div_fp32: Slope,
    /// Div of fp16.
    pub div_fp16: Slope,
    /// Axpy.
    pub axpy: Slope,
    /// MulAddDst and FusedMulAdd.
    pub fused: Slope,
    /// Cast from fp32.
    pub narrow: Slope,
    /// Cast to fp32.
    pub widen: Slope,
    /// Select and Compare.
    pub select: Slope,
    /// Brcb.
    pub brcb: Slope,
    /// Reductions of a whole repeat.
    pub reduce_repeat: Slope,
    /// Reductions of blocks and pairs.
    pub reduce_block: Slope,
    /// Gather.
    pub gather: Slope,
    /// Everything else.
    pub other: Slope,
}
