//! From the syntax tree to checked variants. Reads no files and knows no hardware; every fault of a file is
//! found in one run, those of the grammar included.
//!
//! The order of a check: constants (`consts`), what each body sets (`layers`), then for each variant the
//! layers that it inherits, its declarations (`declare`), its fields (`fields`, `schedule`), its expressions
//! (`infer` to a typed tree, `lower` to the IR), and the warnings (`warnings`).

mod bounds;
mod build;
mod compact;
mod consts;
mod declare;
mod env;
mod fields;
mod fold;
mod hir;
mod infer;
mod layers;
mod linear;
mod lower;
mod order;
mod places;
mod prelude;
mod schedule;
mod sink;
mod truth;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

pub use consts::parse_value;
pub use linear::SIZE_LIMIT;
pub use sink::nearest;

use crate::ast::{self, Attention, Const, Item};
use crate::codes;
use crate::diagnostic::{self, Diagnostic};
use crate::parse;
use crate::span::{FileId, SourceMap, Span};
use crate::variant::Variant;
use env::Env;
use layers::Body;
use sink::Sink;

/// A constant set from outside, as by `-D radius=1024`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Define {
    /// The constant's name.
    pub name: String,
    /// Its value, as text.
    pub value_text: String,
}

/// What a check gives.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The variants without errors, in order: those that can be planned even where the file has errors elsewhere.
    pub variants: Vec<Variant>,
    /// All findings, by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// Whether nothing may be generated.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// What is found in a variant of the classic mistakes that need no target (FA102, FA103, FA104), also where the file
/// silences them.
pub fn classic_mistakes(variant: &Variant) -> Vec<Diagnostic> {
    warnings::classic(variant)
}

/// Least and greatest score that a variant's expressions allow; infinite where nothing is known.
pub fn score_range(variant: &Variant) -> (f64, f64) {
    warnings::score_range(variant)
}

/// Parses and checks a file.
pub fn check(sources: &SourceMap, file: FileId, defines: &[Define]) -> Checked {
    let (tree, faults) = parse::parse(sources, file);
    check_tree(sources, &tree, faults, defines)
}

/// Parses and checks the expression form of the macro; the variant gets this name.
pub fn check_inline(sources: &SourceMap, file: FileId, name: &str) -> Checked {
    let (tree, faults) = parse::parse_inline(sources, file, name);
    check_tree(sources, &tree, faults, &[])
}

/// Checks a tree; `faults` are those of its syntax.
pub fn check_tree(
    sources: &SourceMap,
    tree: &ast::File,
    faults: Vec<Diagnostic>,
    defines: &[Define],
) -> Checked {
    let broken_syntax = faults.iter().any(Diagnostic::is_error);
    let mut sink = Sink::default();
    let mut used = BTreeSet::new();
    let consts: Vec<&Const> = tree.items.iter().filter_map(as_const).collect();
    let attentions: Vec<&Attention> = tree.items.iter().filter_map(as_attention).collect();
    if attentions.is_empty() && !broken_syntax {
        sink.push(no_variant(tree));
    }
    let env = consts::evaluate(sources, &consts, defines, &mut used, &mut sink);
    let bodies: Vec<Body<'_>> = attentions
        .iter()
        .map(|attention| layers::body(&attention.body, &mut sink))
        .collect();
    let chains = chains(&attentions, &mut sink);
    let mut built = Vec::new();
    for (attention, chain) in attentions.iter().zip(&chains) {
        let input = build::Input {
            sources,
            attention,
            layers: chain.layers.iter().map(|index| &bodies[*index]).collect(),
            env: &env,
            whole: chain.whole,
        };
        let variant = build::build(&input, &mut used, &mut sink);
        built.extend(variant.map(|variant| (variant, input, chain)));
    }
    built.retain(|(_, _, chain)| {
        let mut spans = chain.layers.iter().map(|index| attentions[*index].span);
        let found = || faults.iter().chain(sink.found());
        chain.whole && !spans.any(|span| has_error(found(), span))
    });
    for (variant, input, _) in &built {
        build::warn(input, variant, &mut sink);
    }
    let variants = built.into_iter().map(|(variant, ..)| variant).collect();
    if !broken_syntax && sink.errors() == 0 {
        unused(&consts, &bodies, &env, &used, &mut sink);
    }
    let mut diagnostics = faults;
    diagnostics.extend(sink.into_found());
    diagnostic::sort(&mut diagnostics);
    Checked {
        variants,
        diagnostics,
    }
}

/// Whether an error stands within a piece of text, or outside any: then it may be about every piece.
fn has_error<'d>(found: impl Iterator<Item = &'d Diagnostic>, within: Span) -> bool {
    let mut errors = found.filter(|found| found.is_error());
    errors.any(|found| match found.span() {
        Some(at) => at.file == within.file && within.start <= at.start && at.end <= within.end,
        None => true,
    })
}

