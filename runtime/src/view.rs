//! Borrowed tensors with any strides, zero included. Views reach memory of other owners as well, so launch
//! checks pointers before a kernel sees them.

use std::marker::PhantomData;

use fa_dsl::variant::Dtype;

use crate::element;
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// A tensor to be read.
#[derive(Clone, Debug)]
pub struct TensorView<'a> {
    data: *const u8,
    dtype: Dtype,
    shape: Vec<usize>,
    strides: Vec<i64>,
    storage: PhantomData<&'a [u8]>,
}

/// A tensor to be written.
#[derive(Debug)]
pub struct TensorViewMut<'a> {
    data: *mut u8,
    dtype: Dtype,
    shape: Vec<usize>,
    strides: Vec<i64>,
    storage: PhantomData<&'a mut [u8]>,
}

// SAFETY: a view is a borrow of bytes, which may be read from any thread.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}
// SAFETY: a mutable view is a unique borrow of bytes.
unsafe impl Send for TensorViewMut<'_> {}

/// Strides of row-major order, in elements; those beyond 63 bits are the largest number of 63 bits.
pub fn contiguous_strides(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1_i64;
    for (axis, size) in shape.iter().enumerate().rev() {
        strides[axis] = stride;
        stride = stride.saturating_mul(i64::try_from(*size).unwrap_or(i64::MAX).max(1));
    }
    strides
}

/// One past the last element that these strides reach, counted from the first; 0 if there is no element, and
/// `None` for a negative stride or a reach beyond 63 bits.
pub(crate) fn span_elems(shape: &[usize], strides: &[i64]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let last = shape
        .iter()
        .zip(strides)
        .try_fold(0_i64, |last, (size, stride)| {
            let steps = i64::try_from(size - 1).ok()?;
            last.checked_add(steps.checked_mul(*stride)?)
                .filter(|_| *stride >= 0 || steps == 0)
        })?;
    usize::try_from(last).ok()?.checked_add(1)
}

fn check_bounds(dtype: Dtype, bytes: &[u8], shape: &[usize], strides: &[i64]) -> Result<()> {
    let elem_bytes = dtype.bytes() as usize;
    let fits = shape.len() == strides.len()
        && (bytes.as_ptr() as usize).is_multiple_of(elem_bytes)
        && span_elems(shape, strides)
            .and_then(|elems| elems.checked_mul(elem_bytes))
            .is_some_and(|needed| needed <= bytes.len());
    if fits {
        return Ok(());
    }
    Err(Error::View {
        dtype,
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        bytes: bytes.len(),
    })
}

/// Calls with the offset of each element, in row-major order.
fn for_each_offset(shape: &[usize], strides: &[i64], mut visit: impl FnMut(isize)) {
    let Some((inner_size, outer_shape)) = shape.split_last() else {
        return visit(0);
    };
    let inner_stride = strides[strides.len() - 1] as isize;
    let rows: usize = outer_shape.iter().product();
    if rows == 0 {
        return;
    }
    let mut index = vec![0_usize; outer_shape.len()];
    for _ in 0..rows {
        let base: isize = index
            .iter()
            .zip(strides)
            .map(|(i, stride)| *i as isize * *stride as isize)
            .sum();
        for i in 0..*inner_size {
            visit(base + i as isize * inner_stride);
        }
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < outer_shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

impl<'a> TensorView<'a> {
    /// A view into bytes, whose first element is the first byte.
    ///
    /// # Errors
    /// The strides reach beyond the bytes or are negative, or the bytes are not aligned for the type.
    pub fn new(
        dtype: Dtype,
        bytes: &'a [u8],
        shape: &[usize],
        strides: &[i64],
    ) -> Result<TensorView<'a>> {
        check_bounds(dtype, bytes, shape, strides)?;
        // SAFETY: just checked.
        Ok(unsafe { TensorView::from_raw(dtype, bytes.as_ptr(), shape, strides) })
    }

    /// A view into memory of another owner. A null pointer is accepted here and refused at launch.
    ///
    /// # Safety
    /// Unless null, all elements that shape and strides reach are initialised and stay readable for `'a`.
    pub unsafe fn from_raw(
        dtype: Dtype,
        data: *const u8,
        shape: &[usize],
        strides: &[i64],
    ) -> TensorView<'a> {
        TensorView {
            data,
            dtype,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            storage: PhantomData,
        }
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Sizes, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The first element.
    pub fn as_ptr(&self) -> *const u8 {
        self.data
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The axes in another order.
    ///
    /// # Panics
    /// `axes` is not a permutation.
    #[must_use]
    pub fn permute(&self, axes: &[usize]) -> TensorView<'a> {
        let mut seen = axes.to_vec();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..self.shape.len()), "a permutation");
        TensorView {
            shape: axes.iter().map(|axis| self.shape[*axis]).collect(),
            strides: axes.iter().map(|axis| self.strides[*axis]).collect(),
            ..*self
        }
    }

    /// Every `step`-th index of an axis from `start` on, `len` of them.
    ///
    /// # Panics
    /// The last index lies outside.
    #[must_use]
    pub fn slice(&self, axis: usize, start: usize, len: usize, step: usize) -> TensorView<'a> {
        assert!(
            len == 0 || start + (len - 1) * step < self.shape[axis],
            "{len} indices from {start} by {step} of {}",
            self.shape[axis]
        );
        let mut view = self.clone();
        if len > 0 {
            let elems = start as i64 * self.strides[axis];
            view.data = self
                .data
                .wrapping_offset((elems * i64::from(self.dtype.bytes())) as isize);
        }
        view.shape[axis] = len;
        view.strides[axis] *= step as i64;
        view
    }

    /// An axis of size 1 repeated, with stride 0.
    ///
    /// # Panics
    /// The axis has another size.
    #[must_use]
    pub fn expand(&self, axis: usize, size: usize) -> TensorView<'a> {
        assert_eq!(self.shape[axis], 1, "size of the axis");
        let mut view = self.clone();
        view.shape[axis] = size;
        view.strides[axis] = 0;
        view
    }

    /// All elements in row-major order.
    pub fn to_f64(&self) -> Vec<f64> {
        let mut values = Vec::with_capacity(self.len());
        let elem_bytes = self.dtype.bytes() as isize;
        for_each_offset(&self.shape, &self.strides, |offset| {
            // SAFETY: the view's elements are readable; `offset` is one of them.
            values
                .push(unsafe { element::read(self.dtype, self.data.offset(offset * elem_bytes)) });
        });
        values
    }

    /// A copy in row-major order, bit for bit.
    pub fn to_tensor(&self) -> Tensor {
        let mut tensor = Tensor::zeros(self.dtype, &self.shape);
        let elem_bytes = self.dtype.bytes() as usize;
        let mut bytes = tensor.bytes_mut().chunks_exact_mut(elem_bytes);
        for_each_offset(&self.shape, &self.strides, |offset| {
            let target = bytes.next().expect("as many elements as the view has");
            // SAFETY: the view's elements are readable; `offset` is one of them.
            let source = unsafe {
                std::slice::from_raw_parts(
                    self.data.offset(offset * elem_bytes as isize),
                    elem_bytes,
                )
            };
            target.copy_from_slice(source);
        });
        tensor
    }
}

