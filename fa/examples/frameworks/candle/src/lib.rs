//! A decoder's attention layer in `candle`, with grouped key/value heads, and the same from `candle`'s own parts.

use candle_core::{D, Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder};

fa::attention! {
    /// Rows lie as the projections write them, so that nothing is transposed or copied.
    attention causal { head_dim = 64; layout = bsnd; precision = fp32; mask = causal; target = cpu; }
}

/// Columns of a head.
pub const HEAD_DIM: usize = 64;

/// Causal self-attention over `[b, n, width]`.
#[derive(Clone, Debug)]
pub struct SelfAttention {
    q: Linear,
    k: Linear,
    v: Linear,
    out: Linear,
    heads: usize,
    kv_heads: usize,
    attend: fa::candle::Op,
}

impl SelfAttention {
    /// A layer with the weights of `vars`.
    ///
    /// # Errors
    /// Weights that are missing or of another shape.
    pub fn new(heads: usize, kv_heads: usize, vars: &VarBuilder<'_>) -> Result<SelfAttention> {
        let width = heads * HEAD_DIM;
        let linear = |name: &str, rows: usize, columns: usize| {
            candle_nn::linear_no_bias(columns, rows, vars.pp(name))
        };
        Ok(SelfAttention {
            q: linear("q", width, width)?,
            k: linear("k", kv_heads * HEAD_DIM, width)?,
            v: linear("v", kv_heads * HEAD_DIM, width)?,
            out: linear("out", width, width)?,
            heads,
            kv_heads,
            attend: fa::candle::Op::new(&causal::ATTENTION),
        })
    }

    /// Q, K and V as `[b, n, h, d]`.
    fn project(&self, x: &Tensor) -> Result<[Tensor; 3]> {
        let (batch, rows, _) = x.dims3()?;
        let split =
            |linear: &Linear, heads| linear.forward(x)?.reshape((batch, rows, heads, HEAD_DIM));
        Ok([
            split(&self.q, self.heads)?,
            split(&self.k, self.kv_heads)?,
            split(&self.v, self.kv_heads)?,
        ])
    }

    /// The layer with attention from `candle`'s own operations: two products and a softmax between them.
    ///
    /// # Errors
    /// `x` is not `[b, n, width]`.
    pub fn forward_unfused(&self, x: &Tensor) -> Result<Tensor> {
        let [q, k, v] = self.project(x)?;
        self.out.forward(&unfused(&q, &k, &v)?.flatten_from(2)?)
    }
}

impl Module for SelfAttention {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let [q, k, v] = self.project(x)?;
        let out = self.attend.forward(&q, &k, &v)?;
        self.out.forward(&out.flatten_from(2)?)
    }
}

/// Causal attention over `[b, n, h, d]` from `candle`'s own operations.
///
/// # Errors
/// Tensors of other ranks, or lengths that differ.
pub fn unfused(q: &Tensor, k: &Tensor, v: &Tensor) -> Result<Tensor> {
    let (batch, rows, heads, width) = q.dims4()?;
    let group = heads / k.dim(2)?;
    let by_head = |tensor: &Tensor| tensor.transpose(1, 2)?.contiguous();
    let repeated = |tensor: &Tensor| {
        let (_, kv_rows, kv_heads, _) = tensor.dims4()?;
        by_head(tensor)?
            .unsqueeze(2)?
            .expand((batch, kv_heads, group, kv_rows, width))?
            .reshape((batch, heads, kv_rows, width))
    };
    let scores = by_head(q)?.matmul(&repeated(k)?.t()?)?;
    let scores = (scores / (width as f64).sqrt())?;
    let future = Tensor::tril2(rows, candle_core::DType::U8, q.device())?;
    let future = future.broadcast_as(scores.shape())?;
    let blocked = Tensor::new(f32::NEG_INFINITY, q.device())?.to_dtype(q.dtype())?;
    let scores = future.where_cond(&scores, &blocked.broadcast_as(scores.shape())?)?;
    let weights = candle_nn::ops::softmax(&scores, D::Minus1)?;
    weights.matmul(&repeated(v)?)?.transpose(1, 2)
}