fn as_const(item: &Item) -> Option<&Const> {
    match item {
        Item::Const(item) => Some(item),
        Item::Attention(_) => None,
    }
}

fn as_attention(item: &Item) -> Option<&Attention> {
    match item {
        Item::Attention(item) => Some(item),
        Item::Const(_) => None,
    }
}

fn no_variant(tree: &ast::File) -> Diagnostic {
    let report = Diagnostic::error(
        codes::MISSING_FIELD,
        "the file describes no variant",
        "add `attention NAME { head_dim = 128; }`",
    );
    match tree.items.last() {
        Some(last) => report.at(last.span(), "the last item"),
        None => report,
    }
}

/// The layers of a variant.
struct Chain {
    /// Their numbers, the most general first, as far as they are known.
    layers: Vec<usize>,
    /// No parent is missing.
    whole: bool,
}

/// The layers of each variant. A misspelt parent is reported and taken for the one that is meant.
fn chains(attentions: &[&Attention], sink: &mut Sink) -> Vec<Chain> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, attention) in attentions.iter().enumerate() {
        let name = &attention.name;
        if name.text.is_empty() {
            continue;
        }
        match first.get(name.text.as_str()) {
            Some(before) => sink.push(layers::repeated(
                &format!("variant `{}`", name.text),
                name.span,
                attentions[*before].name.span,
            )),
            None => {
                first.insert(&name.text, index);
            }
        }
    }
    let parents: Vec<Parent> = attentions
        .iter()
        .map(|attention| parent(attention, &first, sink))
        .collect();
    (0..attentions.len())
        .map(|start| chain(start, &parents, attentions, sink))
        .collect()
}

/// What a variant inherits from.
#[derive(Clone, Copy)]
enum Parent {
    Nothing,
    Variant(usize),
    /// Something that is not there, which is reported.
    Missing,
}

/// The parent of a variant; an unknown one is an error.
fn parent(attention: &Attention, first: &BTreeMap<&str, usize>, sink: &mut Sink) -> Parent {
    let Some(parent) = &attention.parent else {
        return Parent::Nothing;
    };
    if let Some(index) = first.get(parent.text.as_str()) {
        return Parent::Variant(*index);
    }
    let others = first.keys().filter(|name| **name != attention.name.text);
    let near = nearest(&parent.text, others.copied());
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("define `attention {} {{ … }}` in this file", parent.text),
    };
    let report = Diagnostic::error(
        codes::INHERITANCE,
        format!("there is no variant `{}` to inherit from", parent.text),
        help,
    )
    .at(parent.span, "unknown variant");
    match near {
        Some(near) => {
            sink.push(report.with_patch(parent.span, near));
            Parent::Variant(first[near])
        }
        None => {
            sink.push(report);
            Parent::Missing
        }
    }
}

fn chain(start: usize, parents: &[Parent], attentions: &[&Attention], sink: &mut Sink) -> Chain {
    let mut layers = vec![start];
    let whole = loop {
        let at = layers[layers.len() - 1];
        match parents[at] {
            Parent::Nothing => break true,
            Parent::Missing => break false,
            Parent::Variant(parent) => {
                let Some(before) = layers.iter().position(|layer| *layer == parent) else {
                    layers.push(parent);
                    continue;
                };
                // Named by its first member, whichever the search came in by.
                let first = layers[before..].iter().min().unwrap_or(&parent);
                let name = &attentions[*first].name;
                let report = Diagnostic::error(
                    codes::INHERITANCE,
                    format!("`{}` inherits from itself", name.text),
                    "remove one `: PARENT`, and write its fields out",
                );
                sink.push(report.at(name.span, "part of a circle of parents"));
                break false;
            }
        }
    };
    layers.reverse();
    Chain { layers, whole }
}

/// Warns of constants and `let`s that no variant reads.
fn unused(
    consts: &[&Const],
    bodies: &[Body<'_>],
    env: &Env,
    used: &BTreeSet<Span>,
    sink: &mut Sink,
) {
    let lets = bodies
        .iter()
        .flat_map(|body| &body.declared)
        .filter_map(|decl| match decl {
            layers::Decl::Let(binding) => Some(("let", &binding.name)),
            _ => None,
        });
    let consts = consts
        .iter()
        .filter(|item| env.names.contains_key(&item.name.text))
        .map(|item| ("const", &item.name));
    for (kind, name) in consts.chain(lets) {
        if !used.contains(&name.span) {
            sink.push(
                Diagnostic::warning(
                    codes::UNUSED_DEFINITION,
                    format!("nothing reads `{kind} {}`", name.text),
                    format!("remove it, or use `{}`", name.text),
                )
                .at(name.span, "defined here"),
            );
        }
    }
}
