//! The canonical form of a file, behind `fa-gen fmt`: one statement a line, four blanks of indentation, 100
//! columns, comments kept. Printing and parsing again gives the same tree, and printing twice the same text.
//!
//! A comment behind a statement stays there; one inside a statement moves in front of it. A blank line
//! between two statements stays one blank line.

use std::collections::VecDeque;

use crate::ast::{
    Attention, BinaryOp, Block, Comment, Const, Expr, ExprKind, Field, FieldValue, File, Item,
    Param, Statement, Tensor,
};
use crate::diagnostic::Diagnostic;
use crate::parse;
use crate::span::{SourceMap, Span};

/// Lines are this long at most, where the language has a place to break them.
const WIDTH: usize = 100;

/// Columns of one level of indentation.
const INDENT: usize = 4;

/// Formats a text, or gives its syntax errors.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut sources = SourceMap::new();
    let id = sources.add("", text);
    let (file, diagnostics) = parse::parse(&sources, id);
    if diagnostics.is_empty() {
        Ok(print(&file, Some(text)))
    } else {
        Err(diagnostics)
    }
}

/// Prints a tree. With the source text blank lines and the places of comments are kept; without it there are
/// none of both.
pub fn print(file: &File, source: Option<&str>) -> String {
    let comments = if source.is_some() {
        file.comments.iter().collect()
    } else {
        VecDeque::new()
    };
    let mut printer = Printer {
        source: source.unwrap_or(""),
        comments,
        out: String::new(),
        indent: 0,
        at_start: true,
    };
    printer.file(file);
    printer.out
}

struct Printer<'p> {
    source: &'p str,
    /// Comments that are not printed yet.
    comments: VecDeque<&'p Comment>,
    out: String,
    indent: usize,
    /// Nothing stands yet in this file or block.
    at_start: bool,
}

impl<'p> Printer<'p> {
    fn file(&mut self, file: &'p File) {
        let mut before: Option<&Item> = None;
        for item in &file.items {
            let span = item.span();
            let apart = !matches!(
                (before, item),
                (None, _) | (Some(Item::Const(_)), Item::Const(_))
            );
            self.before(span.start, apart);
            match item {
                Item::Const(item) => self.constant(item),
                Item::Attention(item) => self.attention(item),
            }
            self.trailing(span);
            before = Some(item);
        }
        self.comments_to(u32::MAX, false);
    }

    fn constant(&mut self, item: &'p Const) {
        self.comments_to(item.span.end, false);
        let head = format!("const {}: {} = ", item.name.text, item.ty.text);
        let value = self.value(&item.value, head.len() + 1);
        self.line(&format!("{head}{value};"));
    }

    fn attention(&mut self, item: &'p Attention) {
        let parent = match &item.parent {
            Some(parent) => format!(" : {}", parent.text),
            None => String::new(),
        };
        let head = format!("attention {}{parent}", item.name.text);
        self.body(&head, &item.body, item.span);
    }

    /// A block over several lines.
    fn body(&mut self, head: &str, statements: &'p [Statement], span: Span) {
        if statements.is_empty() && !self.comments_within(span) {
            self.line(&format!("{head} {{}}"));
            return;
        }
        self.line(&format!("{head} {{"));
        self.indent += INDENT;
        self.at_start = true;
        for statement in statements {
            self.statement(statement);
        }
        self.comments_to(span.end, false);
        self.indent -= INDENT;
        self.at_start = false;
        self.line("}");
    }

    fn statement(&mut self, statement: &'p Statement) {
        let span = statement.span();
        self.before(span.start, false);
        if let Statement::Block(block) = statement {
            self.block(block);
        } else {
            self.comments_to(span.end, false);
            let text = self.plain(statement, self.indent);
            self.line(&text);
        }
        self.trailing(span);
    }

    fn block(&mut self, block: &'p Block) {
        if !self.comments_within(block.span) {
            let flat = flat_block(block);
            if self.indent + flat.chars().count() <= WIDTH {
                self.line(&flat);
                return;
            }
        }
        self.body(&block_head(block), &block.body, block.span);
    }

