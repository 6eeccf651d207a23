//! Which values are computed ahead of the loop over lanes: once a task, or once a key column of a tile.

use std::collections::{BTreeMap, BTreeSet};

use fa_dsl::ir::{Binary, Dependence, ExprId, Exprs, Node, Unary};
use fa_dsl::tiles::Extremes;
use fa_dsl::variant::Variant;

use super::lower::Hoisted;
use super::names::Namer;

/// Names parameters and tensors, and picks what is hoisted out of these roots.
pub(super) fn hoist(
    variant: &Variant,
    exprs: &Exprs,
    dependences: &[Dependence],
    roots: &[ExprId],
    extremes: &Extremes,
) -> Hoisted {
    let mut namer = Namer::new();
    let params: Vec<String> = variant
        .params
        .iter()
        .map(|param| namer.name(&param.name))
        .collect();
    let tensors: Vec<String> = variant
        .tensors
        .iter()
        .map(|tensor| namer.name(&tensor.name))
        .collect();
    let mut finder = Finder {
        exprs,
        dependences,
        seen: BTreeSet::new(),
        task: Vec::new(),
        columns: Vec::new(),
    };
    for root in roots {
        finder.visit(*root);
    }
    let name_of = |id: ExprId| match exprs.node(id) {
        Node::Param(param, _) => Some(params[param.0 as usize].clone()),
        Node::Load(tensor, ..) => Some(tensors[tensor.0 as usize].clone()),
        _ => None,
    };
    let lines = extremes.lines.iter().enumerate();
    let runs = lines
        .map(|(place, line)| format!("{}_{}", tensors[line.tensor.0 as usize], place + 1))
        .collect();
    let task = named(&finder.task, "task", name_of);
    let columns = named(&finder.columns, "col", name_of);
    Hoisted {
        params,
        tensors,
        runs,
        task,
        columns,
    }
}

/// Gives each value the name of what it reads, or a number.
fn named(
    ids: &[ExprId],
    prefix: &str,
    name_of: impl Fn(ExprId) -> Option<String>,
) -> BTreeMap<ExprId, String> {
    let mut taken = BTreeSet::new();
    let mut number = 0;
    ids.iter()
        .map(|id| {
            let wanted = name_of(*id).filter(|name| !taken.contains(name));
            let name = wanted.unwrap_or_else(|| {
                number += 1;
                format!("{prefix}_{number}")
            });
            taken.insert(name.clone());
            (*id, name)
        })
        .collect()
}

struct Finder<'e> {
    exprs: &'e Exprs,
    dependences: &'e [Dependence],
    seen: BTreeSet<ExprId>,
    task: Vec<ExprId>,
    columns: Vec<ExprId>,
}

impl Finder<'_> {
    fn visit(&mut self, id: ExprId) {
        if !self.seen.insert(id) {
            return;
        }
        let depends = self.dependences[id.index()];
        let trivial = matches!(
            self.exprs.node(id),
            Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Var(_)
        );
        match (depends.row, depends.col) {
            (false, false) if trivial => {}
            (false, false) => self.task.push(id),
            (false, true) if self.is_costly(id) => self.columns.push(id),
            _ => {
                for child in self.exprs.children(id) {
                    self.visit(child);
                }
            }
        }
    }

    /// Whether a value is worth a buffer: it reads memory, divides, or calls a function.
    fn is_costly(&self, id: ExprId) -> bool {
        self.exprs
            .reachable(&[id])
            .into_iter()
            .any(|id| match self.exprs.node(id) {
                Node::Load(..) => true,
                Node::Unary(op, _) => matches!(
                    op,
                    Unary::Exp
                        | Unary::Log
                        | Unary::Sqrt
                        | Unary::Rsqrt
                        | Unary::Tanh
                        | Unary::Sigmoid
                ),
                Node::Binary(op, ..) => matches!(op, Binary::Div | Binary::Rem),
                _ => false,
            })
    }
}