impl<'a> TensorViewMut<'a> {
    /// A view into bytes, whose first element is the first byte.
    ///
    /// # Errors
    /// The strides reach beyond the bytes or are negative, or the bytes are not aligned for the type.
    pub fn new(
        dtype: Dtype,
        bytes: &'a mut [u8],
        shape: &[usize],
        strides: &[i64],
    ) -> Result<TensorViewMut<'a>> {
        check_bounds(dtype, bytes, shape, strides)?;
        // SAFETY: just checked.
        Ok(unsafe { TensorViewMut::from_raw(dtype, bytes.as_mut_ptr(), shape, strides) })
    }

    /// A view into memory of another owner. A null pointer is accepted here and refused at launch.
    ///
    /// # Safety
    /// Unless null, all elements that shape and strides reach may be read and written for `'a`, by nobody else.
    pub unsafe fn from_raw(
        dtype: Dtype,
        data: *mut u8,
        shape: &[usize],
        strides: &[i64],
    ) -> TensorViewMut<'a> {
        TensorViewMut {
            data,
            dtype,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            storage: PhantomData,
        }
    }

    /// The same elements, to be read.
    pub fn as_view(&self) -> TensorView<'_> {
        // SAFETY: a mutable view's elements are readable, and the borrow keeps writers away.
        unsafe { TensorView::from_raw(self.dtype, self.data, &self.shape, &self.strides) }
    }

    /// The first element.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.data
    }

    /// The axes in another order.
    ///
    /// # Panics
    /// `axes` is not a permutation.
    #[must_use]
    pub fn permute(self, axes: &[usize]) -> TensorViewMut<'a> {
        let view = self.as_view().permute(axes);
        let (shape, strides) = (view.shape.clone(), view.strides.clone());
        TensorViewMut {
            shape,
            strides,
            ..self
        }
    }

    /// Writes all elements, given in row-major order and rounded to the type.
    ///
    /// # Panics
    /// The number of values is not that of the shape.
    pub fn write_f64(&mut self, values: &[f64]) {
        assert_eq!(values.len(), self.shape.iter().product::<usize>(), "values");
        let elem_bytes = self.dtype.bytes() as isize;
        let mut values = values.iter();
        for_each_offset(&self.shape, &self.strides, |offset| {
            let value = values.next().expect("as many values as the view has");
            // SAFETY: the view's elements may be written; `offset` is one of them.
            unsafe {
                element::write(self.dtype, self.data.offset(offset * elem_bytes), *value);
            }
        });
    }

    /// Writes all elements from bytes in row-major order.
    ///
    /// # Panics
    /// The number of bytes is not that of type and shape.
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        let elem_bytes = self.dtype.bytes() as usize;
        assert_eq!(
            bytes.len(),
            self.shape.iter().product::<usize>() * elem_bytes,
            "bytes"
        );
        let mut sources = bytes.chunks_exact(elem_bytes);
        for_each_offset(&self.shape, &self.strides, |offset| {
            let source = sources.next().expect("as many elements as the view has");
            // SAFETY: the view's elements may be written; `offset` is one of them.
            unsafe {
                let target = self.data.offset(offset * elem_bytes as isize);
                std::ptr::copy_nonoverlapping(source.as_ptr(), target, elem_bytes);
            }
        });
    }
}
