//! The parser that pest derives from `grammar.pest`.
#![allow(
    missing_docs,
    reason = "the derive documents nothing; the grammar itself does"
)]

/// The derived parser.
#[derive(pest_derive::Parser)]
#[grammar = "grammar.pest"]
pub(super) struct Grammar;
