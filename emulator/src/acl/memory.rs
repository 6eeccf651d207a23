//! Device and host memory, and copies between them.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;

use crate::acl::code::{
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_DRV_INTERNAL_ERROR, ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_ERROR_RT_PARAM_INVALID, ACL_SUCCESS, aclError, fail,
};
use crate::acl::process::{put, require_device};
use crate::acl::stream::aclrtStream;
use crate::device;
use crate::options;
use crate::report::{self, Finding, Severity};

/// Sizes are rounded up to this, as the runtime does.
const ROUND_BYTES: usize = 32;
/// Alignment of page-locked host memory.
const HOST_ALIGN: usize = 64;

const HOST_TO_HOST: i32 = 0;
const HOST_TO_DEVICE: i32 = 1;
const DEVICE_TO_HOST: i32 = 2;
const DEVICE_TO_DEVICE: i32 = 3;
const DEFAULT: i32 = 4;

/// Allocates device memory; its contents are undefined and tracked as such.
///
/// # Safety
/// `dev_ptr` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMalloc(
    dev_ptr: *mut *mut c_void,
    size: usize,
    policy: i32,
) -> aclError {
    let _ = policy;
    if let Err(code) = require_device() {
        return code;
    }
    if size == 0 {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "aclrtMalloc of 0 bytes (emulated)",
        );
    }
    let all = options::current().device_bytes as usize;
    let free = all.saturating_sub(device::allocated_bytes());
    if size > free {
        return fail(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            format!(
                "aclrtMalloc of {size} bytes: {free} of {all} bytes of device memory are free (emulated)"
            ),
        );
    }
    match device::allocate(size) {
        // SAFETY: the caller's promise.
        Some(base) => unsafe { put(dev_ptr, base as *mut c_void) },
        None => fail(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            format!("the host has no {size} bytes for emulated device memory"),
        ),
    }
}

/// Frees device memory.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtFree(dev_ptr: *mut c_void) -> aclError {
    if device::free(dev_ptr as usize) {
        return ACL_SUCCESS;
    }
    fail(
        ACL_ERROR_RT_PARAM_INVALID,
        "aclrtFree of a pointer that aclrtMalloc did not return (emulated)",
    )
}

fn host_layout(size: usize) -> Option<Layout> {
    // The size is kept in front of the block, so that the block can be freed.
    Layout::from_size_align(
        size.checked_next_multiple_of(ROUND_BYTES)? + HOST_ALIGN,
        HOST_ALIGN,
    )
    .ok()
}

/// Allocates host memory for copies.
///
/// # Safety
/// `host_ptr` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMallocHost(host_ptr: *mut *mut c_void, size: usize) -> aclError {
    let Some(layout) = host_layout(size) else {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the size overflows (emulated)");
    };
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        return fail(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "the host has no memory left (emulated)",
        );
    }
    // SAFETY: the block starts with room for the size, aligned for it.
    unsafe { block.cast::<usize>().write(size) };
    // SAFETY: the caller's promise; the offset is inside the block.
    unsafe { put(host_ptr, block.add(HOST_ALIGN).cast()) }
}

/// Frees host memory.
///
/// # Safety
/// `host_ptr` is null or came from `aclrtMallocHost` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtFreeHost(host_ptr: *mut c_void) -> aclError {
    if host_ptr.is_null() {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "aclrtFreeHost of a null pointer (emulated)",
        );
    }
    // SAFETY: the caller's promise: the block starts before the pointer and holds its size.
    unsafe {
        let block = host_ptr.cast::<u8>().sub(HOST_ALIGN);
        let size = block.cast::<usize>().read();
        dealloc(block, host_layout(size).expect("the size was allocated"));
    }
    ACL_SUCCESS
}

/// Copies `count` bytes; a copy to the host reports bytes that nothing defined.
///
/// # Safety
/// Host pointers are valid for their sizes; device pointers are checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemcpy(
    dst: *mut c_void,
    dest_max: usize,
    src: *const c_void,
    count: usize,
    kind: i32,
) -> aclError {
    if count > dest_max {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("aclrtMemcpy of {count} bytes into {dest_max} bytes (emulated)"),
        );
    }
    if count == 0 {
        return ACL_SUCCESS;
    }
    if dst.is_null() || src.is_null() {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            "aclrtMemcpy with a null pointer (emulated)",
        );
    }
    let kind = if kind == DEFAULT {
        infer(dst as usize, src as usize)
    } else {
        kind
    };
    match kind {
        HOST_TO_HOST => {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(src.cast::<u8>(), dst.cast::<u8>(), count) };
            ACL_SUCCESS
        }
        // SAFETY: the caller's promise.
        HOST_TO_DEVICE => to_device(dst as usize, unsafe {
            std::slice::from_raw_parts(src.cast(), count)
        }),
        DEVICE_TO_HOST => {
            // SAFETY: the caller's promise.
            let target = unsafe { std::slice::from_raw_parts_mut(dst.cast::<u8>(), count) };
            to_host(target, src as usize)
        }
        DEVICE_TO_DEVICE => on_device(dst as usize, src as usize, count),
        _ => fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("copy kind {kind} does not exist (emulated)"),
        ),
    }
}

