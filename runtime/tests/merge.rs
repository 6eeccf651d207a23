//! Merging of partial results by LSE: right values, empty parts, refusals, and splits of the keys against none.

use fa_dsl::check::check;
use fa_dsl::ir::eval::Value;
use fa_dsl::span::SourceMap;
use fa_dsl::variant::{Dtype, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::{Arguments, Error, Kernel, Partial, Results, Runtime, Tensor, merge};
use fa_targets::Target;
use proptest::collection::vec;
use proptest::prelude::*;

fn state(out: &[f32], lse: f32) -> (Tensor, Tensor) {
    (
        Tensor::from_f32(&[1, out.len()], out),
        Tensor::from_f32(&[1], &[lse]),
    )
}

fn merged(states: &[(Tensor, Tensor)]) -> (Vec<f64>, f64) {
    let parts: Vec<Partial<'_>> = states
        .iter()
        .map(|(out, lse)| Partial {
            out: out.view(),
            lse: lse.view(),
        })
        .collect();
    let merged = merge(&parts).expect("states of one shape");
    (merged.out.to_f64(), merged.lse.to_f64()[0])
}

#[test]
fn lse_is_natural() {
    let (out, lse) = merged(&[state(&[1.0], 3.0_f32.ln()), state(&[5.0], 0.0)]);
    assert!((out[0] - 2.0).abs() < 1e-6, "{out:?}");
    assert!((lse - 1.386_294).abs() < 1e-6, "{lse}");
}

#[test]
fn empty_parts_change_nothing() {
    let empty = || state(&[0.0, 0.0], f32::NEG_INFINITY);
    assert_eq!(
        merged(&[empty(), empty()]),
        (vec![0.0, 0.0], f64::NEG_INFINITY)
    );
    let values = [-0.0_f32, 0.1];
    for states in [
        vec![empty(), state(&values, -7.3)],
        vec![state(&values, -7.3), empty()],
        vec![
            state(&[f32::NAN, 3.0], f32::NEG_INFINITY),
            state(&values, -7.3),
        ],
    ] {
        let (out, lse) = merged(&states);
        let bits: Vec<u32> = out.iter().map(|value| (*value as f32).to_bits()).collect();
        assert_eq!(bits, values.map(f32::to_bits));
        assert_eq!(lse, f64::from(-7.3_f32));
    }
}

#[test]
fn extremes_neither_overflow_nor_vanish() {
    let (out, lse) = merged(&[state(&[1.0], 3e38), state(&[2.0], -3e38)]);
    assert_eq!((out[0], lse), (1.0, f64::from(3e38_f32)));
    let (out, lse) = merged(&[state(&[1.0], -3e38), state(&[3.0], -3e38)]);
    assert_eq!((out[0], lse), (2.0, f64::from(-3e38_f32)));
    let (out, lse) = merged(&[state(&[1.0], f32::NAN), state(&[3.0], 0.0)]);
    assert!(out[0].is_nan() && lse.is_nan());
}

#[test]
fn what_does_not_fit_is_named() {
    let (out, lse) = state(&[1.0, 2.0], 0.0);
    let (other, _) = state(&[1.0], 0.0);
    let half = lse.convert(Dtype::Fp16);
    let parts = [
        Partial {
            out: out.view(),
            lse: half.view(),
        },
        Partial {
            out: other.view(),
            lse: out.view(),
        },
    ];
    let Err(Error::Launch(faults)) = merge(&parts) else {
        panic!("three faults");
    };
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`lse` of part 0 is fp16, not fp32",
            "`out` of part 1 has shape [1, 1], that of part 0 [1, 2]",
            "`lse` of part 1 has shape [1, 2], its `out` [1, 1]"
        ]
    );
    assert!(merge(&[]).is_err());
}

/// Several blocks of rows on several cores, tails of rows, blocks and instructions.
const CHIP: (usize, usize) = (601, 70);

#[test]
fn a_chip_merges_as_the_host_does() {
    let (rows, width) = CHIP;
    let empty = f32::NEG_INFINITY;
    // By row: all parts, one without keys, one alone, none, and sums that only the largest is seen in.
    let lse_of = |part: usize, row: usize| match (row % 5, part) {
        (0, _) | (1, 1..) => ((row * 3 + part) as f32 * 0.7).sin() * 4.0,
        (2, 2) => -7.3,
        (4, 0) => 3e38,
        (4, 1) => -3e38,
        (4, _) => 0.5,
        _ => empty,
    };
    let value_of = |part: usize, row: usize, col: usize| match lse_of(part, row) {
        lse if lse == empty => f32::NAN,
        _ if col.is_multiple_of(7) => -0.0,
        _ => ((row * 31 + col * 17 + part * 7) as f32 * 0.37).sin(),
    };
    let state = |part| {
        let out: Vec<f32> = (0..rows * width)
            .map(|at| value_of(part, at / width, at % width))
            .collect();
        let lse: Vec<f32> = (0..rows).map(|row| lse_of(part, row)).collect();
        (
            Tensor::from_f32(&[rows, width], &out),
            Tensor::from_f32(&[rows], &lse),
        )
    };
    let states: Vec<(Tensor, Tensor)> = (0..3).map(state).collect();
    let views = states.iter().map(|(out, lse)| Partial {
        out: out.view(),
        lse: lse.view(),
    });
    let parts: Vec<Partial<'_>> = views.collect();
    let host = merge(&parts).expect("parts of one shape");
    let runtime = Runtime::with_cache(Cache::at(tempfile::tempdir().expect("a folder").path()));
    let chip = runtime
        .merge(&Target::built_in("ascend910b").expect("built in"), &parts)
        .expect("a chip");
    let close = |a: f64, b: f64| a == b || (a - b).abs() <= 2e-6 * (1.0 + b.abs());
    for (row, (a, b)) in chip.lse.to_f64().iter().zip(host.lse.to_f64()).enumerate() {
        assert!(close(*a, b), "LSE of row {row}: {a} and {b}");
    }
    let (a, b) = (chip.out.to_f64(), host.out.to_f64());
    for (at, (a, b)) in a.iter().zip(&b).enumerate() {
        let row = at / width;
        assert!(close(*a, *b), "row {row}: {a} and {b}");
        if matches!(row % 5, 2 | 3) {
            assert_eq!(a.to_bits(), b.to_bits(), "row {row}");
        }
    }
}

