//! The constants of a file, in whatever order they stand, with the values that `-D` sets.

use std::collections::{BTreeMap, BTreeSet};

use super::Define;
use super::env::{self, Def, Env};
use super::fold::{Unfoldable, fold};
use super::infer::{Infer, a_type};
use super::layers::repeated;
use super::order;
use super::sink::{Known, Sink, nearest, one_of};
use crate::ast::{Const, Name};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ir::eval::Value;
use crate::span::{SourceMap, Span};

/// The type that a name stands for.
pub(super) fn type_of(name: &Name, sink: &mut Sink) -> Option<Type> {
    match name.text.as_str() {
        "int" => Some(Type::Int),
        "float" => Some(Type::Float),
        "bool" => Some(Type::Bool),
        other => {
            let near = nearest(other, ["int", "float", "bool"]);
            let help = match (near, other) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, "fp32" | "fp16" | "bf16" | "f32" | "f64") => "write `float`".to_owned(),
                (None, "i32" | "i64" | "int32" | "u32") => "write `int`".to_owned(),
                _ => format!("write {}", one_of(["int", "float", "bool"])),
            };
            let message = format!("there is no type `{other}`");
            sink.push(
                Diagnostic::error(codes::WRONG_VALUE, message, help)
                    .at(name.span, "a type is expected here"),
            );
            None
        }
    }
}

/// Reports a definition that takes a name of the language.
pub(super) fn reserved(name: &Name) -> Option<Diagnostic> {
    env::is_reserved(&name.text).then(|| {
        Diagnostic::error(
            codes::RESERVED_NAME,
            format!("`{}` is a word of the language", name.text),
            format!("choose another name, such as `my_{}`", name.text),
        )
        .at(name.span, "already has a meaning")
    })
}

/// Evaluates all constants into the environment that every variant starts from.
pub(super) fn evaluate(
    sources: &SourceMap,
    consts: &[&Const],
    defines: &[Define],
    used: &mut BTreeSet<Span>,
    sink: &mut Sink,
) -> Env {
    let mut env = Env::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, item) in consts.iter().enumerate() {
        if let Some(report) = reserved(&item.name) {
            sink.push(report);
        } else if let Some(before) = first.get(item.name.text.as_str()) {
            let what = format!("`{}`", item.name.text);
            sink.push(repeated(&what, item.name.span, consts[*before].name.span));
        } else {
            first.insert(&item.name.text, index);
        }
    }
    let overrides = overrides(consts, &first, defines, sink);
    let reads: Vec<Vec<usize>> = consts
        .iter()
        .map(|item| {
            order::names(&item.value)
                .into_iter()
                .filter_map(|name| first.get(name).copied())
                .collect()
        })
        .collect();
    let sorted = order::sort(&reads);
    report_cycles(&sorted.cycles, consts, sink);
    let cyclic: BTreeSet<usize> = sorted.cycles.into_iter().flatten().collect();
    for item in consts {
        let entry = (Def::Const(Known::Broken), item.name.span);
        env.names.entry(item.name.text.clone()).or_insert(entry);
    }
    for index in sorted.order {
        let item = consts[index];
        if cyclic.contains(&index) || first.get(item.name.text.as_str()) != Some(&index) {
            continue;
        }
        let written = value(sources, item, &env, used, sink);
        let chosen = overrides.get(&index).copied().or(written);
        if let Some(chosen) = chosen {
            let entry = (Def::Const(Known::Value(chosen)), item.name.span);
            env.names.insert(item.name.text.clone(), entry);
        }
    }
    env
}

fn value(
    sources: &SourceMap,
    item: &Const,
    env: &Env,
    used: &mut BTreeSet<Span>,
    sink: &mut Sink,
) -> Option<Value<f64>> {
    let ty = type_of(&item.ty, sink);
    let mut infer = Infer {
        sources,
        env,
        used,
        sink,
    };
    let role = format!("`{}`", item.name.text);
    let hir = match ty {
        Some(ty) => infer.expect(&item.value, ty, &role)?,
        None => return None,
    };
    match fold(&hir, &[]) {
        Ok(value) => Some(value),
        Err(error) => {
            sink.extend(unfoldable(error, &role, sources));
            None
        }
    }
}

