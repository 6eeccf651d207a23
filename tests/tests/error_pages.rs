//! The pages of diagnostics that need a target: the failing example fails with the page's code on that target, and
//! the repair plans there. (Pages of the language alone are run where the language is.)

use fa_codegen::plan;
use fa_dsl::diagnostic::Diagnostic;
use fa_targets::Target;
use fa_tests::{files_below, target, variants};

/// Codes whose cause no backend has yet: gradients are refused as a whole.
const RESERVED: [&str; 1] = ["FA106"];

/// A fenced block: its info words and its text.
struct Block {
    info: Vec<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(info) if !open => {
                open = true;
                found.push(Block {
                    info: info.split_whitespace().map(str::to_owned).collect(),
                    text: String::new(),
                });
            }
            Some(_) => open = false,
            None if open => {
                let block = found.last_mut().expect("a block is open");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    found
}

/// What planning all variants of a text says.
fn findings(text: &str, target: &Target) -> Vec<Diagnostic> {
    variants("page.fa", text)
        .iter()
        .flat_map(|variant| match plan(variant, target) {
            Ok(planned) => planned.warnings,
            Err(errors) => errors,
        })
        .collect()
}

#[test]
fn failing_examples_fail_and_repairs_plan() {
    let mut tried = 0;
    for path in files_below("docs/errors", ".md") {
        let code = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let page = fs_err::read_to_string(&path).expect("a readable page");
        let blocks = blocks(&page);
        let name = |block: &Block| {
            block
                .info
                .iter()
                .find_map(|word| word.strip_prefix("target=").map(str::to_owned))
        };
        let Some((failing, name)) = blocks
            .iter()
            .find_map(|block| name(block).map(|name| (block, name)))
        else {
            continue;
        };
        let Some(built_in) = Target::built_in(&name) else {
            assert_eq!(code, "FA202", "{code} names the unknown target {name}");
            continue;
        };
        if RESERVED.contains(&code.as_str()) {
            continue;
        }
        tried += 1;
        let found = findings(&failing.text, &built_in);
        assert!(
            found.iter().any(|found| found.code.to_string() == code),
            "{code}: {found:#?}"
        );
        let repaired = blocks
            .iter()
            .rfind(|block| block.info == ["fa"])
            .expect("a repair");
        let left = findings(&repaired.text, &target(&name));
        assert!(
            left.iter()
                .all(|found| found.code.to_string() != code && !found.is_error()),
            "{code}: {left:#?}"
        );
    }
    assert!(tried >= 4, "only {tried} pages were tried");
}
