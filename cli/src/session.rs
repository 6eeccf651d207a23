//! One run of the command: its streams, what was found so far, and how it will end.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use fa_dsl::diagnostic::{Diagnostic, Severity};
use fa_dsl::span::SourceMap;
use indicatif::ProgressBar;
use serde_json::Value;

use crate::args::{Format, SourceArgs};
use crate::diagnostics;

/// How often a line of progress is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// How a command ended that was able to do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit status 0.
    Fine,
    /// Exit status 1: errors in a program, a refused launch, a failed verification.
    Failed,
}

/// Wrong usage, exit status 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Streams and findings of one run.
pub(crate) struct Session {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    colour: bool,
    format: Format,
    strict: bool,
    seen: Vec<Diagnostic>,
    json: Vec<Value>,
    failed: bool,
}

impl Session {
    /// Writes results to one stream and messages to the other.
    pub(crate) fn new(
        out: impl Write + 'static,
        err: impl Write + 'static,
        colour: bool,
    ) -> Session {
        Session {
            out: Box::new(out),
            err: Box::new(err),
            colour,
            format: Format::Text,
            strict: false,
            seen: Vec::new(),
            json: Vec::new(),
            failed: false,
        }
    }

    /// Takes over how results are printed and warnings treated.
    pub(crate) fn configure(&mut self, source: &SourceArgs) {
        self.format = source.format;
        self.strict = source.strict;
    }

    /// Takes over how results are printed.
    pub(crate) fn set_format(&mut self, format: Format) {
        self.format = format;
    }

    /// Whether results are for machines.
    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Prints findings about a program, each once; with `--strict` warnings count as errors.
    pub(crate) fn report(
        &mut self,
        sources: &SourceMap,
        found: impl IntoIterator<Item = Diagnostic>,
    ) -> io::Result<()> {
        for mut diagnostic in found {
            if self.strict && diagnostic.severity == Severity::Warning {
                diagnostic.severity = Severity::Error;
            }
            if self.seen.contains(&diagnostic) {
                continue;
            }
            self.failed |= diagnostic.is_error();
            if self.is_json() {
                self.json.push(diagnostics::json(sources, &diagnostic));
            } else {
                let text = diagnostics::text(sources, &diagnostic, self.colour);
                writeln!(self.err, "{text}\n")?;
            }
            self.seen.push(diagnostic);
        }
        Ok(())
    }

    /// Whether an error was reported.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Makes the command end as one that failed.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Number of reported findings of a weight.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.seen
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    }

    /// Forgets what was seen, before the next file.
    pub(crate) fn next_file(&mut self) {
        self.seen.clear();
    }

    /// A line for people, dropped where results are for machines.
    pub(crate) fn say(&mut self, text: impl fmt::Display) -> io::Result<()> {
        if self.is_json() {
            return Ok(());
        }
        writeln!(self.out, "{text}")
    }

    /// A remark for people beside the results.
    pub(crate) fn remark(&mut self, text: impl fmt::Display) -> io::Result<()> {
        if self.is_json() {
            return Ok(());
        }
        writeln!(self.err, "{text}")
    }

    /// Ends a command: for machines, one object with the diagnostics and these fields.
    pub(crate) fn finish(&mut self, fields: Value) -> io::Result<Outcome> {
        if self.is_json() {
            let mut object = serde_json::Map::new();
            object.insert("diagnostics".to_owned(), Value::Array(self.json.clone()));
            if let Value::Object(fields) = fields {
                object.extend(fields);
            }
            let text = serde_json::to_string_pretty(&Value::Object(object))?;
            writeln!(self.out, "{text}")?;
        }
        self.out.flush()?;
        Ok(if self.failed {
            Outcome::Failed
        } else {
            Outcome::Fine
        })
    }

    /// Prints why a command could not do its work: for machines, an object with the diagnostics so far and `error`.
    pub(crate) fn complain(&mut self, error: &anyhow::Error) {
        // Nothing is left to do where the terminal itself fails.
        let _ = if self.is_json() {
            let text = failure(&format!("{error:#}"), error.is::<Usage>(), &self.json);
            writeln!(self.out, "{text}")
        } else {
            writeln!(self.err, "error: {error:#}")
        };
    }

    /// A line that says what goes on, on the standard error stream where that is a terminal; hidden elsewhere.
    pub(crate) fn progress(&self, message: String) -> ProgressBar {
        let progress = if self.is_json() {
            ProgressBar::hidden()
        } else {
            ProgressBar::new_spinner()
        };
        progress.set_message(message);
        progress.enable_steady_tick(TICK);
        progress
    }

    /// Prints text as it is.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }
}

/// What machines get where a command could not do its work.
pub(crate) fn failure(message: &str, usage: bool, diagnostics: &[Value]) -> String {
    let kind = if usage { "usage" } else { "failure" };
    let object = serde_json::json!({
        "diagnostics": diagnostics,
        "error": { "kind": kind, "message": message },
    });
    format!("{object:#}")
}

/// Prints spans of the runtime, with their times, as they close.
pub(crate) fn log_to_stderr() {
    use tracing_subscriber::fmt::format::FmtSpan;
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_span_events(FmtSpan::CLOSE)
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}
