//! What a name means while expressions are checked: the names of the language, and those of a file and a
//! variant.

use std::collections::BTreeMap;

use super::sink::{Known, nearest};
use crate::ir::eval::Value;
use crate::ir::{ParamId, TensorId, Type, Var};
use crate::span::Span;
use crate::variant::Tensor;

/// Names whose value the position or the launch gives.
pub(super) const VARS: [(&str, Var); 10] = [
    ("b", Var::B),
    ("h", Var::H),
    ("kv_h", Var::KvH),
    ("q_idx", Var::QIdx),
    ("kv_idx", Var::KvIdx),
    ("q_pos", Var::QPos),
    ("kv_pos", Var::KvIdx),
    ("q_len", Var::QLen),
    ("kv_len", Var::KvLen),
    ("dot", Var::Dot),
];

/// The other plain words of expressions.
const WORDS: [&str; 5] = ["score", "head_dim", "scale", "causal", "unbounded"];

/// Functions and mask words with arguments: how they are called.
pub(super) const FUNCTIONS: [(&str, &str); 20] = [
    ("min", "min(x, y)"),
    ("max", "max(x, y)"),
    ("abs", "abs(x)"),
    ("exp", "exp(x)"),
    ("log", "log(x)"),
    ("sqrt", "sqrt(x)"),
    ("rsqrt", "rsqrt(x)"),
    ("tanh", "tanh(x)"),
    ("sigmoid", "sigmoid(x)"),
    ("floor", "floor(x)"),
    ("clamp", "clamp(x, lo, hi)"),
    ("softcap", "softcap(x, c)"),
    ("float", "float(x)"),
    ("int", "int(x)"),
    ("window", "window(left, right)"),
    ("prefix", "prefix(n)"),
    ("padding", "padding(lens)"),
    ("same", "same(ids)"),
    ("dense", "dense(m)"),
    ("checkpoint", "checkpoint(ratio)"),
];

/// How a function is called, if the language has it.
pub(super) fn signature(name: &str) -> Option<&'static str> {
    FUNCTIONS
        .into_iter()
        .find_map(|(known, form)| (known == name).then_some(form))
}

/// Whether the language itself gives this name a meaning.
pub(super) fn is_reserved(name: &str) -> bool {
    builtin_names().any(|known| known == name)
}

fn builtin_names() -> impl Iterator<Item = &'static str> {
    VARS.into_iter()
        .map(|(name, _)| name)
        .chain(WORDS)
        .chain(FUNCTIONS.into_iter().map(|(name, _)| name))
}

/// What a user's name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Def {
    /// A constant of the file.
    Const(Known<Value<f64>>),
    /// A run-time scalar.
    Param(ParamId, Type),
    /// A captured tensor.
    Tensor(TensorId),
    /// A `let`, by its number.
    Let(usize),
    /// Something of the variant that has no value in constants.
    NotYet,
    /// Something whose definition has a fault that is reported already.
    Broken,
}

impl Def {
    /// What kind of thing it is, for messages.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Def::Const(_) => "a `const`",
            Def::Param(..) => "a `param`",
            Def::Tensor(_) => "a `tensor`",
            Def::Let(_) => "a `let`",
            Def::NotYet | Def::Broken => "a definition",
        }
    }
}

/// All names of one variant.
#[derive(Clone, Debug)]
pub(super) struct Env {
    /// The user's names.
    pub(super) names: BTreeMap<String, (Def, Span)>,
    /// Types of the `let`s, as far as they are known.
    pub(super) lets: Vec<Option<Type>>,
    /// The captured tensors.
    pub(super) tensors: Vec<Tensor>,
    /// The name `head_dim`.
    pub(super) head_dim: Known<i32>,
    /// The name `scale`.
    pub(super) scale: Known<f64>,
}

impl Env {
    /// No names but those of the language.
    pub(super) fn new() -> Env {
        Env {
            names: BTreeMap::new(),
            lets: Vec::new(),
            tensors: Vec::new(),
            head_dim: Known::Absent,
            scale: Known::Absent,
        }
    }

    /// The known name nearest to a misspelled one.
    pub(super) fn nearest<'s>(&'s self, name: &str) -> Option<&'s str> {
        let mut all: Vec<&'s str> = builtin_names().collect();
        all.extend(self.names.keys().map(String::as_str));
        nearest(name, all)
    }
}
