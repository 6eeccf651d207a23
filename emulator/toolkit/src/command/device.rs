//! The device as a host program sees it: the C surface behind safe functions.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr;

use anyhow::{anyhow, bail, ensure};
use fa_emulator::acl;
use fa_emulator::report::{self, Finding};

/// `aclrtMemcpyKind`: host to device, device to host.
const TO_DEVICE: i32 = 1;
const TO_HOST: i32 = 2;

/// Fails with the runtime's own message and code.
fn check(code: i32, what: &str) -> anyhow::Result<()> {
    if code == 0 {
        return Ok(());
    }
    bail!("{what} returned {code}: {}", last_message())
}

fn last_message() -> String {
    let text = acl::aclGetRecentErrMsg();
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null; the runtime returns a C string.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Makes the device ready.
pub(crate) fn open() -> anyhow::Result<()> {
    // SAFETY: null is a documented argument.
    check(unsafe { acl::aclInit(ptr::null()) }, "aclInit")?;
    check(acl::aclrtSetDevice(0), "aclrtSetDevice")
}

/// The address that `SetSyncBaseAddr` takes.
pub(crate) fn sync_address() -> anyhow::Result<u64> {
    let mut address = ptr::null_mut();
    // SAFETY: the result pointer is writable.
    let code = unsafe { acl::aclrtGetHardwareSyncAddr(&raw mut address) };
    check(code, "aclrtGetHardwareSyncAddr")?;
    Ok(address as u64)
}

/// Device memory that is freed with the value.
pub(crate) struct Memory {
    address: *mut c_void,
    len: usize,
}

impl Memory {
    pub(crate) fn new(len: usize) -> anyhow::Result<Memory> {
        let mut address = ptr::null_mut();
        // SAFETY: the result pointer is writable.
        let code = unsafe { acl::aclrtMalloc(&raw mut address, len, 0) };
        check(code, &format!("aclrtMalloc of {len} bytes"))?;
        Ok(Memory { address, len })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        ensure!(
            bytes.len() == self.len,
            "{} bytes for a buffer of {}",
            bytes.len(),
            self.len
        );
        // SAFETY: both sides have that many bytes.
        let code = unsafe {
            acl::aclrtMemcpy(
                self.address,
                self.len,
                bytes.as_ptr().cast(),
                bytes.len(),
                TO_DEVICE,
            )
        };
        check(code, "aclrtMemcpy")
    }

    /// The contents, or the findings that say why they are worth nothing.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Vec<Finding>> {
        let mut bytes = vec![0u8; self.len];
        // SAFETY: both sides have that many bytes.
        let code = unsafe {
            acl::aclrtMemcpy(
                bytes.as_mut_ptr().cast(),
                self.len,
                self.address,
                self.len,
                TO_HOST,
            )
        };
        let findings = report::take_findings();
        if code == 0 { Ok(bytes) } else { Err(findings) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        acl::aclrtFree(self.address);
    }
}

/// A loaded kernel.
pub(crate) struct Kernel {
    function: acl::aclrtFuncHandle,
}

impl Kernel {
    pub(crate) fn load(path: &Path, name: &str) -> anyhow::Result<Kernel> {
        let path = CString::new(path.display().to_string())?;
        let name = CString::new(name)?;
        let (mut binary, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: C strings and writable handles; the binary stays loaded to the end of the process.
        unsafe {
            let code =
                acl::aclrtBinaryLoadFromFile(path.as_ptr(), ptr::null_mut(), &raw mut binary);
            check(code, "aclrtBinaryLoadFromFile")?;
            let code = acl::aclrtBinaryGetFunction(binary, name.as_ptr(), &raw mut function);
            check(code, "aclrtBinaryGetFunction")?;
        }
        Ok(Kernel { function })
    }

    /// Launches with these arguments and waits; returns what was found.
    pub(crate) fn launch(&self, blocks: u32, args: &[Vec<u8>]) -> anyhow::Result<Vec<Finding>> {
        report::take_findings();
        let (mut list, mut stream) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: live handles, writable results, arguments with their own length.
        unsafe {
            check(acl::aclrtCreateStream(&raw mut stream), "aclrtCreateStream")?;
            let code = acl::aclrtKernelArgsInit(self.function, &raw mut list);
            check(code, "aclrtKernelArgsInit")?;
            for arg in args {
                let mut bytes = arg.clone();
                let data = bytes.as_mut_ptr().cast();
                let code = acl::aclrtKernelArgsAppend(list, data, bytes.len(), ptr::null_mut());
                check(code, "aclrtKernelArgsAppend")?;
            }
            check(
                acl::aclrtKernelArgsFinalize(list),
                "aclrtKernelArgsFinalize",
            )?;
            let none = ptr::null_mut();
            let code =
                acl::aclrtLaunchKernelWithConfig(self.function, blocks, stream, none, list, none);
            check(code, "aclrtLaunchKernelWithConfig").map_err(|error| {
                anyhow!(
                    "{error}\n  help: --args takes one word for each parameter, and `struct:TYPE:VALUE,...` for a structure"
                )
            })?;
            // A failure of the kernel arrives as findings.
            let code = acl::aclrtSynchronizeStream(stream);
            let message = last_message();
            acl::aclrtDestroyStream(stream);
            let findings = report::take_findings();
            ensure!(
                code == 0 || !findings.is_empty(),
                "aclrtSynchronizeStream returned {code}: {message}"
            );
            Ok(findings)
        }
    }
}
