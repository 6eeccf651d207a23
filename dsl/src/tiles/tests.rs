//! The tile counts of the language reference, and brute force over small sizes.

use proptest::prelude::*;

use super::*;
use crate::ir::eval::{Inputs, Program, Value};
use crate::ir::{ParamId, TensorId, Type};

/// One launch, and one tile of it.
#[derive(Clone, Copy, Debug)]
struct Place {
    q_len: i32,
    kv_len: i32,
    align: Align,
    batch: i32,
    param: i32,
    q: (i32, i32),
    kv: (i32, i32),
}

impl Inputs<f32> for Place {
    fn var(&self, var: Var) -> Value<f32> {
        let shift = match self.align {
            Align::BottomRight => self.kv_len - self.q_len,
            Align::TopLeft => 0,
        };
        Value::Int(match var {
            Var::B => self.batch,
            Var::H | Var::KvH => 0,
            Var::QIdx | Var::QFirst => self.q.0,
            Var::QLast => self.q.1,
            Var::KvIdx | Var::KvFirst => self.kv.0,
            Var::KvLast => self.kv.1,
            Var::QPos => self.q.0 + shift,
            Var::QLen => self.q_len,
            Var::KvLen => self.kv_len,
            Var::Dot | Var::Score => unreachable!("masks do not read scores"),
        })
    }

    fn param(&self, _: ParamId) -> Value<f32> {
        Value::Int(self.param)
    }

    fn load(&self, _: TensorId, _: &[i32]) -> Value<f32> {
        unreachable!("no tensors here")
    }
}

fn int(exprs: &Exprs, id: ExprId, place: &Place) -> i32 {
    match Program::new(exprs, id).run(place, &mut Vec::new()) {
        Value::Int(value) => value,
        other => panic!("not an int: {other:?}"),
    }
}

fn holds(exprs: &Exprs, id: ExprId, place: &Place) -> bool {
    match Program::new(exprs, id).run(place, &mut Vec::new()) {
        Value::Bool(value) => value,
        other => panic!("not a bool: {other:?}"),
    }
}

/// What the analysis says of a tile of existing rows.
fn kind(exprs: &Exprs, analysis: &TileAnalysis, place: &Place) -> TileKind {
    let (begin, end) = (
        int(exprs, analysis.kv_begin, place),
        int(exprs, analysis.kv_end, place),
    );
    assert!(
        begin >= 0 && end <= place.kv_len,
        "limits {begin}..{end} leave the keys"
    );
    if place.kv.1 < begin || place.kv.0 >= end || holds(exprs, analysis.empty, place) {
        TileKind::Empty
    } else if holds(exprs, analysis.full, place) {
        TileKind::Full
    } else {
        TileKind::Partial
    }
}

/// What a tile is, pair by pair.
fn truth(exprs: &Exprs, mask: ExprId, place: &Place) -> TileKind {
    let program = Program::new(exprs, mask);
    let mut slots = Vec::new();
    let (mut any, mut all) = (false, true);
    for q in place.q.0..=place.q.1 {
        for kv in place.kv.0..=place.kv.1 {
            let pair = Place {
                q: (q, q),
                kv: (kv, kv),
                ..*place
            };
            let attended = program.run(&pair, &mut slots) == Value::Bool(true);
            any |= attended;
            all &= attended;
        }
    }
    match (any, all) {
        (false, _) => TileKind::Empty,
        (true, true) => TileKind::Full,
        (true, false) => TileKind::Partial,
    }
}

fn tiles(place: Place, block: i32) -> impl Iterator<Item = Place> {
    let starts = move |len: i32| {
        (0..len)
            .step_by(block as usize)
            .map(move |at| (at, (at + block).min(len) - 1))
    };
    starts(place.q_len)
        .flat_map(move |q| starts(place.kv_len).map(move |kv| Place { q, kv, ..place }))
}

