//! How many pairs of query and key a launch attends to: what useful work is counted by.

use fa_dsl::ir::eval::{Inputs, Program, Value};
use fa_dsl::ir::{ParamId, TensorId, Var};
use fa_dsl::variant::{Align, Layout, Variant};
use fa_runtime::{LaunchSizes, SampledRow};
use rayon::prelude::*;

/// Attended pairs of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pairs {
    /// Their number.
    pub(crate) count: f64,
    /// How it was found.
    pub(crate) counted: String,
    /// Whether they are those of a causal mask, as far as their number tells.
    pub(crate) causal: bool,
}

/// One pair of a mask over positions.
struct Pair<'v> {
    variant: &'v Variant,
    params: &'v [Value<f32>],
    q_len: i32,
    kv_len: i32,
    q_idx: i32,
    kv_idx: i32,
}

impl Inputs<f32> for Pair<'_> {
    fn var(&self, var: Var) -> Value<f32> {
        let shift = match self.variant.align {
            Align::BottomRight => self.kv_len - self.q_len,
            Align::TopLeft => 0,
        };
        Value::Int(match var {
            Var::QIdx | Var::QFirst | Var::QLast => self.q_idx,
            Var::KvIdx | Var::KvFirst | Var::KvLast => self.kv_idx,
            Var::QPos => self.q_idx + shift,
            Var::QLen => self.q_len,
            Var::KvLen => self.kv_len,
            Var::B | Var::H | Var::KvH => 0,
            Var::Dot | Var::Score => return Value::Float(0.0),
        })
    }

    fn param(&self, param: ParamId) -> Value<f32> {
        self.params[param.0 as usize]
    }

    fn load(&self, _tensor: TensorId, _index: &[i32]) -> Value<f32> {
        unreachable!("masks over tensors are sampled")
    }
}

/// Counts the pairs of one head where the mask is one of positions, all of a head without a mask, and takes the mean
/// of sampled rows where elements of tensors or the head decide.
pub(crate) fn count(
    variant: &Variant,
    sizes: LaunchSizes,
    params: &[Value<f32>],
    rows: &[SampledRow],
) -> Pairs {
    let packed = variant.layout == Layout::Tnd;
    // Rows of packed sequences are counted over all of them.
    let sequences = if packed { 1 } else { sizes.batch };
    let planes = (sequences * sizes.heads) as f64;
    let all = planes * sizes.q_len as f64 * sizes.kv_len as f64;
    let (mask, exprs) = (variant.mask, &variant.exprs);
    if !packed && exprs.as_constant(mask) == Some(Value::Bool(true)) {
        return Pairs {
            count: all,
            counted: "all pairs".to_owned(),
            causal: false,
        };
    }
    let by_plane = [Var::B, Var::H, Var::KvH]
        .into_iter()
        .any(|var| exprs.reads(mask, var));
    if packed || by_plane || !exprs.tensors_read(&[mask]).is_empty() {
        let attended: usize = rows.iter().map(|row| row.attended).sum();
        let mean = attended as f64 / rows.len().max(1) as f64;
        return Pairs {
            count: planes * sizes.q_len as f64 * mean,
            counted: format!("estimated from {} rows", rows.len()),
            causal: false,
        };
    }
    let (q_len, kv_len) = (sizes.q_len as i32, sizes.kv_len as i32);
    let program = Program::new(exprs, mask);
    let of_row = |slots: &mut Vec<Value<f32>>, q_idx: i32| {
        let attends = |kv_idx: i32, slots: &mut Vec<Value<f32>>| {
            let pair = Pair {
                variant,
                params,
                q_len,
                kv_len,
                q_idx,
                kv_idx,
            };
            program.run(&pair, slots) == Value::Bool(true)
        };
        (0..kv_len).filter(|kv_idx| attends(*kv_idx, slots)).count() as u64
    };
    let of_head: u64 = (0..q_len).into_par_iter().map_init(Vec::new, of_row).sum();
    let triangle: i64 = (0..q_len)
        .map(|q_idx| i64::from((q_idx + kv_len - q_len + 1).clamp(0, kv_len)))
        .sum();
    Pairs {
        count: planes * of_head as f64,
        counted: "each pair of a head".to_owned(),
        causal: of_head as i64 == triangle && of_head as f64 * planes < all,
    }
}
