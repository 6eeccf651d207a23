//! Merging of partial results: attention over parts of the keys, put together by their LSE. Splits of the keys over
//! cores, and over machines as ring attention has them, end here. [`merge`] knows no backend; `Runtime::merge` has one.

use fa_dsl::codes::LAUNCH_ARGUMENT;
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::Dtype;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::view::TensorView;

/// The results of attention over some of the keys.
#[derive(Clone, Debug)]
pub struct Partial<'a> {
    /// The output, normalised over these keys, `[…, d]`; fp32 where the merged result should not have lost more
    /// than that.
    pub out: TensorView<'a>,
    /// Natural log-sum-exp of each row, fp32, the dimensions of `out` without the last; -inf where a row saw none
    /// of these keys.
    pub lse: TensorView<'a>,
}

/// Attention over all keys of the parts.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The output, fp32, in row-major order.
    pub out: Tensor,
    /// Natural log-sum-exp, fp32.
    pub lse: Tensor,
}

/// Merges parts of disjoint keys: `LSE = ln(sum of exp(lse))` and `O = sum of exp(lse - LSE) * out`, summed in f64
/// and rounded once.
///
/// A part that saw no key changes nothing: what stands in its `out` is not read, a row that one part alone saw is
/// that part's row bit for bit, and a row that none saw has `O = 0` and `LSE = -inf`. NaN stays NaN.
///
/// # Errors
/// [`Error::Launch`] that names the part and argument whose shape or type does not fit.
///
/// # Examples
/// ```
/// use fa_runtime::{Partial, Tensor, merge};
///
/// let (left, right) = (Tensor::from_f32(&[1, 1], &[1.0]), Tensor::from_f32(&[1, 1], &[5.0]));
/// let lse = [Tensor::from_f32(&[1], &[3.0_f32.ln()]), Tensor::from_f32(&[1], &[0.0])];
/// let merged = merge(&[
///     Partial { out: left.view(), lse: lse[0].view() },
///     Partial { out: right.view(), lse: lse[1].view() },
/// ])?;
/// assert_eq!(merged.out.to_f64(), [2.0]);
/// # Ok::<(), fa_runtime::Error>(())
/// ```
pub fn merge(parts: &[Partial<'_>]) -> Result<Merged> {
    check(parts)?;
    let shape = parts[0].out.shape();
    let (width, rows) = (shape[shape.len() - 1], parts[0].lse.len());
    let read: Vec<Rows> = parts.iter().map(|part| Rows::new(part, width)).collect();
    let mut out = vec![0.0_f32; rows * width];
    let mut lse = vec![f32::NEG_INFINITY; rows];
    // A width of 0 is no width: chunks need one.
    out.par_chunks_mut(width.max(1))
        .zip(lse.par_iter_mut())
        .enumerate()
        .for_each(|(row, (out, lse))| *lse = merge_row(&read, row, out));
    Ok(Merged {
        out: Tensor::from_f32(shape, &out),
        lse: Tensor::from_f32(parts[0].lse.shape(), &lse),
    })
}

/// A part's elements in row-major order.
struct Rows {
    out: Vec<f64>,
    lse: Vec<f64>,
    width: usize,
}

impl Rows {
    fn new(part: &Partial<'_>, width: usize) -> Rows {
        Rows {
            out: part.out.to_f64(),
            lse: part.lse.to_f64(),
            width,
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.out[row * self.width..][..self.width]
    }
}

/// Writes a row of O and returns its LSE.
fn merge_row(parts: &[Rows], row: usize, out: &mut [f32]) -> f32 {
    let mut seen = parts
        .iter()
        .filter(|part| part.lse[row] != f64::NEG_INFINITY);
    let (first, second) = (seen.next(), seen.next());
    match (first, second) {
        (None, _) => return f32::NEG_INFINITY,
        (Some(only), None) => {
            for (out, value) in out.iter_mut().zip(only.row(row)) {
                *out = *value as f32;
            }
            return only.lse[row] as f32;
        }
        (Some(_), Some(_)) => {}
    }
    let largest = parts
        .iter()
        .map(|part| part.lse[row])
        .fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    let mut total = vec![0.0; out.len()];
    for part in parts
        .iter()
        .filter(|part| part.lse[row] != f64::NEG_INFINITY)
    {
        let weight = (part.lse[row] - largest).exp();
        sum += weight;
        for (total, value) in total.iter_mut().zip(part.row(row)) {
            *total += weight * value;
        }
    }
    for (out, total) in out.iter_mut().zip(total) {
        *out = (total / sum) as f32;
    }
    (largest + f64::ln(sum)) as f32
}

/// Checks that parts fit together.
pub(crate) fn check(parts: &[Partial<'_>]) -> Result<()> {
    let faults = faults(parts);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Error::Launch(faults))
}

fn faults(parts: &[Partial<'_>]) -> Vec<Diagnostic> {
    let refuse = |message: String, help: &str| Diagnostic::error(LAUNCH_ARGUMENT, message, help);
    let Some(first) = parts.first() else {
        let message = "there is no part to merge".to_owned();
        return vec![refuse(
            message,
            "pass the results of at least one part of the keys",
        )];
    };
    let mut faults = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let (out, lse) = (&part.out, &part.lse);
        if !matches!(out.dtype(), Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16) {
            let message = format!("`out` of part {i} is {}", out.dtype().name());
            faults.push(refuse(
                message,
                "pass fp32, fp16 or bf16; fp32 loses nothing",
            ));
        }
        if lse.dtype() != Dtype::Fp32 {
            let message = format!("`lse` of part {i} is {}, not fp32", lse.dtype().name());
            faults.push(refuse(message, "pass the LSE as kernels write it"));
        }
        if out.shape() != first.out.shape() {
            let (own, others) = (out.shape(), first.out.shape());
            let message = format!("`out` of part {i} has shape {own:?}, that of part 0 {others:?}");
            faults.push(refuse(message, "merge parts of the same queries"));
        }
        if out.shape().split_last().map(|(_, rows)| rows) != Some(lse.shape()) {
            let (rows, values) = (lse.shape(), out.shape());
            let message = format!("`lse` of part {i} has shape {rows:?}, its `out` {values:?}");
            faults.push(refuse(
                message,
                "pass both by row, as `[b, h, n]` and `[b, h, n, d]`; other layouts are permuted views",
            ));
        }
    }
    faults
}
