//! What checked programs become: merged fields, meanings of words, requirements, the expression form.

mod support;

use fa_dsl::check::check_inline;
use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ExprId, ParamId, TensorId, Var};
use fa_dsl::print::format;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Align, Backward, Dtype, Layout, Precision, SplitKv, Variant};
use support::{case, clean, render};

/// One pair of positions.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    b: i32,
    q_idx: i32,
    kv_idx: i32,
    q_len: i32,
    kv_len: i32,
    score: f32,
    element: i32,
}

struct At<'v> {
    variant: &'v Variant,
    pair: Pair,
}

impl Inputs<f32> for At<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let pair = self.pair;
        let shift = match self.variant.align {
            Align::BottomRight => pair.kv_len - pair.q_len,
            Align::TopLeft => 0,
        };
        match var {
            Var::B => Value::Int(pair.b),
            Var::QIdx => Value::Int(pair.q_idx),
            Var::KvIdx => Value::Int(pair.kv_idx),
            Var::QPos => Value::Int(pair.q_idx + shift),
            Var::QLen => Value::Int(pair.q_len),
            Var::KvLen => Value::Int(pair.kv_len),
            Var::Dot | Var::Score => Value::Float(pair.score),
            _ => Value::Int(0),
        }
    }

    fn param(&self, param: ParamId) -> Value<f32> {
        self.variant.param(param).default.expect("a default")
    }

    fn load(&self, _tensor: TensorId, _index: &[i32]) -> Value<f32> {
        Value::Int(self.pair.element)
    }
}

fn value(variant: &Variant, root: ExprId, pair: Pair) -> Value<f32> {
    Program::new(&variant.exprs, root).run(&At { variant, pair }, &mut Vec::new())
}

/// The keys that each query row sees.
fn seen(variant: &Variant, q_len: i32, kv_len: i32) -> Vec<Vec<i32>> {
    let attends = |q_idx: i32, kv_idx: i32| {
        let pair = Pair {
            q_idx,
            kv_idx,
            q_len,
            kv_len,
            ..Pair::default()
        };
        value(variant, variant.mask, pair) == Value::Bool(true)
    };
    (0..q_len)
        .map(|q_idx| {
            (0..kv_len)
                .filter(|kv_idx| attends(q_idx, *kv_idx))
                .collect()
        })
        .collect()
}

fn one(text: &str) -> Variant {
    clean(text).checked.variants.remove(0)
}

fn masked(mask: &str) -> Variant {
    one(&format!("attention a {{ head_dim = 64; mask = {mask}; }}"))
}

#[test]
fn the_first_example_is_read_as_written() {
    let case = clean(include_str!("pass/language.fa"));
    let [local, train] = case.checked.variants.as_slice() else {
        panic!("two variants");
    };
    assert_eq!((local.heads, local.kv_heads), (Some(16), Some(8)));
    assert_eq!((local.head_dim, local.v_head_dim), (256, 256));
    assert_eq!(local.precision, Precision::MIXED_BF16);
    assert_eq!(local.layout, Layout::Bnsd);
    assert_eq!(local.scale, 0.0625);
    assert_eq!(local.params.len(), 1);
    assert_eq!(local.params[0].default, Some(Value::Float(1.0)));
    assert_eq!(local.tensors[0].name, "slopes");
    let tile = local.schedule.tile;
    assert_eq!(tile.block_kv.map(|rows| rows.value), Some(128));
    let on_chip = local.schedule_for("ascend910b").tile;
    assert_eq!(on_chip.block_kv.map(|rows| rows.value), Some(256));
    assert_eq!(on_chip.stages.map(|stages| stages.value), Some(2));
    assert_eq!(train.name.value, "local_softcap_train");
    assert_eq!(train.backward.value, Backward::Recompute);
    let dropout = train.dropout.expect("a rate");
    assert_eq!((dropout.rate, dropout.threshold), (0.1, 6554));
    assert_eq!(
        train.schedule_for("ascend910b"),
        local.schedule_for("ascend910b")
    );
}

