//! The Ascend backend over a toolkit folder: the compiler driver as a program, the runtime as a shared library. The
//! folder is the emulator's, whose driver this program is when it is called `bisheng`.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    reason = "a program of its own, whose output its parent reads"
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fa_dsl::span::{SourceMap, Span};
use fa_dsl::variant::{Precision, Variant};
use fa_runtime::cache::Cache;
use fa_runtime::verify::{Case, Shape};
use fa_runtime::{ASCEND_HOME_VARIABLE, Runtime};
use fa_targets::Target;

/// Says which part of the test a child process is.
const PART: &str = "FA_TEST_PART";

fn main() {
    let program = PathBuf::from(std::env::args_os().next().expect("a program has a name"));
    if program.file_name().is_some_and(|name| name == "bisheng") {
        return driver();
    }
    if cfg!(not(target_os = "linux")) {
        return;
    }
    match std::env::var(PART) {
        Ok(part) => run(&part),
        Err(_) => parts(),
    }
}

/// The emulated `bisheng`; another text of its version stands for another toolkit.
fn driver() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args == ["--version"] {
        let more = std::env::var("FA_TEST_VERSION").unwrap_or_default();
        println!("{}{more}", fa_emulator::driver::version());
        return;
    }
    if let Err(error) = fa_emulator::driver::compile(&args) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn parts() {
    let here = std::env::current_exe().expect("this program");
    let library = here.with_file_name("libascendcl.so");
    let folder = tempfile::tempdir().expect("a folder");
    let home = |name: &str| folder.path().join(name);
    fa_emulator::toolkit::lay_out(&home("whole"), &library, &here).expect("a toolkit");
    for name in ["empty", "text", "older"] {
        let lib64 = home(name).join("lib64");
        std::fs::create_dir_all(&lib64).expect("a folder");
        let bin = home(name).join("bin");
        std::fs::create_dir_all(&bin).expect("a folder");
        std::fs::copy(&here, bin.join("bisheng")).expect("a driver");
    }
    std::fs::write(home("text/lib64/libascendcl.so"), "no library").expect("a file");
    older_library(&home("older/lib64"));
    let part = |part: &str, home: &Path, more: &[(&str, &str)]| {
        let output = Command::new(&here)
            .env(PART, part)
            .env(ASCEND_HOME_VARIABLE, home)
            .env("FA_GEN_CACHE_DIR", folder.path().join("cache"))
            .envs(more.iter().copied())
            .output()
            .expect("this program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{part}: {text}{errors}");
        text
    };
    let says = |text: &str, words: &[&str]| {
        for word in words {
            assert!(text.contains(word), "no `{word}` in {text}");
        }
    };
    let library = home("whole").join("lib64/libascendcl.so");
    let library = library.to_str().expect("utf-8");
    says(
        &part("runs", &home("whole"), &[]),
        &["compiled", "right", library],
    );
    says(&part("runs", &home("whole"), &[]), &["from the cache"]);
    let other = [("FA_TEST_VERSION", " of another day")];
    says(
        &part("runs", &home("whole"), &other),
        &["compiled", "right"],
    );
    let small = [("FA_EMU_DEVICE_BYTES", "20000")];
    let out_of_memory = [
        "aclrtMalloc failed with 207001",
        "of 20000 bytes of device memory are free (emulated)",
    ];
    says(&part("fails", &home("whole"), &small), &out_of_memory);
    let chip = folder.path().join("narrow.toml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../targets/ascend910b.toml");
    let text = std::fs::read_to_string(path).expect("a chip");
    let usual = "bytes = 196608";
    assert!(text.contains(usual));
    std::fs::write(&chip, text.replacen(usual, "bytes = 16384", 1)).expect("a file");
    let narrow = [("FA_EMU_TARGET", chip.to_str().expect("utf-8"))];
    let fault = [
        "aclrtSynchronizeStream failed with 507015",
        "error[out-of-bounds]",
        "of UB",
        ".cpp:",
    ];
    says(&part("fails", &home("whole"), &narrow), &fault);
    says(
        &part("fails", &home("empty"), &[]),
        &["cannot load", "empty/lib64/libascendcl.so"],
    );
    says(
        &part("fails", &home("text"), &[]),
        &["cannot load", "text/lib64/libascendcl.so"],
    );
    says(
        &part("fails", &home("older"), &[]),
        &[
            "older/lib64/libascendcl.so has no function `aclrtSetDeviceSatMode`",
            "another version",
        ],
    );
    println!("installed toolkits: ok");
}

/// A library with some of the functions.
fn older_library(folder: &Path) {
    let source = folder.join("older.c");
    let names = ["aclInit", "aclrtSetDevice", "aclrtGetDeviceInfo"];
    let functions: String = names
        .map(|name| format!("int {name}(void) {{ return 0; }}\n"))
        .concat();
    let text = format!("const char* aclGetRecentErrMsg(void) {{ return 0; }}\n{functions}");
    std::fs::write(&source, text).expect("a file");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("libascendcl.so"))
        .arg(&source)
        .status()
        .expect("a C compiler");
    assert!(built.success());
}

/// A child: compiles, launches, and says what came of it.
fn run(part: &str) {
    let file = SourceMap::new().add("test.fa", "");
    let span = Span {
        file,
        start: 0,
        end: 0,
    };
    let mut variant = Variant::with_defaults("installed", 64, span);
    variant.precision = Precision::MIXED;
    let chip = Target::built_in("ascend910b").expect("a chip");
    let cache = Cache::at(std::env::var_os("FA_GEN_CACHE_DIR").expect("the parent names it"));
    let runtime = Runtime::with_cache(cache);
    let shape = Shape {
        batch: 1,
        heads: 1,
        kv_heads: 1,
        q_len: 20,
        kv_len: 40,
    };
    let case = Case::random(&variant, shape, 1, false);
    let outcome = runtime.compile(&variant, &chip).and_then(|kernel| {
        let from = if kernel.cache_hit() {
            "from the cache"
        } else {
            "compiled"
        };
        let results = kernel.run(&case.arguments())?;
        Ok((from, results.out.bytes().len(), kernel))
    });
    match (part, outcome) {
        ("runs", Ok((from, bytes, kernel))) => {
            assert!(bytes > 0 && kernel.is_emulated());
            if from == "from the cache" {
                let rows = fa_runtime::verify::verify(kernel.variant(), &[&kernel], |_| {});
                assert!(rows.expect("legal cases").iter().all(|row| row.pass));
            }
            let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
            let opened: Vec<&str> = maps
                .lines()
                .filter(|line| line.contains("libascendcl"))
                .collect();
            println!("{from}, right\n{}", opened.join("\n"));
        }
        ("fails", Err(error)) => println!("{error}"),
        (part, outcome) => panic!(
            "{part}: {}",
            outcome.map_or_else(|e| e.to_string(), |o| o.0.to_owned())
        ),
    }
}
