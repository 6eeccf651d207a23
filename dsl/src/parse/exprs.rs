//! Expressions: from the grammar's flat lists of operands and operators to trees, by precedence climbing.
//! Operators of other languages are reported here and read as what they stand for.

use pest::iterators::Pair;

use super::{Builder, MAX_DEPTH, Rule};
use crate::ast::{self, BinaryOp, Expr, ExprKind, UnaryOp};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// An expression with the height of its tree.
struct Tall {
    expr: Expr,
    height: usize,
}

/// An operator and where it stands.
#[derive(Clone, Copy)]
struct Operator {
    op: BinaryOp,
    span: Span,
    /// Of another language, and reported as such.
    foreign: bool,
    /// Nothing in this language is sure to mean the same, so that types are not judged by it.
    nameless: bool,
}

impl<'t> Builder<'t> {
    /// An expression.
    pub(super) fn expr(&mut self, pair: Pair<'t, Rule>) -> Expr {
        self.tall(pair).expr
    }

    /// The expressions between brackets.
    pub(super) fn exprs(&mut self, pair: Pair<'t, Rule>) -> Vec<Expr> {
        pair.into_inner()
            .filter(|inner| inner.as_rule() == Rule::expr)
            .map(|inner| self.expr(inner))
            .collect()
    }

