//! The text of emitted files, and what is refused instead.

use std::io::Write as _;
use std::process::{Command, Stdio};

use fa_codegen::{Provenance, plan, render};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::{Binary, Type, Unary, Var};
use fa_dsl::span::{Span, Spanned};
use fa_dsl::variant::{Backward, Dim, Dtype, Layout, Paged, Precision, Size, TileSpec, Variant};
use fa_targets::Target;

use crate::support::rendered;
use crate::support::variants::{
    Build, nowhere, plain, with_dims, with_dropout, with_param, with_sink, with_tensor,
};

/// Variants that between them reach every line of the templates.
fn samples() -> Vec<Variant> {
    let mut causal = plain("Causal", 128);
    causal.mask = causal.exprs.causal();
    (causal.heads, causal.kv_heads) = (Some(8), Some(2));
    let mut half = plain("half", 40);
    half.precision = Precision::FP16;
    half.precision.accumulate = Dtype::Bf16;
    let mut never = plain("never", 16);
    never.mask = never.exprs.bool(false);
    let mut bf16 = plain("bf16", 513 - 1);
    bf16.precision = Precision::BF16;
    bf16.mask = bf16.exprs.window(5, 9);
    vec![
        plain("plain", 64),
        causal,
        half,
        never,
        bf16,
        loaded(),
        bounded(),
        packed(),
    ]
}

/// Packed sequences, with captured tensors on and off their axis.
fn packed() -> Variant {
    let mut variant = plain("packed", 32);
    variant.layout = Layout::Tnd;
    let ids = with_tensor(
        &mut variant,
        "ids",
        Dtype::Int32,
        &[&[Size::B], &[Size::KvLen]],
    );
    let rows = with_tensor(
        &mut variant,
        "rows",
        Dtype::Fp16,
        &[&[Size::H], &[Size::B], &[Size::QLen]],
    );
    let lens = with_tensor(&mut variant, "lens", Dtype::Int32, &[&[Size::B]]);
    let e = &mut variant.exprs;
    let (b, h, q, k) = (e.v(Var::B), e.v(Var::H), e.v(Var::QIdx), e.v(Var::KvIdx));
    let score = e.v(Var::Score);
    let factor = e.load(rows, vec![h, b, q], Type::Float);
    let length = e.load(lens, vec![b], Type::Int);
    let id = e.load(ids, vec![b, k], Type::Int);
    let same = e.op(Binary::Le, id, q);
    let padded = e.op(Binary::Lt, k, length);
    variant.score = e.op(Binary::Mul, score, factor);
    variant.mask = e.op(Binary::And, same, padded);
    variant
}

/// Captured tensors of every type with long and clashing names, dropout, a sink, hoisted columns.
fn loaded() -> Variant {
    let mut variant = plain("loaded", 64);
    variant.precision = Precision::MIXED;
    let temperature = with_param(
        &mut variant,
        "aTemperatureWithAnUnusuallyLongNameIndeed",
        Type::Float,
    );
    let flag = with_param(&mut variant, "seed", Type::Bool);
    let sizes: [&[Size]; 4] = [&[Size::B], &[Size::H], &[Size::QLen], &[Size::KvLen]];
    let bias = with_tensor(&mut variant, "tile", Dtype::Fp16, &sizes);
    let table = with_dims(
        &mut variant,
        "aTableWithAnUnusuallyLongNameIndeed",
        Dtype::Bf16,
        vec![Dim {
            sizes: vec![Size::H, Size::QLen, Size::KvLen],
            constant: -1,
        }],
    );
    let ids = with_tensor(
        &mut variant,
        "ids",
        Dtype::Int32,
        &[&[Size::B], &[Size::KvLen]],
    );
    let keep = with_tensor(&mut variant, "keep", Dtype::Bool, &[&[Size::KvLen]]);
    let sinks = with_tensor(&mut variant, "fn", Dtype::Fp32, &[&[Size::H]]);
    let e = &mut variant.exprs;
    let (b, h, q, k) = (e.v(Var::B), e.v(Var::H), e.v(Var::QIdx), e.v(Var::KvIdx));
    let sink = e.load(sinks, vec![h], Type::Float);
    let bias = e.load(bias, vec![b, h, q, k], Type::Float);
    let sum = e.op(Binary::Add, q, k);
    let entry = e.load(table, vec![sum], Type::Float);
    let id = e.load(ids, vec![b, k], Type::Int);
    let kept = e.load(keep, vec![k], Type::Bool);
    let score = e.v(Var::Score);
    let score = e.op(Binary::Div, score, temperature);
    let score = e.softcap(score, 30.0);
    let score = e.op(Binary::Add, score, bias);
    let with_entry = e.op(Binary::Add, score, entry);
    let own = e.op(Binary::Eq, id, q);
    let own = e.op(Binary::And, own, flag);
    variant.score = e.select(own, with_entry, score);
    variant.mask = kept;
    with_sink(&mut variant, sink);
    with_dropout(&mut variant, 0.25);
    variant
}

