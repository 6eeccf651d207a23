//! `docs/cases.md` lists every row of the case list with tests that exist, and every test of these cases is listed.

use std::collections::BTreeSet;

use fa_tests::{files_below, root};

/// Rows of the case list.
const ROWS: usize = 46;

/// Where `CRATE/FILE::TEST` lies.
fn file(path: &str) -> String {
    match path.split_once('/') {
        Some((_, rest)) if rest.starts_with("src/") => format!("{path}.rs"),
        Some((folder, rest)) => format!("{folder}/tests/{rest}.rs"),
        None => panic!("{path} names no crate"),
    }
}

/// Rows of the tables: cells, of which the first is a number.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let cells = page
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells
        .filter(|cells| cells.len() == 6 && cells[1].parse::<usize>().is_ok())
        .collect()
}

/// What stands between backticks in the last cell.
fn named<'p>(row: &[&'p str]) -> Vec<&'p str> {
    row[4].split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_row_has_tests_that_exist() {
    let page = fs_err::read_to_string(root().join("docs/cases.md")).expect("the page");
    let rows = rows(&page);
    let numbers: Vec<usize> = rows
        .iter()
        .map(|row| row[1].parse().expect("a number"))
        .collect();
    assert_eq!(numbers, (1..=ROWS).collect::<Vec<_>>());
    for row in &rows {
        let tests = named(row);
        assert!(!tests.is_empty(), "row {} names no test", row[1]);
        for test in tests {
            let (path, name) = test.split_once("::").expect("CRATE/FILE::TEST");
            let text = fs_err::read_to_string(root().join(file(path))).expect("a file of tests");
            let heads = [format!("fn {name}("), format!("fn {name}\n")];
            let place = heads.iter().find_map(|head| text.find(head));
            let place = place.unwrap_or_else(|| panic!("row {}: no `{test}`", row[1]));
            // Attributes stand above; a test without a harness is its file's `main`.
            let above = text[..place].trim_end();
            assert!(
                above.ends_with("#[test]") || name == "main",
                "`{test}` is no test"
            );
        }
    }
}

#[test]
fn every_test_of_a_case_is_listed() {
    let page = fs_err::read_to_string(root().join("docs/cases.md")).expect("the page");
    let listed: BTreeSet<&str> = rows(&page).iter().flat_map(|row| named(row)).collect();
    for path in files_below("tests/tests", ".rs") {
        let stem = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let text = fs_err::read_to_string(&path).expect("a file of tests");
        let after_attribute = text.split("#[test]\nfn ").skip(1);
        for name in after_attribute.filter_map(|rest| rest.split('(').next()) {
            let numbered = name.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
            if numbered {
                let test = format!("tests/{stem}::{name}");
                assert!(listed.contains(test.as_str()), "`{test}` is not listed");
            }
        }
    }
}
