//! The CPU backend: emitted Rust, compiled by `rustc` into a library, run over the caller's rayon pool.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use fa_codegen::cpu::{KeySplit, TaskSizes, Tasks};
use fa_codegen::{CPU_LEVELS, GeneratedFile};
use fa_dsl::variant::Variant;
use libloading::Library;
use rayon::prelude::*;

use crate::abi::{self, CpuEntry, MAX_RANK};
use crate::cache::{Cache, Key, KeyParts};
use crate::effort::Effort;
use crate::error::{Error, Result};
use crate::launch::{Checked, Outputs, declared_strides, four, logical_strides, lse_strides};
use crate::program;
use crate::view::TensorView;

/// Names the compiler.
pub const RUSTC_VARIABLE: &str = "RUSTC";

/// Names the best instruction-set level that kernels may use; they read it once.
pub(crate) const LEVEL_VARIABLE: &str = "FA_CPU_LEVEL";

/// Ranges of tasks per thread: enough that an uneven mask keeps all threads busy.
const RANGES_PER_THREAD: usize = 8;

/// Refuses the name of a level that kernels would not know.
fn known_level() -> Result<()> {
    let name = std::env::var_os(LEVEL_VARIABLE).unwrap_or_default();
    let name = name.to_string_lossy();
    if name.is_empty() || CPU_LEVELS.contains(&&*name) {
        return Ok(());
    }
    Err(Error::Level {
        name: name.into_owned(),
    })
}

/// A loaded library of CPU kernels.
#[derive(Clone, Debug)]
pub(crate) struct CpuLibrary {
    library: Arc<Library>,
    path: PathBuf,
    pub(crate) cache_hit: bool,
}

/// One kernel of a library.
#[derive(Clone, Debug)]
pub(crate) struct CpuKernel {
    entry: CpuEntry,
    symbol: String,
    /// Keeps the code in memory; none where it is part of the program.
    _library: Option<Arc<Library>>,
}

