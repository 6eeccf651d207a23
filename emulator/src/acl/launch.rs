//! Launching kernels.

use std::ffi::c_void;

use crate::acl::args::{self, Args, SLOT_BYTES, aclrtArgsHandle};
use crate::acl::binary::{Function, aclrtFuncHandle};
use crate::acl::code::{
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_PARAM_INVALID, ACL_SUCCESS, aclError, fail,
};
use crate::acl::process::{SYNC_BASE, require_device};
use crate::acl::stream::{Stream, aclrtStream};
use crate::device;
use crate::experiment;
use crate::launch::{self, Launch};
use crate::options;
use crate::timeline;

/// Where a launch with host arguments patches a pointer: offset of the pointer and of its data, bytes.
#[repr(C)]
#[allow(non_camel_case_types, reason = "the public C name")]
#[derive(Clone, Copy, Debug)]
pub struct aclrtPlaceHolderInfo {
    /// Byte offset of the pointer in the argument block (`addrOffset` in C).
    pub addr_offset: u32,
    /// Byte offset of the data in the argument block (`dataOffset` in C).
    pub data_offset: u32,
}

/// Launches a kernel with an argument list.
///
/// # Safety
/// All handles are live; `cfg` and `reserve` are not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchKernelWithConfig(
    function: aclrtFuncHandle,
    num_blocks: u32,
    stream: aclrtStream,
    cfg: *mut c_void,
    args: aclrtArgsHandle,
    reserve: *mut c_void,
) -> aclError {
    let _ = (cfg, reserve);
    // SAFETY: the caller's promise.
    match unsafe { args::snapshot(args) } {
        // SAFETY: the caller's promise.
        Ok(args) => unsafe { submit(function, num_blocks, stream, args) },
        Err(code) => code,
    }
}

/// Launches a kernel with a packed argument block in host memory.
///
/// # Safety
/// Handles are live, `host_args` is valid for `args_size` bytes, `placeholders` for `placeholder_count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchKernelWithHostArgs(
    function: aclrtFuncHandle,
    num_blocks: u32,
    stream: aclrtStream,
    cfg: *mut c_void,
    host_args: *mut c_void,
    args_size: usize,
    placeholders: *mut aclrtPlaceHolderInfo,
    placeholder_count: usize,
) -> aclError {
    let _ = cfg;
    if host_args.is_null() && args_size > 0 {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "the argument block is null (emulated)",
        );
    }
    let mut args = Args::default();
    if args_size > 0 {
        // SAFETY: the caller's promise.
        args =
            Args::packed(unsafe { std::slice::from_raw_parts(host_args.cast::<u8>(), args_size) });
    }
    let infos = if placeholder_count == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(placeholders, placeholder_count) }
    };
    let mut end = args_size;
    for info in infos {
        let data = info.data_offset as usize;
        let Some(contents) = args.bytes.get(data..) else {
            return fail(
                ACL_ERROR_RT_PARAM_INVALID,
                "a placeholder's data lies outside the block (emulated)",
            );
        };
        args.placeholders
            .push((info.addr_offset as usize, contents.to_vec()));
        end = end.min(data);
    }
    args.bytes.truncate(end);
    // SAFETY: the caller's promise.
    unsafe { submit(function, num_blocks, stream, args) }
}

/// Launches a kernel with a packed argument block in device memory.
///
/// # Safety
/// Handles are live; the block's address is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchKernel(
    function: aclrtFuncHandle,
    num_blocks: u32,
    args_data: *const c_void,
    args_size: usize,
    stream: aclrtStream,
) -> aclError {
    let Some(allocation) = device::find(args_data as usize) else {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "the argument block is not in device memory (emulated)",
        );
    };
    let offset = args_data as usize - allocation.base();
    if offset + args_size > allocation.size() {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "the argument block leaves its allocation (emulated)",
        );
    }
    let args = Args::packed(allocation.bytes(offset, args_size));
    // SAFETY: the caller's promise.
    unsafe { submit(function, num_blocks, stream, args) }
}

/// As [`aclrtLaunchKernel`], with a configuration that is not read.
///
/// # Safety
/// As for [`aclrtLaunchKernel`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtLaunchKernelV2(
    function: aclrtFuncHandle,
    num_blocks: u32,
    args_data: *const c_void,
    args_size: usize,
    cfg: *mut c_void,
    stream: aclrtStream,
) -> aclError {
    let _ = cfg;
    // SAFETY: the caller's promise.
    unsafe { aclrtLaunchKernel(function, num_blocks, args_data, args_size, stream) }
}

unsafe fn submit(
    function: aclrtFuncHandle,
    num_blocks: u32,
    stream: aclrtStream,
    args: Args,
) -> aclError {
    if let Err(code) = require_device() {
        return code;
    }
    // SAFETY: the callers' promise.
    let Some(function) = (unsafe { function.cast::<Function>().as_ref() }) else {
        return fail(ACL_ERROR_INVALID_PARAM, "the kernel is null (emulated)");
    };
    if num_blocks == 0 {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "a launch of 0 blocks (emulated)",
        );
    }
    // SAFETY: the callers' promise.
    let stream = unsafe { Stream::of(stream) };
    match prepare(function, args) {
        Ok((bytes, copies)) => {
            let launch = Launch {
                options: options::current(),
                kernel_type: function.kernel.kernel_type,
                overflow: stream.overflow(),
                sync_base: SYNC_BASE,
                experiment: timeline::requested(experiment::current()),
                blocks: num_blocks as usize,
                entries: function.kernel.entries,
                args: bytes,
            };
            let _keep_loaded = &function.binary;
            let outcome = launch::run(launch);
            stream.add(outcome.findings);
            experiment::observed(outcome.observed);
            if let Some(timeline) = outcome.timeline {
                timeline::keep(timeline);
            }
            for base in copies {
                device::free(base);
            }
            ACL_SUCCESS
        }
        Err(code) => code,
    }
}

/// Checks the size of the block and copies placeholders to the device.
fn prepare(function: &Function, args: Args) -> Result<(Vec<u8>, Vec<usize>), aclError> {
    let entry = function.kernel.entries[1].expect("both passes hold every kernel");
    let mut bytes = args.bytes;
    bytes.resize(bytes.len().next_multiple_of(SLOT_BYTES), 0);
    if bytes.len() != entry.args_bytes {
        return Err(fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!(
                "the arguments take {} bytes, kernel `{}` has parameters of {} bytes (emulated)",
                bytes.len(),
                function.kernel.symbol,
                entry.args_bytes
            ),
        ));
    }
    let mut copies = Vec::new();
    for (slot, contents) in args.placeholders {
        let base = device::allocate(contents.len().max(1)).ok_or_else(|| {
            fail(
                ACL_ERROR_RT_PARAM_INVALID,
                "no room for a placeholder (emulated)",
            )
        })?;
        let allocation = device::find(base).expect("just allocated");
        allocation.write_defined(0, &contents);
        let Some(target) = bytes.get_mut(slot..slot + SLOT_BYTES) else {
            return Err(fail(
                ACL_ERROR_RT_PARAM_INVALID,
                "a placeholder lies outside the block (emulated)",
            ));
        };
        target.copy_from_slice(&(base as u64).to_le_bytes());
        copies.push(base);
    }
    Ok((bytes, copies))
}
