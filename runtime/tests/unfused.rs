//! Unfused kernels against the f64 reference, on both backends.

use fa_dsl::check::check;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::verify::{Case, Shape, compare};
use fa_runtime::{
    Effort, Error, Kernel, Outputs, Runtime, Tensor, Unfused, lse_shape, output_shape, sample_rows,
    sampled_error,
};
use fa_targets::Target;

/// Variants for CPU kernels: every kind of value, rounding and rows of odd widths.
const CPU: &str = "
attention plain { head_dim = 64; precision = fp32; }
attention all_kinds {
    head_dim = 40; v_head_dim = 72; precision = mixed; layout = bsnd;
    param temperature: float = 0.7;
    tensor sinks: fp32[h];
    tensor bias: fp16[q_len, kv_len];
    mask = causal || prefix(9);
    score = softcap(score / temperature, 20.0) + bias[q_idx, kv_pos];
    sink = sinks[h];
}
attention rounded { head_dim = 64; precision = fp16; dropout = 0.2; mask = window(40, 7); }
";

/// Variants for chips: in whole rows and in pieces, with and without full pieces, a sink, all input types.
const ASCEND: &str = "
attention plain { head_dim = 64; precision = mixed; }
attention alibi {
    head_dim = 144; v_head_dim = 128; precision = mixed_bf16;
    tensor slopes: fp32[h];
    mask = causal;
    score = softcap(score, 20.0) - slopes[h] * float(q_pos - kv_pos);
    sink = slopes[h];
}
attention wide { head_dim = 48; precision = fp32; mask = window(100, 20); layout = bsh; }
";

fn variants(text: &str) -> Vec<Variant> {
    let mut sources = SourceMap::new();
    let file = sources.add("unfused.fa", text);
    let checked = check(&sources, file, &[]);
    assert!(!checked.has_errors(), "{:?}", checked.diagnostics);
    checked.variants
}

fn target(name: &str) -> Target {
    Target::built_in(name).expect("a built-in target")
}

fn runtime(folder: &tempfile::TempDir) -> Runtime {
    Runtime::with_cache(Cache::at(folder.path())).for_effort(Effort::Compile)
}

/// The error of O, what is allowed, the LSE and the notes of one launch.
fn launch(variant: &Variant, kernels: &Unfused, shape: Shape, training: bool) -> (f64, Tensor) {
    let case = Case::random(variant, shape, 7, training);
    let arguments = case.arguments();
    let sizes = arguments.check(variant).expect("a legal case").sizes;
    let out = output_shape(variant, arguments.q.shape());
    let lse = lse_shape(variant, sizes);
    let nan = |dtype, dims: &[usize]| {
        Tensor::from_f64(dtype, dims, &vec![f64::NAN; dims.iter().product()])
    };
    let (mut out, mut lse) = (nan(variant.precision.output, &out), nan(Dtype::Fp32, &lse));
    let mut outputs = Outputs {
        out: out.view_mut(),
        lse: lse.view_mut(),
    };
    let mut scores = kernels.scores(&arguments).expect("a legal case");
    let notes = kernels.launch(&arguments, &mut outputs, &mut scores);
    let notes = notes.unwrap_or_else(|error| panic!("{shape:?}: {error}"));
    assert!(notes.is_empty(), "{shape:?}: {notes:?}");
    let rows = sample_rows(variant, &arguments, usize::MAX).expect("a legal case");
    let error = sampled_error(variant, &out.view(), &rows);
    let judged = compare(variant, &[&Kernel::reference(variant)], &case);
    let allowed = judged.expect("a legal case")[0].out_allowed;
    let name = &variant.name.value;
    assert!(
        error <= allowed,
        "{name} {shape:?}: {error:.2e} of {allowed:.2e}"
    );
    (error, lse)
}

fn shape(batch: usize, (heads, kv_heads): (usize, usize), q_len: usize, kv_len: usize) -> Shape {
    Shape {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
    }
}

#[test]
fn on_the_cpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime(&folder);
    for variant in variants(CPU) {
        let kernels = runtime.compile_unfused(&variant, &target("cpu"));
        let kernels = kernels.unwrap_or_else(|error| panic!("{error}"));
        for sizes in [
            shape(2, (4, 2), 17, 17),
            shape(1, (6, 2), 3, 300),
            shape(1, (1, 1), 70, 290),
            shape(1, (1, 1), 400, 20),
        ] {
            for training in [false, variant.dropout.is_some()] {
                let (_, lse) = launch(&variant, &kernels, sizes, training);
                assert!(
                    lse.to_f64().iter().all(|lse| !lse.is_nan()),
                    "LSE is written"
                );
            }
        }
    }
}

#[test]
fn on_a_chip_without_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime(&folder);
    for variant in variants(ASCEND) {
        let kernels = runtime.compile_unfused(&variant, &target("ascend910b"));
        let kernels = kernels.unwrap_or_else(|error| panic!("{error}"));
        for sizes in [
            shape(2, (2, 1), 33, 33),
            shape(1, (2, 2), 1, 700),
            shape(1, (1, 1), 270, 560),
        ] {
            launch(&variant, &kernels, sizes, false);
        }
    }
}

#[test]
fn what_only_fused_kernels_have_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime(&folder);
    let refused = |text: &str, name: &str, word: &str| {
        let variant = &variants(text)[0];
        let Err(Error::Plan(found)) = runtime.compile_unfused(variant, &target(name)) else {
            panic!("{text} has an unfused kernel for {name}");
        };
        assert!(found[0].message.contains(word), "{}", found[0].message);
    };
    let tnd = "attention packed { head_dim = 64; layout = tnd; }";
    refused(tnd, "cpu", "packed sequences");
    refused(tnd, "ascend910b", "packed sequences");
    let row = "attention r { head_dim = 64; tensor t: fp32[kv_len]; score = score + t[kv_pos]; }";
    refused(row, "ascend910b", "captured elements");
    refused(
        "attention h { head_dim = 64; precision = fp16; }",
        "ascend910b",
        "16 bits",
    );
    refused(
        "attention o { head_dim = 64; v_head_dim = 40; }",
        "ascend910b",
        "fractals",
    );
}
