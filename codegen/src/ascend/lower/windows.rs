//! Windows of tables: what a chunk reads of a table whose size only the launch knows.
//!
//! An index like `q_idx - kv_idx + kv_len`, clamped or not, takes few values in a chunk of a score tile, all
//! neighbours. They are copied as one run, and a gather spreads them over the chunk.

use fa_dsl::ir::{Binary, Dependence, ExprId, Exprs, Node, Var};
use fa_dsl::tiles;
use fa_dsl::variant::{Align, Dtype};

/// Largest factor of a position in an index: more would make the run long for what is read of it.
const MAX_FACTOR: i64 = 4;

/// What is copied of a table for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowPlan {
    /// The least index of a chunk, by the bounds of its rows and keys; scalar int.
    pub(crate) first: ExprId,
    /// The greatest.
    pub(crate) last: ExprId,
    /// Sizes of the factors of the query row and the key row.
    pub(crate) factors: (u32, u32),
}

/// A window as the emitted code has it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Window {
    /// Name of the tensor in emitted code.
    pub(crate) tensor: String,
    /// Element type in global memory.
    pub(crate) dtype: Dtype,
    /// Member that holds the offset of element 0.
    pub(crate) offset: String,
    /// Stride between elements.
    pub(crate) stride: String,
    /// Whether elements lie apart: each then fills a data block.
    pub(crate) spread: bool,
    /// The bounds of the index.
    pub(crate) first: ExprId,
    pub(crate) last: ExprId,
    /// Sizes of the factors of the query row and the key row.
    pub(crate) factors: (u32, u32),
    /// The element in the spelling of the language.
    pub(crate) note: String,
}

impl Window {
    /// The longest run of a chunk of that shape, elements.
    pub(crate) fn len(&self, rows: u32, columns: u32) -> u32 {
        self.factors.0 * (rows - 1) + self.factors.1 * (columns - 1) + 1
    }
}

/// The window of an index that follows both axes, if there is a way to one.
pub(crate) fn window(
    exprs: &mut Exprs,
    dependences: &[Dependence],
    index: ExprId,
    align: Align,
) -> Option<WindowPlan> {
    let changes = |id: ExprId| dependences[id.index()] != Dependence::default();
    // Minima and maxima with values that are the same for the whole tile do not turn the order around.
    let mut limits = Vec::new();
    let mut moving = index;
    let form = loop {
        match *exprs.node(moving) {
            Node::Binary(op @ (Binary::Min | Binary::Max), a, b) if !(changes(a) && changes(b)) => {
                let (inner, limit) = if changes(a) { (a, b) } else { (b, a) };
                limits.push((op, limit));
                moving = inner;
            }
            _ => break tiles::affine(exprs, moving, align)?,
        }
    };
    let factor = |of: i64| {
        u32::try_from(of.abs())
            .ok()
            .filter(|_| of.abs() <= MAX_FACTOR)
    };
    let factors = (factor(form.q)?, factor(form.kv)?);
    if factors.0 == 0 || factors.1 == 0 {
        return None;
    }
    let mut bound = |greatest: bool| {
        let mut sum = form.offset;
        for (by, first, last) in [
            (form.q, Var::QFirst, Var::QLast),
            (form.kv, Var::KvFirst, Var::KvLast),
        ] {
            let at = exprs.var(if (by > 0) == greatest { last } else { first });
            let size = exprs.int(i32::try_from(by.abs()).expect("small factors"));
            let term = exprs.binary(Binary::Mul, size, at);
            let sign = if by > 0 { Binary::Add } else { Binary::Sub };
            sum = exprs.binary(sign, sum, term);
        }
        limits
            .iter()
            .rev()
            .fold(sum, |inner, (op, limit)| exprs.binary(*op, inner, *limit))
    };
    Some(WindowPlan {
        first: bound(false),
        last: bound(true),
        factors,
    })
}
