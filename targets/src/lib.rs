//! Chip facts as data: the structs that read `targets/*.toml`, and the files that come built in.
//!
//! No capacity, alignment or core count is written anywhere else in the workspace; emitted text quotes
//! them from a plan, which quotes them from here. This crate knows no attention and no output language.

mod timing;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use timing::{Cost, Mark, Slope, Slopes, Timing};

/// One chip (or the host CPU), as read from a target file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The name used in `.fa` files and on the command line.
    pub name: String,
    /// What kind of machine this is, which decides the backend.
    pub kind: TargetKind,
    /// One line for people.
    pub description: String,
    /// Chip identity and totals; present for every Ascend kind.
    pub chip: Option<Chip>,
    /// On-chip memories; present for every Ascend kind.
    pub memory: Option<Memories>,
    /// Ranges of instruction fields and counts of synchronisation resources.
    pub limits: Option<Limits>,
    /// Element types of the compute units.
    pub dtypes: Option<Dtypes>,
    /// Throughput per core and cycle.
    pub rates: Option<Rates>,
    /// What instructions cost; present for every Ascend kind.
    pub timing: Option<Timing>,
    /// Cache sizes; present for `kind = "cpu"`.
    pub cpu: Option<Cpu>,
}

/// The machine models that a backend exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// Ascend, cube and vector cores apart, meeting in global memory only (2201).
    SplitCore,
    /// A general-purpose processor.
    Cpu,
}

/// Identity of a chip and its device-wide totals.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// Value of `__NPU_ARCH__` in device code.
    pub npu_arch: u32,
    /// Argument of `bisheng --npu-arch=`.
    pub compiler_arch: String,
    /// SoC version strings of the family.
    pub soc_versions: Vec<String>,
    /// Cube cores (AIC) of the largest part.
    pub cube_cores: u32,
    /// Vector cores (AIV) that serve one cube core.
    pub vector_cores_per_cube_core: u32,
    /// Core clock in MHz.
    pub clock_mhz: u32,
    /// L2 cache, device total, bytes.
    pub l2_bytes: u64,
    /// Line of the data cache of a scalar unit, bytes.
    pub scalar_line_bytes: u32,
}

/// The on-chip memories of one core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memories {
    /// L1 buffer of a cube core.
    pub l1: Memory,
    /// Left-operand buffer of the matrix unit.
    pub l0a: Memory,
    /// Right-operand buffer of the matrix unit.
    pub l0b: Memory,
    /// Accumulator of the matrix unit.
    pub l0c: Memory,
    /// Unified buffer of one vector core.
    pub ub: Memory,
    /// Bias table.
    pub bt: Memory,
    /// Fixpipe parameter buffer.
    pub fb: Memory,
}

/// Capacity of one memory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// What the hardware has.
    pub bytes: u64,
    /// What a kernel may use with the toolchain's defaults.
    pub usable_bytes: u64,
    /// How the usable bytes come about, for messages.
    pub usable_note: String,
    /// What a kernel may use when it gives up the toolchain's scratch space (see the file).
    pub usable_unreserved_bytes: Option<u64>,
    /// Alignment of a buffer's start.
    pub align_bytes: u64,
}

/// Ranges of instruction fields, granularities, and synchronisation resources.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Bytes that one repeat of a vector instruction covers.
    pub vector_repeat_bytes: u32,
    /// Unit of most strides.
    pub data_block_bytes: u32,
    /// Largest repeat count of a vector instruction.
    pub max_repeat: u32,
    /// Rows of a fractal, for 16-bit operands also its columns.
    pub fractal_rows: u32,
    /// Largest m, n or k of one Mmad.
    pub mmad_max_dim: u32,
    /// Largest row pitch of an ND to NZ copy, elements.
    pub nd2nz_max_row_pitch_elems: u32,
    /// Largest number of pieces of one strided copy.
    pub data_copy_max_blocks: u32,
    /// Event ids per pair of pipes.
    pub event_ids: u32,
    /// Event ids that code without a `TPipe` may use.
    pub static_event_ids: u32,
    /// Cross-core flags of a core.
    pub cross_core_flags: u32,
    /// Cross-core flags that user code may use (the first ones).
    pub user_cross_core_flags: u32,
    /// Largest value of a cross-core flag counter.
    pub cross_core_counter_max: u32,
    /// Accumulating Mmads into a C of fewer fractals than this need a barrier between them.
    pub mmad_overlap_fractals: u32,
    /// Alignment of a global address for full bandwidth, bytes.
    pub gm_align_bytes: u32,
}

/// Element types by compute unit, in the spelling of `.fa` files.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dtypes {
    /// Operand types of the matrix unit.
    pub matrix: Vec<String>,
    /// Types with vector arithmetic.
    pub vector: Vec<String>,
}

/// Throughput per core and cycle.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Multiply-accumulates of the cube, 16-bit operands.
    pub cube_macs_fp16: u32,
    /// Bytes that the vector unit processes.
    pub vector_bytes: u32,
    /// L1 to L0A, bytes.
    pub l1_to_l0a_bytes: u32,
    /// L1 to L0B, bytes.
    pub l1_to_l0b_bytes: u32,
    /// L2 read, bytes.
    pub l2_read_bytes: u32,
    /// L2 write, bytes.
    pub l2_write_bytes: u32,
}

