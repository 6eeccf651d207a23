//! Strict mode: what it finds in inputs and results, and what it leaves alone.

use fa_dsl::check::check;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::{Arguments, Error, Kernel, Tensor};

fn variant(fields: &str) -> Variant {
    let mut sources = SourceMap::new();
    let file = sources.add(
        "strict.fa",
        format!("attention strict {{ head_dim = 2; {fields} }}"),
    );
    let mut checked = check(&sources, file, &[]);
    checked.variants.pop().expect("the text is right")
}

fn tensor(dtype: Dtype, rows: usize, value: f64) -> Tensor {
    Tensor::from_f64(dtype, &[1, 1, rows, 2], &vec![value; rows * 2])
}

fn ints(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::from_f64(Dtype::Int32, shape, values)
}

/// Codes and messages of a strict launch of 2 queries and 3 keys, all of them `size`.
fn findings(fields: &str, size: f64, captured: &[(&str, &Tensor)]) -> Vec<String> {
    let variant = variant(fields);
    let dtype = variant.precision.qkv;
    let (q, kv) = (tensor(dtype, 2, size), tensor(dtype, 3, size));
    let mut arguments = Arguments::new(q.view(), kv.view(), kv.view()).strict();
    for (name, tensor) in captured {
        arguments = arguments.with(name, tensor.view());
    }
    match Kernel::reference(&variant).run(&arguments) {
        Ok(_) => Vec::new(),
        Err(Error::Launch(found) | Error::Results(found)) => found
            .into_iter()
            .map(|found| format!("{} {} ({})", found.code, found.message, found.help))
            .collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_input_is_read() {
    let found = findings("precision = fp32;", f64::NAN, &[]);
    assert_eq!(found.len(), 3);
    let start =
        "FA307 4 of 4 elements of `q` are NaN or infinite, the first is NaN at [0, 0, 0, 0]";
    assert!(found[0].starts_with(start), "{}", found[0]);
    assert!(findings("precision = fp32;", 1.0, &[]).is_empty());
}

#[test]
fn a_bias_may_be_minus_infinity() {
    let fields =
        "precision = fp32; tensor bias: fp32[q_len, kv_len]; score = score + bias[q_idx, kv_idx];";
    let bias = |value: f64| Tensor::from_f64(Dtype::Fp32, &[2, 3], &[0., 0., value, 0., 0., 0.]);
    assert!(findings(fields, 1.0, &[("bias", &bias(f64::NEG_INFINITY))]).is_empty());
    let found = findings(fields, 1.0, &[("bias", &bias(f64::INFINITY))]);
    let start = "FA307 1 of 6 elements of `bias` are NaN or +inf, the first is inf at [0, 2]";
    assert!(found[0].starts_with(start), "{}", found[0]);
}

#[test]
fn lengths_lie_within_the_keys() {
    for mask in ["padding(lens)", "causal && prefix(lens[b])"] {
        let fields = format!("tensor lens: int32[b]; mask = {mask};");
        assert!(findings(&fields, 1.0, &[("lens", &ints(&[1], &[3.0]))]).is_empty());
        for (length, shown) in [(4.0, "4"), (-1.0, "-1")] {
            let found = findings(&fields, 1.0, &[("lens", &ints(&[1], &[length]))]);
            let start = format!(
                "FA308 1 of 1 elements of `lens` are out of range, the first is {shown} at [0]"
            );
            assert!(found[0].starts_with(&start), "{}", found[0]);
        }
    }
}

#[test]
fn documents_are_counted_from_zero() {
    let fields = "tensor ids: int32[b, kv_len]; mask = same(ids);";
    assert!(findings(fields, 1.0, &[("ids", &ints(&[1, 3], &[0., 0., 7.]))]).is_empty());
    let found = findings(fields, 1.0, &[("ids", &ints(&[1, 3], &[0., -1., -1.]))]);
    let start = "FA308 2 of 3 elements of `ids` are out of range, the first is -1 at [0, 1]";
    assert!(found[0].starts_with(start), "{}", found[0]);
}

#[test]
fn results_are_read_too() {
    let fields = "precision = fp32; score = log(score - 100.0);";
    let found = findings(fields, 1.0, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("4 of 4 elements of `out`"),
        "{}",
        found[0]
    );
    assert!(
        found[1].contains("2 of 2 elements of `lse`"),
        "{}",
        found[1]
    );
    // An empty row is no fault.
    assert!(
        findings(
            "precision = fp32; mask = window(0, 0) && kv_idx > 1;",
            1.0,
            &[]
        )
        .is_empty()
    );
}

#[test]
fn scores_that_overflow_are_counted() {
    // Each score is 2 * 400 * 400 = 320000; under causality queries 0 and 1 attend to 2 + 3 of 6 pairs.
    let fields = "precision = fp16; scale = 1.0; mask = causal; allow = [FA102];";
    let found = findings(fields, 400.0, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    let start = "FA309 5 of 5 attended scores overflow fp16, which ends at 65504: the first is 320000.000000 at b = 0, \
                 h = 0, q_idx = 0, kv_idx = 0, the largest 320000.000000";
    assert!(found[0].starts_with(start), "{}", found[0]);
    assert!(
        found[0].contains("precision = mixed") && found[0].contains("0.205"),
        "{}",
        found[0]
    );
    // What overflows downwards gives no NaN that results would show.
    let negative = "precision = fp16; scale = -1.0; mask = causal; allow = [FA102];";
    assert!(findings(negative, 400.0, &[])[0].contains("-320000"));
    // A cap, a sound scale, and single precision hold all of them.
    for sound in [
        "precision = fp16; scale = 1.0; score = softcap(score, 50.0); allow = [FA102];",
        "precision = fp16; scale = 0.2; allow = [FA102];",
        "precision = mixed; scale = 1.0;",
    ] {
        assert_eq!(findings(sound, 400.0, &[]), [""; 0], "{sound}");
    }
    // Scores of -inf mask, and are none.
    let masked = "precision = fp16; scale = 1.0; tensor t: fp32[kv_len]; score = min(score, 1.0) + t[kv_idx]; allow = [FA102];";
    let bias = Tensor::from_f64(Dtype::Fp32, &[3], &[0.0, f64::NEG_INFINITY, 0.0]);
    assert_eq!(findings(masked, 400.0, &[("t", &bias)]), [""; 0]);
}
