//! What a body sets, statement by statement, and the layers of a variant that inherits. Values are not
//! looked at here.

use std::collections::BTreeMap;

use super::env;
use super::order;
use super::sink::{Sink, nearest, one_of};
use crate::ast::{self, Block, Broken, Field, Name, Statement};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// What a variant can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    HeadDim,
    VHeadDim,
    Heads,
    KvHeads,
    Precision,
    Layout,
    Align,
    Scale,
    Mask,
    Score,
    Sink,
    Dropout,
    Backward,
    Tile,
    Paged,
    SplitKv,
    Allow,
}

/// How a key is written.
struct Spec {
    name: &'static str,
    key: Key,
    /// As `name = value;`
    field: bool,
    /// The keys of `name { … }`
    block: &'static [&'static str],
    /// Inside `target NAME { … }` as well.
    in_target: bool,
}

const fn field(name: &'static str, key: Key) -> Spec {
    Spec {
        name,
        key,
        field: true,
        block: &[],
        in_target: false,
    }
}

const SPECS: [Spec; 17] = [
    field("head_dim", Key::HeadDim),
    field("v_head_dim", Key::VHeadDim),
    field("heads", Key::Heads),
    field("kv_heads", Key::KvHeads),
    Spec {
        block: &["qkv", "softmax", "accumulate", "output"],
        ..field("precision", Key::Precision)
    },
    field("layout", Key::Layout),
    field("align", Key::Align),
    field("scale", Key::Scale),
    field("mask", Key::Mask),
    field("score", Key::Score),
    field("sink", Key::Sink),
    field("dropout", Key::Dropout),
    field("backward", Key::Backward),
    Spec {
        block: &["block_q", "block_kv", "stages"],
        in_target: true,
        ..field("tile", Key::Tile)
    },
    Spec {
        field: false,
        block: &["page_size"],
        ..field("paged", Key::Paged)
    },
    Spec {
        in_target: true,
        ..field("split_kv", Key::SplitKv)
    },
    Spec {
        in_target: true,
        ..field("allow", Key::Allow)
    },
];

/// What a key is set to.
#[derive(Clone, Debug)]
pub(super) enum Setting<'a> {
    Field(&'a Field),
    /// A block with its fields; `None` where one has a syntax error.
    Block(&'a Block, BTreeMap<&'static str, Option<&'a Field>>),
    /// A syntax error that is reported.
    Broken(Span),
}

impl Setting<'_> {
    /// Where it stands.
    pub(super) fn span(&self) -> Span {
        match self {
            Setting::Field(field) => field.span,
            Setting::Block(block, _) => block.name.span,
            Setting::Broken(span) => *span,
        }
    }
}

/// A set of settings.
pub(super) type Settings<'a> = BTreeMap<Key, Setting<'a>>;

/// Something that a body names.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decl<'a> {
    Param(&'a ast::Param),
    Tensor(&'a ast::Tensor),
    Let(&'a ast::Let),
    Broken(&'a Name),
}

impl<'a> Decl<'a> {
    /// Its name.
    pub(super) fn name(&self) -> &'a Name {
        match self {
            Decl::Param(param) => &param.name,
            Decl::Tensor(tensor) => &tensor.name,
            Decl::Let(binding) => &binding.name,
            Decl::Broken(name) => name,
        }
    }
}

/// A target that a body names, with what it overrides.
#[derive(Clone, Debug)]
pub(super) struct Target<'a> {
    pub(super) name: Name,
    pub(super) settings: Settings<'a>,
}

/// Everything that the body of one `attention` sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Body<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) targets: Vec<Target<'a>>,
    pub(super) declared: Vec<Decl<'a>>,
    /// All names that its expressions mention; `None` where a statement cannot be read, which may mention any.
    pub(super) mentioned: Option<Vec<&'a str>>,
}