#[test]
fn layers_merge_key_by_key() {
    let case = clean(include_str!("pass/inheritance.fa"));
    let [base, tuned, flat] = case.checked.variants.as_slice() else {
        panic!("three variants");
    };
    let tile = |schedule: &fa_dsl::variant::Schedule| {
        let tile = schedule.tile;
        [tile.block_q, tile.block_kv, tile.stages].map(|part| part.map(|part| part.value))
    };
    assert_eq!(tile(&base.schedule), [Some(64), Some(128), None]);
    assert_eq!(
        tile(base.schedule_for("ascend910b")),
        [Some(64), Some(256), None]
    );
    assert_eq!(tile(&tuned.schedule), [Some(64), Some(128), Some(3)]);
    assert_eq!(
        tile(tuned.schedule_for("ascend910b")),
        [Some(128), Some(256), Some(3)]
    );
    assert_eq!(tile(tuned.schedule_for("cpu")), [None, None, None]);
    assert_eq!(tuned.schedule_for("ascend910b").allow, [103, 105]);
    assert_eq!(
        (tuned.precision.qkv, tuned.precision.output),
        (Dtype::Bf16, Dtype::Bf16)
    );
    // `tile = auto` resets what the parent's target block says as well: it comes later.
    assert_eq!(tile(&flat.schedule), [None, None, None]);
    assert_eq!(tile(flat.schedule_for("ascend910b")), [None, None, None]);
    assert!(flat.tensors.is_empty());
    assert_eq!(flat.params.len(), 1);
    assert_eq!(flat.schedule.split_kv, SplitKv::Auto);
}

#[test]
fn mask_words_mean_what_the_table_says() {
    assert_eq!(
        seen(&masked("causal"), 2, 5),
        [vec![0, 1, 2, 3], vec![0, 1, 2, 3, 4]]
    );
    let top_left = one("attention a { head_dim = 64; align = top_left; mask = causal; }");
    assert_eq!(seen(&top_left, 2, 5), [vec![0], vec![0, 1]]);
    assert_eq!(
        seen(&masked("window(0, 0)"), 3, 3),
        [vec![0], vec![1], vec![2]]
    );
    assert_eq!(
        seen(&masked("window(1, 0)"), 4, 4),
        [vec![0], vec![0, 1], vec![1, 2], vec![2, 3]]
    );
    assert_eq!(
        seen(&masked("causal && window(2, unbounded)"), 4, 4),
        [vec![0], vec![0, 1], vec![0, 1, 2], vec![1, 2, 3]]
    );
    assert_eq!(
        seen(&masked("causal || prefix(2)"), 3, 3),
        [vec![0, 1], vec![0, 1], vec![0, 1, 2]]
    );
    let width = |left: &str| seen(&masked(&format!("window({left}, 0)")), 600, 600)[599].len();
    assert_eq!(width("511"), 512);
}

#[test]
fn conjunction_binds_more_loosely_than_comparison() {
    let variant = masked("q_pos >= kv_pos && b % 2 == 0");
    let at = |b, q_idx, kv_idx| {
        let pair = Pair {
            b,
            q_idx,
            kv_idx,
            q_len: 2,
            kv_len: 2,
            ..Pair::default()
        };
        value(&variant, variant.mask, pair)
    };
    assert_eq!(at(0, 1, 0), Value::Bool(true));
    assert_eq!(at(1, 1, 0), Value::Bool(false));
    assert_eq!(at(1, 0, 1), Value::Bool(false));
}

#[test]
fn int_division_rounds_down() {
    let variant =
        masked("(q_idx - 3) / 2 == -2 && (q_idx - 3) % 2 == 1 && -7 / 2 == -4 && -7 % 2 == 1");
    let pair = Pair::default();
    assert_eq!(value(&variant, variant.mask, pair), Value::Bool(true));
}

