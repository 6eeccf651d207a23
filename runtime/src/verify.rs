//! Every backend against the f64 reference, on random inputs and on edges.
//!
//! The error that O and LSE are allowed is twice that of a naive kernel in the same precision, plus a millionth of
//! the largest result.

mod case;
mod random;

use fa_dsl::reference::{Arithmetic, Output};
use fa_dsl::variant::Variant;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::kernel::{Backend, Kernel};
use crate::reference;

pub use case::{Case, Shape, large, shapes};

/// What is allowed beside the naive kernel's error, as a share of the largest result.
const SHARE: f64 = 1e-6;

/// How far one launch is from the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// Who computed.
    pub backend: Backend,
    /// On the emulator.
    pub emulated: bool,
    /// Sizes.
    pub shape: Shape,
    /// A training launch.
    pub training: bool,
    /// Largest error of O; infinite where one is NaN or infinite and the other is not.
    pub out_error: f64,
    /// What is allowed.
    pub out_allowed: f64,
    /// Largest error of LSE, likewise.
    pub lse_error: f64,
    /// What is allowed.
    pub lse_allowed: f64,
    /// Both are within what is allowed.
    pub pass: bool,
    /// Why there is no result: the backend refused the launch or failed.
    pub failure: Option<String>,
}

/// Runs kernels of one variant on one case; one row per kernel.
///
/// # Errors
/// The case itself does not pass the checks of a launch.
pub fn compare(variant: &Variant, kernels: &[&Kernel], case: &Case) -> Result<Vec<Row>> {
    let (exact, [out_allowed, lse_allowed]) = judge(variant, case)?;
    let mut rows = Vec::with_capacity(kernels.len());
    for kernel in kernels {
        let (out_error, lse_error, failure) = match measure(kernel, case, &exact) {
            Ok((out_error, lse_error)) => (out_error, lse_error, None),
            Err(error) => (f64::NAN, f64::NAN, Some(error.to_string())),
        };
        rows.push(Row {
            variant: variant.name.value.clone(),
            backend: kernel.backend(),
            emulated: kernel.is_emulated(),
            shape: case.shape,
            training: case.training.is_some(),
            out_error,
            out_allowed,
            lse_error,
            lse_allowed,
            pass: out_error <= out_allowed && lse_error <= lse_allowed,
            failure,
        });
    }
    Ok(rows)
}

/// The exact results of a case, and the errors that are allowed.
fn judge(variant: &Variant, case: &Case) -> Result<(Output, [f64; 2])> {
    let arguments = case.arguments();
    let checked = arguments.check(variant)?;
    let exact = reference::evaluate(variant, &checked, Arithmetic::Exact)?;
    let naive = reference::evaluate(variant, &checked, reference::same_precision(variant))?;
    let out_allowed = allowed(&naive.out, &exact.out);
    let lse_allowed = allowed(&naive.lse, &exact.lse);
    Ok((exact, [out_allowed, lse_allowed]))
}

/// Verifies kernels of one variant on all of [`shapes`] and on the [`large`] shape of each backend, with a training
/// launch where dropout may act. Each row is shown as it is found.
///
/// # Errors
/// [`Error::Launch`] where the checks refuse every case. A backend that fails is a row that does not pass.
pub fn verify(
    variant: &Variant,
    kernels: &[&Kernel],
    mut found: impl FnMut(&Row),
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut refused = None;
    for (index, (shape, kernels)) in launches(variant, kernels).into_iter().enumerate() {
        for training in trainings(variant) {
            let case = Case::random(variant, shape, index as u64, *training);
            match compare(variant, &kernels, &case) {
                Ok(measured) => {
                    measured.iter().for_each(&mut found);
                    rows.extend(measured);
                }
                // Some variants need q_len <= kv_len, which an edge does not have.
                Err(error @ Error::Launch(_)) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
    }
    match refused {
        Some(error) if rows.is_empty() => Err(error),
        _ => Ok(rows),
    }
}

fn trainings(variant: &Variant) -> &'static [bool] {
    match variant.dropout {
        Some(_) => &[false, true],
        None => &[false],
    }
}

/// The shapes of a verification, each with the kernels that it is for.
fn launches<'k>(variant: &Variant, kernels: &[&'k Kernel]) -> Vec<(Shape, Vec<&'k Kernel>)> {
    let edges = shapes(variant).into_iter();
    let mut launches: Vec<_> = edges.map(|shape| (shape, kernels.to_vec())).collect();
    for kernel in kernels {
        let Some(shape) = large(variant, kernel.backend()) else {
            continue;
        };
        launches.push((shape, vec![*kernel]));
    }
    launches
}

/// Errors of O and LSE; outputs are filled with NaN beforehand, so that what is not written shows.
fn measure(kernel: &Kernel, case: &Case, exact: &Output) -> Result<(f64, f64)> {
    let variant = kernel.variant();
    let mut results = case.empty_results(variant);
    kernel.launch(&case.arguments(), &mut results.outputs())?;
    let (out, lse) = results.logical(variant);
    Ok((error(&out, &exact.out), error(&lse, &exact.lse)))
}

/// The largest difference; infinite where NaN or infinities do not agree.
fn error(actual: &[f64], exact: &[f64]) -> f64 {
    let difference = |(actual, exact): (&f64, &f64)| {
        if actual == exact || (actual.is_nan() && exact.is_nan()) {
            0.0
        } else if actual.is_finite() && exact.is_finite() {
            (actual - exact).abs()
        } else {
            f64::INFINITY
        }
    };
    actual.iter().zip(exact).map(difference).fold(0.0, f64::max)
}

/// Twice the naive kernel's error on finite results, plus a share of the largest.
fn allowed(naive: &[f64], exact: &[f64]) -> f64 {
    let finite = || {
        naive
            .iter()
            .zip(exact)
            .filter(|(n, e)| n.is_finite() && e.is_finite())
    };
    let naive_error = finite().map(|(n, e)| (n - e).abs()).fold(0.0, f64::max);
    let largest = finite().map(|(_, e)| e.abs()).fold(0.0, f64::max);
    2.0 * naive_error + SHARE * largest
}
