//! Least and greatest elements of captured tensors on the device: the lines that tile tests ask about, cut into runs
//! whose ends the kernel finds before its first tile.
//!
//! The ends of a line may be kept twice, of runs as long as a tile has query rows and of runs as long as it has keys:
//! a test then reads a word or two.

use fa_dsl::ir::{ExprId, Exprs, Node, Var};
use fa_dsl::tiles::{End, Extremes, Line, TileAnalysis};
use fa_dsl::variant::{Dim, Dtype, Layout, Size, Variant};
use fa_targets::Ascend;

use super::lower::describe::describe;
use super::lower::scalar::ScalarPrinter;

/// Lanes that a vector core looks at in one go, at most. A choice of ours: copies of 32 KiB move at full speed.
const MOST_LANES: u32 = 8192;

/// Bytes of UB for a lane while ends are found: the element (4), halves of the piece (3 x 2), ends of pieces (1), and
/// the element as a byte and as fp16 (3).
const LANE_BYTES: u64 = 14;

/// Whether the rows or the keys of a tile bound what is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Queries,
    Keys,
}

/// Lines of a captured tensor, one for each sequence and head that tells them apart, in runs of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cut {
    /// Place in the analysis.
    line: usize,
    side: Side,
    by_batch: bool,
    heads: Heads,
}

/// Which heads have lines of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heads {
    Together,
    KeyValue,
    Query,
}

/// Everything that the tile tests of a variant ask of captured tensors.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    extremes: Extremes,
    /// For every captured tensor the dimension along which its elements are neighbours.
    inner_axes: Vec<usize>,
    cuts: Vec<Cut>,
    /// Loads of undeclared tensors that no key of the tile bounds: all tiles of a task share them.
    of_rows: Vec<ExprId>,
    /// Loads of the test for full tiles that keys bound: all chunks of a tile share them.
    of_keys: Vec<ExprId>,
}

/// Sizes of a launch that its workspace depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Sequences.
    pub batch: u64,
    /// Query heads.
    pub heads: u64,
    /// Key/value heads.
    pub kv_heads: u64,
    /// Query rows, of the longest sequence.
    pub q_len: u64,
    /// Key rows, of the longest sequence.
    pub kv_len: u64,
}

/// A cut for tiles of a size.
#[derive(Clone, Debug)]
pub(super) struct Runs<'a> {
    cut: &'a Cut,
    pub(super) line: &'a Line,
    pub(super) dtype: Dtype,
    /// Declared size of the axis.
    pub(super) dim: &'a Dim,
    /// Elements of a run.
    pub(super) run: u32,
    /// Elements of a piece, which a vector core looks at in one go.
    pub(super) piece: u32,
    /// Lanes of an element: elements of an axis along which they lie apart fill a data block each.
    pub(super) element_lanes: u32,
}

impl Ends {
    /// What the tests of an analysis ask for.
    pub(super) fn new(
        exprs: &Exprs,
        variant: &Variant,
        analysis: &TileAnalysis,
        extremes: Extremes,
        inner_axes: &[usize],
    ) -> Ends {
        let mut ends = Ends {
            extremes,
            inner_axes: inner_axes.to_vec(),
            ..Ends::default()
        };
        let full = exprs.reachable(&[analysis.full]);
        for id in exprs.reachable(&[
            analysis.kv_begin,
            analysis.kv_end,
            analysis.empty,
            analysis.full,
        ]) {
            let Some((line, side, _)) = ends.asked(exprs, id) else {
                continue;
            };
            match side {
                Side::Queries => ends.of_rows.push(id),
                Side::Keys if full.contains(&id) => ends.of_keys.push(id),
                Side::Keys => {}
            }
            if ends.cut(line, side).is_none() {
                let (by_batch, heads) = told_apart(exprs, variant, &ends.extremes.lines[line]);
                ends.cuts.push(Cut {
                    line,
                    side,
                    by_batch,
                    heads,
                });
            }
        }
        ends
    }

    /// The line, side and end that a load of an undeclared tensor asks about.
    fn asked(&self, exprs: &Exprs, id: ExprId) -> Option<(usize, Side, End)> {
        let Node::Load(tensor, bounds, _) = exprs.node(id) else {
            return None;
        };
        let (line, end) = self.extremes.resolve(*tensor)?;
        let is_key = |part: ExprId| {
            matches!(
                exprs.node(part),
                Node::Var(Var::KvFirst) | Node::Var(Var::KvLast)
            )
        };
        let side = if exprs.reachable(bounds).into_iter().any(is_key) {
            Side::Keys
        } else {
            Side::Queries
        };
        Some((line, side, end))
    }

    /// The place of a cut.
    fn cut(&self, line: usize, side: Side) -> Option<usize> {
        let mut cuts = self.cuts.iter();
        cuts.position(|cut| (cut.line, cut.side) == (line, side))
    }

    /// Whether nothing is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }

