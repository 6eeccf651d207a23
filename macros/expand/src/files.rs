//! The `.fa` file that a macro names: where it is looked for, and what is said when it is not there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::Error;

/// Reads the file that a literal names: beside the file that holds the literal, else below the folder of the
/// crate's manifest.
pub(crate) fn read(named: &str, literal: Span) -> Result<(PathBuf, String), Error> {
    let candidates = candidates(named, literal);
    let found = candidates.iter().find(|path| path.is_file());
    let Some(path) = found.or(candidates.last()) else {
        return Err(unreadable(
            named,
            &candidates,
            "no folder is known",
            literal,
        ));
    };
    match fs::read_to_string(path) {
        Ok(text) => Ok((absolute(path), text)),
        Err(error) => Err(unreadable(named, &candidates, &reason(&error), literal)),
    }
}

/// The path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    let base = manifest_folder().or_else(|| env::current_dir().ok());
    let relative = base.as_ref().and_then(|base| path.strip_prefix(base).ok());
    relative.unwrap_or(path).display().to_string()
}

fn candidates(named: &str, literal: Span) -> Vec<PathBuf> {
    let beside = literal
        .local_file()
        .and_then(|file| file.parent().map(|folder| absolute(folder).join(named)));
    let below_manifest = manifest_folder().map(|folder| folder.join(named));
    let mut candidates: Vec<PathBuf> = beside.into_iter().chain(below_manifest).collect();
    candidates.dedup();
    candidates
}

fn manifest_folder() -> Option<PathBuf> {
    env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

fn absolute(path: &Path) -> PathBuf {
    env::current_dir().map_or_else(|_| path.to_owned(), |folder| folder.join(path))
}

/// The kind of the fault, without the number that the system gives it.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        kind => kind.to_string(),
    }
}

fn unreadable(named: &str, tried: &[PathBuf], reason: &str, literal: Span) -> Error {
    let mut message = format!("FA001: cannot read `{named}`: {reason}\n");
    for path in tried {
        message.push_str(&format!("note: looked for {}\n", shown(path)));
    }
    message.push_str(
        "help: write the path from the folder of this source file, or from the one of Cargo.toml",
    );
    Error::new(literal, message)
}
