//! What the analysis proves is compared with brute force over small launches: an accepted index never lies
//! outside, an accepted divisor is never zero, a mask called constant is constant, folding changes nothing.

mod support;

use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ExprId, Node, ParamId, TensorId, Var};
use fa_dsl::variant::{Align, Dim, Size, Variant};
use proptest::prelude::*;
use support::case;

const HEADS: i32 = 4;
const KV_HEADS: i32 = 2;
const BATCHES: i32 = 2;

#[derive(Clone, Copy, Debug)]
struct At {
    top_left: bool,
    b: i32,
    h: i32,
    q_idx: i32,
    kv_idx: i32,
    q_len: i32,
    kv_len: i32,
}

impl Inputs<f32> for At {
    fn var(&self, var: Var) -> Value<f32> {
        let shift = if self.top_left {
            0
        } else {
            self.kv_len - self.q_len
        };
        Value::Int(match var {
            Var::B => self.b,
            Var::H => self.h,
            Var::KvH => self.h / (HEADS / KV_HEADS),
            Var::QIdx => self.q_idx,
            Var::KvIdx => self.kv_idx,
            Var::QPos => self.q_idx + shift,
            Var::QLen => self.q_len,
            Var::KvLen => self.kv_len,
            _ => return Value::Float(1.5),
        })
    }

    fn param(&self, _param: ParamId) -> Value<f32> {
        Value::Int(-3)
    }

    fn load(&self, _tensor: TensorId, index: &[i32]) -> Value<f32> {
        Value::Float(index[0] as f32)
    }
}

/// All pairs of all small launches.
fn everywhere(top_left: bool) -> Vec<At> {
    let mut all = Vec::new();
    for q_len in 1..5 {
        for kv_len in 1..5 {
            for (q_idx, kv_idx) in (0..q_len).flat_map(|q| (0..kv_len).map(move |k| (q, k))) {
                for h in 0..HEADS {
                    let b = (q_idx + h) % BATCHES;
                    all.push(At {
                        top_left,
                        b,
                        h,
                        q_idx,
                        kv_idx,
                        q_len,
                        kv_len,
                    });
                }
            }
        }
    }
    all
}

fn size(dim: &Dim, at: At) -> i64 {
    let of = |size: &Size| match size {
        Size::B => BATCHES,
        Size::H => HEADS,
        Size::KvH => KV_HEADS,
        Size::QLen => at.q_len,
        Size::KvLen => at.kv_len,
    };
    dim.sizes
        .iter()
        .map(|size| i64::from(of(size)))
        .sum::<i64>()
        + dim.constant
}

fn int_at(variant: &Variant, id: ExprId, at: At) -> i64 {
    match Program::new(&variant.exprs, id).run(&at, &mut Vec::new()) {
        Value::Int(value) => i64::from(value),
        other => panic!("an int, not {other:?}"),
    }
}

