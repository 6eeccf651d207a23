//! Places in source text, and the texts themselves. Knows nothing of the language.

use serde::Serialize;

/// Identifies one text of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct FileId(u32);

/// A byte range of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// The text.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From the first byte to one past the last.
    pub fn new(file: FileId, start: u32, end: u32) -> Span {
        Span { file, start, end }
    }

    /// The smallest span of one text that holds both; `self` if they lie in different texts.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

/// One text and the name people know it by.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    text: String,
}

/// The texts of one run.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

/// Line and column of a place, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl SourceMap {
    /// An empty map.
    pub fn new() -> SourceMap {
        SourceMap::default()
    }

    /// Adds a text under the name that messages show.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(u32::try_from(self.sources.len()).expect("fewer than 2^32 files"));
        self.sources.push(Source {
            name: name.into(),
            text: text.into(),
        });
        id
    }

    /// The name of a text.
    pub fn name(&self, file: FileId) -> &str {
        &self.sources[file.0 as usize].name
    }

    /// A text.
    pub fn text(&self, file: FileId) -> &str {
        &self.sources[file.0 as usize].text
    }

    /// The text of a span; empty where the span does not fall on character boundaries.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.file)
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    /// Line and column of a byte offset.
    pub fn line_column(&self, file: FileId, offset: u32) -> LineColumn {
        let text = self.text(file);
        let before = text.get(..offset as usize).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        LineColumn {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
