//! The emitted functions that come from expressions: limits and tile tests, sink, values of a task, values per
//! key column, score and mask.

use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, Dependence, ExprId, Exprs, Node, Type, Var};
use fa_dsl::tiles::{Extremes, TileAnalysis};
use fa_dsl::variant::Variant;

use super::formula::formula;
use super::launch;
use super::lower::{Hoisted, Kind, Lowering, Needs, lane_loop};
use super::text;
use super::view::{FoldView, Function, MaskView};

/// What expressions are lowered from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'v> {
    pub(super) variant: &'v Variant,
    pub(super) exprs: &'v Exprs,
    pub(super) dependences: &'v [Dependence],
    pub(super) hoisted: &'v Hoisted,
    pub(super) tiles: &'v TileAnalysis,
    pub(super) extremes: &'v Extremes,
    /// Whether queries are loaded already multiplied by the scale.
    pub(super) scaled_query: bool,
}

/// All functions, and what they need from the rest of the file.
#[derive(Clone, Debug)]
pub(super) struct Emitted {
    pub(super) scalar: Vec<Function>,
    pub(super) row: Vec<Function>,
    pub(super) mask: MaskView,
    pub(super) fold: FoldView,
    pub(super) sink_args: String,
    pub(super) needs: Needs,
    /// Statements that look at captured tensors whose least and greatest elements tile tests ask for.
    pub(super) scan: Vec<String>,
}

/// Lowers everything.
pub(super) fn emit(source: Source<'_>) -> Emitted {
    let mut emitter = Emitter {
        source,
        needs: Needs::default(),
        scalar: Vec::new(),
        row: Vec::new(),
        mask: MaskView::default(),
        fold_values: false,
        sink_args: String::new(),
    };
    emitter.task_values();
    emitter.sink();
    emitter.limits();
    emitter.tile_tests();
    let scan = emitter.scan();
    let column_call = emitter.columns();
    let mut row_calls = emitter.score();
    row_calls.extend(emitter.apply_mask());
    let fold = emitter.fold(column_call, row_calls);
    Emitted {
        scalar: emitter.scalar,
        row: emitter.row,
        mask: emitter.mask,
        fold,
        sink_args: emitter.sink_args,
        needs: emitter.needs,
        scan,
    }
}

struct Emitter<'v> {
    source: Source<'v>,
    needs: Needs,
    scalar: Vec<Function>,
    row: Vec<Function>,
    mask: MaskView,
    /// Whether folding a tile reads the values of the task.
    fold_values: bool,
    sink_args: String,
}

