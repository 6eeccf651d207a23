//! The `fa-emulator` command: what it prints, what it writes, how it ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const COMMAND: &str = env!("CARGO_BIN_EXE_fa-emulator");

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/kernels/scale.cpp")
}

/// The source as a binary; most runs here are not about compiling.
fn binary() -> &'static str {
    static BINARY: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, path) = BINARY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scale.o");
        let words = ["-x", "asc", "--npu-arch=dav-2201", "-O2"].map(OsString::from);
        let files = [source().into(), "-o".into(), path.clone().into()];
        fa_emulator::driver::compile(&[&words[..], &files[..]].concat()).expect("compiles");
        (folder, path.display().to_string())
    });
    path
}

fn emulator(words: &[&str]) -> Output {
    Command::new(COMMAND)
        .args(words)
        .output()
        .expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn scale(verb: &str, file: &str, kernel: &str, more: &[&str]) -> Output {
    let head = [verb, file, "--kernel", kernel, "--blocks", "2"];
    let args = [
        "--args",
        "x=f32:index:1024",
        "y=f32:undefined:1024",
        "f32:0.5",
    ];
    emulator(&[&head[..], more, &args[..]].concat())
}

#[test]
fn a_kernel_runs_is_checked_and_timed() {
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("y.npy");
    let pair = format!("y={}", saved.display());
    let ran = scale(
        "run",
        &source().display().to_string(),
        "scale",
        &["--save", &pair],
    );
    let out = text(&ran.stdout);
    assert!(ran.status.success(), "{out}{}", text(&ran.stderr));
    // What the kernel prints, and its buffers.
    assert!(out.contains("block 1 scales 512 elements\n"), "{out}");
    assert!(
        out.contains("x f32[1024]: 0 1 2 3 4 5 6 7 ... (emulated)\n"),
        "{out}"
    );
    assert!(
        out.contains("y f32[1024]: 0 0.5 1 1.5 2 2.5 3 3.5 ... (emulated)\n"),
        "{out}"
    );
    let file = std::fs::read(&saved).expect("the saved buffer");
    assert!(file.starts_with(b"\x93NUMPY") && file.ends_with(&511.5f32.to_le_bytes()));

    let checked = scale("check", binary(), "scale", &["--seeds", "3"]);
    let out = text(&checked.stdout);
    assert!(checked.status.success(), "{out}");
    assert!(
        out.ends_with("scale: nothing found in 4 order(s) of completion (emulated)\n"),
        "{out}"
    );

    let broken = scale("check", binary(), "scale_unordered", &[]);
    let out = text(&broken.stdout);
    assert_eq!(broken.status.code(), Some(1), "{out}");
    let kernel = std::fs::read_to_string(source()).expect("the kernel");
    let line = 1 + kernel
        .lines()
        .position(|line| line.contains("// unordered"))
        .expect("a marker");
    assert!(out.contains("error[race-raw]: Muls reads"), "{out}");
    assert!(
        out.contains(&format!("scale.cpp:{line}")) && out.contains("SetFlag<HardEvent::MTE2_V>"),
        "{out}"
    );
    let lines = scale("check", binary(), "scale_unordered", &["--json"]);
    let first = text(&lines.stdout);
    let first = first
        .lines()
        .find(|line| line.starts_with('{'))
        .expect("a finding");
    assert!(
        first.contains("\"kind\":\"race-raw\"") && first.contains("\"severity\":\"error\""),
        "{first}"
    );

    let trace = folder.path().join("trace.json");
    let trace = trace.to_str().expect("utf-8");
    let timed = scale("trace", binary(), "scale", &["-o", trace]);
    let out = text(&timed.stdout);
    assert!(timed.status.success(), "{out}");
    assert!(
        out.contains("modelled: ") && out.contains("critical path: "),
        "{out}"
    );
    let full = std::fs::read_to_string(trace).expect("a trace");
    assert!(
        full.contains("\"traceEvents\"") && full.contains("Muls"),
        "{full}"
    );
    let quick = scale("trace", binary(), "scale", &["--no-data", "-o", trace]);
    assert!(quick.status.success());
    assert_eq!(full, std::fs::read_to_string(trace).expect("a trace"));
    spans_do_not_overlap(&full);
}

/// A viewer cuts times to whole nanoseconds and drops a span that then begins before the last one has ended.
fn spans_do_not_overlap(trace: &str) {
    let trace: serde_json::Value = serde_json::from_str(trace).expect("JSON");
    let mut ends = std::collections::BTreeMap::new();
    for event in trace["traceEvents"].as_array().expect("events") {
        if event["ph"] == "X" {
            let nanos = |key: &str| (event[key].as_f64().expect("a time") * 1000.0).round() as u64;
            let track = (event["pid"].to_string(), event["tid"].to_string());
            let end = ends.entry(track).or_insert(0);
            assert!(nanos("ts") >= *end, "{event} begins before {end} ns");
            *end = nanos("ts") + nanos("dur");
        }
    }
    assert!(ends.len() >= 6, "two cores with three pipes each: {ends:?}");
}

#[test]
fn mistakes_of_the_command_line() {
    let path = binary();
    let error = |words: &[&str]| {
        let output = emulator(words);
        assert!(!output.status.success());
        text(&output.stderr)
    };
    assert!(error(&["run", path]).contains("pick one with --kernel: scale, scale_unordered"));
    assert!(error(&["run", path, "--kernel", "skale"]).contains("no kernel `skale`"));
    assert!(
        error(&["run", path, "--kernel", "scale", "--args", "f32:1"])
            .contains("parameters of 24 bytes")
    );
    assert!(
        error(&["run", path, "--args", "f33:1"]).contains("argument 1: `f33` is no element type")
    );
    assert!(error(&["run", "missing.cpp"]).contains("missing.cpp"));
    assert!(error(&["run", path, "--target", "x86"]).contains("`x86`"));
    assert_eq!(emulator(&["walk"]).status.code(), Some(2));
    let huge = [
        "run",
        path,
        "--kernel",
        "scale",
        "--args",
        "f32:undefined:16777216x1025",
    ];
    assert!(error(&huge).contains("aclrtMalloc of 68786585600 bytes returned 207001"));
}

/// The printed lines make a shell find the driver and the library.
#[test]
fn environment_for_shells() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("it's here");
    let script = emulator(&["env", "--root", root.to_str().expect("utf-8")]);
    assert!(script.status.success(), "{}", text(&script.stderr));
    for setup in [
        text(&script.stdout),
        format!(
            ". '{}/set_env.sh'",
            root.display().to_string().replace('\'', "'\\''")
        ),
    ] {
        let line = format!(
            "{setup}\ncommand -v bisheng; ls \"$ASCEND_HOME_PATH\"/lib64; echo \"$LD_LIBRARY_PATH\""
        );
        let shell = Command::new("sh")
            .arg("-c")
            .arg(line)
            .output()
            .expect("a shell");
        let out = text(&shell.stdout);
        assert!(
            out.contains("it's here/bin/bisheng"),
            "{out}{}",
            text(&shell.stderr)
        );
        assert!(
            out.contains("libascendcl.so") && out.contains("it's here/lib64"),
            "{out}"
        );
    }
}
