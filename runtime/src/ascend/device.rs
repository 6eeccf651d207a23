//! Device memory, streams and binaries, freed when dropped.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr;

use super::acl::{self, AclApi, Handle};
use crate::error::{Error, Result};

/// The device that launches use.
const DEVICE: i32 = 0;

/// Memory of the device.
#[derive(Debug)]
pub(crate) struct DeviceBuffer<'a> {
    api: &'a AclApi,
    address: Handle,
    bytes: usize,
}

impl<'a> DeviceBuffer<'a> {
    /// Uninitialised memory; never empty, so that its address is never null.
    pub(crate) fn new(api: &'a AclApi, bytes: usize) -> Result<DeviceBuffer<'a>> {
        let bytes = bytes.max(32);
        let mut address = ptr::null_mut();
        // SAFETY: the pointer to receive the address is valid.
        let code = unsafe { (api.aclrtMalloc)(&mut address, bytes, acl::HUGE_FIRST) };
        api.check("aclrtMalloc", code)?;
        Ok(DeviceBuffer {
            api,
            address,
            bytes,
        })
    }

    /// Memory in which [`DeviceBuffer::aligned`] finds that many bytes.
    pub(crate) fn workspace(
        api: &'a AclApi,
        bytes: usize,
        align_bytes: u32,
    ) -> Result<DeviceBuffer<'a>> {
        DeviceBuffer::new(api, bytes + align_bytes as usize)
    }

    /// Copies host memory to the device.
    ///
    /// # Safety
    /// `bytes` bytes at `source` are readable.
    pub(crate) unsafe fn upload(
        api: &'a AclApi,
        source: *const u8,
        bytes: usize,
    ) -> Result<DeviceBuffer<'a>> {
        let buffer = DeviceBuffer::new(api, bytes)?;
        if bytes > 0 {
            // SAFETY: the buffer holds `bytes`; the caller vouches for the source.
            let code = unsafe {
                (api.aclrtMemcpy)(
                    buffer.address,
                    buffer.bytes,
                    source.cast(),
                    bytes,
                    acl::HOST_TO_DEVICE,
                )
            };
            api.check("aclrtMemcpy", code)?;
        }
        Ok(buffer)
    }

    /// Its first bytes.
    pub(crate) fn download(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut host = vec![0_u8; bytes];
        if bytes > 0 {
            // SAFETY: `host` holds `bytes`; the device buffer was made for at least as many.
            let code = unsafe {
                (self.api.aclrtMemcpy)(
                    host.as_mut_ptr().cast(),
                    bytes,
                    self.address,
                    bytes,
                    acl::DEVICE_TO_HOST,
                )
            };
            self.api.check("aclrtMemcpy", code)?;
        }
        Ok(host)
    }

    /// Its address.
    pub(crate) fn address(&self) -> u64 {
        self.address as u64
    }

    /// Its first address that is a multiple.
    pub(crate) fn aligned(&self, align_bytes: u32) -> u64 {
        self.address().next_multiple_of(u64::from(align_bytes))
    }
}

impl Drop for DeviceBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by `aclrtMalloc` and freed once. A failure leaves the memory to the process's end.
        let _ = unsafe { (self.api.aclrtFree)(self.address) };
    }
}

/// Selects the device for this thread and asks how many cube cores it has.
pub(crate) fn select(api: &AclApi) -> Result<u32> {
    let mut cores = 0_i64;
    // SAFETY: plain calls; the pointer to receive the count is valid.
    unsafe {
        api.check("aclrtSetDevice", (api.aclrtSetDevice)(DEVICE))?;
        let code = (api.aclrtGetDeviceInfo)(DEVICE as u32, acl::CUBE_CORE_NUM, &mut cores);
        api.check("aclrtGetDeviceInfo", code)?;
    }
    Ok(u32::try_from(cores).unwrap_or(1).max(1))
}

/// Base address of the flags between cores.
pub(crate) fn sync_address(api: &AclApi) -> Result<u64> {
    let mut address = ptr::null_mut();
    // SAFETY: the pointer to receive the address is valid.
    let code = unsafe { (api.aclrtGetHardwareSyncAddr)(&mut address) };
    api.check("aclrtGetHardwareSyncAddr", code)?;
    Ok(address as u64)
}

/// A queue of launches in which infinities and NaN are kept.
#[derive(Debug)]
pub(crate) struct Stream<'a> {
    api: &'a AclApi,
    handle: Handle,
}

