//! The invariants of `docs/architecture.md`: who may import whom, where hardware numbers live, what every file
//! starts with.

use std::collections::BTreeSet;
use std::path::Path;

use fa_targets::Target;
use fa_tests::{files_below, root};

/// Folders with sources of our own.
const CRATES: [&str; 12] = [
    "benches",
    "dsl",
    "targets",
    "codegen",
    "emulator",
    "runtime",
    "macros",
    "fa",
    "cli",
    "generated",
    "tests",
    "xtask",
];

/// Crates of the workspace that each one may import, by the arrows of the architecture page. Development
/// dependencies are free.
const ARROWS: [(&str, &[&str]); 14] = [
    ("benches", &["fa-dsl", "fa-runtime", "fa-targets"]),
    ("dsl", &[]),
    ("targets", &[]),
    ("codegen", &["fa-dsl", "fa-targets"]),
    ("emulator", &["fa-targets"]),
    ("emulator/toolkit", &["fa-emulator"]),
    (
        "runtime",
        &["fa-codegen", "fa-dsl", "fa-emulator", "fa-targets"],
    ),
    ("macros", &["fa-expand"]),
    ("macros/expand", &["fa-codegen", "fa-dsl", "fa-targets"]),
    (
        "fa",
        &[
            "fa-codegen",
            "fa-dsl",
            "fa-expand",
            "fa-macros",
            "fa-runtime",
            "fa-targets",
        ],
    ),
    (
        "cli",
        &[
            "fa-codegen",
            "fa-dsl",
            "fa-emulator",
            "fa-runtime",
            "fa-targets",
        ],
    ),
    ("generated", &[]),
    (
        "tests",
        &[
            "fa-codegen",
            "fa-dsl",
            "fa-emulator",
            "fa-runtime",
            "fa-targets",
        ],
    ),
    (
        "xtask",
        &[
            "fa-codegen",
            "fa-dsl",
            "fa-emulator",
            "fa-runtime",
            "fa-targets",
        ],
    ),
];

fn read(path: &Path) -> String {
    fs_err::read_to_string(path).expect("a readable file")
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root())
        .expect("below the root")
        .display()
        .to_string()
}

fn sources() -> Vec<std::path::PathBuf> {
    CRATES
        .iter()
        .flat_map(|folder| files_below(folder, ".rs"))
        .collect()
}

#[test]
fn every_file_has_a_module_head() {
    let without: Vec<String> = sources()
        .iter()
        .filter(|path| !read(path).starts_with("//!"))
        .map(|path| relative(path))
        .collect();
    assert!(
        without.is_empty(),
        "files without a `//!` head: {without:#?}"
    );
}

#[test]
fn arrows_point_one_way() {
    for (folder, allowed) in ARROWS {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let mut in_dependencies = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                in_dependencies = line == "[dependencies]" || line == "[build-dependencies]";
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if in_dependencies && name.starts_with("fa-") {
                assert!(allowed.contains(&name), "{folder} may not import {name}");
            }
        }
    }
}

#[test]
fn nobody_imports_the_command() {
    for (folder, _) in ARROWS {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let imports = manifest.lines().any(|line| line.starts_with("fa-gen"));
        assert!(!imports, "{folder} imports the command");
    }
}

#[test]
fn the_emulator_knows_no_attention_and_the_language_no_hardware() {
    let forbidden = [
        ("emulator", &["attention", "softmax_tile", "kv_len"][..]),
        ("dsl", &["unified buffer", "fixpipe", "l0c"][..]),
    ];
    for (folder, words) in forbidden {
        for path in files_below(&format!("{folder}/src"), ".rs") {
            let text = read(&path).to_lowercase();
            for word in words {
                let mention = text
                    .lines()
                    .find(|line| line.contains(word) && !line.trim_start().starts_with("//"));
                assert!(
                    mention.is_none(),
                    "{} says `{word}`: {mention:?}",
                    relative(&path)
                );
            }
        }
    }
}

/// Capacities of the built-in chips, in every spelling that code would use.
fn capacities() -> BTreeSet<String> {
    let mut numbers = BTreeSet::new();
    for name in Target::built_in_names() {
        let Some(memory) = Target::built_in(name).expect("listed").memory else {
            continue;
        };
        for memory in [
            memory.l1, memory.l0a, memory.l0b, memory.l0c, memory.ub, memory.fb,
        ] {
            numbers.extend([memory.bytes, memory.usable_bytes]);
            numbers.extend(memory.usable_unreserved_bytes);
        }
    }
    numbers
        .into_iter()
        .flat_map(|number: u64| {
            let mut digits = number.to_string();
            let plain = digits.clone();
            if digits.len() > 3 {
                digits.insert(digits.len() - 3, '_');
            }
            let kib = format!("{} * 1024", number / 1024);
            [plain, digits, kib]
        })
        .collect()
}

/// 65536 is also two to the sixteenth, as in the dropout rule; it says nothing about a chip by itself.
const INNOCENT: [&str; 2] = ["65536", "65_536"];

#[test]
fn hardware_numbers_live_in_target_files_only() {
    let numbers = capacities();
    let folders = [
        "dsl/src",
        "codegen/src",
        "emulator/src",
        "emulator/include",
        "runtime/src",
        "cli/src",
        "templates",
    ];
    for path in folders.iter().flat_map(|folder| files_below(folder, "")) {
        let text = read(&path);
        for number in numbers
            .iter()
            .filter(|number| !INNOCENT.contains(&number.as_str()))
        {
            let found = text.match_indices(number.as_str()).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + number.len()..].chars().next();
                ![before, after]
                    .into_iter()
                    .flatten()
                    .any(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            assert!(!found, "{} holds the capacity {number}", relative(&path));
        }
    }
}

#[test]
fn templates_hold_no_logic() {
    for path in files_below("templates", ".tera") {
        for (at, line) in read(&path).lines().enumerate() {
            for tag in line.split("{%").skip(1) {
                let tag = tag
                    .split("%}")
                    .next()
                    .unwrap_or_default()
                    .trim_matches(['-', ' ']);
                let words: Vec<&str> = tag.split_whitespace().collect();
                let plain = match words.as_slice() {
                    ["if" | "elif", "not", condition] | ["if" | "elif", condition] => {
                        is_path(condition)
                    }
                    ["for", name, "in", list] => is_path(name) && is_path(list),
                    ["else" | "endif" | "endfor"] => true,
                    ["include", _] => true,
                    _ => false,
                };
                assert!(
                    plain,
                    "{}:{}: `{tag}` decides something",
                    relative(&path),
                    at + 1
                );
            }
            for value in line.split("{{").skip(1) {
                let value = value.split("}}").next().unwrap_or_default().trim();
                assert!(
                    is_path(value),
                    "{}:{}: `{value}` computes something",
                    relative(&path),
                    at + 1
                );
            }
        }
    }
}

/// A field: names, dots and indices.
fn is_path(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c))
}
