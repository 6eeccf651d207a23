//! Why a piece of text does not parse, in words: what stands there, and what was expected.

use std::collections::BTreeSet;

use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};

use super::{Grammar, Rule, place};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::FileId;

/// Parses one piece alone and reports the furthest place that it got to.
pub(super) fn bad_piece(
    text: &str,
    start: usize,
    end: usize,
    alone: Rule,
    file: FileId,
) -> Diagnostic {
    if let Some(special) = misplaced(text, start, end, alone, file) {
        return special;
    }
    match Grammar::parse(alone, &text[start..end]) {
        Err(error) => explain(&error, text, start, end, alone, file),
        Ok(_) => Diagnostic::error(
            codes::SYNTAX,
            "this cannot stand here",
            "end the statement before it with `;`",
        )
        .at(
            place(file, start, start + text[start..end].trim_end().len()),
            "unexpected here",
        ),
    }
}

/// Pieces that parse, or nearly, but belong elsewhere.
fn misplaced(
    text: &str,
    start: usize,
    end: usize,
    alone: Rule,
    file: FileId,
) -> Option<Diagnostic> {
    let piece = &text[start..end];
    let first = word(piece);
    let at = |length: usize| place(file, start, start + length);
    let report = |message: String, help: String, length: usize, label: &str| {
        Some(Diagnostic::error(codes::SYNTAX, message, help).at(at(length), label))
    };
    match (alone, first) {
        (Rule::lone_statement | Rule::lone_piece, "const") => report(
            "`const` stands inside a variant".to_owned(),
            "move the `const` in front of `attention`, or write `let` for a name of this variant"
                .to_owned(),
            first.len(),
            "constants belong to the file",
        ),
        (Rule::lone_statement, "for" | "while" | "return" | "def" | "fn" | "import" | "use") => report(
            format!("there is no `{first}` statement"),
            "describe the variant by fields such as `mask = …;`: there are no loops and no functions of your own".to_owned(),
            first.len(),
            "belongs to another language",
        ),
        (Rule::lone_statement, _) if piece.trim() == ";" => report(
            "there is no statement before this `;`".to_owned(),
            "remove the `;`".to_owned(),
            1,
            "stray `;`",
        ),
        (Rule::lone_statement, _) if unset(piece).is_some() => report(
            format!("`{first}` is given no value"),
            unset(piece).unwrap_or_default(),
            first.len(),
            "a field is set by `name = value;`",
        ),
        (Rule::lone_item, "") if piece.starts_with('}') => report(
            "`}` closes nothing".to_owned(),
            "remove the `}`, or open the block that it should close".to_owned(),
            1,
            "no `{` is open here",
        ),
        (Rule::lone_item, word) if word != "attention" && word != "const" => {
            outside(piece, word, start, file)
        }
        _ => None,
    }
}

/// How to write a statement that is nothing but one or two words.
fn unset(piece: &str) -> Option<String> {
    let words: Vec<&str> = piece.trim().strip_suffix(';')?.split_whitespace().collect();
    let is_name =
        |text: &&str| word(text) == *text && !text.starts_with(|c: char| c.is_ascii_digit());
    match words.as_slice() {
        _ if !words.iter().all(is_name) => None,
        ["let" | "param" | "tensor", ..] => None,
        ["causal"] => Some("write `mask = causal;`".to_owned()),
        [name] => Some(format!("write `{name} = …;`, or remove it")),
        [name, value] => Some(format!("write `{name} = {value};`")),
        _ => None,
    }
}

/// Something other than `attention` and `const` at the top level.
fn outside(piece: &str, word: &str, start: usize, file: FileId) -> Option<Diagnostic> {
    let near = ["attention", "const"]
        .into_iter()
        .find(|known| !word.is_empty() && strsim::damerau_levenshtein(known, word) <= 2);
    let length = if word.is_empty() {
        found(piece).map_or(1, str::len)
    } else {
        word.len()
    };
    let at = place(file, start, start + length);
    let shown = &piece[..length];
    let report = match near {
        Some(near) => Diagnostic::error(
            codes::SYNTAX,
            format!("`{shown}` starts no item"),
            format!("write `{near}`"),
        )
        .at(at, "`attention` or `const` is expected here")
        .with_patch(at, near),
        None => Diagnostic::error(
            codes::SYNTAX,
            format!("`{shown}` stands outside any `attention`"),
            if piece[length..].trim_start().starts_with(['/', '.']) {
                "write the path of a file as a string, `attention!(\"variants/local.fa\")`"
            } else {
                "put fields into `attention NAME { … }`; a file holds `attention` and `const` items, and the macro also takes \
                 the fields of one variant between angle brackets, `attention!(< … >)`"
            },
        )
        .at(at, "`attention` or `const` is expected here"),
    };
    Some(report)
}

