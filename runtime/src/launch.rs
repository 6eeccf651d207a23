//! What a caller hands to a kernel, and the checks that stand between it and kernel code.

mod captured;
mod check;
mod notes;
mod overflow;
mod params;
mod requirements;
mod strict;

use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::eval::Value;
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Layout, Variant};

use crate::abi::{Block, Launch, MAX_RANK};
use crate::error::{Error, Result};
use crate::view::{TensorView, TensorViewMut};

pub(crate) use captured::declared_strides;
pub(crate) use check::logical_strides;
pub use params::parse_param;

/// Inputs of one launch, in the variant's layout.
#[derive(Clone, Debug)]
pub struct Arguments<'a> {
    /// Queries.
    pub q: TensorView<'a>,
    /// Keys.
    pub k: TensorView<'a>,
    /// Values.
    pub v: TensorView<'a>,
    /// Captured tensors by name, in any order.
    pub captured: Vec<(String, TensorView<'a>)>,
    /// Run-time scalars by name; those with a default may be absent.
    pub params: Vec<(String, Value<f32>)>,
    /// A training launch: dropout acts.
    pub training: Option<Seed>,
    /// Cumulative lengths, with a leading 0: packed sequences only.
    pub packed: Option<PackedLengths>,
    /// Every element is looked at: what is hardly ever meant, such as NaN, refuses the launch or its results.
    pub strict: bool,
}

/// Prefix sums of the lengths of packed sequences, each starting with 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedLengths {
    /// First query row of each sequence, and the total.
    pub cu_q: Vec<i64>,
    /// First key row of each sequence, and the total.
    pub cu_kv: Vec<i64>,
}

/// Where results go: O in the variant's layout and type, LSE as fp32 `[b, h, q_len]` (`[h, total]` where
/// sequences are packed).
#[derive(Debug)]
pub struct Outputs<'a> {
    /// The attention output.
    pub out: TensorViewMut<'a>,
    /// Natural log-sum-exp of each row.
    pub lse: TensorViewMut<'a>,
}

/// Sizes that the arguments agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSizes {
    /// Sequences.
    pub batch: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Query rows; the total where sequences are packed.
    pub q_len: usize,
    /// Key rows; the total where sequences are packed.
    pub kv_len: usize,
}

/// A launch that passed every check.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// Sizes.
    pub sizes: LaunchSizes,
    /// q, k, v as `[b, h, n, d]`; `[1, h, total, d]` where sequences are packed.
    pub inputs: [TensorView<'a>; 3],
    /// Captured tensors in declaration order.
    pub captured: Vec<TensorView<'a>>,
    /// Run-time scalars in declaration order.
    pub params: Vec<Value<f32>>,
    /// A training launch.
    pub training: Option<Seed>,
    /// Packed sequences.
    pub packed: Option<PackedLengths>,
}

impl<'a> Arguments<'a> {
    /// A launch without captured tensors or parameters.
    pub fn new(q: TensorView<'a>, k: TensorView<'a>, v: TensorView<'a>) -> Arguments<'a> {
        Arguments {
            q,
            k,
            v,
            captured: Vec::new(),
            params: Vec::new(),
            training: None,
            packed: None,
            strict: false,
        }
    }

    /// Adds a captured tensor.
    #[must_use]
    pub fn with(mut self, name: &str, tensor: TensorView<'a>) -> Arguments<'a> {
        self.captured.push((name.to_owned(), tensor));
        self
    }

    /// Sets a run-time scalar.
    #[must_use]
    pub fn with_param(mut self, name: &str, value: Value<f32>) -> Arguments<'a> {
        self.params.push((name.to_owned(), value));
        self
    }

    /// Makes it a training launch.
    #[must_use]
    pub fn training(mut self, seed: Seed) -> Arguments<'a> {
        self.training = Some(seed);
        self
    }

    /// Looks at every element of inputs and results.
    #[must_use]
    pub fn strict(mut self) -> Arguments<'a> {
        self.strict = true;
        self
    }

    /// Checks the inputs alone.
    ///
    /// # Errors
    /// [`Error::Launch`] with every fault found, each naming the argument.
    pub fn check(&self, variant: &Variant) -> Result<Checked<'a>> {
        check::inputs(variant, self).map_err(Error::Launch)
    }
}

