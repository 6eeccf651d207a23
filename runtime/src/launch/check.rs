//! Every check of a launch, before any kernel code runs. Each fault names the argument and both numbers.

use fa_dsl::codes::{
    LAUNCH_ARGUMENT, LAUNCH_HEADS, LAUNCH_LENGTHS, LAUNCH_STRIDES, UNSUPPORTED_FEATURE,
};
use fa_dsl::diagnostic::Diagnostic;
use fa_dsl::tiles::{MAX_BATCH, MAX_HEADS};
use fa_dsl::variant::{Dtype, Layout, Variant};

use super::requirements;
use super::{
    Arguments, Checked, LaunchSizes, Outputs, PackedLengths, captured, lse_shape, output_shape,
    params,
};
use crate::view::{TensorView, span_elems};

/// Checks all inputs.
pub(super) fn inputs<'a>(
    variant: &Variant,
    arguments: &Arguments<'a>,
) -> Result<Checked<'a>, Vec<Diagnostic>> {
    let mut faults = unsupported(variant);
    if !faults.is_empty() {
        return Err(faults);
    }
    let named = [
        ("q", &arguments.q, variant.head_dim),
        ("k", &arguments.k, variant.head_dim),
        ("v", &arguments.v, variant.v_head_dim),
    ];
    for (name, view, _) in named {
        dtype(name, view.dtype(), variant.precision.qkv, &mut faults);
        memory(name, view, &mut faults);
    }
    let logical = named.map(|(name, view, width)| {
        logical(variant.layout, name, view, width).map_err(|fault| faults.push(*fault))
    });
    let [Ok(q), Ok(k), Ok(v)] = logical else {
        return Err(faults);
    };
    let sizes = sizes(variant, arguments, [&q, &k, &v], &mut faults);
    let params = params::resolve(variant, &arguments.params, &mut faults);
    let captured = captured::resolve(variant, sizes, &arguments.captured, &mut faults);
    if faults.is_empty() {
        requirements::check(
            variant,
            sizes,
            arguments.packed.as_ref(),
            &params,
            &mut faults,
        );
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(Checked {
        sizes,
        inputs: [q, k, v],
        captured,
        params,
        training: arguments.training,
        packed: arguments.packed.clone(),
    })
}

/// What no launch can honour yet, on any backend.
fn unsupported(variant: &Variant) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    if let Some(paged) = variant.paged {
        let message = "a paged cache cannot be launched yet";
        let help = "leave `paged` out and pass contiguous keys and values";
        let fault = Diagnostic::error(UNSUPPORTED_FEATURE, message, help);
        faults.push(fault.at(paged.span, "pages of keys and values"));
    }
    if variant.precision.qkv == Dtype::Int8 {
        let message = "int8 with scales cannot be launched yet";
        let help = "write `precision = mixed;`";
        let fault = Diagnostic::error(UNSUPPORTED_FEATURE, message, help);
        faults.push(match variant.precision_span {
            Some(span) => fault.at(span, "quantised inputs"),
            None => fault,
        });
    }
    faults
}