/// Words a pest error: `start` and `end` bound the piece that was parsed as `rule`.
pub(super) fn explain(
    error: &Error<Rule>,
    text: &str,
    start: usize,
    end: usize,
    rule: Rule,
    file: FileId,
) -> Diagnostic {
    let offset = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => start + at,
    };
    let ErrorVariant::ParsingError { positives, .. } = &error.variant else {
        return Diagnostic::error(
            codes::TOO_DEEP,
            "the text is too complex to parse",
            "split the file, or name the inner parts with `let`",
        )
        .at(place(file, start, end), "");
    };
    let expected = expectation(positives, rule);
    let token = found(&text[offset..]);
    let label_at = match token {
        Some(token) => place(file, offset, offset + token.len()),
        None => place(file, offset, offset),
    };
    let shown = token.map_or_else(|| "the end of the text".to_owned(), |t| format!("`{t}`"));
    let help = help_for(token, positives).unwrap_or_else(|| format!("write {expected} here"));
    Diagnostic::error(
        codes::SYNTAX,
        format!("expected {expected}, found {shown}"),
        help,
    )
    .at(label_at, format!("{expected} is expected here"))
}

/// The token at the start of a text: a word, a number, or one character.
fn found(rest: &str) -> Option<&str> {
    let first = rest.chars().next()?;
    if rest.starts_with("==") {
        return Some(&rest[..2]);
    }
    let run = word(rest);
    Some(if run.is_empty() {
        &rest[..first.len_utf8()]
    } else {
        run
    })
}

/// The run of letters, digits and underscores at the start of a text.
fn word(rest: &str) -> &str {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &rest[..end.unwrap_or(rest.len())]
}

/// A help that knows the token.
fn help_for(token: Option<&str>, expected: &[Rule]) -> Option<String> {
    let help = match token? {
        "?" => "write `if c { x } else { y }`",
        "==" if expected.contains(&Rule::assign) => {
            "write one `=`: a field is set by `name = value;`"
        }
        "is" | "to" if expected.contains(&Rule::assign) => "write `name = value;`",
        token
            if expected.contains(&Rule::assign)
                && token.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            "write `name = value;`"
        }
        ":" if expected.contains(&Rule::assign) => {
            "write `=`; a type is given only to `const`, `param` and `tensor`"
        }
        "'" => "text is quoted by `\"`, and no field needs quotes",
        "{" if expected.contains(&Rule::expr) => {
            "write a block without `=`, as in `tile { block_q = 128; }`"
        }
        "attention" | "const" | "param" | "tensor" | "let" | "if" | "else" | "true" | "false"
        | "and" | "or" | "not"
            if expected.contains(&Rule::name) =>
        {
            return Some(format!(
                "choose another name, `{}` is a word of the language",
                token?
            ));
        }
        _ => return None,
    };
    Some(help.to_owned())
}

/// What was expected, as a phrase; `rule` is what was asked for.
fn expectation(rules: &[Rule], rule: Rule) -> String {
    let mut names: BTreeSet<&'static str> = rules.iter().filter_map(|rule| name(*rule)).collect();
    // What could always follow an operand helps only where nothing else could.
    for extension in ["an operator", "`(`", "`[`"] {
        if names.len() > 1 {
            names.remove(extension);
        }
    }
    if names.contains("an expression") {
        names.remove("a list in `[ ]`");
    }
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => match rule {
            Rule::lone_header => "`{`",
            Rule::lone_piece | Rule::inline => "`,`",
            _ => "the end of the text",
        }
        .to_owned(),
        [only] => (*only).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

/// What a user calls a rule.
fn name(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::name | Rule::header => "a name",
        Rule::number => "a number",
        Rule::expr | Rule::operand | Rule::primary | Rule::reference | Rule::prefix => {
            "an expression"
        }
        Rule::group | Rule::conditional | Rule::boolean | Rule::text => "an expression",
        Rule::binary_op | Rule::kw_and | Rule::kw_or => "an operator",
        Rule::assign | Rule::default => "`=`",
        Rule::colon => "`:`",
        Rule::parent => "`: PARENT`",
        Rule::open | Rule::arm => "`{`",
        Rule::close_paren => "`)`",
        Rule::close_bracket => "`]`",
        Rule::close_brace | Rule::unclosed => "`}`",
        Rule::no_semicolon => "`;`",
        Rule::arguments => "`(`",
        Rule::indices => "`[`",
        Rule::list => "a list in `[ ]`",
        Rule::grad => "`grad`",
        Rule::kw_else => "`else`",
        Rule::kw_if => "`if`",
        Rule::const_item | Rule::kw_const => "`const`",
        Rule::attention | Rule::kw_attention => "`attention`",
        Rule::field | Rule::block | Rule::param | Rule::tensor | Rule::let_binding => "a statement",
        Rule::kw_param | Rule::kw_tensor | Rule::kw_let | Rule::body => "a statement",
        _ => return None,
    })
}
