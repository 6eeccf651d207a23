//! The Ascend backend: emitted Ascend C, compiled and launched by an installed toolkit or the emulator, through
//! the same calls.

mod acl;
mod device;
mod merge;
mod toolkit;
mod transfer;
mod unfused;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fa_codegen::GeneratedFile;
use fa_codegen::ascend::{LaunchShape, Plan};
use fa_dsl::variant::Variant;
use fa_targets::Target;

use crate::cache::Cache;
use crate::effort::Effort;
use crate::error::Result;
use crate::launch::{Checked, Outputs};

use device::{Binary, DeviceBuffer, Stream};
use toolkit::Toolkit;

pub(crate) use merge::merge;
pub use toolkit::ASCEND_HOME_VARIABLE;
pub(crate) use unfused::AscendUnfused;

/// A loaded binary of Ascend kernels.
#[derive(Clone, Debug)]
pub(crate) struct AscendLibrary {
    toolkit: &'static Toolkit,
    target: Target,
    binary: Arc<Binary>,
    pub(crate) cache_hit: bool,
}

/// One kernel of a binary.
#[derive(Clone, Debug)]
pub(crate) struct AscendKernel {
    library: AscendLibrary,
    symbol: String,
}

/// One compilation or launch at a time: the device is one, and its memory is not shared out.
fn device_lock() -> MutexGuard<'static, ()> {
    static DEVICE: Mutex<()> = Mutex::new(());
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One source out of several renderings: each in a folder of its own, the root includes their kernels.
fn unit_of(renderings: &[Vec<GeneratedFile>]) -> Vec<GeneratedFile> {
    if let [only] = renderings {
        return only.clone();
    }
    let mut root = String::from("// Attention kernels, one after another.\n");
    let mut files = Vec::new();
    for (i, rendering) in renderings.iter().enumerate() {
        root.push_str(&format!("#include \"kernel_{i}/{}\"\n", rendering[0].path));
        files.extend(rendering.iter().map(|file| GeneratedFile {
            path: format!("kernel_{i}/{}", file.path),
            text: file.text.clone(),
        }));
    }
    files.insert(
        0,
        GeneratedFile {
            path: "kernels.cpp".to_owned(),
            text: root,
        },
    );
    files
}

/// What compiles kernels, in all the detail it reports.
pub(crate) fn toolchain() -> Result<String> {
    Ok(Toolkit::get()?.version().to_owned())
}

/// Compiles renderings into one binary, or finds it in the cache, and loads it.
pub(crate) fn compile(
    cache: &Cache,
    effort: Effort,
    target: &Target,
    renderings: &[Vec<GeneratedFile>],
) -> Result<AscendLibrary> {
    let toolkit = Toolkit::get()?;
    let _one_at_a_time = device_lock();
    let artifact = toolkit.compile(cache, effort, target, &unit_of(renderings))?;
    let _span = tracing::info_span!("load", target = target.name).entered();
    device::select(&toolkit.api)?;
    let binary = Binary::load(&toolkit.api, &artifact.path)?;
    Ok(AscendLibrary {
        toolkit,
        target: target.clone(),
        binary: Arc::new(binary),
        cache_hit: artifact.hit,
    })
}

impl AscendLibrary {
    /// The kernel that is exported under this name.
    pub(crate) fn kernel(&self, symbol: &str) -> Result<AscendKernel> {
        self.binary.function(symbol)?;
        Ok(AscendKernel {
            library: self.clone(),
            symbol: symbol.to_owned(),
        })
    }
}

impl AscendKernel {
    /// Whether results come from the emulator.
    pub(crate) fn is_emulated(&self) -> bool {
        self.library.toolkit.is_emulated()
    }

    /// Uploads, launches, waits, downloads; returns what a reader of the result should know.
    pub(crate) fn launch(
        &self,
        variant: &Variant,
        plan: &Plan,
        checked: &Checked<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<Vec<String>> {
        let sizes = checked.sizes;
        let (q_len, _) = checked.longest();
        let planes = sizes.batch * sizes.heads;
        if planes * q_len == 0 {
            return Ok(Vec::new());
        }
        let limits = self
            .library
            .target
            .limits
            .as_ref()
            .expect("Ascend targets have limits");
        let _one_at_a_time = device_lock();
        self.library.toolkit.emulate(&self.library.target);
        let api = &self.library.toolkit.api;
        let cube_cores = device::select(api)?;
        let mut notes = Vec::new();
        let inputs = transfer::inputs(api, checked, limits.nd2nz_max_row_pitch_elems, &mut notes)?;
        let cumulative = transfer::cumulative(api, checked)?;
        let captured = transfer::captured(api, variant, plan.inner_axes(), checked, &mut notes)?;
        let results = transfer::Results::new(api, variant, outputs, &mut notes)?;
        let tasks = plan.tasks(planes as u64, q_len as u64, cube_cores);
        let blocks = plan.blocks(tasks, cube_cores);
        let (_, kv_len) = checked.longest();
        let [batch, heads, kv_heads, q_rows, kv_rows] =
            [sizes.batch, sizes.heads, sizes.kv_heads, q_len, kv_len].map(|size| size as u64);
        let shape = LaunchShape {
            batch,
            heads,
            kv_heads,
            q_len: q_rows,
            kv_len: kv_rows,
        };
        let workspace_bytes = usize::try_from(plan.workspace_bytes(blocks, &shape))
            .expect("a workspace fits the address space");
        let workspace = DeviceBuffer::workspace(api, workspace_bytes, limits.gm_align_bytes)?;
        let captured_strides: Vec<_> = captured.iter().map(|part| part.strides).collect();
        let [q, k, v] = inputs.each_ref().map(|part| part.strides);
        let block = checked.block(
            [q, k, v, results.out_stride],
            results.lse_stride,
            &captured_strides,
        );
        let mut words = vec![device::sync_address(api)?];
        words.extend(inputs.iter().map(|part| part.buffer.address()));
        words.extend([results.out.address(), results.lse.address()]);
        words.extend(cumulative.iter().map(DeviceBuffer::address));
        words.extend(captured.iter().map(|part| part.buffer.address()));
        words.push(workspace.aligned(limits.gm_align_bytes));
        let words: Vec<[u8; 8]> = words.into_iter().map(u64::to_ne_bytes).collect();
        let block = block.bytes();
        let mut arguments: Vec<&[u8]> = words.iter().map(<[u8; 8]>::as_slice).collect();
        arguments.push(&block);
        let function = self.library.binary.function(&self.symbol)?;
        let stream = Stream::new(api)?;
        if plan.has_global_barrier() {
            stream.run_together(function, blocks, &arguments)?;
        } else {
            stream.run(function, blocks, &arguments)?;
        }
        results.write(outputs)?;
        notes.extend(self.library.toolkit.remarks());
        Ok(notes)
    }
}