fn infer(dst: usize, src: usize) -> i32 {
    match (device::find(dst).is_some(), device::find(src).is_some()) {
        (false, false) => HOST_TO_HOST,
        (true, false) => HOST_TO_DEVICE,
        (false, true) => DEVICE_TO_HOST,
        (true, true) => DEVICE_TO_DEVICE,
    }
}

/// The allocation and offset of a device range, or the error that names both sizes.
fn locate(
    addr: usize,
    count: usize,
) -> Result<(std::sync::Arc<device::Allocation>, usize), aclError> {
    let Some(allocation) = device::find(addr) else {
        return Err(fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("address {addr:#x} is not in emulated device memory"),
        ));
    };
    let offset = addr - allocation.base();
    if offset + count > allocation.size() {
        return Err(fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!(
                "bytes {offset} to {} leave a device allocation of {} bytes (emulated)",
                offset + count,
                allocation.size()
            ),
        ));
    }
    Ok((allocation, offset))
}

fn to_device(dst: usize, data: &[u8]) -> aclError {
    match locate(dst, data.len()) {
        Ok((allocation, offset)) => {
            allocation.write_defined(offset, data);
            ACL_SUCCESS
        }
        Err(code) => code,
    }
}

fn on_device(dst: usize, src: usize, count: usize) -> aclError {
    let (source, from) = match locate(src, count) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let (target, to) = match locate(dst, count) {
        Ok(found) => found,
        Err(code) => return code,
    };
    let data = source.bytes(from, count).to_vec();
    let shadow = source.shadow(from, count).to_vec();
    target.write(to, &data, &shadow, || device::StoreSite {
        file: String::new(),
        line: 0,
        call: "aclrtMemcpy".to_owned(),
    });
    ACL_SUCCESS
}

fn to_host(dst: &mut [u8], src: usize) -> aclError {
    let (allocation, offset) = match locate(src, dst.len()) {
        Ok(found) => found,
        Err(code) => return code,
    };
    dst.copy_from_slice(allocation.bytes(offset, dst.len()));
    let shadow = allocation.shadow(offset, dst.len());
    let Some(first) = shadow.iter().position(|&state| state != 0) else {
        return ACL_SUCCESS;
    };
    let finding = undefined(&allocation, offset, shadow, first);
    let text = report::render(std::slice::from_ref(&finding));
    report::deliver(&[finding]);
    fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, text)
}

fn undefined(
    allocation: &device::Allocation,
    offset: usize,
    shadow: &[u8],
    first: usize,
) -> Finding {
    let count = shadow.iter().filter(|&&state| state != 0).count();
    let site = allocation.site(shadow[first]);
    let origin = match &site {
        Some(site) => format!("garbage from on-chip memory, stored by {}", site.call),
        None => "never written".to_owned(),
    };
    let (file, line) = site.map(|site| (site.file, site.line)).unwrap_or_default();
    Finding {
        kind: "uninitialised",
        severity: Severity::Error,
        core: String::new(),
        pipe: "",
        message: format!(
            "{count} of {} bytes copied to the host are undefined; the first is byte {} of the allocation, {origin}",
            shadow.len(),
            offset + first
        ),
        help: "make the kernel define every byte that the host reads".to_owned(),
        file,
        line,
        other: None,
    }
}

/// As [`aclrtMemcpy`], in the order of a stream; the emulator copies at once.
///
/// # Safety
/// As for [`aclrtMemcpy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtMemcpyAsync(
    dst: *mut c_void,
    dest_max: usize,
    src: *const c_void,
    count: usize,
    kind: i32,
    stream: aclrtStream,
) -> aclError {
    let _ = stream;
    // SAFETY: the caller's promise.
    unsafe { aclrtMemcpy(dst, dest_max, src, count, kind) }
}

/// Fills device memory; the bytes become defined.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemset(
    dev_ptr: *mut c_void,
    max_count: usize,
    value: i32,
    count: usize,
) -> aclError {
    if count > max_count {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("aclrtMemset of {count} bytes into {max_count} bytes (emulated)"),
        );
    }
    match locate(dev_ptr as usize, count) {
        Ok((allocation, offset)) => {
            allocation.fill(offset, value as u8, count);
            ACL_SUCCESS
        }
        Err(code) => code,
    }
}

/// As [`aclrtMemset`], in the order of a stream; the emulator fills at once.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtMemsetAsync(
    dev_ptr: *mut c_void,
    max_count: usize,
    value: i32,
    count: usize,
    stream: aclrtStream,
) -> aclError {
    let _ = stream;
    aclrtMemset(dev_ptr, max_count, value, count)
}
