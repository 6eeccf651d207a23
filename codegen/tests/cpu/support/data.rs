//! Inputs of a launch: numbers, storage with strides, captured tensors.

use std::ffi::c_void;

use fa_dsl::ir::eval::Value;
use fa_dsl::philox::Seed;
use fa_dsl::reference::{Captured, Elements, Sizes};
use fa_dsl::variant::{Dtype, Variant};
use half::{bf16, f16};

/// How logical `[b, h, n, d]` elements lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strides {
    /// `[b, h, n, d]`.
    Bnsd,
    /// `[b, n, h, d]`.
    Bsnd,
    /// `[n, b, h * d]`.
    Sbh,
    /// Every second element of `[b, h, n, 2 * d]`.
    Sliced,
    /// `[b, h, d, n]`.
    Transposed,
}

/// A change of Q, K and V.
pub(crate) type Edit = fn(&Sizes, &mut [Vec<f64>; 3]);

/// One launch of a variant.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) sizes: Sizes,
    /// Distinguishes random inputs.
    pub(crate) salt: u64,
    /// Scales random inputs.
    pub(crate) amplitude: f32,
    pub(crate) strides: Strides,
    pub(crate) out_strides: Strides,
    pub(crate) captured: Vec<Data>,
    pub(crate) params: Vec<Value<f32>>,
    pub(crate) training: Option<Seed>,
    pub(crate) threads: i64,
    pub(crate) wants_lse: bool,
    /// Changes Q, K and V, each in `[b, h, n, d]` order.
    pub(crate) edit: Option<Edit>,
}

/// A captured tensor's elements and dimensions.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) dims: Vec<usize>,
    pub(crate) elements: Vec<Value<f32>>,
    floats: Vec<f32>,
    ints: Vec<i32>,
    bools: Vec<bool>,
}

impl Data {
    pub(crate) fn floats(dims: &[usize], f: impl Fn(usize) -> f32) -> Data {
        Data::new(dims, |place| Value::Float(f(place)))
    }

    pub(crate) fn ints(dims: &[usize], f: impl Fn(usize) -> i32) -> Data {
        Data::new(dims, |place| Value::Int(f(place)))
    }

    pub(crate) fn bools(dims: &[usize], f: impl Fn(usize) -> bool) -> Data {
        Data::new(dims, |place| Value::Bool(f(place)))
    }

    fn new(dims: &[usize], f: impl Fn(usize) -> Value<f32>) -> Data {
        let mut data = Data {
            dims: dims.to_vec(),
            elements: (0..dims.iter().product()).map(f).collect(),
            floats: Vec::new(),
            ints: Vec::new(),
            bools: Vec::new(),
        };
        for element in &data.elements {
            match element {
                Value::Float(value) => data.floats.push(*value),
                Value::Int(value) => data.ints.push(*value),
                Value::Bool(value) => data.bools.push(*value),
            }
        }
        data
    }

    pub(crate) fn as_captured(&self) -> Captured<'_> {
        let elements = match self.elements.first() {
            Some(Value::Int(_)) => Elements::Int(&self.ints),
            Some(Value::Bool(_)) => Elements::Bool(&self.bools),
            _ => Elements::Float(&self.floats),
        };
        Captured {
            elements,
            dims: self.dims.clone(),
        }
    }
}

/// Bytes of a tensor, NaN between its elements, and its strides.
pub(crate) struct Storage {
    dtype: Dtype,
    dims: [usize; 4],
    pub(crate) strides: [i64; 4],
    words: Vec<u64>,
}

impl Storage {
    /// All NaN.
    pub(crate) fn filled(dtype: Dtype, dims: [usize; 4], order: Strides) -> Storage {
        let strides = strides(dims, order);
        let last: i64 = dims
            .iter()
            .zip(strides)
            .map(|(size, stride)| (*size as i64 - 1).max(0) * stride)
            .sum();
        let bytes = (last as usize + 1) * dtype.bytes() as usize;
        Storage {
            dtype,
            dims,
            strides,
            words: vec![u64::MAX; bytes.div_ceil(8)],
        }
    }

    /// Holding these elements, in `[b, h, n, d]` order.
    pub(crate) fn holding(
        dtype: Dtype,
        dims: [usize; 4],
        order: Strides,
        values: &[f64],
    ) -> Storage {
        let mut storage = Storage::filled(dtype, dims, order);
        for (place, value) in values.iter().enumerate() {
            storage.set(place, *value);
        }
        storage
    }

    pub(crate) fn pointer(&self) -> *mut c_void {
        self.words.as_ptr().cast_mut().cast()
    }

