//! `fa-gen bench`: the form of its results, and what it refuses.

mod common;

use common::{Folder, TWO};
use serde_json::Value;

/// A shape that takes no time, and kernels that compile quickly.
const SMALL: [&str; 8] = [
    "--name",
    "causal",
    "--shape",
    "1x2x40:72x32",
    "--effort",
    "compile",
    "--format",
    "json",
];

fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["bench", "two.fa"][..], &SMALL, more].concat()
}

/// Fields that a row of timings has in every program.
fn assert_is_timed(row: &Value) {
    for field in [
        "median_ms",
        "min_ms",
        "gflops",
        "gflops_best",
        "prepare_s",
        "pairs",
    ] {
        let value = row[field].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{field} of {row}");
    }
    for (field, value) in [
        ("shape", "1x2x40:72x32"),
        ("dtype", "fp32"),
        ("variant", "causal_d32"),
        ("mode", "fwd"),
        ("suite", "bench"),
    ] {
        assert_eq!(row[field], value, "{field}");
    }
    assert_eq!(row["causal"], true);
    // Bottom-right: the first of 40 rows sees 33 keys, the last all 72.
    let pairs: u32 = 2 * (33..=72).sum::<u32>();
    assert_eq!(row["pairs"].as_f64(), Some(f64::from(pairs)));
    assert_eq!(row["pairs_counted"], "each pair of a head");
}

#[test]
fn the_cpu_is_timed_beside_its_own_unfused_kernels() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&bench(&[
        "--rounds",
        "3",
        "--sample-ms",
        "1",
        "--threads",
        "2",
    ]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    let rows = json["rows"].as_array().expect("rows");
    let peers: Vec<&Value> = rows.iter().map(|row| &row["peer"]).collect();
    assert_eq!(peers, ["fa-gen", "fa-gen-unfused"]);
    for row in rows {
        assert_is_timed(row);
        assert_eq!(row["correct"], true, "{row}");
        assert_eq!(row["modelled"], false);
        assert_eq!(row["threads"], 2);
        assert!(row["all_ms"].as_array().is_some_and(|all| all.len() >= 3));
    }
    assert!(rows[0]["speedup"].is_number());
    let scores = f64::from(2 * 42 * 256 * 4) / f64::from(1 << 20);
    assert_eq!(rows[1]["scores_mib"].as_f64(), Some(scores));
    let meta = &json["meta"];
    assert_eq!(meta["threads"], 2);
    assert!(meta["peak_gflops"].as_f64().is_some_and(|peak| peak > 0.0));
    assert_eq!(meta["date"].as_str().map(str::len), Some(10));
}

#[test]
fn a_chip_is_modelled() {
    let folder = Folder::with("two.fa", TWO);
    let run = folder.run(&bench(&["--backend", "ascend", "-o", "out"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files = folder.files_in("out/causal_d32_ascend910b");
    assert!(
        files.contains(&"causal_d32_unfused_ascend910b.cpp".to_owned()),
        "{files:?}"
    );
    let json = run.json();
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for (row, launches) in rows.iter().zip([1, 3]) {
        assert_is_timed(row);
        assert_eq!(row["modelled"], true);
        assert_eq!(row["target"], "ascend910b");
        assert_eq!(row["launches"].as_array().map(Vec::len), Some(launches));
        assert!(
            row["peak_share"]
                .as_f64()
                .is_some_and(|share| share > 0.0 && share < 1.0)
        );
    }
    assert!(rows[0]["speedup"].as_f64().is_some_and(|times| times > 1.0));
}

#[test]
fn what_cannot_be_timed_is_named() {
    let packed = "attention packed { head_dim = 32; layout = tnd; }";
    let folder = Folder::with("two.fa", packed);
    let arguments = [
        "bench", "two.fa", "--shape", "2x2x20", "--effort", "compile",
    ];
    let run = folder.run(&[&arguments[..], &["--rounds", "1", "--sample-ms", "1"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("fa-gen-unfused: not timed: FA201"),
        "{}",
        run.stdout
    );
    let run = folder.run(&["bench", "two.fa", "--shape", "9999x9999x9999"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(
        run.stdout.contains("MiB of memory are free"),
        "{}",
        run.stdout
    );
    for (arguments, words) in [
        (["--shape", "1x2"], "is no shape"),
        (["--shape", "1x3/2x5"], "do not divide"),
        (["--backend", "reference"], "not timed"),
        (["--threads", "0"], "0 is not in"),
    ] {
        let run = folder.run(&[&["bench", "two.fa"][..], &arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}
