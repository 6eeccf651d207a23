//! Emitted CPU kernels against the f64 reference: sizes, precisions, strides, masks, scores, captured tensors.

use std::sync::OnceLock;

use crate::support::data::{Data, noise};
use crate::support::variants::{
    Build, nowhere, plain, with_dims, with_dropout, with_param, with_sink, with_tensor,
};
use crate::support::{Built, Setup, Strides, build};
use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, Type, Unary, Var};
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Align, Dim, Dtype, Precision, Size, TileSpec, Variant};

const WIDTHS: [u32; 6] = [1, 16, 40, 64, 129, 256];
const PRECISIONS: [(&str, Precision); 6] = [
    ("fp32", Precision::FP32),
    ("mixed", Precision::MIXED),
    ("mixed_bf16", Precision::MIXED_BF16),
    ("fp16", Precision::FP16),
    ("bf16", Precision::BF16),
    (
        "blend",
        Precision {
            qkv: Dtype::Bf16,
            softmax: Dtype::Fp16,
            accumulate: Dtype::Fp32,
            output: Dtype::Fp32,
        },
    ),
];

fn shared() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut all: Vec<Variant> = WIDTHS
            .iter()
            .map(|width| causal(&format!("causal_{width}"), *width))
            .collect();
        for (name, precision) in PRECISIONS {
            let mut variant = plain(&format!("dense_{name}"), 64);
            variant.precision = precision;
            all.push(variant);
        }
        let mut narrow = causal("narrow_v", 64);
        narrow.v_head_dim = 7;
        narrow.align = Align::TopLeft;
        all.push(narrow);
        all.extend([
            window(),
            tiled(),
            captured(),
            relative(),
            documents(),
            dropped(),
            sunk(),
            zoo(),
        ]);
        build(all)
    })
}

fn causal(name: &str, width: u32) -> Variant {
    let mut variant = plain(name, width);
    variant.mask = variant.exprs.causal();
    variant
}

fn window() -> Variant {
    let mut variant = plain("windowed", 32);
    variant.mask = variant.exprs.window(70, 3);
    variant
}

fn tiled() -> Variant {
    let mut variant = causal("tiled", 48);
    let rows = |value| {
        Some(fa_dsl::span::Spanned {
            value,
            span: nowhere(),
        })
    };
    variant.schedule.tile = TileSpec {
        block_q: rows(16),
        block_kv: rows(48),
        stages: None,
        span: None,
    };
    variant
}

/// A bias over all axes, slopes per head, softcap with a parameter.
fn captured() -> Variant {
    let mut variant = plain("captured", 32);
    let sizes: [&[Size]; 4] = [&[Size::B], &[Size::H], &[Size::QLen], &[Size::KvLen]];
    let bias = with_tensor(&mut variant, "bias", Dtype::Fp16, &sizes);
    let slopes = with_tensor(&mut variant, "scores", Dtype::Bf16, &[&[Size::H]]);
    let keep = with_tensor(&mut variant, "keep", Dtype::Bool, &sizes[2..]);
    let temperature = with_param(&mut variant, "Temperature", Type::Float);
    let e = &mut variant.exprs;
    let (b, h, q, k) = (e.v(Var::B), e.v(Var::H), e.v(Var::QIdx), e.v(Var::KvIdx));
    let bias = e.load(bias, vec![b, h, q, k], Type::Float);
    let slope = e.load(slopes, vec![h], Type::Float);
    let q_pos = e.v(Var::QPos);
    let distance = e.op(Binary::Sub, q_pos, k);
    let distance = e.unary(Unary::ToFloat, distance);
    let tilt = e.op(Binary::Mul, slope, distance);
    let score = e.v(Var::Score);
    let score = e.op(Binary::Div, score, temperature);
    let score = e.softcap(score, 5.0);
    let score = e.op(Binary::Sub, score, tilt);
    variant.score = e.op(Binary::Add, score, bias);
    let e = &mut variant.exprs;
    let keep = e.load(keep, vec![q, k], Type::Bool);
    let causal = e.causal();
    variant.mask = e.op(Binary::And, keep, causal);
    variant
}

/// A table of relative positions: a gather over lanes.
fn relative() -> Variant {
    let mut variant = plain("relative", 16);
    let dims = vec![Dim {
        sizes: Vec::new(),
        constant: 65,
    }];
    let table = with_dims(&mut variant, "table", Dtype::Fp32, dims);
    let e = &mut variant.exprs;
    let (q, k) = (e.v(Var::QPos), e.v(Var::KvIdx));
    let (low, high, middle) = (e.int(-32), e.int(32), e.int(32));
    let distance = e.op(Binary::Sub, q, k);
    let distance = e.op(Binary::Max, distance, low);
    let distance = e.op(Binary::Min, distance, high);
    let index = e.op(Binary::Add, distance, middle);
    let term = e.load(table, vec![index], Type::Float);
    let score = e.v(Var::Score);
    variant.score = e.op(Binary::Add, score, term);
    variant
}

