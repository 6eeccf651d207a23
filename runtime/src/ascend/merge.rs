//! Merging on the device: partial results up, one vector kernel, merged results down.

use fa_codegen::ascend::{plan_merge, render_merge};
use fa_targets::Target;

use super::device::{self, DeviceBuffer, Stream};
use super::{compile, device_lock};
use crate::cache::Cache;
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::merge::{Merged, Partial};
use crate::tensor::Tensor;

/// Merges parts that have been checked, on the chip of a target.
pub(crate) fn merge(cache: &Cache, target: &Target, parts: &[Partial<'_>]) -> Result<Merged> {
    let shape = parts[0].out.shape();
    let (width, rows) = (shape[shape.len() - 1], parts[0].lse.len());
    if rows == 0 || width == 0 {
        return crate::merge::merge(parts);
    }
    let width = u32::try_from(width).unwrap_or(u32::MAX);
    let plan = plan_merge(width, target).map_err(|error| Error::Plan(vec![*error]))?;
    let library = compile(cache, Effort::Speed, target, &[vec![render_merge(&plan)]])?;
    let _one_at_a_time = device_lock();
    library.toolkit.emulate(target);
    let api = &library.toolkit.api;
    let cube_cores = device::select(api)?;
    let per_cube_core = target
        .chip
        .as_ref()
        .map_or(1, |chip| chip.vector_cores_per_cube_core);
    let blocks = rows.div_ceil(plan.rows() as usize);
    let blocks = u32::try_from(blocks)
        .unwrap_or(u32::MAX)
        .min(cube_cores * per_cube_core);
    let upload = |values: Vec<f32>| {
        // SAFETY: the elements are readable as bytes.
        unsafe { DeviceBuffer::upload(api, values.as_ptr().cast(), size_of_val(values.as_slice())) }
    };
    let stacked = |of: fn(&Partial<'_>) -> Vec<f64>| -> Vec<f32> {
        let values = parts.iter().flat_map(of);
        values.map(|value| value as f32).collect()
    };
    let part_out = upload(stacked(|part| part.out.to_f64()))?;
    let part_lse = upload(stacked(|part| part.lse.to_f64()))?;
    let out_bytes = rows * width as usize * 4;
    let out = DeviceBuffer::new(api, out_bytes)?;
    let lse = DeviceBuffer::new(api, rows * 4)?;
    let words = [&part_out, &part_lse, &out, &lse].map(|buffer| buffer.address().to_ne_bytes());
    let tiling = [parts.len() as u64, rows as u64]
        .map(u64::to_ne_bytes)
        .concat();
    let mut arguments: Vec<&[u8]> = words.iter().map(<[u8; 8]>::as_slice).collect();
    arguments.push(&tiling);
    let function = library.binary.function(&plan.symbol())?;
    Stream::new(api)?.run(function, blocks, &arguments)?;
    Ok(Merged {
        out: Tensor::from_f32(shape, &floats(&out.download(out_bytes)?)),
        lse: Tensor::from_f32(parts[0].lse.shape(), &floats(&lse.download(rows * 4)?)),
    })
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| f32::from_ne_bytes(bytes.try_into().expect("chunks of four")))
        .collect()
}
