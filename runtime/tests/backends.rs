//! Compiled backends against the reference.

use fa_dsl::ir::Binary;
use fa_dsl::ir::Var;
use fa_dsl::span::{SourceMap, Span};
use fa_dsl::variant::{Align, Dtype, Layout, Precision, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{Arguments, Kernel, Runtime, Tensor, TensorView, verify};
use fa_targets::Target;
use proptest::prop_assert;
use proptest::test_runner::{Config, TestRunner};

fn here() -> Span {
    let file = SourceMap::new().add("test.fa", "");
    Span {
        file,
        start: 0,
        end: 0,
    }
}

fn plain(name: &str, head_dim: u32) -> Variant {
    let mut variant = Variant::with_defaults(name, head_dim, here());
    variant.precision = Precision::FP32;
    variant
}

fn causal(name: &str, head_dim: u32) -> Variant {
    let mut variant = plain(name, head_dim);
    let e = &mut variant.exprs;
    let (q, kv) = (e.var(Var::QPos), e.var(Var::KvIdx));
    variant.mask = e.binary(Binary::Le, kv, q);
    variant
}

fn target(name: &str) -> Target {
    Target::built_in(name).expect("a built-in target")
}

fn assert_verified(kernel: &Kernel) {
    let rows = verify::verify(kernel.variant(), &[kernel], |_| {}).expect("cases are legal");
    let failed: Vec<_> = rows.iter().filter(|row| !row.pass).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(rows.len() >= 8);
}

#[test]
fn cpu_kernels_agree_with_the_reference() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let variants = [plain("plain", 40), causal("causal", 64)];
    let both: Vec<&Variant> = variants.iter().collect();
    let kernels = runtime
        .compile_many(&both, &target("cpu"))
        .expect("both compile");
    for kernel in &kernels {
        assert!(!kernel.cache_hit());
        assert_verified(kernel);
    }
    let again = runtime
        .compile_many(&both, &target("cpu"))
        .expect("both compile");
    assert!(again.iter().all(Kernel::cache_hit));
    assert!(
        runtime
            .compile_many(&[both[0], both[0]], &target("cpu"))
            .is_err()
    );
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let variant = causal("causal", 32);
    let kernel = runtime
        .compile(&variant, &target("cpu"))
        .expect("it compiles");
    let values: Vec<f64> = (0..2 * 200 * 32)
        .map(|i| f64::from(i * 37 % 101) / 50.0 - 1.0)
        .collect();
    let tensor = Tensor::from_f64(Dtype::Fp32, &[1, 2, 200, 32], &values);
    let run = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool")
            .install(|| {
                kernel
                    .run(&Arguments::new(tensor.view(), tensor.view(), tensor.view()))
                    .expect("a plain launch")
            })
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        let many = run(threads);
        assert!(many.out.bytes() == one.out.bytes(), "{threads} threads");
        assert!(many.lse.bytes() == one.lse.bytes(), "{threads} threads");
    }
}

#[test]
fn ascend_kernels_agree_with_the_reference() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let mut variants = [plain("plain", 64), causal("causal", 128)];
    for variant in &mut variants {
        variant.precision = Precision::MIXED;
    }
    let both: Vec<&Variant> = variants.iter().collect();
    let kernels = runtime
        .compile_many(&both, &target("ascend910b"))
        .expect("both compile");
    for kernel in &kernels {
        assert_verified(kernel);
    }
}

fn ramp(dtype: Dtype, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0)
        .collect();
    Tensor::from_f64(dtype, shape, &values)
}

/// Both backends of one variant.
fn both_backends(runtime: &Runtime, variant: &Variant) -> [Kernel; 2] {
    ["cpu", "ascend910b"].map(|name| {
        runtime
            .compile(variant, &target(name))
            .expect("it compiles")
    })
}

