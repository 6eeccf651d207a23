//! Loading a container: both passes as shared objects, bound to the emulator's function table.

use std::ffi::c_char;

use libloading::{Library, Symbol};

use crate::abi::Api;
use crate::container::{Container, ContainerError, KernelType};
use crate::instruction::text;
use crate::table;

/// Row of the table that a generated wrapper exports.
#[repr(C)]
struct RawEntry {
    call: unsafe extern "C-unwind" fn(*const u8),
    args_bytes: u64,
    source_name: *const c_char,
}

/// A kernel's entry point in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) call: unsafe extern "C-unwind" fn(*const u8),
    pub(crate) args_bytes: usize,
}

/// A kernel of a loaded binary.
#[derive(Clone, Debug)]
pub(crate) struct LoadedKernel {
    /// The symbol a device binary would have: plain for `extern "C"`, mangled otherwise.
    pub(crate) symbol: String,
    pub(crate) kernel_type: KernelType,
    pub(crate) entries: [Option<Entry>; 2],
}

/// A loaded binary; the libraries stay loaded as long as it lives.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) kernels: Vec<LoadedKernel>,
    pub(crate) npu_arch: String,
    _libraries: Vec<Library>,
}

/// Why a binary was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LoadError {
    #[error(transparent)]
    Container(#[from] ContainerError),
    #[error("cannot unpack the kernel binary: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot load the kernel binary: {0}")]
    Library(#[from] libloading::Error),
}

/// Loads a container from memory.
pub(crate) fn load(bytes: &[u8]) -> Result<Binary, LoadError> {
    let container = Container::from_bytes(bytes)?;
    let folder = tempfile::tempdir()?;
    let mut libraries = Vec::new();
    let mut tables = Vec::new();
    for (name, payload) in [
        ("cube.so", &container.cube),
        ("vector.so", &container.vector),
    ] {
        let path = folder.path().join(name);
        fs_err::write(&path, payload)?;
        // SAFETY: the object was made by our driver; its initialisers are those of the kernel source.
        let library = unsafe { Library::new(&path) }?;
        tables.push(bind(&library)?);
        libraries.push(library);
    }
    let mut kernels = Vec::new();
    for (index, kernel) in container.header.kernels.iter().enumerate() {
        let entries = [0, 1].map(|pass: usize| tables[pass].get(index).map(|(entry, _)| *entry));
        let symbol = tables[1]
            .get(index)
            .map_or_else(|| kernel.name.clone(), |(_, symbol)| symbol.clone());
        kernels.push(LoadedKernel {
            symbol,
            kernel_type: kernel.kernel_type,
            entries,
        });
    }
    Ok(Binary {
        kernels,
        npu_arch: container.header.npu_arch,
        _libraries: libraries,
    })
}

fn bind(library: &Library) -> Result<Vec<(Entry, String)>, libloading::Error> {
    // SAFETY: the generated wrapper declares exactly this function.
    let bind: Symbol<'_, unsafe extern "C" fn(*const Api)> =
        unsafe { library.get(b"fa_emu_bind\0") }?;
    // SAFETY: the table is static.
    unsafe { bind(&raw const table::API) };
    // SAFETY: as above.
    let count: Symbol<'_, unsafe extern "C" fn() -> u64> =
        unsafe { library.get(b"fa_emu_kernel_count\0") }?;
    // SAFETY: as above.
    let entry: Symbol<'_, unsafe extern "C" fn(u64) -> *const RawEntry> =
        unsafe { library.get(b"fa_emu_kernel_entry\0") }?;
    // SAFETY: takes no argument.
    let count = unsafe { count() };
    Ok((0..count)
        .map(|index| {
            // SAFETY: the index is below the count, and rows are static.
            let raw = unsafe { &*entry(index) };
            let entry = Entry {
                call: raw.call,
                args_bytes: raw.args_bytes as usize,
            };
            (entry, text(raw.source_name))
        })
        .collect())
}
