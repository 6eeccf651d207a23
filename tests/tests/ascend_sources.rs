//! The golden Ascend C compiles without a warning against the emulator's headers, kernel and host side.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fa_tests::{files_below, root};

/// A translation unit of all kernels of one target, that which merges partial results among them.
fn unit(target: &str) -> String {
    let mut text = String::new();
    for path in files_below("generated/ascendc", &format!("_{target}.cpp")) {
        text.push_str(&format!("#include \"{}\"\n", path.display()));
    }
    assert!(!text.is_empty(), "no goldens for {target}");
    let merge = fa_codegen::ascend::plan_merge(70, &fa_tests::target(target));
    text + &fa_codegen::ascend::render_merge(&merge.expect("a plan")).text
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs_err::write(&path, text).expect("a writable folder");
    path
}

#[test]
fn kernels_compile_without_warnings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (target, arch) in [("ascend910b", "dav-2201"), ("ascend910_93", "dav-2201")] {
        let source = written(folder.path(), &format!("{target}.cpp"), &unit(target));
        let object = folder.path().join(format!("{target}.o"));
        let mut args: Vec<OsString> = [
            "-x",
            "asc",
            "-O1",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-fPIC",
            "-shared",
        ]
        .map(OsString::from)
        .to_vec();
        args.push(format!("--npu-arch={arch}").into());
        args.extend([source.into(), "-o".into(), object.into()]);
        let output = fa_emulator::driver::compile_with_diagnostics(&args)
            .unwrap_or_else(|error| panic!("{target}: {error}"));
        assert!(output.is_empty(), "{target}: {output}");
    }
}

#[test]
fn launchers_compile_without_warnings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut text = String::new();
    for path in files_below("generated/ascendc", "_launch.h") {
        if path
            .parent()
            .is_some_and(|folder| folder.ends_with_target("ascend910b"))
        {
            text.push_str(&format!("#include \"{}\"\n", path.display()));
        }
    }
    text.push_str(
        "int main()\n{\n    fa_alibi::Tiling tiling {};\n    tiling.batch = 2;\n    tiling.heads = 3;\n    \
         tiling.qLen = 300;\n    return static_cast<int>(fa_alibi::Blocks(tiling, 24));\n}\n",
    );
    let source = written(folder.path(), "host.cpp", &text);
    let include = root().join("emulator/include");
    let output = Command::new("c++")
        .args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-isystem",
        ])
        .arg(include)
        .arg(source)
        .output()
        .expect("a C++ compiler");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A folder of goldens is named after its variant and its target.
trait EndsWithTarget {
    fn ends_with_target(&self, target: &str) -> bool;
}

impl EndsWithTarget for Path {
    fn ends_with_target(&self, target: &str) -> bool {
        self.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(&format!("_{target}")))
    }
}
