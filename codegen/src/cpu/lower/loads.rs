//! Elements of captured tensors: read where they stand, or for all lanes ahead of the loop.

use fa_dsl::ir::{Binary, ExprId, Node, TensorId, Type, Var};
use fa_dsl::tiles::Line;
use fa_dsl::variant::Dtype;

use super::Lowering;
use crate::cpu::expr::{self, Text};
use crate::cpu::text;

impl Lowering<'_> {
    /// The variable that views a captured tensor.
    pub(super) fn view(&mut self, tensor: TensorId) -> String {
        let name = self.hoisted.tensors[tensor.0 as usize].clone();
        self.needs.task = true;
        if self.views.insert(tensor) {
            self.push(format!("let {name} = &task.problem.{name};"));
        }
        name
    }

    /// `[i, j]` of short items.
    pub(super) fn index_list(&mut self, index: &[ExprId]) -> String {
        let items: Vec<String> = index
            .iter()
            .map(|id| {
                let text = self.operand(*id);
                let text = if text.len() > 12 {
                    self.bind(*id, text)
                } else {
                    text
                };
                text.as_str().to_owned()
            })
            .collect();
        format!("[{}]", items.join(", "))
    }

    /// The least or greatest element between two indices of a line.
    pub(super) fn extreme(&mut self, id: ExprId, tensor: TensorId, ends: &[ExprId]) -> Text {
        self.needs.task = true;
        let args: Vec<String> = ends.iter().map(|end| self.index_item(*end)).collect();
        let (runs, function) = self
            .hoisted
            .extreme(tensor)
            .expect("the caller knows that it is undeclared");
        let call = format!("task.extremes.{runs}.{function}({})", args.join(", "));
        self.bind(id, Text::atom(call))
    }

    /// Looks at all elements of a line; `length` is their number.
    pub(in crate::cpu) fn scan(&mut self, line: &Line, runs: &str, length: &str) {
        let tensor = self.view(line.tensor);
        let others: Vec<String> = (0..line.index.len())
            .map(|axis| {
                if axis == line.axis {
                    "0".to_owned()
                } else {
                    self.index_item(line.index[axis])
                }
            })
            .collect();
        let mut place = others.clone();
        place.resize(4, "0".to_owned());
        let mut index = others;
        index[line.axis] = "first".to_owned();
        let element = match self.variant.tensor(line.tensor).dtype {
            Dtype::Bool => "bool",
            _ => "i32",
        };
        let read = format!(
            "{tensor}.read_run([{}], {}, run)",
            index.join(", "),
            line.axis
        );
        self.push(format!(
            "let read = |first: i32, run: &mut [{element}]| {read};"
        ));
        let place = place.join(", ");
        self.push(format!("let length = {length};"));
        self.push(format!("self.{runs}.scan([{place}], length, read);"));
    }

    /// Reads elements for all lanes into a buffer ahead of the loop.
    pub(super) fn lane_load(&mut self, id: ExprId) -> Text {
        let (tensor, index) = match self.exprs.node(id) {
            Node::Load(tensor, index, _) => (*tensor, index.clone()),
            _ => unreachable!("only loads are read ahead"),
        };
        self.counter += 1;
        let buffer = format!(
            "{}_{}",
            self.hoisted.tensors[tensor.0 as usize], self.counter
        );
        let zero = match self.exprs.ty(id) {
            Type::Int => "0",
            Type::Float => "0.0",
            Type::Bool => "false",
        };
        let lines = self.fill(id, &index, &format!("{buffer}[..tile.cols]"));
        self.push(format!("let mut {buffer} = [{zero}; BLOCK_KV];"));
        self.extend(lines);
        self.buffers.insert(id, buffer.clone());
        self.lanes.numbered = true;
        Text::atom(format!("{buffer}[lane]"))
    }

    /// Statements that fill `place` with the elements that a load reads, lane by lane.
    pub(in crate::cpu) fn fill(
        &mut self,
        id: ExprId,
        index: &[ExprId],
        place: &str,
    ) -> Vec<String> {
        self.needs.tile = true;
        let Node::Load(tensor, ..) = *self.exprs.node(id) else {
            unreachable!("only loads are read ahead")
        };
        let name = self.view(tensor);
        if let Some((axis, start)) = self.run(index) {
            let items: Vec<String> = (0..index.len())
                .map(|at| {
                    if at == axis {
                        start.clone()
                    } else {
                        self.index_item(index[at])
                    }
                })
                .collect();
            let args = [
                format!("[{}]", items.join(", ")),
                axis.to_string(),
                format!("&mut {place}"),
            ];
            return text::call(4, &format!("{name}.read_run"), &args, ";");
        }
        self.needs.element = true;
        let saved = std::mem::take(&mut self.lanes);
        let list = self.index_list(index);
        let (body, numbered) = self.take_lanes();
        self.lanes = saved;
        let value = format!("{name}.at({list})");
        lane_loop(
            "value",
            place,
            body,
            numbered,
            &format!("*value = {value};"),
        )
    }

    fn index_item(&mut self, id: ExprId) -> String {
        let text = self.operand(id);
        let text = if text.len() > 12 {
            self.bind(id, text)
        } else {
            text
        };
        text.as_str().to_owned()
    }

    /// The one axis along which lanes are neighbours, and the index of the first lane on it.
    fn run(&mut self, index: &[ExprId]) -> Option<(usize, String)> {
        let mut lanes = (0..index.len()).filter(|at| self.is_lane(index[*at]));
        let axis = lanes.next()?;
        if lanes.next().is_some() {
            return None;
        }
        let is_key = |id: ExprId| *self.exprs.node(id) == Node::Var(Var::KvIdx);
        let (op, shift) = match *self.exprs.node(index[axis]) {
            Node::Var(Var::KvIdx) => return Some((axis, "tile.first".to_owned())),
            Node::Binary(Binary::Add, a, b) if is_key(a) && !self.is_lane(b) => (Binary::Add, b),
            Node::Binary(Binary::Add, a, b) if is_key(b) && !self.is_lane(a) => (Binary::Add, a),
            Node::Binary(Binary::Sub, a, b) if is_key(a) && !self.is_lane(b) => (Binary::Sub, b),
            _ => return None,
        };
        let (first, shift) = (Text::atom("tile.first"), self.operand(shift));
        let start = expr::binary(op, Type::Int, &first, &shift, &mut self.needs.helpers);
        self.counter += 1;
        let name = format!("start_{}", self.counter);
        self.push(format!("let {name} = {};", start.as_str()));
        Some((axis, name))
    }
}

/// A loop over lanes with a last statement.
pub(in crate::cpu) fn lane_loop(
    item: &str,
    place: &str,
    mut body: Vec<String>,
    numbered: bool,
    last: &str,
) -> Vec<String> {
    let head = if numbered {
        format!("for (lane, {item}) in {place}.iter_mut().enumerate() {{")
    } else {
        format!("for {item} in {place}.iter_mut() {{")
    };
    body.push(last.to_owned());
    let mut lines = vec![head];
    lines.extend(text::indented(4, &body));
    lines.push("}".to_owned());
    lines
}
