//! What the tests of the language share: checking a text, and diagnostics as plain text.
#![allow(dead_code, reason = "each test binary uses a part")]

use fa_dsl::check::{Checked, Define, check};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::{SourceMap, Span};

/// A text and what its check gives.
pub(crate) struct Case {
    pub(crate) sources: SourceMap,
    pub(crate) checked: Checked,
}

/// Checks a text.
pub(crate) fn case(text: &str, defines: &[(&str, &str)]) -> Case {
    let mut sources = SourceMap::new();
    let file = sources.add("test.fa", text);
    let defines: Vec<Define> = defines
        .iter()
        .map(|(name, value)| Define {
            name: (*name).to_owned(),
            value_text: (*value).to_owned(),
        })
        .collect();
    let checked = check(&sources, file, &defines);
    Case { sources, checked }
}

/// A text that must check without errors and warnings; notes are allowed.
pub(crate) fn clean(text: &str) -> Case {
    let case = case(text, &[]);
    let bad: Vec<String> = case
        .checked
        .diagnostics
        .iter()
        .filter(|found| found.severity > fa_dsl::diagnostic::Severity::Note)
        .map(|found| render(&case.sources, found))
        .collect();
    assert!(
        bad.is_empty(),
        "unexpected findings:\n{}\nin:\n{text}",
        bad.join("\n")
    );
    case
}

/// A diagnostic as text, one underlined line for each label.
pub(crate) fn render(sources: &SourceMap, found: &Diagnostic) -> String {
    let severity = format!("{:?}", found.severity).to_lowercase();
    let mut text = format!("{severity}[{}]: {}\n", found.code, found.message);
    for label in &found.labels {
        text.push_str(&underlined(sources, label.span, &label.text));
    }
    for note in &found.notes {
        text.push_str(&format!("  note: {note}\n"));
    }
    text.push_str(&format!("  help: {}\n", found.help));
    if let Some(patch) = &found.patch {
        let old = sources.snippet(patch.span);
        text.push_str(&format!("  patch: `{old}` -> `{}`\n", patch.replacement));
    }
    text
}

fn underlined(sources: &SourceMap, span: Span, label: &str) -> String {
    let at = sources.line_column(span.file, span.start);
    let line = sources
        .text(span.file)
        .lines()
        .nth(at.line - 1)
        .unwrap_or("");
    let width = sources
        .snippet(span)
        .lines()
        .next()
        .unwrap_or("")
        .chars()
        .count()
        .max(1);
    format!(
        "  --> {}:{}:{}\n   | {line}\n   | {}{} {label}\n",
        sources.name(span.file),
        at.line,
        at.column,
        " ".repeat(at.column - 1),
        "^".repeat(width)
    )
}