    /// How scalar code asks for the end that a load of an undeclared tensor stands for; `None` for declared ones.
    pub(super) fn call(&self, exprs: &Exprs, id: ExprId, bounds: &[String]) -> Option<String> {
        let (line, side, end) = self.asked(exprs, id)?;
        let place = self.cut(line, side)?;
        let number = self.cuts[place].number();
        let end = match end {
            End::Least => "Least",
            End::Greatest => "Greatest",
        };
        Some(format!(
            "launch.runs{place}.{end}({number}, {})",
            bounds.join(", ")
        ))
    }

    /// The member of a task that holds an end which all its tiles share.
    pub(super) fn task_member(&self, id: ExprId) -> Option<String> {
        let place = self.of_rows.iter().position(|known| *known == id)?;
        Some(format!("task.rowEnd{place}"))
    }

    /// The member that holds an end which all chunks of a tile share.
    pub(super) fn tile_member(&self, id: ExprId) -> Option<String> {
        let place = self.of_keys.iter().position(|known| *known == id)?;
        Some(format!("keyEnds.end{place}"))
    }

    /// The loads that members of a task hold, in their order, and what they are: `least of ids[b, ..]`.
    pub(super) fn of_rows(&self, variant: &Variant, exprs: &Exprs) -> Vec<(ExprId, String)> {
        self.noted(variant, exprs, &self.of_rows)
    }

    /// The same of a tile.
    pub(super) fn of_keys(&self, variant: &Variant, exprs: &Exprs) -> Vec<(ExprId, String)> {
        self.noted(variant, exprs, &self.of_keys)
    }

    fn noted(&self, variant: &Variant, exprs: &Exprs, ids: &[ExprId]) -> Vec<(ExprId, String)> {
        let asked = ids.iter().filter_map(|id| {
            let (line, _, end) = self.asked(exprs, *id)?;
            let end = match end {
                End::Least => "least",
                End::Greatest => "greatest",
            };
            let line = note(variant, exprs, &self.extremes.lines[line]);
            Some((*id, format!("{end} of {line}")))
        });
        asked.collect()
    }

    /// Whether a test asks about keys of the tile.
    pub(super) fn asks_about_keys(&self, exprs: &Exprs, test: ExprId) -> bool {
        let parts = exprs.reachable(&[test]);
        let mut asked = parts.into_iter().filter_map(|id| self.asked(exprs, id));
        asked.any(|(_, side, _)| side == Side::Keys)
    }

    /// The cuts for tiles of so many rows and keys.
    pub(super) fn runs<'a>(
        &'a self,
        variant: &'a Variant,
        ascend: &Ascend,
        (block_q, block_kv): (u32, u32),
    ) -> Vec<Runs<'a>> {
        let lanes = lanes(ascend);
        let runs = self.cuts.iter().map(|cut| {
            let line = &self.extremes.lines[cut.line];
            let tensor = variant.tensor(line.tensor);
            let element_lanes = if line.axis == self.inner_axes[line.tensor.0 as usize] {
                1
            } else {
                ascend.limits.data_block_bytes / tensor.dtype.bytes()
            };
            let piece = lanes / element_lanes;
            let block = match cut.side {
                Side::Queries => block_q,
                Side::Keys => block_kv,
            };
            Runs {
                cut,
                line,
                dtype: tensor.dtype,
                dim: &tensor.dims[line.axis],
                // Halving needs a power of two: the largest that a tile is whole runs of.
                run: (1 << block.trailing_zeros()).min(piece),
                piece,
                element_lanes,
            }
        });
        runs.collect()
    }
}

/// Whether the kernel can answer all that an expression asks about tensors: their lines start at places that scalar
/// code finds, and the elements of a line lie evenly apart.
pub(super) fn answers(
    exprs: &Exprs,
    variant: &Variant,
    printer: &ScalarPrinter<'_>,
    extremes: &Extremes,
    id: ExprId,
) -> bool {
    let lines = exprs.reachable(&[id]).into_iter().filter_map(|part| {
        let Node::Load(tensor, ..) = exprs.node(part) else {
            return None;
        };
        let (line, _) = extremes.resolve(*tensor)?;
        Some(&extremes.lines[line])
    });
    lines.into_iter().all(|line| {
        let packed = variant
            .tensor(line.tensor)
            .packed_axis(variant.layout)
            .is_some_and(|packed| packed.batch == line.axis);
        !packed && line.index.iter().all(|index| printer.prints(*index))
    })
}

/// Lanes that a vector core looks at in one go.
pub(super) fn lanes(ascend: &Ascend) -> u32 {
    let mut lanes = MOST_LANES;
    while u64::from(lanes) * LANE_BYTES > ascend.memory.ub.usable_bytes {
        lanes /= 2;
    }
    lanes
}