/// Checks the outputs.
pub(super) fn outputs(
    variant: &Variant,
    checked: &Checked<'_>,
    outputs: &Outputs<'_>,
) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let (out, lse) = (outputs.out.as_view(), outputs.lse.as_view());
    dtype("out", out.dtype(), variant.precision.output, &mut faults);
    dtype("lse", lse.dtype(), Dtype::Fp32, &mut faults);
    let q_shape = packed_shape(variant, checked.sizes);
    let named = [
        ("out", &out, output_shape(variant, &q_shape)),
        ("lse", &lse, lse_shape(variant, checked.sizes)),
    ];
    for (name, view, expected) in &named {
        if view.shape() != expected {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!(
                    "`{name}` has shape {:?}, the launch writes {expected:?}",
                    view.shape()
                ),
                format!("pass a tensor of shape {expected:?}"),
            ));
        }
        memory(name, view, &mut faults);
        if !is_injective(view) {
            faults.push(Diagnostic::error(
                LAUNCH_STRIDES,
                format!(
                    "`{name}` of shape {:?} and strides {:?} has elements that share memory",
                    view.shape(),
                    view.strides()
                ),
                "write into a tensor whose elements lie apart",
            ));
        }
    }
    let mut others: Vec<(&str, &TensorView<'_>)> =
        ["q", "k", "v"].into_iter().zip(&checked.inputs).collect();
    let names = variant.tensors.iter().map(|tensor| tensor.name.as_str());
    others.extend(names.zip(&checked.captured));
    overlap("out", &out, &others, &mut faults);
    others.push(("out", &out));
    overlap("lse", &lse, &others, &mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    Err(faults)
}

/// Refuses lengths beyond what a kernel accepts.
pub(super) fn limits(sizes: LaunchSizes, max_len: u32) -> Vec<Diagnostic> {
    let split_sequence = "split the sequence, or plan a variant for longer ones";
    [
        ("q_len", sizes.q_len, max_len, split_sequence),
        ("kv_len", sizes.kv_len, max_len, split_sequence),
        ("the batch", sizes.batch, MAX_BATCH, "split the batch"),
        (
            "the number of heads",
            sizes.heads,
            MAX_HEADS,
            "split the heads",
        ),
    ]
    .into_iter()
    .filter(|(_, size, limit, _)| *size > *limit as usize)
    .map(|(name, size, limit, help)| {
        Diagnostic::error(
            LAUNCH_LENGTHS,
            format!("{name} is {size}, the kernel accepts at most {limit}"),
            help,
        )
    })
    .collect()
}

fn dtype(name: &str, actual: Dtype, expected: Dtype, faults: &mut Vec<Diagnostic>) {
    if actual != expected {
        faults.push(Diagnostic::error(
            LAUNCH_ARGUMENT,
            format!(
                "`{name}` is {}, the variant's precision takes {}",
                actual.name(),
                expected.name()
            ),
            format!(
                "convert `{name}` to {}, or change `precision`",
                expected.name()
            ),
        ));
    }
}

/// Null and misaligned pointers, negative strides.
pub(super) fn memory(name: &str, view: &TensorView<'_>, faults: &mut Vec<Diagnostic>) {
    let mut refuse = |message: String, help: &str| {
        faults.push(Diagnostic::error(LAUNCH_STRIDES, message, help));
    };
    if view.is_empty() {
        return;
    }
    let elem_bytes = view.dtype().bytes() as usize;
    if view.as_ptr().is_null() {
        refuse(
            format!("`{name}` is a null pointer with {} elements", view.len()),
            "pass memory that holds the elements",
        );
    } else if !(view.as_ptr() as usize).is_multiple_of(elem_bytes) {
        refuse(
            format!(
                "`{name}` starts at an address that is no multiple of its {elem_bytes}-byte elements"
            ),
            "align the tensor to its elements",
        );
    }
    if span_elems(view.shape(), view.strides()).is_none() {
        refuse(
            format!(
                "`{name}` has strides {:?}, which are negative or reach beyond 63 bits",
                view.strides()
            ),
            "copy the tensor so that its strides are not negative",
        );
    }
}

/// The axes of Q, K, V and O in words.
pub(super) fn axes(layout: Layout) -> &'static str {
    match layout {
        Layout::Bnsd => "b, h, n, d",
        Layout::Bsnd => "b, n, h, d",
        Layout::Bsh => "b, n, h*d",
        Layout::Sbh => "n, b, h*d",
        Layout::Tnd => "total, h, d",
    }
}

/// The view as `[b, h, n, d]`, with `[1, h, total, d]` for packed sequences.
fn logical<'a>(
    layout: Layout,
    name: &str,
    view: &TensorView<'a>,
    width: u32,
) -> Result<TensorView<'a>, Box<Diagnostic>> {
    let rank = match layout {
        Layout::Bnsd | Layout::Bsnd => 4,
        Layout::Bsh | Layout::Sbh | Layout::Tnd => 3,
    };
    let help = format!("layout `{}` is [{}]", layout.name(), axes(layout));
    if view.shape().len() != rank {
        let actual = view.shape().len();
        let message = format!("`{name}` has {actual} dimensions, its layout has {rank}");
        return Err(Box::new(Diagnostic::error(LAUNCH_ARGUMENT, message, help)));
    }
    let dim = if name == "v" {
        "v_head_dim"
    } else {
        "head_dim"
    };
    let innermost = view.shape()[rank - 1];
    let width = width as usize;
    let fits = match layout {
        Layout::Bnsd | Layout::Bsnd | Layout::Tnd => innermost == width,
        Layout::Bsh | Layout::Sbh => innermost.is_multiple_of(width),
    };
    if !fits {
        let relation = match layout {
            Layout::Bnsd | Layout::Bsnd | Layout::Tnd => "the variant's",
            Layout::Bsh | Layout::Sbh => "no multiple of the variant's",
        };
        let message =
            format!("the last dimension of `{name}` is {innermost}, {relation} {dim} is {width}");
        return Err(Box::new(Diagnostic::error(LAUNCH_ARGUMENT, message, help)));
    }
    let (shape, strides) = split_axes(layout, view, width);
    // SAFETY: the same elements as `view`, with their axes split and reordered.
    Ok(unsafe { TensorView::from_raw(view.dtype(), view.as_ptr(), &shape, &strides) })
}

