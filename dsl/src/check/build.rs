//! One variant from its layers: the order of its checks, and its assembly.

use std::collections::{BTreeMap, BTreeSet};

use super::bounds::Bounds;
use super::compact::Compact;
use super::declare::{self, Declare, Declared, Lets};
use super::env::Env;
use super::fields::Fields;
use super::hir::{Hir, HirKind};
use super::infer::Infer;
use super::layers::{Body, Key, Setting, spelt};
use super::linear::Facts;
use super::lower::Lower;
use super::places::{self, Place};
use super::schedule::Schedules;
use super::sink::{Known, Sink, nearest};
use super::warnings;
use crate::ast::{Attention, Expr};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{ExprId, Exprs, ParamId, TensorId, Type, Var};
use crate::span::{SourceMap, Span, Spanned};
use crate::variant::{
    Align, Backward, Dropout, Layout, Paged, Param, Precision, Requirement, Tensor, Variant,
};

/// What a variant is built from.
pub(super) struct Input<'a> {
    pub(super) sources: &'a SourceMap,
    pub(super) attention: &'a Attention,
    /// Its layers, the most general first.
    pub(super) layers: Vec<&'a Body<'a>>,
    /// The constants of the file.
    pub(super) env: &'a Env,
    /// All layers are known; else a parent is missing, which is reported, and so may be whatever it sets.
    pub(super) whole: bool,
}

/// The numbers that other fields rest on.
struct Sizes {
    head_dim: Known<u32>,
    v_head_dim: Known<u32>,
    heads: Known<u32>,
    kv_heads: Known<u32>,
}

/// The three expressions, typed or lowered.
struct Roots<T> {
    mask: Option<T>,
    score: Option<T>,
    sink: Option<T>,
}

/// The expressions of a variant and what they need.
struct Lowered {
    exprs: Exprs,
    roots: Roots<ExprId>,
    requirements: Vec<(ExprId, Requirement)>,
    /// Where each expression is written.
    places: BTreeMap<ExprId, Span>,
}

/// What the expressions rest on.
struct Base {
    sizes: Sizes,
    layout: Option<(Layout, Option<Span>)>,
    align: Option<Align>,
}

/// The fields that expressions do not rest on; `None` and `Err` have been reported.
struct Rest {
    precision: Option<(Precision, Option<Span>)>,
    dropout: Result<Option<Dropout>, ()>,
    backward: Option<Spanned<Backward>>,
    paged: Result<Option<Paged>, ()>,
    schedules: Schedules,
}

/// Builds a variant, or reports why it cannot be built.
pub(super) fn build(
    input: &Input<'_>,
    used: &mut BTreeSet<Span>,
    sink: &mut Sink,
) -> Option<Variant> {
    let errors_before = sink.errors();
    sink.take_orphans();
    let mut env = input.env.clone();
    let (base, declared) = settle(input, &mut env, used, sink);
    let mut fields = fields(input, &env, &declared.lets, used, sink);
    let rest = Rest {
        precision: fields.precision(),
        dropout: fields.dropout(),
        backward: fields.backward(input.attention.name.span),
        paged: fields.paged(),
        schedules: fields.schedules(),
    };
    let roots = fields.roots();
    let lowered = lower(input, &env, &base, &declared, &roots, sink);
    if incomplete(input, &lowered) || sink.errors() > errors_before {
        unmentioned_inputs(input, &env, &declared, sink);
        return None;
    }
    unused_inputs(&env, &declared, &roots, &lowered, sink);
    if sink.errors() > errors_before {
        return None;
    }
    let mut variant = assemble(input, &env, base, rest)?;
    let sink_span = span_of(input, Key::Sink);
    expressions(&mut variant, &env, &declared, lowered, sink_span);
    Some(variant)
}

/// Warnings and notes about a variant that has no error.
pub(super) fn warn(input: &Input<'_>, variant: &Variant, sink: &mut Sink) {
    warnings::of_variant(variant, setting(input, Key::Mask), input.env, sink);
}

/// Completes the environment: first what rests on constants alone, then the declarations.
fn settle(
    input: &Input<'_>,
    env: &mut Env,
    used: &mut BTreeSet<Span>,
    sink: &mut Sink,
) -> (Base, Declared) {
    let no_lets = Lets::default();
    let decls = declare::merged(&input.layers, input.env, sink);
    declare::announce(env, &decls);
    let mut early = fields(input, env, &no_lets, used, sink);
    let base = Base {
        sizes: early.sizes(input.attention, input.whole),
        layout: early.layout(),
        align: early.align(),
    };
    env.head_dim = match base.sizes.head_dim {
        Known::Value(value) => Known::Value(i32::try_from(value).expect("at most 512")),
        Known::Absent | Known::Broken => Known::Broken,
    };
    env.scale = fields(input, env, &no_lets, used, sink).scale(base.sizes.head_dim);
    let declared = Declare {
        sources: input.sources,
        env,
        used,
        sink,
        packed: matches!(base.layout, Some((Layout::Tnd, _))),
    }
    .run(&decls);
    (base, declared)
}

