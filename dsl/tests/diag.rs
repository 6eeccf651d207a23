//! Every file of `tests/diag` carries, above each line, the findings whose primary place is on that line:
//! severity, code, columns and text. Missing and unexpected findings both fail. `UPDATE_EXPECT=1` rewrites
//! the comments; review the difference.
#![allow(
    clippy::disallowed_methods,
    reason = "the crate is pure, its tests read files"
)]

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use support::{Case, case, render};

/// How the lines with expectations start.
const MARK: &str = "//~";

/// How a file sets constants, as `-D` does.
const DEFINE: &str = "//-D ";

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fa"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn checked(text: &str) -> Case {
    let defines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix(DEFINE)?.split_once('='))
        .collect();
    case(text, &defines)
}

/// The text with the findings as comments above their lines.
fn annotated(text: &str) -> String {
    let bare: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(MARK))
        .map(|line| format!("{line}\n"))
        .collect();
    let case = checked(&bare);
    let mut above: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for found in &case.checked.diagnostics {
        let severity = format!("{:?}", found.severity).to_lowercase();
        let (line, columns) = match found.span() {
            Some(span) => {
                let at = case.sources.line_column(span.file, span.start);
                let width = case.sources.snippet(span).chars().count();
                (at.line, format!("{}-{}", at.column, at.column + width))
            }
            None => (0, "-".to_owned()),
        };
        let comment = format!(
            "{MARK} {severity} {} {columns} {}",
            found.code, found.message
        );
        above.entry(line).or_default().push(comment);
    }
    let mut out = String::new();
    for (number, line) in (0..).zip(std::iter::once("").chain(bare.lines())) {
        let indent = &line[..line.len() - line.trim_start().len()];
        for comment in above.remove(&number).unwrap_or_default() {
            out.push_str(&format!("{indent}{comment}\n"));
        }
        if number > 0 {
            out.push_str(&format!("{line}\n"));
        }
    }
    // At the end of the text there may be no line to stand above.
    for comment in above.into_values().flatten() {
        out.push_str(&format!("{comment}\n"));
    }
    out
}

#[test]
fn findings_are_as_the_comments_say() {
    for path in files("diag") {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        expect_file![path].assert_eq(&annotated(&text));
    }
}

#[test]
fn messages_keep_their_form() {
    for path in files("diag") {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let case = checked(&text);
        for found in &case.checked.diagnostics {
            let shown = render(&case.sources, found);
            assert!(!found.help.is_empty(), "no help: {shown}");
            assert!(!found.message.ends_with('.'), "full stop: {shown}");
            assert!(!found.message.contains("invalid"), "says nothing: {shown}");
            assert!(
                !found.message.starts_with(char::is_uppercase),
                "capital: {shown}"
            );
            assert!(
                fa_dsl::codes::lookup(found.code).is_some(),
                "no page: {shown}"
            );
            let entry = fa_dsl::codes::lookup(found.code).expect("just seen");
            assert_eq!(entry.severity, found.severity, "other weight: {shown}");
        }
    }
}

#[test]
fn good_programs_pass() {
    for path in files("pass") {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        support::clean(&text);
    }
}
