//! Golden files: every stock variant for every target, as rendered. `UPDATE_EXPECT=1` blesses them.
//!
//! A golden without a variant fails, and a variant without a golden.

use std::collections::BTreeSet;
use std::path::PathBuf;

use expect_test::expect_file;
use fa_tests::{files_below, rendered, root};

/// Where a rendered file lives: Rust in the crate's sources, Ascend C beside them.
fn home(path: &str) -> PathBuf {
    let folder = if path.ends_with(".rs") {
        "src"
    } else {
        "ascendc"
    };
    root().join("generated").join(folder).join(path)
}

/// The crate's root: a module per CPU kernel.
fn crate_root(modules: &BTreeSet<String>) -> String {
    let mut text = "//! The stock variants as rendered for the CPU. Written by the golden test; edit `examples/*.fa`.\n"
        .to_owned();
    for module in modules {
        text.push_str(&format!("\npub mod {module};"));
    }
    text.push('\n');
    text
}

#[test]
fn stock_variants_render_as_committed() {
    let files = rendered();
    let mut expected = BTreeSet::new();
    let mut modules = BTreeSet::new();
    for file in &files {
        let path = home(&file.path);
        assert!(
            expected.insert(path.clone()),
            "two variants render {}",
            file.path
        );
        if let Some(module) = file.path.strip_suffix(".rs") {
            modules.insert(module.to_owned());
        }
        fs_err::create_dir_all(path.parent().expect("a file in a folder"))
            .expect("a writable tree");
        expect_file![path].assert_eq(&file.text);
    }
    let root = home("lib.rs");
    expect_file![&root].assert_eq(&crate_root(&modules));
    expected.insert(root);
    let found: BTreeSet<PathBuf> = [
        files_below("generated/src", ""),
        files_below("generated/ascendc", ""),
    ]
    .concat()
    .into_iter()
    .collect();
    let stale: Vec<&PathBuf> = found.difference(&expected).collect();
    assert!(
        stale.is_empty(),
        "golden files that nothing renders: {stale:#?}"
    );
}
