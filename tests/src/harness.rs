//! Kernels of several variants on both backends, compiled together, and launches of small problems.

use fa_dsl::variant::{Dtype, Layout, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::{Arguments, Effort, Kernel, Runtime, Tensor};
use fa_targets::Target;

use crate::{target, variants, with_cores};

/// Kernels of one variant on every backend: the reference, the CPU, and Ascend (emulated without an NPU).
pub struct Backends {
    /// The variant.
    pub variant: Variant,
    /// Its kernels, the reference first.
    pub kernels: Vec<Kernel>,
}

/// O and LSE as f64, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// `[b, h, q, d]`, or the variant's layout.
    pub out: Vec<f64>,
    /// `[b, h, q]`.
    pub lse: Vec<f64>,
}

/// A runtime whose cache lives in the build folder. Kernels are not optimised: problems are small.
pub fn runtime() -> Runtime {
    Runtime::with_cache(Cache::at(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/test-cache"
    )))
    .for_effort(Effort::Compile)
}

/// Compiles all variants of a text for the CPU and for `ascend910b`, each backend in one translation unit.
pub fn compile(text: &str) -> Vec<Backends> {
    compile_for(text, &["cpu", "ascend910b"])
}

/// Compiles all variants of a text for these targets, with one cube core.
pub fn compile_for(text: &str, targets: &[&str]) -> Vec<Backends> {
    let targets: Vec<Target> = targets.iter().map(|name| with_cores(name, 1)).collect();
    compile_on(&runtime(), text, &targets)
}

/// The targets, of the CPU and `ascend910b`, that have a plan for all variants of a text.
pub fn planned(text: &str) -> Vec<&'static str> {
    let variants = variants("cases.fa", text);
    let mut targets = vec!["cpu", "ascend910b"];
    targets.retain(|name| {
        let target = target(name);
        variants
            .iter()
            .all(|variant| fa_codegen::plan(variant, &target).is_ok())
    });
    targets
}

/// Compiles all variants of a text for these targets, all of their cores, in a runtime of one's own.
pub fn compile_with(runtime: &Runtime, text: &str, targets: &[&str]) -> Vec<Backends> {
    let targets: Vec<Target> = targets.iter().map(|name| target(name)).collect();
    compile_on(runtime, text, &targets)
}

/// Compiles all variants of a text for these targets as they are.
pub fn compile_on(runtime: &Runtime, text: &str, targets: &[Target]) -> Vec<Backends> {
    let variants = variants("cases.fa", text);
    let all: Vec<&Variant> = variants.iter().collect();
    let mut backends: Vec<Backends> = variants
        .iter()
        .map(|variant| Backends {
            variant: variant.clone(),
            kernels: vec![Kernel::reference(variant)],
        })
        .collect();
    for target in targets {
        let kernels = runtime
            .compile_many(&all, target)
            .unwrap_or_else(|error| panic!("{}: {error}", target.name));
        for (backends, kernel) in backends.iter_mut().zip(kernels) {
            backends.kernels.push(kernel);
        }
    }
    backends
}

impl Backends {
    /// The variant of that name among several.
    pub fn named<'b>(all: &'b [Backends], name: &str) -> &'b Backends {
        all.iter()
            .find(|backends| backends.variant.name.value == name)
            .unwrap_or_else(|| panic!("no variant {name}"))
    }

    /// Launches on every backend and hands each result on; panics with the backend's name where one refuses.
    pub fn each(&self, arguments: &Arguments<'_>, mut check: impl FnMut(&str, Rows)) {
        for kernel in &self.kernels {
            let name = kernel.backend().name();
            let results = kernel
                .run(arguments)
                .unwrap_or_else(|error| panic!("{} on {name}: {error}", self.variant.name.value));
            let rows = Rows {
                out: results.out.to_f64(),
                lse: results.lse.to_f64(),
            };
            check(name, rows);
        }
    }

    /// Launches the uniform problem: Q = K = 0 and `V[j] = j`, so that a row's output is the mean of the key
    /// indices it sees and its LSE the logarithm of their number.
    pub fn uniform(
        &self,
        batch: usize,
        q_len: usize,
        kv_len: usize,
        check: impl FnMut(&str, Rows),
    ) {
        let problem = Uniform::new(&self.variant, batch, q_len, kv_len);
        self.each(&problem.arguments(), check);
    }
}

/// Tensors of the uniform problem, one head.
pub struct Uniform {
    q: Tensor,
    k: Tensor,
    v: Tensor,
}

impl Uniform {
    /// For a variant with one value column.
    pub fn new(variant: &Variant, batch: usize, q_len: usize, kv_len: usize) -> Uniform {
        assert_eq!((variant.v_head_dim, variant.layout), (1, Layout::Bnsd));
        let width = variant.head_dim as usize;
        let dtype = variant.precision.qkv;
        let keys: Vec<f64> = (0..batch * kv_len)
            .map(|at| (at % kv_len.max(1)) as f64)
            .collect();
        Uniform {
            q: Tensor::zeros(dtype, &[batch, 1, q_len, width]),
            k: Tensor::zeros(dtype, &[batch, 1, kv_len, width]),
            v: Tensor::from_f64(dtype, &[batch, 1, kv_len, 1], &keys),
        }
    }

    /// The launch.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments::new(self.q.view(), self.k.view(), self.v.view())
    }
}

/// Numbers that look random and are the same everywhere: a multiplicative generator.
pub struct Noise(u64);

impl Noise {
    /// From a seed.
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Uniform in `-1..1`.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A tensor of such numbers times a factor.
    pub fn tensor(&mut self, dtype: Dtype, shape: &[usize], factor: f64) -> Tensor {
        let values: Vec<f64> = (0..shape.iter().product())
            .map(|_| factor * self.uniform())
            .collect();
        Tensor::from_f64(dtype, shape, &values)
    }
}

/// Whether two lists agree: equal where infinite, both NaN, or within a tolerance.
pub fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            found == expected
                || (found.is_nan() && expected.is_nan())
                || (found - expected).abs() <= tolerance
        })
}