/// What tells the lines of a tensor apart.
fn told_apart(exprs: &Exprs, variant: &Variant, line: &Line) -> (bool, Heads) {
    let parts = exprs.reachable(&line.index);
    let reads = |vars: &[Var]| {
        parts
            .iter()
            .any(|part| matches!(exprs.node(*part), Node::Var(var) if vars.contains(var)))
    };
    // Packed sequences differ in length.
    let by_length = variant.layout == Layout::Tnd
        && (reads(&[Var::QLen, Var::KvLen])
            || variant
                .tensor(line.tensor)
                .packed_axis(variant.layout)
                .is_some());
    let heads = if reads(&[Var::H]) {
        Heads::Query
    } else if reads(&[Var::KvH]) {
        Heads::KeyValue
    } else {
        Heads::Together
    };
    (by_length || reads(&[Var::B]), heads)
}

/// A line in the spelling of the language, `..` on its axis.
fn note(variant: &Variant, exprs: &Exprs, line: &Line) -> String {
    let index = line.index.iter().enumerate().map(|(axis, index)| {
        if axis == line.axis {
            "..".to_owned()
        } else {
            describe(variant, exprs, *index)
        }
    });
    let index: Vec<String> = index.collect();
    format!("{}[{}]", variant.tensor(line.tensor).name, index.join(", "))
}

impl Cut {
    /// The number of the line that a task reads, in C++.
    fn number(&self) -> &'static str {
        match (self.by_batch, self.heads) {
            (false, Heads::Together) => "0",
            (true, Heads::Together) => "task.b",
            (false, Heads::KeyValue) => "task.kvH",
            (true, Heads::KeyValue) => "task.b * launch.tiling.kvHeads + task.kvH",
            (false, Heads::Query) => "task.h",
            (true, Heads::Query) => "task.b * launch.tiling.heads + task.h",
        }
    }
}

impl Runs<'_> {
    /// Whether both cut the same lines.
    pub(super) fn cuts_alike(&self, other: &Runs<'_>) -> bool {
        self.cut.line == other.cut.line
    }

    /// A line in the spelling of the language.
    pub(super) fn note(&self, variant: &Variant, exprs: &Exprs) -> String {
        note(variant, exprs, self.line)
    }

    /// Lines, in C++.
    pub(super) fn lines_text(&self) -> String {
        let batch = self.cut.by_batch.then_some("tiling.batch");
        let heads = match self.cut.heads {
            Heads::Together => None,
            Heads::KeyValue => Some("tiling.kvHeads"),
            Heads::Query => Some("tiling.heads"),
        };
        let factors: Vec<&str> = batch.into_iter().chain(heads).collect();
        if factors.is_empty() {
            "1".to_owned()
        } else {
            factors.join(" * ")
        }
    }

    /// Heads that share a line, in C++: the first head of line n is n times that.
    pub(super) fn sharing_heads_text(&self) -> &'static str {
        match self.cut.heads {
            Heads::Together => "launch_.tiling.heads",
            Heads::KeyValue => "(launch_.tiling.heads / launch_.tiling.kvHeads)",
            Heads::Query => "1",
        }
    }

    /// Elements of the longest line, in C++.
    pub(super) fn longest_text(&self) -> String {
        self.length(|size| match size {
            Size::B => "tiling.batch",
            Size::H => "tiling.heads",
            Size::KvH => "tiling.kvHeads",
            Size::QLen => "tiling.qLen",
            Size::KvLen => "tiling.kvLen",
        })
    }

    /// Elements of the line that a task reads, in C++.
    pub(super) fn length_text(&self) -> String {
        self.length(|size| match size {
            Size::B => "launch.tiling.batch",
            Size::H => "launch.tiling.heads",
            Size::KvH => "launch.tiling.kvHeads",
            Size::QLen => "task.qLen",
            Size::KvLen => "task.kvLen",
        })
    }

    /// The size of the axis as a sum.
    fn length(&self, name: impl Fn(Size) -> &'static str) -> String {
        let sizes: Vec<&str> = self.dim.sizes.iter().map(|size| name(*size)).collect();
        let constant = self.dim.constant;
        match (sizes.join(" + "), constant) {
            (sum, _) if sum.is_empty() => constant.to_string(),
            (sum, 0) => sum,
            (sum, _) if constant < 0 => format!("{sum} - {}", -constant),
            (sum, _) => format!("{sum} + {constant}"),
        }
    }

    /// Bytes of workspace for the ends of all lines.
    pub(super) fn workspace_bytes(&self, shape: &LaunchShape) -> u64 {
        let batch = if self.cut.by_batch { shape.batch } else { 1 };
        let heads = match self.cut.heads {
            Heads::Together => 1,
            Heads::KeyValue => shape.kv_heads,
            Heads::Query => shape.heads,
        };
        let sizes = self.dim.sizes.iter().map(|size| match size {
            Size::B => shape.batch,
            Size::H => shape.heads,
            Size::KvH => shape.kv_heads,
            Size::QLen => shape.q_len,
            Size::KvLen => shape.kv_len,
        });
        let length = sizes.sum::<u64>().saturating_add_signed(self.dim.constant);
        let ends = length.div_ceil(u64::from(self.run)) + length.div_ceil(u64::from(self.piece));
        // The least and the greatest, an int32 each.
        batch * heads * ends * 2 * 4
    }
}
