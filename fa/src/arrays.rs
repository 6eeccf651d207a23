//! `ndarray` arrays as tensors, without a copy. Strides that run backwards are refused at launch, by name.

use fa_runtime::{TensorView, TensorViewMut};
use ndarray::{ArrayBase, Data, DataMut, Dimension};

use crate::view::{AsView, Element, View};

impl<S, D> AsView for ArrayBase<S, D>
where
    S: Data,
    S::Elem: Element,
    D: Dimension,
{
    fn as_view(&self) -> TensorView<'_> {
        View::of_array(self).into_untyped()
    }
}

/// Strides in elements, as views have them.
fn strides(strides: &[isize]) -> Vec<i64> {
    strides.iter().map(|stride| *stride as i64).collect()
}

impl<'a, T: Element> View<'a, T> {
    /// The elements of an array.
    pub fn of_array<S, D>(array: &'a ArrayBase<S, D>) -> View<'a, T>
    where
        S: Data<Elem = T>,
        D: Dimension,
    {
        // SAFETY: the array owns or borrows all elements that its shape and strides reach, for as long as it is
        // borrowed here.
        unsafe { View::from_raw(array.as_ptr(), array.shape(), &strides(array.strides())) }
    }
}

/// An array that a launch writes, without a copy.
///
/// ```
/// let mut out = ndarray::Array4::<f32>::zeros((1, 2, 8, 16));
/// let view = fa::array_mut(&mut out);
/// assert_eq!(view.as_view().shape(), [1, 2, 8, 16]);
/// ```
pub fn array_mut<S, D>(array: &mut ArrayBase<S, D>) -> TensorViewMut<'_>
where
    S: DataMut,
    S::Elem: Element,
    D: Dimension,
{
    let shape = array.shape().to_vec();
    let strides = strides(array.strides());
    let data = array.as_mut_ptr();
    // SAFETY: as in `View::of_array`; the borrow is unique.
    unsafe { TensorViewMut::from_raw(S::Elem::DTYPE, data.cast(), &shape, &strides) }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;

    #[test]
    fn strides_of_arrays_are_kept() {
        let array = Array2::from_shape_fn((3, 4), |(i, j)| (i * 4 + j) as f32);
        let part = array.slice(s![..;2, 1..3]);
        let part = part.t();
        let view = part.as_view();
        assert_eq!(view.shape(), [2, 2]);
        assert_eq!(view.strides(), [1, 8]);
        assert_eq!(view.to_f64(), [1.0, 9.0, 2.0, 10.0]);
    }
}
