//! Kernel binaries and their functions.

use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acl::args::Args;
use crate::acl::code::{
    ACL_ERROR_INVALID_FILE, ACL_ERROR_INVALID_PARAM, ACL_SUCCESS, aclError, fail,
};
use crate::acl::process::put;
use crate::loader::{self, Binary, LoadedKernel};

/// Handle of a loaded binary.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtBinHandle = *mut c_void;
/// Handle of a kernel; it lives as long as its binary.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtFuncHandle = *mut c_void;

/// A binary with its functions at fixed addresses.
struct Loaded {
    functions: Box<[Function]>,
}

/// A kernel and the binary that keeps it loaded.
pub(crate) struct Function {
    pub(crate) kernel: LoadedKernel,
    pub(crate) binary: Arc<Binary>,
    lists: Mutex<Vec<KeptList>>,
}

impl Function {
    /// Keeps an argument list as long as the kernel and returns its address.
    pub(crate) fn keep(&self, list: Box<Args>) -> *mut Args {
        let address = Box::into_raw(list);
        self.lists
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(KeptList(address));
        address
    }
}

/// An argument list that callers hold by address; freed with its kernel.
struct KeptList(*mut Args);

// SAFETY: the list is plain data; callers use its address from one thread at a time, as the API asks.
unsafe impl Send for KeptList {}

impl Drop for KeptList {
    fn drop(&mut self) {
        // SAFETY: came from a box, and handles die with their kernel.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Loads a binary from a file; load options are ignored.
///
/// # Safety
/// `path` is a C string, `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryLoadFromFile(
    path: *const c_char,
    options: *mut c_void,
    handle: *mut aclrtBinHandle,
) -> aclError {
    let _ = options;
    if path.is_null() {
        return fail(ACL_ERROR_INVALID_PARAM, "the path is null (emulated)");
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }
        .to_string_lossy()
        .into_owned();
    match fs_err::read(&path) {
        // SAFETY: the caller's promise.
        Ok(bytes) => unsafe { load(&bytes, &path, handle) },
        Err(error) => fail(ACL_ERROR_INVALID_FILE, format!("{error} (emulated)")),
    }
}

/// Loads a binary from memory; load options are ignored.
///
/// # Safety
/// `data` is valid for `length` bytes, `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryLoadFromData(
    data: *const c_void,
    length: usize,
    options: *const c_void,
    handle: *mut aclrtBinHandle,
) -> aclError {
    let _ = options;
    if data.is_null() {
        return fail(ACL_ERROR_INVALID_PARAM, "the binary is null (emulated)");
    }
    // SAFETY: the caller's promise.
    unsafe {
        load(
            std::slice::from_raw_parts(data.cast(), length),
            "data",
            handle,
        )
    }
}

unsafe fn load(bytes: &[u8], name: &str, handle: *mut aclrtBinHandle) -> aclError {
    match loader::load(bytes) {
        Ok(binary) => {
            tracing::debug!(target: "fa_emulator::load", name, arch = %binary.npu_arch);
            let binary = Arc::new(binary);
            let functions = binary
                .kernels
                .iter()
                .map(|kernel| Function {
                    kernel: kernel.clone(),
                    binary: Arc::clone(&binary),
                    lists: Mutex::new(Vec::new()),
                })
                .collect();
            // SAFETY: the caller's promise.
            unsafe { put(handle, Box::into_raw(Box::new(Loaded { functions })).cast()) }
        }
        Err(error) => fail(
            ACL_ERROR_INVALID_FILE,
            format!("{name}: {error} (emulated)"),
        ),
    }
}

/// Unloads a binary; its function handles die with it.
///
/// # Safety
/// `handle` is a live binary and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryUnLoad(handle: aclrtBinHandle) -> aclError {
    if handle.is_null() {
        return fail(ACL_ERROR_INVALID_PARAM, "the binary is null (emulated)");
    }
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(handle.cast::<Loaded>()) });
    ACL_SUCCESS
}

/// Finds a kernel: by its plain name when it is `extern "C"`, by its mangled name otherwise.
///
/// # Safety
/// `handle` is a live binary, `name` a C string, `function` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtBinaryGetFunction(
    handle: aclrtBinHandle,
    name: *const c_char,
    function: *mut aclrtFuncHandle,
) -> aclError {
    // SAFETY: the caller's promise.
    let Some(loaded) = (unsafe { handle.cast::<Loaded>().as_ref() }) else {
        return fail(ACL_ERROR_INVALID_PARAM, "the binary is null (emulated)");
    };
    if name.is_null() {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "the kernel's name is null (emulated)",
        );
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    match loaded
        .functions
        .iter()
        .find(|function| function.kernel.symbol == name)
    {
        // SAFETY: the caller's promise; the box keeps its address.
        Some(found) => unsafe {
            put(
                function,
                std::ptr::from_ref::<Function>(found).cast_mut().cast(),
            )
        },
        None => {
            let known: Vec<&str> = loaded
                .functions
                .iter()
                .map(|f| f.kernel.symbol.as_str())
                .collect();
            fail(
                ACL_ERROR_INVALID_PARAM,
                format!(
                    "no kernel `{name}` in the binary, it has {} (emulated)",
                    known.join(", ")
                ),
            )
        }
    }
}
