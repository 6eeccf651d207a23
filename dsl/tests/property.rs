//! Properties of the front end over generated files, token soup and mutated programs.

mod support;

use fa_dsl::ast::{
    Attention, BinaryOp, Block, Const, Expr, ExprKind, Field, FieldValue, File, Item, Let, List,
    Name, Param, Statement, Tensor, UnaryOp,
};
use fa_dsl::check::check;
use fa_dsl::span::{FileId, SourceMap, Span};
use fa_dsl::{parse, print};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value as Json;

/// Programs that the mutations start from.
const SEEDS: [&str; 4] = [
    include_str!("pass/language.fa"),
    include_str!("pass/words.fa"),
    include_str!("pass/indices.fa"),
    include_str!("pass/inheritance.fa"),
];

/// A file to take places from.
fn anywhere() -> (SourceMap, FileId) {
    let mut sources = SourceMap::new();
    let file = sources.add("", "");
    (sources, file)
}

fn span() -> Span {
    Span::new(anywhere().1, 0, 0)
}

fn name() -> impl Strategy<Value = Name> {
    "[a-zA-Z_][a-zA-Z0-9_]{0,6}"
        .prop_filter("a word of the grammar", |text| {
            !matches!(
                text.as_str(),
                "attention"
                    | "const"
                    | "param"
                    | "tensor"
                    | "let"
                    | "if"
                    | "else"
                    | "true"
                    | "false"
                    | "and"
                    | "or"
                    | "not"
                    | "_"
            )
        })
        .prop_map(|text| Name { text, span: span() })
}

fn at(kind: ExprKind) -> Expr {
    Expr { kind, span: span() }
}

/// How tightly an expression binds: an operand that binds more loosely needs parentheses.
fn tightness(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(op, ..) => op.precedence(),
        ExprKind::Unary(..) => 6,
        _ => 7,
    }
}

fn grouped(expr: Expr, least: u8) -> Box<Expr> {
    Box::new(if tightness(&expr) < least {
        at(ExprKind::Group(Box::new(expr)))
    } else {
        expr
    })
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    // Comparisons do not chain: both sides must bind more tightly.
    let least = op.precedence() + u8::from(op.is_comparison());
    let left = grouped(left, least);
    let right = grouped(right, op.precedence() + 1);
    at(ExprKind::Binary(op, left, right))
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        "[0-9]{1,3}(_[0-9]{2})?".prop_map(|text| at(ExprKind::Int(text))),
        "[0-9]{1,3}\\.[0-9]{1,3}(e[+-]?[0-9])?".prop_map(|text| at(ExprKind::Float(text))),
        any::<bool>().prop_map(|value| at(ExprKind::Bool(value))),
        name().prop_map(|name| at(ExprKind::Name(name.text))),
        "[a-z /*]{0,5}".prop_map(|text| at(ExprKind::Text(format!("\"{text}\"")))),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let op = proptest::sample::select(BinaryOp::ALL.to_vec());
        prop_oneof![
            (op, inner.clone(), inner.clone()).prop_map(|(op, a, b)| binary(op, a, b)),
            (any::<bool>(), inner.clone()).prop_map(|(not, a)| {
                let op = if not { UnaryOp::Not } else { UnaryOp::Neg };
                at(ExprKind::Unary(op, grouped(a, 6)))
            }),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| at(ExprKind::If(
                Box::new(a),
                Box::new(b),
                Box::new(c)
            ))),
            inner.clone().prop_map(|a| at(ExprKind::Group(Box::new(a)))),
            (name(), vec(inner.clone(), 0..3))
                .prop_map(|(name, list)| at(ExprKind::Call(name, list))),
            (name(), vec(inner, 0..3)).prop_map(|(name, list)| at(ExprKind::Index(name, list))),
        ]
    })
}

fn statement() -> impl Strategy<Value = Statement> {
    let value = prop_oneof![
        4 => expr().prop_map(FieldValue::Expr),
        1 => vec(expr(), 0..3).prop_map(|items| FieldValue::List(List { items, span: span() })),
    ];
    let leaf = prop_oneof![
        (name(), value).prop_map(|(name, value)| Statement::Field(Field {
            name,
            value,
            span: span()
        })),
        (name(), name(), option::of(expr())).prop_map(|(name, ty, default)| {
            Statement::Param(Param {
                name,
                ty,
                default,
                span: span(),
            })
        }),
        (name(), name(), vec(expr(), 0..3), any::<bool>()).prop_map(|(name, dtype, dims, grad)| {
            Statement::Tensor(Tensor {
                name,
                dtype,
                dims,
                grad: grad.then(span),
                span: span(),
            })
        }),
        (name(), expr()).prop_map(|(name, value)| Statement::Let(Let {
            name,
            value,
            span: span()
        })),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        (name(), option::of(name()), vec(inner, 0..4)).prop_map(|(name, label, body)| {
            Statement::Block(Block {
                name,
                label,
                body,
                span: span(),
            })
        })
    })
}

fn file() -> impl Strategy<Value = File> {
    let item = prop_oneof![
        (name(), name(), expr()).prop_map(|(name, ty, value)| Item::Const(Const {
            name,
            ty,
            value,
            span: span()
        })),
        (name(), option::of(name()), vec(statement(), 0..6)).prop_map(|(name, parent, body)| {
            Item::Attention(Attention {
                name,
                parent,
                body,
                span: span(),
            })
        }),
    ];
    vec(item, 0..5).prop_map(|items| File {
        items,
        comments: Vec::new(),
    })
}

