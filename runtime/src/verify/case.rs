//! Inputs of a verification: sizes that meet the edges, and random tensors of those sizes.

use fa_dsl::ir::Type;
use fa_dsl::ir::eval::Value;
use fa_dsl::philox::Seed;
use fa_dsl::variant::{Dtype, Layout, PackedAxis, Size, Tensor as Declared, Variant};
use serde::Serialize;

use super::random::Random;
use crate::kernel::Backend;
use crate::launch::{Arguments, LaunchSizes, Outputs, PackedLengths, lse_shape, output_shape};
use crate::tensor::Tensor;

/// Mean length of a document in random inputs.
const MEAN_DOCUMENT: usize = 24;
/// Keeps the lengths of packed sequences apart from the elements of their tensors.
const PACKED: u64 = 0x7061_636b;

/// Sizes of one launch; lengths are per sequence, and of the longest where sequences are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Sequences.
    pub batch: usize,
    /// Query heads.
    pub heads: usize,
    /// Key/value heads.
    pub kv_heads: usize,
    /// Query rows.
    pub q_len: usize,
    /// Key rows.
    pub kv_len: usize,
}

/// Tensors and scalars of one launch.
#[derive(Clone, Debug)]
pub struct Case {
    /// Sizes.
    pub shape: Shape,
    /// A training launch.
    pub training: Option<Seed>,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    captured: Vec<(String, Tensor)>,
    params: Vec<(String, Value<f32>)>,
    packed: Option<PackedLengths>,
}

/// Results to be written.
pub(super) struct CaseResults {
    out: Tensor,
    lse: Tensor,
}

/// Sizes for a variant: single rows, no multiple of any tile, more queries than keys, no keys, no queries.
pub fn shapes(variant: &Variant) -> Vec<Shape> {
    let kv_heads = variant.kv_heads.or(variant.heads).unwrap_or(2) as usize;
    let heads = variant.heads.map_or(2 * kv_heads, |heads| heads as usize);
    let lengths = [
        (1, 1, 1),
        (2, 17, 17),
        (1, 128, 128),
        (1, 129, 130),
        (1, 5, 300),
        (1, 70, 33),
        (2, 1, 257),
        (1, 3, 0),
        (1, 0, 3),
        (1, 296, 296),
    ];
    // Packed sequences differ in length: it takes some of them to meet.
    let further = if variant.layout == Layout::Tnd { 2 } else { 0 };
    lengths
        .map(|(batch, q_len, kv_len)| Shape {
            batch: batch + further,
            heads,
            kv_heads,
            q_len,
            kv_len,
        })
        .to_vec()
}

/// A size of real work, as far as a backend is quick enough: eight heads of 1024 x 1024 on the CPU, one head of
/// 512 x 512 where the emulator interprets each instruction. Heads are those of the file, and lengths shrink where
/// there are more.
pub fn large(variant: &Variant, backend: Backend) -> Option<Shape> {
    let (heads, len): (u32, u32) = match backend {
        Backend::Reference => return None,
        Backend::Cpu => (8, 1024),
        Backend::Ascend => (1, 512),
    };
    let kv_heads = variant.kv_heads.or(variant.heads).unwrap_or(heads.min(2));
    let declared = variant
        .heads
        .unwrap_or(kv_heads.max(heads / kv_heads * kv_heads));
    let shorter = (f64::from(heads) / f64::from(declared.max(heads))).sqrt();
    let len = (f64::from(len) * shorter) as usize;
    Some(Shape {
        batch: 1,
        heads: declared as usize,
        kv_heads: kv_heads as usize,
        q_len: len,
        kv_len: len,
    })
}