/// Reads a body.
pub(super) fn body<'a>(statements: &'a [Statement], sink: &mut Sink) -> Body<'a> {
    let mut body = Body::default();
    misspelt(statements, &mut body.settings);
    body.mentioned = mentioned(statements);
    for statement in statements {
        match statement {
            Statement::Field(field) if field.name.text == "target" => {
                target_field(field, &mut body, sink);
            }
            Statement::Block(block) if block.name.text == "target" => {
                target_block(block, &mut body, sink);
            }
            Statement::Field(field) => set_field(field, &mut body.settings, false, sink),
            Statement::Block(block) => set_block(block, &mut body.settings, false, sink),
            Statement::Param(param) => declare(Decl::Param(param), &mut body, sink),
            Statement::Tensor(tensor) => declare(Decl::Tensor(tensor), &mut body, sink),
            Statement::Let(binding) => declare(Decl::Let(binding), &mut body, sink),
            Statement::Broken(broken) => {
                if let Some(name) = &broken.name {
                    match spec(&name.text) {
                        Some(_) => broken_setting(broken, &mut body.settings),
                        None if env::is_reserved(&name.text) => {}
                        None => body.declared.push(Decl::Broken(name)),
                    }
                }
            }
        }
    }
    body
}

/// The names in the expressions of some statements.
fn mentioned(statements: &[Statement]) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    for statement in statements {
        match statement {
            Statement::Field(field) => match &field.value {
                ast::FieldValue::Expr(expr) => found.extend(order::names(expr)),
                ast::FieldValue::List(list) => {
                    found.extend(list.items.iter().flat_map(order::names));
                }
            },
            Statement::Block(block) => found.extend(mentioned(&block.body)?),
            Statement::Let(binding) => found.extend(order::names(&binding.value)),
            Statement::Param(_) | Statement::Tensor(_) => {}
            Statement::Broken(_) => return None,
        }
    }
    Some(found)
}

fn spec(name: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name == name)
}

/// The field that a misspelt name means.
fn meant(name: &str) -> Option<&'static Spec> {
    let in_block = SPECS.iter().any(|spec| spec.block.contains(&name));
    if in_block || spec(name).is_some() || name == "target" {
        return None;
    }
    let names = SPECS.iter().map(|spec| spec.name).chain(["target"]);
    nearest(name, names).and_then(spec)
}

/// The right spelling of a field's name.
pub(super) fn spelt(name: &str) -> &str {
    meant(name).map_or(name, |spec| spec.name)
}

/// Takes misspelt fields for what they mean, where nothing else sets that: the spelling is reported apart, their
/// values are still checked, and what they set is not missing.
fn misspelt<'a>(statements: &'a [Statement], settings: &mut Settings<'a>) {
    let is_set = |spec: &Spec| {
        let mut names = statements.iter().map(|statement| match statement {
            Statement::Field(field) => Some(&field.name),
            Statement::Block(block) => Some(&block.name),
            Statement::Broken(broken) => broken.name.as_ref(),
            Statement::Param(_) | Statement::Tensor(_) | Statement::Let(_) => None,
        });
        names.any(|name| name.is_some_and(|name| name.text == spec.name))
    };
    for statement in statements {
        let (name, setting) = match statement {
            Statement::Field(field) => (&field.name, Setting::Field(field)),
            Statement::Block(block) => (&block.name, Setting::Broken(block.span)),
            _ => continue,
        };
        let Some(spec) = meant(&name.text).filter(|spec| !is_set(spec)) else {
            continue;
        };
        let setting = match setting {
            Setting::Field(field) if !spec.field => Setting::Broken(field.span),
            other => other,
        };
        settings.entry(spec.key).or_insert(setting);
    }
}

fn broken_setting(broken: &Broken, settings: &mut Settings<'_>) {
    if let Some(spec) = broken.name.as_ref().and_then(|name| spec(&name.text)) {
        settings
            .entry(spec.key)
            .or_insert(Setting::Broken(broken.span));
    }
}

/// Reports a second definition, with both places.
pub(super) fn repeated(what: &str, again: Span, before: Span) -> Diagnostic {
    Diagnostic::error(
        codes::REPEATED,
        format!("{what} is set twice"),
        "keep one of the two",
    )
    .at(again, "set again here")
    .at(before, "first set here")
}

fn set<'a>(
    name: &Name,
    key: Key,
    setting: Setting<'a>,
    settings: &mut Settings<'a>,
    sink: &mut Sink,
) {
    match settings.get(&key) {
        Some(Setting::Broken(_)) => {}
        Some(before) => {
            let before = match before {
                Setting::Field(field) => field.name.span,
                other => other.span(),
            };
            sink.push(repeated(&format!("`{}`", name.text), name.span, before));
        }
        None => {
            settings.insert(key, setting);
        }
    }
}

