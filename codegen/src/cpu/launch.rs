//! The launch block and the entry of the emitted file: what host and kernel agree on.

use fa_dsl::ir::Type;
use fa_dsl::variant::{Dim, PackedAxis, Size, Tensor, Variant};

use super::Plan;
use super::assemble::element;
use super::text;
use super::view::{FixedSize, LaunchField, TensorView};

/// Fields of the launch block that every kernel has, 208 bytes: name, elements, bytes of one, type, role.
const COMMON_FIELDS: &[(&str, &str, u32, &str)] = &[
    ("batch", "i64", 8, "Sequences."),
    ("heads", "i64", 8, "Query heads."),
    ("kv_heads", "i64", 8, "Key/value heads; divides `heads`."),
    ("q_len", "i64", 8, "Query rows of a sequence."),
    ("kv_len", "i64", 8, "Key rows of a sequence."),
    (
        "q_stride",
        "[i64; 4]",
        32,
        "Strides of Q by sequence, head, row and column.",
    ),
    ("k_stride", "[i64; 4]", 32, "Strides of K."),
    ("v_stride", "[i64; 4]", 32, "Strides of V."),
    ("out_stride", "[i64; 4]", 32, "Strides of O."),
    (
        "lse_stride",
        "[i64; 3]",
        24,
        "Strides of LSE by sequence, head and row.",
    ),
    ("seed", "u64", 8, "Seed of dropout."),
    ("offset", "u32", 4, "Last word of the counter of dropout."),
    ("training", "u32", 4, "1 where dropout acts, else 0."),
];

/// The launch block: common fields, strides of captured tensors, parameters, padding.
pub(super) fn launch_fields(plan: &Plan) -> (Vec<LaunchField>, u32) {
    let mut list: Vec<LaunchField> = Vec::new();
    let mut offset = 0;
    let mut push = |name: &str, ty: &str, bytes: u32, role: &str| {
        list.push(LaunchField {
            role: role.to_owned(),
            name: name.to_owned(),
            ty: ty.to_owned(),
            offset,
        });
        offset += bytes;
    };
    for (name, ty, bytes, role) in COMMON_FIELDS {
        let role = match (*name, plan.is_packed()) {
            ("q_len", true) => "Query rows of the longest sequence.",
            ("kv_len", true) => "Key rows of the longest sequence.",
            _ => role,
        };
        push(name, ty, *bytes, role);
    }
    for (tensor, field) in plan.variant.tensors.iter().zip(&plan.hoisted.tensors) {
        let role = format!(
            "Strides of `{}`, outermost first; 0 broadcasts.",
            tensor.name
        );
        push(&format!("{field}_stride"), "[i64; 4]", 32, &role);
    }
    for (param, field) in plan.variant.params.iter().zip(&plan.hoisted.params) {
        let (ty, words) = match param.ty {
            Type::Int => ("i32", "an int"),
            Type::Float => ("f32", "a float"),
            Type::Bool => ("u32", "a bool, 0 or 1"),
        };
        push(
            field,
            ty,
            4,
            &format!("Parameter `{}`, {words}.", param.name),
        );
    }
    if plan.variant.params.len() % 2 == 1 {
        push(
            "padding",
            "u32",
            4,
            "Fills the block up to whole words of 8 bytes.",
        );
    }
    (list, offset)
}

/// Sizes of Q, K, V, O and LSE by sequence, head, row and column. Packed rows are those of all sequences.
pub(super) fn size_lines(plan: &Plan) -> Vec<String> {
    let (batch, q_rows, kv_rows) = if plan.is_packed() {
        ("1", "q_rows", "kv_rows")
    } else {
        ("batch", "q_len", "kv_len")
    };
    [
        ("q", "heads", q_rows, "HEAD_DIM as i64"),
        ("k", "kv_heads", kv_rows, "HEAD_DIM as i64"),
        ("v", "kv_heads", kv_rows, "V_HEAD_DIM as i64"),
        ("out", "heads", q_rows, "V_HEAD_DIM as i64"),
        ("lse", "heads", q_rows, "1"),
    ]
    .map(|(name, heads, rows, width)| {
        format!("let {name}_sizes = [{batch}, {heads}, {rows}, {width}];")
    })
    .to_vec()
}

