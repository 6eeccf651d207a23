//! Operators of the expression IR as Rust text. Knows precedence and the meaning of operators, not where
//! values come from.

use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, Type, Unary};

/// How a piece of text may be used inside a larger expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A name, call or index.
    Atom,
    /// A literal, which needs a suffix before a method call.
    Literal(Type),
    /// A prefix operator and its operand.
    Prefix,
    /// A binary operator or a cast.
    Loose,
    /// A comparison, which does not chain.
    Comparison,
}

/// An expression in Rust.
#[derive(Clone, Debug)]
pub(super) struct Text {
    text: String,
    form: Form,
}

/// Helper functions of `math.tera` that an expression calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Helpers {
    pub(super) exp: bool,
    pub(super) tanh: bool,
    pub(super) sigmoid: bool,
    pub(super) log: bool,
    pub(super) floor_div: bool,
    pub(super) floor_rem: bool,
}

impl Helpers {
    /// Adds what another expression calls.
    pub(super) fn add(&mut self, other: Helpers) {
        self.exp |= other.exp;
        self.tanh |= other.tanh;
        self.sigmoid |= other.sigmoid;
        self.log |= other.log;
        self.floor_div |= other.floor_div;
        self.floor_rem |= other.floor_rem;
    }
}

impl Text {
    /// A name, call or index.
    pub(super) fn atom(text: impl Into<String>) -> Text {
        Text {
            text: text.into(),
            form: Form::Atom,
        }
    }

    /// A prefix operator and its operand, such as `*score`.
    pub(super) fn prefix(text: impl Into<String>) -> Text {
        Text {
            text: text.into(),
            form: Form::Prefix,
        }
    }

    /// A binary operator with its operands, or a cast.
    pub(super) fn loose(text: impl Into<String>) -> Text {
        Text {
            text: text.into(),
            form: Form::Loose,
        }
    }

    /// A constant.
    pub(super) fn literal(value: Value<f32>) -> Text {
        let (text, ty) = match value {
            Value::Int(value) => (value.to_string(), Type::Int),
            Value::Float(value) => return float_literal(value),
            Value::Bool(value) => (value.to_string(), Type::Bool),
        };
        Text {
            text,
            form: Form::Literal(ty),
        }
    }

    /// As a whole expression.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Characters.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it is a comparison of any type.
    pub(super) fn is_comparison(&self) -> bool {
        self.form == Form::Comparison
    }

    /// Whether it is a constant.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self.form, Form::Literal(_))
    }

    /// As an operand of a binary operator or a cast.
    fn operand(&self) -> String {
        match self.form {
            Form::Loose | Form::Comparison => format!("({})", self.text),
            Form::Atom | Form::Literal(_) | Form::Prefix => self.text.clone(),
        }
    }

    /// As the receiver of a method.
    fn receiver(&self) -> String {
        let suffix = match self.form {
            Form::Atom => return self.text.clone(),
            Form::Prefix | Form::Loose | Form::Comparison => "",
            Form::Literal(Type::Int) => "_i32",
            Form::Literal(Type::Float) => "_f32",
            Form::Literal(Type::Bool) => return self.text.clone(),
        };
        if suffix.is_empty() || self.text.starts_with('-') {
            format!("({}{suffix})", self.text)
        } else {
            format!("{}{suffix}", self.text)
        }
    }
}

fn float_literal(value: f32) -> Text {
    use std::f32::consts;
    let known = [
        (consts::PI, "PI"),
        (consts::E, "E"),
        (consts::LN_2, "LN_2"),
        (consts::LN_10, "LN_10"),
        (consts::LOG2_E, "LOG2_E"),
        (consts::LOG10_E, "LOG10_E"),
        (consts::SQRT_2, "SQRT_2"),
        (consts::FRAC_1_SQRT_2, "FRAC_1_SQRT_2"),
    ];
    if let Some((_, name)) = known.iter().find(|(known, _)| *known == value) {
        return Text::atom(format!("std::f32::consts::{name}"));
    }
    match value {
        f32::INFINITY => Text::atom("f32::INFINITY"),
        f32::NEG_INFINITY => Text::atom("f32::NEG_INFINITY"),
        value if value.is_nan() => Text::atom("f32::NAN"),
        value => Text {
            text: format!("{value:?}"),
            form: Form::Literal(Type::Float),
        },
    }
}

