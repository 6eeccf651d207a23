//! The `fa-gen` command: reads `.fa` files and tensors, prints diagnostics and tables, writes files. It decides
//! nothing about kernels; nobody imports it but its own binary and tests.

mod args;
mod bench;
mod commands;
mod diagnostics;
mod emitted;
mod front;
mod report;
mod session;
mod table;
mod targets;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use session::{Outcome, Session, Usage};

/// An error of arguments that begin with a word which is no file but nearly a command.
fn misspelt_command(error: &clap::Error) -> Option<clap::Error> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let word = std::env::args().nth(1)?;
    if Path::new(&word).exists() {
        return None;
    }
    let mut command = Cli::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(|known| known.get_name())
        .collect();
    let near = fa_dsl::check::nearest(&word, names).filter(|near| *near != word)?;
    let message = format!("there is neither a file nor a command `{word}`; did you mean `{near}`?");
    Some(command.error(ErrorKind::InvalidSubcommand, message))
}

/// Runs the command with the process's arguments and streams. Exit status: 0 fine (warnings included), 1 an
/// error, a refused launch or a failed verification, 2 wrong usage.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let error = misspelt_command(&error).unwrap_or(error);
            let asked = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            // Nothing is left to do where the terminal itself fails.
            let _ = if !asked && wants_json(std::env::args_os()) {
                let text = error.render().to_string();
                let text = text.trim().trim_start_matches("error: ");
                writeln!(std::io::stdout(), "{}", session::failure(text, true, &[]))
            } else {
                error.print()
            };
            return ExitCode::from(if asked { 0 } else { 2 });
        }
    };
    if cli.verbose {
        session::log_to_stderr();
    }
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut session = Session::new(std::io::stdout(), std::io::stderr(), colour);
    match run(&cli, &mut session) {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Err(error) => {
            // A reader that has seen enough, as `| head` has, is no fault to talk about.
            if !is_broken_pipe(&error) {
                session.complain(&error);
            }
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

fn run(cli: &Cli, session: &mut Session) -> anyhow::Result<Outcome> {
    match &cli.command {
        Some(Command::Check(args)) => commands::check::run(args, session),
        Some(Command::Explain(args)) => commands::explain::run(args, session),
        Some(Command::Fmt(args)) => commands::fmt::run(args, session),
        Some(Command::Report(args)) => commands::report::run(args, session),
        Some(Command::Run(args)) => commands::run::run(args, session),
        Some(Command::Verify(args)) => commands::verify::run(args, session),
        Some(Command::Bench(args)) => bench::run(args, session),
        Some(Command::Tune(args)) => bench::tune::run(args, session),
        Some(Command::Targets(args)) => commands::targets::run(args, session),
        None => commands::generate::run(&cli.generate, session),
    }
}

/// Whether arguments that cannot be understood ask for results for machines.
fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    let arguments: Vec<OsString> = arguments.collect();
    let pair = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    arguments.windows(2).any(pair) || arguments.iter().any(|one| one == "--format=json")
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