    /// A statement other than a block.
    fn plain(&self, statement: &Statement, indent: usize) -> String {
        match statement {
            Statement::Field(Field { name, value, .. }) => match value {
                FieldValue::Expr(expr) => {
                    let value = fit(expr, indent, name.text.len() + 4);
                    format!("{} = {value};", name.text)
                }
                FieldValue::List(list) => format!("{} = [{}];", name.text, comma(&list.items)),
            },
            Statement::Param(param) => plain_param(param),
            Statement::Tensor(tensor) => plain_tensor(tensor),
            Statement::Let(binding) => {
                let value = fit(&binding.value, indent, binding.name.text.len() + 8);
                format!("let {} = {value};", binding.name.text)
            }
            Statement::Block(block) => flat_block(block),
            Statement::Broken(_) => String::new(),
        }
    }

    fn value(&self, expr: &Expr, used: usize) -> String {
        fit(expr, self.indent, used)
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(&" ".repeat(self.indent));
        self.out.push_str(text);
        self.out.push('\n');
        self.at_start = false;
    }

    /// Prints what stands before a statement or item: comments, and a blank line where the source has one
    /// or where it stands `apart`.
    fn before(&mut self, start: u32, apart: bool) {
        let apart = self.comments_to(start, apart);
        if apart || self.blank_before(start) {
            self.blank();
        }
    }

    /// Prints the comments that start before an offset, each on lines of its own, the first one after a blank
    /// line if `apart`. Returns whether that blank line is still due.
    fn comments_to(&mut self, offset: u32, apart: bool) -> bool {
        let mut apart = apart;
        while let Some(comment) = self.comments.front().copied() {
            if comment.span.start >= offset {
                break;
            }
            if apart || self.blank_before(comment.span.start) {
                self.blank();
            }
            apart = false;
            self.comments.pop_front();
            let text = comment.text.replace("\r\n", "\n");
            self.line(&text);
        }
        apart
    }

