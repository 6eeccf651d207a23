//! From tokens to text, with a map from the bytes of the text back to the tokens. Knows nothing of the language
//! but that its comments may become doc attributes.

use std::ops::Range;

use fa_dsl::span;
use proc_macro2::{Delimiter, Group, LineColumn, Punct, Spacing, Span, TokenStream, TokenTree};

/// Most empty lines that survive between two tokens.
const MAX_NEWLINES: usize = 2;

/// The text of tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    /// What the front end reads.
    pub(crate) text: String,
    /// Where each token lies in it, in order.
    pieces: Vec<(Range<usize>, Span)>,
    /// Doc comments and the offset of what follows them.
    docs: Vec<(usize, String)>,
}

impl Text {
    /// Writes tokens out, laid out as they are in the source as far as that is known.
    pub(crate) fn of(tokens: TokenStream) -> Text {
        let mut writer = Writer::default();
        writer.stream(tokens);
        if !writer.out.text.is_empty() {
            writer.out.text.push('\n');
        }
        writer.out
    }

    /// The first and the last token of a place. A gap between tokens belongs to the token before it.
    pub(crate) fn tokens(&self, place: span::Span) -> (Span, Span) {
        let (start, end) = (place.start as usize, place.end as usize);
        let first = self.pieces.partition_point(|(range, _)| range.end <= start);
        let last = self.pieces.partition_point(|(range, _)| range.start < end);
        if first < last {
            return (self.pieces[first].1, self.pieces[last - 1].1);
        }
        let before = self.pieces.get(first.saturating_sub(1));
        let span = before.map_or_else(Span::call_site, |(_, span)| *span);
        (span, span)
    }

    /// Doc comments that stand right before an offset.
    pub(crate) fn docs_before(&self, offset: u32) -> Vec<&str> {
        let offset = offset as usize;
        self.docs
            .iter()
            .filter(|(at, _)| {
                let between = self.text.get(*at..offset);
                between.is_some_and(|text| ["", "attention"].contains(&text.trim()))
            })
            .map(|(_, doc)| doc.as_str())
            .collect()
    }
}

/// What was written last, as far as the next gap depends on it.
#[derive(Clone, Copy)]
struct Last {
    end: LineColumn,
    /// A punctuation mark that belongs to the next one.
    joint: bool,
}

#[derive(Default)]
struct Writer {
    out: Text,
    last: Option<Last>,
    base_column: usize,
}

impl Writer {
    fn stream(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let inner = matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == '!');
                    match tokens.peek() {
                        Some(TokenTree::Group(group)) if !inner => match doc_of(group) {
                            Some(doc) => {
                                self.out.docs.push((self.out.text.len(), doc));
                                tokens.next();
                            }
                            None => self.punct(&punct),
                        },
                        _ => self.punct(&punct),
                    }
                }
                TokenTree::Punct(punct) => self.punct(&punct),
                TokenTree::Group(group) => self.group(&group),
                TokenTree::Ident(ident) => self.push(&ident.to_string(), ident.span(), false),
                TokenTree::Literal(literal) => {
                    self.push(&literal.to_string(), literal.span(), false);
                }
            }
        }
    }

    fn punct(&mut self, punct: &Punct) {
        let joint = punct.spacing() == Spacing::Joint;
        self.push(&punct.as_char().to_string(), punct.span(), joint);
    }

    fn group(&mut self, group: &Group) {
        let brackets = match group.delimiter() {
            Delimiter::Parenthesis => Some(("(", ")")),
            Delimiter::Brace => Some(("{", "}")),
            Delimiter::Bracket => Some(("[", "]")),
            // What another macro substituted: one operand, whatever stands around it.
            Delimiter::None => (group.stream().into_iter().count() > 1).then_some(("(", ")")),
        };
        let Some((open, close)) = brackets else {
            return self.stream(group.stream());
        };
        self.push(open, group.span_open(), false);
        self.stream(group.stream());
        self.push(close, group.span_close(), false);
    }

    fn push(&mut self, token: &str, span: Span, joint: bool) {
        self.gap(token, span.start());
        let start = self.out.text.len();
        self.out.text.push_str(token);
        self.out.pieces.push((start..self.out.text.len(), span));
        self.last = Some(Last {
            end: span.end(),
            joint,
        });
    }

    /// Writes what stands between the last token and one that starts here.
    fn gap(&mut self, token: &str, start: LineColumn) {
        let Some(last) = self.last else {
            self.base_column = start.column;
            return;
        };
        let words = self.out.text.ends_with(is_word) && token.starts_with(is_word);
        if last.joint || (last.end == start && !words) {
            return;
        }
        if start.line <= last.end.line {
            return self.out.text.push(' ');
        }
        let newlines = (start.line - last.end.line).min(MAX_NEWLINES);
        let indent = start.column.saturating_sub(self.base_column);
        self.out.text.push_str(&"\n".repeat(newlines));
        self.out.text.push_str(&" ".repeat(indent));
    }
}

/// Whether two such characters side by side would be one token.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '"' || c == '\''
}

/// The text of a doc attribute.
fn doc_of(group: &Group) -> Option<String> {
    let mut tokens = group.stream().into_iter();
    let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(_)), Some(TokenTree::Literal(text))) =
        (tokens.next(), tokens.next(), tokens.next())
    else {
        return None;
    };
    if group.delimiter() != Delimiter::Bracket || name != "doc" {
        return None;
    }
    match syn::Lit::new(text) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str) -> Text {
        Text::of(source.parse().expect("tokens"))
    }

    #[test]
    fn the_layout_of_the_source_is_kept() {
        let source =
            "attention a {\n    mask = q_pos >= kv_pos && b % 2 == 0;\n\n    scale = -1.5;\n}\n";
        assert_eq!(text(source).text, source);
    }

    #[test]
    fn doc_comments_are_no_text() {
        let text = text("/// One.\n/// Two.\nattention a { /** not me */ head_dim = 64; }");
        assert_eq!(text.text, "attention a { head_dim = 64; }\n");
        assert_eq!(text.docs_before(10), [" One.", " Two."]);
    }

    #[test]
    fn substituted_operands_stay_together() {
        let inner: TokenStream = "causal || prefix(4)".parse().expect("tokens");
        let group = TokenTree::Group(Group::new(Delimiter::None, inner));
        let written = Text::of(TokenStream::from(group)).text;
        assert_eq!(written, "(causal || prefix(4) )\n");
    }
}
