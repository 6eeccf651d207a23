//! The part of the Ascend runtime's C surface that a launch needs, as a table of function pointers: filled from
//! an installed `libascendcl`, or from the emulator.

#![expect(
    non_snake_case,
    reason = "fields carry the names of the C functions they hold"
)]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use libloading::Library;

use crate::error::{Error, Result};

/// An opaque handle or a device address.
pub(crate) type Handle = *mut c_void;

/// `ACL_MEM_MALLOC_HUGE_FIRST`.
pub(crate) const HUGE_FIRST: i32 = 0;
/// `ACL_MEMCPY_HOST_TO_DEVICE`.
pub(crate) const HOST_TO_DEVICE: i32 = 1;
/// `ACL_MEMCPY_DEVICE_TO_HOST`.
pub(crate) const DEVICE_TO_HOST: i32 = 2;
/// `ACL_DEV_ATTR_CUBE_CORE_NUM`.
pub(crate) const CUBE_CORE_NUM: i32 = 102;
/// Infinities and NaN are kept; the other mode saturates.
pub(crate) const INF_NAN_MODE: i32 = 1;
/// `ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE`.
pub(crate) const SCHEDULE_MODE: i32 = 1;
/// A value of it: all blocks start at once.
pub(crate) const BATCH: u32 = 1;

/// `aclrtLaunchKernelAttr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchAttribute {
    pub(crate) id: i32,
    /// A union; its smallest member is the first byte.
    pub(crate) value: [u32; 4],
}

/// `aclrtLaunchKernelCfg`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchConfiguration {
    pub(crate) attributes: *mut LaunchAttribute,
    pub(crate) count: usize,
}

macro_rules! acl_api {
    ($($name:ident($($argument:ty),*);)*) => {
        /// Function pointers by name.
        #[derive(Debug)]
        pub(crate) struct AclApi {
            aclGetRecentErrMsg: unsafe extern "C" fn() -> *const c_char,
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> i32,)*
            /// Keeps an opened library in memory.
            _library: Option<Library>,
        }

        impl AclApi {
            /// The emulator's functions.
            pub(crate) fn emulated() -> AclApi {
                use fa_emulator::acl;
                AclApi {
                    aclGetRecentErrMsg: acl::aclGetRecentErrMsg,
                    $($name: acl::$name,)*
                    _library: None,
                }
            }

            /// The functions of an installed library.
            ///
            /// # Errors
            /// The library cannot be opened, or lacks one of them: the toolkit has another version.
            pub(crate) fn open(path: &Path) -> Result<AclApi> {
                let failed = |source| Error::Load {
                    path: path.to_owned(),
                    source,
                };
                // SAFETY: loading the vendor's runtime runs its own initialisers.
                let library = unsafe { Library::new(path) }.map_err(failed)?;
                let lacks = |symbol: &'static str| move |source| Error::Symbol {
                    path: path.to_owned(),
                    symbol,
                    source,
                };
                // SAFETY: signatures are those of the public headers; the library outlives the pointers.
                unsafe {
                    Ok(AclApi {
                        aclGetRecentErrMsg: *library
                            .get(b"aclGetRecentErrMsg")
                            .map_err(lacks("aclGetRecentErrMsg"))?,
                        $($name: *library
                            .get(stringify!($name).as_bytes())
                            .map_err(lacks(stringify!($name)))?,)*
                        _library: Some(library),
                    })
                }
            }
        }
    };
}

acl_api! {
    aclInit(*const c_char);
    aclrtSetDevice(i32);
    aclrtGetDeviceInfo(u32, i32, *mut i64);
    aclrtSetDeviceSatMode(i32);
    aclrtGetHardwareSyncAddr(*mut Handle);
    aclrtCreateStream(*mut Handle);
    aclrtDestroyStream(Handle);
    aclrtSynchronizeStream(Handle);
    aclrtMalloc(*mut Handle, usize, i32);
    aclrtFree(Handle);
    aclrtMemcpy(Handle, usize, *const c_void, usize, i32);
    aclrtBinaryLoadFromFile(*const c_char, Handle, *mut Handle);
    aclrtBinaryUnLoad(Handle);
    aclrtBinaryGetFunction(Handle, *const c_char, *mut Handle);
    aclrtKernelArgsInit(Handle, *mut Handle);
    aclrtKernelArgsAppend(Handle, Handle, usize, *mut Handle);
    aclrtKernelArgsFinalize(Handle);
    aclrtLaunchKernelWithConfig(Handle, u32, Handle, Handle, Handle, Handle);
}

impl AclApi {
    /// Turns a return value into an error with the runtime's own text.
    pub(crate) fn check(&self, call: &'static str, code: i32) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: takes nothing; the text, if any, is a C string that lives until the next call of this thread.
        let text = unsafe {
            let message = (self.aclGetRecentErrMsg)();
            if message.is_null() {
                "no further text".to_owned()
            } else {
                CStr::from_ptr(message).to_string_lossy().trim().to_owned()
            }
        };
        Err(Error::Acl { call, code, text })
    }
}