    fn blank(&mut self) {
        if !self.at_start && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Prints the comments that follow a statement on its line.
    fn trailing(&mut self, span: Span) {
        let mut from = span.end;
        while let Some(comment) = self.comments.front().copied() {
            let between = self.source.get(from as usize..comment.span.start as usize);
            if !between
                .is_some_and(|between| between.chars().all(|c| matches!(c, ' ' | '\t' | ';')))
            {
                return;
            }
            self.comments.pop_front();
            self.out.pop();
            self.out.push(' ');
            self.out.push_str(&comment.text.replace("\r\n", "\n"));
            self.out.push('\n');
            from = comment.span.end;
        }
    }

    fn comments_within(&self, span: Span) -> bool {
        self.comments
            .front()
            .is_some_and(|comment| comment.span.start < span.end)
    }

    /// Whether the source has a blank line right before an offset.
    fn blank_before(&self, offset: u32) -> bool {
        let before = self.source.get(..offset as usize).unwrap_or("");
        let blanks = &before[before.trim_end().len()..];
        blanks.matches('\n').count() > 1
    }
}

fn block_head(block: &Block) -> String {
    match &block.label {
        Some(label) => format!("{} {}", block.name.text, label.text),
        None => block.name.text.clone(),
    }
}

/// A block on one line.
fn flat_block(block: &Block) -> String {
    let mut text = format!("{} {{ ", block_head(block));
    for statement in &block.body {
        text.push_str(&flat_statement(statement));
        text.push(' ');
    }
    if block.body.is_empty() {
        text.truncate(text.len() - 1);
    }
    text.push('}');
    text
}

fn flat_statement(statement: &Statement) -> String {
    match statement {
        Statement::Field(Field { name, value, .. }) => match value {
            FieldValue::Expr(expr) => format!("{} = {};", name.text, flat(expr)),
            FieldValue::List(list) => format!("{} = [{}];", name.text, comma(&list.items)),
        },
        Statement::Param(param) => plain_param(param),
        Statement::Tensor(tensor) => plain_tensor(tensor),
        Statement::Let(binding) => format!("let {} = {};", binding.name.text, flat(&binding.value)),
        Statement::Block(block) => flat_block(block),
        Statement::Broken(_) => String::new(),
    }
}

fn plain_param(param: &Param) -> String {
    let default = match &param.default {
        Some(default) => format!(" = {}", flat(default)),
        None => String::new(),
    };
    format!("param {}: {}{default};", param.name.text, param.ty.text)
}

fn plain_tensor(tensor: &Tensor) -> String {
    format!(
        "tensor {}: {}[{}]{};",
        tensor.name.text,
        tensor.dtype.text,
        comma(&tensor.dims),
        if tensor.grad.is_some() { " grad" } else { "" }
    )
}

fn comma(exprs: &[Expr]) -> String {
    let parts: Vec<String> = exprs.iter().map(flat).collect();
    parts.join(", ")
}

/// An expression on one line.
fn flat(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(text)
        | ExprKind::Float(text)
        | ExprKind::Text(text)
        | ExprKind::Name(text) => text.clone(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Call(name, arguments) => format!("{}({})", name.text, comma(arguments)),
        ExprKind::Index(name, indices) => format!("{}[{}]", name.text, comma(indices)),
        ExprKind::Unary(op, operand) => format!("{}{}", op.text(), flat(operand)),
        ExprKind::Binary(op, left, right) => {
            format!("{} {} {}", flat(left), op.text(), flat(right))
        }
        ExprKind::If(cond, then, other) => {
            let tail = match &other.kind {
                ExprKind::If(..) => flat(other),
                _ => format!("{{ {} }}", flat(other)),
            };
            format!("if {} {{ {} }} else {tail}", flat(cond), flat(then))
        }
        ExprKind::Group(inner) => format!("({})", flat(inner)),
        ExprKind::Broken(_) | ExprKind::Error => String::new(),
    }
}

/// An expression at some indentation, of whose first line `used` columns are taken: on one line if it fits.
fn fit(expr: &Expr, indent: usize, used: usize) -> String {
    let line = flat(expr);
    if indent + used + line.chars().count() <= WIDTH {
        return line;
    }
    match &expr.kind {
        ExprKind::If(..) => broken_if(expr, indent),
        ExprKind::Binary(op, ..) => broken_chain(expr, op.precedence(), indent),
        _ => line,
    }
}

/// A conditional over several lines.
fn broken_if(expr: &Expr, indent: usize) -> String {
    let ExprKind::If(cond, then, other) = &expr.kind else {
        return fit(expr, indent, 0);
    };
    let inner = indent + INDENT;
    let arm = |arm: &Expr| {
        format!(
            "{{\n{}{}\n{}}}",
            " ".repeat(inner),
            fit(arm, inner, 0),
            " ".repeat(indent)
        )
    };
    let tail = match &other.kind {
        ExprKind::If(..) => broken_if(other, indent),
        _ => arm(other),
    };
    format!("if {} {} else {tail}", flat(cond), arm(then))
}

/// A chain of operators of one precedence, each operand on a line of its own.
fn broken_chain(expr: &Expr, precedence: u8, indent: usize) -> String {
    let (mut parts, mut left): (Vec<(BinaryOp, &Expr)>, &Expr) = (Vec::new(), expr);
    while let ExprKind::Binary(op, a, b) = &left.kind
        && op.precedence() == precedence
    {
        parts.push((*op, b));
        left = a;
    }
    let inner = indent + INDENT;
    let mut text = fit(left, inner, 0);
    for (op, operand) in parts.into_iter().rev() {
        let operand = fit(operand, inner, op.text().len() + 1);
        text.push_str(&format!("\n{}{} {operand}", " ".repeat(inner), op.text()));
    }
    text
}