/// Whether an expression is written and yet missing, or the name is: a fault of the syntax is no error of
/// this step, but what it leaves out must not be judged.
fn incomplete(input: &Input<'_>, lowered: &Lowered) -> bool {
    let roots = [
        (Key::Mask, lowered.roots.mask),
        (Key::Score, lowered.roots.score),
        (Key::Sink, lowered.roots.sink),
    ];
    let missing =
        |(key, root): (Key, Option<ExprId>)| root.is_none() && setting(input, key).is_some();
    input.attention.name.text.is_empty() || roots.into_iter().any(missing)
}

/// The variant, but for its expressions.
fn assemble(input: &Input<'_>, env: &Env, base: Base, rest: Rest) -> Option<Variant> {
    let (precision, precision_span) = rest.precision?;
    let (layout, layout_span) = base.layout?;
    let name = &input.attention.name;
    let mut variant = Variant::with_defaults(&name.text, base.sizes.head_dim.value()?, name.span);
    variant.v_head_dim = base.sizes.v_head_dim.value().unwrap_or(variant.head_dim);
    variant.heads = base.sizes.heads.value();
    variant.kv_heads = base.sizes.kv_heads.value();
    variant.precision = precision;
    variant.precision_span = precision_span;
    variant.layout = layout;
    variant.layout_span = layout_span;
    variant.align = base.align?;
    variant.scale = env.scale.value()?;
    variant.dropout = rest.dropout.ok()?;
    variant.backward = rest.backward?;
    variant.paged = rest.paged.ok()?;
    variant.schedule = rest.schedules.general;
    variant.targets = rest.schedules.targets;
    variant.mask_span = span_of(input, Key::Mask);
    variant.score_span = span_of(input, Key::Score);
    Some(variant)
}

fn fields<'f>(
    input: &'f Input<'f>,
    env: &'f Env,
    lets: &'f Lets,
    used: &'f mut BTreeSet<Span>,
    sink: &'f mut Sink,
) -> Fields<'f> {
    Fields {
        sources: input.sources,
        layers: &input.layers,
        env,
        lets,
        used,
        sink,
    }
}

/// The setting of a key that wins.
fn setting<'i>(input: &'i Input<'_>, key: Key) -> Option<&'i Setting<'i>> {
    let mut layers = input.layers.iter().rev();
    layers.find_map(|layer| layer.settings.get(&key))
}

/// Where a field of the variant stands.
fn span_of(input: &Input<'_>, key: Key) -> Option<Span> {
    setting(input, key).map(Setting::span)
}