impl Case {
    /// Standard normal q, k, v and floats; ints that are lengths or positions, or by key documents; fair bools.
    pub fn random(variant: &Variant, shape: Shape, seed: u64, training: bool) -> Case {
        let mut random = Random::new(seed);
        let mut normal = |dtype: Dtype, dims: &[usize]| {
            let values: Vec<f64> = (0..dims.iter().product())
                .map(|_| random.normal())
                .collect();
            Tensor::from_f64(dtype, dims, &values)
        };
        let qkv = variant.precision.qkv;
        let packed = (variant.layout == Layout::Tnd).then(|| packed_lengths(shape, seed));
        let tensor_shape = |heads, len, packed_rows: Option<usize>, width: u32| {
            let len = packed_rows.unwrap_or(len);
            layout_shape(variant.layout, shape.batch, heads, len, width as usize)
        };
        let rows = |side: fn(&PackedLengths) -> &Vec<i64>| packed.as_ref().map(|p| total(side(p)));
        let (q_rows, kv_rows) = (rows(|packed| &packed.cu_q), rows(|packed| &packed.cu_kv));
        let q = normal(
            qkv,
            &tensor_shape(shape.heads, shape.q_len, q_rows, variant.head_dim),
        );
        let k = normal(
            qkv,
            &tensor_shape(shape.kv_heads, shape.kv_len, kv_rows, variant.head_dim),
        );
        let v = normal(
            qkv,
            &tensor_shape(shape.kv_heads, shape.kv_len, kv_rows, variant.v_head_dim),
        );
        let captured = variant
            .tensors
            .iter()
            .map(|declared| {
                let rows = declared.packed_axis(variant.layout).map(|axis| {
                    let rows = if axis.size == Size::QLen {
                        q_rows
                    } else {
                        kv_rows
                    };
                    (axis, rows.unwrap_or(0))
                });
                let tensor = captured_tensor(declared, shape, rows, &mut random);
                (declared.name.clone(), tensor)
            })
            .collect();
        Case {
            shape,
            training: training.then_some(Seed { seed, offset: 3 }),
            q,
            k,
            v,
            captured,
            params: params(variant),
            packed,
        }
    }

    /// The launch.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments {
            q: self.q.view(),
            k: self.k.view(),
            v: self.v.view(),
            captured: self
                .captured
                .iter()
                .map(|(name, tensor)| (name.clone(), tensor.view()))
                .collect(),
            params: self.params.clone(),
            training: self.training,
            packed: self.packed.clone(),
            strict: false,
        }
    }

    /// Results filled with NaN.
    pub(super) fn empty_results(&self, variant: &Variant) -> CaseResults {
        let nan = |dtype, dims: &[usize]| {
            let values = vec![f64::NAN; dims.iter().product()];
            Tensor::from_f64(dtype, dims, &values)
        };
        let (q_len, kv_len) = match &self.packed {
            Some(packed) => (total(&packed.cu_q), total(&packed.cu_kv)),
            None => (self.shape.q_len, self.shape.kv_len),
        };
        let sizes = LaunchSizes {
            batch: self.shape.batch,
            heads: self.shape.heads,
            kv_heads: self.shape.kv_heads,
            q_len,
            kv_len,
        };
        CaseResults {
            out: nan(
                variant.precision.output,
                &output_shape(variant, self.q.shape()),
            ),
            lse: nan(Dtype::Fp32, &lse_shape(variant, sizes)),
        }
    }
}

impl CaseResults {
    pub(super) fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            out: self.out.view_mut(),
            lse: self.lse.view_mut(),
        }
    }

    /// O and LSE in the reference's order.
    pub(super) fn logical(&self, variant: &Variant) -> (Vec<f64>, Vec<f64>) {
        let shape = self.out.shape();
        let width = variant.v_head_dim as usize;
        let split =
            |outer: usize, inner: usize| [shape[outer], shape[inner], shape[2] / width, width];
        let out = match variant.layout {
            Layout::Bnsd => self.out.clone(),
            Layout::Bsnd => self.out.view().permute(&[0, 2, 1, 3]).to_tensor(),
            Layout::Bsh | Layout::Sbh => {
                let split = self.out.clone().reshape(&split(0, 1));
                let axes: &[usize] = if variant.layout == Layout::Bsh {
                    &[0, 2, 1, 3]
                } else {
                    &[1, 2, 0, 3]
                };
                split.view().permute(axes).to_tensor()
            }
            Layout::Tnd => self.out.view().permute(&[1, 0, 2]).to_tensor(),
        };
        (out.to_f64(), self.lse.to_f64())
    }
}

/// The rows of a tensor in the layout; `len` is the total where sequences are packed.
fn layout_shape(
    layout: Layout,
    batch: usize,
    heads: usize,
    len: usize,
    width: usize,
) -> Vec<usize> {
    match layout {
        Layout::Bnsd => vec![batch, heads, len, width],
        Layout::Bsnd => vec![batch, len, heads, width],
        Layout::Bsh => vec![batch, len, heads * width],
        Layout::Sbh => vec![len, batch, heads * width],
        Layout::Tnd => vec![len, heads, width],
    }
}

