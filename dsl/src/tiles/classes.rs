//! Tiles of a mask at given lengths, as far as they are known before a launch.

use super::{TileKind, analyse};
use crate::ir::eval::{Inputs, Program, Value};
use crate::ir::{ExprId, Exprs, ParamId, TensorId, Type, Var};
use crate::variant::{Align, Variant};

/// The classes of the tiles of batch 0 and head 0. Parameters have their defaults, tensors hold zeros; where elements
/// decide, a tile is partial.
#[derive(Debug)]
pub struct TileClasses<'v> {
    variant: &'v Variant,
    exprs: Exprs,
    roots: [ExprId; 4],
}

/// One tile's bounds, and the launch around it.
struct TileInputs<'v> {
    variant: &'v Variant,
    q_len: i32,
    kv_len: i32,
    q: (i32, i32),
    kv: (i32, i32),
}

impl Inputs<f32> for TileInputs<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let shift = match self.variant.align {
            Align::BottomRight => self.kv_len - self.q_len,
            Align::TopLeft => 0,
        };
        Value::Int(match var {
            Var::B | Var::H | Var::KvH => 0,
            Var::QIdx | Var::QFirst => self.q.0,
            Var::QLast => self.q.1,
            Var::KvIdx | Var::KvFirst => self.kv.0,
            Var::KvLast => self.kv.1,
            Var::QPos => self.q.0 + shift,
            Var::QLen => self.q_len,
            Var::KvLen => self.kv_len,
            Var::Dot | Var::Score => return Value::Float(0.0),
        })
    }

    fn param(&self, param: ParamId) -> Value<f32> {
        let param = self.variant.param(param);
        param.default.unwrap_or(match param.ty {
            Type::Int => Value::Int(0),
            Type::Float => Value::Float(0.0),
            Type::Bool => Value::Bool(false),
        })
    }

    fn load(&self, tensor: TensorId, _index: &[i32]) -> Value<f32> {
        match self.variant.tensor(tensor).dtype.expression_type() {
            Type::Int => Value::Int(0),
            Type::Float => Value::Float(0.0),
            Type::Bool => Value::Bool(false),
        }
    }
}

impl<'v> TileClasses<'v> {
    /// Of a variant's mask.
    pub fn new(variant: &'v Variant) -> TileClasses<'v> {
        let mut exprs = variant.exprs.clone();
        let analysis = analyse(&mut exprs, variant.mask, variant.align);
        TileClasses {
            variant,
            exprs,
            roots: [
                analysis.kv_begin,
                analysis.kv_end,
                analysis.empty,
                analysis.full,
            ],
        }
    }

    /// Whether elements of tensors decide about tiles.
    pub fn read_tensors(&self) -> bool {
        !self.exprs.tensors_read(&self.roots).is_empty()
    }

    /// Calls `visit` for every tile of a mask of so many query and key rows, row of tiles by row of tiles, with its first
    /// and last query row, first and last key row, and class.
    pub fn each(
        &self,
        (block_q, block_kv): (u32, u32),
        (q_len, kv_len): (u32, u32),
        mut visit: impl FnMut((i32, i32), (i32, i32), TileKind),
    ) {
        let programs = self.roots.map(|root| Program::new(&self.exprs, root));
        let mut slots = Vec::new();
        for q in blocks(q_len, block_q) {
            for kv in blocks(kv_len, block_kv) {
                let inputs = TileInputs {
                    variant: self.variant,
                    q_len: q_len as i32,
                    kv_len: kv_len as i32,
                    q,
                    kv,
                };
                visit(q, kv, kind_of(&programs, &inputs, &mut slots));
            }
        }
    }
}

fn kind_of(
    [kv_begin, kv_end, empty, full]: &[Program<'_>; 4],
    inputs: &TileInputs<'_>,
    slots: &mut Vec<Value<f32>>,
) -> TileKind {
    let begin = kv_begin.run(inputs, slots);
    let end = kv_end.run(inputs, slots);
    let outside = match (begin, end) {
        (Value::Int(begin), Value::Int(end)) => inputs.kv.1 < begin || inputs.kv.0 >= end,
        _ => false,
    };
    if outside || empty.run(inputs, slots) == Value::Bool(true) {
        TileKind::Empty
    } else if full.run(inputs, slots) == Value::Bool(true) {
        TileKind::Full
    } else {
        TileKind::Partial
    }
}

/// First and last row of each block.
fn blocks(len: u32, block: u32) -> impl Iterator<Item = (i32, i32)> {
    (0..len.div_ceil(block)).map(move |i| {
        let first = i * block;
        (first as i32, (first + block).min(len) as i32 - 1)
    })
}
