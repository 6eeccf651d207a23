//! Tensors of `candle` as tensors of launches, without a copy, and variants as operations of `candle`.

use bytemuck::cast_slice;
use candle_core::{CpuStorage, CustomOp3, Layout, Shape, Storage, StorageRef, Tensor};
use fa_dsl::ir::eval::Value;
use fa_dsl::philox::Seed;
use fa_dsl::variant::Dtype;
use fa_runtime::{Arguments, Kernel, Outputs, PackedLengths, TensorView, TensorViewMut};

use crate::attention::{Attention, Call, Scalar, output_shapes};
use crate::error::{Error, Result};
use crate::view::{AsView, view_mut};

/// A `candle` tensor that is being read: it keeps writers away for as long as it lives.
pub struct Borrowed<'t> {
    storage: StorageRef<'t>,
    layout: &'t Layout,
}

/// Looks at a tensor on the CPU, whatever its strides. `u8` is read as bool, any value but 0 being true.
///
/// # Errors
/// The tensor is elsewhere, or its elements are of a type that no kernel reads.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use fa::AsView;
///
/// let tensor = Tensor::arange(0_f32, 6., &Device::Cpu)?.reshape((2, 3))?.t()?;
/// let view = fa::candle::view(&tensor)?;
/// assert_eq!(view.as_view().strides(), [1, 3]);
/// assert_eq!(view.as_view().to_f64(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
/// # Ok::<(), fa::Error>(())
/// ```
pub fn view(tensor: &Tensor) -> Result<Borrowed<'_>> {
    let (storage, layout) = tensor.storage_and_layout();
    let borrowed = Borrowed { storage, layout };
    borrowed.checked()?;
    Ok(borrowed)
}

impl Borrowed<'_> {
    fn checked(&self) -> Result<TensorView<'_>> {
        match &*self.storage {
            Storage::Cpu(storage) => view_of(storage, self.layout),
            Storage::Cuda(_) | Storage::Metal(_) => Err(Error::Device),
        }
    }
}

impl AsView for Borrowed<'_> {
    fn as_view(&self) -> TensorView<'_> {
        self.checked().expect("`view` has looked at the tensor")
    }
}

/// Elements of a storage in the order of a layout.
fn view_of<'s>(storage: &'s CpuStorage, layout: &Layout) -> Result<TensorView<'s>> {
    let (dtype, bytes): (Dtype, &[u8]) = match storage {
        CpuStorage::F32(elements) => (Dtype::Fp32, cast_slice(elements)),
        CpuStorage::F16(elements) => (Dtype::Fp16, cast_slice(elements)),
        CpuStorage::BF16(elements) => (Dtype::Bf16, cast_slice(elements)),
        CpuStorage::I32(elements) => (Dtype::Int32, cast_slice(elements)),
        CpuStorage::U8(elements) => (Dtype::Bool, elements),
        other => {
            return Err(Error::Element {
                actual: candle_core::backend::BackendStorage::dtype(other).as_str(),
                expected: "f32, f16, bf16, i32 or u8 (as bool)",
            });
        }
    };
    let first = layout.start_offset() * dtype.bytes() as usize;
    let strides: Vec<i64> = layout
        .stride()
        .iter()
        .map(|stride| *stride as i64)
        .collect();
    let bytes = bytes.get(first..).unwrap_or_default();
    Ok(TensorView::new(dtype, bytes, layout.dims(), &strides)?)
}

/// Runs a call into a new tensor of `candle`.
///
/// # Errors
/// The arguments do not fit the variant or each other.
pub fn forward(call: Call<'_>) -> Result<Tensor> {
    let (kernel, arguments) = call.into_parts();
    let (storage, shape) = run(kernel, &arguments)?;
    let shape = Shape::from(shape);
    let device = &candle_core::Device::Cpu;
    Ok(match storage {
        CpuStorage::F32(elements) => Tensor::from_vec(elements, shape, device)?,
        CpuStorage::F16(elements) => Tensor::from_vec(elements, shape, device)?,
        CpuStorage::BF16(elements) => Tensor::from_vec(elements, shape, device)?,
        _ => unreachable!("outputs are floats"),
    })
}