fn square(len: i32) -> Place {
    Place {
        q_len: len,
        kv_len: len,
        align: Align::BottomRight,
        batch: 0,
        param: 0,
        q: (0, 0),
        kv: (0, 0),
    }
}

fn causal(exprs: &mut Exprs) -> ExprId {
    let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
    exprs.binary(Binary::Le, kv, q)
}

fn window(exprs: &mut Exprs, left: i32, right: i32) -> ExprId {
    let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
    let (back, ahead) = (
        exprs.binary(Binary::Sub, q, kv),
        exprs.binary(Binary::Sub, kv, q),
    );
    let (left, right) = (exprs.int(left), exprs.int(right));
    let (a, b) = (
        exprs.binary(Binary::Le, back, left),
        exprs.binary(Binary::Le, ahead, right),
    );
    exprs.and(a, b)
}

/// Full, partial and empty tiles of 128 rows at N = 1024.
fn counts(build: impl Fn(&mut Exprs) -> ExprId) -> (usize, usize, usize) {
    let mut exprs = Exprs::new();
    let mask = build(&mut exprs);
    let analysis = analyse(&mut exprs, mask, Align::BottomRight);
    let kinds: Vec<TileKind> = tiles(square(1024), 128)
        .map(|tile| kind(&exprs, &analysis, &tile))
        .collect();
    let count = |kind| kinds.iter().filter(|found| **found == kind).count();
    (
        count(TileKind::Full),
        count(TileKind::Partial),
        count(TileKind::Empty),
    )
}

#[test]
fn counts_of_the_language_reference() {
    assert_eq!(counts(causal), (28, 8, 28));
    let with_window = |left| {
        counts(move |exprs| {
            let (a, b) = (causal(exprs), window(exprs, left, 0));
            exprs.and(a, b)
        })
    };
    assert_eq!(with_window(255), (7, 14, 43));
    assert_eq!(with_window(254), (0, 21, 43));
    let with_prefix = counts(|exprs| {
        let (kv, n) = (exprs.var(Var::KvIdx), exprs.int(200));
        let (a, b) = (causal(exprs), exprs.binary(Binary::Lt, kv, n));
        exprs.or(a, b)
    });
    assert_eq!(with_prefix, (29, 8, 27));
}

#[test]
fn causal_needs_no_test_inside_its_limits() {
    let mut exprs = Exprs::new();
    let mask = causal(&mut exprs);
    let analysis = analyse(&mut exprs, mask, Align::BottomRight);
    assert_eq!(exprs.as_constant(analysis.empty), Some(Value::Bool(false)));
    assert_eq!(exprs.as_constant(analysis.kv_begin), Some(Value::Int(0)));
}

#[test]
fn extreme_bounds_do_not_wrap() {
    for bound in [i32::MAX, i32::MIN, i32::MAX - 1, 0] {
        let mut exprs = Exprs::new();
        let param = exprs.param(ParamId(0), Type::Int);
        let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
        let back = exprs.binary(Binary::Sub, q, kv);
        let mask = exprs.binary(Binary::Le, back, param);
        let analysis = analyse(&mut exprs, mask, Align::BottomRight);
        for tile in tiles(
            Place {
                param: bound,
                ..square(40)
            },
            16,
        ) {
            assert_eq!(
                kind(&exprs, &analysis, &tile),
                truth(&exprs, mask, &tile),
                "bound {bound}"
            );
        }
    }
}