impl<'a> Stream<'a> {
    /// A new stream on the selected device.
    pub(crate) fn new(api: &'a AclApi) -> Result<Stream<'a>> {
        let mut handle = ptr::null_mut();
        // SAFETY: plain calls. The mode acts on streams that are made after it.
        unsafe {
            let code = (api.aclrtSetDeviceSatMode)(acl::INF_NAN_MODE);
            api.check("aclrtSetDeviceSatMode", code)?;
            api.check("aclrtCreateStream", (api.aclrtCreateStream)(&mut handle))?;
        }
        Ok(Stream { api, handle })
    }

    /// Launches a function and waits for it. Each argument is copied as it is.
    pub(crate) fn run(&self, function: Handle, blocks: u32, arguments: &[&[u8]]) -> Result<()> {
        self.launch(function, blocks, arguments, ptr::null_mut())
    }

    /// The same for a function whose blocks wait for one another: none starts before there is a core for each.
    pub(crate) fn run_together(
        &self,
        function: Handle,
        blocks: u32,
        arguments: &[&[u8]],
    ) -> Result<()> {
        let mut batch = acl::LaunchAttribute {
            id: acl::SCHEDULE_MODE,
            value: [acl::BATCH, 0, 0, 0],
        };
        let mut configuration = acl::LaunchConfiguration {
            attributes: &raw mut batch,
            count: 1,
        };
        let configuration = (&raw mut configuration).cast();
        self.launch(function, blocks, arguments, configuration)
    }

    fn launch(
        &self,
        function: Handle,
        blocks: u32,
        arguments: &[&[u8]],
        configuration: Handle,
    ) -> Result<()> {
        let api = self.api;
        let mut handle = ptr::null_mut();
        // SAFETY: `function` belongs to a loaded binary; arguments are copied by `Append`; the configuration lives
        // until the launch returns, and null asks for the defaults.
        unsafe {
            let code = (api.aclrtKernelArgsInit)(function, &mut handle);
            api.check("aclrtKernelArgsInit", code)?;
            for argument in arguments {
                let mut parameter = ptr::null_mut();
                let data = argument.as_ptr().cast_mut().cast::<c_void>();
                let code =
                    (api.aclrtKernelArgsAppend)(handle, data, argument.len(), &mut parameter);
                api.check("aclrtKernelArgsAppend", code)?;
            }
            let code = (api.aclrtKernelArgsFinalize)(handle);
            api.check("aclrtKernelArgsFinalize", code)?;
            let code = (api.aclrtLaunchKernelWithConfig)(
                function,
                blocks,
                self.handle,
                configuration,
                handle,
                ptr::null_mut(),
            );
            api.check("aclrtLaunchKernelWithConfig", code)?;
            let code = (api.aclrtSynchronizeStream)(self.handle);
            api.check("aclrtSynchronizeStream", code)
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `aclrtCreateStream` and destroyed once.
        let _ = unsafe { (self.api.aclrtDestroyStream)(self.handle) };
    }
}

/// A loaded device binary.
#[derive(Debug)]
pub(crate) struct Binary {
    api: &'static AclApi,
    handle: Handle,
}

// SAFETY: the handle is only used in calls of the runtime, which accept it from any thread.
unsafe impl Send for Binary {}
// SAFETY: as above.
unsafe impl Sync for Binary {}

impl Binary {
    /// Loads a binary on the selected device.
    pub(crate) fn load(api: &'static AclApi, path: &Path) -> Result<Binary> {
        let text = CString::new(path.as_os_str().as_encoded_bytes())
            .map_err(|error| Error::Io(error.into()))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the path is a C string; null options ask for the defaults.
        let code =
            unsafe { (api.aclrtBinaryLoadFromFile)(text.as_ptr(), ptr::null_mut(), &mut handle) };
        api.check("aclrtBinaryLoadFromFile", code)?;
        Ok(Binary { api, handle })
    }

    /// The kernel of that name.
    pub(crate) fn function(&self, symbol: &str) -> Result<Handle> {
        let name = CString::new(symbol).map_err(|error| Error::Io(error.into()))?;
        let mut function = ptr::null_mut();
        // SAFETY: the binary is loaded; the name is a C string.
        let code =
            unsafe { (self.api.aclrtBinaryGetFunction)(self.handle, name.as_ptr(), &mut function) };
        self.api.check("aclrtBinaryGetFunction", code)?;
        Ok(function)
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once. A failure leaves it to the process's end.
        let _ = unsafe { (self.api.aclrtBinaryUnLoad)(self.handle) };
    }
}
