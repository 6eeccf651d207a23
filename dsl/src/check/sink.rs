//! Where findings are collected: each once, however many variants inherit the text that causes it.

use std::collections::BTreeSet;

use super::hir::Hir;
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// What is known of a definition or value: absent, wrong and reported, or there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known<T> {
    /// It has no value at this point.
    Absent,
    /// It has a fault that is reported already.
    Broken,
    /// It has this value.
    Value(T),
}

impl<T: Copy> Known<T> {
    /// The value, if there is one.
    pub(super) fn value(self) -> Option<T> {
        match self {
            Known::Value(value) => Some(value),
            Known::Absent | Known::Broken => None,
        }
    }
}

/// A collector of findings without repetition.
#[derive(Default)]
pub(super) struct Sink {
    found: Vec<Diagnostic>,
    orphans: Vec<Hir>,
    seen: BTreeSet<(Code, Vec<Span>, String)>,
    errors: usize,
}

impl Sink {
    /// Adds a finding, unless the same one is there.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.is_error() {
            self.errors += 1;
        }
        let places = diagnostic.labels.iter().map(|label| label.span).collect();
        if self
            .seen
            .insert((diagnostic.code, places, diagnostic.message.clone()))
        {
            self.found.push(diagnostic);
        }
    }

    /// Adds what there is.
    pub(super) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }

    /// How many errors were pushed, repetitions counted: the difference tells whether a step failed.
    pub(super) fn errors(&self) -> usize {
        self.errors
    }

    /// Keeps the sound parts of an expression that has a fault elsewhere: what they are checked for later is still
    /// to be found.
    pub(super) fn orphan(&mut self, parts: impl IntoIterator<Item = Option<Hir>>) {
        self.orphans.extend(parts.into_iter().flatten());
    }

    /// The parts that were kept.
    pub(super) fn orphans(&self) -> &[Hir] {
        &self.orphans
    }

    /// Takes the parts that were kept.
    pub(super) fn take_orphans(&mut self) -> Vec<Hir> {
        std::mem::take(&mut self.orphans)
    }

    /// The findings so far.
    pub(super) fn found(&self) -> &[Diagnostic] {
        &self.found
    }

    /// All findings, in the order they came.
    pub(super) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }
}

/// The candidate that a misspelled word probably means.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let allowed = (word.chars().count() / 3).max(1);
    let word = &word.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.len())
        .min()
        .map(|(_, candidate)| candidate)
}

/// A list of words for a message: `a`, `b` or `c`.
pub(super) fn one_of<'c>(words: impl IntoIterator<Item = &'c str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
