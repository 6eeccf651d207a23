//! A decoder's attention layer in `burn`, with grouped key/value heads and ALiBi, and the same from `burn`'s own parts.

use anyhow::{Result, anyhow, bail};
use burn::backend::{DType, Flex};
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Bytes, Device, Int, Tensor};
use burn_flex::{FlexTensor, Layout};
use fa::{AsView, Call, Dtype, Element, TensorView, View};

fa::attention! {
    /// Rows lie as the projections write them, so that nothing is transposed or copied.
    attention alibi {
        head_dim = 32; layout = bsnd; precision = fp32; target = cpu;
        tensor slopes: fp32[h];
        mask = causal;
        score = score - slopes[h] * float(q_pos - kv_pos);
    }
}

/// Columns of a head.
pub const HEAD_DIM: usize = 32;

/// A tensor of the backend `flex` as launches read it: the same memory, whatever its strides.
#[derive(Clone, Debug)]
pub struct Borrowed(FlexTensor);

impl Borrowed {
    /// Takes hold of a tensor's memory.
    ///
    /// # Errors
    /// The tensor is of another backend, has elements that no kernel reads, or runs backwards along an axis.
    pub fn new<const D: usize>(tensor: Tensor<D>) -> Result<Borrowed> {
        let tensor = tensor.try_into_primitive::<Flex>();
        let borrowed = Borrowed(tensor.map_err(|error| anyhow!("{error:?}"))?);
        borrowed.checked()?;
        Ok(borrowed)
    }

    fn checked(&self) -> Result<TensorView<'_>> {
        let dtype = match self.0.dtype() {
            DType::F32 => Dtype::Fp32,
            DType::F16 => Dtype::Fp16,
            DType::BF16 => Dtype::Bf16,
            other => bail!("no kernel reads elements of type {other:?}"),
        };
        let layout = self.0.layout();
        let strides = layout.strides().iter().map(|stride| *stride as i64);
        let strides: Vec<i64> = strides.collect();
        let first = layout.start_offset() * dtype.bytes() as usize;
        let bytes = self.0.bytes().get(first..).unwrap_or_default();
        Ok(TensorView::new(dtype, bytes, layout.shape(), &strides)?)
    }
}

impl AsView for Borrowed {
    fn as_view(&self) -> TensorView<'_> {
        self.checked().expect("`new` has looked at the tensor")
    }
}

/// Runs a call whose output has elements of `T` into memory that a new tensor owns.
///
/// # Errors
/// The arguments do not fit the variant or each other, or its output is of another type.
pub fn forward<T: Element + bytemuck::Pod + burn::tensor::Element>(
    call: Call<'_>,
) -> Result<Tensor<4>> {
    let (shape, lse_shape) = call.output_shapes()?;
    let mut out = vec![T::zeroed(); shape.iter().product()];
    let mut lse = vec![0.0_f32; lse_shape.iter().product()];
    let lse = fa::view_mut(&mut lse, &lse_shape)?;
    call.run_into(fa::view_mut(&mut out, &shape)?, lse)?;
    let layout = Layout::contiguous(shape.into());
    let out = FlexTensor::new(
        Bytes::from_elems(out),
        layout,
        <T as burn::tensor::Element>::dtype(),
    );
    Ok(Tensor::from_primitive::<Flex>(out))
}

/// Causal self-attention over `[b, n, width]`, with a slope per head.
#[derive(Debug, Module)]
pub struct SelfAttention {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    slopes: Tensor<1>,
    kv_heads: usize,
}

impl SelfAttention {
    /// A layer with random weights; its `slopes` are one per query head.
    pub fn new(slopes: Tensor<1>, kv_heads: usize, device: &Device) -> SelfAttention {
        let [heads] = slopes.dims();
        let (width, kv_width) = (heads * HEAD_DIM, kv_heads * HEAD_DIM);
        let linear = |rows| LinearConfig::new(width, rows).with_bias(false).init(device);
        SelfAttention {
            q: linear(width),
            k: linear(kv_width),
            v: linear(kv_width),
            out: linear(width),
            slopes,
            kv_heads,
        }
    }

    /// The layer.
    ///
    /// # Errors
    /// `x` is of another width, or of another backend.
    pub fn forward(&self, x: Tensor<3>) -> Result<Tensor<3>> {
        let [q, k, v] = self.project(x);
        Ok(self.merge(attend(q, k, v, self.slopes.clone())?))
    }

    /// The layer with attention from `burn`'s own operations.
    pub fn forward_unfused(&self, x: Tensor<3>) -> Tensor<3> {
        let [q, k, v] = self.project(x);
        self.merge(unfused(q, k, v, self.slopes.clone()))
    }

    /// Q, K and V as `[b, n, h, d]`.
    fn project(&self, x: Tensor<3>) -> [Tensor<4>; 3] {
        let [batch, rows, _] = x.dims();
        let [heads] = self.slopes.dims();
        let projections = [
            (&self.q, heads),
            (&self.k, self.kv_heads),
            (&self.v, self.kv_heads),
        ];
        projections.map(|(linear, heads)| {
            let split = [batch, rows, heads, HEAD_DIM];
            linear.forward(x.clone()).reshape(split)
        })
    }

    fn merge(&self, out: Tensor<4>) -> Tensor<3> {
        self.out.forward(out.flatten(2, 3))
    }
}

/// Causal attention with ALiBi over `[b, n, h, d]`, by the kernel of this program.
///
/// # Errors
/// The tensors do not fit each other, or are not on the CPU.
pub fn attend(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, slopes: Tensor<1>) -> Result<Tensor<4>> {
    let [q, k, v] = [q, k, v].map(Borrowed::new);
    let slopes = Borrowed::new(slopes)?;
    let inputs = alibi::Inputs {
        slopes: View::try_from(slopes.as_view())?,
    };
    forward::<f32>(alibi::call(&q?, &k?, &v?, inputs))
}

/// The same from `burn`'s own operations: two products and a softmax between them.
pub fn unfused(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, slopes: Tensor<1>) -> Tensor<4> {
    let [_, rows, heads, width] = q.dims();
    let device = q.device();
    let [q, k, v] = [q, k, v].map(|tensor| by_head(tensor, heads));
    let scores = q.matmul(k.transpose()) / (width as f64).sqrt();
    let scores = scores - bias(slopes, rows);
    let future = Tensor::<2, Bool>::tril_mask([rows, rows], 0, &device).unsqueeze::<4>();
    let scores = scores.mask_fill(future, f32::NEG_INFINITY);
    softmax(scores, 3).matmul(v).swap_dims(1, 2)
}

/// `[b, n, kv, d]` as `[b, h, n, d]`, each key/value head repeated for the query heads that read it.
pub fn by_head(tensor: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, rows, kv_heads, width] = tensor.dims();
    let group = heads / kv_heads;
    let tensor = tensor.swap_dims(1, 2).unsqueeze_dim::<5>(2);
    let tensor = tensor.repeat_dim(2, group);
    tensor.reshape([batch, heads, rows, width])
}

/// What ALiBi takes from the scores of `rows` queries and as many keys, `[1, h, n, n]`.
pub fn bias(slopes: Tensor<1>, rows: usize) -> Tensor<4> {
    let [heads] = slopes.dims();
    let places = Tensor::<1, Int>::arange(0..rows as i64, &slopes.device()).float();
    let distance = places.clone().reshape([rows, 1]) - places.reshape([1, rows]);
    slopes.reshape([1, heads, 1, 1]) * distance.unsqueeze::<4>()
}
