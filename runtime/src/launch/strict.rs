//! What strict mode looks for: values that are legal for a kernel and hardly ever meant. Reads every element, so
//! that it is a switch and no rule.

use fa_dsl::codes::{INDEX_OUT_OF_RANGE, NON_FINITE_VALUE};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::ir::eval::Value;
use fa_dsl::ir::{Binary, Exprs, Node, TensorId, Var};
use fa_dsl::variant::{Dtype, Size, Tensor, Variant};

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
        let bad = Bad::find(view, |_, value| !value.is_finite());
        found.extend(bad.map(|mut bad| {
            bad.count_within_sequence(checked, name == "q");
            Diagnostic::warning(
                NON_FINITE_VALUE,
                bad.message(name, "NaN or infinite"),
                format!("find what made `{name}` so, or fill what is masked or padded with zeros"),
            )
        }));
    }
    for (declared, value) in variant.params.iter().zip(&checked.params) {
        if let Value::Float(value) = value
            && !value.is_finite()
        {
            let (name, help) = (&declared.name, "pass a number");
            let message = format!("parameter `{name}` is {value}");
            found.push(
                Diagnostic::warning(NON_FINITE_VALUE, message, help)
                    .at(declared.span, "declared here"),
            );
        }
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
            let bad = Bad::find(view, |_, value| value.is_nan() || value == f64::INFINITY)?;
            Diagnostic::warning(
                NON_FINITE_VALUE,
                bad.message(name, "NaN or +inf"),
                format!("find what made `{name}` so; a bias masks by -inf"),
            )
        }
        Dtype::Int8 | Dtype::Int32 => {
            let (bad, help) = match role(&variant.exprs, variant, id)? {
                Role::Length => {
                    let keys = Keys::of(declared, checked);
                    let outside = |at, value: f64| value < 0.0 || value > keys.at(at);
                    let bad = Bad::find(view, outside)?;
                    let help = keys.help(&bad);
                    (bad, help)
                }
                Role::Document => (
                    Bad::find(view, |_, value| value < 0.0)?,
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

/// The most keys that an element of a tensor of lengths can mean.
enum Keys {
    /// The same for all elements.
    All(usize),
    /// Elements belong to packed sequences, one after another.
    Each(Vec<i64>),
}

impl Keys {
    fn of(declared: &Tensor, checked: &Checked<'_>) -> Keys {
        let by_sequence = declared.dims.len() == 1 && declared.dims[0].sizes == [Size::B];
        match &checked.packed {
            Some(packed) if by_sequence => {
                let ends = packed.cu_kv.windows(2);
                Keys::Each(ends.map(|pair| pair[1] - pair[0]).collect())
            }
            _ => Keys::All(checked.longest().1),
        }
    }

    /// For the element with that number; one that all sequences share reaches the longest.
    fn at(&self, element: usize) -> f64 {
        match self {
            Keys::All(keys) => *keys as f64,
            Keys::Each(keys) => match keys.get(element) {
                Some(keys) => *keys as f64,
                None => keys.iter().copied().max().unwrap_or(0) as f64,
            },
        }
    }

    fn help(&self, bad: &Bad) -> String {
        match (self, bad.first.as_slice()) {
            (Keys::Each(keys), [b]) => format!(
                "lengths of sequence {b} are 0 to {}, its number of keys",
                keys.get(*b).copied().unwrap_or(0)
            ),
            _ => format!(
                "lengths of this launch are 0 to {}, its number of keys",
                self.at(0)
            ),
        }
    }
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
    let precision = variant.precision;
    let cause = if let Some(limit) = largest(precision.softmax) {
        format!(
            "scores beyond {limit} overflow {} softmax: scale them down, cap them with `softcap`, or write `precision = mixed;`",
            precision.softmax.name()
        )
    } else {
        "look for a score expression that divides by 0 or takes `log`, `sqrt` or `exp` too far"
            .to_owned()
    };
    let mut found = Vec::new();
    // A row that attends to nothing has an LSE of -inf, rightly.
    let bad_lse = Bad::find(&lse, |_, value| value.is_nan() || value == f64::INFINITY);
    let bad_out = Bad::find(&out, |_, value| !value.is_finite());
    if let Some(bad) = &bad_out {
        let of_values = match (largest(precision.accumulate), largest(precision.output)) {
            (Some(limit), _) => Some(format!(
                "sums of weighted values beyond {limit} overflow {}: scale `v` down, or write `accumulate = fp32`",
                precision.accumulate.name()
            )),
            (None, Some(limit)) => Some(format!(
                "values beyond {limit} overflow {} results: scale `v` down, or write `output = fp32` in the precision block",
                precision.output.name()
            )),
            (None, None) => None,
        };
        let help = match of_values {
            Some(help) if bad_lse.is_none() => help,
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
    /// The elements of which that is said, each by its number in row-major order and its value, if there are any.
    fn find(view: &TensorView<'_>, is_bad: impl Fn(usize, f64) -> bool) -> Option<Bad> {
        let values = view.to_f64();
        let bad = || {
            values
                .iter()
                .enumerate()
                .filter(|(at, value)| is_bad(*at, **value))
        };
        let (first, _) = bad().next()?;
        Some(Bad {
            count: bad().count(),
            total: values.len(),
            first: index_of(first, view.shape()),
            value: values[first],
        })
    }

    /// In place of `[0, h, row, column]` of packed rows: the sequence, and the row within it.
    fn count_within_sequence(&mut self, checked: &Checked<'_>, is_query: bool) {
        let (Some(packed), [b, _, row, _]) = (&checked.packed, self.first.as_mut_slice()) else {
            return;
        };
        let starts = if is_query {
            &packed.cu_q
        } else {
            &packed.cu_kv
        };
        let before = |start: &i64| usize::try_from(*start).is_ok_and(|start| start <= *row);
        *b = starts.partition_point(before).saturating_sub(1);
        *row -= usize::try_from(starts[*b]).unwrap_or(0);
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
