//! CPU kernels on every instruction-set level that this processor has, each in a process of its own, where
//! `FA_CPU_LEVEL` names it.

#![allow(
    clippy::print_stdout,
    reason = "the processes tell the test what they computed"
)]

use std::collections::BTreeSet;
use std::process::Command;

use fa_runtime::verify::{Case, Shape, compare};
use fa_tests::harness::compile_for;

/// Element types, expressions and widths that take different paths in the micro-kernels.
const VARIANTS: [&str; 6] = [
    "attention full { head_dim = 64; precision = fp32; }",
    "attention ragged { head_dim = 40; v_head_dim = 72; precision = fp32; mask = causal; }",
    "attention half { head_dim = 128; precision = mixed; mask = causal && window(40, 0); }",
    "attention brain { head_dim = 64; precision = mixed_bf16; score = softcap(score, 20.0); }",
    "attention sixteen { head_dim = 32; precision = fp16; allow = [FA102]; }",
    "attention biased { head_dim = 16; precision = fp32; tensor slopes: fp32[h]; \
     score = score - slopes[h] * float(abs(q_pos - kv_pos)); mask = (q_pos + kv_pos) % 3 != 0; }",
];

/// (query rows, key rows): decode, tails, several tiles.
const SIZES: [(usize, usize); 4] = [(1, 300), (17, 45), (130, 129), (70, 700)];

/// All bits of all outputs, as one number.
fn checksum() -> u64 {
    let text: String = VARIANTS.map(|variant| format!("{variant}\n")).concat();
    let mut sum = 0_u64;
    for backends in compile_for(&text, &["cpu"]) {
        for (q_len, kv_len) in SIZES {
            let shape = Shape {
                batch: 1,
                heads: 4,
                kv_heads: 2,
                q_len,
                kv_len,
            };
            let case = Case::random(&backends.variant, shape, 7, false);
            let kernel = backends.kernels.last().expect("behind the reference");
            for row in compare(&backends.variant, &[kernel], &case).expect("a launch") {
                assert!(row.pass, "{row:?}");
            }
            let results = kernel.run(&case.arguments()).expect("a launch");
            for byte in results.out.bytes() {
                sum = sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte);
            }
        }
    }
    sum
}

/// Runs in a process of its own, by the test below.
#[test]
#[ignore = "a part of the test of all levels"]
fn one_level() {
    println!("checksum {}", checksum());
}

#[test]
fn every_level_agrees_with_the_reference() {
    let this = std::env::current_exe().expect("this program");
    let mut sums = BTreeSet::new();
    for level in fa_codegen::CPU_LEVELS {
        let output = Command::new(&this)
            .args(["--exact", "one_level", "--ignored", "--nocapture"])
            .env("FA_CPU_LEVEL", level)
            .output()
            .expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{level}: {text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let sum = text.lines().find_map(|line| line.split_once("checksum "));
        sums.insert(sum.expect("a checksum").1.to_owned());
    }
    // The first two levels fuse products and sums, the last one does not: equal bits of all would mean that it was not
    // taken where it was asked for.
    #[cfg(target_arch = "x86_64")]
    let fuses = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let fuses = false;
    assert_eq!(sums.len() > 1, fuses, "{sums:?}");
    let output = Command::new(&this)
        .args(["--exact", "one_level", "--ignored", "--nocapture"])
        .env("FA_CPU_LEVEL", "sse9")
        .output()
        .expect("the program runs");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("set it to avx512, avx2, portable"), "{said}");
}
