//! Tensors to the device and back. What a kernel can read in place is uploaded as it lies; the rest is copied
//! to row-major order first, and the result says so.

use fa_dsl::variant::{Tensor as CapturedTensor, Variant};

use super::acl::AclApi;
use super::device::DeviceBuffer;
use crate::abi::MAX_RANK;
use crate::error::{Error, Result};
use crate::launch::{Checked, Outputs, declared_strides, four, logical_strides, lse_strides};
use crate::view::{TensorView, TensorViewMut, contiguous_strides, span_elems};

/// An uploaded tensor and the strides that it has on the device.
#[derive(Debug)]
pub(super) struct Uploaded<'d> {
    pub(super) buffer: DeviceBuffer<'d>,
    pub(super) strides: [i64; MAX_RANK],
}

/// Uploads q, k and v.
pub(super) fn inputs<'d>(
    api: &'d AclApi,
    checked: &Checked<'_>,
    row_pitch_limit: u32,
    notes: &mut Vec<String>,
) -> Result<[Uploaded<'d>; 3]> {
    let [q, k, v] = &checked.inputs;
    let mut upload = |name: &str, view: &TensorView<'_>| {
        let reason = unreadable(view, row_pitch_limit);
        let mut part = upload_or_copy(api, name, view, reason, notes)?;
        if checked.packed.is_some() {
            part.strides[0] = 0;
        }
        Ok::<_, Error>(part)
    };
    Ok([upload("q", q)?, upload("k", k)?, upload("v", v)?])
}

/// Uploads the captured tensors, whose elements have to be neighbours along these declared dimensions.
pub(super) fn captured<'d>(
    api: &'d AclApi,
    variant: &Variant,
    inner_axes: &[usize],
    checked: &Checked<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Uploaded<'d>>> {
    let mut uploaded = Vec::with_capacity(checked.captured.len());
    let views = checked.captured.iter().zip(inner_axes);
    for (declared, (view, axis)) in variant.tensors.iter().zip(views) {
        let part = upload_neighbours(
            api,
            declared,
            view_axis(variant, declared, *axis),
            view,
            notes,
        )?;
        let strides = declared_strides(
            variant,
            declared,
            view.shape(),
            &part.strides[..view.shape().len()],
        );
        uploaded.push(Uploaded { strides, ..part });
    }
    Ok(uploaded)
}

/// The axis of the argument that a declared dimension is: with packed sequences `b` and a length together are one.
fn view_axis(variant: &Variant, declared: &CapturedTensor, axis: usize) -> usize {
    match declared.packed_axis(variant.layout) {
        Some(packed) if packed.batch < axis => axis - 1,
        _ => axis,
    }
}

/// Uploads a tensor whose elements shall be neighbours along an axis; copied with that axis innermost where they are not.
fn upload_neighbours<'d>(
    api: &'d AclApi,
    declared: &CapturedTensor,
    axis: usize,
    view: &TensorView<'_>,
    notes: &mut Vec<String>,
) -> Result<Uploaded<'d>> {
    let (name, rank) = (&declared.name, view.shape().len());
    let (Some(&size), Some(&stride)) = (view.shape().get(axis), view.strides().get(axis)) else {
        return upload_or_copy(api, name, view, None, notes);
    };
    if size <= 1 || stride == 1 {
        return upload_or_copy(api, name, view, None, notes);
    }
    if axis + 1 == rank {
        let reason = format!("its innermost stride is {stride}");
        return upload_or_copy(api, name, view, Some(reason), notes);
    }
    notes.push(format!(
        "`{name}` was copied so that its dimension {axis} is the innermost one: its stride there is {stride}"
    ));
    let order: Vec<usize> = (0..rank)
        .filter(|other| *other != axis)
        .chain([axis])
        .collect();
    let copy = view.permute(&order).to_tensor();
    let part = upload_or_copy(api, name, &copy.view(), None, notes)?;
    let mut strides = [0; MAX_RANK];
    for (at, original) in order.into_iter().enumerate() {
        strides[original] = part.strides[at];
    }
    Ok(Uploaded { strides, ..part })
}

/// Uploads the prefix sums of packed sequences; none for other layouts.
pub(super) fn cumulative<'d>(
    api: &'d AclApi,
    checked: &Checked<'_>,
) -> Result<Vec<DeviceBuffer<'d>>> {
    let lists = checked.cumulative();
    let upload = |rows: &Vec<i32>| {
        // SAFETY: the list is readable.
        unsafe { DeviceBuffer::upload(api, rows.as_ptr().cast(), size_of_val(rows.as_slice())) }
    };
    lists.iter().map(upload).collect()
}

