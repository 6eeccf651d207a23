//! Items and statements: from pairs to the tree.

use pest::iterators::Pair;

use super::{Builder, Rule, failures};
use crate::ast::{
    Attention, Block, Broken, Const, Expr, ExprKind, Field, FieldValue, File, Item, Let, List,
    Name, Param, Statement, Tensor,
};
use crate::codes;
use crate::diagnostic::Diagnostic;

/// The keys of `tile`, which the expression form writes flat.
const TILE_KEYS: [&str; 3] = ["block_q", "block_kv", "stages"];

impl<'t> Builder<'t> {
    /// A whole file.
    pub(super) fn file(&mut self, pair: Pair<'t, Rule>) -> File {
        let mut items = Vec::new();
        let mut after_bad_item = false;
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::const_item => items.extend(self.const_item(inner).map(Item::Const)),
                Rule::attention => items.push(Item::Attention(self.attention(inner))),
                Rule::bad_item => {
                    // One misplaced brace makes every later statement stray: one report says it all.
                    if !after_bad_item {
                        self.bad_piece(&inner, Rule::lone_item);
                    }
                    after_bad_item = true;
                    continue;
                }
                _ => {}
            }
            after_bad_item = false;
        }
        File {
            items,
            comments: Vec::new(),
        }
    }

    /// The expression form: one variant's fields.
    pub(super) fn inline(&mut self, pair: Pair<'t, Rule>, name: &str) -> File {
        let span = self.span(&pair);
        let mut body = Vec::new();
        let mut tile: Vec<Statement> = Vec::new();
        for inner in pair.into_inner() {
            if inner.as_rule() == Rule::bad_inline {
                body.push(self.broken(&inner, Rule::lone_piece));
                continue;
            }
            match self.statement(inner) {
                Some(Statement::Field(field)) if TILE_KEYS.contains(&field.name.text.as_str()) => {
                    tile.push(Statement::Field(field));
                }
                other => body.extend(other),
            }
        }
        if let (Some(first), Some(last)) = (tile.first(), tile.last()) {
            let span = first.span().to(last.span());
            body.push(Statement::Block(Block {
                name: Name {
                    text: "tile".to_owned(),
                    span,
                },
                label: None,
                body: tile,
                span,
            }));
        }
        let name = Name {
            text: name.to_owned(),
            span,
        };
        File {
            items: vec![Item::Attention(Attention {
                name,
                parent: None,
                body,
                span,
            })],
            comments: Vec::new(),
        }
    }

    fn const_item(&mut self, pair: Pair<'t, Rule>) -> Option<Const> {
        let span = self.trimmed(&pair);
        let (mut names, mut value) = (Vec::new(), None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => names.push(self.name(&inner)),
                Rule::expr => value = Some(self.expr(inner)),
                Rule::no_semicolon => self.missing_semicolon(inner.as_span().start()),
                _ => {}
            }
        }
        let mut names = names.into_iter();
        Some(Const {
            name: names.next()?,
            ty: names.next()?,
            value: value?,
            span,
        })
    }

    fn attention(&mut self, pair: Pair<'t, Rule>) -> Attention {
        let span = self.trimmed(&pair);
        let mut attention = Attention {
            name: Name {
                text: String::new(),
                span,
            },
            parent: None,
            body: Vec::new(),
            span,
        };
        let mut opened = span;
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::kw_attention => attention.name.span = self.span(&inner),
                Rule::header => {
                    for part in inner.into_inner() {
                        if part.as_rule() == Rule::name {
                            attention.name = self.name(&part);
                        } else {
                            attention.parent = find(part, Rule::name).map(|name| self.name(&name));
                        }
                    }
                }
                Rule::bad_header => self.bad_piece(&inner, Rule::lone_header),
                Rule::open => opened = self.span(&inner),
                Rule::body => attention.body = self.body(inner),
                Rule::unclosed => self.unclosed(&inner, opened),
                _ => {}
            }
        }
        attention
    }

    fn unclosed(&mut self, pair: &Pair<'t, Rule>, opened: crate::span::Span) {
        let at = self.before_comments(pair.as_span().start());
        let gap = self.place(at, at);
        self.report(
            Diagnostic::error(
                codes::MISSING_PUNCTUATION,
                "`{` is never closed",
                "close the block with `}`",
            )
            .at(opened, "the block starts here")
            .at(gap, "`}` belongs before this place"),
        );
    }

    /// The statements of a body.
    fn body(&mut self, pair: Pair<'t, Rule>) -> Vec<Statement> {
        pair.into_inner()
            .filter_map(|inner| self.statement(inner))
            .collect()
    }

    fn statement(&mut self, pair: Pair<'t, Rule>) -> Option<Statement> {
        match pair.as_rule() {
            Rule::param => self.param(pair).map(Statement::Param),
            Rule::tensor => self.tensor(pair).map(Statement::Tensor),
            Rule::let_binding => self.let_binding(pair).map(Statement::Let),
            Rule::field => self.field(pair).map(Statement::Field),
            Rule::block => self.block(pair).map(Statement::Block),
            Rule::bad_statement => Some(self.broken(&pair, Rule::lone_statement)),
            Rule::no_semicolon => {
                self.missing_semicolon(pair.as_span().start());
                None
            }
            _ => None,
        }
    }

    fn param(&mut self, pair: Pair<'t, Rule>) -> Option<Param> {
        let span = self.trimmed(&pair);
        let (mut names, mut default) = (Vec::new(), None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => names.push(self.name(&inner)),
                Rule::default => {
                    default = find(inner, Rule::expr).map(|value| self.expr(value));
                }
                _ => {}
            }
        }
        let mut names = names.into_iter();
        Some(Param {
            name: names.next()?,
            ty: names.next()?,
            default,
            span,
        })
    }

    fn tensor(&mut self, pair: Pair<'t, Rule>) -> Option<Tensor> {
        let span = self.trimmed(&pair);
        let (mut names, mut dims, mut grad) = (Vec::new(), Vec::new(), None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => names.push(self.name(&inner)),
                Rule::indices => dims = self.exprs(inner),
                Rule::grad => grad = Some(self.span(&inner)),
                _ => {}
            }
        }
        let mut names = names.into_iter();
        Some(Tensor {
            name: names.next()?,
            dtype: names.next()?,
            dims,
            grad,
            span,
        })
    }

    fn let_binding(&mut self, pair: Pair<'t, Rule>) -> Option<Let> {
        let span = self.trimmed(&pair);
        let (mut name, mut value) = (None, None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => name = Some(self.name(&inner)),
                Rule::expr => value = Some(self.expr(inner)),
                _ => {}
            }
        }
        Some(Let {
            name: name?,
            value: value?,
            span,
        })
    }

    fn field(&mut self, pair: Pair<'t, Rule>) -> Option<Field> {
        let span = self.trimmed(&pair);
        let (mut name, mut value) = (None, None);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => name = Some(self.name(&inner)),
                Rule::expr => value = Some(FieldValue::Expr(self.expr(inner))),
                Rule::list => {
                    let span = self.span(&inner);
                    let items = self.exprs(inner);
                    value = Some(FieldValue::List(List { items, span }));
                }
                _ => {}
            }
        }
        Some(Field {
            name: name?,
            value: value?,
            span,
        })
    }

    fn block(&mut self, pair: Pair<'t, Rule>) -> Option<Block> {
        let span = self.trimmed(&pair);
        let (mut names, mut body, mut opened) = (Vec::new(), Vec::new(), span);
        for inner in pair.into_inner() {
            match inner.as_rule() {
                Rule::name => names.push(self.name(&inner)),
                Rule::open => opened = self.span(&inner),
                Rule::body => body = self.body(inner),
                Rule::unclosed => self.unclosed(&inner, opened),
                _ => {}
            }
        }
        let mut names = names.into_iter();
        Some(Block {
            name: names.next()?,
            label: names.next(),
            body,
            span,
        })
    }

    /// A statement that does not parse: reported, and kept by the name it would have set.
    fn broken(&mut self, pair: &Pair<'t, Rule>, alone: Rule) -> Statement {
        self.bad_piece(pair, alone);
        let start = pair.as_span().start();
        let mut words = pair
            .as_str()
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty());
        let mut name = words.next();
        if matches!(name, Some("let" | "param" | "tensor" | "const")) {
            name = words.next();
        }
        let name = name.map(|text| {
            let at = start + (text.as_ptr() as usize - pair.as_str().as_ptr() as usize);
            Name {
                text: text.to_owned(),
                span: self.place(at, at + text.len()),
            }
        });
        Statement::Broken(Broken {
            name,
            span: self.trimmed(pair),
        })
    }

    /// Asks the grammar again for one piece alone, and reports what it expected.
    fn bad_piece(&mut self, pair: &Pair<'t, Rule>, alone: Rule) {
        let at = pair.as_span();
        let report = failures::bad_piece(self.text, at.start(), at.end(), alone, self.file);
        self.report(report);
    }

    /// The span of a pair without the blanks and comments that the grammar took at its end.
    fn trimmed(&self, pair: &Pair<'t, Rule>) -> crate::span::Span {
        let at = pair.as_span();
        let code = super::scan::without_trailing_comments(pair.as_str()).trim_end();
        self.place(at.start(), at.start() + code.len())
    }

    /// A placeholder for an expression that is reported already.
    pub(super) fn error_expr(&self, span: crate::span::Span) -> Expr {
        Expr {
            kind: ExprKind::Error,
            span,
        }
    }
}

/// The first inner pair of a rule.
fn find<'t>(pair: Pair<'t, Rule>, rule: Rule) -> Option<Pair<'t, Rule>> {
    pair.into_inner().find(|inner| inner.as_rule() == rule)
}
