//! Runs a kernel that is linked into the program. It mirrors the runtime's CPU backend, which runs the same kernels
//! from libraries: the block, the pointers, and ranges of tasks over the current rayon pool.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use fa_dsl::variant::{Layout, Variant};
use fa_runtime::abi::{ABI_VERSION, Block, CpuEntry, Launch, MAX_RANK};
use fa_runtime::{Checked, Outputs, TensorView};
use rayon::prelude::*;

use crate::error::Result;

const _: () = assert!(
    ABI_VERSION == 1,
    "`block_of` mirrors another version of the launch block"
);

/// Ranges of tasks per thread: enough that an uneven mask keeps all threads busy.
const RANGES_PER_THREAD: usize = 8;

/// A kernel and what its launch must know of its plan.
pub(crate) struct Compiled {
    pub(crate) symbol: &'static str,
    pub(crate) entry: CpuEntry,
    pub(crate) block_q: usize,
}

/// Addresses that a kernel reads and writes; which task touches which element is the kernel's promise.
struct Pointers(Vec<*mut c_void>);

// SAFETY: tasks write disjoint rows of the outputs and only read everything else.
unsafe impl Sync for Pointers {}

/// Runs all tasks of a checked launch; the time that it took.
pub(crate) fn run(
    compiled: &Compiled,
    variant: &Variant,
    checked: &Checked<'_>,
    outputs: &mut Outputs<'_>,
) -> Result<Duration> {
    let start = Instant::now();
    let sizes = checked.sizes;
    let (q_len, _) = checked.longest();
    let tasks = sizes.batch * sizes.heads * q_len.div_ceil(compiled.block_q);
    let block = block_of(variant, checked, outputs);
    let cumulative = checked.cumulative();
    let pointers = pointers_of(checked, &cumulative, outputs);
    let ranges = tasks.min(rayon::current_num_threads() * RANGES_PER_THREAD);
    (0..ranges).into_par_iter().try_for_each(|range| {
        let (first, last) = (range * tasks / ranges, (range + 1) * tasks / ranges);
        let pointers = &pointers;
        // SAFETY: types, sizes, strides and pointers have been checked against the variant that the kernel was
        // rendered from; the block has the ABI's layout; each range of tasks is run once.
        let code = unsafe {
            (compiled.entry)(
                block.as_ptr(),
                pointers.0.as_ptr(),
                first as i64,
                last as i64,
            )
        };
        if code == 0 {
            return Ok(());
        }
        Err(fa_runtime::Error::Kernel {
            symbol: compiled.symbol.to_owned(),
            code,
        })
    })?;
    Ok(start.elapsed())
}

fn block_of(variant: &Variant, checked: &Checked<'_>, outputs: &Outputs<'_>) -> Block {
    let size = |size: usize| i64::try_from(size).expect("checked sizes fit 63 bits");
    let [q, k, v] = checked.inputs.each_ref();
    let seed = checked.training.unwrap_or_default();
    let (q_len, kv_len) = checked.longest();
    let launch = Launch {
        batch: size(checked.sizes.batch),
        heads: size(checked.sizes.heads),
        kv_heads: size(checked.sizes.kv_heads),
        q_len: size(q_len),
        kv_len: size(kv_len),
        q_stride: four(q.strides()),
        k_stride: four(k.strides()),
        v_stride: four(v.strides()),
        out_stride: output_strides(variant, outputs.out.as_view().strides()),
        lse_stride: lse_strides(variant, outputs.lse.as_view().strides()),
        seed: seed.seed,
        offset: seed.offset,
        training: u32::from(checked.training.is_some()),
    };
    let captured: Vec<[i64; MAX_RANK]> = variant
        .tensors
        .iter()
        .zip(&checked.captured)
        .map(|(declared, view)| {
            fa_runtime::declared_strides(variant, declared, view.shape(), view.strides())
        })
        .collect();
    Block::new(&launch, &captured, &checked.params)
}

fn pointers_of(
    checked: &Checked<'_>,
    cumulative: &[Vec<i32>],
    outputs: &mut Outputs<'_>,
) -> Pointers {
    let results = [
        outputs.out.as_mut_ptr().cast_const(),
        outputs.lse.as_mut_ptr().cast_const(),
    ];
    let inputs = checked.inputs.iter().map(TensorView::as_ptr);
    let packed = cumulative.iter().map(|rows| rows.as_ptr().cast::<u8>());
    let captured = checked.captured.iter().map(TensorView::as_ptr);
    let all = inputs.chain(results).chain(packed).chain(captured);
    Pointers(all.map(|pointer| pointer.cast_mut().cast()).collect())
}

fn four(strides: &[i64]) -> [i64; 4] {
    strides.try_into().expect("checked inputs have four axes")
}

/// Strides of O by sequence, head, row and column.
fn output_strides(variant: &Variant, s: &[i64]) -> [i64; 4] {
    let width = i64::from(variant.v_head_dim);
    match variant.layout {
        Layout::Bnsd => [s[0], s[1], s[2], s[3]],
        Layout::Bsnd => [s[0], s[2], s[1], s[3]],
        Layout::Bsh => [s[0], s[2] * width, s[1], s[2]],
        Layout::Sbh => [s[1], s[2] * width, s[0], s[2]],
        Layout::Tnd => [0, s[1], s[0], s[2]],
    }
}

/// Strides of LSE by sequence, head and row.
fn lse_strides(variant: &Variant, s: &[i64]) -> [i64; 3] {
    match variant.layout {
        Layout::Tnd => [0, s[0], s[1]],
        Layout::Bnsd | Layout::Bsnd | Layout::Bsh | Layout::Sbh => [s[0], s[1], s[2]],
    }
}
