//! Expressions in the spelling of the language, for comments in emitted code.

use fa_dsl::ir::{Binary, ExprId, Exprs, Node, Unary, Var};
use fa_dsl::variant::Variant;

/// Texts longer than this are cut: a comment names an expression, it need not repeat it.
const MAX_CHARS: usize = 72;

/// The expression as a user would write it, on one line.
pub(crate) fn describe(variant: &Variant, exprs: &Exprs, id: ExprId) -> String {
    let text = text(variant, exprs, id, 0);
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    let mut cut: String = text.chars().take(MAX_CHARS - 4).collect();
    cut.push_str(" ...");
    cut
}

fn text(variant: &Variant, exprs: &Exprs, id: ExprId, level: u8) -> String {
    let at = |id, level| text(variant, exprs, id, level);
    let list = |ids: &[ExprId]| {
        ids.iter()
            .map(|id| at(*id, 0))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match exprs.node(id) {
        Node::Int(value) => value.to_string(),
        Node::Float(bits) => format!("{:?}", bits.get()),
        Node::Bool(value) => value.to_string(),
        Node::Var(var) => var_name(*var).to_owned(),
        Node::Param(param, _) => variant.param(*param).name.clone(),
        Node::Load(tensor, index, _) => {
            format!("{}[{}]", variant.tensor(*tensor).name, list(index))
        }
        Node::Unary(Unary::Neg, a) => format!("-{}", at(*a, 7)),
        Node::Unary(Unary::Not, a) => format!("!{}", at(*a, 7)),
        Node::Unary(op, a) => format!("{}({})", unary_name(*op), at(*a, 0)),
        Node::Binary(op @ (Binary::Min | Binary::Max), a, b) => {
            format!(
                "{}({})",
                if *op == Binary::Min { "min" } else { "max" },
                list(&[*a, *b])
            )
        }
        Node::Binary(op, a, b) => {
            let (sign, own) = infix(*op);
            let inner = format!("{} {sign} {}", at(*a, own), at(*b, own + 1));
            if own < level {
                format!("({inner})")
            } else {
                inner
            }
        }
        Node::Select(cond, then, other) => {
            format!(
                "if {} {{ {} }} else {{ {} }}",
                at(*cond, 0),
                at(*then, 0),
                at(*other, 0)
            )
        }
    }
}

fn infix(op: Binary) -> (&'static str, u8) {
    match op {
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
        Binary::Min | Binary::Max => unreachable!("printed as calls"),
    }
}

fn unary_name(op: Unary) -> &'static str {
    match op {
        Unary::Neg | Unary::Not => unreachable!("printed as signs"),
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
    }
}

fn var_name(var: Var) -> &'static str {
    match var {
        Var::B => "b",
        Var::H => "h",
        Var::KvH => "kv_h",
        Var::QIdx => "q_idx",
        Var::KvIdx => "kv_pos",
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
