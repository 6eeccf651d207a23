//! What a variant computes, straight from the definition: no tiling, in `f64`, one row at a time.
//!
//! Every backend is judged against this and not against a sibling kernel. The same walk with
//! [`Arithmetic::Same`] is the naive kernel in the variant's own precision, which says how much error is
//! to be expected. Knows no file, thread or layout: the caller brings `[b, h, n, d]` order and may run rows in
//! parallel.

mod inputs;
mod row;
#[cfg(test)]
mod tests;

use crate::ir::eval::Value;
use crate::philox::Seed;
use crate::variant::Variant;

pub use row::Scratch;

use inputs::TensorAccess;
use row::Pairs;

/// Sizes of a launch. With packed sequences the lengths are the totals and `batch` counts sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sequences.
    pub batch: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads; divides `heads`.
    pub kv_heads: usize,
    /// Query rows.
    pub q_len: usize,
    /// Key rows.
    pub kv_len: usize,
}

/// Prefix sums of the lengths of packed sequences, each `batch + 1` long and starting with 0.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// First query row of each sequence.
    pub cu_q: &'a [usize],
    /// First key row of each sequence.
    pub cu_kv: &'a [usize],
}

/// Elements of a captured tensor.
#[derive(Clone, Copy, Debug)]
pub enum Elements<'a> {
    /// Of any float type.
    Float(&'a [f32]),
    /// Of any int type.
    Int(&'a [i32]),
    /// Bools.
    Bool(&'a [bool]),
}

/// A captured tensor: contiguous elements and their dimensions, outermost first. A dimension of size 1
/// broadcasts. With packed sequences a tensor that has `b` and a length has them as one axis, at the length's
/// place.
#[derive(Clone, Debug)]
pub struct Captured<'a> {
    /// Elements in order.
    pub elements: Elements<'a>,
    /// Sizes.
    pub dims: Vec<usize>,
}

/// One launch. `q` is `[batch, heads, q_len, head_dim]`, `k` and `v` likewise with `kv_heads` and `kv_len`; with
/// packed sequences the batch axis is absent. All contiguous.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// What to compute.
    pub variant: &'a Variant,
    /// Sizes.
    pub sizes: Sizes,
    /// Packed sequences, if they are.
    pub packed: Option<Packed<'a>>,
    /// Queries.
    pub q: &'a [f64],
    /// Keys.
    pub k: &'a [f64],
    /// Values.
    pub v: &'a [f64],
    /// Captured tensors, in declaration order.
    pub captured: Vec<Captured<'a>>,
    /// Run-time scalars, in declaration order.
    pub params: Vec<Value<f32>>,
    /// A training launch: dropout acts.
    pub training: Option<Seed>,
}

/// Rounds to a storage type and back.
pub type Round = fn(f32) -> f32;

/// In which numbers the walk computes.
#[derive(Clone, Copy, Debug)]
pub enum Arithmetic {
    /// `f64`: the meaning of the program.
    Exact,
    /// `f32` sums and exponentials, rounded where a naive kernel of the variant's precision stores.
    Same {
        /// To the type of sums, after each addend of a product of rows; `None` where sums are `f32`.
        accumulate: Option<Round>,
        /// To the softmax type: scores and probabilities.
        softmax: Round,
        /// To the operand type of the second product: probabilities.
        operand: Round,
        /// To the output type.
        output: Round,
    },
}

/// O and LSE of a whole launch, in the order of [`Problem::q`].
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// `[batch, heads, q_len, v_head_dim]`.
    pub out: Vec<f64>,
    /// `[batch, heads, q_len]`.
    pub lse: Vec<f64>,
}

/// Why a problem cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// An argument has another number of elements than the sizes say.
    #[error("`{argument}` has {actual} elements, the sizes ask for {expected}")]
    Elements {
        /// Which argument.
        argument: String,
        /// As given.
        actual: usize,
        /// As needed.
        expected: usize,
    },
    /// `kv_heads` does not divide `heads`.
    #[error("{kv_heads} key/value heads do not divide {heads} query heads")]
    Heads {
        /// Query heads.
        heads: usize,
        /// Key/value heads.
        kv_heads: usize,
    },
    /// Another number of captured tensors or parameters than declared.
    #[error("{actual} {what} given, {expected} declared")]
    Count {
        /// Of what.
        what: &'static str,
        /// As given.
        actual: usize,
        /// As declared.
        expected: usize,
    },
    /// A captured tensor has another rank or element type than declared.
    #[error("captured tensor `{name}` does not have the declared rank or element type")]
    Captured {
        /// Its name.
        name: String,
    },
    /// Prefix sums that do not start at 0, fall, or end elsewhere than at the total.
    #[error("the last cumulative length of `{argument}` is {last}, the tensor has {total} rows")]
    Cumulative {
        /// Which argument.
        argument: &'static str,
        /// Its last element.
        last: usize,
        /// Rows of the packed tensor.
        total: usize,
    },
}

/// A problem that has been checked, ready to give its rows.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    problem: Problem<'a>,
    arithmetic: Arithmetic,
    tensors: Vec<TensorAccess<'a>>,
}

/// One row's place: its sequence, head, and rows counted within the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    b: usize,
    h: usize,
    q_idx: usize,
    q_len: usize,
    kv_len: usize,
    /// First element of the query row.
    q_start: usize,
    /// First row of the sequence's keys, counted over all heads.
    kv_first_row: usize,
}

