//! A temporary folder in which the command runs.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Two variants, all defaults but the precision.
pub(crate) const TWO: &str = "attention plain { head_dim = 64; precision = fp32; allow = [FA103]; }
attention causal : plain { mask = causal; }
";

/// One variant with a const, a param, and a captured tensor.
pub(crate) const LOCAL: &str = "const radius: int = 300;

attention local {
    head_dim = 64;
    precision = fp32;
    allow = [FA103];
    param temperature: float = 1.0;
    tensor slopes: fp32[h];
    let dist = q_pos - kv_pos;
    mask = causal && window(radius, 0);
    score = softcap(score / temperature, 50.0) - slopes[h] * float(dist);
}
";

/// What a run of the command left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}\n{}", self.stdout, self.stderr))
    }
}

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn with(name: &str, text: &str) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write(name, text);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs_err::write(self.path().join(name), text).expect("the folder can be written");
    }

    /// Runs the command here, with a cache of its own.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let cache = tempfile::tempdir().expect("a temporary folder");
        self.run_with(cache.path(), arguments)
    }

    /// Runs the command here, with that cache.
    pub(crate) fn run_with(&self, cache: &Path, arguments: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_fa-gen"))
            .current_dir(self.path())
            .args(arguments)
            .env("FA_GEN_CACHE_DIR", cache)
            .env_remove("ASCEND_HOME_PATH")
            .output()
            .expect("the command starts");
        Run {
            code: output.status.code().expect("it was not killed"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    pub(crate) fn files(&self) -> Vec<String> {
        self.files_in(".")
    }

    pub(crate) fn files_in(&self, folder: &str) -> Vec<String> {
        self.read_all(folder).into_keys().collect()
    }

    pub(crate) fn read_all(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        fs_err::read_dir(self.path().join(folder))
            .expect("the folder exists")
            .filter_map(|entry| {
                let entry = entry.expect("an entry");
                let bytes = fs_err::read(entry.path()).ok()?;
                Some((entry.file_name().to_string_lossy().into_owned(), bytes))
            })
            .collect()
    }
}
