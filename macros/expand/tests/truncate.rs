//! Incomplete input, as an editor sees it while somebody types: an answer that is Rust, and never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Group, TokenStream, TokenTree};

fn programs(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/ui");
    let entries = fs::read_dir(folder.join(kind)).expect("programs of that kind");
    let mut programs: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    programs.sort();
    programs
}

/// What stands between the brackets of each `attention!`.
fn inputs(tokens: TokenStream, found: &mut Vec<TokenStream>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let is_macro = matches!(
            &tokens[..index],
            [.., TokenTree::Ident(name), TokenTree::Punct(mark)]
                if mark.as_char() == '!' && (name == "attention" || name == "describe")
        );
        if is_macro {
            found.push(group.stream());
        } else {
            inputs(group.stream(), found);
        }
    }
}

fn inputs_of(program: &Path) -> Vec<TokenStream> {
    let text = fs::read_to_string(program).expect("a readable program");
    let mut found = Vec::new();
    inputs(
        text.parse().expect("a program consists of tokens"),
        &mut found,
    );
    found
}

/// The tokens up to each token, at any depth; brackets that are open are closed.
fn truncations(tokens: &TokenStream) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut all = Vec::new();
    for (length, token) in tokens.iter().enumerate() {
        let prefix = &tokens[..length];
        all.push(prefix.iter().cloned().collect());
        if let TokenTree::Group(group) = token {
            for inner in truncations(&group.stream()) {
                let mut last = Group::new(group.delimiter(), inner);
                last.set_span(group.span());
                let last = TokenTree::Group(last);
                all.push(prefix.iter().cloned().chain([last]).collect());
            }
        }
    }
    all
}

/// Expands input; whether it was accepted.
fn expand(input: &TokenStream) -> bool {
    let facade: TokenStream = "fa;".parse().expect("tokens");
    let expanded = fa_expand::expand(facade.into_iter().chain(input.clone()).collect());
    let items = syn::parse2::<syn::File>(expanded.clone()).is_ok();
    let expression = syn::parse2::<syn::Expr>(expanded.clone()).is_ok();
    assert!(items || expression, "no Rust comes of `{input}`");
    !expanded.to_string().contains("compile_error")
}

#[test]
fn every_prefix_of_every_passing_program_gets_an_answer() {
    let mut inputs_seen = 0;
    let mut prefixes = 0;
    for program in programs("pass") {
        for input in inputs_of(&program) {
            inputs_seen += 1;
            for prefix in truncations(&input) {
                prefixes += 1;
                expand(&prefix);
            }
        }
    }
    assert!(inputs_seen >= 15, "{inputs_seen} macros");
    assert!(prefixes >= 400, "{prefixes} prefixes");
}

#[test]
fn every_prefix_of_every_failing_program_gets_an_answer() {
    for program in programs("fail") {
        for input in inputs_of(&program) {
            expand(&input);
            for prefix in truncations(&input) {
                expand(&prefix);
            }
        }
    }
}

#[test]
fn whole_inputs_are_accepted() {
    for input in [
        "attention a { head_dim = 64; mask = causal; }",
        "< head_dim = 64, mask = causal, stages = 3 >",
        "< head_dim = 64, >",
    ] {
        assert!(expand(&input.parse().expect("tokens")), "{input}");
    }
}

#[test]
fn equal_input_gives_equal_output() {
    let input: TokenStream =
        "fa; attention a { head_dim = 64; tensor s: fp32[h]; score = score - s[h]; }"
            .parse()
            .expect("tokens");
    let first = fa_expand::expand(input.clone()).to_string();
    assert_eq!(first, fa_expand::expand(input).to_string());
}