#[test]
fn strided_inputs_give_the_bits_of_copies() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let mut variant = causal("strided", 64);
    variant.precision = Precision::MIXED;
    let wide = ramp(Dtype::Fp16, &[1, 40, 2, 128]);
    let permuted = wide.view().permute(&[0, 2, 1, 3]).slice(3, 0, 64, 1);
    let sliced = ramp(Dtype::Fp16, &[1, 2, 80, 64]);
    let sliced = sliced.view().slice(2, 1, 40, 2);
    let one_head = ramp(Dtype::Fp16, &[1, 1, 40, 64]);
    let expanded = one_head.view().expand(1, 2);
    let one_row = ramp(Dtype::Fp16, &[1, 2, 1, 64]);
    let same_row = one_row.view().expand(2, 40);
    let every_second = wide.view().permute(&[0, 2, 1, 3]).slice(3, 0, 64, 2);
    for kernel in both_backends(&runtime, &variant) {
        let run = |q: &TensorView<'_>, k: &TensorView<'_>, v: &TensorView<'_>| {
            let arguments = Arguments::new(q.clone(), k.clone(), v.clone());
            kernel.run(&arguments).expect("a plain launch")
        };
        for [q, k, v] in [
            [&permuted, &sliced, &expanded],
            [&sliced, &expanded, &permuted],
            [&expanded, &permuted, &sliced],
            [&same_row, &every_second, &same_row],
        ] {
            let strided = run(q, k, v);
            let [q, k, v] = [q, k, v].map(TensorView::to_tensor);
            let copied = run(&q.view(), &k.view(), &v.view());
            assert!(strided.out.bytes() == copied.out.bytes(), "O differs");
            assert!(strided.lse.bytes() == copied.lse.bytes(), "LSE differs");
            assert!(copied.report.notes.is_empty(), "{:?}", copied.report.notes);
        }
    }
}

#[test]
fn inputs_that_a_chip_cannot_read_in_place_are_said_to_be_copied() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let mut variant = plain("pitched", 16);
    variant.precision = Precision::MIXED;
    let kernel = runtime
        .compile(&variant, &target("ascend910b"))
        .expect("it compiles");
    let tensor = ramp(Dtype::Fp16, &[1, 1, 4, 16]);
    let far = ramp(Dtype::Fp16, &[1, 1, 4, 70_000]);
    let far = far.view().slice(3, 0, 16, 1);
    let results = kernel
        .run(&Arguments::new(far, tensor.view(), tensor.view()))
        .expect("a plain launch");
    assert_eq!(
        results.report.notes,
        ["`q` was copied to row-major order: its row pitch is 70000, the chip reads 1 to 65535"]
    );
    assert_eq!(
        results.report.emulated,
        std::env::var_os(fa_runtime::ASCEND_HOME_VARIABLE).is_none()
    );
}

#[test]
fn every_dense_layout_agrees_with_the_reference() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let variants = [Layout::Bsnd, Layout::Bsh, Layout::Sbh].map(|layout| {
        let mut variant = causal(layout.name(), 32);
        variant.layout = layout;
        variant.precision = Precision::MIXED;
        variant
    });
    let all: Vec<&Variant> = variants.iter().collect();
    for name in ["cpu", "ascend910b"] {
        for kernel in runtime
            .compile_many(&all, &target(name))
            .expect("all compile")
        {
            assert_verified(&kernel);
        }
    }
}

