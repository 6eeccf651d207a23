//! Compiled backends against the reference.

use fa_dsl::ir::Binary;
use fa_dsl::ir::Var;
use fa_dsl::span::{SourceMap, Span};
use fa_dsl::variant::{Precision, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::{Arguments, Kernel, Runtime, Tensor, verify};
use fa_targets::Target;

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
    let rows = verify::verify(kernel.variant(), &[kernel]).expect("cases are legal");
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
    let tensor = Tensor::from_f64(fa_dsl::variant::Dtype::Fp32, &[1, 2, 200, 32], &values);
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
        assert_eq!(many.out.bytes(), one.out.bytes());
        assert_eq!(many.lse.bytes(), one.lse.bytes());
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
