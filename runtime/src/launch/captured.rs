//! Captured tensors: by name, with the declared type and dimensions.

use fa_dsl::check::nearest;
use fa_dsl::codes::{LAUNCH_ARGUMENT, LAUNCH_INPUTS};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::variant::{Dim, Layout, Size, Tensor, Variant};

use super::LaunchSizes;
use super::check::{axes, memory};
use crate::abi::MAX_RANK;
use crate::view::TensorView;

/// The tensors in declaration order, or faults.
pub(super) fn resolve<'a>(
    variant: &Variant,
    sizes: LaunchSizes,
    given: &[(String, TensorView<'a>)],
    faults: &mut Vec<Diagnostic>,
) -> Vec<TensorView<'a>> {
    for (name, _) in given {
        if !variant.tensors.iter().any(|tensor| tensor.name == *name) {
            faults.push(unknown(variant, name));
        }
    }
    let mut found = Vec::with_capacity(variant.tensors.len());
    for declared in &variant.tensors {
        let mut named = given.iter().filter(|(name, _)| *name == declared.name);
        match (named.next(), named.next()) {
            (Some((name, view)), None) => {
                check_one(variant, declared, sizes, view, faults);
                memory(name, view, faults);
                found.push(view.clone());
            }
            // A misspelt one is reported already.
            (None, _) if given.iter().any(|(name, _)| means(variant, name, declared)) => {}
            (None, _) => faults.push(
                Diagnostic::error(
                    LAUNCH_INPUTS,
                    format!("captured tensor `{}` is missing", declared.name),
                    format!(
                        "pass it at launch: `--in {0}=FILE.npy` on the command line, `.tensor(\"{0}\", …)` in Rust",
                        declared.name
                    ),
                )
                .at(declared.span, "declared here"),
            ),
            (Some(_), Some(_)) => faults.push(Diagnostic::error(
                LAUNCH_INPUTS,
                format!("captured tensor `{}` is passed twice", declared.name),
                "pass it once",
            )),
        }
    }
    found
}

/// Whether a name that is no tensor's is this one's, misspelt.
fn means(variant: &Variant, name: &str, declared: &Tensor) -> bool {
    let names = variant.tensors.iter().map(|tensor| tensor.name.as_str());
    name != declared.name && nearest(name, names) == Some(declared.name.as_str())
}

fn unknown(variant: &Variant, name: &str) -> Diagnostic {
    let known: Vec<&str> = variant.tensors.iter().map(|t| t.name.as_str()).collect();
    let help = match (nearest(name, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("`{}` declares no tensors", variant.name.value),
        (None, known) => format!("the declared tensors are {}", known.join(", ")),
    };
    Diagnostic::error(
        LAUNCH_INPUTS,
        format!("there is no captured tensor `{name}`"),
        help,
    )
}

fn check_one(
    variant: &Variant,
    declared: &Tensor,
    sizes: LaunchSizes,
    view: &TensorView<'_>,
    faults: &mut Vec<Diagnostic>,
) {
    let name = &declared.name;
    let refuse = |message: String, help: String| {
        Diagnostic::error(LAUNCH_ARGUMENT, message, help).at(declared.span, "declared here")
    };
    if view.dtype() != declared.dtype {
        faults.push(refuse(
            format!(
                "`{name}` is declared {}, the argument is {}",
                declared.dtype.name(),
                view.dtype().name()
            ),
            format!("convert the argument to {}", declared.dtype.name()),
        ));
    }
    let dims = expected_dims(variant, declared);
    let expected: Vec<usize> = dims.iter().map(|dim| dim_size(dim, sizes)).collect();
    if view.shape().len() != expected.len() || declared.dims.len() > MAX_RANK {
        faults.push(refuse(
            format!(
                "`{name}` has {} dimensions, the argument has {}",
                expected.len(),
                view.shape().len()
            ),
            format!("pass a tensor of shape {expected:?}; a dimension may be 1 to broadcast"),
        ));
        return;
    }
    let wrong = expected
        .iter()
        .zip(view.shape())
        .position(|(expected, actual)| actual != expected && *actual != 1);
    if let Some(axis) = wrong {
        faults.push(refuse(
            format!(
                "dimension {axis} of `{name}` is {}, the launch needs {}{}",
                view.shape()[axis],
                expected[axis],
                origin(dims[axis], variant.layout)
            ),
            format!("pass a tensor of shape {expected:?}; a dimension may be 1 to broadcast"),
        ));
    }
}

/// Which argument a size comes from, and how that is read: whoever passes Q in another layout sees it here.
fn origin(dim: &Dim, layout: Layout) -> String {
    let ([size], 0) = (dim.sizes.as_slice(), dim.constant) else {
        return String::new();
    };
    let argument = match size {
        Size::B | Size::H | Size::QLen => "q",
        Size::KvH | Size::KvLen => "k",
    };
    format!(
        ": `{}`, which `{argument}` has by layout `{}`, [{}]",
        size.name(),
        layout.name(),
        axes(layout)
    )
}

/// Dimensions of the argument. With packed sequences `b` and a length together are one axis.
fn expected_dims<'t>(variant: &Variant, declared: &'t Tensor) -> Vec<&'t Dim> {
    let packed = declared.packed_axis(variant.layout);
    declared
        .dims
        .iter()
        .enumerate()
        .filter(|(axis, _)| packed.is_none_or(|packed| packed.batch != *axis))
        .map(|(_, dim)| dim)
        .collect()
}

/// Strides of a captured tensor as the block has them, by declared dimension: 0 for dimensions of size 1, for
/// absent ones, and for `b` of a packed axis.
pub(crate) fn declared_strides(
    variant: &Variant,
    declared: &Tensor,
    shape: &[usize],
    strides: &[i64],
) -> [i64; MAX_RANK] {
    let mut list: Vec<i64> = shape
        .iter()
        .zip(strides)
        .map(|(size, stride)| if *size == 1 { 0 } else { *stride })
        .collect();
    if let Some(packed) = declared.packed_axis(variant.layout) {
        list.insert(packed.batch, 0);
    }
    list.resize(MAX_RANK, 0);
    list.try_into()
        .expect("the rank of captured tensors has been checked")
}

/// The size of a dimension at launch; a negative sum counts as 0.
fn dim_size(dim: &Dim, sizes: LaunchSizes) -> usize {
    let named = dim.sizes.iter().map(|size| match size {
        Size::B => sizes.batch,
        Size::H => sizes.heads,
        Size::KvH => sizes.kv_heads,
        Size::QLen => sizes.q_len,
        Size::KvLen => sizes.kv_len,
    });
    let total = dim.constant + named.map(|size| size as i64).sum::<i64>();
    usize::try_from(total).unwrap_or(0)
}
