//! From a checked variant and a target to a plan, and from a plan to text.
//!
//! `plan` is the only way to get a [`Plan`]: a plan in hand has passed the budget, so rendering has no
//! error path for it. This crate is pure: text in, text out; no files, clock, environment or log.

pub mod ascend;
pub mod budget;
pub mod cpu;
mod tiles;

use fa_dsl::check::nearest;
use fa_dsl::codes;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::Span;
use fa_dsl::variant::Variant;
use fa_targets::{Target, TargetKind};

use budget::Budget;
pub use cpu::LEVELS as CPU_LEVELS;
pub use tiles::{Work, candidates, other_stages};

/// Version of the generator, as printed in emitted files.
pub const GENERATOR_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Tile sizes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Tile {
    /// Query rows.
    pub block_q: u32,
    /// Key rows.
    pub block_kv: u32,
    /// Tiles in flight.
    pub stages: u32,
}

/// Everything the renderer needs, decided.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A split-core Ascend kernel.
    Ascend(Box<ascend::Plan>),
    /// A CPU kernel.
    Cpu(Box<cpu::Plan>),
}

/// A plan and what was noticed on the way.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Warnings and notes; never errors.
    pub warnings: Vec<Diagnostic>,
}

/// Where the variant came from, for the head of emitted files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// File name without folders.
    pub source_name: String,
    /// SHA-256 of the source text, lower-case hexadecimal.
    pub source_sha256: String,
}

/// One emitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path relative to the output folder.
    pub path: String,
    /// Its text, ending in a newline.
    pub text: String,
}

/// Lengths that a kernel accepts; the launch refuses longer ones and names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LengthLimits {
    /// Largest `q_len` and `kv_len`.
    pub max_len: u32,
}

/// Plans one variant for one target.
///
/// # Errors
/// Every reason why the backend cannot do it: features it does not have yet, and `FA101` where no plan fits
/// the on-chip memories.
pub fn plan(variant: &Variant, target: &Target) -> Result<Planned, Vec<Diagnostic>> {
    match target.kind {
        TargetKind::SplitCore => ascend::plan(variant, target),
        TargetKind::Cpu => cpu::plan(variant, target),
    }
}

/// Reports the name of a target that does not come built in; `at` is where a file says it.
pub fn unknown_target(name: &str, at: Option<Span>) -> Diagnostic {
    let near = nearest(name, Target::built_in_names());
    let known: Vec<&str> = Target::built_in_names().collect();
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "name one of {}, or describe the chip in a file and pass its path as the target",
            known.join(", ")
        ),
    };
    let message = format!("there is no target `{name}`");
    let report = Diagnostic::error(codes::UNKNOWN_TARGET, message, help);
    match (at, near) {
        (Some(at), Some(near)) => report.at(at, "no such target").with_patch(at, near),
        (Some(at), None) => report.at(at, "no such target"),
        (None, _) => report,
    }
}

/// Prints a plan as source files: for `cpu` one Rust file, for an Ascend chip the kernel, its tiling header,
/// a launcher and a `CMakeLists.txt`. The first file is the kernel.
pub fn render(plan: &Plan, provenance: &Provenance) -> Vec<GeneratedFile> {
    match plan {
        Plan::Ascend(plan) => ascend::render(plan, provenance),
        Plan::Cpu(plan) => cpu::render(plan, provenance),
    }
}

impl Tile {
    /// Query rows, key rows, tiles in flight.
    pub fn sizes(self) -> [u32; 3] {
        [self.block_q, self.block_kv, self.stages]
    }
}

impl Plan {
    /// The exported symbol of the kernel, `fa_<variant>_forward`.
    pub fn symbol(&self) -> &str {
        match self {
            Plan::Ascend(plan) => plan.symbol(),
            Plan::Cpu(plan) => plan.symbol(),
        }
    }

    /// Its tile.
    pub fn tile(&self) -> Tile {
        match self {
            Plan::Ascend(plan) => plan.tile(),
            Plan::Cpu(plan) => plan.tile(),
        }
    }

    /// Query rows of a task of a launch: as many as a tile has, or fewer where that fills the cores of a chip better.
    /// `heads` counts those of all batches.
    pub fn task_rows(&self, heads: u64, q_len: u64, cube_cores: u32) -> u32 {
        match self {
            Plan::Ascend(plan) => plan.task_rows(heads, q_len, cube_cores),
            Plan::Cpu(plan) => plan.tile().block_q,
        }
    }

    /// Where every buffer lies, memory by memory.
    pub fn budget(&self) -> &Budget {
        match self {
            Plan::Ascend(plan) => plan.budget(),
            Plan::Cpu(plan) => plan.budget(),
        }
    }

    /// The longest sequences it accepts.
    pub fn limits(&self) -> LengthLimits {
        match self {
            Plan::Ascend(plan) => plan.limits(),
            Plan::Cpu(plan) => plan.limits(),
        }
    }

    /// The schedule in words, one line per step, for `fa-gen explain`.
    pub fn schedule(&self) -> Vec<String> {
        match self {
            Plan::Ascend(plan) => plan.schedule(),
            Plan::Cpu(plan) => plan.schedule(),
        }
    }
}
