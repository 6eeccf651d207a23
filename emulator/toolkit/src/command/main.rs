//! The `fa-emulator` command: runs, checks and times a kernel source without a host program of its own.

mod device;
mod environment;
mod session;
mod values;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use session::Session;

/// Runs Ascend C kernels on a model of the chip. Results, findings and times are emulated.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles and launches a kernel; prints its buffers and what was found.
    Run {
        #[command(flatten)]
        launch: LaunchArgs,
        /// Writes a buffer to a file after the launch.
        #[arg(long, value_name = "NAME=FILE.npy")]
        save: Vec<String>,
    },
    /// Launches a kernel in many orders of completion; prints every finding. Fails if one is an error.
    Check {
        #[command(flatten)]
        launch: LaunchArgs,
        /// Random orders of completion beside the plain one; their results must be the same.
        #[arg(long, default_value_t = 20)]
        seeds: u64,
        /// Findings as JSON, one a line.
        #[arg(long)]
        json: bool,
    },
    /// Predicts how long a launch takes, and writes a trace that Perfetto opens.
    Trace {
        #[command(flatten)]
        launch: LaunchArgs,
        /// File of the trace, in Chrome's JSON format.
        #[arg(short, long, value_name = "FILE.json")]
        output: Option<PathBuf>,
        /// Runs the instructions without data: same times, much faster.
        #[arg(long)]
        no_data: bool,
        /// The data is in L2 already.
        #[arg(long)]
        warm: bool,
    },
    /// Lays out a toolkit folder and prints what a shell has to know of it: `source <(fa-emulator env)`.
    Env {
        /// The folder; the cache of the user without it.
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
}

/// A kernel and what it is called with.
#[derive(Args)]
struct LaunchArgs {
    /// The kernel's source, or what `bisheng` made of it.
    source: PathBuf,
    /// Which kernel, where the source has several.
    #[arg(long)]
    kernel: Option<String>,
    /// Blocks of the launch.
    #[arg(long, default_value_t = 1)]
    blocks: u32,
    /// Arguments in order, each `[NAME=]` and one of `TYPE:VALUE`, `TYPE:FILL:SHAPE`, `FILE.npy`, `bytes:HEX`, and for a
    /// structure `struct:TYPE:VALUE,TYPE:VALUE,...`.
    /// TYPE: f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64. FILL: zeros ones index random undefined. SHAPE: 4x128.
    /// `u64:sync` is the address that `SetSyncBaseAddr` takes.
    #[arg(long, num_args = 0.., allow_hyphen_values = true, value_name = "ARG")]
    args: Vec<String>,
    /// A built-in chip, or a target file.
    #[arg(long, default_value = "ascend910b")]
    target: String,
    /// Trusts the compiler with barriers inside the vector unit.
    #[arg(long)]
    auto_sync: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // A closed stderr leaves nothing to tell anybody.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the launch found no error.
fn run(command: &Command) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match command {
        Command::Run { launch, save } => {
            let mut session = Session::open(launch)?;
            drop(out);
            let outcome = session.launch()?;
            out = std::io::stdout().lock();
            for finding in &outcome.findings {
                writeln!(out, "{finding}")?;
            }
            for line in session.buffers() {
                writeln!(out, "{line}")?;
            }
            for pair in save {
                let (name, file) = pair
                    .split_once('=')
                    .with_context(|| format!("`--save {pair}`: write NAME=FILE.npy"))?;
                session.save(name, file.as_ref())?;
            }
            Ok(outcome.ok())
        }
        Command::Check {
            launch,
            seeds,
            json,
        } => {
            let mut session = Session::open(launch)?;
            drop(out);
            let outcome = session.check(*seeds)?;
            out = std::io::stdout().lock();
            for finding in &outcome.findings {
                if *json {
                    writeln!(out, "{}", serde_json::to_string(finding)?)?;
                } else {
                    writeln!(out, "{finding}")?;
                }
            }
            if outcome.findings.is_empty() && !json {
                writeln!(
                    out,
                    "{}: nothing found in {} order(s) of completion (emulated)",
                    session.kernel(),
                    seeds + 1
                )?;
            }
            Ok(outcome.ok())
        }
        Command::Trace {
            launch,
            output,
            no_data,
            warm,
        } => {
            let mut session = Session::open(launch)?;
            drop(out);
            let (outcome, timeline) = session.time(!no_data, *warm)?;
            out = std::io::stdout().lock();
            for finding in &outcome.findings {
                writeln!(out, "{finding}")?;
            }
            writeln!(out, "{}", timeline.summary())?;
            if let Some(path) = output {
                environment::write_atomically(path, timeline.chrome_trace().as_bytes())?;
                writeln!(out, "trace: {}", path.display())?;
            }
            Ok(outcome.ok())
        }
        Command::Env { root } => {
            let script = environment::lay_out(root.as_deref())?;
            write!(out, "{script}")?;
            Ok(true)
        }
    }
}
