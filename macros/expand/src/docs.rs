//! Documentation of the expanded module. Warnings are said here: a macro of stable Rust has no other place for
//! them that does not break `#![deny(warnings)]`.

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::{Param, Tensor, Variant};

use crate::budget;
use crate::front::{Built, Emitted};
use crate::input::Read;

/// The documentation of a module.
pub(crate) fn module(read: &Read, built: &Built) -> String {
    let variant = &built.variant;
    let mut lines: Vec<String> = Vec::new();
    if let crate::input::Door::Tokens(text) = &read.door {
        lines.extend(
            text.docs_before(variant.name.span.start)
                .into_iter()
                .map(|doc| doc.strip_prefix(' ').unwrap_or(doc).to_owned()),
        );
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(summary(variant));
    lines.push(String::new());
    lines.extend(meaning(read, variant));
    for emitted in built.ascend.iter().chain([&built.cpu]) {
        lines.extend(budgets(emitted));
    }
    lines.extend(warnings(read, &built.warnings));
    attribute(&lines.join("\n"))
}

/// Text as the content of a doc attribute that reads like one written by hand: a space before each line.
pub(crate) fn attribute(text: &str) -> String {
    let spaced = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    spaced.collect::<Vec<_>>().join("\n")
}

fn summary(variant: &Variant) -> String {
    let precision = variant.precision.name().map_or_else(
        || format!("{} inputs", variant.precision.qkv.name()),
        |name| format!("precision `{name}`"),
    );
    format!(
        "Attention `{}`: head_dim {}, layout `{}`, {precision}.",
        variant.name.value,
        variant.head_dim,
        variant.layout.name(),
    )
}

/// Mask and score as they are written.
fn meaning(read: &Read, variant: &Variant) -> Vec<String> {
    let fields = [variant.mask_span, variant.score_span];
    let written = fields.into_iter().flatten().map(|place| {
        let text = read.sources.snippet(place);
        let text: Vec<&str> = text.split_whitespace().collect();
        format!("    {}", text.join(" "))
    });
    let mut lines: Vec<String> = written.collect();
    if !lines.is_empty() {
        lines.insert(0, "```text".to_owned());
        lines.push("```".to_owned());
        lines.push(String::new());
    }
    lines
}

fn budgets(emitted: &Emitted) -> Vec<String> {
    let tile = emitted.plan.tile();
    let budget = emitted.plan.budget();
    let mut lines = vec![
        format!("# On `{}`", budget.target),
        String::new(),
        format!(
            "Tiles of {} query rows and {} key rows, {} in flight.",
            tile.block_q, tile.block_kv, tile.stages
        ),
        String::new(),
    ];
    lines.extend(budget::table(budget));
    lines.push(String::new());
    lines
}

fn warnings(read: &Read, found: &[Diagnostic]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in found {
        let place = one.span().map(|place| read.sources.snippet(place));
        let place = place.map_or_else(String::new, |text| {
            format!(" at `{}`", text.lines().next().unwrap_or_default())
        });
        lines.push(format!(
            "* {}{place}: {}; {}",
            one.code, one.message, one.help
        ));
    }
    if !lines.is_empty() {
        lines.insert(0, "# Warnings\n".to_owned());
    }
    lines
}

/// A captured tensor as it is declared.
pub(crate) fn tensor(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.dims.iter().map(ToString::to_string).collect();
    let dims = dims.join(", ");
    format!(
        "`tensor {}: {}[{dims}]`; a dimension of size 1 broadcasts.",
        tensor.name,
        tensor.dtype.name()
    )
}

/// A parameter as it is declared.
pub(crate) fn param(param: &Param) -> String {
    match param.default {
        Some(_) => format!(
            "`param {}`; the default of the variant where it is `None`.",
            param.name
        ),
        None => format!("`param {}`.", param.name),
    }
}