    fn tall(&mut self, pair: Pair<'t, Rule>) -> Tall {
        let (mut operands, mut operators) = (Vec::new(), Vec::new());
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::operand => operands.push(self.operand(inner)),
                _ => operators.push(self.operator(&inner)),
            }
        }
        let mut operands = operands.into_iter();
        let first = operands.next().expect("the grammar puts an operand first");
        let mut rest = operators.into_iter().zip(operands).peekable();
        self.climb(first, &mut rest, 1)
    }

    /// Precedence climbing: extends `left` by operators that bind at least as tightly as `least`.
    fn climb<I>(&mut self, left: Tall, rest: &mut std::iter::Peekable<I>, least: u8) -> Tall
    where
        I: Iterator<Item = (Operator, Tall)>,
    {
        let mut left = left;
        let mut compared: Option<Operator> = None;
        while let Some((operator, _)) = rest.peek() {
            let precedence = operator.op.precedence();
            if precedence < least {
                break;
            }
            let (mut operator, mut right) = rest.next().expect("it was peeked at");
            while rest
                .peek()
                .is_some_and(|(next, _)| next.op.precedence() > precedence)
            {
                right = self.climb(right, rest, precedence + 1);
            }
            if operator.op.is_comparison() {
                if let Some(before) = compared {
                    self.chained(&left.expr, before, operator, &right.expr);
                    operator.nameless = true;
                }
                compared = Some(operator);
            }
            left = self.join(operator, left, right);
        }
        left
    }

    fn join(&mut self, operator: Operator, left: Tall, right: Tall) -> Tall {
        let span = left.expr.span.to(right.expr.span);
        let height = left.height.max(right.height) + 1;
        if operator.foreign {
            self.foreign_operator(operator, &left.expr, &right.expr);
        }
        if operator.nameless || left.expr.is_broken() || right.expr.is_broken() {
            let mut parts = broken_parts(left.expr);
            parts.extend(broken_parts(right.expr));
            let kind = ExprKind::Broken(parts);
            return self.capped(Expr { kind, span }, height);
        }
        let kind = ExprKind::Binary(operator.op, Box::new(left.expr), Box::new(right.expr));
        self.capped(Expr { kind, span }, height)
    }

    /// Replaces a tree that is too high, once, by a reported error.
    fn capped(&mut self, expr: Expr, height: usize) -> Tall {
        if height <= MAX_DEPTH {
            return Tall { expr, height };
        }
        self.report(
            Diagnostic::error(
                codes::TOO_DEEP,
                format!("more than {MAX_DEPTH} operators depend on each other in one expression"),
                "name the parts with `let`",
            )
            .at(expr.span, "too many operators"),
        );
        Tall {
            expr: self.error_expr(expr.span),
            height: 1,
        }
    }

    fn chained(&mut self, left: &Expr, before: Operator, operator: Operator, right: &Expr) {
        if before.foreign || operator.foreign {
            return;
        }
        let shared = match &left.kind {
            ExprKind::Binary(_, _, middle) => self.text_of(middle.span).to_owned(),
            _ => "y".to_owned(),
        };
        let whole = format!(
            "{} && {shared} {} {}",
            self.text_of(left.span),
            operator.op.text(),
            self.text_of(right.span)
        );
        self.report(
            Diagnostic::error(
                codes::BAD_OPERATOR,
                "comparisons cannot be chained",
                format!("write both comparisons: `{whole}`"),
            )
            .at(operator.span, "the second comparison")
            .at(before.span, "the first one"),
        );
    }

    fn text_of(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn operand(&mut self, pair: Pair<'t, Rule>) -> Tall {
        let mut prefixes = Vec::new();
        let mut operand = None;
        for inner in pair.into_inner() {
            if inner.as_rule() == Rule::prefix {
                let span = self.span(&inner);
                if let Some(op) = self.prefix(inner.as_str(), span) {
                    prefixes.push((op, span));
                }
            } else {
                operand = Some(self.primary(inner));
            }
        }
        let mut tall = operand.expect("the grammar ends an operand with a primary");
        for (op, span) in prefixes.into_iter().rev() {
            let span = span.to(tall.expr.span);
            if tall.expr.is_broken() {
                tall.expr.span = span;
                continue;
            }
            let kind = ExprKind::Unary(op, Box::new(tall.expr));
            tall = self.capped(Expr { kind, span }, tall.height + 1);
        }
        tall
    }

    fn prefix(&mut self, text: &str, span: Span) -> Option<UnaryOp> {
        match text {
            "-" => return Some(UnaryOp::Neg),
            "!" => return Some(UnaryOp::Not),
            _ => {}
        }
        let (right, help, op) = if text == "+" {
            ("", "leave the `+` out", None)
        } else {
            ("!", "write `!`", Some(UnaryOp::Not))
        };
        self.report(
            Diagnostic::error(
                codes::BAD_OPERATOR,
                format!("`{text}` does not exist in front of an operand"),
                help,
            )
            .at(span, "not an operator of this language")
            .with_patch(span, right),
        );
        op
    }

    fn operator(&mut self, pair: &Pair<'t, Rule>) -> Operator {
        let span = self.span(pair);
        let text = pair.as_str();
        let op = BinaryOp::ALL.into_iter().find(|op| op.text() == text);
        Operator {
            op: op.unwrap_or_else(|| foreign(text).0),
            span,
            foreign: op.is_none(),
            nameless: matches!(text, "&" | "|" | "^" | "**" | "<<" | ">>"),
        }
    }

    /// Reports an operator of another language between these operands.
    fn foreign_operator(&mut self, operator: Operator, left: &Expr, right: &Expr) {
        let text = self.text_of(operator.span);
        let (meant, why) = foreign(text);
        let bits = is_number(left) || is_number(right);
        let (help, patch) = match text {
            "^" | "**" => (self.power(text, left, right), None),
            "<<" | ">>" => ("multiply or divide by a power of two".to_owned(), None),
            "&" | "|" if bits => (
                "bits are read by division: `x % 2 == 1` is the lowest, `x / 4 % 2 == 1` the third"
                    .to_owned(),
                None,
            ),
            _ => (format!("write `{}`", meant.text()), Some(meant.text())),
        };
        let message = format!("`{text}` does not exist");
        let report = Diagnostic::error(codes::BAD_OPERATOR, message, help).at(operator.span, why);
        self.report(match patch {
            Some(meant) => report.with_patch(operator.span, meant),
            None => report,
        });
    }

    /// How to write a power.
    fn power(&self, text: &str, left: &Expr, right: &Expr) -> String {
        let base = self.text_of(left.span);
        let whole = !matches!(
            left.kind,
            ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::If(..)
        );
        let times = match &right.kind {
            ExprKind::Int(text) => ast::int_value(text).filter(|times| (2..=4).contains(times)),
            _ => None,
        };
        match times {
            Some(times) if whole && !left.is_broken() && base.len() <= 20 => {
                let times = usize::try_from(times).unwrap_or_default();
                format!("multiply: `{}`", vec![base; times].join(" * "))
            }
            _ if text == "^" => {
                "write `x * x` for a power; of two bools, `!=` says that they differ".to_owned()
            }
            _ => "multiply by hand, `x * x`, or write `exp(y * log(x))`".to_owned(),
        }
    }

    fn primary(&mut self, inner: Pair<'t, Rule>) -> Tall {
        let span = self.span(&inner);
        let text = inner.as_str();
        let leaf = |kind| Tall {
            expr: Expr { kind, span },
            height: 1,
        };
        match inner.as_rule() {
            Rule::number => {
                let kind = self.number(text, span);
                leaf(kind)
            }
            Rule::boolean => leaf(ExprKind::Bool(text == "true")),
            Rule::text => leaf(ExprKind::Text(text.to_owned())),
            Rule::conditional => self.conditional(inner, span),
            Rule::group => {
                let inside = inner
                    .into_inner()
                    .next()
                    .expect("the grammar fills a group");
                let Tall { expr, height } = self.tall(inside);
                let kind = if expr.is_broken() {
                    expr.kind
                } else {
                    ExprKind::Group(Box::new(expr))
                };
                self.capped(Expr { kind, span }, height + 1)
            }
            _ => self.reference(inner, span),
        }
    }

    fn reference(&mut self, pair: Pair<'t, Rule>, span: Span) -> Tall {
        let mut parts = pair.into_inner();
        let name = parts.next().expect("the grammar starts with a name");
        let name = self.name(&name);
        let Some(brackets) = parts.next() else {
            let expr = Expr {
                span: name.span,
                kind: ExprKind::Name(name.text),
            };
            return Tall { expr, height: 1 };
        };
        let call = brackets.as_rule() == Rule::arguments;
        let (mut inside, mut height) = (Vec::new(), 0);
        for inner in brackets.into_inner() {
            if inner.as_rule() == Rule::expr {
                let part = self.tall(inner);
                height = height.max(part.height);
                inside.push(part.expr);
            }
        }
        let kind = if call {
            ExprKind::Call(name, inside)
        } else {
            ExprKind::Index(name, inside)
        };
        let span = self.closed(span);
        self.capped(Expr { kind, span }, height + 1)
    }

    /// A span without blanks and comments at its end.
    fn closed(&self, span: Span) -> Span {
        let code = super::scan::without_trailing_comments(self.text_of(span)).trim_end();
        Span {
            end: span.start + u32::try_from(code.len()).expect("part of a span"),
            ..span
        }
    }

    fn conditional(&mut self, pair: Pair<'t, Rule>, span: Span) -> Tall {
        let span = self.closed(span);
        let mut parts = Vec::new();
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::expr => parts.push(self.tall(inner)),
                Rule::arm => {
                    let inside = inner.into_inner().find(|part| part.as_rule() == Rule::expr);
                    parts.push(self.tall(inside.expect("the grammar fills an arm")));
                }
                _ => {}
            }
        }
        // Condition, arm, condition, arm, …, last arm: an even number lacks the last `else`.
        if parts.len() % 2 == 0 {
            self.report(
                Diagnostic::error(
                    codes::SYNTAX,
                    "`if` has no `else`",
                    "add `else { … }`: an `if` is a value and needs both arms",
                )
                .at(span, "this has no value where the condition is false"),
            );
            return Tall {
                expr: self.error_expr(span),
                height: 1,
            };
        }
        let mut other = parts.pop().expect("an odd number of parts");
        while let (Some(then), Some(cond)) = (parts.pop(), parts.pop()) {
            let height = cond.height.max(then.height).max(other.height) + 1;
            let start = if parts.is_empty() {
                span.start
            } else {
                cond.expr.span.start
            };
            let expr = Expr {
                kind: ExprKind::If(
                    Box::new(cond.expr),
                    Box::new(then.expr),
                    Box::new(other.expr),
                ),
                span: Span { start, ..span },
            };
            other = self.capped(expr, height);
        }
        other
    }

    fn number(&mut self, text: &str, span: Span) -> ExprKind {
        let digits = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_digit())
                && part.chars().all(|c| c.is_ascii_digit() || c == '_')
        };
        if digits(text) {
            if ast::int_value(text).is_some_and(|value| value <= 1 << 31) {
                return ExprKind::Int(text.to_owned());
            }
            let help =
                "ints have 32 bits: stay within -2147483648 and 2147483647, or write a float";
            return self.bad_number(text, span, "does not fit into 32 bits", help.to_owned());
        }
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (
                &text[..at],
                Some(text[at + 1..].trim_start_matches(['+', '-'])),
            ),
            None => (text, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let parts = [Some(whole), fraction, exponent];
        if parts.into_iter().flatten().all(digits) && ast::float_value(text).is_some() {
            return ExprKind::Float(text.to_owned());
        }
        let help = match (whole, fraction) {
            ("", Some(fraction)) if digits(fraction) => format!("write `0.{fraction}`"),
            (whole, Some("")) if digits(whole) => format!("write `{whole}.0`"),
            _ => "write digits, as in `16`, `0.5` or `1e-3`; numbers have no suffix".to_owned(),
        };
        self.bad_number(text, span, "is not a number", help)
    }

    fn bad_number(&mut self, text: &str, span: Span, what: &str, help: String) -> ExprKind {
        let report = Diagnostic::error(codes::BAD_NUMBER, format!("`{text}` {what}"), help)
            .at(span, "a number is expected here");
        self.report(report);
        ExprKind::Error
    }
}

