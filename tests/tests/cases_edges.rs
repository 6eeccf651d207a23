//! Alignment, windows and edges: public bug reports of other attention systems (section A of the case list),
//! each with its right value, on every backend.

use std::sync::LazyLock;

use fa_dsl::variant::Dtype;
use fa_runtime::verify::{Case, Shape, compare};
use fa_runtime::{Arguments, Effort, Kernel, Outputs, Tensor, TensorViewMut};
use fa_tests::harness::{Backends, Noise, Uniform, close, compile, compile_with, runtime};

/// One value column, so that the uniform problem shows which keys a row sees.
static UNIFORM: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile(
        "attention causal_br { head_dim = 16; v_head_dim = 1; mask = causal; }
         attention causal_tl { head_dim = 16; v_head_dim = 1; mask = causal; align = top_left; }
         attention window_1_0 { head_dim = 16; v_head_dim = 1; mask = window(1, 0); }
         attention causal_window_2 { head_dim = 16; v_head_dim = 1; mask = causal && window(2, unbounded); }
         attention window_0_0 { head_dim = 16; v_head_dim = 1; mask = window(0, 0); }
         attention window_3_2 { head_dim = 16; v_head_dim = 1; mask = window(3, 2); }
         attention even_batch { head_dim = 16; v_head_dim = 1; mask = q_pos >= kv_pos && b % 2 == 0; }
         attention lowest { head_dim = 16; v_head_dim = 1; score = -3.4e38 + score; }
         attention lowest_masked { head_dim = 16; v_head_dim = 1; score = -3.4e38 + score; mask = kv_pos != 1; }
         attention nothing { head_dim = 16; v_head_dim = 1; mask = kv_pos < q_pos - 1000; }
         attention prefix_causal { head_dim = 16; v_head_dim = 1; mask = causal || prefix(2); }
         attention remainder { head_dim = 16; v_head_dim = 1; mask = (q_pos + kv_pos) % 3 != 1; }",
    )
});

/// The variants of the other problems, in one translation unit.
static OTHERS: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile(
        "attention heads { head_dim = 16; v_head_dim = 1; }
         attention poison { head_dim = 40; v_head_dim = 24; mask = causal && kv_pos != 7; }
         attention huge { head_dim = 64; mask = causal; scale = 1.0; }
         attention huge_bf16 { head_dim = 64; precision = mixed_bf16; scale = 1.0; }
         attention full { head_dim = 16; v_head_dim = 1; mask = kv_pos < q_pos - 4; }
         attention tails { head_dim = 32; mask = causal; tile { block_q = 32; block_kv = 64; } }
         attention wide_tails { head_dim = 32; tile { block_q = 128; block_kv = 512; stages = 3; } }",
    )
});

/// Uniform problem of one batch: outputs and LSE.
fn expect_uniform(name: &str, q_len: usize, kv_len: usize, out: &[f64], lse: &[f64]) {
    Backends::named(&UNIFORM, name).uniform(1, q_len, kv_len, |backend, rows| {
        assert!(
            close(&rows.out, out, 2e-3),
            "{name} on {backend}: O {:?}, not {out:?}",
            rows.out
        );
        // Near the lowest finite number a unit in the last place of fp32 is 2e31.
        let largest = lse
            .iter()
            .filter(|lse| lse.is_finite())
            .fold(0.0, |most: f64, lse| most.max(lse.abs()));
        assert!(
            close(&rows.lse, lse, 1e-5 + 1e-6 * largest),
            "{name} on {backend}: LSE {:?}, not {lse:?}",
            rows.lse
        );
    });
}

const LN2: f64 = std::f64::consts::LN_2;

#[test]
fn a1_causal_counts_from_the_right_corner() {
    expect_uniform("causal_br", 2, 5, &[1.5, 2.0], &[1.386294, 1.609438]);
    expect_uniform("causal_tl", 2, 5, &[0.0, 0.5], &[0.0, LN2]);
}

#[test]
fn a2_a11_rows_without_a_key_are_zero_with_lse_minus_infinity() {
    let lowest = f64::NEG_INFINITY;
    expect_uniform("nothing", 3, 4, &[0.0; 3], &[lowest; 3]);
    expect_uniform(
        "causal_br",
        4,
        2,
        &[0.0, 0.0, 0.0, 0.5],
        &[lowest, lowest, 0.0, LN2],
    );
}

