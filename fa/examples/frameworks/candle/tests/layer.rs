//! The layer and its operation against `candle`'s own attention.

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::{Module, VarBuilder, VarMap};
use fa::AsView;
use fa::candle::Op;
use fa_example_candle::{SelfAttention, causal, unfused};

mod other {
    fa::attention! {
        attention halves { head_dim = 64; mask = causal; target = cpu; }

        attention alibi {
            head_dim = 64; precision = fp32; target = cpu;
            tensor slopes: fp32[h];
            tensor keep: bool[b, kv_len];
            param heat: float = 1.0;
            mask = keep[b, kv_idx];
            score = score / heat - slopes[h] * float(kv_pos);
        }
    }
}

fn random(shape: &[usize], seed: u32) -> Result<Tensor> {
    let mut state = seed;
    let values = (0..shape.iter().product()).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    });
    Tensor::from_vec(values.collect::<Vec<_>>(), shape, &Device::Cpu)
}

/// The largest difference, and the largest value of the first.
fn distance(one: &Tensor, other: &Tensor) -> Result<(f32, f32)> {
    let largest = |tensor: &Tensor| tensor.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>();
    Ok((largest(&(one - other)?)?, largest(one)?))
}

fn assert_close(one: &Tensor, other: &Tensor, relative: f32) -> Result<()> {
    assert_eq!(one.dims(), other.dims());
    let (difference, largest) = distance(one, other)?;
    assert!(
        difference <= relative * largest,
        "{difference} of {largest}"
    );
    Ok(())
}

#[test]
fn a_layer_equals_that_of_candles_own_parts() -> Result<()> {
    let map = VarMap::new();
    let vars = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
    let layer = SelfAttention::new(4, 2, &vars)?;
    let x = random(&[2, 77, 256], 1)?;
    assert_close(&layer.forward_unfused(&x)?, &layer.forward(&x)?, 2e-5)
}

#[test]
fn strided_tensors_are_read_where_they_are() -> Result<()> {
    let packed = random(&[2, 33, 8, 64], 2)?;
    let q = packed.narrow(2, 0, 4)?;
    let k = packed.narrow(2, 4, 2)?;
    let v = packed.narrow(2, 6, 2)?;
    let view = fa::candle::view(&k)?;
    assert_eq!(view.as_view().strides(), [33 * 512, 512, 64, 1]);
    let op = Op::new(&causal::ATTENTION);
    let copied = op.forward(&q.copy()?, &k.force_contiguous()?, &v.force_contiguous()?)?;
    let in_place = op.forward(&q, &k, &v)?;
    assert_eq!(distance(&copied, &in_place)?.0, 0.0);
    assert_close(&unfused(&q, &k, &v)?.contiguous()?, &in_place, 2e-5)?;
    let call = causal::call(&view, &view, &view);
    assert_eq!(fa::candle::forward(call)?.dims(), [2, 33, 2, 64]);
    Ok(())
}

#[test]
fn halves_and_candles_fused_attention() -> Result<()> {
    let q = random(&[1, 40, 2, 64], 3)?;
    let fused = candle_nn::attention::flash_attn::<f32>(
        &q,
        &q,
        &q,
        0.125,
        candle_nn::attention::AttnMask::causal(),
        None,
        None,
    )?;
    let out = Op::new(&causal::ATTENTION).forward(&q, &q, &q)?;
    assert_close(&fused, &out.transpose(1, 2)?.contiguous()?, 2e-5)?;
    let half = q.to_dtype(DType::F16)?.transpose(1, 2)?;
    let out = Op::new(&other::halves::ATTENTION).forward(&half, &half, &half)?;
    assert_eq!(out.dtype(), DType::F16);
    let exact = half.to_dtype(DType::F32)?.transpose(1, 2)?;
    let exact = unfused(&exact, &exact, &exact)?.transpose(1, 2)?;
    assert_close(&exact.contiguous()?, &out.to_dtype(DType::F32)?, 1e-3)
}

#[test]
fn captured_tensors_and_parameters() -> Result<()> {
    let q = random(&[2, 2, 9, 64], 4)?;
    let slopes = Tensor::new(&[0.5_f32, 0.25], &Device::Cpu)?;
    let keep = Tensor::from_vec(vec![1_u8, 1, 1, 0, 1, 2, 0, 1, 1], (1, 9), &Device::Cpu)?;
    let op = Op::new(&other::alibi::ATTENTION)
        .tensor("slopes", &slopes)
        .tensor("keep", &keep)
        .param("heat", 2.0_f32);
    let out = op.forward(&q, &q, &q)?;
    let scores = (q.matmul(&q.t()?)? / 16.0)?;
    let rows = Tensor::arange(0_u32, 9, &Device::Cpu)?.to_dtype(DType::F32)?;
    let bias = slopes
        .reshape((2, 1))?
        .broadcast_mul(&rows.reshape((1, 9))?)?;
    let scores = scores.broadcast_sub(&bias.reshape((1, 2, 1, 9))?)?;
    let never = Tensor::new(f32::NEG_INFINITY, &Device::Cpu)?.broadcast_as(scores.shape())?;
    let scores = keep
        .reshape((1, 1, 1, 9))?
        .broadcast_as(scores.shape())?
        .where_cond(&scores, &never)?;
    let weights = candle_nn::ops::softmax_last_dim(&scores)?;
    assert_close(&weights.matmul(&q)?, &out, 2e-5)?;
    let error = Op::new(&other::alibi::ATTENTION).forward(&q, &q, &q);
    let error = error.expect_err("nothing is captured").to_string();
    assert!(
        error.contains("`slopes`") && error.contains("`keep`"),
        "{error}"
    );
    Ok(())
}

#[test]
fn what_is_not_supported_is_said() -> Result<()> {
    let op = Op::new(&causal::ATTENTION);
    let q = random(&[1, 4, 2, 64], 5)?;
    let double = q.to_dtype(DType::F64)?;
    let error = op.forward(&double, &q, &q).expect_err("f64").to_string();
    assert!(error.contains("f64"), "{error}");
    let error = op
        .forward(&q, &q.narrow(3, 0, 32)?, &q)
        .expect_err("too narrow");
    assert!(error.to_string().contains("`k`"), "{error}");
    let variable = Var::from_tensor(&q)?;
    let error = op.forward(&variable, &q, &q)?.sum_all()?.backward();
    let error = error.expect_err("no backward pass").to_string();
    assert!(error.contains("causal"), "{error}");
    Ok(())
}