fn split_axes(layout: Layout, view: &TensorView<'_>, width: usize) -> ([usize; 4], [i64; 4]) {
    let (n, s) = (view.shape(), view.strides());
    let heads = |innermost: usize| innermost / width;
    let head_stride = |stride: i64| stride * width as i64;
    match layout {
        Layout::Bnsd => ([n[0], n[1], n[2], n[3]], [s[0], s[1], s[2], s[3]]),
        Layout::Bsnd => ([n[0], n[2], n[1], n[3]], [s[0], s[2], s[1], s[3]]),
        Layout::Bsh => (
            [n[0], heads(n[2]), n[1], width],
            [s[0], head_stride(s[2]), s[1], s[2]],
        ),
        Layout::Sbh => (
            [n[1], heads(n[2]), n[0], width],
            [s[1], head_stride(s[2]), s[0], s[2]],
        ),
        Layout::Tnd => ([1, n[1], n[0], n[2]], [0, s[1], s[0], s[2]]),
    }
}

/// The output as `[b, h, n, d]`.
pub(crate) fn logical_strides(layout: Layout, out: &TensorView<'_>, v_head_dim: u32) -> [i64; 4] {
    split_axes(layout, out, v_head_dim as usize).1
}

fn packed_shape(variant: &Variant, sizes: LaunchSizes) -> Vec<usize> {
    let LaunchSizes {
        batch,
        heads,
        q_len,
        ..
    } = sizes;
    let head_dim = variant.head_dim as usize;
    match variant.layout {
        Layout::Bnsd => vec![batch, heads, q_len, head_dim],
        Layout::Bsnd => vec![batch, q_len, heads, head_dim],
        Layout::Bsh => vec![batch, q_len, heads * head_dim],
        Layout::Sbh => vec![q_len, batch, heads * head_dim],
        Layout::Tnd => vec![q_len, heads, head_dim],
    }
}

/// Sizes that q, k and v agree on.
fn sizes(
    variant: &Variant,
    arguments: &Arguments<'_>,
    logical: [&TensorView<'_>; 3],
    faults: &mut Vec<Diagnostic>,
) -> LaunchSizes {
    let [q, k, v] = logical.map(TensorView::shape);
    let layout = variant.layout;
    let mut agree = |what: &str, a: (&str, usize), b: (&str, usize)| {
        if a.1 != b.1 {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!("{what}: `{}` has {}, `{}` has {}", a.0, a.1, b.0, b.1),
                format!(
                    "pass a `{}` of {} {what}, as `{}` has; layout `{}` is [{}]",
                    b.0,
                    a.1,
                    a.0,
                    layout.name(),
                    axes(layout)
                ),
            ));
        }
    };
    agree("sequences", ("q", q[0]), ("k", k[0]));
    agree("sequences", ("q", q[0]), ("v", v[0]));
    agree("key/value heads", ("k", k[1]), ("v", v[1]));
    agree("key rows", ("k", k[2]), ("v", v[2]));
    heads(variant, q[1], k[1], faults);
    LaunchSizes {
        batch: batch(variant, &arguments.packed, [q[0], q[2], k[2]], faults),
        heads: q[1],
        kv_heads: k[1],
        q_len: q[2],
        kv_len: k[2],
    }
}

/// Head counts against the file, and against each other.
fn heads(variant: &Variant, heads: usize, kv_heads: usize, faults: &mut Vec<Diagnostic>) {
    for (name, declared, actual) in [
        ("heads", variant.heads, heads),
        ("kv_heads", variant.kv_heads, kv_heads),
    ] {
        if let Some(declared) = declared
            && declared as usize != actual
        {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!("`{name}` is declared {declared}, the tensors have {actual}"),
                format!("pass tensors of {declared} heads, or leave `{name}` out of the file"),
            ));
        }
    }
    if heads > 0 && (kv_heads == 0 || !heads.is_multiple_of(kv_heads)) {
        faults.push(Diagnostic::error(
            LAUNCH_HEADS,
            format!("{kv_heads} key/value heads do not divide {heads} query heads"),
            "pass a number of key/value heads that divides the query heads",
        ));
    }
}

