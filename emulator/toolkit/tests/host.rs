//! A host program in C++ against the laid-out toolkit.

use std::path::{Path, PathBuf};
use std::process::Command;

use fa_emulator::toolkit;

/// A host program in C++ builds and runs against the laid-out toolkit.
#[test]
fn host_program_in_cpp() {
    let root = tempfile::tempdir().expect("temporary folder");
    let driver = PathBuf::from(env!("CARGO_BIN_EXE_bisheng"));
    let name = format!(
        "{}ascendcl{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    // Cargo puts the library of a package under test among its dependencies.
    let library = driver.with_file_name("deps").join(name);
    toolkit::lay_out(root.path(), &library, &driver).expect("toolkit");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/host");
    let object = root.path().join("add.o");
    let compiled = Command::new(root.path().join("bin/bisheng"))
        .args([
            "-O2",
            "--npu-arch=dav-2201",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-c",
        ])
        .arg(example.join("add.asc"))
        .arg("-o")
        .arg(&object)
        .output()
        .expect("the driver runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let program = root.path().join("add");
    let lib64 = root.path().join("lib64");
    let built = Command::new("c++")
        .arg(example.join("add.cpp"))
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.path().join("include"))
        .arg("-L")
        .arg(&lib64)
        .arg("-lascendcl")
        .arg(format!("-Wl,-rpath,{}", lib64.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a host compiler");
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let trace = root.path().join("trace.json");
    let ran = Command::new(&program)
        .arg(&object)
        .env("FA_EMU_TRACE", &trace)
        .output()
        .expect("the program runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "1024 sums are right\n"
    );
    let trace = std::fs::read_to_string(trace).expect("the trace of the launch");
    for name in ["traceEvents", "DataCopy", "Add", "MTE2", "aiv"] {
        assert!(trace.contains(name), "no {name} in {trace}");
    }
}
