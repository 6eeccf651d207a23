//! The `bisheng` command of the emulated toolkit.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.iter().any(|arg| arg == "--version") {
        let _ = writeln!(std::io::stdout(), "{}", fa_emulator::driver::version());
        return ExitCode::SUCCESS;
    }
    if args == ["-print-targets"] {
        let _ = writeln!(std::io::stdout(), "hiipu64 (emulated)");
        return ExitCode::SUCCESS;
    }
    let mut stderr = std::io::stderr();
    // A closed stderr leaves nothing to tell anybody.
    match fa_emulator::driver::compile_with_diagnostics(&args) {
        Ok(warnings) => {
            let _ = write!(stderr, "{warnings}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(stderr, "{error}");
            ExitCode::FAILURE
        }
    }
}
