//! Scalar expressions as C++ for the scalar unit.

use std::collections::{BTreeMap, BTreeSet};

use fa_dsl::ir::{Binary, ExprId, Exprs, Node, Type, Unary, Var};
use fa_dsl::tiles::{self, Range};

use super::names::Names;
use crate::ascend::ends::Ends;

/// Columns that a statement may take before it is broken.
const MAX_LINE: usize = 100;

/// Prints expressions that do not change within a tile.
#[derive(Clone, Debug)]
pub(crate) struct ScalarPrinter<'a> {
    exprs: &'a Exprs,
    names: &'a Names,
    ranges: Vec<Option<Range>>,
    /// Parts that a function has computed under a name.
    named: BTreeMap<ExprId, String>,
    /// What undeclared tensors stand for.
    ends: Option<&'a Ends>,
    /// Which ends have been found before, and where they are kept.
    kept: Kept,
}

/// Ends that scalar code need not look up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// None.
    Nothing,
    /// Those that all tiles of a task share.
    OfTask,
    /// And those that all chunks of a tile share.
    OfTile,
}

/// C++ precedence classes, as far as the printer needs them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Ternary,
    Or,
    And,
    Compare,
    Sum,
    Product,
    Unary,
    Atom,
}

impl<'a> ScalarPrinter<'a> {
    pub(crate) fn new(exprs: &'a Exprs, names: &'a Names) -> ScalarPrinter<'a> {
        ScalarPrinter {
            exprs,
            names,
            ranges: tiles::int_ranges(exprs, tiles::MAX_LENGTH),
            named: BTreeMap::new(),
            ends: None,
            kept: Kept::Nothing,
        }
    }

    /// The same where ends of lines can be asked for.
    pub(crate) fn with_ends(self, ends: &'a Ends, kept: Kept) -> ScalarPrinter<'a> {
        ScalarPrinter {
            ends: Some(ends),
            kept,
            ..self
        }
    }

    /// Whether the scalar unit has every operation of the expression.
    pub(crate) fn prints(&self, root: ExprId) -> bool {
        self.exprs
            .reachable(&[root])
            .into_iter()
            .all(|id| match self.exprs.node(id) {
                Node::Unary(op, _) => matches!(
                    op,
                    Unary::Neg | Unary::Not | Unary::Abs | Unary::ToFloat | Unary::ToInt
                ),
                Node::Var(var) => !matches!(
                    var,
                    Var::Dot | Var::Score | Var::QIdx | Var::QPos | Var::KvIdx
                ),
                _ => true,
            })
    }

    /// The member of a task or of a tile that holds the value.
    fn member(&self, id: ExprId) -> Option<String> {
        let ends = self.ends?;
        let of_task = ends.task_member(id).filter(|_| self.kept != Kept::Nothing);
        of_task.or_else(|| ends.tile_member(id).filter(|_| self.kept == Kept::OfTile))
    }

    /// The expression as C++, of the expression's type.
    pub(crate) fn print(&self, root: ExprId) -> String {
        self.text(root).0
    }

    /// The body of a function that returns the expression: parts that occur several times come first, each under a
    /// name, and a long conjunction or disjunction takes a line per operand.
    pub(crate) fn body(&self, root: ExprId) -> Vec<String> {
        let mut printer = self.clone();
        let mut lines = Vec::new();
        for id in self.shared_parts(root) {
            let name = format!("part{}", printer.named.len());
            let cpp_type = match self.exprs.ty(id) {
                Type::Int => "int32_t",
                Type::Float => "float",
                Type::Bool => "bool",
            };
            lines.push(format!("const {cpp_type} {name} = {};", printer.print(id)));
            printer.named.insert(id, name);
        }
        lines.extend(printer.returned(root));
        lines
    }

    /// Computed parts that have several parents, each after its own parts.
    fn shared_parts(&self, root: ExprId) -> Vec<ExprId> {
        let mut parents: BTreeMap<ExprId, usize> = BTreeMap::new();
        let (mut nodes, mut pending) = (BTreeSet::new(), vec![root]);
        while let Some(id) = pending.pop() {
            if !nodes.insert(id) || self.member(id).is_some() {
                continue;
            }
            for child in self.exprs.children(id) {
                *parents.entry(child).or_default() += 1;
                pending.push(child);
            }
        }
        nodes
            .into_iter()
            .filter(|id| parents.get(id).is_some_and(|count| *count > 1))
            .filter(|id| self.member(*id).is_none() && self.exprs.reachable(&[*id]).len() > 2)
            .collect()
    }

    /// The return statement, on several lines where one would be long.
    fn returned(&self, root: ExprId) -> Vec<String> {
        let whole = format!("return {};", self.print(root));
        let (chain, open, close) = match *self.exprs.node(root) {
            Node::Unary(Unary::Not, chain) if !self.named.contains_key(&chain) => {
                (chain, "return !(", ");")
            }
            _ => (root, "return ", ";"),
        };
        let Node::Binary(op @ (Binary::And | Binary::Or), ..) = *self.exprs.node(chain) else {
            return vec![whole];
        };
        if whole.len() <= MAX_LINE {
            return vec![whole];
        }
        let sign = if op == Binary::And { "&&" } else { "||" };
        let operands = self.operands(op, chain);
        let last = operands.len() - 1;
        operands
            .iter()
            .enumerate()
            .map(|(at, operand)| {
                let before = if at == 0 { open } else { "    " };
                let after = if at == last {
                    close.to_owned()
                } else {
                    format!(" {sign}")
                };
                format!("{before}{operand}{after}")
            })
            .collect()
    }

    /// The operands of a chain of one operator, each as it stands between its signs.
    fn operands(&self, op: Binary, id: ExprId) -> Vec<String> {
        match *self.exprs.node(id) {
            Node::Binary(own, a, b) if own == op && !self.named.contains_key(&id) => {
                [self.operands(op, a), self.operands(op, b)].concat()
            }
            _ => {
                let (text, level) = self.text(id);
                let parentheses = level < Level::And || (op == Binary::Or && level == Level::And);
                vec![if parentheses {
                    format!("({text})")
                } else {
                    text
                }]
            }
        }
    }

    /// The expression as a C++ `float`, ints and bools converted.
    pub(crate) fn print_float(&self, root: ExprId) -> String {
        match self.exprs.ty(root) {
            Type::Float => self.print(root),
            Type::Int => match self.exprs.node(root) {
                Node::Int(value) => float_literal(*value as f32),
                _ => format!("static_cast<float>({})", self.print(root)),
            },
            Type::Bool => match self.exprs.node(root) {
                Node::Bool(value) => float_literal(f32::from(u8::from(*value))),
                _ => format!("({} ? 1.0f : 0.0f)", self.print(root)),
            },
        }
    }

    fn text(&self, id: ExprId) -> (String, Level) {
        if let Some(name) = self.named.get(&id) {
            return (name.clone(), Level::Atom);
        }
        match self.exprs.node(id) {
            Node::Int(value) if *value == i32::MIN => ("(-2147483647 - 1)".to_owned(), Level::Atom),
            Node::Int(value) => (
                value.to_string(),
                if *value < 0 {
                    Level::Unary
                } else {
                    Level::Atom
                },
            ),
            Node::Float(bits) => (float_literal(bits.get()), Level::Unary),
            Node::Bool(value) => (value.to_string(), Level::Atom),
            Node::Var(var) => (self.names.var(*var).to_owned(), Level::Atom),
            Node::Param(param, _) => (self.names.param(*param), Level::Atom),
            Node::Load(tensor, index, _) => {
                if let Some(member) = self.member(id) {
                    return (member, Level::Atom);
                }
                let index: Vec<String> = index.iter().map(|i| self.print(*i)).collect();
                let end = self.ends.and_then(|ends| ends.call(self.exprs, id, &index));
                let text = end.unwrap_or_else(|| self.names.element(*tensor, &index));
                (text, Level::Atom)
            }
            Node::Unary(op, a) => self.unary(*op, *a),
            Node::Binary(op, a, b) => self.binary(id, *op, *a, *b),
            Node::Select(cond, then, other) => {
                let cond = self.at(*cond, Level::Or);
                let (then, other) = (self.at(*then, Level::Or), self.at(*other, Level::Or));
                (format!("{cond} ? {then} : {other}"), Level::Ternary)
            }
        }
    }

    /// The text, in parentheses where it binds looser than asked for.
    fn at(&self, id: ExprId, level: Level) -> String {
        let (text, own) = self.text(id);
        if own < level {
            format!("({text})")
        } else {
            text
        }
    }

    fn unary(&self, op: Unary, a: ExprId) -> (String, Level) {
        match op {
            Unary::Neg => (format!("-{}", self.at(a, Level::Atom)), Level::Unary),
            Unary::Not => (format!("!{}", self.at(a, Level::Atom)), Level::Unary),
            Unary::ToFloat => (
                format!("static_cast<float>({})", self.print(a)),
                Level::Atom,
            ),
            Unary::ToInt => (
                format!("static_cast<int32_t>({})", self.print(a)),
                Level::Atom,
            ),
            _ => (format!("Abs({})", self.print(a)), Level::Atom),
        }
    }

    fn binary(&self, id: ExprId, op: Binary, a: ExprId, b: ExprId) -> (String, Level) {
        let is_int = self.exprs.ty(a) == Type::Int;
        let call = |name: &str| {
            (
                format!("{name}({}, {})", self.print(a), self.print(b)),
                Level::Atom,
            )
        };
        let infix = |sign: &str, left: Level, right: Level, own: Level| {
            (
                format!("{} {sign} {}", self.at(a, left), self.at(b, right)),
                own,
            )
        };
        match op {
            Binary::Min => call("Min"),
            Binary::Max => call("Max"),
            Binary::Div if is_int => call("FloorDiv"),
            Binary::Rem => call("FloorMod"),
            Binary::Add | Binary::Sub | Binary::Mul
                if is_int && self.ranges[id.index()].is_none() =>
            {
                call(match op {
                    Binary::Add => "WrapAdd",
                    Binary::Sub => "WrapSub",
                    _ => "WrapMul",
                })
            }
            Binary::Add => match self.exprs.node(b) {
                Node::Int(b) if *b < 0 && *b > i32::MIN => {
                    (format!("{} - {}", self.at(a, Level::Sum), -b), Level::Sum)
                }
                _ => infix("+", Level::Sum, Level::Sum, Level::Sum),
            },
            Binary::Sub => infix("-", Level::Sum, Level::Product, Level::Sum),
            Binary::Mul => infix("*", Level::Product, Level::Product, Level::Product),
            Binary::Div => infix("/", Level::Product, Level::Unary, Level::Product),
            Binary::Eq => infix("==", Level::Sum, Level::Sum, Level::Compare),
            Binary::Ne => infix("!=", Level::Sum, Level::Sum, Level::Compare),
            Binary::Lt => infix("<", Level::Sum, Level::Sum, Level::Compare),
            Binary::Le => infix("<=", Level::Sum, Level::Sum, Level::Compare),
            // Parentheses on either side: compilers warn about `a && b || c`.
            Binary::And => infix("&&", Level::And, Level::And, Level::And),
            Binary::Or => {
                let side = |id| match self.text(id) {
                    (text, Level::And | Level::Ternary) => format!("({text})"),
                    (text, _) => text,
                };
                (format!("{} || {}", side(a), side(b)), Level::Or)
            }
        }
    }

    /// The scalar helper functions that a text calls, in the order in which they are defined.
    pub(crate) fn helpers(texts: &[String]) -> Vec<&'static str> {
        [
            "Abs", "FloorDiv", "FloorMod", "WrapAdd", "WrapSub", "WrapMul",
        ]
        .into_iter()
        .filter(|name| {
            let call = format!("{name}(");
            let needed = |name: &str| texts.iter().any(|text| calls(text, name));
            needed(&call) || (*name == "FloorDiv" && needed("FloorMod("))
        })
        .collect()
    }
}