/// O in memory that `candle` owns, and its shape.
fn run(kernel: &Kernel, arguments: &Arguments<'_>) -> Result<(CpuStorage, Vec<usize>)> {
    let (shape, lse_shape) = output_shapes(kernel.variant(), arguments)?;
    let count = shape.iter().product();
    let mut lse = fa_runtime::Tensor::zeros(Dtype::Fp32, &lse_shape);
    let mut launch = |out: TensorViewMut<'_>| {
        let lse = lse.view_mut();
        kernel.launch(arguments, &mut Outputs { out, lse })
    };
    let storage = match kernel.variant().precision.output {
        Dtype::Fp32 => {
            let mut elements = vec![0.0_f32; count];
            launch(view_mut(&mut elements, &shape)?)?;
            CpuStorage::F32(elements)
        }
        Dtype::Fp16 => {
            let mut elements = vec![half::f16::ZERO; count];
            launch(view_mut(&mut elements, &shape)?)?;
            CpuStorage::F16(elements)
        }
        Dtype::Bf16 => {
            let mut elements = vec![half::bf16::ZERO; count];
            launch(view_mut(&mut elements, &shape)?)?;
            CpuStorage::BF16(elements)
        }
        Dtype::Int8 | Dtype::Int32 | Dtype::Bool => unreachable!("outputs are floats"),
    };
    Ok((storage, shape))
}

/// A variant of the program as an operation of `candle`, for tensors on the CPU. It has no backward pass yet, which
/// `candle` says by name when a gradient asks for it.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
///
/// fa::attention! {
///     attention local { head_dim = 16; precision = fp32; target = cpu; mask = causal; }
/// }
///
/// let q = Tensor::ones((1, 2, 8, 16), DType::F32, &Device::Cpu)?;
/// let out = fa::candle::Op::new(&local::ATTENTION).forward(&q, &q, &q)?;
/// assert_eq!(out.dims(), [1, 2, 8, 16]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Op {
    attention: &'static Attention,
    captured: Vec<(String, Tensor)>,
    params: Vec<(String, Value<f32>)>,
    training: Option<Seed>,
    packed: Option<PackedLengths>,
}

impl Op {
    /// A variant that captures nothing, or whose inputs follow.
    pub fn new(attention: &'static Attention) -> Op {
        Op {
            attention,
            captured: Vec::new(),
            params: Vec::new(),
            training: None,
            packed: None,
        }
    }

    /// Hands over a captured tensor.
    #[must_use]
    pub fn tensor(mut self, name: &str, tensor: &Tensor) -> Op {
        self.captured.push((name.to_owned(), tensor.clone()));
        self
    }

    /// Sets a run-time scalar.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Scalar) -> Op {
        self.params.push((name.to_owned(), value.value()));
        self
    }

    /// Gives the lengths of packed sequences.
    #[must_use]
    pub fn packed(mut self, lengths: PackedLengths) -> Op {
        self.packed = Some(lengths);
        self
    }

    /// Makes it a training launch: dropout acts.
    #[must_use]
    pub fn training(mut self, seed: Seed) -> Op {
        self.training = Some(seed);
        self
    }

    /// O, in the variant's layout and type.
    ///
    /// # Errors
    /// The tensors do not fit the variant or each other, or are not on the CPU.
    pub fn forward(&self, q: &Tensor, k: &Tensor, v: &Tensor) -> candle_core::Result<Tensor> {
        q.apply_op3(k, v, self.clone())
    }

    fn run(&self, [q, k, v]: [TensorView<'_>; 3]) -> Result<(CpuStorage, Vec<usize>)> {
        let captured = self.captured.iter();
        let captured = captured.map(|(name, tensor)| Ok((name, view(tensor)?)));
        let captured = captured.collect::<Result<Vec<_>>>()?;
        let mut arguments = Arguments::new(q, k, v);
        for (name, tensor) in &captured {
            arguments = arguments.with(name, tensor.as_view());
        }
        arguments.params.clone_from(&self.params);
        arguments.training = self.training;
        arguments.packed.clone_from(&self.packed);
        run(self.attention.kernel(), &arguments)
    }
}

impl CustomOp3 for Op {
    fn name(&self) -> &'static str {
        self.attention.name()
    }

    fn cpu_fwd(
        &self,
        q: &CpuStorage,
        q_layout: &Layout,
        k: &CpuStorage,
        k_layout: &Layout,
        v: &CpuStorage,
        v_layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let q = view_of(q, q_layout)?;
        let k = view_of(k, k_layout)?;
        let v = view_of(v, v_layout)?;
        let (storage, shape) = self.run([q, k, v])?;
        Ok((storage, Shape::from(shape)))
    }
}
