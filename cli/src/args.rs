//! What may stand on the command line.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fa_runtime::Effort;

use crate::bench::shape::BenchShape;
use crate::report::ShapeChoice;

/// Attention kernels from `.fa` files.
#[derive(Debug, Parser)]
#[command(
    name = "fa-gen",
    version,
    about = "Generates, checks and runs attention kernels described in .fa files",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Print what is compiled, loaded and launched, with times
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) generate: GenerateArgs,
}

/// Everything but generating, which needs no word.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Report what is wrong with a file, and write nothing
    Check(CheckArgs),
    /// Show plan, budget and mask tiles of a file, or the page of a diagnostic code
    Explain(ExplainArgs),
    /// Put files into canonical form
    Fmt(FmtArgs),
    /// Write one page about a file's kernels: memory, pipeline, what binds, numerics
    Report(ReportArgs),
    /// Run a variant on .npy tensors
    Run(Box<RunArgs>),
    /// Compare every backend with the f64 reference
    Verify(VerifyArgs),
    /// Time a variant's kernels beside unfused ones of the same variant
    Bench(BenchArgs),
    /// Try tiles of a variant that leaves its tile open, and remember the best for launches of about a size
    Tune(TuneArgs),
    /// List the known chips and their memories
    Targets(TargetsArgs),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
}

/// What CPU kernels are compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EffortArg {
    /// Quick launches
    #[default]
    Speed,
    /// Quick compilation, for launches of small problems
    Compile,
}

impl From<EffortArg> for Effort {
    fn from(effort: EffortArg) -> Effort {
        match effort {
            EffortArg::Speed => Effort::Speed,
            EffortArg::Compile => Effort::Compile,
        }
    }
}

/// What a file is read with.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArgs {
    /// Set a const of the file
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = name_value)]
    pub(crate) define: Vec<(String, String)>,

    /// Treat warnings as errors; `run` also looks at every element of its tensors
    #[arg(long)]
    pub(crate) strict: bool,

    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `fa-gen FILE… -o DIR`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// Files to generate from
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Folder that receives the emitted files
    #[arg(short, long, required = true, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// What to write; everything the targets give by default
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub(crate) emit: Vec<Emit>,

    /// Take the tiles that `tune` remembers for launches of about these sizes: BxHxN, H/Hkv and Nq:Nkv where they differ
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Option<BenchShape>,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Kinds of emitted files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Emit {
    /// Ascend C kernels and what belongs to them
    Ascendc,
    /// CPU kernels
    Rust,
    /// The syntax tree
    Ast,
    /// The checked variant, as JSON
    Variant,
    /// The plan
    Plan,
}

/// `fa-gen check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A file, or a code such as FA101
    pub(crate) subject: String,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// Only this variant
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    /// Query rows, for the picture of the mask's tiles and the timeline
    #[arg(long, value_name = "N", requires = "kv_len")]
    pub(crate) q_len: Option<u32>,

    /// Key rows, for the picture of the mask's tiles and the timeline
    #[arg(long, value_name = "M", requires = "q_len")]
    pub(crate) kv_len: Option<u32>,

    /// Launch on the emulator, without data: pipeline of the steady state, utilisation, what binds
    #[arg(long)]
    pub(crate) timeline: bool,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Sizes of a launch; what a file fixes must agree.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ShapeArgs {
    /// All sizes as BxHxN or BxHxNxD, H/Hkv and Nq:Nkv where they differ
    #[arg(long, value_name = "SHAPE", conflicts_with_all = ["batch", "heads", "kv_heads", "q_len", "kv_len"])]
    pub(crate) shape: Option<BenchShape>,

    /// Sequences
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<NonZeroU32>,

    /// Query heads
    #[arg(long, value_name = "N")]
    pub(crate) heads: Option<NonZeroU32>,

    /// Key/value heads
    #[arg(long, value_name = "N")]
    pub(crate) kv_heads: Option<NonZeroU32>,

    /// Query rows
    #[arg(long, value_name = "N")]
    pub(crate) q_len: Option<NonZeroU32>,

    /// Key rows
    #[arg(long, value_name = "M")]
    pub(crate) kv_len: Option<NonZeroU32>,
}

impl ShapeArgs {
    /// The sizes that were given.
    pub(crate) fn choice(&self) -> ShapeChoice {
        let number = |given: Option<NonZeroU32>| given.map(NonZeroU32::get);
        if let Some(shape) = self.shape {
            let size = |size: usize| u32::try_from(size).ok();
            return ShapeChoice {
                batch: size(shape.batch),
                heads: size(shape.heads),
                kv_heads: shape.kv_heads.and_then(size),
                q_len: size(shape.q_len),
                kv_len: size(shape.kv_len),
            };
        }
        ShapeChoice {
            batch: number(self.batch),
            heads: number(self.heads),
            kv_heads: number(self.kv_heads),
            q_len: number(self.q_len),
            kv_len: number(self.kv_len),
        }
    }
}

