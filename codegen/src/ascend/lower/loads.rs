//! How elements of captured tensors reach the vector unit.
//!
//! An element that no row changes is read by scalar code. One that follows the query row is copied so that every
//! row has a data block of its own; one that follows the key row comes as a run of neighbours; one that follows
//! both, as rows of such runs. Anything else of constant size is a table in UB that a gather reads, and of tables
//! that only the launch knows the size of, a window is.

use std::collections::{BTreeMap, BTreeSet};

use fa_dsl::ir::{Binary, Dependence, ExprId, Exprs, Node, TensorId, Type};
use fa_dsl::tiles;
use fa_dsl::variant::{Dtype, Tensor, Variant};

use super::windows::{WindowPlan, window};

/// Largest table, elements: 16 KiB of fp32 in UB.
const MAX_TABLE: i64 = 4096;

/// Largest table along a dimension whose elements lie apart: each takes a data block.
const MAX_SPREAD_TABLE: i64 = 512;

/// How one element read is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadKind {
    /// Follows the query row along this dimension.
    Rows { dim: usize },
    /// Follows the key row along this dimension, where its elements are neighbours.
    Columns { dim: usize },
    /// Follows both along these dimensions; elements are neighbours along that of the key row.
    Pairs { row_dim: usize, col_dim: usize },
    /// Looked up along this dimension of constant size, along which elements lie apart (`spread`) or not.
    Table {
        dim: usize,
        len: u32,
        index: ExprId,
        spread: bool,
    },
    /// Looked up along this dimension of any size, by an index that takes few values in a chunk.
    Window {
        dim: usize,
        index: ExprId,
        plan: WindowPlan,
        spread: bool,
    },
}

/// One element read inside a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadPlan {
    pub(crate) tensor: TensorId,
    pub(crate) kind: LoadKind,
    /// Index on each dimension at row 0, scalar ints; 0 on the dimension of a table.
    pub(crate) starts: Vec<ExprId>,
}

/// A read that the backend has no way for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unloadable {
    pub(crate) load: ExprId,
    pub(crate) tensor: TensorId,
    /// Why, after "a captured tensor ".
    pub(crate) why: &'static str,
    /// What to write instead.
    pub(crate) help: &'static str,
}

/// Plans of all element reads that change within a tile; what is found on the way is appended to the arena.
pub(crate) fn plan_loads(
    exprs: &mut Exprs,
    variant: &Variant,
    roots: &[ExprId],
    inner_axes: &[usize],
) -> Result<BTreeMap<ExprId, LoadPlan>, Vec<Unloadable>> {
    let mut plans = BTreeMap::new();
    let mut refused = Vec::new();
    let dependences = exprs.dependences();
    for id in exprs.reachable(roots) {
        let Node::Load(tensor, index, _) = exprs.node(id).clone() else {
            continue;
        };
        if dependences[id.index()] == Dependence::default() {
            continue;
        }
        let inner = inner_axes[tensor.0 as usize];
        match plan_load(exprs, variant, &dependences, (tensor, &index), inner) {
            Ok(plan) => {
                plans.insert(id, plan);
            }
            Err((why, help)) => refused.push(Unloadable {
                load: id,
                tensor,
                why,
                help,
            }),
        }
    }
    if refused.is_empty() {
        Ok(plans)
    } else {
        Err(refused)
    }
}

type Refusal = (&'static str, &'static str);

/// For every tensor the dimension along which its elements have to be neighbours in global memory: the first that a read
/// follows with the key row, else the last.
pub(crate) fn inner_axes(exprs: &mut Exprs, variant: &Variant, roots: &[ExprId]) -> Vec<usize> {
    let last = |tensor: &Tensor| tensor.dims.len().saturating_sub(1);
    let mut of_keys = vec![None; variant.tensors.len()];
    for id in exprs.reachable(roots) {
        let Node::Load(tensor, index, _) = exprs.node(id).clone() else {
            continue;
        };
        let mut follows_keys = |dim: &usize| {
            let form = tiles::affine(exprs, index[*dim], variant.align);
            form.is_some_and(|form| (form.q, form.kv) == (0, 1))
        };
        let found = (0..index.len()).find(|dim| follows_keys(dim));
        let axis = &mut of_keys[tensor.0 as usize];
        *axis = axis.or(found);
    }
    let axes = of_keys.into_iter().zip(&variant.tensors);
    axes.map(|(axis, tensor)| axis.unwrap_or_else(|| last(tensor)))
        .collect()
}