#[test]
fn a3_a_very_low_score_stays_arithmetic() {
    expect_uniform("lowest", 2, 4, &[1.5; 2], &[-3.4e38; 2]);
    // The masked key weighs nothing even beside scores that low.
    expect_uniform("lowest_masked", 2, 4, &[5.0 / 3.0; 2], &[-3.4e38; 2]);
}

#[test]
fn a4_windows_include_both_ends() {
    expect_uniform(
        "window_1_0",
        4,
        4,
        &[0.0, 0.5, 1.5, 2.5],
        &[0.0, LN2, LN2, LN2],
    );
    expect_uniform(
        "causal_window_2",
        4,
        4,
        &[0.0, 0.5, 1.0, 2.0],
        &[0.0, LN2, 3f64.ln(), 3f64.ln()],
    );
}

#[test]
fn a5_a_negative_window_is_an_error_that_names_unbounded() {
    let mut sources = fa_dsl::span::SourceMap::new();
    let file = sources.add(
        "w.fa",
        "attention w { head_dim = 16; mask = window(-1, 0); }",
    );
    let found = fa_dsl::check::check(&sources, file, &[]).diagnostics;
    let error = found
        .iter()
        .find(|found| found.is_error())
        .expect("an error");
    assert!(error.help.contains("unbounded"), "{}", error.help);
}

#[test]
fn a6_a_window_of_zero_sees_itself() {
    expect_uniform("window_0_0", 5, 5, &[0.0, 1.0, 2.0, 3.0, 4.0], &[0.0; 5]);
}

#[test]
fn a7_comparisons_and_remainders_bind_as_written() {
    let lowest = f64::NEG_INFINITY;
    Backends::named(&UNIFORM, "even_batch").uniform(2, 2, 2, |backend, rows| {
        assert!(
            close(&rows.out, &[0.0, 0.5, 0.0, 0.0], 1e-3),
            "{backend}: {:?}",
            rows.out
        );
        assert!(
            close(&rows.lse, &[0.0, LN2, lowest, lowest], 1e-5),
            "{backend}: {:?}",
            rows.lse
        );
    });
    let mut sources = fa_dsl::span::SourceMap::new();
    let file = sources.add(
        "w.fa",
        "attention w { head_dim = 16; mask = (q_pos >= kv_pos) & b % 2 == 0; }",
    );
    let found = fa_dsl::check::check(&sources, file, &[]).diagnostics;
    let error = found
        .iter()
        .find(|found| found.is_error())
        .expect("an error");
    assert!(error.help.contains("&&"), "{}", error.help);
}

#[test]
fn b17_the_same_mask_on_every_backend_for_all_small_sizes() {
    for backends in UNIFORM.iter() {
        for (q_len, kv_len) in (1..=5).flat_map(|q| (1..=5).map(move |kv| (q, kv))) {
            let mut reference = None;
            backends.uniform(2, q_len, kv_len, |backend, rows| match &reference {
                None => reference = Some(rows),
                Some(reference) => {
                    let name = &backends.variant.name.value;
                    let place = format!("{name} on {backend}, {q_len} x {kv_len}");
                    assert!(
                        close(&rows.out, &reference.out, 3e-3),
                        "{place}: {rows:?} {reference:?}"
                    );
                    // Near the lowest finite number a unit in the last place is 2e31.
                    let exact = rows
                        .lse
                        .iter()
                        .zip(&reference.lse)
                        .all(|(a, b)| a == b || (a - b).abs() <= 1e-5 + 1e-6 * b.abs());
                    assert!(exact, "{place}: {rows:?} {reference:?}");
                }
            });
        }
    }
}

/// Random inputs of these sizes within the error bound on every backend; outputs start as NaN.
fn verify(
    backends: &Backends,
    batch: usize,
    (heads, kv_heads): (usize, usize),
    q_len: usize,
    kv_len: usize,
) {
    let shape = Shape {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
    };
    let case = Case::random(&backends.variant, shape, 11, false);
    let kernels: Vec<&Kernel> = backends.kernels.iter().skip(1).collect();
    for row in compare(&backends.variant, &kernels, &case).expect("the case is sound") {
        assert!(row.pass, "{row:?}");
    }
}

