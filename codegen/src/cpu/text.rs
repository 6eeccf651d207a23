//! Lines as rustfmt breaks them. Knows widths and commas, not what the code means.

/// Widest line.
const MAX_WIDTH: usize = 100;
/// Widest argument list or array on one line.
const LIST_WIDTH: usize = 60;
/// Widest list of fields on one line.
const SHORT_STRUCT_WIDTH: usize = 18;
/// Widest `if` expression on one line.
const SHORT_IF_WIDTH: usize = 50;

/// `head` `(args)` `tail`, on one line or one argument per line; `indent` is where the template puts it, columns.
pub(super) fn call(indent: usize, head: &str, args: &[String], tail: &str) -> Vec<String> {
    let list = args.join(", ");
    let line = format!("{head}({list}){tail}");
    if list.len() <= LIST_WIDTH && indent + line.len() <= MAX_WIDTH {
        return vec![line];
    }
    vertical(head, args, tail)
}

/// A function head up to its brace, on one line or one parameter per line.
pub(super) fn signature(head: &str, params: &[String], returns: &str) -> Vec<String> {
    let tail = if returns.is_empty() {
        " {".to_owned()
    } else {
        format!(" -> {returns} {{")
    };
    let line = format!("{head}({}){tail}", params.join(", "));
    if line.len() <= MAX_WIDTH {
        return vec![line];
    }
    vertical(head, params, &tail)
}

fn vertical(head: &str, items: &[String], tail: &str) -> Vec<String> {
    let mut lines = vec![format!("{head}(")];
    lines.extend(items.iter().map(|item| format!("    {item},")));
    lines.push(format!("){tail}"));
    lines
}

/// `start` `if cond { then } else { other };`, on one line or five.
pub(super) fn select(start: &str, cond: &str, then: &str, other: &str) -> Vec<String> {
    let short = format!("if {cond} {{ {then} }} else {{ {other} }}");
    if short.len() <= SHORT_IF_WIDTH {
        return vec![format!("{start}{short};")];
    }
    vec![
        format!("{start}if {cond} {{"),
        format!("    {then}"),
        "} else {".to_owned(),
        format!("    {other}"),
        "};".to_owned(),
    ]
}

/// A struct of such fields, on one line or one field per line.
pub(super) fn struct_literal(name: &str, fields: &[String]) -> Vec<String> {
    let list = fields.join(", ");
    if list.len() <= SHORT_STRUCT_WIDTH {
        return vec![format!("{name} {{ {list} }}")];
    }
    let mut lines = vec![format!("{name} {{")];
    lines.extend(fields.iter().map(|field| format!("    {field},")));
    lines.push("}".to_owned());
    lines
}

/// Lines moved right by so many columns; empty ones stay empty.
pub(super) fn indented(columns: usize, lines: &[String]) -> Vec<String> {
    let margin = " ".repeat(columns);
    lines
        .iter()
        .map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{margin}{line}")
            }
        })
        .collect()
}

/// Doc or comment lines: words filled up to the width behind a prefix such as `/// `.
pub(super) fn comment(prefix: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = prefix.trim_end().to_owned();
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > MAX_WIDTH && line.len() > prefix.len() {
            lines.push(line);
            line = prefix.trim_end().to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_stay_on_one_line() {
        let args = ["task".to_owned(), "row".to_owned()];
        assert_eq!(
            call(4, "apply_mask", &args, ";"),
            ["apply_mask(task, row);"]
        );
        let args = ["a".repeat(40), "b".repeat(40)];
        assert_eq!(call(4, "f", &args, ";").len(), 4);
    }

    #[test]
    fn short_ifs_stay_on_one_line() {
        assert_eq!(
            select("let x = ", "c", "1", "2"),
            ["let x = if c { 1 } else { 2 };"]
        );
        let long = "a_rather_long_condition_here";
        assert_eq!(select("let x = ", long, "1.0", "another").len(), 5);
    }

    #[test]
    fn comments_are_filled() {
        let text = "word ".repeat(40);
        let lines = comment("/// ", &text);
        assert!(lines.len() > 1);
        assert!(
            lines
                .iter()
                .all(|line| line.len() <= MAX_WIDTH && line.starts_with("/// word"))
        );
    }
}