/// What is left to check of an operand beside something broken.
fn broken_parts(expr: Expr) -> Vec<Expr> {
    match expr.kind {
        ExprKind::Broken(parts) => parts,
        ExprKind::Error => Vec::new(),
        _ => vec![expr],
    }
}

/// Whether an operand is a number by its looks.
fn is_number(expr: &Expr) -> bool {
    match &expr.ungrouped().kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Unary(UnaryOp::Neg, _) => true,
        ExprKind::Binary(op, ..) => op.precedence() > 3,
        ExprKind::Name(name) => NUMBERS.contains(&name.as_str()),
        _ => false,
    }
}

/// Words that are numbers.
const NUMBERS: [&str; 13] = [
    "b", "h", "kv_h", "q_idx", "kv_idx", "q_pos", "kv_pos", "q_len", "kv_len", "head_dim", "dot",
    "score", "scale",
];

/// The operator that one of another language stands for, and why it does not exist here.
fn foreign(text: &str) -> (BinaryOp, &'static str) {
    match text {
        "&" => (
            BinaryOp::And,
            "it binds differently in every language, so that `a >= b & c` is misread",
        ),
        "|" => (
            BinaryOp::Or,
            "it binds differently in every language, so that `a >= b | c` is misread",
        ),
        "and" => (BinaryOp::And, "both conditions are joined by `&&`"),
        "or" => (BinaryOp::Or, "conditions are joined by `||`"),
        "=" => (BinaryOp::Eq, "`=` sets a field, it does not compare"),
        "===" => (BinaryOp::Eq, "there is one equality, `==`"),
        "!==" | "<>" => (
            BinaryOp::Ne,
            "of two bools or numbers, `!=` says that they differ",
        ),
        "^" => (
            BinaryOp::Mul,
            "neither a power nor an exclusive or has an operator",
        ),
        "**" => (BinaryOp::Mul, "there is no power operator"),
        _ => (BinaryOp::Mul, "there are no shifts"),
    }
}