impl Fields<'_> {
    fn sizes(&mut self, attention: &Attention, whole: bool) -> Sizes {
        let plain = |known: Known<Spanned<u32>>| match known {
            Known::Value(value) => Known::Value(value.value),
            Known::Absent => Known::Absent,
            Known::Broken => Known::Broken,
        };
        let head_dim = self.int(Key::HeadDim, 1..=512);
        if head_dim == Known::Absent && whole && !attention.name.text.is_empty() {
            self.sink.push(
                Diagnostic::error(
                    codes::MISSING_FIELD,
                    format!("variant `{}` has no `head_dim`", attention.name.text),
                    "add `head_dim = 128;`, the width of a query row",
                )
                .at(attention.name.span, "`head_dim` is required"),
            );
        }
        let v_head_dim = self.int(Key::VHeadDim, 1..=512);
        let heads = self.int(Key::Heads, 1..=u32::MAX >> 1);
        let kv_heads = self.int(Key::KvHeads, 1..=u32::MAX >> 1);
        if let (Known::Value(heads), Known::Value(kv_heads)) = (heads, kv_heads)
            && heads.value % kv_heads.value != 0
        {
            self.sink.push(
                Diagnostic::error(
                    codes::HEADS_NOT_DIVISIBLE,
                    format!(
                        "`heads` is {}, which `kv_heads` = {} does not divide",
                        heads.value, kv_heads.value
                    ),
                    format!(
                        "write `heads` as a multiple of {}: each key/value head serves equally many query heads",
                        kv_heads.value
                    ),
                )
                .at(heads.span, format!("{} query heads", heads.value))
                .at(kv_heads.span, format!("{} key/value heads", kv_heads.value)),
            );
        }
        Sizes {
            head_dim: plain(head_dim),
            v_head_dim: plain(v_head_dim),
            heads: plain(heads),
            kv_heads: plain(kv_heads),
        }
    }

    /// The typed expressions of `mask`, `score` and `sink`.
    fn roots(&mut self) -> Roots<Hir> {
        Roots {
            mask: self.root(Key::Mask, Type::Bool, Place::Mask),
            score: self.root(Key::Score, Type::Float, Place::Score),
            sink: self.root(Key::Sink, Type::Float, Place::Sink),
        }
    }

    fn root(&mut self, key: Key, ty: Type, place: Place) -> Option<Hir> {
        let field = self.field(key).value()?;
        let expr: &Expr = self.expr(field)?;
        let role = format!("`{}`", spelt(&field.name.text));
        let kept = self.sink.orphans().len();
        let mut infer = Infer {
            sources: self.sources,
            env: self.env,
            used: self.used,
            sink: self.sink,
        };
        let Some(hir) = infer.infer(expr) else {
            let parts = &infer.sink.orphans()[kept..];
            let misplaced: Vec<Diagnostic> = parts
                .iter()
                .flat_map(|part| places::misplaced(part, place, &self.lets.vars))
                .collect();
            infer.sink.extend(misplaced);
            return None;
        };
        let misplaced = places::misplaced(&hir, place, &self.lets.vars);
        if misplaced.is_empty() {
            return infer.coerce(hir, ty, expr, &role);
        }
        infer.sink.extend(misplaced);
        // Names that have no value say nothing of indices; in a mask the rest is checked on.
        (place != Place::Sink && hir.ty == ty).then_some(hir)
    }
}

fn lower(
    input: &Input<'_>,
    env: &Env,
    base: &Base,
    declared: &Declared,
    roots: &Roots<Hir>,
    sink: &mut Sink,
) -> Lowered {
    let facts = Facts {
        heads: base.sizes.heads.value(),
        kv_heads: base.sizes.kv_heads.value(),
        covered: false,
    };
    let mut lower = Lower {
        sources: input.sources,
        exprs: Exprs::new(),
        bounds: Bounds::new(facts, base.align == Some(Align::TopLeft)),
        tensors: &env.tensors,
        lets: vec![None; declared.lets.typed.len()],
        places: BTreeMap::new(),
        requirements: Vec::new(),
        sink,
    };
    for number in &declared.lets.order {
        if let Some(hir) = &declared.lets.typed[*number] {
            lower.lets[*number] = lower.lower(hir);
        }
    }
    for orphan in lower.sink.take_orphans() {
        lower.lower(&orphan);
    }
    let mut root = |hir: &Option<Hir>| hir.as_ref().and_then(|hir| lower.lower(hir));
    let roots = Roots {
        mask: root(&roots.mask),
        score: root(&roots.score),
        sink: root(&roots.sink),
    };
    Lowered {
        exprs: lower.exprs,
        roots,
        requirements: lower.requirements,
        places: lower.places,
    }
}

