//! From the expression IR to the statements of emitted functions: what a whole task, a row or a key column
//! shares is hoisted out of the loop over lanes, shared terms are named, single ones stand where they are used.

use std::collections::{BTreeMap, BTreeSet};

use fa_dsl::ir::{Binary, Dependence, ExprId, Exprs, Node, TensorId, Type, Unary, Var};
use fa_dsl::variant::{Align, Variant};

use super::expr::{self, Helpers, Text};
use super::text;

mod loads;

pub(super) use loads::lane_loop;

/// Longest expression that is not given a name of its own, characters; statements of a few of them stay within
/// a line.
const INLINE_CHARS: usize = 22;

/// Which kind of function statements are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No row or column is known: limits, tile tests, sinks, values of a task.
    Scalar,
    /// One row, with a loop over key columns.
    Row,
    /// No row, with loops over key columns.
    Columns,
}

/// What the expressions of a variant are called, and what is computed ahead of them.
#[derive(Clone, Debug)]
pub(super) struct Hoisted {
    /// Parameters, in declaration order.
    pub(super) params: Vec<String>,
    /// Captured tensors, in declaration order.
    pub(super) tensors: Vec<String>,
    /// Lines of them whose least and greatest elements are known run by run.
    pub(super) runs: Vec<String>,
    /// Fields of `TaskValues`.
    pub(super) task: BTreeMap<ExprId, String>,
    /// Fields of `Columns`.
    pub(super) columns: BTreeMap<ExprId, String>,
}

/// What a function turned out to need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) level: bool,
    pub(super) task: bool,
    pub(super) values: bool,
    pub(super) columns: bool,
    pub(super) tile: bool,
    pub(super) row: bool,
    pub(super) q_len: bool,
    pub(super) kv_len: bool,
    pub(super) q_shift: bool,
    pub(super) element: bool,
    pub(super) helpers: Helpers,
}

/// Statements inside one loop over lanes.
#[derive(Clone, Debug, Default)]
struct Lanes {
    lines: Vec<String>,
    named: BTreeMap<ExprId, Text>,
    /// Whether the lane's number is read.
    numbered: bool,
}

/// The statements of one function, while they are written.
#[derive(Debug)]
pub(super) struct Lowering<'v> {
    variant: &'v Variant,
    exprs: &'v Exprs,
    dependences: &'v [Dependence],
    hoisted: &'v Hoisted,
    kind: Kind,
    /// Whether queries were loaded already multiplied by the scale.
    scaled_query: bool,
    references: BTreeMap<ExprId, usize>,
    outer: Vec<String>,
    named: BTreeMap<ExprId, Text>,
    buffers: BTreeMap<ExprId, String>,
    /// Captured tensors that have a variable.
    views: BTreeSet<TensorId>,
    lanes: Lanes,
    counter: usize,
    needs: Needs,
}

impl Hoisted {
    /// The runs that an undeclared tensor asks, and the function that it stands for; `None` for a declared one.
    pub(super) fn extreme(&self, tensor: TensorId) -> Option<(&str, &'static str)> {
        let place = (tensor.0 as usize).checked_sub(self.tensors.len())?;
        let function = if place.is_multiple_of(2) {
            "least"
        } else {
            "greatest"
        };
        Some((&self.runs[place / 2], function))
    }
}