fn set_field<'a>(field: &'a Field, settings: &mut Settings<'a>, in_target: bool, sink: &mut Sink) {
    let name = &field.name;
    let Some(spec) = spec(&name.text) else {
        sink.push(unknown(name, in_target));
        return;
    };
    if in_target && !spec.in_target {
        sink.push(not_in_target(name));
    } else if spec.field {
        set(name, spec.key, Setting::Field(field), settings, sink);
    } else {
        sink.push(
            Diagnostic::error(
                codes::WRONG_VALUE,
                format!("`{}` is a block, not a field", spec.name),
                format!("write `{} {{ {} = …; }}`", spec.name, spec.block[0]),
            )
            .at(field.span, "a field"),
        );
        settings.insert(spec.key, Setting::Broken(field.span));
    }
}

fn set_block<'a>(block: &'a Block, settings: &mut Settings<'a>, in_target: bool, sink: &mut Sink) {
    let name = &block.name;
    let Some(spec) = spec(&name.text) else {
        sink.push(unknown(name, in_target));
        return;
    };
    if in_target && !spec.in_target {
        sink.push(not_in_target(name));
        return;
    }
    if spec.block.is_empty() {
        sink.push(
            Diagnostic::error(
                codes::WRONG_VALUE,
                format!("`{}` is a field, not a block", spec.name),
                format!("write `{} = …;`", spec.name),
            )
            .at(name.span, "a block"),
        );
        settings
            .entry(spec.key)
            .or_insert(Setting::Broken(block.span));
        return;
    }
    if let Some(label) = &block.label {
        sink.push(
            Diagnostic::error(
                codes::UNKNOWN_FIELD,
                format!("a `{}` block has no name", spec.name),
                format!("remove `{}`; only `target` blocks are named", label.text),
            )
            .at(label.span, "a second name"),
        );
    }
    let keys = block_keys(block, spec, sink);
    set(name, spec.key, Setting::Block(block, keys), settings, sink);
}

/// The fields of a block that has its own keys.
fn block_keys<'a>(
    block: &'a Block,
    spec: &Spec,
    sink: &mut Sink,
) -> BTreeMap<&'static str, Option<&'a Field>> {
    let mut keys: BTreeMap<&'static str, Option<&'a Field>> = BTreeMap::new();
    let known = |name: &Name| spec.block.iter().find(|key| **key == name.text).copied();
    for statement in &block.body {
        let (name, field) = match statement {
            Statement::Field(field) => (&field.name, Some(field)),
            Statement::Block(inner) => (&inner.name, None),
            Statement::Broken(broken) => {
                if let Some(key) = broken.name.as_ref().and_then(known) {
                    keys.insert(key, None);
                }
                continue;
            }
            Statement::Param(_) | Statement::Tensor(_) | Statement::Let(_) => {
                sink.push(
                    Diagnostic::error(
                        codes::UNKNOWN_FIELD,
                        format!("a `{}` block holds only fields", spec.name),
                        "move this in front of the block",
                    )
                    .at(statement.span(), "not a field"),
                );
                continue;
            }
        };
        match (known(name), field) {
            (Some(key), Some(field)) => match keys.get(key) {
                Some(Some(before)) => {
                    let what = format!("`{key}`");
                    sink.push(repeated(&what, name.span, before.name.span));
                }
                Some(None) => {}
                None => {
                    keys.insert(key, Some(field));
                }
            },
            _ => sink.push(unknown_key(name, spec)),
        }
    }
    keys
}

fn unknown_key(name: &Name, spec: &Spec) -> Diagnostic {
    let near = nearest(&name.text, spec.block.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`{}` has {}", spec.name, one_of(spec.block.iter().copied())),
    };
    let report = Diagnostic::error(
        codes::UNKNOWN_FIELD,
        format!("`{}` has no field `{}`", spec.name, name.text),
        help,
    )
    .at(name.span, "unknown field");
    match near {
        Some(near) => report.with_patch(name.span, near),
        None => report,
    }
}

/// What fields are called elsewhere.
const OTHER_NAMES: [(&str, &str); 9] = [
    ("num_heads", "heads"),
    ("n_heads", "heads"),
    ("num_kv_heads", "kv_heads"),
    ("n_kv_heads", "kv_heads"),
    ("head_size", "head_dim"),
    ("dim_head", "head_dim"),
    ("dtype", "precision"),
    ("softmax_scale", "scale"),
    ("sm_scale", "scale"),
];