/// Cache sizes of a general-purpose core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// First-level data cache of a core, bytes.
    pub l1d_bytes: u64,
    /// Second-level cache of a core, bytes.
    pub l2_bytes: u64,
    /// Cache line, bytes.
    pub cache_line_bytes: u32,
}

/// Everything a split-core Ascend target file holds, with nothing optional left.
#[derive(Clone, Copy, Debug)]
pub struct Ascend<'t> {
    /// Identity and totals.
    pub chip: &'t Chip,
    /// On-chip memories.
    pub memory: &'t Memories,
    /// Field ranges and flags.
    pub limits: &'t Limits,
    /// Element types.
    pub dtypes: &'t Dtypes,
    /// Throughputs.
    pub rates: &'t Rates,
    /// What instructions cost.
    pub timing: &'t Timing,
}

/// Why a target file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is not the TOML that a target file is made of.
    #[error("{file}: {source}")]
    Syntax {
        /// Name of the file as the caller knows it.
        file: String,
        /// What the reader says.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A table that this kind of target needs is absent.
    #[error("{file}: a `{kind}` target needs a `[{table}]` table")]
    MissingTable {
        /// Name of the file as the caller knows it.
        file: String,
        /// The target's kind.
        kind: TargetKind,
        /// The absent table.
        table: &'static str,
    },
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TargetKind::SplitCore => "split_core",
            TargetKind::Cpu => "cpu",
        })
    }
}

/// Names and texts of the built-in target files, in the order in which they are listed.
const BUILT_IN: [(&str, &str); 3] = [
    ("ascend910b", include_str!("../ascend910b.toml")),
    ("ascend910_93", include_str!("../ascend910_93.toml")),
    ("cpu", include_str!("../cpu.toml")),
];

impl Target {
    /// Reads a target file; `file` names it in errors.
    ///
    /// # Errors
    /// The text is not TOML of this shape, or a table that the target's kind needs is absent.
    pub fn parse(file: &str, text: &str) -> Result<Target, TargetError> {
        let target: Target = toml::from_str(text).map_err(|source| TargetError::Syntax {
            file: file.to_owned(),
            source: Box::new(source),
        })?;
        let missing = match target.kind {
            TargetKind::SplitCore => [
                ("chip", target.chip.is_none()),
                ("memory", target.memory.is_none()),
                ("limits", target.limits.is_none()),
                ("dtypes", target.dtypes.is_none()),
                ("rates", target.rates.is_none()),
                ("timing", target.timing.is_none()),
            ]
            .into_iter()
            .find_map(|(table, absent)| absent.then_some(table)),
            TargetKind::Cpu => target.cpu.is_none().then_some("cpu"),
        };
        match missing {
            Some(table) => Err(TargetError::MissingTable {
                file: file.to_owned(),
                kind: target.kind,
                table,
            }),
            None => Ok(target),
        }
    }

    /// The built-in target of that name.
    pub fn built_in(name: &str) -> Option<Target> {
        let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Target::parse(name, text).expect("built-in target files are read by a test"))
    }

    /// Names of the built-in targets, in listing order.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The tables of a split-core Ascend chip, or `None` for another kind.
    pub fn ascend(&self) -> Option<Ascend<'_>> {
        Some(Ascend {
            chip: self.chip.as_ref()?,
            memory: self.memory.as_ref()?,
            limits: self.limits.as_ref()?,
            dtypes: self.dtypes.as_ref()?,
            rates: self.rates.as_ref()?,
            timing: self.timing.as_ref()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_files_are_complete() {
        for name in Target::built_in_names() {
            let target = Target::built_in(name).expect("listed names exist");
            assert_eq!(target.name, name);
            assert_eq!(target.kind == TargetKind::Cpu, target.cpu.is_some());
            assert_eq!(
                target.kind == TargetKind::SplitCore,
                target.ascend().is_some()
            );
        }
    }

    #[test]
    fn usable_never_exceeds_capacity() {
        for name in Target::built_in_names() {
            let target = Target::built_in(name).expect("listed names exist");
            let Some(memory) = target.memory else {
                continue;
            };
            for memory in [
                memory.l1, memory.l0a, memory.l0b, memory.l0c, memory.ub, memory.bt, memory.fb,
            ] {
                assert!(
                    memory.usable_bytes <= memory.usable_unreserved_bytes.unwrap_or(memory.bytes)
                );
                assert!(memory.usable_unreserved_bytes.unwrap_or(0) <= memory.bytes);
            }
        }
    }

    #[test]
    fn compiler_flag_of_each_family_is_the_documented_one() {
        let arch = |name| {
            Target::built_in(name)
                .and_then(|t| t.chip)
                .map(|c| c.compiler_arch)
        };
        assert_eq!(arch("ascend910b").as_deref(), Some("dav-2201"));
        assert_eq!(arch("ascend910_93").as_deref(), Some("dav-2201"));
    }

    #[test]
    fn a_missing_table_is_named() {
        let error = Target::parse("mine.toml", "name = 'x'\nkind = 'cpu'\ndescription = ''\n");
        let error = error.expect_err("no [cpu] table").to_string();
        assert_eq!(error, "mine.toml: a `cpu` target needs a `[cpu]` table");
    }
}