fn flags(effort: Effort) -> Vec<String> {
    let level = match effort {
        Effort::Speed => "-Copt-level=3",
        Effort::Compile => "-Copt-level=0",
    };
    [
        "--edition=2024",
        "--crate-type=cdylib",
        "--crate-name=fa_kernels",
        level,
        "-Cpanic=abort",
        "-Ccodegen-units=1",
        "-Cstrip=debuginfo",
        "-Awarnings",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// One crate out of several kernel files, each a module.
fn crate_of(kernels: &[GeneratedFile]) -> Vec<GeneratedFile> {
    let modules: String = (0..kernels.len())
        .map(|i| format!("#[path = \"kernel_{i}.rs\"]\nmod kernel_{i};\n"))
        .collect();
    let root = GeneratedFile {
        path: "lib.rs".to_owned(),
        text: format!("//! Attention kernels, one per module.\n\n{modules}"),
    };
    let modules = kernels.iter().enumerate().map(|(i, kernel)| GeneratedFile {
        path: format!("kernel_{i}.rs"),
        text: kernel.text.clone(),
    });
    std::iter::once(root).chain(modules).collect()
}

/// What compiles kernels, in all the detail it reports.
pub(crate) fn toolchain() -> Result<String> {
    Ok(compiler()?.1.clone())
}

/// Where `rustc` is and what it says of itself; asked once per process.
fn compiler() -> Result<&'static (PathBuf, String)> {
    static COMPILER: OnceLock<(PathBuf, String)> = OnceLock::new();
    if let Some(found) = COMPILER.get() {
        return Ok(found);
    }
    let path = program::find("rustc", RUSTC_VARIABLE)?;
    let version = program::version("rustc", path.as_os_str(), "-vV")?;
    Ok(COMPILER.get_or_init(|| (path, version)))
}

/// Compiles kernel files into one library, or finds it in the cache, and loads it.
pub(crate) fn compile(
    cache: &Cache,
    effort: Effort,
    kernels: &[GeneratedFile],
) -> Result<CpuLibrary> {
    let (rustc, version) = compiler()?;
    let flags = flags(effort);
    let sources = crate_of(kernels);
    let key = Key::new(&KeyParts {
        generator_version: fa_codegen::GENERATOR_VERSION,
        compiler_version: version,
        flags: &flags,
        sources: &sources,
    });
    let span = tracing::info_span!(
        "compile",
        target = "cpu",
        kernels = kernels.len(),
        cache_hit = tracing::field::Empty
    )
    .entered();
    let artifact = cache.get_or_build(&key, |folder| build(rustc, &flags, &sources, folder))?;
    span.record("cache_hit", artifact.hit);
    drop(span);
    let _span = tracing::info_span!("load", target = "cpu").entered();
    // SAFETY: the library was compiled from emitted code, which runs nothing when it is loaded.
    let library = unsafe { Library::new(&artifact.path) }.map_err(|source| Error::Load {
        path: artifact.path.clone(),
        source,
    })?;
    Ok(CpuLibrary {
        library: Arc::new(library),
        path: artifact.path,
        cache_hit: artifact.hit,
    })
}

fn build(
    rustc: &Path,
    flags: &[String],
    sources: &[GeneratedFile],
    folder: &Path,
) -> Result<PathBuf> {
    for file in sources {
        fs_err::write(folder.join(&file.path), &file.text)?;
    }
    let library = folder.join(libloading::library_filename("fa_kernels"));
    let mut command = Command::new(rustc);
    command
        .current_dir(folder)
        .args(flags)
        .arg("-o")
        .arg(&library)
        .arg("lib.rs");
    program::run("rustc", &mut command)?;
    Ok(library)
}

impl CpuLibrary {
    /// The kernel that is exported under this name.
    pub(crate) fn kernel(&self, symbol: &str) -> Result<CpuKernel> {
        // SAFETY: emitted kernels export their symbol with this signature.
        let entry = unsafe { self.library.get::<CpuEntry>(symbol.as_bytes()) };
        let entry = entry.map_err(|source| Error::Load {
            path: self.path.clone(),
            source,
        })?;
        Ok(CpuKernel {
            entry: *entry,
            symbol: symbol.to_owned(),
            _library: Some(Arc::clone(&self.library)),
        })
    }
}

/// Addresses that a kernel reads and writes; which task touches which element is the kernel's promise.
struct Pointers(Vec<*mut c_void>);

// SAFETY: tasks write disjoint rows of the outputs and only read everything else.
unsafe impl Sync for Pointers {}

/// What a launch hands over, already checked.
pub(crate) struct CpuLaunch<'l, 'a> {
    pub(crate) checked: &'l Checked<'a>,
    pub(crate) variant: &'l Variant,
    pub(crate) tasks: Tasks,
}

/// Room in which the parts of a task find each other, where keys are split.
struct Split {
    block: abi::Split,
    _states: Vec<f32>,
    _done: Vec<AtomicU32>,
}

impl Split {
    fn new(split: KeySplit, tasks: usize) -> Split {
        let mut states = vec![0.0; tasks * split.parts * split.state_len];
        let done: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
        Split {
            block: abi::Split {
                parts: split.parts as i64,
                part_keys: split.part_keys as i64,
                states: states.as_mut_ptr(),
                done: done.as_ptr(),
            },
            _states: states,
            _done: done,
        }
    }
}

impl CpuLaunch<'_, '_> {
    fn sizes(&self) -> TaskSizes {
        let sizes = self.checked.sizes;
        let (q_len, kv_len) = self.checked.longest();
        TaskSizes {
            batch: sizes.batch,
            heads: sizes.heads,
            kv_heads: sizes.kv_heads,
            q_len,
            kv_len,
        }
    }
}

impl CpuKernel {
    /// A kernel of the program itself.
    pub(crate) fn linked(symbol: &str, entry: CpuEntry) -> CpuKernel {
        CpuKernel {
            entry,
            symbol: symbol.to_owned(),
            _library: None,
        }
    }

    /// Runs all tasks over the current rayon pool. The result does not depend on the number of threads: a row belongs
    /// to one task, or to one for each part of the keys, and tasks do not depend on how they are grouped.
    pub(crate) fn launch(
        &self,
        launch: &CpuLaunch<'_, '_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<()> {
        let tasks = launch.tasks.count(launch.sizes());
        let Some(split) = launch.tasks.split(launch.sizes()) else {
            return self.launch_tasks(launch, outputs, tasks, std::ptr::null_mut());
        };
        let mut room = Split::new(split, tasks);
        let block = &raw mut room.block;
        self.launch_tasks(launch, outputs, tasks * split.parts, block.cast())
    }

    /// Runs all tasks of a step of an unfused kernel, which keeps scores in memory.
    pub(crate) fn launch_unfused(
        &self,
        launch: &CpuLaunch<'_, '_>,
        outputs: &mut Outputs<'_>,
        scores: *mut c_void,
    ) -> Result<()> {
        let tasks = launch.tasks.count(launch.sizes());
        self.launch_tasks(launch, outputs, tasks, scores)
    }

    /// Runs tasks; `further` is the pointer behind those of tensors.
    fn launch_tasks(
        &self,
        launch: &CpuLaunch<'_, '_>,
        outputs: &mut Outputs<'_>,
        tasks: usize,
        further: *mut c_void,
    ) -> Result<()> {
        known_level()?;
        let checked = launch.checked;
        if tasks == 0 {
            return Ok(());
        }
        let strides = checked.inputs.each_ref().map(|view| four(view.strides()));
        let variant = launch.variant;
        let out = outputs.out.as_view();
        let out_stride = logical_strides(variant.layout, &out, variant.v_head_dim);
        let lse_stride = lse_strides(&outputs.lse.as_view());
        let captured: Vec<[i64; MAX_RANK]> = variant
            .tensors
            .iter()
            .zip(&checked.captured)
            .map(|(declared, view)| {
                declared_strides(variant, declared, view.shape(), view.strides())
            })
            .collect();
        let [q, k, v] = strides;
        let block = checked.block([q, k, v, out_stride], lse_stride, &captured);
        let inputs = checked.inputs.iter().map(TensorView::as_ptr);
        let results = [
            outputs.out.as_mut_ptr().cast_const(),
            outputs.lse.as_mut_ptr().cast_const(),
        ];
        let cumulative = checked.cumulative();
        let packed = cumulative.iter().map(|rows| rows.as_ptr().cast::<u8>());
        let captured = checked.captured.iter().map(TensorView::as_ptr);
        let pointers = Pointers(
            inputs
                .chain(results)
                .chain(packed)
                .chain(captured)
                .map(|pointer| pointer.cast_mut().cast())
                .chain([further])
                .collect(),
        );
        let ranges = tasks.min(rayon::current_num_threads() * RANGES_PER_THREAD);
        (0..ranges).into_par_iter().try_for_each(|range| {
            let (first, last) = (range * tasks / ranges, (range + 1) * tasks / ranges);
            self.run(&block, &pointers, first, last)
        })
    }

    fn run(
        &self,
        block: &crate::abi::Block,
        pointers: &Pointers,
        first: usize,
        last: usize,
    ) -> Result<()> {
        // SAFETY: types, sizes, strides, and pointers have been checked against the variant; the block has the
        // ABI's layout; each range of tasks is run once.
        let code = unsafe {
            (self.entry)(
                block.as_ptr(),
                pointers.0.as_ptr(),
                first as i64,
                last as i64,
            )
        };
        if code == 0 {
            return Ok(());
        }
        Err(Error::Kernel {
            symbol: self.symbol.clone(),
            code,
        })
    }
}