/// A mask in a form that proptest can shrink.
#[derive(Clone, Debug)]
enum Mask {
    /// `kv_pos - q_pos <= bound` (or `>=`).
    Band(i32, bool),
    /// `kv_pos <= bound` (or `>=`).
    Keys(i32, bool),
    /// `q_idx <= bound` (or `>=`).
    Rows(i32, bool),
    /// `q_pos + kv_pos <= bound`.
    Sum(i32),
    /// `q_pos / d == kv_pos / d`.
    Blocks(i32),
    /// `(kv_pos - q_pos) % d == r`.
    Strided(i32, i32),
    /// `a*q_pos - b*kv_pos <= c`.
    Slope(i32, i32, i32),
    /// `b % 2 == 0`.
    EvenBatch,
    /// `q_pos - kv_pos < param`.
    Param,
    /// `abs(q_pos - kv_pos) != d`.
    NotAt(i32),
    And(Box<Mask>, Box<Mask>),
    Or(Box<Mask>, Box<Mask>),
    Not(Box<Mask>),
    If(Box<Mask>, Box<Mask>, Box<Mask>),
}

impl Mask {
    fn build(&self, exprs: &mut Exprs) -> ExprId {
        let (q, kv) = (exprs.var(Var::QPos), exprs.var(Var::KvIdx));
        let compare = |exprs: &mut Exprs, value, bound: i32, least: bool| {
            let bound = exprs.int(bound);
            let (a, b) = if least {
                (bound, value)
            } else {
                (value, bound)
            };
            exprs.binary(Binary::Le, a, b)
        };
        match self {
            Mask::Band(bound, least) => {
                let ahead = exprs.binary(Binary::Sub, kv, q);
                compare(exprs, ahead, *bound, *least)
            }
            Mask::Keys(bound, least) => compare(exprs, kv, *bound, *least),
            Mask::Rows(bound, least) => {
                let row = exprs.var(Var::QIdx);
                compare(exprs, row, *bound, *least)
            }
            Mask::Sum(bound) => {
                let sum = exprs.binary(Binary::Add, q, kv);
                compare(exprs, sum, *bound, false)
            }
            Mask::Blocks(d) => {
                let d = exprs.int(*d);
                let (a, b) = (
                    exprs.binary(Binary::Div, q, d),
                    exprs.binary(Binary::Div, kv, d),
                );
                exprs.binary(Binary::Eq, a, b)
            }
            Mask::Strided(d, r) => {
                let ahead = exprs.binary(Binary::Sub, kv, q);
                let (d, r) = (exprs.int(*d), exprs.int(*r));
                let rest = exprs.binary(Binary::Rem, ahead, d);
                exprs.binary(Binary::Eq, rest, r)
            }
            Mask::Slope(a, b, c) => {
                let (a, b) = (exprs.int(*a), exprs.int(*b));
                let (a, b) = (
                    exprs.binary(Binary::Mul, a, q),
                    exprs.binary(Binary::Mul, b, kv),
                );
                let slope = exprs.binary(Binary::Sub, a, b);
                compare(exprs, slope, *c, false)
            }
            Mask::EvenBatch => {
                let (b, two, zero) = (exprs.var(Var::B), exprs.int(2), exprs.int(0));
                let rest = exprs.binary(Binary::Rem, b, two);
                exprs.binary(Binary::Eq, rest, zero)
            }
            Mask::Param => {
                let back = exprs.binary(Binary::Sub, q, kv);
                let param = exprs.param(ParamId(0), Type::Int);
                exprs.binary(Binary::Lt, back, param)
            }
            Mask::NotAt(d) => {
                let back = exprs.binary(Binary::Sub, q, kv);
                let away = exprs.unary(crate::ir::Unary::Abs, back);
                let d = exprs.int(*d);
                exprs.binary(Binary::Ne, away, d)
            }
            Mask::And(a, b) => {
                let (a, b) = (a.build(exprs), b.build(exprs));
                exprs.and(a, b)
            }
            Mask::Or(a, b) => {
                let (a, b) = (a.build(exprs), b.build(exprs));
                exprs.or(a, b)
            }
            Mask::Not(a) => {
                let a = a.build(exprs);
                exprs.not(a)
            }
            Mask::If(c, a, b) => {
                let (c, a, b) = (c.build(exprs), a.build(exprs), b.build(exprs));
                exprs.select(c, a, b)
            }
        }
    }