impl Checked<'_> {
    /// Checks the outputs against checked inputs.
    ///
    /// # Errors
    /// [`Error::Launch`] with every fault found.
    pub fn check_outputs(&self, variant: &Variant, outputs: &Outputs<'_>) -> Result<()> {
        check::outputs(variant, self, outputs).map_err(Error::Launch)
    }

    /// What strict mode says of the inputs: values that are NaN or infinite, lengths and documents that no launch
    /// has, and, where these are sound, scores beyond the type of softmax and products beyond that of sums.
    pub fn strict_findings(&self, variant: &Variant) -> Vec<Diagnostic> {
        let found = strict::inputs(variant, self);
        if found.is_empty() {
            return overflow::scores(variant, self);
        }
        found
    }

    /// The lengths of the longest sequence, query rows and key rows: what loops and blocks are counted by.
    pub fn longest(&self) -> (usize, usize) {
        match &self.packed {
            Some(packed) => (longest(&packed.cu_q), longest(&packed.cu_kv)),
            None => (self.sizes.q_len, self.sizes.kv_len),
        }
    }

    /// Notes about a legal launch, those that the variant silences left out.
    pub fn notes(&self, variant: &Variant) -> Vec<Diagnostic> {
        let mut notes = notes::windows(variant, self);
        notes.retain(|note| !variant.schedule.allow.contains(&note.code.0));
        notes
    }

    /// Refuses lengths beyond what a kernel accepts.
    ///
    /// # Errors
    /// [`Error::Launch`] that names the limit.
    pub fn check_limit(&self, max_len: u32) -> Result<()> {
        let (q_len, kv_len) = self.longest();
        let longest = LaunchSizes {
            q_len,
            kv_len,
            ..self.sizes
        };
        let faults: Vec<Diagnostic> = check::limits(longest, max_len);
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::Launch(faults))
    }

    /// Prefix sums of packed sequences as kernels read them: for queries, then for keys. Empty for other layouts.
    pub(crate) fn cumulative(&self) -> Vec<Vec<i32>> {
        let Some(packed) = &self.packed else {
            return Vec::new();
        };
        let narrow = |row: &i64| i32::try_from(*row).expect("checked totals fit 32 bits");
        [&packed.cu_q, &packed.cu_kv]
            .map(|cumulative| cumulative.iter().map(narrow).collect())
            .to_vec()
    }

    /// The block of bytes that kernels read, for views whose strides these are.
    pub(crate) fn block(
        &self,
        strides: [[i64; 4]; 4],
        lse_stride: [i64; 3],
        captured: &[[i64; MAX_RANK]],
    ) -> Block {
        let [q_stride, k_stride, v_stride, out_stride] = strides;
        let size = |size: usize| i64::try_from(size).expect("checked sizes fit 63 bits");
        let seed = self.training.unwrap_or_default();
        let (q_len, kv_len) = self.longest();
        let launch = Launch {
            batch: size(self.sizes.batch),
            heads: size(self.sizes.heads),
            kv_heads: size(self.sizes.kv_heads),
            q_len: size(q_len),
            kv_len: size(kv_len),
            q_stride,
            k_stride,
            v_stride,
            out_stride,
            lse_stride,
            seed: seed.seed,
            offset: seed.offset,
            training: u32::from(self.training.is_some()),
        };
        Block::new(&launch, captured, &self.params)
    }
}

/// What strict mode says of the elements of results.
pub(crate) fn strict_result_findings(variant: &Variant, outputs: &Outputs<'_>) -> Vec<Diagnostic> {
    strict::outputs(variant, outputs)
}

/// The shape of O for q of this shape, both in the variant's layout.
pub fn output_shape(variant: &Variant, q_shape: &[usize]) -> Vec<usize> {
    let mut shape = q_shape.to_vec();
    let (head_dim, v_head_dim) = (variant.head_dim as usize, variant.v_head_dim as usize);
    if let Some(width) = shape.last_mut() {
        *width = match variant.layout {
            Layout::Bnsd | Layout::Bsnd | Layout::Tnd => v_head_dim,
            Layout::Bsh | Layout::Sbh => *width / head_dim * v_head_dim,
        };
    }
    shape
}

/// The shape of LSE for these sizes.
pub fn lse_shape(variant: &Variant, sizes: LaunchSizes) -> Vec<usize> {
    match variant.layout {
        Layout::Tnd => vec![sizes.heads, sizes.q_len],
        Layout::Bnsd | Layout::Bsnd | Layout::Bsh | Layout::Sbh => {
            vec![sizes.batch, sizes.heads, sizes.q_len]
        }
    }
}

/// Strides of an LSE view of the launch's shape, by sequence, head and row.
pub(crate) fn lse_strides(lse: &TensorView<'_>) -> [i64; 3] {
    match *lse.strides() {
        [head, row] => [0, head, row],
        [batch, head, row] => [batch, head, row],
        _ => unreachable!("the shape of `lse` has been checked"),
    }
}

/// The longest of packed sequences, rows.
fn longest(cumulative: &[i64]) -> usize {
    let lengths = cumulative.windows(2).map(|pair| pair[1] - pair[0]);
    usize::try_from(lengths.max().unwrap_or(0)).unwrap_or(0)
}

/// The four axes of a logical `[b, h, n, d]` view as an array.
pub(crate) fn four(values: &[i64]) -> [i64; 4] {
    values.try_into().expect("logical views have four axes")
}
