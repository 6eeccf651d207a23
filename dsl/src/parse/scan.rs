//! What is looked at before the grammar runs: comments, how deep brackets nest, and how long the text is.

use super::{MAX_BYTES, MAX_NESTING, place};
use crate::ast::Comment;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::FileId;

/// What the scan finds.
#[derive(Default)]
pub(super) struct Scanned {
    pub(super) comments: Vec<Comment>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The text must not be parsed.
    pub(super) hopeless: bool,
}

/// Kinds of lexical pieces that the scan tells apart.
enum Piece {
    Comment { closed: bool },
    Text,
    Open,
    Close,
    Other,
}

/// Scans a text.
pub(super) fn scan(text: &str, file: FileId) -> Scanned {
    let mut found = Scanned::default();
    if text.len() > MAX_BYTES {
        found.hopeless = true;
        found.diagnostics.push(Diagnostic::error(
            codes::TOO_DEEP,
            format!("the text has {} bytes, {MAX_BYTES} are allowed", text.len()),
            "split the file",
        ));
        return found;
    }
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        let (piece, length) = piece(&text[at..]);
        let end = at + length;
        match piece {
            Piece::Comment { closed } => {
                found.comments.push(Comment {
                    text: text[at..end].trim_end().to_owned(),
                    span: place(file, at, end),
                });
                if !closed {
                    found.diagnostics.push(unclosed_comment(file, at));
                }
            }
            Piece::Open => {
                depth += 1;
                if depth > MAX_NESTING {
                    found.diagnostics.push(too_deep(file, at));
                    found.hopeless = true;
                    return found;
                }
            }
            Piece::Close => depth = depth.saturating_sub(1),
            Piece::Text | Piece::Other => {}
        }
        at = end;
    }
    found
}

/// The text up to the comments that end it.
pub(super) fn without_trailing_comments(text: &str) -> &str {
    let (mut at, mut code_end) = (0, 0);
    while at < text.len() {
        let (piece, length) = piece(&text[at..]);
        let blank = text[at..at + length].trim().is_empty();
        at += length;
        if !blank && !matches!(piece, Piece::Comment { .. }) {
            code_end = at;
        }
    }
    &text[..code_end]
}

/// The first piece of a text that is not empty, and its length in bytes.
fn piece(rest: &str) -> (Piece, usize) {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return (Piece::Comment { closed: true }, length);
    }
    if rest.starts_with("/*") {
        let (closed, length) = block_comment(rest);
        return (Piece::Comment { closed }, length);
    }
    let first = rest.chars().next().expect("the caller checks for the end");
    match first {
        '"' => match rest[1..].find(['"', '\n']) {
            Some(end) if rest[1 + end..].starts_with('"') => (Piece::Text, end + 2),
            _ => (Piece::Other, 1),
        },
        '(' | '[' | '{' => (Piece::Open, 1),
        ')' | ']' | '}' => (Piece::Close, 1),
        other => (Piece::Other, other.len_utf8()),
    }
}

/// Whether a block comment is closed, and its length; they nest, as in Rust.
fn block_comment(rest: &str) -> (bool, usize) {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return (true, at);
                }
            }
            _ => at += 1,
        }
    }
    (false, rest.len())
}

fn unclosed_comment(file: FileId, at: usize) -> Diagnostic {
    Diagnostic::error(
        codes::MISSING_PUNCTUATION,
        "a comment is opened and never closed",
        "close the comment with `*/`; comments nest, each `/*` needs its own",
    )
    .at(place(file, at, at + 2), "the comment starts here")
}

fn too_deep(file: FileId, at: usize) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_DEEP,
        format!("brackets nest more than {MAX_NESTING} deep"),
        "name the inner parts with `let`",
    )
    .at(
        place(file, at, at + 1),
        format!("bracket number {}", MAX_NESTING + 1),
    )
}