#[test]
fn softcap_is_applied_where_it_is_written() {
    let variant =
        one("attention a { head_dim = 4; scale = 0.5; score = softcap(score, 2) + 0.0 * dot; }");
    let pair = Pair {
        score: 2.0,
        ..Pair::default()
    };
    let Value::Float(capped) = value(&variant, variant.score, pair) else {
        panic!("a float");
    };
    assert!((capped - 1.523_188).abs() < 1e-5);
}

#[test]
fn same_and_windows_ask_launches_for_what_they_need() {
    let variant = one(
        "attention a { head_dim = 64; param left: int = 3; tensor ids: int32[b, kv_len];
         mask = same(ids) && window(left, 0); }",
    );
    let messages: Vec<&str> = variant
        .requirements
        .iter()
        .map(|requirement| requirement.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "`q_len` at most `kv_len`, because of `same`",
            "`left` of at least 0, as a side of `window`"
        ]
    );
    let pair = Pair {
        q_len: 5,
        kv_len: 4,
        ..Pair::default()
    };
    let holds = |at: usize| value(&variant, variant.requirements[at].condition, pair);
    assert_eq!(
        (holds(0), holds(1)),
        (Value::Bool(false), Value::Bool(true))
    );
}

#[test]
fn constants_are_overridden_by_their_type() {
    let text = "const radius: int = 4; const cap: float = 1.0; const open: bool = false;
        attention a { head_dim = 64; mask = open || window(radius, 0); score = softcap(score, cap); }";
    let defines = [("radius", "1"), ("cap", "2"), ("open", "true")];
    let case = case(text, &defines);
    assert!(!case.checked.has_errors());
    let variant = &case.checked.variants[0];
    assert_eq!(
        variant.exprs.as_constant(variant.mask),
        Some(Value::Bool(true))
    );
}

#[test]
fn the_expression_form_is_one_variant() {
    let mut sources = SourceMap::new();
    let text = "head_dim = 64, mask = causal && window(255, 0), block_q = 64, stages = 2,";
    let file = sources.add("macro", text);
    let checked = check_inline(&sources, file, "local");
    assert!(!checked.has_errors());
    let variant = &checked.variants[0];
    assert_eq!(variant.name.value, "local");
    assert_eq!(
        variant.schedule.tile.block_q.map(|rows| rows.value),
        Some(64)
    );
    assert_eq!(
        variant.schedule.tile.stages.map(|stages| stages.value),
        Some(2)
    );
    let bad = sources.add(
        "macro",
        "head_dim = , mask = window(1 2, 3), layout = bns, tile { block_q = 8; }",
    );
    let checked = check_inline(&sources, bad, "local");
    let codes: Vec<u16> = checked
        .diagnostics
        .iter()
        .map(|found| found.code.0)
        .collect();
    assert_eq!(codes, [1, 1, 13, 12], "{:?}", checked.diagnostics);
}

#[test]
fn scale_is_evaluated_in_double_precision() {
    let scale = |field: &str| one(&format!("attention a {{ head_dim = 80; {field} }}")).scale;
    assert_eq!(scale(""), 1.0 / 80f64.sqrt());
    assert_eq!(scale("scale = 0.1;"), 0.1);
    assert_eq!(scale("scale = 1.0 / float(head_dim);"), 1.0 / 80.0);
}

#[test]
fn formatting_keeps_comments_and_is_canonical() {
    let text = include_str!("format/before.fa");
    let formatted = format(text).expect("it parses");
    expect_test::expect_file!["format/after.fa"].assert_eq(&formatted);
    assert_eq!(format(&formatted).as_deref(), Ok(formatted.as_str()));
}

#[test]
fn diagnostics_render_with_all_their_places() {
    let case = case(
        "attention a { head_dim = 64; heads = 33; kv_heads = 2; scale = 1/8; mask = b & true; }",
        &[],
    );
    let shown: Vec<String> = case
        .checked
        .diagnostics
        .iter()
        .map(|found| render(&case.sources, found))
        .collect();
    expect_test::expect_file!["format/rendered.txt"].assert_eq(&shown.join("\n"));
}
