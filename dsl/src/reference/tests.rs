//! Numbers from public bug reports of other attention systems, worked out independently.

use super::*;
use crate::ir::{Binary, ExprId, Exprs, TensorId, Type, Unary, Var};
use crate::span::{SourceMap, Span, Spanned};
use crate::variant::{Align, Dim, Dropout, Dtype, Size, Tensor};

fn here() -> Span {
    let file = SourceMap::new().add("test.fa", "");
    Span {
        file,
        start: 0,
        end: 0,
    }
}

fn variant(head_dim: u32, v_head_dim: u32) -> Variant {
    let mut variant = Variant::with_defaults("case", head_dim, here());
    variant.v_head_dim = v_head_dim;
    variant
}

/// `q_pos - kv_pos`.
fn distance(e: &mut Exprs) -> ExprId {
    let (q, kv) = (e.var(Var::QPos), e.var(Var::KvIdx));
    e.binary(Binary::Sub, q, kv)
}

fn causal(e: &mut Exprs) -> ExprId {
    let (q, kv) = (e.var(Var::QPos), e.var(Var::KvIdx));
    e.binary(Binary::Le, kv, q)
}

/// `window(left, right)`; `None` is `unbounded`.
fn window(e: &mut Exprs, left: Option<i32>, right: Option<i32>) -> ExprId {
    let behind = distance(e);
    let ahead = e.unary(Unary::Neg, behind);
    let mut mask = e.bool(true);
    for (distance, bound) in [(behind, left), (ahead, right)] {
        if let Some(bound) = bound {
            let bound = e.int(bound);
            let side = e.binary(Binary::Le, distance, bound);
            mask = e.and(mask, side);
        }
    }
    mask
}

fn softcap(e: &mut Exprs, x: ExprId, cap: f32) -> ExprId {
    let cap = e.float(cap);
    let quotient = e.binary(Binary::Div, x, cap);
    let tanh = e.unary(Unary::Tanh, quotient);
    e.binary(Binary::Mul, cap, tanh)
}

struct Launch<'a> {
    q_len: usize,
    kv_len: usize,
    captured: Vec<Captured<'a>>,
    training: Option<Seed>,
}

fn launch<'a>(q_len: usize, kv_len: usize) -> Launch<'a> {
    Launch {
        q_len,
        kv_len,
        captured: Vec::new(),
        training: None,
    }
}

/// Runs with `Q = q`, `K = k` in one batch and head.
fn run(variant: &Variant, launch: Launch<'_>, q: &[f64], k: &[f64], v: &[f64]) -> Output {
    let problem = Problem {
        variant,
        sizes: Sizes {
            batch: 1,
            heads: 1,
            kv_heads: 1,
            q_len: launch.q_len,
            kv_len: launch.kv_len,
        },
        packed: None,
        q,
        k,
        v,
        captured: launch.captured,
        params: Vec::new(),
        training: launch.training,
    };
    Reference::new(problem, Arithmetic::Exact)
        .expect("sizes fit")
        .run()
}

/// Q = K = 0 and `V[j] = j`: the mean of the kept keys.
fn uniform(variant: &Variant, q_len: usize, kv_len: usize) -> Output {
    let v: Vec<f64> = (0..kv_len).map(|j| j as f64).collect();
    run(
        variant,
        launch(q_len, kv_len),
        &vec![0.0; q_len],
        &vec![0.0; kv_len],
        &v,
    )
}

fn masked(mask: impl FnOnce(&mut Exprs) -> ExprId) -> Variant {
    let mut variant = variant(1, 1);
    variant.mask = mask(&mut variant.exprs);
    variant
}

fn assert_close(actual: &[f64], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (a, e) in actual.iter().zip(expected) {
        assert!(a == e || (a - e).abs() < 1e-6, "{actual:?} != {expected:?}");
    }
}

#[test]
fn causal_counts_from_the_aligned_corner() {
    let mut case = masked(causal);
    let output = uniform(&case, 2, 5);
    assert_close(&output.out, &[1.5, 2.0]);
    assert_close(&output.lse, &[1.386_294, 1.609_438]);
    case.align = Align::TopLeft;
    let output = uniform(&case, 2, 5);
    assert_close(&output.out, &[0.0, 0.5]);
    assert_close(&output.lse, &[0.0, std::f64::consts::LN_2]);
}

