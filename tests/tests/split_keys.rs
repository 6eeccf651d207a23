//! Keys in parts: CPU launches that split the keys of a task, by `split_kv` or because tasks are few, against the
//! reference, and bit by bit on any number of threads.

use std::sync::LazyLock;

use fa_dsl::variant::Dtype;
use fa_runtime::verify::{Case, Shape, compare, shapes};
use fa_runtime::{Arguments, Kernel, Results, Tensor};
use fa_tests::harness::{Backends, compile_for};

/// Tiles are short, so that short launches have parts; whatever decides about keys occurs.
static WRITTEN: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile_for(
        "attention open { head_dim = 16; split_kv = 3; tile { block_kv = 32; block_q = 48; } }
         attention causal { head_dim = 24; v_head_dim = 40; mask = causal; sink = 0.5; split_kv = 5;
             precision = mixed_bf16; heads = 6; kv_heads = 2; tile { block_kv = 16; block_q = 16; } }
         attention window { head_dim = 16; mask = causal && window(20, 0); split_kv = 4;
             tile { block_kv = 32; block_q = 32; } }
         attention packed { head_dim = 16; layout = tnd; mask = causal; sink = -1.0; split_kv = 3;
             tile { block_kv = 16; block_q = 32; } }
         attention scored { head_dim = 32; tensor bias: fp32[h, kv_len]; tensor lens: int32[b]; mask = prefix(lens[b]);
             score = 5.0 * tanh(score / 5.0) + bias[h, kv_idx]; split_kv = 2; tile { block_kv = 32; block_q = 32; } }
         attention dropped { head_dim = 16; dropout = 0.25; split_kv = 3; tile { block_kv = 32; block_q = 32; } }
         attention rounded { head_dim = 16; precision = fp16; split_kv = 3; tile { block_kv = 32; block_q = 32; } }",
        &["cpu"],
    )
});

/// `split_kv = auto`.
static AUTO: LazyLock<Vec<Backends>> = LazyLock::new(|| {
    compile_for(
        "attention long { head_dim = 16; v_head_dim = 1; precision = fp32; mask = causal; }
         attention sunk { head_dim = 16; precision = fp32; sink = 2.0; mask = causal && window(1500, 0); }",
        &["cpu"],
    )
});

fn kernel(backends: &Backends) -> &Kernel {
    &backends.kernels[1]
}

fn on_threads(kernel: &Kernel, arguments: &Arguments<'_>, threads: usize) -> Results {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool")
        .install(|| kernel.run(arguments).expect("a plain launch"))
}

fn assert_agrees(backends: &Backends, case: &Case) {
    match compare(&backends.variant, &[kernel(backends)], case) {
        Ok(rows) => rows.iter().for_each(|row| assert!(row.pass, "{row:?}")),
        Err(error) => assert!(case.shape.q_len > case.shape.kv_len, "{error}"),
    }
}

#[test]
fn written_parts_agree_with_the_reference() {
    for backends in WRITTEN.iter() {
        for (seed, shape) in shapes(&backends.variant).into_iter().enumerate() {
            let training = backends.variant.dropout.is_some();
            assert_agrees(
                backends,
                &Case::random(&backends.variant, shape, seed as u64, training),
            );
        }
    }
}

#[test]
fn long_keys_of_few_tasks_agree_with_the_reference() {
    for backends in AUTO.iter() {
        for (seed, (q_len, kv_len)) in [(1, 3100), (7, 2100), (20, 2050)].into_iter().enumerate() {
            let shape = Shape {
                batch: 1,
                heads: 2,
                kv_heads: 1,
                q_len,
                kv_len,
            };
            assert_agrees(
                backends,
                &Case::random(&backends.variant, shape, seed as u64, false),
            );
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for backends in WRITTEN.iter().chain(AUTO.iter()) {
        let shape = Shape {
            batch: 1,
            heads: backends.variant.heads.unwrap_or(2) as usize,
            kv_heads: backends.variant.kv_heads.unwrap_or(1) as usize,
            q_len: 12,
            kv_len: 2100,
        };
        let case = Case::random(&backends.variant, shape, 7, false);
        let one = on_threads(kernel(backends), &case.arguments(), 1);
        for threads in [2, 5] {
            let many = on_threads(kernel(backends), &case.arguments(), threads);
            let name = &backends.variant.name.value;
            assert!(
                many.out.bytes() == one.out.bytes(),
                "{name}, {threads} threads"
            );
            assert!(
                many.lse.bytes() == one.lse.bytes(),
                "{name}, {threads} threads"
            );
        }
    }
}

/// V counts keys, so that a row's output is the mean of the keys that it sees, whichever parts they lie in; NaN where no
/// row looks changes nothing.
#[test]
fn a_row_sees_the_keys_of_all_parts_and_no_others() {
    let backends = Backends::named(&AUTO, "long");
    let (q_len, kv_len) = (3, 6000);
    let mut values: Vec<f64> = (0..kv_len).map(|key| key as f64).collect();
    values[kv_len - 1] = f64::NAN;
    let zeros = |rows: usize| Tensor::zeros(Dtype::Fp32, &[1, 1, rows, 16]);
    let (q, k) = (zeros(q_len), zeros(kv_len));
    let v = Tensor::from_f64(Dtype::Fp32, &[1, 1, kv_len, 1], &values);
    let results = kernel(backends)
        .run(&Arguments::new(q.view(), k.view(), v.view()))
        .expect("a plain launch");
    let (out, lse) = (results.out.to_f64(), results.lse.to_f64());
    for (row, seen) in [(0, 5998.0), (1, 5999.0)] {
        assert!((out[row] - (seen - 1.0) / 2.0).abs() < 0.01, "{out:?}");
        assert!((lse[row] - f64::ln(seen)).abs() < 1e-5, "{lse:?}");
    }
    assert!(out[2].is_nan(), "{out:?}");
}
