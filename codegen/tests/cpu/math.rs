//! Accuracy of the emitted functions, in units of the last place.

use std::process::Command;

use fa_dsl::ir::{Binary, Unary, Var};

use crate::support::rendered;
use crate::support::variants::{Build, plain};

/// Appended to a kernel that uses all functions: prints the worst error of each at each level.
const PROBE: &str = r#"
fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found == nearest || found.is_nan() && exact.is_nan() {
        return 0.0;
    }
    let unit = f64::from(f32::from_bits(nearest.abs().to_bits() + 1)) - f64::from(nearest.abs());
    (f64::from(found) - exact).abs() / unit
}

fn worst(low: f32, high: f32, f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> f64 {
    let steps = 100_000;
    (0..=steps)
        .map(|step| low + (high - low) * (step as f32 / steps as f32))
        .map(|x| ulps(f(x), exact(f64::from(x))))
        .fold(0.0, f64::max)
}

fn report<L: Level>(level: &str) {
    let sigmoid_exact = |x: f64| 1.0 / (1.0 + (-x).exp());
    println!("{level} exp_of_negative {}", worst(-87.3, 0.0, exp_of_negative::<L>, f64::exp));
    println!("{level} exp {}", worst(-103.0, 88.7, exp::<L>, f64::exp));
    println!("{level} tanh {}", worst(-12.0, 12.0, tanh::<L>, f64::tanh));
    println!("{level} tanh {}", worst(-0.7, 0.7, tanh::<L>, f64::tanh));
    println!("{level} sigmoid {}", worst(-80.0, 80.0, sigmoid::<L>, sigmoid_exact));
    println!("{level} log {}", worst(1e-6, 4.0, log::<L>, f64::ln));
    println!("{level} log {}", worst(1e-42, 1e-37, log::<L>, f64::ln));
    println!("{level} log {}", worst(1.0, 1e30, log::<L>, f64::ln));
    for f in [exp::<L>, tanh::<L>, sigmoid::<L>, log::<L>, exp_of_negative::<L>] {
        assert!(f(f32::NAN).is_nan());
    }
    assert_eq!(exp::<L>(f32::INFINITY), f32::INFINITY);
    assert_eq!(exp::<L>(f32::NEG_INFINITY), 0.0);
    assert_eq!(exp_of_negative::<L>(f32::NEG_INFINITY), 0.0);
    assert_eq!(exp_of_negative::<L>(f32::MIN), 0.0);
    assert_eq!(exp_of_negative::<L>(0.0), 1.0);
    assert_eq!(tanh::<L>(f32::INFINITY), 1.0);
    assert_eq!(tanh::<L>(f32::MIN), -1.0);
    assert_eq!(log::<L>(0.0), f32::NEG_INFINITY);
    assert_eq!(log::<L>(f32::INFINITY), f32::INFINITY);
    assert!(log::<L>(-1.0).is_nan());
}

fn main() {
    report::<Portable>("portable");
    #[cfg(target_arch = "x86_64")]
    report::<Avx2>("fused");
    for half in 0..=u16::MAX {
        let value = Fp16(half).value();
        let back = Fp16::rounded(value).0;
        assert!(back == half || value.is_nan() && back & 0x7fff == 0x7e00, "{half:#x}");
    }
    for bits in (0..0x4800_0000_u32).step_by(997) {
        let value = f32::from_bits(bits);
        let (below, nearest) = (Fp16::rounded(value).0, Fp16::rounded(value).value());
        for neighbour in [below.saturating_sub(1), (below + 1).min(0x7c00)] {
            let other = Fp16(neighbour).value().min(65536.0);
            let (own, others) = (nearest.min(65536.0) - value, other - value);
            let tie = own.abs() == others.abs() && (below & 1 == 0 || neighbour == below);
            assert!(own.abs() < others.abs() || tie, "{bits:#x}");
        }
    }
}
"#;

#[test]
fn functions_are_accurate() {
    let mut variant = plain("probe", 16);
    variant.precision.softmax = fa_dsl::variant::Dtype::Fp16;
    let e = &mut variant.exprs;
    let score = e.v(Var::Score);
    variant.score = [Unary::Exp, Unary::Tanh, Unary::Sigmoid, Unary::Log]
        .into_iter()
        .fold(score, |sum, op| {
            let term = e.unary(op, score);
            e.op(Binary::Add, sum, term)
        });
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (source, program) = (folder.path().join("probe.rs"), folder.path().join("probe"));
    let text = rendered(&variant).1 + PROBE;
    std::fs::write(&source, text).expect("the temporary folder is writable");
    let compiled = Command::new("rustc")
        .args(["--edition=2024", "-Copt-level=2", "-Adead_code", "-o"])
        .args([&program, &source])
        .output()
        .expect("rustc runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let output = Command::new(&program).output().expect("the probe runs");
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for line in report.lines() {
        let (name, error) = line.rsplit_once(' ').expect("a name and a number");
        let error: f64 = error.parse().expect("a number");
        let bound = if name.ends_with("sigmoid") { 3.0 } else { 2.0 };
        assert!(error <= bound, "{report}");
    }
}
