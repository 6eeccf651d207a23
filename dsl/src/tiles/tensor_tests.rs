//! Masks over elements of tensors, by brute force over small sizes.

use super::*;
use crate::ir::eval::{Inputs, Program, Value};
use crate::ir::{Node, ParamId, TensorId, Type, Unary};

/// Elements that one pair of extremes stands for.
const RUN: usize = 3;

/// Tensors of a launch of as many queries as keys: documents of keys, a limit of each row, a switch of each key.
struct Launch {
    length: i32,
    documents: Vec<i32>,
    limits: Vec<i32>,
    switches: Vec<bool>,
}

/// One tile, or one pair, of a launch.
struct Place<'l> {
    launch: &'l Launch,
    extremes: &'l Extremes,
    q: (i32, i32),
    kv: (i32, i32),
}

impl Launch {
    fn new(length: i32, mean: i32) -> Launch {
        let rows = 0..length;
        Launch {
            length,
            documents: rows.clone().map(|row| row / mean).collect(),
            limits: rows.clone().map(|row| row * 7 % length).collect(),
            switches: rows.map(|row| row / 5 % 3 != 1).collect(),
        }
    }

    fn element(&self, tensor: u32, at: i32) -> i32 {
        let at = usize::try_from(at).expect("an index");
        match tensor {
            0 => self.documents[at],
            1 => self.limits[at],
            _ => i32::from(self.switches[at]),
        }
    }
}

impl Inputs<f32> for Place<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        Value::Int(match var {
            Var::QIdx | Var::QPos | Var::QFirst => self.q.0,
            Var::QLast => self.q.1,
            Var::KvIdx | Var::KvFirst => self.kv.0,
            Var::KvLast => self.kv.1,
            Var::QLen | Var::KvLen => self.launch.length,
            _ => 0,
        })
    }

    fn param(&self, _: ParamId) -> Value<f32> {
        unreachable!("no parameters here")
    }

    fn load(&self, tensor: TensorId, index: &[i32]) -> Value<f32> {
        let Some((line, end)) = self.extremes.resolve(tensor) else {
            let element = self.launch.element(tensor.0, index[0]);
            return if tensor.0 == 2 {
                Value::Bool(element != 0)
            } else {
                Value::Int(element)
            };
        };
        let run = |at: i32| usize::try_from(at).expect("an index") / RUN;
        let last = ((run(index[1]) + 1) * RUN).min(self.launch.length as usize) as i32;
        let rows = (run(index[0]) * RUN) as i32..last;
        let tensor = self.extremes.lines[line].tensor.0;
        let elements = rows.map(|at| self.launch.element(tensor, at));
        let found = match end {
            End::Least => elements.min(),
            End::Greatest => elements.max(),
        };
        Value::Int(found.expect("a run has elements"))
    }
}

fn holds(exprs: &Exprs, id: ExprId, place: &Place<'_>) -> bool {
    Program::new(exprs, id).run(place, &mut Vec::new()) == Value::Bool(true)
}

/// Counts of empty, partial and full tiles; panics where an answer is wrong.
fn judge(exprs: &mut Exprs, mask: ExprId, launch: &Launch, tile: i32) -> [usize; 3] {
    let mut extremes = Extremes::after(3);
    let found = analyse_with(exprs, mask, Align::BottomRight, &mut extremes);
    let mut counts = [0; 3];
    for first_q in (0..launch.length).step_by(tile as usize) {
        for first_kv in (0..launch.length).step_by(tile as usize) {
            let last = |first: i32| (first + tile).min(launch.length) - 1;
            let (q, kv) = ((first_q, last(first_q)), (first_kv, last(first_kv)));
            let place = |q, kv| Place {
                launch,
                extremes: &extremes,
                q,
                kv,
            };
            let pairs = (q.0..=q.1).flat_map(|row| (kv.0..=kv.1).map(move |key| (row, key)));
            let pairs: Vec<bool> = pairs
                .map(|(row, key)| holds(exprs, mask, &place((row, row), (key, key))))
                .collect();
            let tile = place(q, kv);
            let (empty, full) = (
                holds(exprs, found.empty, &tile),
                holds(exprs, found.full, &tile),
            );
            assert!(
                !empty || !pairs.contains(&true),
                "{q:?} {kv:?} is not empty"
            );
            assert!(!full || !pairs.contains(&false), "{q:?} {kv:?} is not full");
            counts[if empty {
                0
            } else if full {
                2
            } else {
                1
            }] += 1;
        }
    }
    counts
}