/// The number of sequences: a dimension, or what the cumulative lengths say.
fn batch(
    variant: &Variant,
    packed: &Option<PackedLengths>,
    [batch, q_rows, kv_rows]: [usize; 3],
    faults: &mut Vec<Diagnostic>,
) -> usize {
    match (variant.layout, packed) {
        (Layout::Tnd, Some(packed)) => packed_batch(packed, q_rows, kv_rows, faults),
        (Layout::Tnd, None) => {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                "`cu_q` and `cu_kv` are missing",
                "layout `tnd` takes the cumulative lengths of the packed sequences",
            ));
            0
        }
        (_, Some(_)) => {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!(
                    "`cu_q` and `cu_kv` are passed, layout `{}` has no packed sequences",
                    variant.layout.name()
                ),
                "leave them out, or set `layout = tnd`",
            ));
            batch
        }
        (_, None) => batch,
    }
}

fn packed_batch(
    packed: &PackedLengths,
    q_rows: usize,
    kv_rows: usize,
    faults: &mut Vec<Diagnostic>,
) -> usize {
    if packed.cu_q.len() != packed.cu_kv.len() {
        faults.push(Diagnostic::error(
            LAUNCH_ARGUMENT,
            format!(
                "`cu_q` has {} elements, `cu_kv` has {}",
                packed.cu_q.len(),
                packed.cu_kv.len()
            ),
            "both hold one element more than there are sequences",
        ));
    }
    for (name, cumulative, rows) in [
        ("cu_q", &packed.cu_q, q_rows),
        ("cu_kv", &packed.cu_kv, kv_rows),
    ] {
        let last = cumulative.last().copied().unwrap_or(-1);
        if cumulative.first() != Some(&0) {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!(
                    "`{name}` starts with {}, not 0",
                    cumulative.first().copied().unwrap_or(-1)
                ),
                "put a 0 before the cumulative lengths",
            ));
        }
        if let Some(pair) = cumulative.windows(2).find(|pair| pair[0] > pair[1]) {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!("`{name}` falls from {} to {}", pair[0], pair[1]),
                "cumulative lengths never fall",
            ));
        }
        if i32::try_from(last).is_err() {
            faults.push(Diagnostic::error(
                LAUNCH_LENGTHS,
                format!(
                    "the last element of `{name}` is {last}, kernels count packed rows up to {}",
                    i32::MAX
                ),
                "split the sequences over several launches",
            ));
        }
        if usize::try_from(last) != Ok(rows) {
            faults.push(Diagnostic::error(
                LAUNCH_ARGUMENT,
                format!(
                    "the last element of `{name}` is {last}, the packed tensor has {rows} rows"
                ),
                format!("make the last element of `{name}` the number of rows"),
            ));
        }
    }
    packed.cu_q.len().saturating_sub(1)
}

/// Whether no two elements share an address: each stride passes all that smaller ones reach.
fn is_injective(view: &TensorView<'_>) -> bool {
    let mut axes: Vec<(i64, usize)> = view
        .strides()
        .iter()
        .copied()
        .zip(view.shape().iter().copied())
        .filter(|(_, size)| *size > 1)
        .collect();
    axes.sort_unstable();
    let mut reach = 0_i64;
    view.is_empty()
        || axes.into_iter().all(|(stride, size)| {
            let apart = stride > reach;
            reach = reach.saturating_add(stride.saturating_mul(size as i64 - 1));
            apart
        })
}

/// The addresses that a view spans; empty ones span nothing.
fn addresses(view: &TensorView<'_>) -> std::ops::Range<usize> {
    let elems = span_elems(view.shape(), view.strides()).unwrap_or(0);
    let start = view.as_ptr() as usize;
    start..start.saturating_add(elems.saturating_mul(view.dtype().bytes() as usize))
}

fn overlap(
    name: &str,
    view: &TensorView<'_>,
    others: &[(&str, &TensorView<'_>)],
    faults: &mut Vec<Diagnostic>,
) {
    let own = addresses(view);
    for (other_name, other) in others {
        let other = addresses(other);
        if own.start.max(other.start) < own.end.min(other.end) {
            faults.push(Diagnostic::error(
                LAUNCH_STRIDES,
                format!("`{name}` shares memory with `{other_name}`"),
                format!("write `{name}` into memory of its own"),
            ));
        }
    }
}
