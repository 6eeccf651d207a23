//! The compile cache under races, damage and sudden death.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fa_codegen::GeneratedFile;
use fa_runtime::cache::{Artifact, Cache, Key, KeyParts};

const FOLDER: &str = "FA_TEST_CACHE_CHILD";
const PAUSE: &str = "FA_TEST_CACHE_PAUSE_MS";

fn key(generator_version: &str) -> Key {
    Key::new(&KeyParts {
        generator_version,
        compiler_version: "rustc 1",
        flags: &["-O".to_owned()],
        sources: &[GeneratedFile {
            path: "lib.rs".to_owned(),
            text: "fn main() {}\n".to_owned(),
        }],
    })
}

/// Builds slowly and leaves a mark for every build.
fn build(marks: &Path, pause: Duration) -> impl FnOnce(&Path) -> fa_runtime::Result<PathBuf> {
    let marks = marks.to_owned();
    move |folder| {
        tempfile::Builder::new()
            .prefix("build-")
            .tempfile_in(&marks)?
            .keep()
            .expect("the mark can be kept");
        std::thread::sleep(pause);
        let path = folder.join("kernel.so");
        fs_err::write(&path, "machine code")?;
        Ok(path)
    }
}

fn get(root: &Path) -> Artifact {
    let pause = std::env::var(PAUSE).ok().and_then(|text| text.parse().ok());
    let pause = Duration::from_millis(pause.unwrap_or(50));
    let marks = root.join("marks");
    fs_err::create_dir_all(&marks).expect("the folder can be written");
    Cache::at(root.join("cache"))
        .get_or_build(&key("1"), build(&marks, pause))
        .expect("the build succeeds")
}

fn builds(root: &Path) -> usize {
    fs_err::read_dir(root.join("marks"))
        .expect("it exists")
        .count()
}

/// Not a test of its own: what the processes of the tests below run.
#[test]
fn child() {
    if let Some(root) = std::env::var_os(FOLDER) {
        let artifact = get(Path::new(&root));
        let text = fs_err::read_to_string(artifact.path).expect("a verified file");
        assert_eq!(text, "machine code");
    }
}

fn spawn(root: &Path, pause_ms: u64) -> std::process::Child {
    Command::new(std::env::current_exe().expect("a test has a path"))
        .args(["--exact", "child"])
        .env(FOLDER, root)
        .env(PAUSE, pause_ms.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("the test starts itself")
}

#[test]
fn many_processes_build_once() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let children: Vec<_> = (0..32).map(|_| spawn(root.path(), 100)).collect();
    for mut child in children {
        assert!(child.wait().expect("it ran").success());
    }
    assert_eq!(builds(root.path()), 1);
}

#[test]
fn a_killed_builder_leaves_the_cache_usable() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let mut child = spawn(root.path(), 60_000);
    while !root.path().join("marks").exists() || builds(root.path()) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it is asleep");
    child.wait().expect("it ran");
    assert!(!get(root.path()).hit);
    assert!(get(root.path()).hit);
    let left = fs_err::read_dir(root.path().join("cache"))
        .expect("it exists")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("work-"))
        .count();
    assert_eq!(left, 0, "work folders of the dead are swept");
}

#[test]
fn a_flipped_byte_is_built_again() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let first = get(root.path());
    let mut bytes = fs_err::read(&first.path).expect("just built");
    bytes[3] ^= 1;
    fs_err::write(&first.path, &bytes).expect("it can be written");
    let again = get(root.path());
    assert!(!again.hit);
    assert_eq!(
        fs_err::read(&again.path).expect("just built"),
        b"machine code"
    );
    fs_err::write(
        again
            .path
            .parent()
            .expect("in a folder")
            .join("manifest.json"),
        "{",
    )
    .expect("it can be written");
    assert!(!get(root.path()).hit);
    assert_eq!(builds(root.path()), 3);
}

#[test]
fn touched_files_still_hit_and_other_generators_miss() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let first = get(root.path());
    let bytes = fs_err::read(&first.path).expect("just built");
    fs_err::write(&first.path, bytes).expect("it can be written");
    assert!(get(root.path()).hit);
    assert_ne!(key("1"), key("2"));
}

#[test]
fn a_failed_build_publishes_nothing() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::at(root.path());
    let failed = cache.get_or_build(&key("1"), |_| {
        Err(std::io::Error::other("the compiler is on holiday").into())
    });
    assert!(failed.is_err());
    let built = cache.get_or_build(&key("1"), |folder| {
        let path = folder.join("kernel.so");
        fs_err::write(&path, "machine code")?;
        Ok(path)
    });
    assert!(!built.expect("the second build succeeds").hit);
}