#[test]
fn a8_lengths_that_are_no_multiple_of_the_tile() {
    for length in [1, 2, 127, 128, 129, 130, 296, 1025] {
        for name in ["tails", "wide_tails"] {
            verify(Backends::named(&OTHERS, name), 1, (1, 1), length, length);
        }
    }
    let fast = runtime().for_effort(Effort::Speed);
    let text = "attention long { head_dim = 32; mask = causal; }";
    let cpu = &compile_with(&fast, text, &["cpu"])[0];
    verify(cpu, 1, (1, 1), 4250, 4250);
    verify(Backends::named(&OTHERS, "wide_tails"), 1, (1, 1), 130, 4250);
    verify(Backends::named(&OTHERS, "tails"), 1, (1, 1), 4250, 130);
}

#[test]
fn a9_any_head_dim_and_the_scale_of_the_declared_one() {
    let text: String = [1, 3, 8, 40, 96, 129, 192, 255, 256]
        .iter()
        .map(|width| format!("attention d{width} {{ head_dim = {width}; mask = causal; }}\n"))
        .collect();
    for backends in compile(&text) {
        verify(&backends, 1, (2, 1), 33, 70);
        // The LSE of one key is its score.
        let width = backends.variant.head_dim as usize;
        let row = |value| Tensor::from_f64(Dtype::Fp16, &[1, 1, 1, width], &vec![value; width]);
        let (q, k) = (row(2.0), row(0.25));
        let score = 0.5 * (width as f64).sqrt();
        backends.each(
            &Arguments::new(q.view(), k.view(), k.view()),
            |backend, rows| {
                assert!(close(&rows.lse, &[score], 1e-5), "{width} on {backend}");
            },
        );
    }
    let text: String = [2, 15, 100, 257, 384, 511, 512]
        .iter()
        .map(|width| {
            format!(
                "attention d{width} {{ head_dim = {width}; v_head_dim = {}; }}\n",
                513 - width
            )
        })
        .collect();
    for backends in compile(&text) {
        verify(&backends, 1, (1, 1), 17, 40);
    }
}

#[test]
fn a10_head_counts() {
    let backends = Backends::named(&OTHERS, "heads");
    let mut noise = Noise::new(3);
    let mut tensor = |heads, len, width| noise.tensor(Dtype::Fp16, &[1, heads, len, width], 1.0);
    let (q, k, v) = (tensor(33, 2, 16), tensor(2, 3, 16), tensor(2, 3, 1));
    for kernel in &backends.kernels {
        let error = kernel.run(&Arguments::new(q.view(), k.view(), v.view()));
        let error = error.expect_err("33 is no multiple of 2").to_string();
        assert!(error.contains("33") && error.contains('2'), "{error}");
    }
    // Query heads 0 to 2 read key head 0, the others key head 1.
    let q = Tensor::zeros(Dtype::Fp16, &[1, 6, 1, 16]);
    let k = Tensor::zeros(Dtype::Fp16, &[1, 2, 1, 16]);
    let v = Tensor::from_f64(Dtype::Fp16, &[1, 2, 1, 1], &[10.0, 20.0]);
    backends.each(
        &Arguments::new(q.view(), k.view(), v.view()),
        |backend, rows| {
            assert_eq!(rows.out, [10.0, 10.0, 10.0, 20.0, 20.0, 20.0], "{backend}");
        },
    );
}

#[test]
fn nothing_outside_the_mask_reaches_a_result() {
    let backends = Backends::named(&OTHERS, "poison");
    let mut noise = Noise::new(5);
    let (q_len, kv_len) = (60, 60);
    let q = noise.tensor(Dtype::Fp16, &[1, 2, q_len, 40], 1.0);
    let v_sound = noise.tensor(Dtype::Fp16, &[1, 1, kv_len, 24], 1.0);
    let k_sound = noise.tensor(Dtype::Fp16, &[1, 1, kv_len, 40], 1.0);
    // Key 7 is masked everywhere.
    let poisoned = |tensor: &Tensor, width: usize, with: f64| {
        let mut values = tensor.to_f64();
        values[7 * width..8 * width].fill(with);
        Tensor::from_f64(Dtype::Fp16, tensor.shape(), &values)
    };
    for kernel in &backends.kernels {
        let name = kernel.backend().name();
        let run = |k: &Tensor, v: &Tensor| {
            let results = kernel
                .run(&Arguments::new(q.view(), k.view(), v.view()))
                .expect(name);
            (results.out.to_f64(), results.lse.to_f64())
        };
        let sound = run(&k_sound, &v_sound);
        assert!(sound.0.iter().all(|value| value.is_finite()), "{name}");
        // Code for values that are not finite may sum in another order.
        let same =
            |found: (Vec<f64>, Vec<f64>)| close(&found.0, &sound.0, 1e-3) && found.1 == sound.1;
        for with in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                same(run(&poisoned(&k_sound, 40, with), &v_sound)),
                "{name}: K = {with}"
            );
            // A matrix unit multiplies a masked value row by 0, which NaN survives: the language allows that there.
            if name != "ascend" {
                assert!(
                    same(run(&k_sound, &poisoned(&v_sound, 24, with))),
                    "{name}: V = {with}"
                );
            }
        }
    }
}

