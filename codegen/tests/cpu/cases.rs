//! Cases from public bug reports of other attention systems, with the values that a definition gives.
//!
//! "Uniform" means Q = K = 0 and V[j] = j in one column: O is the mean of the kept keys, LSE the log of their
//! number.

use std::sync::OnceLock;

use fa_dsl::ir::{Binary, ExprId, Exprs, Type, Var};
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Align, Dtype, Size, Variant};

use crate::support::data::Data;
use crate::support::variants::{Build, plain, with_dropout, with_tensor};
use crate::support::{Built, Results, Setup, build, compare};

fn uniform(name: &str, mask: impl Fn(&mut Exprs) -> ExprId) -> Variant {
    let mut variant = plain(name, 4);
    variant.v_head_dim = 1;
    variant.mask = mask(&mut variant.exprs);
    variant
}

/// A variant of width 4 and one value column, with a score expression.
fn scored(name: &str, scale: f64, score: impl Fn(&mut Exprs) -> ExprId) -> Variant {
    let mut variant = plain(name, 4);
    (variant.v_head_dim, variant.scale) = (1, scale);
    variant.score = score(&mut variant.exprs);
    variant
}

fn shared() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut top_left = uniform("top_left", Exprs::causal);
        top_left.align = Align::TopLeft;
        build(vec![
            uniform("bottom_right", Exprs::causal),
            top_left,
            uniform("window_1_0", |e| e.window(1, 0)),
            uniform("window_0_0", |e| e.window(0, 0)),
            uniform("ahead", |e| {
                let (causal, window) = (e.causal(), e.window(2, i32::MAX));
                e.op(Binary::And, causal, window)
            }),
            uniform("all", |e| e.bool(true)),
            uniform("none", |e| e.bool(false)),
            scored("lowest", 1.0, |e| e.float(f32::MIN)),
            scored("cap_after", 1.0, |e| {
                let (score, bias) = (e.v(Var::Score), bias(e));
                let sum = e.op(Binary::Add, score, bias);
                e.softcap(sum, 2.0)
            }),
            scored("cap_before", 1.0, |e| {
                let (score, bias) = (e.v(Var::Score), bias(e));
                let capped = e.softcap(score, 2.0);
                e.op(Binary::Add, capped, bias)
            }),
            scored("once", 0.5, |e| {
                let score = e.v(Var::Score);
                e.softcap(score, 2.0)
            }),
            alibi(),
            biased(),
            dropout("dropout", 0.1),
            dropout("half", 0.5),
        ])
    })
}

/// 0 for the first key, -1 for the second.
fn bias(e: &mut Exprs) -> ExprId {
    let key = e.v(Var::KvIdx);
    let key = e.unary(fa_dsl::ir::Unary::ToFloat, key);
    e.unary(fa_dsl::ir::Unary::Neg, key)
}

fn alibi() -> Variant {
    let mut variant = scored("alibi", 1.0, |e| {
        let (key, query, half) = (e.v(Var::KvIdx), e.v(Var::QPos), e.float(0.5));
        let distance = e.op(Binary::Sub, key, query);
        let distance = e.unary(fa_dsl::ir::Unary::ToFloat, distance);
        let tilt = e.op(Binary::Mul, half, distance);
        let score = e.v(Var::Score);
        e.op(Binary::Add, score, tilt)
    });
    variant.mask = variant.exprs.causal();
    variant
}

fn biased() -> Variant {
    let mut variant = plain("biased", 4);
    variant.v_head_dim = 1;
    let tensor = with_tensor(&mut variant, "bias", Dtype::Fp32, &[&[Size::KvLen]]);
    let e = &mut variant.exprs;
    let key = e.v(Var::KvIdx);
    let bias = e.load(tensor, vec![key], Type::Float);
    let score = e.v(Var::Score);
    variant.score = e.op(Binary::Add, score, bias);
    variant
}

