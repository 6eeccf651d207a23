//! Diagnostics as compile errors on the user's own tokens.

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::span::{SourceMap, Span as Place};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Error;

use crate::input::{Door, Form, Read};

/// Every diagnostic as one compile error.
pub(crate) fn errors(read: &Read, found: &[Diagnostic]) -> TokenStream {
    let errors = found
        .iter()
        .map(|one| error(read, one).into_compile_error());
    match read.form {
        Form::Items => errors.collect(),
        // In the place of an expression there is room for one: a block, which ends in an error, so that what is
        // done with its value is not judged.
        Form::Fields => quote!({ #(#errors);* }),
    }
}

fn error(read: &Read, found: &Diagnostic) -> Error {
    let (first, last) = match (found.span(), read.define_in(&found.message)) {
        (Some(place), _) => read.tokens_at(place),
        (None, Some(define)) => (define, define),
        (None, None) => read.tokens_at(Place::new(read.file, 0, 0)),
    };
    let (first, last) = (Ident::new("first", first), Ident::new("last", last));
    Error::new_spanned(quote!(#first #last), message(read, found))
}

/// Code, fact, places, notes and help, a line each.
fn message(read: &Read, found: &Diagnostic) -> String {
    let mut lines = vec![format!("{}: {}", found.code, found.message)];
    match &read.door {
        Door::File { .. } => lines.extend(
            found
                .labels
                .iter()
                .map(|label| place_in_file(&read.sources, label.span, &label.text)),
        ),
        Door::Tokens(_) => {
            let mut labels = found.labels.iter();
            let primary = labels.next().filter(|label| !label.text.is_empty());
            lines.extend(primary.map(|label| format!("here: {}", label.text)));
            lines.extend(labels.map(|label| place_in_tokens(read, label.span, &label.text)));
        }
    }
    lines.extend(found.notes.iter().map(|note| format!("note: {note}")));
    lines.push(format!("help: {}", found.help));
    lines.join("\n")
}

/// A further place in the macro, which a compile error cannot mark.
fn place_in_tokens(read: &Read, place: Place, text: &str) -> String {
    let start: Span = read.tokens_at(place).0;
    let line = start.start().line;
    let snippet = read.sources.snippet(place);
    let snippet = snippet.lines().next().unwrap_or_default();
    format!("note: `{snippet}` on line {line}: {text}")
}

/// A place in a file, with its line and the marked part.
fn place_in_file(sources: &SourceMap, place: Place, text: &str) -> String {
    let at = sources.line_column(place.file, place.start);
    let line = sources.text(place.file).lines().nth(at.line - 1);
    let line = line.unwrap_or_default();
    let marked = sources.snippet(place).lines().next().unwrap_or_default();
    let marks = "^".repeat(marked.chars().count().max(1));
    let number = at.line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(at.column - 1);
    let name = sources.name(place.file);
    format!(
        "{margin}--> {name}:{number}:{column}\n{margin} |\n{number} | {line}\n{margin} | {indent}{marks} {text}",
        column = at.column,
    )
    .trim_end()
    .to_owned()
}
