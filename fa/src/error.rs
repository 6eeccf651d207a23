//! The error type of this crate.

use std::{fmt, io};

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::{FileId, SourceMap};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a variant could not be loaded, built or launched.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written; the message holds its path.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text is refused: a line per finding, each with its place.
    #[error("{}", .0.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n"))]
    Source(Vec<Finding>),
    /// The file holds several variants, or not the one that was asked for.
    #[error("{}", choice(file, wanted.as_deref(), names))]
    Variant {
        /// The file.
        file: String,
        /// What was asked for.
        wanted: Option<String>,
        /// The variants that there are.
        names: Vec<String>,
    },
    /// A target that nobody has described.
    #[error("there is no target `{name}`; there are {}", known.join(", "))]
    Target {
        /// What was asked for.
        name: String,
        /// The targets that there are.
        known: Vec<&'static str>,
    },
    /// A tensor of another element type.
    #[error("a tensor of {actual} was given where {expected} is read")]
    Element {
        /// Its type.
        actual: &'static str,
        /// The type that was asked for.
        expected: &'static str,
    },
    /// A tensor of a framework that is not in the memory of the CPU.
    #[cfg(feature = "candle")]
    #[error("a tensor of another device was given; kernels of the program run on the CPU")]
    Device,
    /// An error of `candle`.
    #[cfg(feature = "candle")]
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
    /// A build script without `OUT_DIR` or an output folder, or without files.
    #[error("{0}")]
    Build(&'static str),
    /// A launch was refused or failed.
    #[error("`{variant}`: {error}")]
    Launch {
        /// The variant.
        variant: String,
        /// Why; part of the message, and so no source of its own.
        error: fa_runtime::Error,
    },
    /// Compiling or loading failed.
    #[error(transparent)]
    Runtime(#[from] fa_runtime::Error),
}

impl Error {
    /// An error of a launch of this kernel.
    pub(crate) fn of(kernel: &fa_runtime::Kernel) -> impl FnOnce(fa_runtime::Error) -> Error + '_ {
        |error| Error::Launch {
            variant: kernel.variant().name.value.clone(),
            error,
        }
    }
}

impl fmt::Debug for Error {
    /// What people read: a `main` that returns an error prints it this way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "candle")]
impl From<Error> for candle_core::Error {
    fn from(error: Error) -> candle_core::Error {
        match error {
            Error::Candle(error) => error,
            error => candle_core::Error::wrap(error),
        }
    }
}

/// Why no variant of a file was taken, and how to take one.
fn choice(file: &str, wanted: Option<&str>, names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (names, first) = (
        quoted.join(", "),
        names.first().map_or("NAME", String::as_str),
    );
    match wanted {
        Some(wanted) => format!("{file}: there is no variant `{wanted}`; there are {names}"),
        None => format!(
            "{file}: the file holds {names}; choose one, as in `fa::Kernel::options().name(\"{first}\")`"
        ),
    }
}

/// A diagnostic and its place in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `FILE:LINE:COLUMN`, or the file alone for what has no place in it.
    pub place: String,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Diagnostic {
            code,
            message,
            help,
            ..
        } = &self.diagnostic;
        write!(f, "{}: {code}: {message}; {help}", self.place)
    }
}

/// Diagnostics about a file with their places.
pub(crate) fn findings(sources: &SourceMap, file: FileId, found: Vec<Diagnostic>) -> Vec<Finding> {
    found
        .into_iter()
        .map(|diagnostic| {
            let place = diagnostic.span().map(|span| {
                let at = sources.line_column(span.file, span.start);
                format!("{}:{}:{}", sources.name(span.file), at.line, at.column)
            });
            Finding {
                place: place.unwrap_or_else(|| sources.name(file).to_owned()),
                diagnostic,
            }
        })
        .collect()
}