impl<'v> Lowering<'v> {
    /// An empty function that will compute the roots.
    pub(super) fn new(
        variant: &'v Variant,
        exprs: &'v Exprs,
        dependences: &'v [Dependence],
        hoisted: &'v Hoisted,
        kind: Kind,
        scaled_query: bool,
    ) -> Lowering<'v> {
        Lowering {
            variant,
            exprs,
            dependences,
            hoisted,
            kind,
            scaled_query,
            references: BTreeMap::new(),
            outer: Vec::new(),
            named: BTreeMap::new(),
            buffers: BTreeMap::new(),
            views: BTreeSet::new(),
            lanes: Lanes::default(),
            counter: 0,
            needs: Needs::default(),
        }
    }

    /// Counts how often each node is used by these roots.
    pub(super) fn count(&mut self, roots: &[ExprId]) {
        for id in self.exprs.reachable(roots) {
            for child in self.exprs.children(id) {
                *self.references.entry(child).or_default() += 1;
            }
        }
    }

    /// A statement outside the loop over lanes.
    pub(super) fn push(&mut self, line: impl Into<String>) {
        self.outer.push(line.into());
    }

    /// Statements outside the loop over lanes.
    pub(super) fn extend(&mut self, lines: Vec<String>) {
        self.outer.extend(lines);
    }

    /// Ends a function with its value.
    pub(super) fn finish(&mut self, value: &Text) {
        match take_named(&mut self.outer, value.as_str()) {
            Some(lines) => self.outer.extend(lines),
            None => self.push(value.as_str()),
        }
    }

    /// The value of a lane for a last statement, not named where it was named only now.
    pub(super) fn lane_value(&mut self, value: &Text) -> String {
        let lines = &mut self.lanes.lines;
        let ends_here = lines.last().is_some_and(|line| line.starts_with("let "));
        let taken = ends_here.then(|| take_named(lines, value.as_str()));
        match taken.flatten() {
            Some(mut taken) => taken.remove(0),
            None => value.as_str().to_owned(),
        }
    }

    /// All statements.
    pub(super) fn into_lines(self) -> (Vec<String>, Needs) {
        (self.outer, self.needs)
    }

    /// Whether the value differs from lane to lane.
    pub(super) fn is_lane(&self, id: ExprId) -> bool {
        self.kind != Kind::Scalar && self.dependences[id.index()].col
    }

    /// Ends the loop over lanes: its statements, and whether they read the lane's number.
    pub(super) fn take_lanes(&mut self) -> (Vec<String>, bool) {
        let lanes = std::mem::take(&mut self.lanes);
        (lanes.lines, lanes.numbered)
    }

    /// The value of a node; statements that it needs are written first.
    pub(super) fn text(&mut self, id: ExprId) -> Text {
        if let Some(text) = self.known(id) {
            return text;
        }
        let text = match self.exprs.node(id).clone() {
            Node::Int(_) | Node::Float(_) | Node::Bool(_) => {
                return Text::literal(self.exprs.as_constant(id).expect("matched a constant"));
            }
            Node::Var(var) => return self.var(id, var),
            Node::Param(param, ty) => {
                self.needs.task = true;
                let field = &self.hoisted.params[param.0 as usize];
                match ty {
                    Type::Bool => Text::loose(format!("task.problem.launch.{field} != 0")),
                    Type::Int | Type::Float => Text::atom(format!("task.problem.launch.{field}")),
                }
            }
            Node::Load(..) if self.is_lane(id) => return self.lane_load(id),
            Node::Load(tensor, index, _) if self.hoisted.extreme(tensor).is_some() => {
                return self.extreme(id, tensor, &index);
            }
            Node::Load(tensor, index, _) => {
                let index = self.index_list(&index);
                let name = self.view(tensor);
                self.needs.element = true;
                return self.bind(id, Text::atom(format!("{name}.at({index})")));
            }
            Node::Unary(op, a) => self.unary(id, op, a),
            Node::Binary(op, a, b) => self.binary(id, op, a, b),
            Node::Select(cond, then, other) => return self.select(id, cond, then, other),
        };
        if text.len() > INLINE_CHARS || self.references.get(&id).is_some_and(|count| *count > 1) {
            return self.bind(id, text);
        }
        text
    }

    /// A value that is short enough to stand among others.
    pub(super) fn operand(&mut self, id: ExprId) -> Text {
        let text = self.text(id);
        if text.len() > INLINE_CHARS && !text.is_literal() {
            return self.bind(id, text);
        }
        text
    }

    /// An operand of a node; what a lane needs of its row is computed ahead of the loop.
    fn operand_of(&mut self, parent: ExprId, id: ExprId) -> Text {
        let text = self.operand(id);
        let is_computed = matches!(self.exprs.node(id), Node::Unary(..) | Node::Binary(..));
        if is_computed && self.is_lane(parent) && !self.is_lane(id) && self.known(id).is_none() {
            return self.bind(id, text);
        }
        text
    }

    /// A variable or field that holds the node already.
    fn known(&mut self, id: ExprId) -> Option<Text> {
        let named = self.lanes.named.get(&id).or_else(|| self.named.get(&id));
        if named.is_some() {
            return named.cloned();
        }
        if self.kind != Kind::Scalar
            && let Some(field) = self.hoisted.task.get(&id)
        {
            self.needs.values = true;
            return Some(Text::atom(format!("values.{field}")));
        }
        if self.kind == Kind::Row
            && let Some(field) = self.hoisted.columns.get(&id)
        {
            (self.needs.columns, self.lanes.numbered) = (true, true);
            return Some(Text::atom(format!("columns.{field}[lane]")));
        }
        let buffer = self.buffers.get(&id)?;
        self.lanes.numbered = true;
        Some(Text::atom(format!("{buffer}[lane]")))
    }

    /// Names a value with a `let` of its own.
    fn bind(&mut self, id: ExprId, text: Text) -> Text {
        let name = self.next_name(id);
        let line = format!("let {name} = {};", text.as_str());
        self.remember(id, vec![line], Text::atom(name))
    }

    fn next_name(&mut self, id: ExprId) -> String {
        self.counter += 1;
        let prefix = match self.kind {
            Kind::Scalar => "value",
            Kind::Row if !self.is_lane(id) => "row",
            Kind::Columns if !self.is_lane(id) => "value",
            Kind::Row | Kind::Columns => "lane",
        };
        format!("{prefix}_{}", self.counter)
    }

    fn remember(&mut self, id: ExprId, lines: Vec<String>, text: Text) -> Text {
        if self.is_lane(id) {
            self.lanes.lines.extend(lines);
            self.lanes.named.insert(id, text.clone());
        } else {
            self.outer.extend(lines);
            self.named.insert(id, text.clone());
        }
        text
    }

    fn var(&mut self, id: ExprId, var: Var) -> Text {
        let (name, line) = match var {
            Var::Dot => return Text::prefix("*score"),
            Var::Score if self.scaled_query => return Text::prefix("*score"),
            Var::Score => return Text::loose("*score * SCALE"),
            Var::KvIdx => {
                (self.needs.tile, self.lanes.numbered) = (true, true);
                ("kv_idx", "let kv_idx = tile.first + lane as i32;")
            }
            Var::KvFirst => {
                self.needs.tile = true;
                return Text::atom("tile.first");
            }
            Var::KvLast => {
                self.needs.tile = true;
                (
                    "kv_last",
                    "let kv_last = tile.first + tile.cols as i32 - 1;",
                )
            }
            _ => return self.task_var(id, var),
        };
        self.remember(id, vec![line.to_owned()], Text::atom(name))
    }

    fn task_var(&mut self, id: ExprId, var: Var) -> Text {
        self.needs.task = true;
        let (name, line) = match var {
            Var::QIdx => return self.query_row(id, "q_idx"),
            Var::QPos if self.variant.align == Align::TopLeft => {
                return self.query_row(id, "q_idx");
            }
            Var::QPos => {
                (self.needs.row, self.needs.q_shift) = (true, true);
                (
                    "q_pos",
                    "let q_pos = task.first_row + row as i32 + task.q_shift;",
                )
            }
            Var::QLast => (
                "q_last",
                "let q_last = task.first_row + task.rows as i32 - 1;",
            ),
            Var::B => return Text::atom("task.b"),
            Var::H => return Text::atom("task.h"),
            Var::KvH => return Text::atom("task.kv_h"),
            Var::QLen => {
                self.needs.q_len = true;
                return Text::atom("task.q_len");
            }
            Var::KvLen => {
                self.needs.kv_len = true;
                return Text::atom("task.kv_len");
            }
            Var::QFirst => return Text::atom("task.first_row"),
            Var::KvIdx | Var::Dot | Var::Score | Var::KvFirst | Var::KvLast => {
                unreachable!("handled by the caller")
            }
        };
        self.remember(id, vec![line.to_owned()], Text::atom(name))
    }

    /// The query row, under whichever of its two names it is asked for first.
    fn query_row(&mut self, id: ExprId, name: &str) -> Text {
        let twin = self.named.values().any(|text| text.as_str() == name);
        self.needs.row = true;
        let line = format!("let {name} = task.first_row + row as i32;");
        let lines = if twin { Vec::new() } else { vec![line] };
        self.remember(id, lines, Text::atom(name))
    }

    fn unary(&mut self, id: ExprId, op: Unary, a: ExprId) -> Text {
        if op == Unary::Not
            && let Node::Binary(inner, x, y) = *self.exprs.node(a)
            && self.exprs.ty(x) != Type::Float
            && self.known(a).is_none()
        {
            let (x, y) = (self.operand_of(id, x), self.operand_of(id, y));
            if let Some(text) = expr::negated_comparison(inner, &x, &y) {
                return text;
            }
        }
        let mut operand = self.operand_of(id, a);
        // Clippy reads `!(a < b)` of floats as a slip.
        if op == Unary::Not && operand.is_comparison() {
            operand = self.bind(a, operand);
        }
        let lanes = self.is_lane(a);
        let helpers = &mut self.needs.helpers;
        let text = expr::unary(op, self.exprs.ty(a), &operand, lanes, helpers);
        self.needs.level |= text.as_str().contains("::<L>");
        text
    }

    fn binary(&mut self, id: ExprId, op: Binary, a: ExprId, b: ExprId) -> Text {
        let ty = self.exprs.ty(a);
        let mut left = self.operand_of(id, a);
        let mut right = self.operand_of(id, b);
        if a == b {
            // Clippy takes `x == x` or `x - x` for a slip; with floats it asks for NaN.
            self.counter += 1;
            let twin = format!("twin_{}", self.counter);
            let line = format!("let {twin} = {};", left.as_str());
            if self.is_lane(a) {
                self.lanes.lines.push(line);
            } else {
                self.outer.push(line);
            }
            right = Text::atom(twin);
        }
        // Two bounds in a row would be taken for `clamp`, which treats NaN otherwise.
        if matches!(op, Binary::Min | Binary::Max) {
            left = self.named_bound(a, left);
            right = self.named_bound(b, right);
        }
        expr::binary(op, ty, &left, &right, &mut self.needs.helpers)
    }

    fn named_bound(&mut self, id: ExprId, text: Text) -> Text {
        match self.exprs.node(id) {
            Node::Binary(Binary::Min | Binary::Max, ..) if self.known(id).is_none() => {
                self.bind(id, text)
            }
            _ => text,
        }
    }

    fn select(&mut self, id: ExprId, cond: ExprId, then: ExprId, other: ExprId) -> Text {
        let cond = self.operand_of(id, cond);
        let (then, other) = (self.operand_of(id, then), self.operand_of(id, other));
        let name = self.next_name(id);
        let start = format!("let {name} = ");
        let lines = text::select(&start, cond.as_str(), then.as_str(), other.as_str());
        self.remember(id, lines, Text::atom(name))
    }
}

/// Takes off the last statement if it names this value: the expression that it was named for, in lines.
fn take_named(lines: &mut Vec<String>, name: &str) -> Option<Vec<String>> {
    let start = format!("let {name} = ");
    let at = lines.iter().rposition(|line| line.starts_with(&start))?;
    let goes_on = |line: &String| line.starts_with([' ', '}']);
    if !lines[at + 1..].iter().all(goes_on) {
        return None;
    }
    let mut taken = lines.split_off(at);
    taken[0] = taken[0][start.len()..].to_owned();
    let last = taken.last_mut().expect("the statement has a line");
    last.truncate(last.len() - 1);
    Some(taken)
}