/// Why a kernel cannot read a `[b, h, n, d]` view in place, if it cannot.
fn unreadable(view: &TensorView<'_>, row_pitch_limit: u32) -> Option<String> {
    let [_, _, rows, cols] = *view.shape() else {
        return None;
    };
    let (pitch, inner) = (view.strides()[2], view.strides()[3]);
    if cols > 1 && inner != 1 {
        return Some(format!("its innermost stride is {inner}"));
    }
    if rows > 1 && !(1..=i64::from(row_pitch_limit)).contains(&pitch) {
        return Some(format!(
            "its row pitch is {pitch}, the chip reads 1 to {row_pitch_limit}"
        ));
    }
    None
}

fn upload_or_copy<'d>(
    api: &'d AclApi,
    name: &str,
    view: &TensorView<'_>,
    reason: Option<String>,
    notes: &mut Vec<String>,
) -> Result<Uploaded<'d>> {
    let elem_bytes = view.dtype().bytes() as usize;
    if let Some(reason) = reason {
        notes.push(format!("`{name}` was copied to row-major order: {reason}"));
        let copy = view.to_tensor();
        let bytes = copy.bytes();
        // SAFETY: the slice is readable.
        let buffer = unsafe { DeviceBuffer::upload(api, bytes.as_ptr(), bytes.len()) }?;
        return Ok(Uploaded {
            buffer,
            strides: tidy_strides(&copy.view()),
        });
    }
    let elems = span_elems(view.shape(), view.strides())
        .expect("strides have been checked before a launch");
    // SAFETY: a view's whole span lies in one piece of readable storage.
    let buffer = unsafe { DeviceBuffer::upload(api, view.as_ptr(), elems * elem_bytes) }?;
    Ok(Uploaded {
        buffer,
        strides: tidy_strides(view),
    })
}

/// The strides of a view, with row-major ones in place of those of size-1 axes, which mean nothing and may be
/// beyond what an instruction can hold.
fn tidy_strides(view: &TensorView<'_>) -> [i64; MAX_RANK] {
    let plain = contiguous_strides(view.shape());
    let mut strides = [0; MAX_RANK];
    for (axis, size) in view.shape().iter().enumerate() {
        strides[axis] = if *size == 1 {
            plain[axis]
        } else {
            view.strides()[axis]
        };
    }
    strides
}

/// Device memory of O and LSE.
#[derive(Debug)]
pub(super) struct Results<'d> {
    pub(super) out: DeviceBuffer<'d>,
    pub(super) lse: DeviceBuffer<'d>,
    pub(super) out_stride: [i64; 4],
    pub(super) lse_stride: [i64; 3],
}

impl<'d> Results<'d> {
    /// Both are row-major on the device, in the shapes of the host views: O in the variant's layout.
    pub(super) fn new(
        api: &'d AclApi,
        variant: &Variant,
        outputs: &Outputs<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Results<'d>> {
        let (out, lse) = (outputs.out.as_view(), outputs.lse.as_view());
        for (name, view) in [("out", &out), ("lse", &lse)] {
            if view.strides() != contiguous_strides(view.shape()) {
                notes.push(format!(
                    "`{name}` was copied from row-major order: its strides are {:?}",
                    view.strides()
                ));
            }
        }
        let plain = contiguous_strides(out.shape());
        // SAFETY: only its shape and strides are read.
        let dense = unsafe { TensorView::from_raw(out.dtype(), out.as_ptr(), out.shape(), &plain) };
        let plain = contiguous_strides(lse.shape());
        // SAFETY: only its shape and strides are read.
        let dense_lse =
            unsafe { TensorView::from_raw(lse.dtype(), lse.as_ptr(), lse.shape(), &plain) };
        Ok(Results {
            out: DeviceBuffer::new(api, out.len() * out.dtype().bytes() as usize)?,
            lse: DeviceBuffer::new(api, lse.len() * lse.dtype().bytes() as usize)?,
            out_stride: four(&logical_strides(variant.layout, &dense, variant.v_head_dim)),
            lse_stride: lse_strides(&dense_lse),
        })
    }

    /// Copies both back into the caller's views.
    pub(super) fn write(&self, outputs: &mut Outputs<'_>) -> Result<()> {
        self.write_out(outputs)?;
        download(&self.lse, &mut outputs.lse)
    }

    /// Copies O alone back.
    pub(super) fn write_out(&self, outputs: &mut Outputs<'_>) -> Result<()> {
        download(&self.out, &mut outputs.out)
    }
}

/// Copies device memory into a view of the host.
fn download(buffer: &DeviceBuffer<'_>, view: &mut TensorViewMut<'_>) -> Result<()> {
    let read = view.as_view();
    let bytes = read.len() * read.dtype().bytes() as usize;
    let bytes = buffer.download(bytes)?;
    view.write_bytes(&bytes);
    Ok(())
}