impl<'v> Emitter<'v> {
    fn lowering(&self, kind: Kind, roots: &[ExprId]) -> Lowering<'v> {
        let source = self.source;
        let mut lowering = Lowering::new(
            source.variant,
            source.exprs,
            source.dependences,
            source.hoisted,
            kind,
            source.scaled_query,
        );
        lowering.count(roots);
        lowering
    }

    fn note(&mut self, needs: Needs) {
        self.needs.q_len |= needs.q_len;
        self.needs.kv_len |= needs.kv_len;
        self.needs.q_shift |= needs.q_shift;
        self.needs.element |= needs.element;
        self.needs.helpers.add(needs.helpers);
    }

    /// A comment that quotes an expression.
    fn quote(&self, before: &str, id: ExprId) -> Vec<String> {
        let Source {
            variant,
            exprs,
            hoisted,
            ..
        } = self.source;
        let formula = formula(variant, exprs, hoisted, id);
        text::comment("// ", &format!("{before}{formula}"))
    }

    /// `TaskValues`, computed once a task.
    fn task_values(&mut self) {
        let fields = &self.source.hoisted.task;
        if fields.is_empty() {
            return;
        }
        let roots: Vec<ExprId> = fields.keys().copied().collect();
        let mut lowering = self.lowering(Kind::Scalar, &roots);
        let items: Vec<String> = fields
            .iter()
            .map(|(id, field)| format!("{field}: {}", lowering.text(*id).as_str()))
            .collect();
        lowering.extend(text::struct_literal("TaskValues", &items));
        let (body, needs) = lowering.into_lines();
        self.note(needs);
        let doc = text::comment("/// ", "Computes what the rows and keys of a task share.");
        let params = params(Needs {
            task: needs.task,
            ..Needs::default()
        });
        let head = text::signature("fn task_values", &params, "TaskValues");
        self.scalar.push(function(doc, head, body));
    }

    fn sink(&mut self) {
        let Some(sink) = self.source.variant.sink else {
            return;
        };
        let doc = "The score of the sink, a logit without a value row.";
        let needs = self.scalar_function("sink_score", doc, sink.value, "f32");
        self.sink_args = args(needs).join(", ");
    }

    fn limits(&mut self) {
        let (begin, end) = (self.source.tiles.kv_begin, self.source.tiles.kv_end);
        let mut lowering = self.lowering(Kind::Scalar, &[begin, end]);
        if self.constant(begin).is_none() {
            lowering.extend(self.quote("begin: ", begin));
        }
        if !matches!(self.source.exprs.node(end), Node::Var(_) | Node::Int(_)) {
            lowering.extend(self.quote("end: ", end));
        }
        let first = lowering.text(begin);
        let last = lowering.text(end);
        lowering.push(format!("{}..{}", first.as_str(), last.as_str()));
        let (body, needs) = lowering.into_lines();
        self.note(needs);
        let doc = text::comment("/// ", "Keys that some row of the task may see.");
        let head = text::signature("fn key_limits", &params(needs), "Range<i32>");
        self.scalar.push(function(doc, head, body));
        self.mask.limit_args = args(needs).join(", ");
    }

    /// Tests of a tile, where the limits do not say it all.
    fn tile_tests(&mut self) {
        let (full, empty) = (self.source.tiles.full, self.source.tiles.empty);
        if self.constant(full).is_none() {
            let doc = "Whether every pair of the tile is attended.";
            let needs = self.scalar_function("tile_is_full", doc, full, "bool");
            self.mask.has_full = true;
            self.mask.full_args = tile_args(needs);
        }
        if self.constant(empty).is_none() {
            let doc = "Whether no pair of the tile is attended.";
            let needs = self.scalar_function("tile_is_empty", doc, empty, "bool");
            self.mask.has_empty = true;
            self.mask.empty_args = tile_args(needs);
        }
    }

    /// Statements that look at whole lines of captured tensors.
    fn scan(&mut self) -> Vec<String> {
        let source = self.source;
        let lines = &source.extremes.lines;
        let roots: Vec<ExprId> = lines.iter().flat_map(|line| line.index.clone()).collect();
        let mut lowering = self.lowering(Kind::Scalar, &roots);
        for (line, runs) in lines.iter().zip(&source.hoisted.runs) {
            let tensor = source.variant.tensor(line.tensor);
            lowering.scan(line, runs, &launch::length(tensor, line.axis));
        }
        let (body, needs) = lowering.into_lines();
        self.note(needs);
        body
    }

    fn constant(&self, id: ExprId) -> Option<Value<f32>> {
        self.source.exprs.as_constant(id)
    }

    fn scalar_function(&mut self, name: &str, doc: &str, root: ExprId, returns: &str) -> Needs {
        let mut lowering = self.lowering(Kind::Scalar, &[root]);
        lowering.extend(self.quote("", root));
        let text = lowering.text(root);
        lowering.finish(&text);
        let (body, needs) = lowering.into_lines();
        self.note(needs);
        let head = text::signature(&format!("fn {name}"), &params(needs), returns);
        self.scalar
            .push(function(text::comment("/// ", doc), head, body));
        needs
    }

    /// Values per key column, computed once a tile; the call that does it.
    fn columns(&mut self) -> Vec<String> {
        let fields = &self.source.hoisted.columns;
        if fields.is_empty() {
            return Vec::new();
        }
        let roots: Vec<ExprId> = fields.keys().copied().collect();
        let mut lowering = self.lowering(Kind::Columns, &roots);
        for (id, field) in fields {
            let place = format!("columns.{field}[..tile.cols]");
            if let Node::Load(_, index, _) = self.source.exprs.node(*id) {
                let lines = lowering.fill(*id, index, &place);
                lowering.extend(lines);
            } else {
                let text = lowering.text(*id);
                let value = lowering.lane_value(&text);
                let (body, numbered) = lowering.take_lanes();
                let last = format!("*value = {value};");
                lowering.extend(lane_loop("value", &place, body, numbered, &last));
            }
        }
        let (body, mut needs) = lowering.into_lines();
        self.note(needs);
        needs.columns = false;
        let (mut params, mut args) = (params(needs), args(needs));
        params.push("columns: &mut Columns".to_owned());
        args.push("&mut scratch.columns".to_owned());
        let doc = text::comment(
            "/// ",
            "Computes what masks and scores need of each key of a tile.",
        );
        let head = text::signature(&format!("fn load_columns{}", generics(needs)), &params, "");
        self.row.push(function(doc, head, body));
        self.fold_values |= needs.values;
        text::call(8, &format!("load_columns{}", turbofish(needs)), &args, ";")
    }

    /// The score expression over one row; the call that applies it.
    fn score(&mut self) -> Vec<String> {
        let source = self.source;
        let root = source.variant.score;
        let plain = *source.exprs.node(root) == Node::Var(Var::Score);
        if plain && source.scaled_query {
            return Vec::new();
        }
        let mut lowering = self.lowering(Kind::Row, &[root]);
        lowering.extend(self.quote("s = ", root));
        if lowering.is_lane(root) {
            let last = score_statement(&mut lowering, source.exprs, root);
            let (body, numbered) = lowering.take_lanes();
            lowering.extend(lane_loop("score", "scores", body, numbered, &last));
        } else {
            let text = lowering.text(root);
            lowering.push(format!("scores.fill({});", text.as_str()));
        }
        let doc = "Turns the products of one row of a tile into scores.";
        self.row_function("apply_score", doc, lowering)
    }

    /// The mask over one row; the call that applies it.
    fn apply_mask(&mut self) -> Vec<String> {
        let source = self.source;
        let root = source.variant.mask;
        if self.constant(root).is_some()
            || self.constant(source.tiles.full) == Some(Value::Bool(true))
        {
            return Vec::new();
        }
        let mut lowering = self.lowering(Kind::Row, &[root]);
        lowering.extend(self.quote("attend where ", root));
        let attended = lowering.text(root);
        let last = text::select(
            "*score = ",
            attended.as_str(),
            "*score",
            "f32::NEG_INFINITY",
        );
        let (body, numbered) = lowering.take_lanes();
        let mut lines = lane_loop("score", "scores", body, numbered, "");
        lines.truncate(lines.len() - 2);
        lines.extend(text::indented(4, &last));
        lines.push("}".to_owned());
        lowering.extend(lines);
        let doc = "s = -inf for the pairs of one row that the mask leaves out.";
        let call = self.row_function("apply_mask", doc, lowering);
        if !self.mask.has_full {
            return call;
        }
        let mut lines = vec!["if !tile.full {".to_owned()];
        lines.extend(text::indented(4, &call));
        lines.push("}".to_owned());
        lines
    }

    fn row_function(&mut self, name: &str, doc: &str, lowering: Lowering<'_>) -> Vec<String> {
        let (body, needs) = lowering.into_lines();
        self.note(needs);
        self.fold_values |= needs.values;
        let (mut params, mut args) = (params(needs), args(needs));
        params.push("scores: &mut [f32; BLOCK_KV]".to_owned());
        args.push("scores".to_owned());
        let head = text::signature(&format!("fn {name}{}", generics(needs)), &params, "");
        self.row
            .push(function(text::comment("/// ", doc), head, body));
        text::call(12, &format!("{name}{}", turbofish(needs)), &args, ";")
    }

    fn fold(&self, column_call: Vec<String>, row_calls: Vec<String>) -> FoldView {
        let with_values = |before: &str, text: &str, after: &[&str]| -> Vec<String> {
            let values = self.fold_values.then_some(text);
            let list = [before].into_iter().chain(values);
            list.chain(after.iter().copied())
                .map(str::to_owned)
                .collect()
        };
        let tile = "tile: &KeyTile";
        let scratch = "scratch: &mut Scratch";
        let weigh = with_values("group: &Group", "values: &TaskValues", &[tile, scratch]);
        let strip = with_values(
            "task: &Task",
            "values: &TaskValues",
            &[tile, "first: usize", scratch],
        );
        let weigh_args = with_values("group", "values", &["tile", "scratch"]);
        let strip_args = with_values("task", "values", &["tile", "first", "scratch"]);
        FoldView {
            weigh_signature: text::signature("fn weigh<L: Level>", &weigh, ""),
            weigh_call: format!("weigh::<L>({});", weigh_args.join(", ")),
            strip_signature: text::signature("fn fold_strip<L: Level>", &strip, ""),
            strip_call: format!("fold_strip::<L>({});", strip_args.join(", ")),
            column_task: column_call.iter().any(|line| line.contains("task,")),
            column_call,
            row_calls,
        }
    }
}