pub(super) fn tensors(plan: &Plan) -> Vec<TensorView> {
    plan.variant
        .tensors
        .iter()
        .zip(&plan.hoisted.tensors)
        .zip(own_pointers(plan).len()..)
        .map(|((tensor, name), pointer)| {
            let packed = tensor.packed_axis(plan.variant.layout);
            let args = [
                format!("pointers[{pointer}]"),
                format!("[{}]", sizes(tensor, packed).join(", ")),
                format!("launch.{name}_stride"),
            ];
            TensorView {
                name: name.clone(),
                element: element(tensor.dtype).to_owned(),
                lines: text::call(16, &format!("{name}: View::new"), &args, ","),
                sequence_line: match packed {
                    Some(packed) => format!(
                        "{name}: self.{name}.starting_at({}, {}),",
                        packed.rows,
                        first_row(packed.size)
                    ),
                    None => format!("{name}: self.{name},"),
                },
            }
        })
        .collect()
}

/// Pointers that every kernel of the layout has, in order.
pub(super) fn own_pointers(plan: &Plan) -> Vec<&'static str> {
    let mut names = vec!["q", "k", "v", "out", "lse"];
    if plan.is_packed() {
        names.extend(["cu_q", "cu_kv"]);
    }
    names
}

/// The local that holds a sequence's first row of this kind.
fn first_row(size: Size) -> &'static str {
    match size {
        Size::QLen => "first_q",
        _ => "first_kv",
    }
}

/// Four sizes; those of axes that a tensor does not have are 1. A packed axis has all rows of all sequences.
fn sizes(tensor: &Tensor, packed: Option<PackedAxis>) -> Vec<String> {
    let mut list: Vec<String> = tensor.dims.iter().map(size).collect();
    if let Some(packed) = packed {
        list[packed.batch] = "1".to_owned();
        list[packed.rows] = match packed.size {
            Size::QLen => "q_rows".to_owned(),
            _ => "kv_rows".to_owned(),
        };
    }
    list.resize(4, "1".to_owned());
    list
}

/// Elements along an axis of a captured tensor, for the task at hand.
pub(super) fn length(tensor: &Tensor, axis: usize) -> String {
    sum(&tensor.dims[axis], "task.problem.launch.")
}

fn size(dim: &Dim) -> String {
    sum(dim, "")
}

/// A dimension as a sum of fields of the launch block.
fn sum(dim: &Dim, block: &str) -> String {
    let mut terms: Vec<String> = dim
        .sizes
        .iter()
        .map(|size| {
            let field = match size {
                Size::B => "batch",
                Size::H => "heads",
                Size::KvH => "kv_heads",
                Size::QLen => "q_len",
                Size::KvLen => "kv_len",
            };
            format!("{block}{field}")
        })
        .collect();
    let sign = if dim.constant < 0 { "-" } else { "+" };
    match (terms.is_empty(), dim.constant) {
        (true, constant) => constant.to_string(),
        (false, 0) => terms.join(" + "),
        (false, constant) => {
            let last = terms.pop().expect("not empty");
            terms.push(format!("{last} {sign} {}", constant.unsigned_abs()));
            terms.join(" + ")
        }
    }
}

pub(super) fn fixed_sizes(variant: &Variant) -> Vec<FixedSize> {
    [("heads", variant.heads), ("kv_heads", variant.kv_heads)]
        .into_iter()
        .filter(|(_, fixed)| fixed.is_some())
        .map(|(field, _)| FixedSize {
            field: field.to_owned(),
            constant: field.to_uppercase(),
        })
        .collect()
}

pub(super) fn refusal_phrase(variant: &Variant) -> String {
    let fields: Vec<String> = fixed_sizes(variant)
        .into_iter()
        .map(|fixed| format!("`{}`", fixed.field))
        .collect();
    if fields.is_empty() {
        return String::new();
    }
    format!(", or 1 where {} is not as compiled in", fields.join(" or "))
}

pub(super) fn pointer_lines(plan: &Plan) -> Vec<String> {
    let mut names = own_pointers(plan);
    names.extend(
        plan.variant
            .tensors
            .iter()
            .map(|tensor| tensor.name.as_str()),
    );
    let list: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let text = format!(
        "`pointers` holds {}; `lse` may be null. Any split of the tasks over threads gives the same bits. \
         Returns 0{}{}.",
        list.join(", "),
        refusal_phrase(&plan.variant),
        if plan.is_packed() {
            ", or 2 where a sequence is longer than the longest"
        } else {
            ""
        }
    );
    text::comment("/// ", &text)
}

pub(super) fn export_attribute(symbol: &str, function: &str) -> String {
    if symbol == function {
        "#[unsafe(no_mangle)]".to_owned()
    } else {
        format!("#[unsafe(export_name = \"{symbol}\")]")
    }
}
