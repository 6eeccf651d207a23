//! From text to the syntax tree. All syntax errors of a text come in one run: the grammar recovers at the
//! next `;` or `}`. Knows nothing of types or meaning; no pest type leaves this module.

mod exprs;
mod failures;
mod grammar;
mod items;
mod scan;

use std::num::NonZeroUsize;

use pest::Parser;
use pest::iterators::Pair;

use crate::ast;
use crate::codes;
use crate::diagnostic::{self, Diagnostic};
use crate::span::{FileId, SourceMap, Span};
use grammar::{Grammar, Rule};

/// Brackets may nest this deep; deeper text is refused before it is parsed.
pub const MAX_NESTING: usize = 64;

/// The tree of an expression may be this high; longer chains of operators are refused.
pub const MAX_DEPTH: usize = 256;

/// Texts may be this long.
pub const MAX_BYTES: usize = 1 << 22;

/// The emergency brake of the pest machine. The grammar is linear, about a hundred calls per byte.
const CALL_LIMIT: usize = 1 << 30;

/// Parses a file. The tree holds everything that could be understood.
pub fn parse(sources: &SourceMap, file: FileId) -> (ast::File, Vec<Diagnostic>) {
    run(sources, file, Rule::file, Builder::file)
}

/// Parses the expression form of the macro: the fields of one variant separated by commas, the keys of
/// `tile` flat. The tree holds one variant named `name`, whose place is the whole text.
pub fn parse_inline(sources: &SourceMap, file: FileId, name: &str) -> (ast::File, Vec<Diagnostic>) {
    run(sources, file, Rule::inline, |builder, pair| {
        builder.inline(pair, name)
    })
}

/// The common frame of both forms: scan, parse, build, sort.
fn run<'t>(
    sources: &'t SourceMap,
    file: FileId,
    rule: Rule,
    build: impl FnOnce(&mut Builder<'t>, Pair<'t, Rule>) -> ast::File,
) -> (ast::File, Vec<Diagnostic>) {
    let text = sources.text(file);
    let scanned = scan::scan(text, file);
    let mut builder = Builder {
        text,
        file,
        diagnostics: scanned.diagnostics,
    };
    if scanned.hopeless {
        return (ast::File::default(), builder.diagnostics);
    }
    pest::set_call_limit(NonZeroUsize::new(CALL_LIMIT));
    let mut tree = match Grammar::parse(rule, text) {
        Ok(mut pairs) => match pairs.next() {
            Some(pair) => build(&mut builder, pair),
            None => ast::File::default(),
        },
        Err(error) => {
            let report = failures::explain(&error, text, 0, text.len(), rule, file);
            builder.diagnostics.push(report);
            ast::File::default()
        }
    };
    tree.comments = scanned.comments;
    diagnostic::sort(&mut builder.diagnostics);
    (tree, builder.diagnostics)
}

/// Turns pairs into the tree and collects what is wrong with them.
struct Builder<'t> {
    text: &'t str,
    file: FileId,
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Builder<'t> {
    fn span(&self, pair: &Pair<'t, Rule>) -> Span {
        let at = pair.as_span();
        self.place(at.start(), at.end())
    }

    fn place(&self, start: usize, end: usize) -> Span {
        place(self.file, start, end)
    }

    fn name(&self, pair: &Pair<'t, Rule>) -> ast::Name {
        ast::Name {
            text: pair.as_str().to_owned(),
            span: self.span(pair),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Reports a zero-width gap where a `;` belongs.
    fn missing_semicolon(&mut self, at: usize) {
        let end = self.text[..at].trim_end().len();
        let end = self.before_comments(end);
        let gap = self.place(end, end);
        self.report(
            Diagnostic::error(
                codes::MISSING_PUNCTUATION,
                "`;` is missing after this statement",
                "end the statement with `;`",
            )
            .at(gap, "`;` belongs here")
            .with_patch(gap, ";"),
        );
    }

    /// The end of the code before an offset, line comments at its end left out.
    fn before_comments(&self, end: usize) -> usize {
        let code = scan::without_trailing_comments(&self.text[..end]);
        code.trim_end().len()
    }
}

/// A span from byte offsets, which fit because texts are at most [`MAX_BYTES`] long.
fn place(file: FileId, start: usize, end: usize) -> Span {
    let narrow = |at: usize| u32::try_from(at).expect("texts are shorter than 2^32 bytes");
    Span::new(file, narrow(start), narrow(end))
}
