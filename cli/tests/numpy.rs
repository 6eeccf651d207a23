//! `fa-gen run` against attention written in NumPy, through `.npy` files: the pairwise part of the matrix in
//! `tests/numpy`. Needs a Python with NumPy; says so and passes where there is none.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names a Python that has NumPy.
const PYTHON_VARIABLE: &str = "FA_TEST_PYTHON";

/// The Python that the environment names, else `python3` where that has NumPy.
fn python() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PYTHON_VARIABLE) {
        return Some(PathBuf::from(named));
    }
    let import = Command::new("python3")
        .args(["-c", "import numpy"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    import
        .is_ok_and(|status| status.success())
        .then(|| PathBuf::from("python3"))
}

#[test]
fn numpy_agrees() {
    let Some(python) = python() else {
        // Written past the capture of the test harness, so that nobody takes it for a pass.
        writeln!(std::io::stderr(), "skipped: NumPy is not installed")
            .expect("a standard error stream");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/numpy/matrix.py");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let output = Command::new(python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_fa-gen"))
        .arg(folder.join("numpy"))
        .args(["--effort", "compile"])
        .env("FA_GEN_CACHE_DIR", folder.join("numpy-cache"))
        .env_remove("ASCEND_HOME_PATH")
        .output()
        .expect("the named Python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains(" passed, 0 failed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
