//! Borrowed tensors: views with a type that the compiler knows, and the trait of everything that can be viewed.

use std::marker::PhantomData;

use bytemuck::NoUninit;
use fa_dsl::variant::Dtype;
use fa_runtime::{Tensor, TensorView, TensorViewMut, contiguous_strides};

use crate::error::{Error, Result};

/// Element types of tensors.
pub trait Element: NoUninit + sealed::Sealed {
    /// The type in the spelling of the language.
    const DTYPE: Dtype;
}

mod sealed {
    /// Keeps the list of element types closed.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty => $dtype:ident),*) => {
        $(
            impl sealed::Sealed for $element {}

            impl Element for $element {
                const DTYPE: Dtype = Dtype::$dtype;
            }
        )*
    };
}

elements! {
    f32 => Fp32,
    half::f16 => Fp16,
    half::bf16 => Bf16,
    i8 => Int8,
    i32 => Int32,
    bool => Bool
}

/// A tensor of `T`s to be read, with any strides.
#[derive(Clone, Debug)]
pub struct View<'a, T> {
    view: TensorView<'a>,
    element: PhantomData<&'a T>,
}

impl<'a, T: Element> View<'a, T> {
    /// Elements in row-major order.
    ///
    /// # Errors
    /// There are fewer elements than the shape has.
    pub fn new(elements: &'a [T], shape: &[usize]) -> Result<View<'a, T>> {
        View::strided(elements, shape, &contiguous_strides(shape))
    }

    /// Elements with strides, in elements; a stride of 0 repeats.
    ///
    /// # Errors
    /// The strides are negative or reach beyond the elements.
    pub fn strided(elements: &'a [T], shape: &[usize], strides: &[i64]) -> Result<View<'a, T>> {
        let bytes = bytemuck::cast_slice(elements);
        let view = TensorView::new(T::DTYPE, bytes, shape, strides)?;
        Ok(View::from_checked(view))
    }

    /// A view whose type has been compared.
    fn from_checked(view: TensorView<'a>) -> View<'a, T> {
        View {
            view,
            element: PhantomData,
        }
    }

    /// A view into memory of another owner.
    ///
    /// # Safety
    /// As for [`TensorView::from_raw`], and the elements are `T`s.
    #[cfg(feature = "ndarray")]
    pub(crate) unsafe fn from_raw(data: *const T, shape: &[usize], strides: &[i64]) -> Self {
        // SAFETY: the caller vouches for the elements.
        View::from_checked(unsafe { TensorView::from_raw(T::DTYPE, data.cast(), shape, strides) })
    }

    /// The elements as they lie in memory, where that is row-major order without gaps; else nothing.
    ///
    /// ```
    /// let out = fa::Tensor::zeros(fa::Dtype::Fp32, &[1, 2, 3]);
    /// let view = fa::View::<f32>::try_from(&out)?;
    /// assert_eq!(view.as_slice(), Some(&[0.0; 6][..]));
    /// # Ok::<(), fa::Error>(())
    /// ```
    pub fn as_slice(&self) -> Option<&'a [T]>
    where
        T: bytemuck::Pod,
    {
        let (shape, pointer) = (self.view.shape(), self.view.as_ptr().cast::<T>());
        let strides = contiguous_strides(shape);
        let steps = self.view.strides().iter().zip(&strides).zip(shape);
        let dense = steps
            .into_iter()
            .all(|((stride, wanted), size)| stride == wanted || *size == 1);
        if self.view.is_empty() {
            return Some(&[]);
        }
        if !dense || pointer.is_null() || !pointer.is_aligned() {
            return None;
        }
        // SAFETY: the view's elements are `T`s that stay readable for `'a`; strides say that they are side by side.
        Some(unsafe { std::slice::from_raw_parts(pointer, self.view.len()) })
    }

    /// The same without the type.
    pub fn into_untyped(self) -> TensorView<'a> {
        self.view
    }
}

impl<'a, T: Element> TryFrom<TensorView<'a>> for View<'a, T> {
    type Error = Error;

    fn try_from(view: TensorView<'a>) -> Result<View<'a, T>> {
        if view.dtype() == T::DTYPE {
            return Ok(View::from_checked(view));
        }
        Err(Error::Element {
            actual: view.dtype().name(),
            expected: T::DTYPE.name(),
        })
    }
}

impl<'a, T: Element> TryFrom<&'a Tensor> for View<'a, T> {
    type Error = Error;

    fn try_from(tensor: &'a Tensor) -> Result<View<'a, T>> {
        View::try_from(tensor.view())
    }
}

/// Elements in row-major order that a launch writes.
///
/// # Errors
/// There are fewer elements than the shape has.
pub fn view_mut<'a, T: Element + bytemuck::Pod>(
    elements: &'a mut [T],
    shape: &[usize],
) -> Result<TensorViewMut<'a>> {
    let bytes = bytemuck::cast_slice_mut(elements);
    Ok(TensorViewMut::new(
        T::DTYPE,
        bytes,
        shape,
        &contiguous_strides(shape),
    )?)
}