/// `fa-gen report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// The page
    #[arg(short, long, value_name = "HTML", default_value = "report.html")]
    pub(crate) output: PathBuf,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// Only this variant
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) shape: ShapeArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen fmt`.
#[derive(Debug, Args)]
pub(crate) struct FmtArgs {
    /// Files to format in place
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Change nothing; fail where a file is not in canonical form
    #[arg(long)]
    pub(crate) check: bool,

    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Backends on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    /// Emitted Rust
    Cpu,
    /// Emitted Ascend C
    Ascend,
    /// The f64 interpreter
    Reference,
}

/// `fa-gen run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// Queries, in the variant's layout
    #[arg(long, value_name = "NPY")]
    pub(crate) q: PathBuf,

    /// Keys
    #[arg(long, value_name = "NPY")]
    pub(crate) k: PathBuf,

    /// Values
    #[arg(long, value_name = "NPY")]
    pub(crate) v: PathBuf,

    /// A captured tensor; repeatable
    #[arg(long = "in", value_name = "NAME=NPY", value_parser = name_value)]
    pub(crate) inputs: Vec<(String, String)>,

    /// Cumulative query lengths with a leading 0, for layout tnd
    #[arg(long, value_name = "NPY", requires = "cu_kv")]
    pub(crate) cu_q: Option<PathBuf>,

    /// Cumulative key lengths with a leading 0, for layout tnd
    #[arg(long, value_name = "NPY", requires = "cu_q")]
    pub(crate) cu_kv: Option<PathBuf>,

    /// Where the attention output goes
    #[arg(short, long, value_name = "NPY")]
    pub(crate) output: PathBuf,

    /// Where the log-sum-exp of each row goes
    #[arg(long, value_name = "NPY")]
    pub(crate) lse: Option<PathBuf>,

    /// Who computes; decided by the target where absent
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,

    /// A run-time scalar; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_value)]
    pub(crate) param: Vec<(String, String)>,

    /// The variant, where the file holds several
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    /// A known chip, `cpu`, or the path of a target file
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,

    /// Makes it a training launch: dropout acts, with this seed
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Offset of the dropout generator
    #[arg(long, value_name = "M", requires = "seed", default_value_t = 0)]
    pub(crate) offset: u32,

    /// Compile every variant of the file that the target can do into one library, so that runs of the others find
    /// theirs compiled
    #[arg(long)]
    pub(crate) together: bool,

    /// What CPU kernels are compiled for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) effort: EffortArg,

    /// 16-bit unsigned files hold bf16 bit patterns; always so, the flag is for scripts
    #[arg(long)]
    pub(crate) bf16_as_u16: bool,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// Only this variant
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    /// Folder that receives the emitted files of every backend
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// What CPU kernels are compiled for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) effort: EffortArg,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// The variant, where the file holds several
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// Who computes; decided by the target where absent
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,

    /// Sizes as BxHxN or BxHxNxD, H/Hkv and Nq:Nkv where they differ; repeatable. Six known ones where absent: BERT-Large
    /// at 512, 1024, 2048 and 4096, GPT-3 1.3B, LLaMA-2 7B
    #[arg(long, value_name = "SHAPE")]
    pub(crate) shape: Vec<BenchShape>,

    /// Threads of CPU kernels; as many as processors where absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: Option<u32>,

    /// Undisturbed samples wanted of each CPU kernel
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Milliseconds that a sample repeats its call for
    #[arg(long, value_name = "MS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=100_000))]
    pub(crate) sample_ms: u64,

    /// Folder that receives the emitted files, those of unfused kernels too
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,

    /// Time the kernel of the variant alone
    #[arg(long)]
    pub(crate) no_unfused: bool,

    /// What kernels are compiled for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) effort: EffortArg,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The file
    pub(crate) file: PathBuf,

    /// The variant, where the file holds several
    #[arg(long, value_name = "VARIANT")]
    pub(crate) name: Option<String>,

    /// A known chip, `cpu`, or the path of a target file; repeatable
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Vec<String>,

    /// Who computes; decided by the target where absent
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,

    /// Sizes as BxHxN or BxHxNxD, H/Hkv and Nq:Nkv where they differ; repeatable
    #[arg(long, required = true, value_name = "SHAPE")]
    pub(crate) shape: Vec<BenchShape>,

    /// Tiles that are tried, beside the best one's with other numbers of stages
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) keep: usize,

    /// Also write the file with a variant for every shape, its tile written, to commit
    #[arg(long, value_name = "FILE")]
    pub(crate) offline: Option<PathBuf>,

    /// What kernels are compiled for
    #[arg(long, value_enum, default_value_t)]
    pub(crate) effort: EffortArg,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// `fa-gen targets`.
#[derive(Debug, Args)]
pub(crate) struct TargetsArgs {
    /// How results are printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Splits `name=value`.
fn name_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not of the form name=value")),
    }
}
