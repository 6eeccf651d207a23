//! A diagnostic as data. Only the doors turn it into text, JSON or compile errors.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::span::Span;

/// A stable diagnostic code: FA0xx language, FA1xx memory and schedule, FA2xx targets, FA3xx launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

/// How bad it is. The order is by weight: an error outweighs a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; never fatal.
    Note,
    /// Probably not meant; fatal with `--strict`.
    Warning,
    /// Nothing is generated.
    Error,
}

/// A marked piece of source text and what it contributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// The marked text.
    pub span: Span,
    /// What it contributes, lower case, no full stop; may be empty.
    pub text: String,
}

/// A replacement that would repair the fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Patch {
    /// What to replace.
    pub span: Span,
    /// With what.
    pub replacement: String,
}

/// One finding about a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable code.
    pub code: Code,
    /// Weight.
    pub severity: Severity,
    /// The fact, lower case, no full stop, with both numbers and units where there are two.
    pub message: String,
    /// Marked places, the primary one first; empty for faults outside any text (a `-D` argument).
    pub labels: Vec<Label>,
    /// Further facts, such as a table; may have several lines.
    pub notes: Vec<String>,
    /// What to type instead; never empty.
    pub help: String,
    /// The repair as an edit, where there is exactly one.
    pub patch: Option<Patch>,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FA{:03}", self.0)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Diagnostic {
    fn new(
        severity: Severity,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: help.into(),
            patch: None,
        }
    }

    /// An error: the fact and what to type instead.
    pub fn error(code: Code, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message, help)
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message, help)
    }

    /// A note.
    pub fn note(code: Code, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, message, help)
    }

    /// Marks a place; the first one marked is the primary one.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Adds the repair as an edit.
    #[must_use]
    pub fn with_patch(mut self, span: Span, replacement: impl Into<String>) -> Diagnostic {
        self.patch = Some(Patch {
            span,
            replacement: replacement.into(),
        });
        self
    }

    /// The primary place.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// Whether nothing may be generated.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Sorts by place (file, then position), then by code; findings without a place come first.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span(), diagnostic.code));
}
