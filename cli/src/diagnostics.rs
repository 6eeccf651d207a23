//! Diagnostics as text and as JSON.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};
use fa_dsl::diagnostic::{Diagnostic, Severity};
use fa_dsl::span::{FileId, SourceMap, Span};
use serde_json::{Value, json};

/// Renders for people: headline, marked source lines, notes, help, and the repair as a diff.
pub(crate) fn text(sources: &SourceMap, diagnostic: &Diagnostic, colour: bool) -> String {
    let code = diagnostic.code.to_string();
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(code.as_str())
        .elements(snippets(sources, diagnostic))
        .elements(
            diagnostic
                .notes
                .iter()
                .map(|note| Level::NOTE.message(note.as_str())),
        );
    let mut groups: Vec<Group<'_>> = Vec::new();
    match &diagnostic.patch {
        None => {
            group = group.element(Level::HELP.message(diagnostic.help.as_str()));
            groups.push(group);
        }
        Some(patch) => {
            groups.push(group);
            let replaced = Patch::new(range(sources, patch.span), patch.replacement.as_str());
            groups.push(
                Level::HELP
                    .secondary_title(diagnostic.help.as_str())
                    .element(
                        Snippet::source(sources.text(patch.span.file))
                            .path(sources.name(patch.span.file))
                            .patch(replaced),
                    ),
            );
        }
    }
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.decor_style(DecorStyle::Ascii).render(&groups)
}

/// One snippet per text that has a label, in order of first mention.
fn snippets<'a>(
    sources: &'a SourceMap,
    diagnostic: &'a Diagnostic,
) -> Vec<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut files: Vec<FileId> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
        .into_iter()
        .map(|file| {
            let labels = diagnostic
                .labels
                .iter()
                .enumerate()
                .filter(|(_, label)| label.span.file == file);
            let annotations = labels.map(|(index, label)| {
                let kind = if index == 0 {
                    AnnotationKind::Primary
                } else {
                    AnnotationKind::Context
                };
                let mark = kind.span(range(sources, label.span));
                if label.text.is_empty() {
                    mark
                } else {
                    mark.label(label.text.as_str())
                }
            });
            Snippet::source(sources.text(file))
                .path(sources.name(file))
                .annotations(annotations)
        })
        .collect()
}

/// The bytes of a span, kept inside the text.
fn range(sources: &SourceMap, span: Span) -> std::ops::Range<usize> {
    let len = sources.text(span.file).len();
    let end = (span.end as usize).min(len);
    (span.start as usize).min(end)..end
}

/// The same for machines. Lines and columns count from 1, columns in characters.
pub(crate) fn json(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let mut object = json!({
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "labels": diagnostic
            .labels
            .iter()
            .map(|label| with(place(sources, label.span), "text", json!(label.text)))
            .collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "patch": diagnostic.patch.as_ref().map(|patch| {
            with(place(sources, patch.span), "replacement", json!(patch.replacement))
        }),
    });
    if let (Some(span), Value::Object(fields)) = (diagnostic.span(), &mut object)
        && let Value::Object(found) = place(sources, span)
    {
        fields.extend(found);
    }
    object
}

fn place(sources: &SourceMap, span: Span) -> Value {
    let start = sources.line_column(span.file, span.start);
    let end = sources.line_column(span.file, span.end);
    json!({
        "file": sources.name(span.file),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "start_byte": span.start,
        "end_byte": span.end,
    })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}
