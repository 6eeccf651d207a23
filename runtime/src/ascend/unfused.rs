//! Unfused kernels on the device: inputs up, three launches with scores and probabilities in device memory between
//! them, the output down.

use fa_codegen::ascend::{Unfused, UnfusedStep};
use fa_dsl::variant::Variant;

use super::device::{self, DeviceBuffer, Stream};
use super::{AscendLibrary, device_lock, transfer};
use crate::error::Result;
use crate::launch::{Checked, Outputs};

/// The kernels of a variant, in a loaded binary.
#[derive(Clone, Debug)]
pub(crate) struct AscendUnfused {
    pub(crate) library: AscendLibrary,
    pub(crate) plan: Unfused,
}

impl AscendUnfused {
    /// Whether results come from the emulator.
    pub(crate) fn is_emulated(&self) -> bool {
        self.library.toolkit.is_emulated()
    }

    /// Uploads, launches one kernel after the other, waits, downloads O; LSE stays as it is.
    pub(crate) fn launch(
        &self,
        variant: &Variant,
        checked: &Checked<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<Vec<String>> {
        let sizes = checked.sizes;
        let planes = (sizes.batch * sizes.heads) as u64;
        let (q_len, kv_len) = (sizes.q_len as u64, sizes.kv_len as u64);
        let library = &self.library;
        let limits = library
            .target
            .limits
            .as_ref()
            .expect("Ascend targets have limits");
        let _one_at_a_time = device_lock();
        library.toolkit.emulate(&library.target);
        let api = &library.toolkit.api;
        let cube_cores = device::select(api)?;
        let mut notes = Vec::new();
        let inputs = transfer::inputs(api, checked, limits.nd2nz_max_row_pitch_elems, &mut notes)?;
        let captured =
            transfer::captured(api, variant, self.plan.inner_axes(), checked, &mut notes)?;
        let results = transfer::Results::new(api, variant, outputs, &mut notes)?;
        let workspace = self.plan.workspace_bytes(planes * q_len, kv_len);
        let mut matrices = Vec::with_capacity(workspace.len());
        for bytes in workspace {
            let bytes = usize::try_from(bytes).expect("matrices fit the address space");
            matrices.push(DeviceBuffer::workspace(api, bytes, limits.gm_align_bytes)?);
        }
        let captured_strides: Vec<_> = captured.iter().map(|part| part.strides).collect();
        let [q, k, v] = inputs.each_ref().map(|part| part.strides);
        let strides = [q, k, v, results.out_stride];
        let block = checked.block(strides, results.lse_stride, &captured_strides);
        let mut words: Vec<u64> = inputs.iter().map(|part| part.buffer.address()).collect();
        words.push(results.out.address());
        words.extend(captured.iter().map(|part| part.buffer.address()));
        words.extend(
            matrices
                .iter()
                .map(|matrix| matrix.aligned(limits.gm_align_bytes)),
        );
        let words: Vec<[u8; 8]> = words.into_iter().map(u64::to_ne_bytes).collect();
        let block = block.bytes();
        let mut arguments: Vec<&[u8]> = words.iter().map(<[u8; 8]>::as_slice).collect();
        arguments.push(&block);
        let stream = Stream::new(api)?;
        let chip = library.target.chip.as_ref();
        let vector_cores = chip.map_or(1, |chip| chip.vector_cores_per_cube_core);
        for step in UnfusedStep::ALL {
            let cores = if step.is_vector() {
                cube_cores * vector_cores
            } else {
                cube_cores
            };
            let tasks = self.plan.tasks(step, planes, q_len, kv_len);
            let blocks = u32::try_from(tasks).unwrap_or(u32::MAX).min(cores);
            let function = library.binary.function(&self.plan.symbol(step))?;
            stream.run(function, blocks, &arguments)?;
        }
        results.write_out(outputs)?;
        notes.extend(library.toolkit.remarks());
        Ok(notes)
    }
}
