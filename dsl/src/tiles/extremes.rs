//! Least and greatest elements of captured tensors over a tile.
//!
//! A mask that compares elements of tensors, as documents do, is empty or full over a tile where their ranges say
//! so. The range over a tile is a scalar like any other bound: in the IR it is the element `[first, last]` of a
//! tensor that nobody declares, one for the least and one for the greatest elements between two indices of one axis.
//! A kernel answers such loads from minima and maxima of short runs, which it finds once in one pass over the tensor;
//! an answer may cover more than was asked for.

use crate::ir::{ExprId, Exprs, Node, TensorId, Type};
use crate::variant::Align;

use super::bounds::{Bounds, bounds};
use super::linear::Facts;

/// A line of a captured tensor: all elements along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The tensor, of ints or bools; a bool counts as 0 or 1.
    pub tensor: TensorId,
    /// The axis.
    pub axis: usize,
    /// Scalar indices on the other axes; what stands at `axis` means nothing.
    pub index: Vec<ExprId>,
}

/// Which end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The least element.
    Least,
    /// The greatest.
    Greatest,
}

/// The lines whose ranges an analysis asks for.
#[derive(Clone, Debug, Default)]
pub struct Extremes {
    /// Tensors that are declared; undeclared ones follow. `None` where nothing answers.
    declared: Option<u32>,
    /// The lines, two undeclared tensors each.
    pub lines: Vec<Line>,
}

impl Extremes {
    /// Of a variant that declares so many tensors.
    pub fn after(declared: usize) -> Extremes {
        Extremes {
            declared: Some(u32::try_from(declared).expect("few tensors")),
            lines: Vec::new(),
        }
    }

    /// The line and end that an undeclared tensor stands for; `None` for a declared one.
    pub fn resolve(&self, tensor: TensorId) -> Option<(usize, End)> {
        let place = tensor.0.checked_sub(self.declared?)? as usize;
        let end = if place.is_multiple_of(2) {
            End::Least
        } else {
            End::Greatest
        };
        Some((place / 2, end))
    }

    /// The undeclared tensors of a line: of the least and of the greatest elements.
    fn tensors(&mut self, line: Line) -> Option<(TensorId, TensorId)> {
        let declared = self.declared?;
        let known = self.lines.iter().position(|known| *known == line);
        let place = known.unwrap_or_else(|| {
            self.lines.push(line);
            self.lines.len() - 1
        });
        let first = declared + 2 * u32::try_from(place).expect("few lines");
        Some((TensorId(first), TensorId(first + 1)))
    }
}

/// Bounds of an element of an int or bool tensor, if one index alone changes within the tile.
pub(super) fn of_load(
    exprs: &mut Exprs,
    facts: &Facts,
    align: Align,
    id: ExprId,
) -> Option<Bounds> {
    let Node::Load(tensor, index, Type::Int | Type::Bool) = exprs.node(id).clone() else {
        return None;
    };
    let mut changing = (0..index.len()).filter(|axis| !facts.is_scalar(index[*axis]));
    let (axis, None) = (changing.next()?, changing.next()) else {
        return None;
    };
    let (first, last) = bounds(exprs, facts, align, index[axis])?;
    let mut line = Line {
        tensor,
        axis,
        index,
    };
    line.index[axis] = exprs.int(0);
    let (least, greatest) = facts.extremes.borrow_mut().tensors(line)?;
    Some((
        exprs.load(least, vec![first, last], Type::Int),
        exprs.load(greatest, vec![first, last], Type::Int),
    ))
}
