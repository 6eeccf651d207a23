//! How many pairs of query and key a launch attends to, and how many its tiles compute.

use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ParamId, TensorId, Type, Var};
use fa_dsl::variant::{Align, Variant};
use fa_runtime::verify::Shape;

use crate::commands::mask::{MaskTiles, rows};

/// Pairs that are asked one by one at most; beyond, rows are sampled.
const ASKED: usize = 1 << 21;

/// Pairs of one head and sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pairs {
    /// Those that the mask attends to.
    pub(crate) attended: f64,
    /// Those in tiles that are not skipped.
    pub(crate) computed: f64,
    /// All.
    pub(crate) all: f64,
    /// Whether `attended` comes from a sample of rows, or from the tiles where the mask reads tensors.
    pub(crate) estimated: bool,
}

struct Pair<'v> {
    variant: &'v Variant,
    lens: (i32, i32),
    at: (i32, i32),
}

impl Inputs<f32> for Pair<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let ((q_len, kv_len), (q_idx, kv_idx)) = (self.lens, self.at);
        let shift = match self.variant.align {
            Align::BottomRight => kv_len - q_len,
            Align::TopLeft => 0,
        };
        Value::Int(match var {
            Var::B | Var::H | Var::KvH => 0,
            Var::QIdx | Var::QFirst | Var::QLast => q_idx,
            Var::KvIdx | Var::KvFirst | Var::KvLast => kv_idx,
            Var::QPos => q_idx + shift,
            Var::QLen => q_len,
            Var::KvLen => kv_len,
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

/// Counts the pairs of a head.
pub(crate) fn count(variant: &Variant, tiles: &MaskTiles) -> Pairs {
    let all = f64::from(tiles.q_len) * f64::from(tiles.kv_len);
    let cut: u64 = tiles.cut.iter().map(|[q, kv]| rows(*q) * rows(*kv)).sum();
    let computed = (tiles.full_pairs + cut) as f64;
    if !variant.exprs.tensors_read(&[variant.mask]).is_empty() {
        return Pairs {
            attended: computed,
            computed,
            all,
            estimated: true,
        };
    }
    let step = usize::try_from(cut)
        .unwrap_or(usize::MAX)
        .div_ceil(ASKED)
        .max(1);
    Pairs {
        attended: tiles.full_pairs as f64 + attended(variant, tiles, step),
        computed,
        all,
        estimated: step > 1,
    }
}

/// Attended pairs of the partial tiles, from every `step`-th row.
fn attended(variant: &Variant, tiles: &MaskTiles, step: usize) -> f64 {
    let program = Program::new(&variant.exprs, variant.mask);
    let mut slots = Vec::new();
    let mut sum = 0.0;
    for [q, kv] in &tiles.cut {
        let (mut found, mut asked) = (0_u64, 0_u64);
        // Of a coarse sample the middle row of a tile stands for all of them.
        let first = q.0 + (step / 2).min(rows(*q) as usize / 2) as i32;
        for q_idx in (first..=q.1).step_by(step) {
            asked += 1;
            for kv_idx in kv.0..=kv.1 {
                let pair = Pair {
                    variant,
                    lens: (tiles.q_len as i32, tiles.kv_len as i32),
                    at: (q_idx, kv_idx),
                };
                found += u64::from(program.run(&pair, &mut slots) == Value::Bool(true));
            }
        }
        sum += found as f64 * rows(*q) as f64 / asked.max(1) as f64;
    }
    sum
}

/// Operations of a launch on so many pairs of a head: two products, a multiplication and an addition each.
pub(crate) fn flops(variant: &Variant, shape: Shape, pairs: f64) -> f64 {
    let width = f64::from(variant.head_dim) + f64::from(variant.v_head_dim);
    2.0 * width * pairs * (shape.batch * shape.heads) as f64
}