/// Int expressions as text, over names and small numbers.
fn int_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            "q_idx", "kv_idx", "q_pos", "kv_pos", "b", "h", "kv_h", "q_len", "kv_len", "p",
        ])
        .prop_map(str::to_owned),
        (0..6i32).prop_map(|value| value.to_string()),
        Just("2147483647".to_owned()),
        Just("-2147483648".to_owned()),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} - {b})")),
            (inner.clone(), 0..4i32).prop_map(|(a, b)| format!("({a} * {b})")),
            (inner.clone(), 1..4i32).prop_map(|(a, b)| format!("({a} / {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} / {b})")),
            two.clone().prop_map(|(a, b)| format!("({a} % {b})")),
            two.clone().prop_map(|(a, b)| format!("min({a}, {b})")),
            two.prop_map(|(a, b)| format!("max({a}, {b})")),
            inner.clone().prop_map(|a| format!("abs({a})")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("clamp({a}, {b}, {c})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("if {a} < {b} {{ {b} }} else {{ {c} }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn accepted_indices_lie_inside(
        index in int_text(),
        dim in proptest::sample::select(vec!["q_len", "kv_len", "q_len + kv_len", "h", "kv_h", "b", "4", "9", "kv_len + 3"]),
        clamped in any::<bool>(),
        top_left in any::<bool>(),
        fixed in any::<bool>(),
    ) {
        let index = if clamped { format!("max(min({index}, {dim} - 1), 0)") } else { index };
        let text = format!(
            "attention a {{ head_dim = 64; {} align = {}; param p: int; tensor t: fp32[{dim}]; score = score + t[{index}]; }}",
            if fixed { "heads = 4; kv_heads = 2;" } else { "" },
            if top_left { "top_left" } else { "bottom_right" },
        );
        let text = if index.contains('p') && index.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "p") {
            text
        } else {
            text.replace("param p: int; ", "")
        };
        let checked = case(&text, &[]).checked;
        let Some(variant) = checked.variants.first() else { return Ok(()) };
        prop_assert_eq!(variant.align == Align::TopLeft, top_left);
        for id in variant.exprs.reachable(&[variant.score]) {
            if let Node::Load(tensor, index, _) = variant.exprs.node(id) {
                let dim = &variant.tensor(*tensor).dims[0];
                for at in everywhere(top_left) {
                    let value = int_at(variant, index[0], at);
                    prop_assert!((0..size(dim, at)).contains(&value), "{} at {:?} is {}", text, at, value);
                }
            }
        }
    }

    #[test]
    fn accepted_divisors_are_never_zero_and_constant_masks_are_constant(
        a in int_text(),
        b in int_text(),
        c in int_text(),
        relation in proptest::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]),
    ) {
        let text = format!("attention a {{ head_dim = 64; heads = 4; kv_heads = 2; param p: int; mask = {a} {relation} {b} && p != {c}; }}");
        let checked = case(&text, &[]).checked;
        let Some(variant) = checked.variants.first() else { return Ok(()) };
        for id in variant.exprs.reachable(&[variant.mask]) {
            if let Node::Binary(fa_dsl::ir::Binary::Div | fa_dsl::ir::Binary::Rem, _, divisor) = variant.exprs.node(id) {
                for at in everywhere(false) {
                    prop_assert!(int_at(variant, *divisor, at) != 0, "{} at {:?}", text, at);
                }
            }
        }
        let warned = checked.diagnostics.iter().find(|found| found.code == fa_dsl::codes::CONSTANT_MASK);
        if let Some(warned) = warned {
            let expected = Value::Bool(warned.message.contains("true"));
            for at in everywhere(false) {
                let value = Program::new(&variant.exprs, variant.mask).run(&at, &mut Vec::new());
                prop_assert_eq!(value, expected, "{} at {:?}", text, at);
            }
        }
    }

    #[test]
    fn folding_changes_nothing(
        expr in int_text(),
        values in (-9..9i32, -9..9i32, -9..9i32),
    ) {
        // The same expression over constants, which fold, and over positions, which do not.
        let names = ["q_idx", "kv_idx", "b"];
        let others = ["q_pos", "kv_pos", "q_len", "kv_len", "kv_h"];
        let mut expr = expr;
        for other in others {
            expr = expr.replace(other, "q_idx");
        }
        let expr = expr.replace(['h', 'p'], "b").replace("clambb", "clamp").replace("clamb", "clamp");
        let at = At { top_left: true, b: values.2, h: 0, q_idx: values.0, kv_idx: values.1, q_len: 1, kv_len: 1 };
        let guarded = expr.replace("/ (", "/ max(1, ").replace("% (", "% max(1, ");
        let mut folded = guarded.clone();
        for (name, value) in names.into_iter().zip([values.0, values.1, values.2]) {
            folded = replace_word(&folded, name, &format!("({value})"));
        }
        let build = |expr: &str| {
            let text = format!("attention a {{ head_dim = 64; score = float({expr}); }}");
            case(&text, &[]).checked.variants.into_iter().next()
        };
        let (Some(open), Some(closed)) = (build(&guarded), build(&folded)) else { return Ok(()) };
        let run = |variant: &Variant| Program::new(&variant.exprs, variant.score).run(&at, &mut Vec::new());
        prop_assert!(closed.exprs.as_constant(closed.score).is_some(), "{}", folded);
        prop_assert_eq!(run(&open), run(&closed), "{}", guarded);
    }
}

fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let joined = |c: char| c.is_alphanumeric() || c == '_';
        let whole = !rest[..at].ends_with(joined) && !rest[at + word.len()..].starts_with(joined);
        out.push_str(&rest[..at]);
        out.push_str(if whole { by } else { word });
        rest = &rest[at + word.len()..];
    }
    out + rest
}
