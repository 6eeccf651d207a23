//! What the templates print of ends of lines.

use fa_dsl::ir::ExprId;
use fa_targets::Ascend;
use serde::Serialize;

use super::Plan;
use super::ends::{Runs, lanes};
use super::lower::scalar::{Kept, ScalarPrinter};
use super::view::{ScalarFn, scalar_fn};

/// Lines of a captured tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LineView {
    /// The line in the spelling of the language.
    pub(super) note: String,
    /// The tensor in emitted code.
    pub(super) tensor: String,
    /// Lanes of an element, and whether elements lie apart: then they take more than one.
    pub(super) element_lanes: u32,
    pub(super) is_apart: bool,
    /// Heads that share a line.
    pub(super) sharing_heads: String,
    /// Where the line of a task starts in its tensor, and its elements.
    pub(super) start: ScalarFn,
    pub(super) length: ScalarFn,
    /// From element to element.
    pub(super) stride: String,
}

/// A line whose ends are found, of runs of a cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Find {
    pub(super) line: usize,
    pub(super) cut: usize,
}

/// Lines of a captured tensor in runs of one length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunsView {
    /// The line in the spelling of the language.
    pub(super) note: String,
    /// Elements of a run and of a piece.
    pub(super) run: u32,
    pub(super) piece: u32,
    /// Lines, and elements of the longest: sums and products of members of `tiling`.
    pub(super) lines: String,
    pub(super) longest: String,
}

/// Everything about ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct EndsView {
    pub(super) lines: Vec<LineView>,
    pub(super) finds: Vec<Find>,
    pub(super) runs: Vec<RunsView>,
    /// Ends that all tiles of a task share.
    pub(super) of_rows: Vec<ScalarFn>,
    /// Ends that all chunks of a tile share.
    pub(super) of_keys: Vec<ScalarFn>,
    pub(super) has_of_keys: bool,
    /// Lanes that a vector core looks at in one go.
    pub(super) lanes: u32,
    pub(super) has_bytes: bool,
    /// Whether elements of some line lie side by side, and of some apart.
    pub(super) has_neighbours: bool,
    pub(super) has_apart: bool,
    /// Tiles that are tested together before one by one.
    pub(super) group: u32,
    pub(super) has_groups: bool,
}

impl EndsView {
    pub(super) fn new(plan: &Plan, ascend: &Ascend) -> EndsView {
        let all = plan.runs();
        let (mut firsts, mut finds): (Vec<&Runs<'_>>, Vec<Find>) = (Vec::new(), Vec::new());
        for (cut, runs) in all.iter().enumerate() {
            let known = firsts.iter().position(|first| first.cuts_alike(runs));
            let line = known.unwrap_or_else(|| {
                firsts.push(runs);
                firsts.len() - 1
            });
            finds.push(Find { line, cut });
        }
        let lines: Vec<LineView> = firsts
            .into_iter()
            .map(|runs| LineView::new(plan, runs))
            .collect();
        let printer =
            ScalarPrinter::new(&plan.exprs, &plan.names).with_ends(&plan.ends, Kept::Nothing);
        let functions = |ids: Vec<(ExprId, String)>| {
            let functions = ids.into_iter();
            functions
                .map(|(id, note)| scalar_fn(printer.body(id), note))
                .collect()
        };
        let lanes = lanes(ascend);
        let group = if plan.ends.asks_about_keys(&plan.exprs, plan.analysis.empty) {
            lanes / plan.arrangement.block_kv
        } else {
            0
        };
        let of_keys: Vec<ScalarFn> = functions(plan.ends.of_keys(&plan.variant, &plan.exprs));
        EndsView {
            of_rows: functions(plan.ends.of_rows(&plan.variant, &plan.exprs)),
            has_of_keys: !of_keys.is_empty(),
            of_keys,
            lanes,
            has_bytes: all.iter().any(|runs| runs.dtype.bytes() == 1),
            has_neighbours: lines.iter().any(|line| !line.is_apart),
            has_apart: lines.iter().any(|line| line.is_apart),
            has_groups: group > 1,
            group,
            runs: all.iter().map(|runs| RunsView::new(plan, runs)).collect(),
            lines,
            finds,
        }
    }

    /// All scalar code.
    pub(super) fn functions(&self) -> impl Iterator<Item = &ScalarFn> {
        let of_lines = self
            .lines
            .iter()
            .flat_map(|line| [&line.start, &line.length]);
        self.of_rows.iter().chain(&self.of_keys).chain(of_lines)
    }
}

impl LineView {
    fn new(plan: &Plan, runs: &Runs<'_>) -> LineView {
        let printer = ScalarPrinter::new(&plan.exprs, &plan.names);
        let print = |(axis, id): (usize, &ExprId)| {
            if axis == runs.line.axis {
                "0".to_owned()
            } else {
                printer.print(*id)
            }
        };
        let index: Vec<String> = runs.line.index.iter().enumerate().map(print).collect();
        let terms = plan.names.offset_terms(runs.line.tensor, &index);
        let start = if terms.is_empty() {
            "0".to_owned()
        } else {
            terms.join(" + ")
        };
        let tensor = plan.names.captured(runs.line.tensor).to_owned();
        let function = |text: String| scalar_fn(vec![format!("return {text};")], String::new());
        LineView {
            note: runs.note(&plan.variant, &plan.exprs),
            element_lanes: runs.element_lanes,
            is_apart: runs.element_lanes > 1,
            sharing_heads: runs.sharing_heads_text().to_owned(),
            start: function(start),
            length: function(runs.length_text()),
            stride: format!("launch_.tiling.{tensor}Stride[{}]", runs.line.axis),
            tensor,
        }
    }
}

impl RunsView {
    fn new(plan: &Plan, runs: &Runs<'_>) -> RunsView {
        RunsView {
            note: runs.note(&plan.variant, &plan.exprs),
            run: runs.run,
            piece: runs.piece,
            lines: runs.lines_text(),
            longest: runs.longest_text(),
        }
    }
}
