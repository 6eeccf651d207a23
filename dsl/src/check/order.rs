//! The order in which definitions that read each other are checked, and the names an expression mentions.

use crate::ast::{Expr, ExprKind};

/// What sorting finds.
pub(super) struct Order {
    /// All definitions, each after those it reads, cycles apart.
    pub(super) order: Vec<usize>,
    /// Definitions that depend on themselves, one list for each cycle.
    pub(super) cycles: Vec<Vec<usize>>,
}

/// Sorts definitions by what they read; `reads[i]` lists what number `i` reads.
pub(super) fn sort(reads: &[Vec<usize>]) -> Order {
    let mut found = Order {
        order: Vec::with_capacity(reads.len()),
        cycles: Vec::new(),
    };
    // 0: not seen, 1: on the path, 2: done.
    let mut state = vec![0u8; reads.len()];
    for start in 0..reads.len() {
        if state[start] != 0 {
            continue;
        }
        let mut path = vec![(start, 0usize)];
        state[start] = 1;
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            match reads[node].get(*next) {
                Some(&read) => {
                    *next += 1;
                    match state[read] {
                        0 => {
                            state[read] = 1;
                            path.push((read, 0));
                        }
                        1 => {
                            let from = path
                                .iter()
                                .position(|(on_path, _)| *on_path == read)
                                .expect("a node in state 1 is on the path");
                            found
                                .cycles
                                .push(path[from..].iter().map(|(on_path, _)| *on_path).collect());
                        }
                        _ => {}
                    }
                }
                None => {
                    state[node] = 2;
                    found.order.push(node);
                    path.pop();
                }
            }
        }
    }
    found
}

/// All names that an expression mentions, those of functions left out.
pub(super) fn names(expr: &Expr) -> Vec<&str> {
    let (mut found, mut pending) = (Vec::new(), vec![expr]);
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::Name(name) => found.push(name.as_str()),
            ExprKind::Call(_, arguments) | ExprKind::Broken(arguments) => {
                pending.extend(arguments);
            }
            ExprKind::Index(name, indices) => {
                found.push(name.text.as_str());
                pending.extend(indices);
            }
            ExprKind::Unary(_, a) | ExprKind::Group(a) => pending.push(a),
            ExprKind::Binary(_, a, b) => pending.extend([&**a, &**b]),
            ExprKind::If(a, b, c) => pending.extend([&**a, &**b, &**c]),
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Text(_)
            | ExprKind::Error => {}
        }
    }
    found
}