#[test]
fn rows_too_wide_for_a_chip_are_refused() {
    let (out, lse) = (
        Tensor::zeros(Dtype::Fp32, &[1, 9000]),
        Tensor::zeros(Dtype::Fp32, &[1]),
    );
    let part = Partial {
        out: out.view(),
        lse: lse.view(),
    };
    let runtime = Runtime::with_cache(Cache::at(tempfile::tempdir().expect("a folder").path()));
    let chip = Target::built_in("ascend910b").expect("built in");
    let Err(Error::Plan(faults)) = runtime.merge(&chip, &[part]) else {
        panic!("9000 values are no row of a chip");
    };
    assert!(faults[0].message.contains("9000"), "{}", faults[0].message);
}

/// Keys that begin at `first`; early rows see none of the later parts.
const SPLIT: &str = "attention split {
    head_dim = 24;
    precision = fp32;
    param first: int;
    mask = kv_idx + first <= q_idx + 7;
}";

fn variant() -> Variant {
    let mut sources = SourceMap::new();
    let file = sources.add("split.fa", SPLIT);
    let mut checked = check(&sources, file, &[]);
    checked.variants.pop().expect("the text is right")
}

fn noise(shape: &[usize], seed: f64) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|i| ((i as f64 + seed) * 12.9898).sin() * 1.7)
        .collect();
    Tensor::from_f64(Dtype::Fp32, shape, &values)
}

/// Rows `first..last` of `[1, heads, rows, width]`.
fn rows(tensor: &Tensor, first: usize, last: usize) -> Tensor {
    let (shape, values) = (tensor.shape(), tensor.to_f64());
    let (rows, width) = (shape[2], shape[3]);
    let kept: Vec<f64> = values
        .chunks((rows * width).max(1))
        .flat_map(|head| head[first * width..last * width].iter().copied())
        .collect();
    Tensor::from_f64(
        tensor.dtype(),
        &[shape[0], shape[1], last - first, width],
        &kept,
    )
}

fn attend(kernel: &Kernel, tensors: &[Tensor; 3], first: usize, last: usize) -> Results {
    let [q, k, v] = tensors;
    let (k, v) = (rows(k, first, last), rows(v, first, last));
    let offset = i32::try_from(first).expect("a short sequence");
    let arguments =
        Arguments::new(q.view(), k.view(), v.view()).with_param("first", Value::Int(offset));
    kernel.run(&arguments).expect("a legal launch")
}

#[test]
fn splits_of_the_keys_merge_to_the_unsplit_result() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = Runtime::with_cache(Cache::at(folder.path()));
    let cpu = Target::built_in("cpu").expect("a built-in target");
    let kernel = runtime.compile(&variant(), &cpu).expect("it compiles");
    let config = ProptestConfig::with_cases(64);
    proptest!(config, |(q_len in 1_usize..40, kv_len in 0_usize..150, cuts in vec(0_usize..150, 0..5))| {
        let tensors = [
            noise(&[1, 2, q_len, 24], 0.0),
            noise(&[1, 1, kv_len, 24], 0.3),
            noise(&[1, 1, kv_len, 24], 0.7),
        ];
        let whole = attend(&kernel, &tensors, 0, kv_len);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(kv_len)).collect();
        cuts.extend([0, kv_len]);
        cuts.sort_unstable();
        let pieces: Vec<Results> = cuts
            .windows(2)
            .map(|cut| attend(&kernel, &tensors, cut[0], cut[1]))
            .collect();
        let parts: Vec<Partial<'_>> = pieces
            .iter()
            .map(|piece| Partial { out: piece.out.view(), lse: piece.lse.view() })
            .collect();
        let merged = merge(&parts).expect("parts of one launch");
        for (found, expected) in [(merged.out, whole.out), (merged.lse, whole.lse)] {
            for (found, expected) in found.to_f64().into_iter().zip(expected.to_f64()) {
                let close = found == expected || (found - expected).abs() <= 2e-6;
                prop_assert!(close, "{found} is not {expected} for cuts {cuts:?}");
            }
        }
    });
}
