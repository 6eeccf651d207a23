//! Compiling and launching kernels the way a host program does.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod product;

use std::ffi::{CString, OsString, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use fa_emulator::acl;
use fa_emulator::report::{self, Finding};

/// A compiled and loaded source.
pub(crate) struct Module {
    handle: acl::aclrtBinHandle,
}

/// One argument of a launch.
pub(crate) enum Arg<'a> {
    /// A device buffer.
    Buffer(&'a Buffer),
    /// Plain bytes: a scalar or a structure.
    Bytes(Vec<u8>),
}

/// Device memory that is freed with the value.
pub(crate) struct Buffer {
    address: *mut c_void,
    size: usize,
}

/// What a launch came to.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) findings: Vec<Finding>,
}

impl Outcome {
    /// Panics with the findings if the launch failed.
    pub(crate) fn ok(self) {
        assert_eq!(self.code, 0, "{}", self.message);
    }

    /// Requires a finding of this kind at the line of `file` that holds `marker`.
    pub(crate) fn finds(&self, kind: &str, file: &str, marker: &str) -> &Finding {
        let text = std::fs::read_to_string(kernel_path(file)).expect("kernel source");
        let line = 1 + text
            .lines()
            .position(|line| line.contains(marker))
            .expect("marker in the source");
        let found = self
            .findings
            .iter()
            .find(|finding| finding.kind == kind && finding.line as usize == line);
        found.unwrap_or_else(|| {
            panic!(
                "no `{kind}` at {file}:{line}; got code {} and {:#?}",
                self.code, self.findings
            )
        })
    }
}

/// Path of a kernel source of these tests.
pub(crate) fn kernel_path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(file)
}

/// Device, once per thread. These kernels leave order inside the vector unit to the compiler.
pub(crate) fn set_up() {
    // SAFETY: null is a documented argument; a second call is an error code.
    unsafe { acl::aclInit(ptr::null()) };
    fa_emulator::set_options(fa_emulator::Options {
        auto_sync: true,
        ..fa_emulator::Options::default()
    });
    assert_eq!(acl::aclrtSetDevice(0), 0);
}

/// Compiler arguments for a source.
pub(crate) fn arguments(source: &Path, output: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = [
        "-x",
        "asc",
        "--npu-arch=dav-2201",
        "-O2",
        "-std=c++17",
        "-fPIC",
        "-shared",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    .map(OsString::from)
    .to_vec();
    args.extend([source.into(), "-o".into(), output.into()]);
    args
}

impl Module {
    /// Compiles a source of `tests/kernels` and loads it.
    pub(crate) fn compile(file: &str) -> Module {
        set_up();
        let folder = tempfile::tempdir().expect("temporary folder");
        let output = folder.path().join("kernels.o");
        let warnings =
            fa_emulator::driver::compile_with_diagnostics(&arguments(&kernel_path(file), &output))
                .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(warnings, "");
        let path = CString::new(output.to_str().expect("utf-8 path")).expect("no zero bytes");
        let mut handle = ptr::null_mut();
        // SAFETY: the path is a C string and the handle is writable.
        let code = unsafe {
            acl::aclrtBinaryLoadFromFile(path.as_ptr(), ptr::null_mut(), &raw mut handle)
        };
        assert_eq!(code, 0, "{}", last_message());
        Module { handle }
    }

    /// Launches a kernel and waits for it.
    pub(crate) fn launch(&self, kernel: &str, blocks: u32, args: &[Arg<'_>]) -> Outcome {
        set_up();
        self.launch_as_set(kernel, blocks, args)
    }

    /// The same, with the options that are in force.
    pub(crate) fn launch_as_set(&self, kernel: &str, blocks: u32, args: &[Arg<'_>]) -> Outcome {
        report::take_findings();
        let name = CString::new(kernel).expect("no zero bytes");
        let mut function = ptr::null_mut();
        let mut list = ptr::null_mut();
        let mut stream = ptr::null_mut();
        // SAFETY: every pointer is a live handle or a writable local.
        unsafe {
            assert_eq!(
                acl::aclrtBinaryGetFunction(self.handle, name.as_ptr(), &raw mut function),
                0,
                "{}",
                last_message()
            );
            assert_eq!(acl::aclrtCreateStream(&raw mut stream), 0);
            assert_eq!(acl::aclrtKernelArgsInit(function, &raw mut list), 0);
            for arg in args {
                let mut bytes = match arg {
                    Arg::Buffer(buffer) => (buffer.address as u64).to_le_bytes().to_vec(),
                    Arg::Bytes(bytes) => bytes.clone(),
                };
                let data = bytes.as_mut_ptr().cast();
                assert_eq!(
                    acl::aclrtKernelArgsAppend(list, data, bytes.len(), ptr::null_mut()),
                    0
                );
            }
            assert_eq!(acl::aclrtKernelArgsFinalize(list), 0);
            let none = ptr::null_mut();
            let code = acl::aclrtLaunchKernelWithConfig(function, blocks, stream, none, list, none);
            assert_eq!(code, 0, "{}", last_message());
            let code = acl::aclrtSynchronizeStream(stream);
            let message = last_message();
            acl::aclrtDestroyStream(stream);
            Outcome {
                code,
                message,
                findings: report::take_findings(),
            }
        }
    }
}

impl Buffer {
    /// Undefined device memory.
    pub(crate) fn new(size: usize) -> Buffer {
        set_up();
        let mut address = ptr::null_mut();
        // SAFETY: the result pointer is writable.
        let code = unsafe { acl::aclrtMalloc(&raw mut address, size, 0) };
        assert_eq!(code, 0);
        Buffer { address, size }
    }

    /// Device memory with these contents.
    pub(crate) fn from<T: Copy>(data: &[T]) -> Buffer {
        let size = size_of_val(data);
        let buffer = Buffer::new(size);
        // SAFETY: `data` has that many bytes, the device address is checked.
        let code = unsafe { acl::aclrtMemcpy(buffer.address, size, data.as_ptr().cast(), size, 1) };
        assert_eq!(code, 0);
        buffer
    }

    /// The contents; panics where they are undefined.
    pub(crate) fn read<T: Copy + Default>(&self) -> Vec<T> {
        let (code, data) = self.try_read();
        assert_eq!(code, 0, "{}", last_message());
        data
    }

    /// The contents and the code of the copy.
    pub(crate) fn try_read<T: Copy + Default>(&self) -> (i32, Vec<T>) {
        let mut data = vec![T::default(); self.size / size_of::<T>()];
        let bytes = size_of_val(data.as_slice());
        // SAFETY: `data` has that many bytes, the device address is checked.
        let code =
            unsafe { acl::aclrtMemcpy(data.as_mut_ptr().cast(), bytes, self.address, bytes, 2) };
        (code, data)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        acl::aclrtFree(self.address);
    }
}

/// Text of the last error of this thread.
pub(crate) fn last_message() -> String {
    let text = acl::aclGetRecentErrMsg();
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; the runtime returns a C string.
    unsafe { std::ffi::CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// A scalar argument.
pub(crate) fn scalar<T: Copy>(value: T) -> Arg<'static> {
    // SAFETY: any initialised plain value can be seen as bytes.
    let bytes =
        unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
    Arg::Bytes(bytes.to_vec())
}

/// Deterministic numbers in -1..1.
pub(crate) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// The flag area's address, as hosts pass it to kernels.
pub(crate) fn sync_address() -> Arg<'static> {
    let mut address = ptr::null_mut();
    // SAFETY: the result pointer is writable.
    unsafe { acl::aclrtGetHardwareSyncAddr(&raw mut address) };
    scalar(address as u64)
}
