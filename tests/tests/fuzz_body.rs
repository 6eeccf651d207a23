//! The body of the fuzz target on texts that proptest makes: soups of the language's own words, and stock variants
//! with pieces cut out, doubled and swapped.

use std::sync::LazyLock;

use fa_tests::{files_below, generate_anything};
use proptest::prelude::*;

static STOCK: LazyLock<Vec<String>> = LazyLock::new(|| {
    files_below("examples", ".fa")
        .iter()
        .map(|path| fs_err::read_to_string(path).expect("a readable file"))
        .collect()
});

const WORDS: [&str; 60] = [
    "attention",
    "const",
    "param",
    "tensor",
    "let",
    "mask",
    "score",
    "sink",
    "tile",
    "target",
    "precision",
    "head_dim",
    "v_head_dim",
    "layout",
    "align",
    "scale",
    "causal",
    "window",
    "prefix",
    "padding",
    "same",
    "dense",
    "unbounded",
    "q_pos",
    "kv_pos",
    "q_idx",
    "kv_idx",
    "b",
    "h",
    "kv_h",
    "q_len",
    "kv_len",
    "dot",
    "int",
    "float",
    "if",
    "else",
    "softcap",
    "clamp",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    "==",
    "<=",
    "&&",
    "||",
    "!",
    "+",
    "-",
    "*",
    "/",
    "%",
    "128",
    "1.5e3",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60).prop_map(|words| words.join(" "))
}

/// A stock variant with a stretch of it replaced by some words or by another stretch.
fn mutated() -> impl Strategy<Value = String> {
    (
        0..STOCK.len(),
        any::<prop::sample::Index>(),
        0..40usize,
        soup(),
        any::<bool>(),
    )
        .prop_map(|(which, at, length, words, keep)| {
            let chars: Vec<char> = STOCK[which].chars().collect();
            let start = at.index(chars.len());
            let end = (start + length).min(chars.len());
            let middle: String = if keep {
                chars[start..end].iter().chain(&chars[start..end]).collect()
            } else {
                words
            };
            chars[..start].iter().collect::<String>()
                + &middle
                + &chars[end..].iter().collect::<String>()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_soup_of_words_panics(text in soup()) {
        generate_anything(&format!("attention t {{ head_dim = 64; mask = {text}; }}"));
        generate_anything(&text);
    }

    #[test]
    fn no_mutated_variant_panics(text in mutated()) {
        generate_anything(&text);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        generate_anything(&text);
    }
}