#[test]
fn windows_are_inclusive() {
    let output = uniform(&masked(|e| window(e, Some(1), Some(0))), 4, 4);
    assert_close(&output.out, &[0.0, 0.5, 1.5, 2.5]);
    let both = masked(|e| {
        let (left, right) = (causal(e), window(e, Some(2), None));
        e.and(left, right)
    });
    assert_close(&uniform(&both, 4, 4).out, &[0.0, 0.5, 1.0, 2.0]);
    let diagonal = uniform(&masked(|e| window(e, Some(0), Some(0))), 5, 5);
    assert_close(&diagonal.out, &[0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_close(&diagonal.lse, &[0.0; 5]);
}

#[test]
fn an_empty_row_is_zero_and_minus_infinity() {
    let output = uniform(&masked(|e| e.bool(false)), 2, 3);
    assert_eq!(output.out, [0.0, 0.0]);
    assert_eq!(output.lse, [f64::NEG_INFINITY; 2]);
    // More queries than keys, bottom right: the first rows see nothing.
    let output = uniform(&masked(causal), 3, 2);
    assert_close(&output.out, &[0.0, 0.0, 0.5]);
    assert_eq!(output.lse[0], f64::NEG_INFINITY);
    assert_eq!(uniform(&masked(causal), 2, 0).out, [0.0, 0.0]);
    assert_eq!(uniform(&masked(causal), 0, 2).out, [0.0; 0]);
}

#[test]
fn a_sink_is_a_logit_without_a_value() {
    let mut case = masked(|e| e.bool(false));
    let sink = case.exprs.float(0.25);
    case.sink = Some(Spanned {
        value: sink,
        span: here(),
    });
    let output = uniform(&case, 1, 3);
    assert_eq!((output.out[0], output.lse[0]), (0.0, 0.25));
    case.mask = case.exprs.bool(true);
    let output = uniform(&case, 1, 3);
    let total = 3.0 + 0.25_f64.exp();
    assert_close(&output.out, &[3.0 / total]);
    assert_close(&output.lse, &[total.ln()]);
}

#[test]
fn a_finite_score_stays_arithmetic() {
    let mut case = variant(1, 1);
    case.score = case.exprs.float(-3.4e38);
    let output = uniform(&case, 1, 4);
    assert_close(&output.out, &[1.5]);
}

#[test]
fn lse_is_natural() {
    assert_close(&uniform(&variant(1, 1), 1, 4).lse, &[1.386_294]);
}

#[test]
fn softcap_and_bias_do_not_commute() {
    let build = |inside: bool| {
        let mut case = variant(1, 2);
        case.scale = 1.0;
        let e = &mut case.exprs;
        // Bias (0, -1) over the two keys.
        let kv = e.var(Var::KvIdx);
        let kv = e.unary(Unary::ToFloat, kv);
        let (score, zero) = (e.var(Var::Score), e.float(0.0));
        let bias = e.binary(Binary::Sub, zero, kv);
        case.score = if inside {
            let sum = e.binary(Binary::Add, score, bias);
            softcap(e, sum, 2.0)
        } else {
            let capped = softcap(e, score, 2.0);
            e.binary(Binary::Add, capped, bias)
        };
        case
    };
    let identity = [1.0, 0.0, 0.0, 1.0];
    let weights = |case: &Variant| run(case, launch(1, 2), &[1.0], &[3.0, 1.0], &identity).out;
    assert_close(&weights(&build(true)), &[0.859_398, 0.140_602]);
    assert_close(&weights(&build(false)), &[0.868_306, 0.131_694]);
}

#[test]
fn the_scale_is_applied_once() {
    let mut case = variant(4, 1);
    let score = case.exprs.var(Var::Score);
    case.score = softcap(&mut case.exprs, score, 2.0);
    let output = run(&case, launch(1, 1), &[1.0; 4], &[1.0; 4], &[1.0]);
    assert_close(&output.lse, &[1.523_188]);
}

#[test]
fn alibi_sign() {
    let mut case = masked(causal);
    let e = &mut case.exprs;
    let distance = distance(e);
    let ahead = e.unary(Unary::Neg, distance);
    let ahead = e.unary(Unary::ToFloat, ahead);
    let (slope, score) = (e.float(0.5), e.var(Var::Score));
    let bias = e.binary(Binary::Mul, slope, ahead);
    case.score = e.binary(Binary::Add, score, bias);
    let output = uniform(&case, 4, 4);
    assert_close(&output.out[3..], &[2.084_576]);
}

#[test]
fn dropout_acts_after_softmax_and_in_training_only() {
    let mut case = variant(1, 3);
    case.dropout = Some(Dropout {
        rate: 0.5,
        threshold: 32768,
        span: here(),
    });
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let weights = |training| {
        let launch = Launch {
            training,
            ..launch(1, 3)
        };
        run(&case, launch, &[0.0], &[0.0; 3], &identity)
    };
    assert_close(&weights(None).out, &[1.0 / 3.0; 3]);
    // A seed that drops key 0 alone.
    let seed = (0..1000)
        .map(|seed| Seed { seed, offset: 0 })
        .find(|seed| {
            let drawn = crate::philox::draws(*seed, 0, 0, 0);
            drawn[0] < 32768 && drawn[1] >= 32768 && drawn[2] >= 32768
        })
        .expect("one seed in eight does");
    let output = weights(Some(seed));
    assert_close(&output.out, &[0.0, 2.0 / 3.0, 2.0 / 3.0]);
    assert_close(&output.lse, &[3.0_f64.ln()]);
}

fn with_tensor(dtype: Dtype, sizes: &[Size]) -> Variant {
    let mut case = variant(1, 1);
    case.tensors.push(Tensor {
        name: "t".to_owned(),
        dtype,
        dims: sizes
            .iter()
            .map(|size| Dim {
                sizes: vec![*size],
                constant: 0,
            })
            .collect(),
        grad: false,
        span: here(),
    });
    case
}

#[test]
fn a_bias_of_size_one_broadcasts() {
    let mut case = with_tensor(Dtype::Fp32, &[Size::B, Size::QLen, Size::KvLen]);
    let e = &mut case.exprs;
    let index = vec![e.var(Var::B), e.var(Var::QIdx), e.var(Var::KvIdx)];
    let (score, bias) = (e.var(Var::Score), e.load(TensorId(0), index, Type::Float));
    case.score = e.binary(Binary::Add, score, bias);
    let data = [0.0, 0.0, -1e4, -1e4];
    let launch = Launch {
        captured: vec![Captured {
            elements: Elements::Float(&data),
            dims: vec![1, 1, 4],
        }],
        ..launch(2, 4)
    };
    let output = run(&case, launch, &[0.0; 2], &[0.0; 4], &[0.0, 1.0, 2.0, 3.0]);
    assert_close(&output.out, &[0.5, 0.5]);
}

#[test]
fn nothing_masked_reaches_a_result() {
    let case = masked(causal);
    let (k, v) = ([0.0, f64::NAN], [1.0, f64::INFINITY]);
    let output = run(&case, launch(2, 2), &[0.0; 2], &k, &v);
    assert_eq!((output.out[0], output.lse[0]), (1.0, 0.0));
    assert!(output.out[1].is_nan() && output.lse[1].is_nan());
    // A score of -inf acts as masked, +inf at an attended pair makes the row NaN.
    let score = |k: f64| {
        run(
            &variant(1, 1),
            launch(1, 2),
            &[1.0],
            &[0.0, k],
            &[1.0, f64::NAN],
        )
    };
    assert_eq!(score(f64::NEG_INFINITY).out, [1.0]);
    assert!(score(f64::INFINITY).out[0].is_nan());
}

#[test]
fn groups_share_a_key_head() {
    let mut case = variant(1, 1);
    case.scale = 1.0;
    let v: Vec<f64> = (0..2).map(f64::from).collect();
    let problem = Problem {
        variant: &case,
        sizes: Sizes {
            batch: 1,
            heads: 6,
            kv_heads: 2,
            q_len: 1,
            kv_len: 1,
        },
        packed: None,
        q: &[0.0; 6],
        k: &[0.0; 2],
        v: &v,
        captured: Vec::new(),
        params: Vec::new(),
        training: None,
    };
    let reference = Reference::new(problem.clone(), Arithmetic::Exact).expect("sizes fit");
    assert_eq!(reference.run().out, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let sizes = Sizes {
        heads: 33,
        ..problem.sizes
    };
    let error = Reference::new(Problem { sizes, ..problem }, Arithmetic::Exact)
        .expect_err("2 does not divide 33")
        .to_string();
    assert_eq!(error, "2 key/value heads do not divide 33 query heads");
}

#[test]
fn packed_sequences_may_be_empty() {
    let case = masked(causal);
    let packed = |cu_q: &[usize], cu_kv: &[usize]| {
        let (q_len, kv_len) = (cu_q[cu_q.len() - 1], cu_kv[cu_kv.len() - 1]);
        let v: Vec<f64> = (0..kv_len).map(|j| j as f64).collect();
        let problem = Problem {
            variant: &case,
            sizes: Sizes {
                batch: cu_q.len() - 1,
                heads: 1,
                kv_heads: 1,
                q_len,
                kv_len,
            },
            packed: Some(Packed { cu_q, cu_kv }),
            q: &vec![0.0; q_len],
            k: &vec![0.0; kv_len],
            v: &v,
            captured: Vec::new(),
            params: Vec::new(),
            training: None,
        };
        Reference::new(problem, Arithmetic::Exact)
            .expect("sizes fit")
            .run()
    };
    let output = packed(&[0, 0, 1, 1, 2], &[0, 0, 3, 3, 8]);
    assert_close(&output.out, &[1.0, 5.0]);
    let output = packed(&[0, 0, 3], &[0, 4, 4]);
    assert_eq!(output.out, [0.0; 3]);
    assert_eq!(output.lse, [f64::NEG_INFINITY; 3]);
}

#[test]
fn the_naive_kernel_rounds_where_it_stores() {
    let case = variant(1, 1);
    let coarse: Round = |x| (x * 4.0).round() / 4.0;
    let problem = Problem {
        variant: &case,
        sizes: Sizes {
            batch: 1,
            heads: 1,
            kv_heads: 1,
            q_len: 1,
            kv_len: 3,
        },
        packed: None,
        q: &[0.0],
        k: &[0.0; 3],
        v: &[0.0, 0.0, 1.0],
        captured: Vec::new(),
        params: Vec::new(),
        training: None,
    };
    let naive = Arithmetic::Same {
        accumulate: None,
        softmax: |x| x,
        operand: |x| x,
        output: coarse,
    };
    let run = |arithmetic| {
        let problem = problem.clone();
        Reference::new(problem, arithmetic)
            .expect("sizes fit")
            .run()
    };
    let output = run(naive);
    assert_eq!(output.out, [0.25]);
    assert_close(&output.lse, &[3.0_f64.ln()]);
    // The weight of the only value that is not 0 is lost in a coarse sum.
    let fours: Round = |x| (x * 0.25).round() * 4.0;
    for (accumulate, expected) in [(None, 1.0 / 3.0), (Some(fours), 0.0)] {
        let output = run(Arithmetic::Same {
            accumulate,
            softmax: |x| x,
            operand: |x| x,
            output: |x| x,
        });
        assert_close(&output.out, &[expected]);
    }
}

#[test]
fn products_of_rows_leave_out_scale_and_score() {
    let mut case = variant(2, 1);
    case.score = case.exprs.float(7.0);
    let problem = Problem {
        variant: &case,
        sizes: Sizes {
            batch: 1,
            heads: 1,
            kv_heads: 1,
            q_len: 2,
            kv_len: 2,
        },
        packed: None,
        q: &[1.0, 2.0, 3.0, 4.0],
        k: &[1.0, 0.0, 0.5, 1.0],
        v: &[0.0; 2],
        captured: Vec::new(),
        params: Vec::new(),
        training: None,
    };
    let reference = Reference::new(problem, Arithmetic::Exact).expect("sizes fit");
    let mut scratch = Scratch::default();
    let (place, dots) = reference.dots(1, &mut scratch);
    assert_eq!((place, dots), ([0, 0, 1], &[(0, 3.0), (1, 5.5)][..]));
    let (_, scores) = reference.scores(1, &mut scratch);
    assert_eq!(scores, [(0, 7.0), (1, 7.0)]);
}
