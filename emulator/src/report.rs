//! What a launch or a copy found, as data for Rust callers and as text for everybody else.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The launch succeeds; hardware would accept this, but somebody should look.
    Warning,
    /// The launch fails.
    Error,
}

/// One thing that hardware would leave silent or answer with a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable kebab-case name of the rule, such as `out-of-bounds`.
    pub kind: &'static str,
    /// Whether the launch fails because of it.
    pub severity: Severity,
    /// The core, as `block 0 aic` or `block 3 aiv 1`; empty for host calls.
    pub core: String,
    /// The pipe that executes the instruction; empty where none is concerned.
    pub pipe: &'static str,
    /// The fact, with the numbers and their units.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// Source file of the kernel, as the compiler was told; empty for host calls.
    pub file: String,
    /// Line in that file, from 1; 0 for host calls.
    pub line: u32,
    /// The other place, where a finding is about two.
    pub other: Option<Place>,
}

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file, as the compiler was told.
    pub file: String,
    /// Line in that file, from 1.
    pub line: u32,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{word}[{}]: {} (emulated)", self.kind, self.message)?;
        if !self.file.is_empty() {
            write!(f, "\n  --> {}:{}", self.file, self.line)?;
        }
        if let Some(other) = &self.other {
            write!(f, "\n  and: {}:{}", other.file, other.line)?;
        }
        if !self.core.is_empty() {
            write!(f, "\n  core: {}", self.core)?;
            if !self.pipe.is_empty() {
                write!(f, ", pipe {}", self.pipe)?;
            }
        }
        write!(f, "\n  help: {}", self.help)
    }
}

thread_local! {
    static FINDINGS: RefCell<Vec<Finding>> = const { RefCell::new(Vec::new()) };
}

/// Takes the findings that calls made by this thread have delivered since the last take.
///
/// A launch delivers its findings when its stream is synchronised, a copy to the host at once.
pub fn take_findings() -> Vec<Finding> {
    FINDINGS.with(|findings| std::mem::take(&mut *findings.borrow_mut()))
}

/// Hands findings to the calling thread.
pub(crate) fn deliver(findings: &[Finding]) {
    FINDINGS.with(|kept| kept.borrow_mut().extend_from_slice(findings));
}

/// All findings as one text, errors first.
pub(crate) fn render(findings: &[Finding]) -> String {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let texts: Vec<String> = sorted.iter().map(|finding| finding.to_string()).collect();
    texts.join("\n")
}

/// A rule that an instruction breaks; becomes a finding once the place is known.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) kind: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl Refusal {
    pub(crate) fn new(
        kind: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Refusal {
        Refusal {
            kind,
            message: message.into(),
            help: help.into(),
        }
    }
}
