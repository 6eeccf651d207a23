//! The three forms of the macro's input, told apart by their first token.

use std::path::{Path, PathBuf};

use fa_dsl::check::Define;
use fa_dsl::span::{FileId, SourceMap, Span as Place};
use proc_macro2::{Literal, Span, TokenStream, TokenTree};
use syn::Error;

use crate::files;
use crate::text::Text;

/// The name of the variant that the expression form describes.
pub(crate) const INLINE_NAME: &str = "attention";

/// How the text is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `const` and `attention` items.
    Items,
    /// The fields of one variant, separated by commas; an expression.
    Fields,
}

/// Where the text comes from.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// From the tokens of the macro.
    Tokens(Text),
    /// From a file that a literal names.
    File {
        /// Where the literal stands.
        literal: Span,
        /// The file, absolute where that can be told.
        path: PathBuf,
        /// Where the constants stand that are set after it, in order.
        defines: Vec<Span>,
    },
}

/// Input that the front end can read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) form: Form,
    pub(crate) door: Door,
    pub(crate) sources: SourceMap,
    pub(crate) file: FileId,
    pub(crate) defines: Vec<Define>,
}

impl Read {
    fn tokens(form: Form, tokens: TokenStream) -> Read {
        let text = Text::of(tokens);
        let mut sources = SourceMap::new();
        let file = sources.add("attention!", text.text.clone());
        Read {
            form,
            door: Door::Tokens(text),
            sources,
            file,
            defines: Vec::new(),
        }
    }

    /// What the front end reads.
    pub(crate) fn text(&self) -> &str {
        self.sources.text(self.file)
    }

    /// The name that heads of emitted files give the source.
    pub(crate) fn source_name(&self) -> String {
        match &self.door {
            Door::Tokens(_) => "attention!".to_owned(),
            Door::File { path, .. } => file_name(path),
        }
    }

    /// The user's tokens at a place; the literal where the text is a file.
    pub(crate) fn tokens_at(&self, place: Place) -> (Span, Span) {
        match &self.door {
            Door::Tokens(text) => text.tokens(place),
            Door::File { literal, .. } => (*literal, *literal),
        }
    }

    /// Where a constant is set that a message speaks of.
    pub(crate) fn define_in(&self, message: &str) -> Option<Span> {
        let Door::File { defines, .. } = &self.door else {
            return None;
        };
        let spoken_of = |define: &Define| message.contains(&format!("`-D {}=", define.name));
        let index = self.defines.iter().position(spoken_of)?;
        defines.get(index).copied()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// The path of the facade crate, up to the first `;`, and what follows it.
pub(crate) fn split_facade(input: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens = input.into_iter();
    let facade = tokens
        .by_ref()
        .take_while(|token| !is_mark(token, ';'))
        .collect();
    (facade, tokens.collect())
}

/// Tells the forms apart.
pub(crate) fn read(body: TokenStream) -> Result<Read, Error> {
    let tokens: Vec<TokenTree> = body.into_iter().collect();
    match tokens.first() {
        Some(TokenTree::Literal(literal)) => file_form(literal, &tokens[1..]),
        Some(TokenTree::Punct(mark)) if mark.as_char() == '<' => fields_form(&tokens),
        // A literal that came through another macro.
        Some(TokenTree::Group(group))
            if group.delimiter() == proc_macro2::Delimiter::None && tokens.len() == 1 =>
        {
            read(group.stream())
        }
        _ => Ok(Read::tokens(Form::Items, tokens.into_iter().collect())),
    }
}

fn fields_form(tokens: &[TokenTree]) -> Result<Read, Error> {
    match tokens.last() {
        Some(TokenTree::Punct(mark)) if mark.as_char() == '>' && tokens.len() > 1 => {
            let fields = &tokens[1..tokens.len() - 1];
            match fields.iter().find(|token| is_mark(token, ';')) {
                Some(mark) => Err(Error::new(
                    mark.span(),
                    "FA002: fields between `<` and `>` are separated by `,`, not by `;`\n\
                     help: write `,`",
                )),
                None => Ok(Read::tokens(Form::Fields, fields.iter().cloned().collect())),
            }
        }
        last => {
            let at = last.map_or_else(Span::call_site, TokenTree::span);
            Err(Error::new(
                at,
                "FA001: the `<` of the fields is never closed\n\
                 help: end them with `>`, as in `attention!(< head_dim = 64, mask = causal >)`",
            ))
        }
    }
}

fn file_form(literal: &Literal, rest: &[TokenTree]) -> Result<Read, Error> {
    let at = literal.span();
    let syn::Lit::Str(path) = syn::Lit::new(literal.clone()) else {
        return Err(Error::new(
            at,
            format!(
                "FA001: {literal} is not the path of a file\n\
                 help: write the path as a string, as in `attention!(\"variants/local.fa\")`, or an \
                 `attention NAME {{ … }}` item"
            ),
        ));
    };
    let (defines, spans) = defines(rest)?.into_iter().unzip();
    let (path, text) = files::read(&path.value(), at)?;
    let mut sources = SourceMap::new();
    let file = sources.add(files::shown(&path), text);
    let door = Door::File {
        literal: at,
        path,
        defines: spans,
    };
    Ok(Read {
        form: Form::Items,
        door,
        sources,
        file,
        defines,
    })
}

/// `, radius = 1024, …` after a path: constants of the file with other values.
fn defines(tokens: &[TokenTree]) -> Result<Vec<(Define, Span)>, Error> {
    let mut defines = Vec::new();
    for define in tokens.split(|token| is_mark(token, ',')) {
        match define {
            [] => {}
            [TokenTree::Ident(name), equals, value @ ..]
                if is_mark(equals, '=') && !value.is_empty() =>
            {
                let text = Text::of(value.iter().cloned().collect()).text;
                let define = Define {
                    name: name.to_string(),
                    value_text: text.trim().to_owned(),
                };
                defines.push((define, name.span()));
            }
            [first, ..] => {
                return Err(Error::new(
                    first.span(),
                    "FA001: this is no constant with a value\n\
                     help: after the path, write `NAME = VALUE` for a `const` of the file, or nothing",
                ));
            }
        }
    }
    Ok(defines)
}