/// The last statement of the loop over scores; compound where the score is updated in place.
fn score_statement(lowering: &mut Lowering<'_>, exprs: &Exprs, root: ExprId) -> String {
    let in_place = "*score";
    if let Node::Binary(op, a, b) = *exprs.node(root)
        && exprs.ty(root) == Type::Float
        && let Some(symbol) = compound(op)
        && a != b
    {
        let (left, right) = (lowering.operand(a), lowering.operand(b));
        if left.as_str() == in_place {
            return format!("{in_place} {symbol}= {};", right.as_str());
        }
        if right.as_str() == in_place && matches!(op, Binary::Add | Binary::Mul) {
            return format!("{in_place} {symbol}= {};", left.as_str());
        }
    }
    let text = lowering.text(root);
    match lowering.lane_value(&text).as_str() {
        "*score * SCALE" => "*score *= SCALE;".to_owned(),
        value => format!("*score = {value};"),
    }
}

fn compound(op: Binary) -> Option<&'static str> {
    match op {
        Binary::Add => Some("+"),
        Binary::Sub => Some("-"),
        Binary::Mul => Some("*"),
        Binary::Div => Some("/"),
        _ => None,
    }
}

fn function(doc: Vec<String>, head: Vec<String>, body: Vec<String>) -> Function {
    let mut lines = doc;
    lines.push("#[inline(always)]".to_owned());
    lines.extend(head);
    lines.extend(text::indented(4, &body));
    lines.push("}".to_owned());
    Function { lines }
}

fn generics(needs: Needs) -> &'static str {
    if needs.level { "<L: Level>" } else { "" }
}

fn turbofish(needs: Needs) -> &'static str {
    if needs.level { "::<L>" } else { "" }
}

fn params(needs: Needs) -> Vec<String> {
    listed(
        needs,
        [
            "task: &Task",
            "values: &TaskValues",
            "columns: &Columns",
            "tile: &KeyTile",
            "row: usize",
        ],
    )
}

fn args(needs: Needs) -> Vec<String> {
    listed(needs, ["task", "values", "&scratch.columns", "tile", "row"])
}

fn tile_args(needs: Needs) -> String {
    listed(needs, ["task", "", "", "tile", ""]).join(", ")
}

fn listed(needs: Needs, names: [&str; 5]) -> Vec<String> {
    let wanted = [
        needs.task,
        needs.values,
        needs.columns,
        needs.tile,
        needs.row,
    ];
    names
        .into_iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted)
        .map(|(name, _)| name.to_owned())
        .collect()
}