/// Documents packed in one row, or padding: values per key column.
fn documents() -> Variant {
    let mut variant = plain("documents", 24);
    let ids = with_tensor(
        &mut variant,
        "ids",
        Dtype::Int32,
        &[&[Size::B], &[Size::KvLen]],
    );
    let lens = with_tensor(&mut variant, "lens", Dtype::Int32, &[&[Size::B]]);
    let e = &mut variant.exprs;
    let (b, q, k) = (e.v(Var::B), e.v(Var::QPos), e.v(Var::KvIdx));
    let here = e.load(ids, vec![b, q], Type::Int);
    let there = e.load(ids, vec![b, k], Type::Int);
    let len = e.load(lens, vec![b], Type::Int);
    let same = e.op(Binary::Eq, here, there);
    let inside = e.op(Binary::Lt, k, len);
    variant.mask = e.op(Binary::And, same, inside);
    variant
}

fn dropped() -> Variant {
    let mut variant = causal("dropped", 8);
    variant.v_head_dim = 300;
    with_dropout(&mut variant, 0.1);
    variant
}

fn sunk() -> Variant {
    let mut variant = causal("sunk", 16);
    let sinks = with_tensor(&mut variant, "sinks", Dtype::Fp32, &[&[Size::H]]);
    let h = variant.exprs.v(Var::H);
    let sink = variant.exprs.load(sinks, vec![h], Type::Float);
    with_sink(&mut variant, sink);
    variant
}

/// Every operator at once.
fn zoo() -> Variant {
    let mut variant = plain("zoo", 16);
    let shift = with_param(&mut variant, "shift", Type::Int);
    let flag = with_param(&mut variant, "flag", Type::Bool);
    let e = &mut variant.exprs;
    let (q, k, score, dot) = (
        e.v(Var::QIdx),
        e.v(Var::KvIdx),
        e.v(Var::Score),
        e.v(Var::Dot),
    );
    let seven = e.int(7);
    let minus = e.int(-3);
    let difference = e.op(Binary::Sub, q, k);
    let quotient = e.op(Binary::Div, difference, seven);
    let remainder = e.op(Binary::Rem, difference, minus);
    let other = e.op(Binary::Div, difference, minus);
    let product = e.op(Binary::Mul, quotient, remainder);
    let sum = e.op(Binary::Add, product, shift);
    let sum = e.op(Binary::Add, sum, other);
    let negated = e.unary(Unary::Neg, sum);
    let size = e.unary(Unary::Abs, negated);
    let float = e.unary(Unary::ToFloat, size);
    let one = e.float(1.0);
    let above = e.op(Binary::Add, float, one);
    let log = e.unary(Unary::Log, above);
    let root = e.unary(Unary::Sqrt, above);
    let inverse = e.unary(Unary::Rsqrt, above);
    let key = e.unary(Unary::ToFloat, k);
    let key = e.op(Binary::Add, key, one);
    let column = e.unary(Unary::Log, key);
    let squashed = e.unary(Unary::Sigmoid, score);
    let tanh = e.unary(Unary::Tanh, dot);
    let half = e.float(-0.5);
    let scaled = e.op(Binary::Mul, half, squashed);
    let exp = e.unary(Unary::Exp, scaled);
    let floor = e.unary(Unary::Floor, root);
    let back = e.unary(Unary::ToInt, root);
    let back = e.unary(Unary::ToFloat, back);
    let even = e.int(2);
    let parity = e.op(Binary::Rem, k, even);
    let zero = e.int(0);
    let is_even = e.op(Binary::Ne, parity, zero);
    let either = e.op(Binary::Or, is_even, flag);
    let chosen = e.select(either, tanh, exp);
    let low = e.op(Binary::Max, log, half);
    let bounded = e.op(Binary::Min, low, root);
    let mut total = chosen;
    for term in [inverse, column, floor, back, bounded] {
        let term = e.op(Binary::Mul, term, scaled);
        total = e.op(Binary::Add, total, term);
    }
    variant.score = e.op(Binary::Sub, score, total);
    let e = &mut variant.exprs;
    let unequal = e.op(Binary::Ne, remainder, minus);
    let less = e.op(Binary::Lt, quotient, seven);
    let not = e.not(less);
    variant.mask = e.op(Binary::Or, unequal, not);
    variant
}