/// What clippy might take for a slip: bounds in a row, equal operands, negated comparisons, known constants.
fn bounded() -> Variant {
    let mut variant = plain("bounded", 16);
    let e = &mut variant.exprs;
    let score = e.v(Var::Score);
    let (low, high) = (e.float(-1.0), e.float(std::f32::consts::PI));
    let bounded = e.op(Binary::Max, score, low);
    let bounded = e.op(Binary::Min, bounded, high);
    let log = e.unary(Unary::Log, bounded);
    let sigmoid = e.unary(Unary::Sigmoid, log);
    let difference = e.op(Binary::Sub, bounded, bounded);
    let less = e.op(Binary::Lt, sigmoid, difference);
    let less = e.not(less);
    let (q, k) = (e.v(Var::QIdx), e.v(Var::KvIdx));
    let minus = e.int(-2);
    let quotient = e.op(Binary::Div, q, minus);
    let remainder = e.op(Binary::Rem, k, minus);
    let equal = e.op(Binary::Eq, quotient, remainder);
    variant.mask = e.not(equal);
    variant.score = e.select(less, sigmoid, score);
    variant
}

fn run(command: &mut Command, text: &str) -> String {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the toolchain is installed");
    let mut input = child.stdin.take().expect("it was piped");
    input.write_all(text.as_bytes()).expect("the child reads");
    drop(input);
    let output = child.wait_with_output().expect("the child ends");
    let report = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return String::new();
    }
    report.into_owned()
}

#[test]
fn files_are_as_rustfmt_prints_them() {
    for variant in samples() {
        let (_, text) = rendered(&variant);
        let mut command = Command::new("rustfmt");
        command.args(["--check", "--edition=2024", "--config=style_edition=2024"]);
        let report = run(&mut command, &text);
        assert_eq!(report, "", "{}", variant.name.value);
    }
}

#[test]
fn files_pass_clippy_as_private_modules() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for variant in samples() {
        let (_, text) = rendered(&variant);
        let text = format!("mod kernel {{\n{text}}}\n");
        let mut command = Command::new("clippy-driver");
        command
            .args([
                "--edition=2024",
                "--crate-type=lib",
                "--emit=metadata",
                "-Dwarnings",
                "-Dclippy::all",
            ])
            .args(["-Dclippy::undocumented_unsafe_blocks", "-", "-o"])
            .arg(folder.path().join("kernel.rmeta"));
        let report = run(&mut command, &text);
        assert_eq!(report, "", "{}", variant.name.value);
    }
}

