//! What strict mode looks for: values that are legal for a kernel and hardly ever meant. Reads every element, so
//! that it is a switch and no rule.

use fa_dsl::codes::{INDEX_OUT_OF_RANGE, NON_FINITE_VALUE};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::{Binary, Exprs, Node, TensorId, Var};
use fa_dsl::variant::{Dtype, Tensor, Variant};

use super::{Checked, Outputs};
use crate::view::TensorView;

/// What values of a captured int tensor stand for, as far as the mask tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Keys are compared with it: `padding`, `prefix`.
    Length,
    /// Its elements are compared with each other: `same`.
    Document,
}

/// Findings about checked inputs.
pub(super) fn inputs(variant: &Variant, checked: &Checked<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, view) in ["q", "k", "v"].into_iter().zip(&checked.inputs) {
        let bad = Bad::find(view, |value| !value.is_finite());
        found.extend(bad.map(|bad| {
            Diagnostic::warning(
                NON_FINITE_VALUE,
                bad.message(name, "NaN or infinite"),
                format!("find what made `{name}` so, or fill what is masked or padded with zeros"),
            )
        }));
    }
    for (id, (declared, view)) in variant.tensors.iter().zip(&checked.captured).enumerate() {
        let id = TensorId(u32::try_from(id).expect("few tensors"));
        found.extend(captured(variant, checked, id, declared, view));
    }
    found
}

/// A captured tensor: floats are numbers or -inf, which is how a bias masks; lengths lie within the keys, and
/// documents are counted from 0.
fn captured(
    variant: &Variant,
    checked: &Checked<'_>,
    id: TensorId,
    declared: &Tensor,
    view: &TensorView<'_>,
) -> Option<Diagnostic> {
    let name = &declared.name;
    let found = match declared.dtype {
        Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => {
            let bad = Bad::find(view, |value| value.is_nan() || value == f64::INFINITY)?;
            Diagnostic::warning(
                NON_FINITE_VALUE,
                bad.message(name, "NaN or +inf"),
                format!("find what made `{name}` so; a bias masks by -inf"),
            )
        }
        Dtype::Int8 | Dtype::Int32 => {
            let longest = checked.longest().1 as f64;
            let (bad, help) = match role(&variant.exprs, variant, id)? {
                Role::Length => (
                    Bad::find(view, |value| value < 0.0 || value > longest)?,
                    format!("lengths of this launch are 0 to {longest}, its number of keys"),
                ),
                Role::Document => (
                    Bad::find(view, |value| value < 0.0)?,
                    "number the documents from 0; rows of padding take a number of their own"
                        .to_owned(),
                ),
            };
            Diagnostic::warning(INDEX_OUT_OF_RANGE, bad.message(name, "out of range"), help)
        }
        Dtype::Bool => return None,
    };
    Some(found.at(declared.span, "declared here"))
}

/// How the mask uses a tensor, where it uses it in one of the known ways.
fn role(exprs: &Exprs, variant: &Variant, id: TensorId) -> Option<Role> {
    let loads = |node: &Node| matches!(node, Node::Load(tensor, ..) if *tensor == id);
    exprs
        .reachable(&[variant.mask])
        .into_iter()
        .find_map(|expr| {
            let Node::Binary(operator, left, right) = exprs.node(expr) else {
                return None;
            };
            let (left, right) = (exprs.node(*left), exprs.node(*right));
            let key = |node: &Node| matches!(node, Node::Var(Var::KvIdx));
            match operator {
                Binary::Lt if key(left) && loads(right) => Some(Role::Length),
                Binary::Eq if loads(left) && loads(right) => Some(Role::Document),
                _ => None,
            }
        })
}

/// Findings about results. Inputs have been looked at before, so that what is not finite here was made here.
pub(super) fn outputs(variant: &Variant, outputs: &Outputs<'_>) -> Vec<Diagnostic> {
    let (out, lse) = (outputs.out.as_view(), outputs.lse.as_view());
    let limit = largest(variant.precision.softmax);
    let cause = match limit {
        Some(limit) => format!(
            "scores beyond {limit} overflow {} softmax: scale them down, cap them with `softcap`, or write `precision = mixed;`",
            variant.precision.softmax.name()
        ),
        None => {
            "look for a score expression that divides by 0 or takes `log`, `sqrt` or `exp` too far"
                .to_owned()
        }
    };
    let mut found = Vec::new();
    // A row that attends to nothing has an LSE of -inf, rightly.
    let bad_lse = Bad::find(&lse, |value| value.is_nan() || value == f64::INFINITY);
    let bad_out = Bad::find(&out, |value| !value.is_finite());
    if let Some(bad) = &bad_out {
        let help = match largest(variant.precision.output) {
            Some(limit) if bad_lse.is_none() => format!(
                "values beyond {limit} overflow {} results: scale `v` down, or write `output = fp32` in the precision block",
                variant.precision.output.name()
            ),
            _ => cause.clone(),
        };
        let message = bad.message("out", "NaN or infinite");
        found.push(Diagnostic::warning(NON_FINITE_VALUE, message, help));
    }
    if let Some(bad) = &bad_lse {
        let message = bad.message("lse", "NaN or +inf");
        found.push(Diagnostic::warning(NON_FINITE_VALUE, message, cause));
    }
    found
}

/// The largest finite number of a type that calculations are likely to pass.
fn largest(dtype: Dtype) -> Option<u32> {
    (dtype == Dtype::Fp16).then_some(65504)
}

/// Elements of a tensor that should not be as they are.
struct Bad {
    count: usize,
    total: usize,
    first: Vec<usize>,
    value: f64,
}

impl Bad {
    /// The elements of which that is said, if there are any.
    fn find(view: &TensorView<'_>, is_bad: impl Fn(f64) -> bool) -> Option<Bad> {
        let values = view.to_f64();
        let first = values.iter().position(|value| is_bad(*value))?;
        Some(Bad {
            count: values.iter().filter(|value| is_bad(**value)).count(),
            total: values.len(),
            first: index_of(first, view.shape()),
            value: values[first],
        })
    }

    fn message(&self, name: &str, what: &str) -> String {
        format!(
            "{} of {} elements of `{name}` are {what}, the first is {} at {:?}",
            self.count, self.total, self.value, self.first
        )
    }
}

/// The index of an element, counted in row-major order.
fn index_of(mut element: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (index, size) in index.iter_mut().zip(shape).rev() {
        *index = element % size;
        element /= size;
    }
    index
}