/// A tree without places.
fn shape(file: &File) -> Json {
    let mut json = serde_json::to_value(file).expect("trees serialize");
    strip(&mut json);
    json
}

fn strip(json: &mut Json) {
    match json {
        Json::Object(map) => {
            map.remove("span");
            // `grad` is nothing but a place: keep whether it is there.
            if let Some(grad) = map.get_mut("grad") {
                *grad = Json::Bool(!grad.is_null());
            }
            map.values_mut().for_each(strip);
        }
        Json::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

fn parsed(text: &str) -> (File, usize) {
    let mut sources = SourceMap::new();
    let id = sources.add("", text);
    let (file, found) = parse::parse(&sources, id);
    (file, found.len())
}

/// The body of the fuzz target: checks a text, whatever it is.
fn check_anything(text: &str) {
    let mut sources = SourceMap::new();
    let id = sources.add("soup.fa", text);
    let checked = check(&sources, id, &[]);
    for found in &checked.diagnostics {
        assert!(!found.help.is_empty());
        for label in &found.labels {
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            assert!(text.get(start..end).is_some(), "a label off the text");
        }
    }
    if let Ok(printed) = print::format(text) {
        assert_eq!(print::format(&printed).as_deref(), Ok(printed.as_str()));
    }
}

/// Tokens that text is made of.
const TOKENS: [&str; 56] = [
    "attention",
    "const",
    "param",
    "tensor",
    "let",
    "if",
    "else",
    "true",
    "false",
    "a",
    "b",
    "h",
    "x",
    "q_pos",
    "kv_pos",
    "score",
    "mask",
    "head_dim",
    "tile",
    "target",
    "cpu",
    "block_q",
    "=",
    "==",
    "<",
    "<=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&&",
    "||",
    "&",
    "!",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ":",
    ",",
    "1",
    "64",
    "0.5",
    "1e9",
    "\"t\"",
    "// c\n",
    "/* c */",
    "/*",
    "fp32",
    "int",
    "window",
    "\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn printing_and_parsing_gives_the_tree(file in file()) {
        let text = print::print(&file, None);
        let (again, faults) = parsed(&text);
        prop_assert_eq!(faults, 0, "{}", text);
        prop_assert_eq!(shape(&again), shape(&file), "{}", text);
        let formatted = print::format(&text).expect("it parses");
        prop_assert_eq!(print::format(&formatted).expect("it parses"), formatted);
    }

    #[test]
    fn token_soup_never_panics(tokens in vec(proptest::sample::select(TOKENS.to_vec()), 0..60)) {
        check_anything(&tokens.join(" "));
    }

    #[test]
    fn any_text_never_panics(text in "\\PC{0,80}") {
        check_anything(&text);
    }

    #[test]
    fn mutated_programs_never_panic(
        seed in 0..SEEDS.len(),
        edits in vec((any::<prop::sample::Index>(), 0..12usize, proptest::sample::select(TOKENS.to_vec())), 1..6),
    ) {
        let mut text = SEEDS[seed].to_owned();
        for (place, length, token) in edits {
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let start = bounds[place.index(bounds.len())];
            let end = bounds.iter().copied().find(|at| *at >= start + length).unwrap_or(text.len());
            text.replace_range(start..end, token);
        }
        check_anything(&text);
    }

    #[test]
    fn comments_survive(seed in 0..SEEDS.len(), places in vec(any::<prop::sample::Index>(), 1..8)) {
        let mut text = SEEDS[seed].to_owned();
        for (number, place) in places.iter().enumerate() {
            let gaps: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).collect();
            let at = gaps[place.index(gaps.len())];
            let in_line_comment = text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at].contains("//");
            if !in_line_comment {
                text.insert_str(at, &format!(" /* c{number} */ "));
            }
        }
        let (before, faults) = parsed(&text);
        prop_assert_eq!(faults, 0);
        let formatted = print::format(&text).expect("it parses");
        let (after, _) = parsed(&formatted);
        let texts = |file: &File| -> Vec<String> {
            file.comments.iter().map(|comment| comment.text.clone()).collect()
        };
        prop_assert_eq!(texts(&after), texts(&before));
        prop_assert_eq!(print::format(&formatted).expect("it parses"), formatted);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("-", ""),
        ("!", ""),
        ("f(", ")"),
    ] {
        check_anything(&format!(
            "attention a {{ head_dim = 64; mask = {}1{}; }}",
            open.repeat(20_000),
            close.repeat(20_000)
        ));
    }
    check_anything(&format!(
        "attention a {{ head_dim = 64; }}{}",
        "/*".repeat(20_000)
    ));
}

#[test]
fn long_chains_are_refused_or_checked() {
    let chain = " + 1.0".repeat(20_000);
    check_anything(&format!(
        "attention a {{ head_dim = 64; score = 1.0{chain}; }}"
    ));
    let ifs = "if true { 1.0 } else ".repeat(20_000);
    check_anything(&format!(
        "attention a {{ head_dim = 64; score = {ifs} {{ 1.0 }}; }}"
    ));
}

#[test]
fn many_definitions_are_checked() {
    let lets: String = (0..2_000)
        .map(|n| format!("let x{n} = x{} + x{};\n", n + 1, n + 1))
        .collect();
    check_anything(&format!(
        "attention a {{ head_dim = 64; {lets} let x2000 = score; score = x0; }}"
    ));
    let variants: String = (1..200)
        .map(|n| {
            format!(
                "attention v{n} : v{} {{ tile {{ block_q = 64; }} }}\n",
                n - 1
            )
        })
        .collect();
    check_anything(&format!("attention v0 {{ head_dim = 64; }} {variants}"));
}