fn dropout(name: &str, rate: f64) -> Variant {
    let mut variant = plain(name, 4);
    variant.v_head_dim = 512;
    with_dropout(&mut variant, rate);
    variant
}

/// Q = K = 0, V[j] = j.
fn run_uniform(name: &str, q_len: usize, kv_len: usize) -> Results {
    let mut setup = Setup::new(1, 1, 1, q_len, kv_len);
    setup.edit = Some(|_, [q, k, v]| {
        q.fill(0.0);
        k.fill(0.0);
        count(v);
    });
    shared().run(name, &setup)
}

fn count(values: &mut [f64]) {
    for (place, value) in values.iter_mut().enumerate() {
        *value = place as f64;
    }
}

/// q . k is 3 for the first key, 1 for the second; V[j] = j.
fn run_two_keys(name: &str) -> Results {
    let mut setup = Setup::new(1, 1, 1, 1, 2);
    setup.edit = Some(|_, [q, k, v]| {
        q.copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
        k.copy_from_slice(&[3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        count(v);
    });
    shared().run(name, &setup)
}

#[test]
fn causal_counts_from_the_declared_corner() {
    let found = run_uniform("bottom_right", 2, 5);
    compare("out", &found.out, &[1.5, 2.0], 1e-6);
    compare("lse", &found.lse, &[1.386_294_4, 1.609_437_9], 1e-6);
    let found = run_uniform("top_left", 2, 5);
    compare("out", &found.out, &[0.0, 0.5], 1e-6);
    compare("lse", &found.lse, &[0.0, 2.0_f64.ln()], 1e-6);
}

#[test]
fn windows_are_inclusive() {
    compare(
        "1, 0",
        &run_uniform("window_1_0", 4, 4).out,
        &[0.0, 0.5, 1.5, 2.5],
        1e-6,
    );
    compare(
        "2, open",
        &run_uniform("ahead", 4, 4).out,
        &[0.0, 0.5, 1.0, 2.0],
        1e-6,
    );
    let found = run_uniform("window_0_0", 5, 5);
    compare("0, 0", &found.out, &[0.0, 1.0, 2.0, 3.0, 4.0], 1e-6);
    compare("0, 0 lse", &found.lse, &[0.0; 5], 1e-6);
}

#[test]
fn rows_without_keys_are_zero() {
    for (name, q_len, kv_len, empty) in [
        ("none", 3, 5, 3),
        ("bottom_right", 5, 2, 3),
        ("all", 2, 0, 2),
    ] {
        let found = run_uniform(name, q_len, kv_len);
        assert_eq!(found.out[..empty], [0.0; 3][..empty], "{name}");
        assert_eq!(
            found.lse[..empty],
            [f32::NEG_INFINITY; 3][..empty],
            "{name}"
        );
    }
    assert!(run_uniform("all", 0, 4).out.is_empty());
}

#[test]
fn the_lowest_finite_score_is_a_score() {
    let found = run_uniform("lowest", 1, 4);
    compare("out", &found.out, &[1.5], 1e-6);
}

#[test]
fn every_length_is_computed() {
    for len in [1, 2, 127, 128, 129, 130, 296, 1025] {
        let found = run_uniform("all", len, len);
        let mean = (len - 1) as f64 / 2.0;
        compare("out", &found.out, &vec![mean; len], 1e-5);
        compare("lse", &found.lse, &vec![(len as f64).ln(); len], 1e-6);
    }
}

#[test]
fn masks_agree_with_the_reference_for_small_lengths() {
    for q_len in 1..=5 {
        for kv_len in 1..=5 {
            for name in ["bottom_right", "top_left", "window_1_0", "ahead"] {
                shared().check(name, &Setup::new(1, 1, 1, q_len, kv_len));
            }
        }
    }
}

#[test]
fn heads_map_to_key_heads_by_groups() {
    let mut setup = Setup::new(1, 6, 2, 1, 1);
    setup.edit = Some(|_, [_, _, v]| count(v));
    let found = shared().run("all", &setup);
    assert_eq!(found.out, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn a_large_negative_bias_is_a_mask() {
    let mut setup = Setup::new(1, 1, 1, 1, 4);
    setup.captured = vec![Data::floats(&[4], |key| [0.0, 0.0, -1e4, -1e4][key])];
    setup.edit = Some(|_, [q, _, v]| {
        q.fill(0.0);
        count(v);
    });
    let found = shared().run("biased", &setup);
    compare("out", &found.out, &[0.5], 1e-6);
}

#[test]
fn softcap_and_bias_keep_their_order() {
    compare(
        "cap after",
        &run_two_keys("cap_after").out,
        &[0.140_602],
        1e-5,
    );
    compare(
        "cap before",
        &run_two_keys("cap_before").out,
        &[0.131_694],
        1e-5,
    );
}

#[test]
fn the_scale_applies_once() {
    let mut setup = Setup::new(1, 1, 1, 1, 1);
    setup.edit = Some(|_, [q, k, _]| {
        q.fill(1.0);
        k.fill(1.0);
    });
    let found = shared().run("once", &setup);
    compare("lse", &found.lse, &[1.523_188], 1e-6);
}

#[test]
fn alibi_favours_near_keys() {
    compare(
        "out",
        &run_uniform("alibi", 4, 4).out[3..],
        &[2.084_576],
        1e-6,
    );
}

#[test]
fn lse_is_natural() {
    compare("lse", &run_uniform("all", 1, 4).lse, &[1.386_294], 1e-6);
}

/// With V = I and equal scores, O shows which pairs were kept.
fn kept(name: &str, setup: &mut Setup) -> Results {
    setup.edit = Some(|sizes, [q, _, v]| {
        q.fill(0.0);
        for (place, value) in v.iter_mut().enumerate() {
            *value = f64::from(u8::from(place % 512 == place / 512 % sizes.kv_len));
        }
    });
    shared().run(name, setup)
}

#[test]
fn dropout_follows_the_published_counters() {
    let mut setup = Setup::new(1, 2, 2, 1, 9);
    setup.training = Some(Seed {
        seed: 42,
        offset: 0,
    });
    let found = kept("dropout", &mut setup);
    let weight = 65536.0 / (65536.0 - 6554.0) / 9.0;
    let expected: Vec<f64> = (0..9)
        .map(|key| if key == 5 { 0.0 } else { weight })
        .collect();
    compare("out", &found.out[..9], &expected, 1e-6);
}

#[test]
fn dropout_keeps_its_rate_and_depends_on_the_seed() {
    let mut setup = Setup::new(2, 2, 2, 500, 512);
    setup.training = Some(Seed { seed: 7, offset: 3 });
    let found = kept("dropout", &mut setup);
    let cells = found.out.len() as f64;
    let kept_share = found.out.iter().filter(|weight| **weight > 0.0).count() as f64 / cells;
    let rate = 1.0 - 6554.0 / 65536.0;
    let sigma = (rate * (1.0 - rate) / cells).sqrt();
    assert!(
        (kept_share - rate).abs() < 3.0 * sigma,
        "{kept_share} of {cells}"
    );
    assert_eq!(kept("dropout", &mut setup), found);
    setup.training = Some(Seed { seed: 8, offset: 3 });
    assert_ne!(kept("dropout", &mut setup), found);
}

#[test]
fn dropout_does_not_renormalise() {
    let mut setup = Setup::new(1, 1, 1, 1, 3);
    let one_dropped = (0..200).find_map(|seed| {
        setup.training = Some(Seed { seed, offset: 0 });
        let found = kept("half", &mut setup);
        (found.out[..3]
            .iter()
            .filter(|weight| **weight == 0.0)
            .count()
            == 1)
            .then_some(found)
    });
    let found = one_dropped.expect("one of many seeds drops one of three");
    for weight in found.out[..3].iter().filter(|weight| **weight != 0.0) {
        assert!((weight - 2.0 / 3.0).abs() < 1e-6);
    }
}