#[test]
fn nothing_masked_reaches_a_result() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let mut variant = causal("poisoned", 32);
    variant.precision = Precision::FP32;
    let kernel = runtime
        .compile(&variant, &target("cpu"))
        .expect("it compiles");
    let q = ramp(Dtype::Fp32, &[1, 1, 150, 32]);
    let mut poisoned = q.clone();
    // The last key is seen by the last query alone.
    for chunk in poisoned.bytes_mut()[149 * 32 * 4..].chunks_exact_mut(4) {
        chunk.copy_from_slice(&f32::NAN.to_ne_bytes());
    }
    let run = |kv: &Tensor| {
        kernel
            .run(&Arguments::new(q.view(), kv.view(), kv.view()))
            .expect("a plain launch")
    };
    let (clean, dirty) = (run(&q), run(&poisoned));
    // A tile with poison may be summed in another order, so the bits may differ, the values not.
    let largest = clean.out.to_f64()[..149 * 32]
        .iter()
        .zip(dirty.out.to_f64())
        .map(|(clean, dirty)| (clean - dirty).abs())
        .fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a });
    assert!(largest < 1e-6, "{largest}");
    assert!(dirty.out.to_f64()[149 * 32..].iter().all(|x| x.is_nan()));
    assert!(dirty.lse.to_f64()[149].is_nan());
}

/// Masks that meet the corners of a tile in different ways.
fn corner_masks() -> Vec<Variant> {
    let mut variants = Vec::new();
    for (name, align) in [("right", Align::BottomRight), ("left", Align::TopLeft)] {
        let mut variant = causal(&format!("causal_{name}"), 16);
        variant.align = align;
        variant.precision = Precision::MIXED;
        variants.push(variant.clone());
        variant.name.value = format!("window_{name}");
        let e = &mut variant.exprs;
        let (q, kv) = (e.var(Var::QPos), e.var(Var::KvIdx));
        let distance = e.binary(Binary::Sub, q, kv);
        let one = e.int(1);
        let near = e.binary(Binary::Le, distance, one);
        variant.mask = e.and(variant.mask, near);
        variants.push(variant);
    }
    variants
}

#[test]
fn small_lengths_mean_the_same_on_every_backend() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let variants = corner_masks();
    let all: Vec<&Variant> = variants.iter().collect();
    for name in ["cpu", "ascend910b"] {
        for kernel in runtime
            .compile_many(&all, &target(name))
            .expect("all compile")
        {
            for (q_len, kv_len) in (1..=5).flat_map(|q| (1..=5).map(move |kv| (q, kv))) {
                let shape = Shape {
                    batch: 1,
                    heads: 1,
                    kv_heads: 1,
                    q_len,
                    kv_len,
                };
                let case = Case::random(kernel.variant(), shape, 7, false);
                let rows =
                    verify::compare(kernel.variant(), &[&kernel], &case).expect("a legal case");
                assert!(rows[0].pass, "{:#?}", rows[0]);
            }
        }
    }
}

#[test]
fn lengths_beyond_the_limit_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let kernel = runtime
        .compile(&plain("limited", 2), &target("cpu"))
        .expect("it compiles");
    let limit = kernel.plan().expect("a compiled kernel").limits().max_len as usize;
    let q = ramp(Dtype::Fp32, &[1, 1, 1, 2]);
    let too_long = q.view().expand(2, limit + 1);
    let error = kernel
        .run(&Arguments::new(q.view(), too_long.clone(), too_long))
        .expect_err("one key too many");
    let text = error.to_string();
    assert!(text.contains("FA303"), "{text}");
    assert!(text.contains(&format!("at most {limit}")), "{text}");
}

#[test]
fn any_sizes_give_the_reference_with_one_compilation() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let kernel = runtime
        .compile(&causal("any", 24), &target("cpu"))
        .expect("it compiles");
    let sizes = (
        1..3_usize,
        1..3_usize,
        1..4_usize,
        0..200_usize,
        0..200_usize,
    );
    let mut runner = TestRunner::new(Config::with_cases(60));
    runner
        .run(&sizes, |(batch, kv_heads, group, q_len, kv_len)| {
            let shape = Shape {
                batch,
                heads: kv_heads * group,
                kv_heads,
                q_len,
                kv_len,
            };
            let case = Case::random(kernel.variant(), shape, kv_len as u64, false);
            let rows = verify::compare(kernel.variant(), &[&kernel], &case).expect("a legal case");
            prop_assert!(rows[0].pass, "{:#?}", rows[0]);
            Ok(())
        })
        .expect("every size passes");
}
