//! Names in emitted Ascend C: what the language's words are called there, and user identifiers made safe.

use fa_dsl::ir::{ParamId, TensorId, Var};
use fa_dsl::variant::{Dtype, Size, Tensor, Variant};

/// A captured tensor as emitted code sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Captured {
    name: String,
    dtype: Dtype,
    packed: Option<Packed>,
}

/// The axis of a captured tensor that packed sequences share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// The declared dimension that counts sequences.
    batch: usize,
    /// The one that counts rows within them.
    rows: usize,
    /// Cumulative lengths of these rows, and where the task's own sequence starts.
    lengths: &'static str,
    start: &'static str,
}

impl Packed {
    /// `b, q_len` or `b, kv_len` under `layout = tnd`.
    fn of(variant: &Variant, tensor: &Tensor) -> Option<Packed> {
        let axis = tensor.packed_axis(variant.layout)?;
        let (lengths, start) = match axis.size {
            Size::QLen => ("launch.cuQ", "task.qStart"),
            _ => ("launch.cuKv", "task.kvStart"),
        };
        Some(Packed {
            batch: axis.batch,
            rows: axis.rows,
            lengths,
            start,
        })
    }

    /// The first row of a sequence, as scalar code reads it.
    fn first_row(&self, sequence: &str) -> String {
        if sequence == "task.b" {
            self.start.to_owned()
        } else {
            format!("{}.GetValue({sequence})", self.lengths)
        }
    }
}

/// Emitted names of one variant. User names carry a prefix, so that none can meet a keyword, an API name or one
/// of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    params: Vec<String>,
    captured: Vec<Captured>,
}

impl Names {
    pub(crate) fn new(variant: &Variant) -> Names {
        let mut taken = Vec::new();
        let params = variant
            .params
            .iter()
            .map(|param| unique(&mut taken, "param", &param.name));
        let params = params.collect();
        let captured = variant
            .tensors
            .iter()
            .map(|tensor| Captured {
                name: unique(&mut taken, "captured", &tensor.name),
                dtype: tensor.dtype,
                packed: Packed::of(variant, tensor),
            })
            .collect();
        Names { params, captured }
    }

    /// The field of the tiling struct that holds a parameter.
    pub(crate) fn param_field(&self, param: ParamId) -> &str {
        &self.params[param.0 as usize]
    }

    /// The kernel argument that points to a captured tensor.
    pub(crate) fn captured(&self, tensor: TensorId) -> &str {
        &self.captured[tensor.0 as usize].name
    }

    /// How scalar code reads a parameter.
    pub(super) fn param(&self, param: ParamId) -> String {
        format!("launch.tiling.{}", self.param_field(param))
    }

    /// Products that add up to the offset of an element, in elements of 64 bits. An index of `0` gives none.
    pub(crate) fn offset_terms(&self, tensor: TensorId, index: &[String]) -> Vec<String> {
        let captured = &self.captured[tensor.0 as usize];
        let indices = index.iter().enumerate().map(|(dim, index)| {
            let Some(packed) = captured.packed.filter(|packed| packed.batch == dim) else {
                return (dim, index.clone());
            };
            // Sequence 0 starts at row 0.
            let zero = index == "0";
            let first = if zero {
                index.clone()
            } else {
                packed.first_row(index)
            };
            (packed.rows, first)
        });
        indices
            .filter(|(_, index)| index != "0")
            .map(|(dim, index)| {
                let index = parenthesised(&index);
                format!("{index} * launch.tiling.{}Stride[{dim}]", captured.name)
            })
            .collect()
    }

    /// How scalar code reads an element of a captured tensor, converted to the type it has in expressions.
    pub(super) fn element(&self, tensor: TensorId, index: &[String]) -> String {
        let captured = &self.captured[tensor.0 as usize];
        let terms = self.offset_terms(tensor, index);
        let offset = if terms.is_empty() {
            "0".to_owned()
        } else {
            terms.join(" + ")
        };
        let read = format!("launch.{}.GetValue({offset})", captured.name);
        match captured.dtype {
            Dtype::Fp32 | Dtype::Int32 => read,
            Dtype::Fp16 => format!("static_cast<float>({read})"),
            Dtype::Bf16 => format!("AscendC::ToFloat({read})"),
            Dtype::Int8 => format!("static_cast<int32_t>({read})"),
            Dtype::Bool => format!("({read} != 0)"),
        }
    }

    /// How scalar code reads a name of the language.
    pub(super) fn var(&self, var: Var) -> &'static str {
        match var {
            Var::B => "task.b",
            Var::H => "task.h",
            Var::KvH => "task.kvH",
            Var::QLen => "task.qLen",
            Var::KvLen => "task.kvLen",
            Var::QFirst => "task.qFirst",
            Var::QLast => "task.qLast",
            Var::KvFirst => "kvFirst",
            Var::KvLast => "kvLast",
            Var::QIdx | Var::QPos | Var::KvIdx | Var::Dot | Var::Score => {
                unreachable!("these change within a tile and have no scalar name")
            }
        }
    }
}

fn parenthesised(text: &str) -> String {
    let is_atom = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let is_read = text.starts_with("launch.cu") && text.ends_with(')');
    if is_atom || is_read {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// `prefix` and the user's name in one camelCase word that no earlier one equals.
fn unique(taken: &mut Vec<String>, prefix: &str, name: &str) -> String {
    let mut word = prefix.to_owned() + &pascal_case(name);
    while taken.contains(&word) {
        word.push('X');
    }
    taken.push(word.clone());
    word
}

/// `local_softcap` to `LocalSoftcap`.
pub(crate) fn pascal_case(name: &str) -> String {
    name.split('_')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let mut chars = part.chars();
            let first = chars.next().expect("empty parts are left out");
            first.to_uppercase().chain(chars).collect::<String>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_never_collide() {
        let mut taken = Vec::new();
        assert_eq!(unique(&mut taken, "param", "my_scale"), "paramMyScale");
        assert_eq!(unique(&mut taken, "param", "myScale"), "paramMyScaleX");
    }
}
