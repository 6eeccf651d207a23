//! The `.fa` language: from text to a checked [`variant::Variant`], and what a variant means.
//!
//! This crate is the hub: it knows no hardware and no output language, imports no other crate of the
//! workspace, and does no input or output.

pub mod ast;
pub mod check;
pub mod codes;
pub mod diagnostic;
pub mod ir;
pub mod parse;
pub mod philox;
pub mod print;
pub mod reference;
pub mod span;
pub mod tiles;
pub mod variant;
