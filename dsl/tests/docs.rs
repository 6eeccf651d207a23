//! Every `fa` block of the documentation is checked: a block marked `fail` must be refused with the code of
//! its page, or the one beside the mark; every other block must pass. Blocks marked with a `target` or a
//! `launch` fail later than here, so here they must pass.
#![allow(
    clippy::disallowed_methods,
    reason = "the crate is pure, its tests read files"
)]

mod support;

use std::path::Path;

use fa_dsl::codes;
use fa_dsl::diagnostic::{Code, Severity};
use support::{case, render};

struct Example {
    mark: String,
    text: String,
}

/// The `fa` blocks of a page.
fn examples(page: &str) -> Vec<Example> {
    let mut found = Vec::new();
    let mut open: Option<Example> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(mark)) if mark == "fa" || mark.starts_with("fa ") => {
                open = Some(Example {
                    mark: mark[2..].trim().to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(example), None) => {
                example.text.push_str(line);
                example.text.push('\n');
            }
            _ => {}
        }
    }
    found
}

/// Checks one block; `code` is what its page is about.
fn check_example(example: &Example, code: Option<Code>) {
    let words: Vec<&str> = example.mark.split_whitespace().collect();
    let define = words
        .iter()
        .find_map(|word| word.strip_prefix("define=")?.split_once('='));
    let defines: Vec<(&str, &str)> = define.into_iter().collect();
    let case = case(&example.text, &defines);
    let shown: Vec<String> = case
        .checked
        .diagnostics
        .iter()
        .map(|found| render(&case.sources, found))
        .collect();
    let shown = shown.join("\n");
    let wanted = words.iter().find_map(|word| codes::parse(word)).or(code);
    let later = words
        .iter()
        .any(|word| word.starts_with("target=") || *word == "launch");
    let found = |code| {
        case.checked
            .diagnostics
            .iter()
            .any(|found| found.code == code)
    };
    if words.first() == Some(&"fail") && !later {
        let wanted = wanted.expect("a code to fail with");
        assert!(
            found(wanted),
            "no {wanted} in:\n{}\nbut:\n{shown}",
            example.text
        );
        let others = case
            .checked
            .diagnostics
            .iter()
            .filter(|found| found.code != wanted && found.is_error());
        assert_eq!(
            others.count(),
            0,
            "more than {wanted}:\n{}\n{shown}",
            example.text
        );
    } else {
        let bad = case
            .checked
            .diagnostics
            .iter()
            .any(|found| found.severity > Severity::Note && !later);
        assert!(
            !bad && !case.checked.has_errors(),
            "{}\n{shown}",
            example.text
        );
        if let Some(code) = code {
            assert!(!found(code), "still {code}:\n{}\n{shown}", example.text);
        }
    }
}

#[test]
fn every_code_has_a_page_with_a_failing_example_and_a_repair() {
    for entry in codes::ALL {
        let head = format!("# {} {}\n", entry.code, entry.slug);
        assert!(entry.page.starts_with(&head), "{}", entry.page);
        let examples = examples(entry.page);
        let failing = examples
            .iter()
            .filter(|example| example.mark.starts_with("fail"))
            .count();
        assert!(failing >= 1 && examples.len() > failing, "{}", entry.code);
        for example in &examples {
            check_example(example, Some(entry.code));
        }
    }
}

#[test]
fn numbers_and_slugs_are_unique_and_sorted() {
    for pair in codes::ALL.windows(2) {
        assert!(pair[0].code < pair[1].code);
    }
    let mut slugs: Vec<&str> = codes::ALL.iter().map(|entry| entry.slug).collect();
    slugs.sort_unstable();
    slugs.dedup();
    assert_eq!(slugs.len(), codes::ALL.len());
}

#[test]
fn the_language_page_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language.md");
    let page = std::fs::read_to_string(path).expect("the page exists");
    let examples = examples(&page);
    assert!(examples.len() >= 5);
    for example in &examples {
        check_example(example, None);
    }
    for entry in codes::ALL {
        assert!(
            page.contains(&format!("{} |", entry.title)),
            "{}",
            entry.code
        );
    }
}
