//! `fa-gen tune`: what it tries, where the best is taken from afterwards, and what it refuses.

mod common;

use common::{Folder, TWO};

const SHAPE: &str = "2x2/1x72:200";

fn tune<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["tune", "two.fa", "--name", "causal", "--shape", SHAPE];
    [&fixed[..], &["--keep", "3", "--effort", "compile"], more].concat()
}

/// The sizes that an emitted kernel is for.
fn tile_of(text: &str) -> [u64; 3] {
    ["kBlockQ", "kBlockKv", "kStages"].map(|name| {
        let line = format!("constexpr uint32_t {name} = ");
        let (_, rest) = text.split_once(&line).expect(name);
        let number = rest.split(';').next().unwrap_or_default();
        number.parse().expect("a number")
    })
}

#[test]
fn the_best_tile_is_remembered_for_launches_of_its_size() {
    let folder = Folder::with("two.fa", TWO);
    let cache = tempfile::tempdir().expect("a temporary folder");
    let run = |arguments: &[&str]| folder.run_with(cache.path(), arguments);
    let kernel = |more: &[&str]| {
        let run = run(&[&["two.fa", "--target", "ascend910b", "-o", "out"][..], more].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let path = "out/causal_ascend910b/causal_ascend910b.cpp";
        tile_of(&fs_err::read_to_string(folder.path().join(path)).expect("a kernel"))
    };
    let own = kernel(&["--shape", SHAPE]);
    let tuned = run(&tune(&[
        "--target",
        "ascend910b",
        "--target",
        "cpu",
        "--offline",
        "tuned.fa",
        "--format",
        "json",
    ]));
    assert_eq!(tuned.code, 0, "{}{}", tuned.stdout, tuned.stderr);
    let searches = tuned.json()["searches"].clone();
    let sizes = |tile: &serde_json::Value| {
        ["block_q", "block_kv", "stages"].map(|size| tile[size].as_u64().expect("a size"))
    };
    for (at, (target, modelled)) in [("ascend910b", true), ("cpu", false)]
        .into_iter()
        .enumerate()
    {
        let search = &searches[at];
        assert_eq!(
            (search["target"].as_str(), search["modelled"].as_bool()),
            (Some(target), Some(modelled))
        );
        let tried = search["tried"].as_array().expect("tiles");
        assert!(tried.len() >= 3, "{search}");
        let micros = |tried: &serde_json::Value| tried["micros"].as_f64().expect("a time");
        let least = tried.iter().map(micros).fold(f64::INFINITY, f64::min);
        let best = tried.iter().find(|tried| tried["tile"] == search["best"]);
        assert_eq!(best.map(micros), Some(least), "{search}");
        let path = search["remembered"].as_str().expect("a file");
        assert!(
            path.starts_with(&*cache.path().to_string_lossy())
                && std::path::Path::new(path).is_file()
        );
    }
    // The planner's choice comes first. Launches of about the size have the best, others the planner's.
    assert_eq!(sizes(&searches[0]["tried"][0]["tile"]), own);
    let best = sizes(&searches[0]["best"]);
    assert_eq!(kernel(&["--shape", SHAPE]), best);
    assert_eq!(kernel(&["--shape", "2x2/1x65:256"]), best);
    assert_eq!(kernel(&["--shape", "2x2/1x72:2000"]), own);
    assert_eq!(kernel(&[]), own);
    // The file to commit needs no cache.
    let name = "causal_ascend910b_2x2_1x72_200x64";
    let offline = folder.run(&["tuned.fa", "--target", "ascend910b", "-o", "again"]);
    assert_eq!(offline.code, 0, "{}", offline.stderr);
    let path = format!("again/{name}_ascend910b/{name}_ascend910b.cpp");
    let text = fs_err::read_to_string(folder.path().join(path)).expect("a kernel");
    assert_eq!(tile_of(&text), best);
}

#[test]
fn a_written_tile_and_a_missing_shape_are_wrong_usage() {
    let text = TWO.replace("mask = causal;", "mask = causal; tile { block_q = 64; }");
    let folder = Folder::with("two.fa", &text);
    let written = folder.run(&tune(&[]));
    assert_eq!(written.code, 2, "{}", written.stderr);
    assert!(
        written.stderr.contains("write `tile = auto;`"),
        "{}",
        written.stderr
    );
    let missing = folder.run(&["tune", "two.fa"]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("--shape"), "{}", missing.stderr);
}