/// `documents[q_pos] == documents[kv_idx]`.
fn same(exprs: &mut Exprs) -> ExprId {
    let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
    let own = exprs.load(TensorId(0), vec![q], Type::Int);
    let key = exprs.load(TensorId(0), vec![kv], Type::Int);
    exprs.binary(Binary::Eq, own, key)
}

#[test]
fn documents_are_empty_full_or_partial() {
    let mut exprs = Exprs::new();
    let mask = same(&mut exprs);
    // Eight documents of twelve rows, each two by two tiles of six.
    let launch = Launch::new(96, 12);
    assert_eq!(judge(&mut exprs, mask, &launch, 6), [224, 0, 32]);
    let mut exprs = Exprs::new();
    let mask = same(&mut exprs);
    let [empty, partial, _] = judge(&mut exprs, mask, &Launch::new(95, 10), 8);
    assert!(empty > partial, "{empty} empty, {partial} partial");
}

#[test]
fn compositions_are_judged_by_the_same_ranges() {
    let launch = Launch::new(60, 11);
    let build: [fn(&mut Exprs) -> ExprId; 6] = [
        // causal && same
        |exprs| {
            let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
            let causal = exprs.binary(Binary::Le, kv, q);
            let same = same(exprs);
            exprs.and(causal, same)
        },
        // same || kv < 4
        |exprs| {
            let (kv, four) = (exprs.var(Var::KvIdx), exprs.int(4));
            let prefix = exprs.binary(Binary::Lt, kv, four);
            let same = same(exprs);
            exprs.or(prefix, same)
        },
        // kv < limits[q]
        |exprs| {
            let (q, kv) = (exprs.var(Var::QIdx), exprs.var(Var::KvIdx));
            let limit = exprs.load(TensorId(1), vec![q], Type::Int);
            exprs.binary(Binary::Lt, kv, limit)
        },
        // switches[kv] && !switches[min(q, 50)]
        |exprs| {
            let (q, kv, most) = (exprs.var(Var::QIdx), exprs.var(Var::KvIdx), exprs.int(50));
            let on = exprs.load(TensorId(2), vec![kv], Type::Bool);
            let row = exprs.binary(Binary::Min, q, most);
            let own = exprs.load(TensorId(2), vec![row], Type::Bool);
            let off = exprs.not(own);
            exprs.and(on, off)
        },
        // documents[kv] / 2 == documents[q] % 3
        |exprs| {
            let (q, kv) = (exprs.var(Var::QIdx), exprs.var(Var::KvIdx));
            let (two, three) = (exprs.int(2), exprs.int(3));
            let key = exprs.load(TensorId(0), vec![kv], Type::Int);
            let own = exprs.load(TensorId(0), vec![q], Type::Int);
            let key = exprs.binary(Binary::Div, key, two);
            let own = exprs.binary(Binary::Rem, own, three);
            exprs.binary(Binary::Eq, key, own)
        },
        // !same
        |exprs| {
            let same = same(exprs);
            exprs.unary(Unary::Not, same)
        },
    ];
    for (place, build) in build.iter().enumerate() {
        let mut exprs = Exprs::new();
        let mask = build(&mut exprs);
        let [empty, _, full] = judge(&mut exprs, mask, &launch, 6);
        assert!(empty + full > 0, "mask {place}: nothing is known");
    }
}

#[test]
fn what_two_indices_select_stays_partial() {
    let mut exprs = Exprs::new();
    let (q, kv) = (exprs.var(Var::QIdx), exprs.var(Var::KvIdx));
    let mask = exprs.load(TensorId(0), vec![q, kv], Type::Bool);
    let mut extremes = Extremes::after(1);
    let found = analyse_with(&mut exprs, mask, Align::TopLeft, &mut extremes);
    assert_eq!(*exprs.node(found.empty), Node::Bool(false));
    assert_eq!(*exprs.node(found.full), Node::Bool(false));
    assert!(extremes.lines.is_empty());
}