/// Everything that can be handed to a launch as a tensor, without a copy.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tensor",
    label = "not a tensor",
    note = "pass a `fa::Tensor`, a `fa::View` such as `fa::View::new(&elements, &shape)?`, or an array of a crate \
            whose feature of `fa` is on"
)]
pub trait AsView {
    /// The tensor as a view.
    fn as_view(&self) -> TensorView<'_>;
}

impl AsView for Tensor {
    fn as_view(&self) -> TensorView<'_> {
        self.view()
    }
}

impl AsView for TensorView<'_> {
    fn as_view(&self) -> TensorView<'_> {
        self.clone()
    }
}

impl<T> AsView for View<'_, T> {
    fn as_view(&self) -> TensorView<'_> {
        self.view.clone()
    }
}

impl<V: AsView + ?Sized> AsView for &V {
    fn as_view(&self) -> TensorView<'_> {
        (**self).as_view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_knows_its_type_and_its_bounds() {
        let elements = [1.0_f32, 2.0, 3.0, 4.0];
        let view = View::new(&elements, &[2, 2]).expect("four elements");
        assert_eq!(view.as_view().to_f64(), [1.0, 2.0, 3.0, 4.0]);
        for shape in [&[5][..], &[usize::MAX], &[1 << 40, 1 << 40], &[1 << 62, 2]] {
            assert!(View::new(&elements, shape).is_err(), "{shape:?}");
        }
        assert!(View::<i32>::try_from(view.into_untyped()).is_err());
        let column = View::strided(&elements[1..], &[1, 2, 1], &[7, 1, 9]).expect("within bounds");
        assert_eq!(column.as_slice(), Some(&elements[1..3]));
        let repeated = View::strided(&elements, &[3, 2], &[0, 1]).expect("within bounds");
        assert!(repeated.as_slice().is_none());
        assert_eq!(repeated.as_view().to_f64(), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    }

    #[test]
    fn a_view_that_cannot_be_says_why() {
        let elements = [1.0_f32, 2.0, 3.0];
        let why = |shape: &[usize], strides: &[i64]| {
            let view = View::strided(&elements, shape, strides);
            view.expect_err("it cannot be").to_string()
        };
        let short = "no fp32 view of shape [2, 2] and strides [2, 1]: it reaches over 4 elements, there are 3; pass as many as \
                     the shape has, or a smaller shape";
        assert_eq!(why(&[2, 2], &[2, 1]), short);
        let backwards = "the stride of dimension 1 is negative; copy what runs backwards";
        assert!(why(&[1, 2], &[-1, -1]).ends_with(backwards));
        assert!(why(&[2, 2], &[1]).ends_with("there are 2 dimensions and 1 strides"));
        assert!(why(&[2, 2], &[i64::MAX, 1]).ends_with("beyond all memory, there are 3 elements"));
    }

    #[test]
    fn halves_and_bools_are_elements() {
        let halves = [half::f16::from_f32(0.5)];
        let view = View::new(&halves, &[1]).expect("one element");
        assert_eq!(view.as_view().to_f64(), [0.5]);
        let view = View::new(&[true, false], &[2]).expect("two elements");
        assert_eq!(view.as_view().to_f64(), [1.0, 0.0]);
    }
}