/// An unknown field or block of a variant.
fn unknown(name: &Name, in_target: bool) -> Diagnostic {
    let owner = SPECS
        .iter()
        .find(|spec| spec.block.contains(&name.text.as_str()));
    let message = format!("there is no field `{}`", name.text);
    if let Some(owner) = owner {
        let help = format!("write `{} {{ {} = …; }}`", owner.name, name.text);
        let label = format!("a field of `{}`", owner.name);
        return Diagnostic::error(codes::UNKNOWN_FIELD, message, help).at(name.span, label);
    }
    let names = SPECS
        .iter()
        .filter(|spec| spec.in_target || !in_target)
        .map(|spec| spec.name)
        .chain((!in_target).then_some("target"));
    let meant = OTHER_NAMES
        .iter()
        .find_map(|(other, field)| (*other == name.text).then_some(*field));
    if let Some(near) = meant.or_else(|| nearest(&name.text, names.clone())) {
        return Diagnostic::error(
            codes::UNKNOWN_FIELD,
            message,
            format!("did you mean `{near}`?"),
        )
        .at(name.span, "unknown field")
        .with_patch(name.span, near);
    }
    let help = format!(
        "the fields are {}; a name of your own is `let {} = …;`",
        names.collect::<Vec<_>>().join(", "),
        name.text
    );
    Diagnostic::error(codes::UNKNOWN_FIELD, message, help).at(name.span, "unknown field")
}

fn not_in_target(name: &Name) -> Diagnostic {
    Diagnostic::error(
        codes::UNKNOWN_FIELD,
        format!("a `target` block cannot set `{}`", name.text),
        "move it out of the block; a target may override `tile`, `split_kv` and `allow`, never meaning",
    )
    .at(name.span, "would mean something else on one target")
}

fn add_target<'a>(target: Target<'a>, body: &mut Body<'a>, sink: &mut Sink) {
    let before = body
        .targets
        .iter()
        .find(|before| before.name.text == target.name.text);
    match before {
        Some(before) => {
            let what = format!("target `{}`", target.name.text);
            sink.push(repeated(&what, target.name.span, before.name.span));
        }
        None => body.targets.push(target),
    }
}

fn target_field<'a>(field: &'a Field, body: &mut Body<'a>, sink: &mut Sink) {
    let named: Vec<&ast::Expr> = match &field.value {
        ast::FieldValue::Expr(expr) => vec![expr],
        ast::FieldValue::List(list) => list.items.iter().collect(),
    };
    for expr in named {
        match &expr.kind {
            ast::ExprKind::Name(name) => {
                let name = Name {
                    text: name.clone(),
                    span: expr.span,
                };
                let settings = Settings::new();
                add_target(Target { name, settings }, body, sink);
            }
            ast::ExprKind::Broken(_) | ast::ExprKind::Error => {}
            _ => sink.push(
                Diagnostic::error(
                    codes::WRONG_VALUE,
                    "`target` takes the name of a target",
                    "write a name without quotes, as in `target = ascend910b;`",
                )
                .at(expr.span, "not a name"),
            ),
        }
    }
}

fn target_block<'a>(block: &'a Block, body: &mut Body<'a>, sink: &mut Sink) {
    let mut settings = Settings::new();
    for statement in &block.body {
        match statement {
            Statement::Field(field) => set_field(field, &mut settings, true, sink),
            Statement::Block(block) => set_block(block, &mut settings, true, sink),
            Statement::Broken(broken) => broken_setting(broken, &mut settings),
            Statement::Param(_) | Statement::Tensor(_) | Statement::Let(_) => sink.push(
                Diagnostic::error(
                    codes::UNKNOWN_FIELD,
                    "a `target` block cannot declare names",
                    "move this in front of the block; a target may override `tile`, `split_kv` and `allow`",
                )
                .at(statement.span(), "a declaration"),
            ),
        }
    }
    match &block.label {
        Some(name) => {
            let name = name.clone();
            add_target(Target { name, settings }, body, sink);
        }
        None => sink.push(
            Diagnostic::error(
                codes::MISSING_FIELD,
                "a `target` block needs the name of a target",
                "write `target ascend910b { … }`",
            )
            .at(block.name.span, "which target?"),
        ),
    }
}

fn declare<'a>(decl: Decl<'a>, body: &mut Body<'a>, sink: &mut Sink) {
    let name = decl.name();
    let before = body
        .declared
        .iter()
        .find(|before| before.name().text == name.text);
    match before {
        Some(before) => {
            let what = format!("`{}`", name.text);
            sink.push(repeated(&what, name.span, before.name().span));
        }
        None => body.declared.push(decl),
    }
}