impl Lowered {
    fn roots(&self) -> Vec<ExprId> {
        [self.roots.mask, self.roots.score, self.roots.sink]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// The inputs that typed expressions mention, through `let`s.
fn mentioned(roots: &Roots<Hir>, lets: &Lets) -> (BTreeSet<ParamId>, BTreeSet<TensorId>) {
    let (mut params, mut tensors) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    let mut pending: Vec<&Hir> = [&roots.mask, &roots.score, &roots.sink]
        .into_iter()
        .flatten()
        .collect();
    while let Some(hir) = pending.pop() {
        match &hir.kind {
            HirKind::Param(id) => {
                params.insert(*id);
            }
            HirKind::Load { tensor, .. } => {
                tensors.insert(*tensor);
            }
            HirKind::Let(number) if seen.insert(*number) => {
                pending.extend(lets.typed.get(*number).and_then(Option::as_ref));
            }
            _ => {}
        }
        pending.extend(hir.children());
    }
    (params, tensors)
}

/// Reports the inputs that this variant declares and that nothing reads. What a parent declares and this
/// variant no longer reads is simply no input of this variant.
fn unused_inputs(
    env: &Env,
    declared: &Declared,
    roots: &Roots<Hir>,
    lowered: &Lowered,
    sink: &mut Sink,
) {
    let (params, tensors) = mentioned(roots, &declared.lets);
    let ids = lowered.roots();
    let (params_read, tensors_read) = (
        lowered.exprs.params_read(&ids),
        lowered.exprs.tensors_read(&ids),
    );
    for (id, (param, own)) in (0..).map(ParamId).zip(&declared.params) {
        if *own && !params_read.contains(&id) {
            sink.push(unread(
                "param",
                &param.name,
                param.span,
                params.contains(&id),
            ));
        }
    }
    for ((id, tensor), own) in (0..)
        .map(TensorId)
        .zip(&env.tensors)
        .zip(&declared.own_tensors)
    {
        if *own && !tensors_read.contains(&id) {
            let mentioned = tensors.contains(&id);
            sink.push(unread("tensor", &tensor.name, tensor.span, mentioned));
        }
    }
}

/// The same for a variant with errors, whose expressions may be incomplete: inputs that no text comes near to.
fn unmentioned_inputs(input: &Input<'_>, env: &Env, declared: &Declared, sink: &mut Sink) {
    let bodies: Option<Vec<_>> = input
        .layers
        .iter()
        .map(|body| body.mentioned.as_ref())
        .collect();
    let Some(bodies) = bodies else { return };
    let mentioned = |name: &str| {
        let mut words = bodies.iter().flat_map(|body| body.iter());
        words.any(|word| *word == name || nearest(word, [name]).is_some())
    };
    let params = declared.params.iter();
    let params = params.map(|(param, own)| ("param", &param.name, param.span, *own));
    let tensors = env.tensors.iter().zip(&declared.own_tensors);
    let tensors = tensors.map(|(tensor, own)| ("tensor", &tensor.name, tensor.span, *own));
    for (kind, name, span, own) in params.chain(tensors) {
        if own && !mentioned(name) {
            sink.push(unread(kind, name, span, false));
        }
    }
}

fn unread(kind: &str, name: &str, span: Span, mentioned: bool) -> Diagnostic {
    if mentioned {
        return Diagnostic::note(
            codes::FOLDED_INPUT,
            format!("`{kind} {name}` does not influence this variant: every use is folded away"),
            format!("a launch does not take `{name}`; remove it if that is not meant"),
        )
        .at(span, "no input of the kernel");
    }
    Diagnostic::error(
        codes::UNUSED_INPUT,
        format!("nothing reads `{kind} {name}`"),
        format!("use `{name}` in `mask`, `score` or `sink`, or remove it"),
    )
    .at(span, "declared here and never read")
}

/// Moves the expressions into the variant, with the inputs that they read.
fn expressions(
    variant: &mut Variant,
    env: &Env,
    declared: &Declared,
    lowered: Lowered,
    sink_span: Option<Span>,
) {
    let ids = lowered.roots();
    let exprs = &lowered.exprs;
    let reachable: BTreeSet<ExprId> = exprs.reachable(&ids).into_iter().collect();
    let needed: BTreeMap<String, &Requirement> = lowered
        .requirements
        .iter()
        .filter(|(because, _)| reachable.contains(because))
        .map(|(_, requirement)| (requirement.message.clone(), requirement))
        .collect();
    let params = exprs.params_read(&ids);
    let tensors = exprs.tensors_read(&ids);
    let mut compact = Compact::new(exprs, params.iter().copied(), tensors.iter().copied());
    let mask = lowered.roots.mask.map(|id| compact.copy(id));
    let score = lowered.roots.score.map(|id| compact.copy(id));
    let sink = lowered.roots.sink.map(|id| compact.copy(id));
    variant.mask = mask.unwrap_or_else(|| compact.into.bool(true));
    variant.score = score.unwrap_or_else(|| compact.into.var(Var::Score));
    variant.sink = match (sink, sink_span) {
        (Some(value), Some(span)) => Some(Spanned { value, span }),
        _ => None,
    };
    variant.requirements = needed
        .into_values()
        .map(|requirement| Requirement {
            condition: compact.copy(requirement.condition),
            ..requirement.clone()
        })
        .collect();
    variant
        .requirements
        .sort_by_key(|requirement| requirement.span);
    let kept_params: Vec<Param> = params
        .iter()
        .map(|id| declared.params[id.0 as usize].0.clone())
        .collect();
    let kept_tensors: Vec<Tensor> = tensors
        .iter()
        .map(|id| env.tensors[id.0 as usize].clone())
        .collect();
    let places = lowered.places.iter();
    variant.places = places
        .filter_map(|(id, span)| Some((compact.copied(*id)?, *span)))
        .collect();
    variant.exprs = compact.into;
    variant.params = kept_params;
    variant.tensors = kept_tensors;
}