    pub(crate) fn pointer_mut(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    /// Elements in `[b, h, n, d]` order.
    pub(crate) fn logical(&self) -> Vec<f32> {
        (0..self.dims.iter().product())
            .map(|place| self.get(place))
            .collect()
    }

    fn offset(&self, mut place: usize) -> usize {
        let mut offset = 0;
        for axis in (0..4).rev() {
            offset += (place % self.dims[axis]) as i64 * self.strides[axis];
            place /= self.dims[axis];
        }
        offset as usize
    }

    fn bytes(&self, place: usize) -> (usize, usize, u64) {
        let size = self.dtype.bytes() as usize;
        let byte = self.offset(place) * size;
        (byte / 8, byte % 8 * 8, u64::MAX >> (64 - 8 * size))
    }

    fn set(&mut self, place: usize, value: f64) {
        let value = value as f32;
        let bits = match self.dtype {
            Dtype::Fp32 => value.to_bits(),
            Dtype::Fp16 => f16::from_f32(value).to_bits().into(),
            Dtype::Bf16 => bf16::from_f32(value).to_bits().into(),
            Dtype::Int32 => value as i32 as u32,
            Dtype::Bool => u32::from(value != 0.0),
            Dtype::Int8 => unreachable!("not used here"),
        };
        let (word, shift, mask) = self.bytes(place);
        self.words[word] = self.words[word] & !(mask << shift) | u64::from(bits) << shift;
    }

    fn get(&self, place: usize) -> f32 {
        let (word, shift, mask) = self.bytes(place);
        let bits = (self.words[word] >> shift & mask) as u32;
        match self.dtype {
            Dtype::Fp32 => f32::from_bits(bits),
            Dtype::Fp16 => f16::from_bits(bits as u16).to_f32(),
            Dtype::Bf16 => bf16::from_bits(bits as u16).to_f32(),
            _ => unreachable!("outputs are floats"),
        }
    }
}

fn strides(dims: [usize; 4], order: Strides) -> [i64; 4] {
    let [batch, heads, rows, cols] = dims.map(|size| size as i64);
    match order {
        Strides::Bnsd => [heads * rows * cols, rows * cols, cols, 1],
        Strides::Bsnd => [rows * heads * cols, cols, heads * cols, 1],
        Strides::Sbh => [heads * cols, cols, batch * heads * cols, 1],
        Strides::Sliced => [heads * rows * cols * 2, rows * cols * 2, cols * 2, 2],
        Strides::Transposed => [heads * rows * cols, rows * cols, 1, rows],
    }
}

/// A value as a storage type holds it.
pub(crate) fn round(dtype: Dtype, value: f32) -> f32 {
    match dtype {
        Dtype::Fp16 => f16::from_f32(value).to_f32(),
        Dtype::Bf16 => bf16::from_f32(value).to_f32(),
        _ => value,
    }
}

/// Numbers between -1 and 1 that depend on place and salt only.
pub(crate) fn noise(salt: u64, place: usize) -> f32 {
    let mut x = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place as u64;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ x >> 31) >> 40) as f32 / (1 << 23) as f32 - 1.0
}

impl Setup {
    pub(crate) fn new(
        batch: usize,
        heads: usize,
        kv_heads: usize,
        q_len: usize,
        kv_len: usize,
    ) -> Setup {
        Setup {
            sizes: Sizes {
                batch,
                heads,
                kv_heads,
                q_len,
                kv_len,
            },
            salt: 1,
            amplitude: 1.0,
            strides: Strides::Bnsd,
            out_strides: Strides::Bnsd,
            captured: Vec::new(),
            params: Vec::new(),
            training: None,
            threads: 2,
            wants_lse: true,
            edit: None,
        }
    }

    fn dims(&self, variant: &Variant) -> [[usize; 4]; 3] {
        let s = self.sizes;
        [
            [s.batch, s.heads, s.q_len, variant.head_dim as usize],
            [s.batch, s.kv_heads, s.kv_len, variant.head_dim as usize],
            [s.batch, s.kv_heads, s.kv_len, variant.v_head_dim as usize],
        ]
    }

    /// Q, K and V as the storage type holds them, in `[b, h, n, d]` order.
    pub(crate) fn values(&self, variant: &Variant) -> [Vec<f64>; 3] {
        let dims = self.dims(variant);
        let mut values = [0, 1, 2].map(|tensor| {
            (0..dims[tensor].iter().product())
                .map(|place| {
                    let value = noise(self.salt * 3 + tensor as u64, place) * self.amplitude;
                    f64::from(round(variant.precision.qkv, value))
                })
                .collect()
        });
        if let Some(edit) = self.edit {
            edit(&self.sizes, &mut values);
        }
        values
    }

    pub(crate) fn inputs(&self, variant: &Variant) -> [Storage; 3] {
        let (values, dims) = (self.values(variant), self.dims(variant));
        [0, 1, 2].map(|tensor| {
            Storage::holding(
                variant.precision.qkv,
                dims[tensor],
                self.strides,
                &values[tensor],
            )
        })
    }

    /// Captured tensors, contiguous; dimensions of size 1 that stand for larger ones have stride 0.
    pub(crate) fn captured_storage(&self, variant: &Variant) -> Vec<Storage> {
        variant
            .tensors
            .iter()
            .zip(&self.captured)
            .map(|(tensor, data)| {
                let values: Vec<f64> = data
                    .elements
                    .iter()
                    .map(|value| match value {
                        Value::Float(value) => f64::from(*value),
                        Value::Int(value) => f64::from(*value),
                        Value::Bool(value) => f64::from(u8::from(*value)),
                    })
                    .collect();
                let mut dims = [1; 4];
                dims[4 - data.dims.len()..].copy_from_slice(&data.dims);
                let mut storage = Storage::holding(tensor.dtype, dims, Strides::Bnsd, &values);
                storage.strides.rotate_left(4 - data.dims.len());
                for (axis, size) in data.dims.iter().enumerate() {
                    if *size == 1 {
                        storage.strides[axis] = 0;
                    }
                }
                storage
            })
            .collect()
    }
}
