//! Owned tensors: a type, a shape, strides in elements, and 64-byte aligned storage.

use std::fmt;
use std::slice;

use fa_dsl::variant::Dtype;

use crate::error::Result;
use crate::view::{TensorView, TensorViewMut, contiguous_strides};

/// Alignment of a tensor's storage, bytes.
pub const ALIGN_BYTES: usize = 64;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGN_BYTES]);

/// An owned tensor in row-major order.
#[derive(Clone)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    lines: Vec<Line>,
}

/// Elements that the debug form shows.
const SHOWN: usize = 8;

impl fmt::Debug for Tensor {
    /// Type, shape and the first elements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len: usize = self.shape.iter().product();
        let shown = len.min(SHOWN);
        let bytes = shown * self.dtype.bytes() as usize;
        let first = Tensor::from_bytes(self.dtype, &[shown], &self.bytes()[..bytes]);
        let mut list: Vec<String> = first.to_f64().iter().map(f64::to_string).collect();
        if len > SHOWN {
            list.push("…".to_owned());
        }
        let (name, shape, list) = (self.dtype.name(), &self.shape, list.join(", "));
        write!(f, "Tensor({name} {shape:?}: [{list}])")
    }
}

impl Tensor {
    /// A tensor of zeros.
    pub fn zeros(dtype: Dtype, shape: &[usize]) -> Tensor {
        let bytes = shape.iter().product::<usize>() * dtype.bytes() as usize;
        Tensor {
            dtype,
            shape: shape.to_vec(),
            lines: vec![Line([0; ALIGN_BYTES]); bytes.div_ceil(ALIGN_BYTES)],
        }
    }

    /// A tensor of these elements in row-major order, rounded to the type.
    ///
    /// # Panics
    /// The number of values is not that of the shape.
    pub fn from_f64(dtype: Dtype, shape: &[usize], values: &[f64]) -> Tensor {
        assert_eq!(
            values.len(),
            shape.iter().product::<usize>(),
            "values of shape {shape:?}"
        );
        let mut tensor = Tensor::zeros(dtype, shape);
        tensor.view_mut().write_f64(values);
        tensor
    }

    /// A tensor of fp32 elements in row-major order.
    ///
    /// # Panics
    /// The number of values is not that of the shape.
    pub fn from_f32(shape: &[usize], values: &[f32]) -> Tensor {
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        Tensor::from_f64(Dtype::Fp32, shape, &values)
    }

    /// A tensor over bytes in row-major order, little endian.
    ///
    /// # Panics
    /// The number of bytes is not that of type and shape.
    pub fn from_bytes(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Tensor {
        let mut tensor = Tensor::zeros(dtype, shape);
        tensor.bytes_mut().copy_from_slice(bytes);
        tensor
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn byte_len(&self) -> usize {
        self.len() * self.dtype.bytes() as usize
    }

    /// The storage.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `lines` holds at least that many initialised bytes.
        unsafe { slice::from_raw_parts(self.lines.as_ptr().cast(), self.byte_len()) }
    }

    /// The storage, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.byte_len();
        // SAFETY: as in `bytes`; the borrow is unique.
        unsafe { slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), len) }
    }

    /// The whole tensor.
    pub fn view(&self) -> TensorView<'_> {
        let strides = contiguous_strides(&self.shape);
        TensorView::new(self.dtype, self.bytes(), &self.shape, &strides)
            .expect("a tensor's own shape fits its storage")
    }

    /// The whole tensor, to be written.
    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let (dtype, shape) = (self.dtype, self.shape.clone());
        let strides = contiguous_strides(&shape);
        TensorViewMut::new(dtype, self.bytes_mut(), &shape, &strides)
            .expect("a tensor's own shape fits its storage")
    }

    /// The same elements in another shape.
    ///
    /// # Panics
    /// The number of elements differs.
    #[must_use]
    pub fn reshape(mut self, shape: &[usize]) -> Tensor {
        assert_eq!(self.len(), shape.iter().product::<usize>(), "elements");
        self.shape = shape.to_vec();
        self
    }

    /// All elements in row-major order.
    pub fn to_f64(&self) -> Vec<f64> {
        self.view().to_f64()
    }

    /// The same values in another type, rounded to nearest even.
    pub fn convert(&self, dtype: Dtype) -> Tensor {
        if dtype == self.dtype {
            return self.clone();
        }
        Tensor::from_f64(dtype, &self.shape, &self.to_f64())
    }

    /// A view with other shape and strides over the storage.
    ///
    /// # Errors
    /// It reaches beyond the storage.
    pub fn strided(&self, shape: &[usize], strides: &[i64]) -> Result<TensorView<'_>> {
        TensorView::new(self.dtype, self.bytes(), shape, strides)
    }
}