/// Whether a text calls that function and not one whose name ends alike.
fn calls(text: &str, call: &str) -> bool {
    text.match_indices(call).any(|(at, _)| {
        !text[..at].ends_with(|before: char| {
            before.is_ascii_alphanumeric() || before == '_' || before == ':'
        })
    })
}

/// A `float` literal that reads back to the same value.
pub(crate) fn float_literal(value: f32) -> String {
    if value.is_nan() {
        "__builtin_nanf(\"\")".to_owned()
    } else if value.is_infinite() {
        format!("{}__builtin_inff()", if value < 0.0 { "-" } else { "" })
    } else {
        format!("{value:?}f")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_keep_their_value() {
        assert_eq!(float_literal(1.0), "1.0f");
        assert_eq!(float_literal(-0.08838835), "-0.08838835f");
        assert_eq!(float_literal(1e-5), "1e-5f");
        assert_eq!(float_literal(f32::NEG_INFINITY), "-__builtin_inff()");
    }

    #[test]
    fn precedence_is_kept_without_needless_parentheses() {
        let mut exprs = Exprs::new();
        let (q, kv) = (exprs.var(Var::QLast), exprs.var(Var::KvFirst));
        let (q_len, kv_len) = (exprs.var(Var::QLen), exprs.var(Var::KvLen));
        let shift = exprs.binary(Binary::Sub, kv_len, q_len);
        let position = exprs.binary(Binary::Add, q, shift);
        let back = exprs.binary(Binary::Sub, position, kv);
        let ahead = exprs.binary(Binary::Sub, kv, position);
        let three = exprs.int(3);
        let (a, b) = (
            exprs.binary(Binary::Le, back, three),
            exprs.binary(Binary::Lt, ahead, three),
        );
        let either = exprs.or(a, b);
        let names = Names::default();
        let printer = ScalarPrinter::new(&exprs, &names);
        assert_eq!(
            printer.print(either),
            "task.qLast + task.kvLen - task.qLen - kvFirst <= 3 || \
             kvFirst - (task.qLast + task.kvLen - task.qLen) < 3"
        );
    }
}