/// Sequences of different lengths, the first of which is the longest. Where it has a key for every query row, so
/// have the others, which documents need.
fn packed_lengths(shape: Shape, seed: u64) -> PackedLengths {
    let mut random = Random::new(seed ^ PACKED);
    let (mut cu_q, mut cu_kv) = (vec![0], vec![0]);
    for sequence in 0..shape.batch {
        let (mut q_len, mut kv_len) = (shape.q_len, shape.kv_len);
        if sequence > 0 {
            kv_len = random.below(kv_len + 1);
            q_len = random.below(q_len + 1);
            if shape.q_len <= shape.kv_len {
                q_len = q_len.min(kv_len);
            }
        }
        cu_q.push(cu_q[sequence] + q_len as i64);
        cu_kv.push(cu_kv[sequence] + kv_len as i64);
    }
    PackedLengths { cu_q, cu_kv }
}

/// Rows of all packed sequences.
fn total(cumulative: &[i64]) -> usize {
    let last = cumulative.last().copied().unwrap_or(0);
    usize::try_from(last).expect("lengths are not negative")
}

/// The default where there is one; else a value that changes little.
fn params(variant: &Variant) -> Vec<(String, Value<f32>)> {
    variant
        .params
        .iter()
        .map(|param| {
            let value = param.default.unwrap_or(match param.ty {
                Type::Int => Value::Int(1),
                Type::Float => Value::Float(1.0),
                Type::Bool => Value::Bool(true),
            });
            (param.name.clone(), value)
        })
        .collect()
}

/// `packed` is the tensor's packed axis, and its rows.
fn captured_tensor(
    declared: &Declared,
    shape: Shape,
    packed: Option<(PackedAxis, usize)>,
    random: &mut Random,
) -> Tensor {
    let size_of = |size: &Size| match size {
        Size::B => shape.batch,
        Size::H => shape.heads,
        Size::KvH => shape.kv_heads,
        Size::QLen => shape.q_len,
        Size::KvLen => shape.kv_len,
    };
    let dims: Vec<usize> = declared
        .dims
        .iter()
        .enumerate()
        .filter(|(place, _)| packed.is_none_or(|(axis, _)| axis.batch != *place))
        .map(|(place, dim)| match packed {
            Some((axis, rows)) if axis.rows == place => rows,
            _ => {
                let named: usize = dim.sizes.iter().map(size_of).sum();
                usize::try_from(named as i64 + dim.constant).unwrap_or(0)
            }
        })
        .collect();
    let count = dims.iter().product::<usize>();
    let values: Vec<f64> = match declared.dtype {
        Dtype::Fp32 | Dtype::Fp16 | Dtype::Bf16 => {
            (0..count).map(|_| 0.5 * random.normal()).collect()
        }
        Dtype::Int8 | Dtype::Int32 if is_per_key(declared) => documents(&dims, random),
        Dtype::Int8 | Dtype::Int32 => (0..count)
            .map(|_| random.below(shape.kv_len + 1) as f64)
            .collect(),
        Dtype::Bool => (0..count).map(|_| random.below(2) as f64).collect(),
    };
    Tensor::from_f64(declared.dtype, &dims, &values)
}

/// Whether the innermost dimension is the keys of a sequence.
fn is_per_key(declared: &Declared) -> bool {
    declared
        .dims
        .last()
        .is_some_and(|dim| dim.sizes == [Size::KvLen] && dim.constant == 0)
}

/// Documents one after another, numbered from 0 in each row of keys.
fn documents(dims: &[usize], random: &mut Random) -> Vec<f64> {
    let (rows, keys) = match dims.split_last() {
        Some((keys, rows)) => (rows.iter().product(), *keys),
        None => (0, 0),
    };
    let mut values = Vec::with_capacity(rows * keys);
    for _ in 0..rows {
        let mut document = 0;
        for _ in 0..keys {
            document += usize::from(random.below(MEAN_DOCUMENT) == 0);
            values.push(document as f64);
        }
    }
    values
}