impl<'a> Reference<'a> {
    /// Checks a problem.
    ///
    /// # Errors
    /// Sizes, counts or element types that do not fit together.
    pub fn new(
        problem: Problem<'a>,
        arithmetic: Arithmetic,
    ) -> Result<Reference<'a>, ProblemError> {
        check_sizes(&problem)?;
        if let Some(packed) = problem.packed {
            check_cumulative("cu_q", packed.cu_q, problem.sizes.q_len)?;
            check_cumulative("cu_kv", packed.cu_kv, problem.sizes.kv_len)?;
        }
        let tensors = inputs::access(&problem)?;
        Ok(Reference {
            problem,
            arithmetic,
            tensors,
        })
    }

    /// Number of rows: `batch * heads * q_len`, in the order of [`Problem::q`].
    pub fn rows(&self) -> usize {
        self.planes() * self.problem.sizes.q_len
    }

    /// Width of an output row.
    pub fn row_width(&self) -> usize {
        self.problem.variant.v_head_dim as usize
    }

    /// Computes one row: writes O and returns LSE. `out` has [`Reference::row_width`] elements; `scratch` may
    /// be reused for further rows.
    pub fn row(&self, index: usize, scratch: &mut Scratch, out: &mut [f64]) -> f64 {
        row::compute(self, self.place(index), scratch, out)
    }

    /// The exact scores of a row's attended keys, those of -inf left out, and where the row is: its sequence, its
    /// head, and its number within the sequence.
    pub fn scores<'s>(
        &self,
        index: usize,
        scratch: &'s mut Scratch,
    ) -> ([usize; 3], &'s [(usize, f64)]) {
        self.attended(index, Pairs::Scores, scratch)
    }

    /// The same for the exact products of rows that the scores are made of, scale and score expression left out.
    pub fn dots<'s>(
        &self,
        index: usize,
        scratch: &'s mut Scratch,
    ) -> ([usize; 3], &'s [(usize, f64)]) {
        self.attended(index, Pairs::Dots, scratch)
    }

    fn attended<'s>(
        &self,
        index: usize,
        wanted: Pairs,
        scratch: &'s mut Scratch,
    ) -> ([usize; 3], &'s [(usize, f64)]) {
        let place = self.place(index);
        let found = row::attended(self, place, wanted, scratch);
        ([place.b, place.h, place.q_idx], found)
    }

    /// Computes all rows, one after the other.
    pub fn run(&self) -> Output {
        let width = self.row_width();
        let mut out = vec![0.0; self.rows() * width];
        let mut scratch = Scratch::default();
        let lse = out
            .chunks_exact_mut(width)
            .enumerate()
            .map(|(index, row)| self.row(index, &mut scratch, row))
            .collect();
        Output { out, lse }
    }

    /// Planes of rows: heads, times sequences where these are not packed.
    fn planes(&self) -> usize {
        let sizes = self.problem.sizes;
        match self.problem.packed {
            Some(_) => sizes.heads,
            None => sizes.batch * sizes.heads,
        }
    }

    fn place(&self, index: usize) -> Place {
        let sizes = self.problem.sizes;
        let (plane, row) = (index / sizes.q_len, index % sizes.q_len);
        let group = sizes.heads / sizes.kv_heads;
        let q_start = index * self.problem.variant.head_dim as usize;
        match self.problem.packed {
            None => {
                let (b, h) = (plane / sizes.heads, plane % sizes.heads);
                Place {
                    b,
                    h,
                    q_idx: row,
                    q_len: sizes.q_len,
                    kv_len: sizes.kv_len,
                    q_start,
                    kv_first_row: (b * sizes.kv_heads + h / group) * sizes.kv_len,
                }
            }
            Some(Packed { cu_q, cu_kv }) => {
                let b = cu_q.partition_point(|first| *first <= row) - 1;
                Place {
                    b,
                    h: plane,
                    q_idx: row - cu_q[b],
                    q_len: cu_q[b + 1] - cu_q[b],
                    kv_len: cu_kv[b + 1] - cu_kv[b],
                    q_start,
                    kv_first_row: (plane / group) * sizes.kv_len + cu_kv[b],
                }
            }
        }
    }
}

fn check_sizes(problem: &Problem<'_>) -> Result<(), ProblemError> {
    let Sizes {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
    } = problem.sizes;
    if heads > 0 && (kv_heads == 0 || heads % kv_heads != 0) {
        return Err(ProblemError::Heads { heads, kv_heads });
    }
    let sequences = if problem.packed.is_some() { 1 } else { batch };
    let head_dim = problem.variant.head_dim as usize;
    let v_head_dim = problem.variant.v_head_dim as usize;
    for (argument, actual, expected) in [
        ("q", problem.q.len(), sequences * heads * q_len * head_dim),
        (
            "k",
            problem.k.len(),
            sequences * kv_heads * kv_len * head_dim,
        ),
        (
            "v",
            problem.v.len(),
            sequences * kv_heads * kv_len * v_head_dim,
        ),
    ] {
        if actual != expected {
            return Err(ProblemError::Elements {
                argument: argument.to_owned(),
                actual,
                expected,
            });
        }
    }
    let declared = [
        (
            "captured tensors",
            problem.captured.len(),
            problem.variant.tensors.len(),
        ),
        (
            "parameters",
            problem.params.len(),
            problem.variant.params.len(),
        ),
    ];
    match declared
        .into_iter()
        .find(|(_, actual, expected)| actual != expected)
    {
        Some((what, actual, expected)) => Err(ProblemError::Count {
            what,
            actual,
            expected,
        }),
        None => Ok(()),
    }
}

fn check_cumulative(
    argument: &'static str,
    cumulative: &[usize],
    total: usize,
) -> Result<(), ProblemError> {
    let last = cumulative.last().copied().unwrap_or(0);
    let rising = cumulative.windows(2).all(|pair| pair[0] <= pair[1]);
    if cumulative.first() == Some(&0) && rising && last == total {
        return Ok(());
    }
    Err(ProblemError::Cumulative {
        argument,
        last,
        total,
    })
}
