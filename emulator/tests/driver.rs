//! The compiler driver: what it accepts, what it says, and the toolkit it belongs to.

mod common;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fa_emulator::{driver, toolkit};

const HEAD: &str = "#include \"kernel_operator.h\"\nusing namespace AscendC;\n";

struct Attempt {
    folder: tempfile::TempDir,
    outcome: Result<String, driver::DriverError>,
}

impl Attempt {
    fn error(&self) -> String {
        self.outcome
            .as_ref()
            .expect_err("must not compile")
            .to_string()
    }
}

fn attempt(name: &str, source: &str, options: &[&str]) -> Attempt {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, source).expect("writable folder");
    let mut args: Vec<OsString> = options.iter().map(OsString::from).collect();
    args.extend([path.into(), "-o".into(), folder.path().join("k.o").into()]);
    let outcome = driver::compile_with_diagnostics(&args);
    Attempt { folder, outcome }
}

const USUAL: [&str; 5] = ["-x", "asc", "--npu-arch=dav-2201", "-O2", "-Wall"];

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}extern \"C\" __global__ __aicore__ void k(GM_ADDR x)\n{{\n    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n    (void)x;\n{body}\n}}\n"
    )
}

#[test]
fn command_lines() {
    let source = kernel("");
    let error = attempt(
        "k.cpp",
        &source,
        &["-x", "asc", "--npu-arch=dav-2201", "--fast-please"],
    )
    .error();
    assert_eq!(error, "emulated bisheng: unknown option `--fast-please`");
    assert!(
        attempt("k.cpp", &source, &["--npu-arch=dav-2201"])
            .error()
            .contains("pass `-x asc`")
    );
    assert!(
        attempt("k.cpp", &source, &["-x", "asc"])
            .error()
            .contains("pass `--npu-arch=dav-2201`")
    );
    assert!(
        attempt("k.cpp", &source, &["-x", "asc", "--npu-arch=dav-3510"])
            .error()
            .contains("dav-3510")
    );
    assert!(
        attempt(
            "k.asc",
            &source,
            &["--npu-soc=Ascend910B2", "--cce-auto-sync=off"]
        )
        .outcome
        .is_ok()
    );
    let other = attempt("k.asc", &source, &["--npu-arch=dav-2201", "--enable-simt"]).error();
    assert_eq!(
        other,
        "emulated bisheng: `--enable-simt` is for NPU 3510, the emulated chip is NPU 2201"
    );
    let usual = [
        "--run-mode=sim",
        "--sanitizer",
        "-dc",
        "-lruntime",
        "-Wl,--disable-new-dtags",
    ];
    let log = ["--npu-arch=dav-2201", "--cce-auto-sync-log=sync.txt"];
    let remarks = attempt("k.asc", &source, &[&usual[..], &log[..]].concat());
    let remarks = remarks.outcome.as_ref().expect("documented options");
    assert!(remarks.ends_with("no report is written\n"), "{remarks}");
    assert!(matches!(
        driver::compile(&[]),
        Err(driver::DriverError::Args(_))
    ));
}

#[test]
fn compiler_messages_name_the_source() {
    let attempt_ = attempt(
        "mine.cpp",
        &kernel("    int unused = 1;\n    missing();"),
        &USUAL,
    );
    let error = attempt_.error();
    assert!(
        error.contains("mine.cpp:8:") && error.contains("missing"),
        "{error}"
    );
    let warned = attempt("mine.cpp", &kernel("    int unused = 1;"), &USUAL);
    let warning = warned.outcome.as_ref().expect("a warning is no error");
    assert!(
        warning.contains("mine.cpp:7:") && warning.contains("unused"),
        "{warning}"
    );
    // The passes agree, so the warning comes once.
    assert_eq!(warning.matches("mine.cpp:7:").count(), 1, "{warning}");
    assert!(
        attempt("k.cpp", HEAD, &USUAL)
            .error()
            .contains("no `__global__")
    );
}

#[test]
fn types_that_the_chip_lacks_do_not_compile() {
    let tensor = "    LocalTensor<bfloat16_t> t(TPosition::VECCALC, 0, 64);\n";
    let error = attempt(
        "k.cpp",
        &kernel(&format!("{tensor}    Add(t, t, t, 64);")),
        &USUAL,
    )
    .error();
    assert!(
        error.contains("Add takes half, float, int16_t and int32_t"),
        "{error}"
    );
    let cast = "    Cast(t.ReinterpretCast<half>(), t, RoundMode::CAST_RINT, 64);";
    let error = attempt("k.cpp", &kernel(&format!("{tensor}{cast}")), &USUAL).error();
    assert!(error.contains("Cast between these types"), "{error}");
    let select = "    LocalTensor<float> f(TPosition::VECCALC, 0, 64);\n    LocalTensor<uint8_t> b(TPosition::VECCALC, 512, 64);\n    Select(f, b, f, f, SELMODE::VSEL_CMPMASK_SPR, 64);";
    assert!(attempt("k.cpp", &kernel(select), &USUAL).outcome.is_ok());
    let options = [USUAL.as_slice(), &["--cce-disable-asc-reserved-ubuf"]].concat();
    let error = attempt("k.cpp", &kernel(select), &options).error();
    assert!(error.contains("Select is forbidden"), "{error}");
    let control = "    SetCtrlSpr<60, 60>(1);";
    assert!(
        attempt("k.cpp", &kernel(control), &USUAL)
            .error()
            .contains("only bit 48")
    );
}

#[test]
fn altered_binaries_are_refused() {
    common::set_up();
    let compiled = attempt("k.cpp", &kernel(""), &USUAL);
    compiled.outcome.as_ref().expect("compiles");
    let mut bytes = std::fs::read(compiled.folder.path().join("k.o")).expect("output");
    let load = |bytes: &[u8]| {
        let mut handle = std::ptr::null_mut();
        let data = bytes.as_ptr().cast();
        // SAFETY: the data has that length and the handle is writable.
        let code = unsafe {
            fa_emulator::acl::aclrtBinaryLoadFromData(
                data,
                bytes.len(),
                std::ptr::null(),
                &raw mut handle,
            )
        };
        (code, common::last_message())
    };
    assert_eq!(load(&bytes).0, 0);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert!(load(&bytes).1.contains("altered"));
    assert!(
        load(b"\x7fELF and more")
            .1
            .contains("not an emulated kernel binary")
    );
}

/// A host program in C++ builds and runs against the laid-out toolkit.
#[test]
fn host_program_in_cpp() {
    let root = tempfile::tempdir().expect("temporary folder");
    let driver = PathBuf::from(env!("CARGO_BIN_EXE_bisheng"));
    let name = format!(
        "{}fa_emulator{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    // Cargo puts the library of a package under test among its dependencies.
    let library = driver.with_file_name("deps").join(name);
    toolkit::lay_out(root.path(), &library, &driver).expect("toolkit");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/host");
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