fn plan_load(
    exprs: &mut Exprs,
    variant: &Variant,
    dependences: &[Dependence],
    (tensor, index): (TensorId, &[ExprId]),
    inner: usize,
) -> Result<LoadPlan, Refusal> {
    let zero = exprs.int(0);
    let changes = |id: ExprId| dependences[id.index()] != Dependence::default();
    let moving: Vec<usize> = (0..index.len())
        .filter(|dim| changes(index[*dim]))
        .collect();
    let mut starts = index.to_vec();
    let mut steps = Vec::new();
    for dim in &moving {
        match tiles::affine(exprs, index[*dim], variant.align) {
            Some(form) if (form.q, form.kv) == (1, 0) || (form.q, form.kv) == (0, 1) => {
                starts[*dim] = form.offset;
                steps.push((*dim, form.q == 1));
            }
            _ => {
                steps.clear();
                break;
            }
        }
    }
    let kind = match *steps.as_slice() {
        [(dim, true)] => LoadKind::Rows { dim },
        [(dim, false)] if dim == inner => LoadKind::Columns { dim },
        [(row_dim, true), (col_dim, false)] | [(col_dim, false), (row_dim, true)]
            if col_dim == inner =>
        {
            LoadKind::Pairs { row_dim, col_dim }
        }
        [(_, false)] | [(_, true), (_, false)] | [(_, false), (_, true)] => {
            return Err((
                "whose keys lie along another dimension where it is read before",
                "declare a second tensor for the other order, or generate for `cpu`",
            ));
        }
        _ => {
            let [dim] = *moving.as_slice() else {
                return Err((
                    "that is looked up along two dimensions at once",
                    "make them one of constant size, at most 4096, and compute its index, as in \
                     `t[q_idx / 64 * 32 + kv_idx / 64]`, or generate for `cpu`",
                ));
            };
            starts = index.to_vec();
            starts[dim] = zero;
            looked_up(
                exprs,
                variant,
                dependences,
                tensor,
                (dim, index[dim]),
                dim != inner,
            )?
        }
    };
    Ok(LoadPlan {
        tensor,
        kind,
        starts,
    })
}

/// A table of constant size stays in UB; of a larger one, or one whose size the launch decides, a window comes with
/// every chunk.
fn looked_up(
    exprs: &mut Exprs,
    variant: &Variant,
    dependences: &[Dependence],
    tensor: TensorId,
    (dim, index): (usize, ExprId),
    spread: bool,
) -> Result<LoadKind, Refusal> {
    let most = if spread { MAX_SPREAD_TABLE } else { MAX_TABLE };
    let declared = &variant.tensor(tensor).dims[dim];
    if let Ok(len) = u32::try_from(declared.constant)
        && declared.sizes.is_empty()
        && declared.constant <= most
    {
        return Ok(LoadKind::Table {
            dim,
            len,
            index,
            spread,
        });
    }
    match window(exprs, dependences, index, variant.align) {
        Some(plan) => Ok(LoadKind::Window {
            dim,
            index,
            plan,
            spread,
        }),
        None if !spread => Err((
            "looked up along a dimension whose size the launch decides or that passes 4096, by an index that is no \
             sum of positions",
            "index it by a sum like `q_pos - kv_pos + n`, clamped or not, or give it a constant size of at most 4096",
        )),
        None => Err((
            "looked up along a dimension that is not its last, and whose size the launch decides or passes 512, by an \
             index that is no sum of positions",
            "declare it last, index it by a sum like `q_pos - kv_pos + n`, or give it a constant size of at most 512",
        )),
    }
}

/// The ints that the vector programs compute: all that the roots need, the indices of planned reads left out as far
/// as scalar code or a copy takes care of them.
pub(crate) fn vector_nodes(
    exprs: &Exprs,
    roots: &[ExprId],
    loads: &BTreeMap<ExprId, LoadPlan>,
) -> BTreeSet<ExprId> {
    let mut seen = BTreeSet::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match loads.get(&id).map(|plan| plan.kind) {
            Some(LoadKind::Table { index, .. } | LoadKind::Window { index, .. }) => {
                pending.push(index)
            }
            Some(_) => {}
            None => pending.extend(exprs.children(id)),
        }
    }
    seen
}

/// Whether a node is an int element of any size, as it lies in memory.
pub(crate) fn is_wide(exprs: &Exprs, variant: &Variant, id: ExprId) -> bool {
    matches!(exprs.node(id), Node::Load(tensor, ..) if variant.tensor(*tensor).dtype == Dtype::Int32)
}

/// Ints that may pass 2^24 although they are read and not computed, and that something other than a comparison
/// with an exact int, or an equality, uses.
pub(crate) fn misused_wide(
    exprs: &Exprs,
    variant: &Variant,
    nodes: &BTreeSet<ExprId>,
) -> Option<ExprId> {
    for id in nodes {
        let children = match exprs.node(*id) {
            // An element compared with an int below 2^24 decides the same after rounding to fp32.
            Node::Binary(Binary::Lt | Binary::Le, a, b) if exprs.ty(*a) == Type::Int => {
                let wide = [*a, *b].map(|side| is_wide(exprs, variant, side));
                if wide == [true, true] {
                    vec![*a]
                } else {
                    Vec::new()
                }
            }
            Node::Binary(Binary::Eq | Binary::Ne, ..) | Node::Load(..) => Vec::new(),
            _ => exprs.children(*id),
        };
        let dependences = exprs.dependences();
        let misused = children.into_iter().find(|child| {
            is_wide(exprs, variant, *child) && dependences[child.index()] != Dependence::default()
        });
        if misused.is_some() {
            return misused;
        }
    }
    None
}