    /// Whether the answers must be exact and not only safe: conjunctions of bands of either axis and their
    /// difference. (A disjunction is full without any of its parts being so; that is found too, but not proved
    /// here for every depth.)
    fn is_simple(&self) -> bool {
        match self {
            Mask::Band(..) | Mask::Keys(..) | Mask::Rows(..) | Mask::EvenBatch | Mask::Param => {
                true
            }
            Mask::And(a, b) | Mask::Or(a, b) => a.is_simple() && b.is_simple(),
            Mask::Not(a) => a.is_simple(),
            _ => false,
        }
    }
}

fn mask(simple: bool) -> impl Strategy<Value = Mask> {
    let bound = -20..60i32;
    let linear = prop_oneof![
        (bound.clone(), any::<bool>()).prop_map(|(at, least)| Mask::Band(at, least)),
        (bound.clone(), any::<bool>()).prop_map(|(at, least)| Mask::Keys(at, least)),
        (bound.clone(), any::<bool>()).prop_map(|(at, least)| Mask::Rows(at, least)),
        Just(Mask::EvenBatch),
        Just(Mask::Param),
    ];
    let other = prop_oneof![
        bound.clone().prop_map(Mask::Sum),
        (1..20i32).prop_map(Mask::Blocks),
        (1..6i32, 0..6i32).prop_map(|(d, r)| Mask::Strided(d, r)),
        (-3..4i32, -3..4i32, bound.clone()).prop_map(|(a, b, c)| Mask::Slope(a, b, c)),
        bound.prop_map(Mask::NotAt),
    ];
    let leaf = if simple {
        linear.boxed()
    } else {
        prop_oneof![linear, other].boxed()
    };
    leaf.prop_recursive(3, 8, 3, move |inner| {
        let pair = (inner.clone(), inner.clone());
        let both = pair
            .clone()
            .prop_map(|(a, b)| Mask::And(a.into(), b.into()));
        let either = pair.prop_map(|(a, b)| Mask::Or(a.into(), b.into()));
        let not = inner.clone().prop_map(|a| Mask::Not(a.into()));
        if simple {
            prop_oneof![both, either, not].boxed()
        } else {
            let choice = (inner.clone(), inner.clone(), inner)
                .prop_map(|(c, a, b)| Mask::If(c.into(), a.into(), b.into()));
            prop_oneof![both, either, not, choice].boxed()
        }
    })
}

fn place() -> impl Strategy<Value = Place> {
    (1..50i32, 1..50i32, any::<bool>(), 0..2i32, -10..60i32).prop_map(
        |(q_len, kv_len, top_left, batch, param)| Place {
            q_len,
            kv_len,
            align: if top_left {
                Align::TopLeft
            } else {
                Align::BottomRight
            },
            batch,
            param,
            q: (0, 0),
            kv: (0, 0),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn never_wrong(mask in mask(false), place in place(), block in 1..20i32) {
        let mut exprs = Exprs::new();
        let root = mask.build(&mut exprs);
        let analysis = analyse(&mut exprs, root, place.align);
        for tile in tiles(place, block) {
            let (found, real) = (kind(&exprs, &analysis, &tile), truth(&exprs, root, &tile));
            prop_assert!(
                found == TileKind::Partial || found == real,
                "{found:?} but {real:?} at {:?} x {:?}", tile.q, tile.kv
            );
        }
    }

    #[test]
    fn exact_for_bands_and_boxes(mask in mask(true), place in place(), block in 1..20i32) {
        prop_assert!(mask.is_simple());
        let mut exprs = Exprs::new();
        let root = mask.build(&mut exprs);
        let analysis = analyse(&mut exprs, root, place.align);
        for tile in tiles(place, block) {
            prop_assert_eq!(
                kind(&exprs, &analysis, &tile), truth(&exprs, root, &tile),
                "at {:?} x {:?}", tile.q, tile.kv
            );
        }
    }
}