#[test]
fn files_have_the_look_of_the_house() {
    for variant in samples() {
        let (plan, text) = rendered(&variant);
        assert!(text.starts_with("//! Attention `"), "a head");
        assert!(text.ends_with("}\n") && !text.ends_with("\n\n"));
        assert!(!text.contains("allow(") && !text.contains("\n\n\n"));
        assert!(text.contains(plan.symbol()));
        let unsafe_blocks = text.matches("unsafe {").count();
        assert!(text.matches("// SAFETY: ").count() >= unsafe_blocks);
    }
}

#[test]
fn rendering_is_repeatable() {
    for variant in samples() {
        assert_eq!(rendered(&variant).1, rendered(&variant).1);
    }
}

#[test]
fn the_file_is_named_after_variant_and_backend() {
    let target = Target::built_in("cpu").expect("the cpu target is built in");
    let planned = plan(&plain("plain", 64), &target).expect("it is planned");
    let provenance = Provenance {
        source_name: "plain.fa".to_owned(),
        source_sha256: "1".repeat(64),
    };
    let files = render(&planned.plan, &provenance);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path, "plain_cpu.rs");
    assert!(
        files[0]
            .text
            .contains("//! source     plain.fa, sha256 1111111111111111\n")
    );
}

fn refused(variant: &Variant) -> Vec<Diagnostic> {
    let target = Target::built_in("cpu").expect("the cpu target is built in");
    plan(variant, &target).expect_err("the variant is refused")
}

fn at(start: u32) -> Span {
    Span {
        start,
        end: start + 1,
        ..nowhere()
    }
}

#[test]
fn features_that_are_missing_are_refused_together() {
    let mut variant = plain("much", 64);
    variant.paged = Some(Paged {
        page_size: 128,
        span: at(2),
    });
    variant.backward = Spanned {
        value: Backward::Recompute,
        span: at(4),
    };
    variant.precision = Precision::INT8;
    variant.precision_span = Some(at(5));
    let found = refused(&variant);
    let starts: Vec<u32> = found
        .iter()
        .filter_map(|d| d.span())
        .map(|span| span.start)
        .collect();
    assert_eq!(starts, [2, 4, 5]);
    for diagnostic in &found {
        assert_eq!(diagnostic.code.to_string(), "FA201");
        assert!(!diagnostic.help.is_empty());
    }
    assert_eq!(
        found[1].message,
        "the cpu backend does not have a backward kernel yet"
    );
}

fn tile(block_q: u32, block_kv: u32) -> TileSpec {
    let rows = |value| {
        Some(Spanned {
            value,
            span: nowhere(),
        })
    };
    TileSpec {
        block_q: rows(block_q),
        block_kv: rows(block_kv),
        ..TileSpec::default()
    }
}

#[test]
fn a_tile_beyond_the_cache_is_refused_with_one_that_fits() {
    let mut variant = plain("large", 256);
    variant.schedule.tile = tile(1024, 512);
    let found = refused(&variant);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code.to_string(), "FA101");
    assert_eq!(
        found[0].message,
        "tile 1024 x 512 does not fit: L2 needs 3148.11 KiB and `cpu` has 1024 KiB (2175088 bytes too many)"
    );
    assert!(
        found[0].help.contains("block_q = 256; block_kv = 224;"),
        "{}",
        found[0].help
    );
    variant.schedule.tile = tile(256, 240);
    assert_eq!(refused(&variant).len(), 1, "16 keys more do not fit");
    variant.schedule.tile = tile(256, 224);
    let (plan, _) = rendered(&variant);
    assert_eq!((plan.tile().block_q, plan.tile().block_kv), (256, 224));
}

#[test]
fn automatic_tiles_fit_for_every_width() {
    for head_dim in 1..=512 {
        let mut variant = plain("wide", head_dim);
        variant.v_head_dim = 513 - head_dim;
        let (plan, _) = rendered(&variant);
        let memory = &plan.budget().memories[0];
        assert!(memory.used_bytes() <= memory.capacity_bytes);
        assert!(plan.tile().block_q >= 64, "{head_dim}");
    }
}
