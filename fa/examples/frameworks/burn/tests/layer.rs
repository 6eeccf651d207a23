//! The layer and its attention against `burn`'s own.

use anyhow::Result;
use burn::module::Module;
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{DType, Device, Tensor, TensorData};
use fa::AsView;
use fa_example_burn::{Borrowed, SelfAttention, alibi, attend, bias, by_head, forward, unfused};

fa::attention! {
    attention halves { head_dim = 32; mask = causal; target = cpu; }
}

fn random<const D: usize>(shape: [usize; D], seed: u32) -> Tensor<D> {
    let mut state = seed;
    let values = (0..shape.iter().product()).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    });
    let values = TensorData::new(values.collect::<Vec<_>>(), shape);
    Tensor::from_data(values, &Device::flex())
}

fn slopes(heads: i32) -> Tensor<1> {
    let slopes: Vec<f32> = (1..=heads).map(|head| 0.5_f32.powi(head)).collect();
    Tensor::from_data(&slopes[..], &Device::flex())
}

/// Fails where the largest difference is more than `relative` of the largest value.
fn assert_close<const D: usize>(expected: Tensor<D>, actual: Tensor<D>, relative: f32) {
    assert_eq!(expected.dims(), actual.dims());
    let largest = expected.clone().abs().max().into_scalar::<f32>();
    let difference = (expected - actual).abs().max().into_scalar::<f32>();
    assert!(
        largest > 0.0 && difference <= relative * largest,
        "{difference} of {largest}"
    );
}

#[test]
fn a_layer_equals_that_of_burns_own_parts() -> Result<()> {
    let layer = SelfAttention::new(slopes(4), 2, &Device::flex());
    assert_eq!(layer.num_params(), 128 * (128 + 64 + 64 + 128));
    let x = random([2, 77, 128], 1);
    assert_close(layer.forward_unfused(x.clone()), layer.forward(x)?, 2e-5);
    Ok(())
}

#[test]
fn strided_tensors_are_read_where_they_are() -> Result<()> {
    let packed = random([2, 33, 8, 32], 2);
    let [q, k, v] = [(0, 4), (4, 2), (6, 2)].map(|(first, heads)| packed.clone().narrow(2, first, heads));
    let memory = Borrowed::new(packed.clone())?;
    let view = Borrowed::new(k.clone())?;
    assert_eq!(view.as_view().strides(), [33 * 256, 256, 32, 1]);
    let offset = view.as_view().as_ptr() as usize - memory.as_view().as_ptr() as usize;
    assert_eq!(offset, 4 * 32 * size_of::<f32>());
    let in_place = attend(q.clone(), k.clone(), v.clone(), slopes(4))?;
    assert_close(unfused(q, k, v, slopes(4)), in_place, 2e-5);
    Ok(())
}

#[test]
fn it_equals_burns_fused_attention() -> Result<()> {
    let (q, k, v) = (random([2, 40, 4, 32], 3), random([2, 40, 2, 32], 4), random([2, 40, 2, 32], 5));
    let [by_q, by_k, by_v] = [&q, &k, &v].map(|tensor| by_head(tensor.clone(), 4));
    let bias = (-bias(slopes(4), 40)).expand([2, 4, 40, 40]);
    let causal = AttentionModuleOptions {
        is_causal: true,
        ..AttentionModuleOptions::default()
    };
    let fused = attention(by_q.clone(), by_k.clone(), by_v.clone(), None, Some(bias), causal);
    let out = attend(q, k, v, slopes(4))?;
    assert_close(fused, out.swap_dims(1, 2), 2e-5);

    let half = [by_q, by_k, by_v].map(|tensor| tensor.cast(DType::F16));
    let exact = half.clone().map(|tensor| tensor.cast(DType::F32));
    let [q, k, v] = exact;
    let exact = attention(q, k, v, None, None, causal);
    let [q, k, v] = half.map(Borrowed::new);
    let out = forward::<fa::f16>(halves::call(&q?, &k?, &v?))?;
    assert_eq!(out.dtype(), DType::F16);
    assert_close(exact, out.cast(DType::F32), 1e-3);
    Ok(())
}

#[test]
fn what_is_not_supported_is_said() -> Result<()> {
    let q = random([1, 4, 2, 32], 6);
    let error = Borrowed::new(q.clone().cast(DType::F64)).expect_err("f64");
    assert!(error.to_string().contains("F64"), "{error}");
    let error = Borrowed::new(q.clone().flip([1])).expect_err("backwards");
    assert!(error.to_string().contains("strides"), "{error}");
    let error = attend(q.clone(), q.clone().narrow(3, 0, 16), q.clone(), slopes(2));
    let error = error.expect_err("too narrow").to_string();
    assert!(error.contains("`k`"), "{error}");
    let error = attend(q.clone(), q.clone(), q.clone(), slopes(3));
    let error = error.expect_err("too many slopes").to_string();
    assert!(error.contains("`slopes`"), "{error}");
    let q = Borrowed::new(q)?;
    let slopes = Borrowed::new(slopes(2))?;
    let inputs = alibi::Inputs {
        slopes: fa::View::try_from(slopes.as_view())?,
    };
    let error = forward::<fa::f16>(alibi::call(&q, &q, &q, inputs));
    let error = error.expect_err("another type").to_string();
    assert!(error.contains("fp32"), "{error}");
    Ok(())
}