/// Reports an expression that has no constant value.
pub(super) fn unfoldable(error: Unfoldable, role: &str, sources: &SourceMap) -> Option<Diagnostic> {
    Some(match error {
        Unfoldable::Unknown => return None,
        Unfoldable::Varies(span) => Diagnostic::error(
            codes::NOT_CONSTANT,
            format!(
                "{role} must be a constant, `{}` is known at launch only",
                sources.snippet(span)
            ),
            "write a number or a `const`; `-D` sets a `const` without editing the file",
        )
        .at(span, "not known when the kernel is generated"),
        Unfoldable::DivisionByZero(span) => Diagnostic::error(
            codes::DIVISION_BY_ZERO,
            "the divisor is 0",
            "divide by something else",
        )
        .at(span, "this is 0"),
    })
}

fn report_cycles(cycles: &[Vec<usize>], consts: &[&Const], sink: &mut Sink) {
    for cycle in cycles {
        let names: Vec<&Name> = cycle.iter().map(|index| &consts[*index].name).collect();
        sink.push(cycle_error("const", &names));
    }
}

/// Reports definitions that read each other in a circle.
pub(super) fn cycle_error(kind: &str, names: &[&Name]) -> Diagnostic {
    let first = names.first().expect("a cycle has members");
    let mut path: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.text))
        .collect();
    path.push(format!("`{}`", first.text));
    let report = Diagnostic::error(
        codes::CYCLE,
        format!("a `{kind}` depends on itself: {}", path.join(" reads ")),
        "write one of them as a value of its own",
    );
    names.iter().fold(report, |report, name| {
        report.at(name.span, "part of the circle")
    })
}

/// The values that `-D` sets, by the number of the constant.
fn overrides(
    consts: &[&Const],
    first: &BTreeMap<&str, usize>,
    defines: &[Define],
    sink: &mut Sink,
) -> BTreeMap<usize, Value<f64>> {
    let mut found = BTreeMap::new();
    for (at, define) in defines.iter().enumerate() {
        let shown = format!("-D {}={}", define.name, define.value_text);
        if let Some(before) = defines[..at]
            .iter()
            .find(|before| before.name == define.name)
        {
            let message = format!(
                "`{shown}`: `{}` is set already, by `-D {}={}`",
                define.name, before.name, before.value_text
            );
            sink.push(Diagnostic::error(
                codes::DEFINE,
                message,
                "keep one of the two",
            ));
            continue;
        }
        let Some(index) = first.get(define.name.as_str()) else {
            let known: Vec<&str> = first.keys().copied().collect();
            let help = match nearest(&define.name, known.iter().copied()) {
                Some(near) => format!("did you mean `-D {near}={}`?", define.value_text),
                None if known.is_empty() => {
                    "the file has no constants: declare `const NAME: int = …;`".to_owned()
                }
                None => format!("the constants of the file are {}", one_of(known)),
            };
            let message = format!("`{shown}`: there is no `const {}`", define.name);
            sink.push(Diagnostic::error(codes::DEFINE, message, help));
            continue;
        };
        let item = consts[*index];
        let ty = match item.ty.text.as_str() {
            "int" => Type::Int,
            "float" => Type::Float,
            _ => Type::Bool,
        };
        match parse_value(&define.value_text, ty) {
            Some(value) => {
                found.insert(*index, value);
            }
            None => sink.push(Diagnostic::error(
                codes::DEFINE,
                format!("`{shown}`: `{}` must be {}", define.name, a_type(ty)),
                match ty {
                    Type::Int => "write a whole number of 32 bits, as in `-D radius=1024`",
                    Type::Float => "write a number, as in `-D cap=50.0`",
                    Type::Bool => "write `true` or `false`",
                },
            )),
        }
    }
    found
}

/// A value given on the command line, in the type of its declaration.
pub fn parse_value(text: &str, ty: Type) -> Option<Value<f64>> {
    let text = text.trim().replace('_', "");
    match ty {
        Type::Int => text.parse().ok().map(Value::Int),
        Type::Float => {
            let value: f64 = text.parse().ok()?;
            (value as f32).is_finite().then_some(Value::Float(value))
        }
        Type::Bool => text.parse().ok().map(Value::Bool),
    }
}
