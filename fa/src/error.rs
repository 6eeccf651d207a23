//! The error type of this crate.

use std::io;

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::SourceMap;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a variant could not be loaded, built or launched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written; the message holds its path.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text is refused: a line per finding, each with its place.
    #[error("{}", .0.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n"))]
    Source(Vec<Finding>),
    /// The file holds several variants, or not the one that was asked for.
    #[error("{wanted}; the file holds {}", names.join(", "))]
    Variant {
        /// What is wrong with the choice.
        wanted: String,
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
    /// Compiling, loading or launching failed.
    #[error(transparent)]
    Runtime(#[from] fa_runtime::Error),
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

/// A diagnostic and its place in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `FILE:LINE:COLUMN`; empty for faults outside any text.
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
        let separator = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{code}: {message}; {help}", self.place)
    }
}

/// Diagnostics with their places.
pub(crate) fn findings(sources: &SourceMap, found: Vec<Diagnostic>) -> Vec<Finding> {
    found
        .into_iter()
        .map(|diagnostic| {
            let place = diagnostic.span().map(|span| {
                let at = sources.line_column(span.file, span.start);
                format!("{}:{}:{}", sources.name(span.file), at.line, at.column)
            });
            Finding {
                place: place.unwrap_or_default(),
                diagnostic,
            }
        })
        .collect()
}
