//! Numbers that are no numbers: where they may not reach, and where they must.

use std::sync::OnceLock;

use fa_dsl::ir::{Binary, Type, Var};
use fa_dsl::variant::{Dtype, Precision, Size, Variant};

use crate::support::data::Data;
use crate::support::variants::{Build, plain, with_sink, with_tensor};
use crate::support::{Built, Setup, build, compare};

fn shared() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut causal = plain("causal", 20);
        causal.mask = causal.exprs.causal();
        let mut half = causal.clone();
        half.name.value = "causal_half".to_owned();
        half.precision = Precision::FP16;
        let mut sunk = plain("sunk", 20);
        let h = sunk.exprs.v(Var::H);
        let sinks = with_tensor(&mut sunk, "sinks", Dtype::Fp32, &[&[Size::H]]);
        let sink = sunk.exprs.load(sinks, vec![h], Type::Float);
        with_sink(&mut sunk, sink);
        build(vec![causal, half, scores(), sunk, plain("dense", 20)])
    })
}

/// The score is what a captured tensor says.
fn scores() -> Variant {
    let mut variant = plain("scores", 4);
    let tensor = with_tensor(
        &mut variant,
        "given",
        Dtype::Fp32,
        &[&[Size::QLen], &[Size::KvLen]],
    );
    let e = &mut variant.exprs;
    let (q, k) = (e.v(Var::QIdx), e.v(Var::KvIdx));
    let given = e.load(tensor, vec![q, k], Type::Float);
    let (zero, dot) = (e.float(0.0), e.v(Var::Dot));
    let nothing = e.op(Binary::Mul, zero, dot);
    variant.score = e.op(Binary::Add, given, nothing);
    variant
}

#[test]
fn masked_keys_and_values_reach_no_result() {
    for name in ["causal", "causal_half"] {
        let mut clean = Setup::new(1, 2, 1, 70, 140);
        clean.edit = Some(|sizes, [_, k, v]| poison(sizes.kv_len, k, v, 0.0));
        let expected = shared().run(name, &clean);
        for poisoned in [
            Setup {
                edit: Some(|sizes, [_, k, v]| poison(sizes.kv_len, k, v, f64::NAN)),
                ..clean.clone()
            },
            Setup {
                edit: Some(|sizes, [_, k, v]| poison(sizes.kv_len, k, v, f64::INFINITY)),
                ..clean.clone()
            },
        ] {
            let found = shared().run(name, &poisoned);
            // The last ten keys are seen by the last ten rows only.
            for head in 0..2 {
                let rows = head * 70..head * 70 + 60;
                assert_eq!(
                    found.lse[rows.clone()],
                    expected.lse[rows.clone()],
                    "{name}"
                );
                for row in rows {
                    let out = row * 20..row * 20 + 20;
                    let wanted: Vec<f64> = expected.out[out.clone()]
                        .iter()
                        .map(|x| f64::from(*x))
                        .collect();
                    compare(&format!("{name} row {row}"), &found.out[out], &wanted, 1e-6);
                }
            }
        }
    }
}

/// The last ten keys and values hold this.
fn poison(kv_len: usize, k: &mut [f64], v: &mut [f64], value: f64) {
    let first = (kv_len - 10) * 20;
    k[first..].fill(value);
    v[first..].fill(value);
}

#[test]
fn attended_values_that_are_no_numbers_do() {
    let mut setup = Setup::new(1, 1, 1, 3, 5);
    setup.edit = Some(|_, [_, _, v]| v[2 * 20 + 7] = f64::NAN);
    let found = shared().run("dense", &setup);
    for (place, value) in found.out.iter().enumerate() {
        assert_eq!(value.is_nan(), place % 20 == 7);
    }
}

#[test]
fn scores_without_a_bound() {
    let infinite = f32::INFINITY;
    let rows = [
        [1e4, -1e4, 0.0, 1e4],
        [3e38, -3e38, 3e38, 1.0],
        [-3e38, -3.4e38, -3e38, -3e38],
        [-infinite, 1.0, 2.0, -infinite],
        [-infinite; 4],
        [f32::NAN, 1.0, 2.0, 3.0],
        [infinite, 1.0, -infinite, 3.0],
    ];
    let mut setup = Setup::new(1, 1, 1, rows.len(), 4);
    setup.captured = vec![Data::floats(&[rows.len(), 4], |place| {
        rows[place / 4][place % 4]
    })];
    shared().check("scores", &setup);
    let found = shared().run("scores", &setup);
    assert_eq!(found.lse[4], f32::NEG_INFINITY);
    assert!(found.out[4 * 4..5 * 4].iter().all(|value| *value == 0.0));
    assert!(found.out[5 * 4..].iter().all(|value| value.is_nan()));
    assert!(found.lse[5].is_nan() && found.lse[6].is_nan());
}

#[test]
fn large_inputs_overflow_nothing() {
    for amplitude in [1e-20, 1e2, 1e4] {
        let mut setup = Setup::new(1, 1, 1, 40, 150);
        setup.amplitude = amplitude;
        let found = shared().run("dense", &setup);
        assert!(found.out.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn a_sink_decides_rows_without_keys() {
    let mut setup = Setup::new(1, 3, 3, 2, 0);
    let sinks = [1.5, f32::NEG_INFINITY, f32::NAN];
    setup.captured = vec![Data::floats(&[3], |head| sinks[head])];
    let found = shared().run("sunk", &setup);
    compare(
        "lse",
        &found.lse[..4],
        &[1.5, 1.5, f64::NEG_INFINITY, f64::NEG_INFINITY],
        0.0,
    );
    assert!(found.out[..80].iter().all(|value| *value == 0.0));
    assert!(found.lse[4].is_nan());
}
