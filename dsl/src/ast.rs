//! The syntax tree of a `.fa` file, with the place of every part. It knows nothing of types or meaning,
//! and nothing of the parser that builds it.
//!
//! Parentheses are kept as written, so the tree of an expression prints without any decision about
//! precedence: an operand that binds more loosely than its operator always stands in a [`ExprKind::Group`].

use serde::Serialize;

use crate::span::Span;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct File {
    /// Items in order.
    pub items: Vec<Item>,
    /// All comments in order, wherever they stand.
    pub comments: Vec<Comment>,
}

/// A comment with its delimiters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comment {
    /// As written, `//` or `/*` included.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// What a file holds at its top level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Item {
    /// A constant.
    Const(Const),
    /// A variant.
    Attention(Attention),
}

/// `const NAME: TYPE = VALUE;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Const {
    /// Its name.
    pub name: Name,
    /// `int`, `float` or `bool`, as written.
    pub ty: Name,
    /// Its value, a constant expression.
    pub value: Expr,
    /// The whole item.
    pub span: Span,
}

/// `attention NAME : PARENT { … }`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// Its name.
    pub name: Name,
    /// The variant it inherits from.
    pub parent: Option<Name>,
    /// Its body.
    pub body: Vec<Statement>,
    /// The whole item.
    pub span: Span,
}

/// What a body holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Statement {
    /// `name = value;`
    Field(Field),
    /// `name { … }` or `name NAME { … }`
    Block(Block),
    /// `param name: type = default;`
    Param(Param),
    /// `tensor name: type[dims] grad;`
    Tensor(Tensor),
    /// `let name = value;`
    Let(Let),
    /// A statement with a syntax error, which is reported already; what it would have defined counts as
    /// defined, so that nobody complains of its absence.
    Broken(Broken),
}

/// `name = value;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// The field's name.
    pub name: Name,
    /// Its value.
    pub value: FieldValue,
    /// The statement without its `;`.
    pub span: Span,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum FieldValue {
    /// An expression; a bare word is an [`ExprKind::Name`].
    Expr(Expr),
    /// `[a, b]`
    List(List),
}

/// `[a, b]`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct List {
    /// The elements.
    pub items: Vec<Expr>,
    /// From bracket to bracket.
    pub span: Span,
}

/// `name { … }` or `name NAME { … }`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Block {
    /// The block's name.
    pub name: Name,
    /// The second name, as in `target ascend910b { … }`.
    pub label: Option<Name>,
    /// What it holds.
    pub body: Vec<Statement>,
    /// The whole block.
    pub span: Span,
}

/// `param name: type = default;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// `int`, `float` or `bool`, as written.
    pub ty: Name,
    /// Its default.
    pub default: Option<Expr>,
    /// The statement without its `;`.
    pub span: Span,
}

/// `tensor name: type[dims] grad;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tensor {
    /// Its name.
    pub name: Name,
    /// The element type, as written.
    pub dtype: Name,
    /// The dimensions.
    pub dims: Vec<Expr>,
    /// Where `grad` stands, if it does.
    pub grad: Option<Span>,
    /// The statement without its `;`.
    pub span: Span,
}

/// `let name = value;`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Let {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Expr,
    /// The statement without its `;`.
    pub span: Span,
}

/// A statement with a syntax error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Broken {
    /// The field, block or declared name it would have set, as far as that can be told.
    pub name: Option<Name>,
    /// The skipped text.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum ExprKind {
    /// An int literal, as written (`1_000`).
    Int(String),
    /// A float literal, as written (`1.5e-3`).
    Float(String),
    /// `true` or `false`.
    Bool(bool),
    /// Quoted text with its quotes; no field takes one.
    Text(String),
    /// A name.
    Name(String),
    /// `function(arguments)`
    Call(Name, Vec<Expr>),
    /// `tensor[indices]`
    Index(Name, Vec<Expr>),
    /// An operator of one operand.
    Unary(UnaryOp, Box<Expr>),
    /// An operator of two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if c { x } else { y }`; an `else if` is an `If` as the last part.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(x)`
    Group(Box<Expr>),
    /// Parts with something between them that is reported already; the parts are still checked.
    Broken(Vec<Expr>),
    /// Something with a syntax error, which is reported already.
    Error,
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

impl UnaryOp {
    /// Its spelling.
    pub fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
        }
    }
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

impl BinaryOp {
    /// All of them.
    pub const ALL: [BinaryOp; 13] = [
        BinaryOp::Or,
        BinaryOp::And,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
    ];

    /// Its spelling.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
        }
    }

    /// How tightly it binds, from 1 for `||` to 5 for `*`.
    pub fn precedence(self) -> u8 {
        match self {
            BinaryOp::Or => 1,
            BinaryOp::And => 2,
            BinaryOp::Add | BinaryOp::Sub => 4,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 5,
            _ => 3,
        }
    }

    /// Whether it is one of the six comparisons.
    pub fn is_comparison(self) -> bool {
        self.precedence() == 3
    }
}

impl Statement {
    /// The whole statement.
    pub fn span(&self) -> Span {
        match self {
            Statement::Field(field) => field.span,
            Statement::Block(block) => block.span,
            Statement::Param(param) => param.span,
            Statement::Tensor(tensor) => tensor.span,
            Statement::Let(binding) => binding.span,
            Statement::Broken(broken) => broken.span,
        }
    }
}

impl FieldValue {
    /// Where the value stands.
    pub fn span(&self) -> Span {
        match self {
            FieldValue::Expr(expr) => expr.span,
            FieldValue::List(list) => list.span,
        }
    }
}

impl Item {
    /// The whole item.
    pub fn span(&self) -> Span {
        match self {
            Item::Const(item) => item.span,
            Item::Attention(item) => item.span,
        }
    }
}

impl Expr {
    /// Whether a fault of its syntax is reported, so that it has no value.
    pub fn is_broken(&self) -> bool {
        matches!(self.kind, ExprKind::Broken(_) | ExprKind::Error)
    }

    /// The expression without the parentheses around it.
    pub fn ungrouped(&self) -> &Expr {
        let mut expr = self;
        while let ExprKind::Group(inner) = &expr.kind {
            expr = inner;
        }
        expr
    }
}

/// The value of an int literal as written, or `None` where 64 bits do not hold it.
pub fn int_value(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

/// The value of a float literal as written.
pub fn float_value(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}
