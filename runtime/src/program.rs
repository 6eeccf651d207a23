//! External compilers: found, asked for their version, run.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Finds a program: the variable's value, else the name on PATH.
pub(crate) fn find(program: &'static str, variable: &'static str) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(PathBuf::from(path));
    }
    which::which(program).map_err(|_| Error::MissingProgram { program, variable })
}

/// Runs a compiler; its output goes into the error.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    Err(Error::Compiler {
        compiler: name.to_owned(),
        status: output.status.to_string(),
        output: text,
    })
}

/// What a compiler says of itself.
pub(crate) fn version(name: &str, path: &OsStr, argument: &str) -> Result<String> {
    let output = run(name, Command::new(path).arg(argument))?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}