/// One operand. `lanes` asks for the functions that vectorise.
pub(super) fn unary(op: Unary, operand: Type, a: &Text, lanes: bool, used: &mut Helpers) -> Text {
    let method = |name: &str| Text::atom(format!("{}.{name}()", a.receiver()));
    let helper = |name: &str| Text::atom(format!("{name}::<L>({})", a.as_str()));
    match op {
        Unary::Neg if operand == Type::Int => method("wrapping_neg"),
        Unary::Neg => Text::prefix(format!("-{}", a.operand())),
        Unary::Not => Text::prefix(format!("!{}", a.operand())),
        Unary::Abs if operand == Type::Int => method("wrapping_abs"),
        Unary::Abs => method("abs"),
        Unary::Exp if lanes => {
            used.exp = true;
            helper("exp")
        }
        Unary::Exp => method("exp"),
        Unary::Log if lanes => {
            used.log = true;
            helper("log")
        }
        Unary::Log => method("ln"),
        Unary::Sqrt => method("sqrt"),
        Unary::Rsqrt => Text::loose(format!("1.0 / {}.sqrt()", a.receiver())),
        Unary::Tanh if lanes => {
            (used.exp, used.tanh) = (true, true);
            helper("tanh")
        }
        Unary::Tanh => method("tanh"),
        Unary::Sigmoid if lanes => {
            (used.exp, used.sigmoid) = (true, true);
            helper("sigmoid")
        }
        Unary::Sigmoid => {
            let negated = unary(Unary::Neg, Type::Float, a, false, used);
            Text::loose(format!("1.0 / (1.0 + {}.exp())", negated.receiver()))
        }
        Unary::Floor => method("floor"),
        Unary::ToFloat => Text::loose(format!("{} as f32", a.operand())),
        Unary::ToInt => Text::loose(format!("{} as i32", a.operand())),
    }
}

/// Two operands of this type.
pub(super) fn binary(op: Binary, operand: Type, a: &Text, b: &Text, used: &mut Helpers) -> Text {
    let method = |name: &str| Text::atom(format!("{}.{name}({})", a.receiver(), b.as_str()));
    let infix = |symbol: &str| Text::loose(format!("{} {symbol} {}", a.operand(), b.operand()));
    let int = operand == Type::Int;
    match op {
        Binary::Add if int => method("wrapping_add"),
        Binary::Sub if int => method("wrapping_sub"),
        Binary::Mul if int => method("wrapping_mul"),
        Binary::Div | Binary::Rem if int => division(op, a, b, used),
        Binary::Add => infix("+"),
        Binary::Sub => infix("-"),
        Binary::Mul => infix("*"),
        Binary::Div => infix("/"),
        Binary::Rem => infix("%"),
        Binary::Min => method("min"),
        Binary::Max => method("max"),
        Binary::Eq => comparison(a, "==", b),
        Binary::Ne => comparison(a, "!=", b),
        Binary::Lt => comparison(a, "<", b),
        Binary::Le => comparison(a, "<=", b),
        Binary::And => infix("&"),
        Binary::Or => infix("|"),
    }
}

fn comparison(a: &Text, symbol: &str, b: &Text) -> Text {
    Text {
        text: format!("{} {symbol} {}", a.operand(), b.operand()),
        form: Form::Comparison,
    }
}

/// Floor division: for a positive constant the Euclidean one is the same.
fn division(op: Binary, a: &Text, b: &Text, used: &mut Helpers) -> Text {
    let positive = b.is_literal() && !b.text.starts_with('-') && b.text != "0";
    let quotient = op == Binary::Div;
    if positive {
        let name = if quotient { "div_euclid" } else { "rem_euclid" };
        return Text::atom(format!("{}.{name}({})", a.receiver(), b.as_str()));
    }
    used.floor_div = true;
    used.floor_rem |= !quotient;
    let name = if quotient { "floor_div" } else { "floor_rem" };
    Text::atom(format!("{name}({}, {})", a.as_str(), b.as_str()))
}

/// The opposite of a comparison of ints or bools, which clippy wants written without `!`.
pub(super) fn negated_comparison(op: Binary, a: &Text, b: &Text) -> Option<Text> {
    Some(match op {
        Binary::Eq => comparison(a, "!=", b),
        Binary::Ne => comparison(a, "==", b),
        Binary::Lt => comparison(a, ">=", b),
        Binary::Le => comparison(a, ">", b),
        _ => return None,
    })
}