#[test]
fn lengths_with_tails() {
    for width in WIDTHS {
        for q_len in [1, 2, 17, 128, 130] {
            for kv_len in [1, 5, 128, 129, 300] {
                let (heads, kv_heads) = [(1, 1), (4, 1), (6, 1)][(q_len + kv_len) % 3];
                let mut setup = Setup::new(1, heads, kv_heads, q_len, kv_len);
                setup.salt = (q_len * 1000 + kv_len) as u64;
                shared().check(&format!("causal_{width}"), &setup);
            }
        }
    }
}

#[test]
fn precisions() {
    for (name, _) in PRECISIONS {
        for (q_len, kv_len) in [(1, 1), (17, 300), (130, 129)] {
            shared().check(
                &format!("dense_{name}"),
                &Setup::new(2, 4, 2, q_len, kv_len),
            );
        }
    }
}

#[test]
fn other_widths_of_values_and_top_left() {
    for (q_len, kv_len) in [(5, 9), (9, 5), (140, 260)] {
        shared().check("narrow_v", &Setup::new(2, 2, 1, q_len, kv_len));
    }
}

#[test]
fn windows_and_small_tiles() {
    for (q_len, kv_len) in [(1, 400), (200, 200), (300, 130), (64, 500)] {
        shared().check("windowed", &Setup::new(1, 2, 2, q_len, kv_len));
        shared().check("tiled", &Setup::new(1, 2, 2, q_len, kv_len));
    }
}

#[test]
fn strides_change_no_bit() {
    let mut setup = Setup::new(2, 4, 2, 33, 70);
    let expected = shared().run("causal_40", &setup);
    for order in [
        Strides::Bsnd,
        Strides::Sbh,
        Strides::Sliced,
        Strides::Transposed,
    ] {
        (setup.strides, setup.out_strides) = (order, order);
        assert_eq!(shared().run("causal_40", &setup), expected, "{order:?}");
    }
}

#[test]
fn splits_over_threads_change_no_bit() {
    let mut setup = Setup::new(2, 3, 3, 300, 300);
    setup.threads = 1;
    let expected = shared().run("causal_64", &setup);
    for threads in [2, 3, 7, 18] {
        setup.threads = threads;
        assert_eq!(
            shared().run("causal_64", &setup),
            expected,
            "{threads} threads"
        );
    }
}

#[test]
fn captured_tensors_broadcast() {
    for (q_len, kv_len) in [(3, 7), (130, 131)] {
        for full in [true, false] {
            let mut setup = Setup::new(2, 4, 2, q_len, kv_len);
            let dims = if full {
                [2, 4, q_len, kv_len]
            } else {
                [2, 1, 1, kv_len]
            };
            setup.captured = vec![
                Data::floats(&dims, |place| (noise(9, place) * 8.0).round() / 8.0),
                Data::floats(&[4], |head| head as f32 / 8.0),
                Data::bools(&[q_len, kv_len], |place| noise(5, place) < 0.7),
            ];
            setup.params = vec![Value::Float(0.75)];
            shared().check("captured", &setup);
        }
    }
}

#[test]
fn gathers() {
    for (q_len, kv_len) in [(3, 7), (200, 131)] {
        let mut setup = Setup::new(1, 2, 2, q_len, kv_len);
        setup.captured = vec![Data::floats(&[65], |place| noise(3, place))];
        shared().check("relative", &setup);
    }
}

#[test]
fn documents_and_padding() {
    let mut setup = Setup::new(2, 2, 1, 150, 290);
    setup.captured = vec![
        Data::ints(&[2, 290], |place| (place % 290 / 37) as i32),
        Data::ints(&[2], |b| [280, 133][b]),
    ];
    shared().check("documents", &setup);
}

#[test]
fn sinks_weigh_without_a_value() {
    let mut setup = Setup::new(1, 4, 4, 40, 20);
    setup.captured = vec![Data::floats(&[4], |h| {
        [0.5, -20.0, f32::NEG_INFINITY, 30.0][h]
    })];
    shared().check("sunk", &setup);
}

#[test]
fn every_operator() {
    for flag in [true, false] {
        let mut setup = Setup::new(1, 2, 2, 70, 150);
        setup.params = vec![Value::Int(-5), Value::Bool(flag)];
        shared().check("zoo", &setup);
    }
}

#[test]
fn dropout_acts_in_training_only() {
    let mut setup = Setup::new(2, 2, 2, 140, 300);
    shared().check("dropped", &setup);
    for (seed, offset) in [(42, 0), ((1 << 32) + 42, 7)] {
        setup.training = Some(Seed { seed, offset });
        shared().check("dropped", &setup);
    }
}

#[test]
fn the_lse_is_optional() {
    let mut setup = Setup::new(1, 1, 1, 5, 5);
    setup.wants_lse = false;
    shared().check("causal_16", &setup);
}