/// Looks at O and LSE of a backend.
type Check<'c> = &'c mut dyn FnMut(&str, Vec<f64>, Vec<f64>);

#[test]
fn non_finite_scores_at_attended_pairs() {
    let backends = Backends::named(&OTHERS, "heads");
    let q = Tensor::from_f64(Dtype::Fp16, &[1, 1, 1, 16], &[1.0; 16]);
    let v = Tensor::from_f64(Dtype::Fp16, &[1, 1, 3, 1], &[1.0, 2.0, 4.0]);
    let run = |first: f64, check: Check<'_>| {
        let mut keys = vec![0.0; 3 * 16];
        keys[0] = first;
        let k = Tensor::from_f64(Dtype::Fp16, &[1, 1, 3, 16], &keys);
        backends.each(
            &Arguments::new(q.view(), k.view(), v.view()),
            |backend, rows| {
                check(backend, rows.out, rows.lse);
            },
        );
    };
    run(f64::NAN, &mut |backend, out, _| {
        assert!(out[0].is_nan(), "{backend}: {out:?}")
    });
    run(f64::INFINITY, &mut |backend, out, _| {
        assert!(out[0].is_nan(), "{backend}: {out:?}")
    });
    // A score of -inf acts as masked.
    run(f64::NEG_INFINITY, &mut |backend, out, lse| {
        assert!(
            close(&out, &[3.0], 1e-3) && close(&lse, &[LN2], 1e-5),
            "{backend}: {out:?} {lse:?}"
        );
    });
}

#[test]
fn huge_scores_do_not_overflow() {
    for backends in ["huge", "huge_bf16"].map(|name| Backends::named(&OTHERS, name)) {
        let mut noise = Noise::new(9);
        let dtype = backends.variant.precision.qkv;
        let mut tensor = |len, factor| noise.tensor(dtype, &[1, 1, len, 64], factor);
        // Products of up to 64 * 12.5^2 = 1e4, both signs.
        let (q, k, v) = (tensor(70, 12.5), tensor(130, 12.5), tensor(130, 1.0));
        let mut reference = None;
        backends.each(
            &Arguments::new(q.view(), k.view(), v.view()),
            |backend, rows| {
                assert!(
                    rows.out
                        .iter()
                        .chain(&rows.lse)
                        .all(|value| value.is_finite()),
                    "{backend}"
                );
                match &reference {
                    None => reference = Some(rows),
                    Some(exact) => assert!(close(&rows.out, &exact.out, 2e-2), "{backend}"),
                }
            },
        );
    }
}

#[test]
fn outputs_are_written_to_the_last_element() {
    let backends = Backends::named(&OTHERS, "full");
    for (q_len, kv_len) in [(17, 40), (130, 3), (5, 0)] {
        let problem = Uniform::new(&backends.variant, 1, q_len, kv_len);
        for kernel in &backends.kernels {
            let mut out = Tensor::from_f64(Dtype::Fp16, &[1, 1, q_len, 1], &vec![f64::NAN; q_len]);
            let mut lse = Tensor::from_f64(Dtype::Fp32, &[1, 1, q_len], &vec![f64::NAN; q_len]);
            let mut outputs = Outputs {
                out: view(&mut out),
                lse: view(&mut lse),
            };
            kernel
                .launch(&problem.arguments(), &mut outputs)
                .expect("launches");
            let written = out
                .to_f64()
                .iter()
                .chain(&lse.to_f64())
                .all(|value| !value.is_nan());
            assert!(
                written,
                "{} left NaN at {q_len} x {kv_len}",
                kernel.backend().name()
            );
        }
    }
}

fn view(tensor: &mut Tensor) -> TensorViewMut<'_> {
    tensor.view_mut()
}
