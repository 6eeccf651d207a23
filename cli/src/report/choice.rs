//! Sizes of launches: what was chosen, what the file fixes, and smaller ones that answer the same questions sooner.

use fa_codegen::Plan;
use fa_dsl::variant::Variant;
use fa_runtime::verify::Shape;
use fa_targets::Target;

use super::text;
use super::timing::Waves;

/// Pairs of all heads of a launch whose every instruction is kept.
pub(crate) const TRACED_PAIRS: usize = 1 << 28;
/// Pairs of all heads of a launch that is repeated for every question.
const ASKED_PAIRS: usize = 1 << 25;
/// Pairs of all heads of the launch that confirms an answer.
pub(crate) const CONFIRMED_PAIRS: usize = 1 << 28;

/// Query heads where neither command line nor file says so and the target has no cores to count; and rows.
const DEFAULT_HEADS: usize = 8;
const DEFAULT_LEN: u32 = 2048;

/// Sizes as far as the command line gives them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShapeChoice {
    /// Sequences.
    pub(crate) batch: Option<u32>,
    /// Query heads.
    pub(crate) heads: Option<u32>,
    /// Key/value heads.
    pub(crate) kv_heads: Option<u32>,
    /// Query rows.
    pub(crate) q_len: Option<u32>,
    /// Key rows.
    pub(crate) kv_len: Option<u32>,
}

impl ShapeChoice {
    /// The shape for a variant: what was chosen, then what the file fixes, then a head for each cube core.
    pub(crate) fn shape(&self, variant: &Variant, target: &Target) -> Shape {
        let number = |value: Option<u32>| value.map(|value| value as usize);
        let fixed_kv = number(self.kv_heads.or(variant.kv_heads));
        let group = fixed_kv.unwrap_or(1).max(1);
        let cores = target.chip.as_ref().map(|chip| chip.cube_cores as usize);
        let default_heads = cores.unwrap_or(DEFAULT_HEADS);
        let heads =
            number(self.heads.or(variant.heads)).unwrap_or(default_heads.next_multiple_of(group));
        let q_len = self.q_len.or(self.kv_len).unwrap_or(DEFAULT_LEN) as usize;
        Shape {
            batch: number(self.batch).unwrap_or(1),
            heads,
            kv_heads: fixed_kv.unwrap_or(heads),
            q_len,
            kv_len: number(self.kv_len).unwrap_or(q_len),
        }
    }
}

/// A shape to ask questions of: fewer heads of the same length that fill whole waves of tasks, where the file leaves
/// heads open; else a shorter one.
pub(crate) fn asked(shape: Shape, variant: &Variant, plan: &Plan, cores: u32) -> Shape {
    if pairs_of(&shape) <= ASKED_PAIRS {
        return shape;
    }
    let group = (shape.heads / shape.kv_heads.max(1)).max(1);
    let open = variant.heads.is_none() && variant.kv_heads.is_none();
    let fewer = |heads: usize| Shape {
        batch: 1,
        heads,
        kv_heads: (heads / group).max(1),
        ..shape
    };
    let whole = |shape: &Shape| {
        let tasks = Waves::of(*shape, plan, cores).tasks;
        tasks.is_multiple_of(u64::from(cores))
    };
    let found = (1..=shape.heads)
        .rev()
        .filter(|heads| open && heads % group == 0)
        .map(fewer)
        .find(|shape| pairs_of(shape) <= ASKED_PAIRS && whole(shape));
    found.unwrap_or_else(|| reduced(shape, ASKED_PAIRS))
}

/// Pairs of all heads of a launch.
pub(crate) fn pairs_of(shape: &Shape) -> usize {
    let heads = shape.batch.saturating_mul(shape.heads);
    heads
        .saturating_mul(shape.q_len)
        .saturating_mul(shape.kv_len)
}

/// A shape of at most so many pairs: fewer sequences first, then shorter ones.
pub(crate) fn reduced(mut shape: Shape, most: usize) -> Shape {
    while pairs_of(&shape) > most {
        if shape.batch > 1 {
            shape.batch = shape.batch.div_ceil(2);
        } else if shape.q_len > 1 && shape.q_len >= shape.kv_len.div_ceil(4) {
            shape.q_len = shape.q_len.div_ceil(2);
        } else if shape.kv_len > 1 {
            shape.kv_len = shape.kv_len.div_ceil(2);
        } else {
            break;
        }
    }
    shape
}

/// A shape in words.
pub(crate) fn sizes(shape: Shape) -> String {
    let heads = if shape.kv_heads == shape.heads {
        shape.heads.to_string()
    } else {
        format!("{}/{}", shape.heads, shape.kv_heads)
    };
    format!(
        "{} × {heads} heads, {} × {}",
        shape.batch,
        text::grouped(shape.q_len as i64),
        text::grouped(shape.kv_len as i64)
    )
}

#[cfg(test)]
mod tests {
    use fa_dsl::check;
    use fa_dsl::span::SourceMap;

    use super::*;

    #[test]
    fn long_launches_are_shortened() {
        let shape = Shape {
            batch: 4,
            heads: 24,
            kv_heads: 24,
            q_len: 2048,
            kv_len: 2048,
        };
        let short = reduced(shape, ASKED_PAIRS);
        assert_eq!(
            (short.batch, short.heads, short.q_len, short.kv_len),
            (1, 24, 512, 2048)
        );
        assert_eq!(reduced(short, ASKED_PAIRS), short);
    }

    #[test]
    fn a_shape_takes_what_is_given() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.fa", "attention a { head_dim = 64; }");
        let variant = check::check(&sources, file, &[]).variants.remove(0);
        let target = Target::built_in("ascend910b").expect("built in");
        let chosen = ShapeChoice {
            kv_heads: Some(5),
            kv_len: Some(100),
            ..ShapeChoice::default()
        };
        let shape = chosen.shape(&variant, &target);
        assert_eq!((shape.heads, shape.kv_heads), (25, 5));
        assert_eq!((shape.q_len, shape.kv_len), (100, 100));
    }
}
