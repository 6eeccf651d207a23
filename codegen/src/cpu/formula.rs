//! An expression in the spelling of the language, for comments in emitted code.

use fa_dsl::ir::{Binary, ExprId, Exprs, Node, Unary, Var};
use fa_dsl::variant::Variant;

use super::lower::Hoisted;

/// Longest formula that is quoted whole, characters.
const MAX_CHARS: usize = 400;

/// The expression as text; what would be longer than a few lines ends in an ellipsis.
pub(super) fn formula(variant: &Variant, exprs: &Exprs, hoisted: &Hoisted, root: ExprId) -> String {
    let mut writer = Writer {
        variant,
        exprs,
        hoisted,
        text: String::new(),
    };
    writer.write(root, 0);
    if writer.text.len() > MAX_CHARS {
        let cut = writer.text.floor_char_boundary(MAX_CHARS);
        writer.text.truncate(cut);
        writer.text.push_str(" …");
    }
    writer.text
}

struct Writer<'v> {
    variant: &'v Variant,
    exprs: &'v Exprs,
    hoisted: &'v Hoisted,
    text: String,
}

impl Writer<'_> {
    /// Writes a node; parentheses where its operator binds less than `least`.
    fn write(&mut self, id: ExprId, least: u8) {
        if self.text.len() > MAX_CHARS {
            return;
        }
        match self.exprs.node(id) {
            Node::Int(value) => self.text.push_str(&value.to_string()),
            Node::Float(bits) => self.text.push_str(&format!("{:?}", bits.get())),
            Node::Bool(value) => self.text.push_str(&value.to_string()),
            Node::Var(var) => self.text.push_str(var_name(*var)),
            Node::Param(param, _) => self.text.push_str(&self.variant.param(*param).name),
            Node::Load(tensor, index, _) => {
                if let Some((runs, function)) = self.hoisted.extreme(*tensor) {
                    self.text.push_str(&format!("{runs}.{function}"));
                    return self.list('(', index, ')');
                }
                self.text.push_str(&self.variant.tensor(*tensor).name);
                self.list('[', index, ']');
            }
            Node::Unary(op, a) => self.unary(*op, *a),
            Node::Binary(op, a, b) => self.binary(*op, *a, *b, least),
            Node::Select(cond, then, other) => {
                self.text.push_str("if ");
                self.write(*cond, 0);
                self.text.push_str(" { ");
                self.write(*then, 0);
                self.text.push_str(" } else { ");
                self.write(*other, 0);
                self.text.push_str(" }");
            }
        }
    }

    fn list(&mut self, open: char, items: &[ExprId], close: char) {
        self.text.push(open);
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.text.push_str(", ");
            }
            self.write(*item, 0);
        }
        self.text.push(close);
    }

    fn unary(&mut self, op: Unary, a: ExprId) {
        let name = match op {
            Unary::Neg => return self.prefixed('-', a),
            Unary::Not => return self.prefixed('!', a),
            Unary::Abs => "abs",
            Unary::Exp => "exp",
            Unary::Log => "log",
            Unary::Sqrt => "sqrt",
            Unary::Rsqrt => "rsqrt",
            Unary::Tanh => "tanh",
            Unary::Sigmoid => "sigmoid",
            Unary::Floor => "floor",
            Unary::ToFloat => "float",
            Unary::ToInt => "int",
        };
        self.text.push_str(name);
        self.list('(', &[a], ')');
    }

    fn prefixed(&mut self, sign: char, a: ExprId) {
        self.text.push(sign);
        self.write(a, 6);
    }

    fn binary(&mut self, op: Binary, a: ExprId, b: ExprId, least: u8) {
        let (symbol, strength) = match op {
            Binary::Min | Binary::Max => {
                self.text
                    .push_str(if op == Binary::Min { "min" } else { "max" });
                return self.list('(', &[a, b], ')');
            }
            Binary::Or => ("||", 1),
            Binary::And => ("&&", 2),
            Binary::Eq => ("==", 3),
            Binary::Ne => ("!=", 3),
            Binary::Lt => ("<", 3),
            Binary::Le => ("<=", 3),
            Binary::Add => ("+", 4),
            Binary::Sub => ("-", 4),
            Binary::Mul => ("*", 5),
            Binary::Div => ("/", 5),
            Binary::Rem => ("%", 5),
        };
        if strength < least {
            self.text.push('(');
        }
        self.write(a, if strength == 3 { 4 } else { strength });
        self.text.push_str(&format!(" {symbol} "));
        self.write(b, strength + 1);
        if strength < least {
            self.text.push(')');
        }
    }
}

fn var_name(var: Var) -> &'static str {
    match var {
        Var::B => "b",
        Var::H => "h",
        Var::KvH => "kv_h",
        Var::QIdx => "q_idx",
        Var::KvIdx => "kv_idx",
        Var::QPos => "q_pos",
        Var::QLen => "q_len",
        Var::KvLen => "kv_len",
        Var::Dot => "dot",
        Var::Score => "score",
        Var::QFirst => "q_first",
        Var::QLast => "q_last",
        Var::KvFirst => "kv_first",
        Var::KvLast => "kv_last",
    }
}
