//! Argument lists of launches.

use std::ffi::c_void;

use crate::acl::binary::{Function, aclrtFuncHandle};
use crate::acl::code::{ACL_ERROR_INVALID_PARAM, ACL_SUCCESS, aclError, fail};
use crate::acl::process::put;

/// Handle of an argument list.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtArgsHandle = *mut c_void;
/// Handle of one argument.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtParamHandle = *mut c_void;

/// Arguments start at multiples of this.
pub(crate) const SLOT_BYTES: usize = 8;

/// An argument list under construction.
#[derive(Default)]
pub(crate) struct Args {
    pub(crate) bytes: Vec<u8>,
    /// Slot and host contents of arguments that the launch copies to the device.
    pub(crate) placeholders: Vec<(usize, Vec<u8>)>,
    params: Vec<Param>,
    finalised: bool,
}

#[derive(Clone, Copy)]
struct Param {
    at: usize,
    size: usize,
    placeholder: Option<usize>,
}

impl Args {
    /// A list that is already packed into slots.
    pub(crate) fn packed(bytes: &[u8]) -> Args {
        Args {
            bytes: bytes.to_vec(),
            ..Args::default()
        }
    }

    fn push(&mut self, data: &[u8], placeholder: Option<usize>) -> aclrtParamHandle {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(data);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(SLOT_BYTES), 0);
        self.params.push(Param {
            at,
            size: data.len(),
            placeholder,
        });
        self.params.len() as aclrtParamHandle
    }

    fn param(&self, handle: aclrtParamHandle) -> Option<Param> {
        self.params.get((handle as usize).checked_sub(1)?).copied()
    }
}

/// The list behind a handle, or the error to return.
unsafe fn list<'a>(handle: aclrtArgsHandle) -> Result<&'a mut Args, aclError> {
    // SAFETY: the callers' promise that the handle is null or live.
    unsafe { handle.cast::<Args>().as_mut() }.ok_or_else(|| {
        fail(
            ACL_ERROR_INVALID_PARAM,
            "the argument list is null (emulated)",
        )
    })
}

/// Starts an argument list for a kernel.
///
/// # Safety
/// `function` is a live kernel, `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsInit(
    function: aclrtFuncHandle,
    handle: *mut aclrtArgsHandle,
) -> aclError {
    // SAFETY: the caller's promise.
    let Some(function) = (unsafe { function.cast::<Function>().as_ref() }) else {
        return fail(ACL_ERROR_INVALID_PARAM, "the kernel is null (emulated)");
    };
    // A list can be updated and launched again, so it lives as long as its kernel.
    let list = function.keep(Box::default());
    // SAFETY: the caller's promise.
    unsafe { put(handle, list.cast()) }
}

/// Appends an argument of `size` bytes.
///
/// # Safety
/// `handle` is a live list, `param` is valid for `size` bytes, `param_handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsAppend(
    handle: aclrtArgsHandle,
    param: *mut c_void,
    size: usize,
    param_handle: *mut aclrtParamHandle,
) -> aclError {
    // SAFETY: the caller's promise.
    let args = match unsafe { list(handle) } {
        Ok(args) => args,
        Err(code) => return code,
    };
    if args.finalised {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "the argument list is finalised (emulated)",
        );
    }
    if param.is_null() || size == 0 {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "an argument is null or empty (emulated)",
        );
    }
    // SAFETY: the caller's promise.
    let data = unsafe { std::slice::from_raw_parts(param.cast::<u8>(), size) };
    let created = args.push(data, None);
    if !param_handle.is_null() {
        // SAFETY: not null, writable by the caller's promise.
        unsafe { param_handle.write(created) };
    }
    ACL_SUCCESS
}

/// Appends a pointer that the launch fills in: to a device copy of a host buffer.
///
/// # Safety
/// `handle` is a live list, `param_handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsAppendPlaceHolder(
    handle: aclrtArgsHandle,
    param_handle: *mut aclrtParamHandle,
) -> aclError {
    // SAFETY: the caller's promise.
    let args = match unsafe { list(handle) } {
        Ok(args) => args,
        Err(code) => return code,
    };
    let index = args.placeholders.len();
    let at = args.bytes.len();
    args.placeholders.push((at, Vec::new()));
    let created = args.push(&[0; SLOT_BYTES], Some(index));
    // SAFETY: the caller's promise.
    unsafe { put(param_handle, created) }
}

/// The host buffer of a placeholder, `size` bytes long; it is copied at the launch.
///
/// # Safety
/// `handle` is a live list, `buffer` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsGetPlaceHolderBuffer(
    handle: aclrtArgsHandle,
    param_handle: aclrtParamHandle,
    size: usize,
    buffer: *mut *mut c_void,
) -> aclError {
    // SAFETY: the caller's promise.
    let args = match unsafe { list(handle) } {
        Ok(args) => args,
        Err(code) => return code,
    };
    let Some(index) = args.param(param_handle).and_then(|param| param.placeholder) else {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "the argument is no placeholder (emulated)",
        );
    };
    let contents = &mut args.placeholders[index].1;
    contents.resize(size, 0);
    // SAFETY: the caller's promise.
    unsafe { put(buffer, contents.as_mut_ptr().cast()) }
}

/// Replaces an argument by another of the same size.
///
/// # Safety
/// `handle` is a live list, `param` is valid for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsParaUpdate(
    handle: aclrtArgsHandle,
    param_handle: aclrtParamHandle,
    param: *mut c_void,
    size: usize,
) -> aclError {
    // SAFETY: the caller's promise.
    let args = match unsafe { list(handle) } {
        Ok(args) => args,
        Err(code) => return code,
    };
    match args.param(param_handle) {
        Some(found) if found.size == size && found.placeholder.is_none() && !param.is_null() => {
            // SAFETY: the caller's promise.
            let data = unsafe { std::slice::from_raw_parts(param.cast::<u8>(), size) };
            args.bytes[found.at..found.at + size].copy_from_slice(data);
            ACL_SUCCESS
        }
        _ => fail(
            ACL_ERROR_INVALID_PARAM,
            "no argument of that size has this handle (emulated)",
        ),
    }
}

/// Ends the list; it can be launched from now on.
///
/// # Safety
/// `handle` is a live list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtKernelArgsFinalize(handle: aclrtArgsHandle) -> aclError {
    // SAFETY: the caller's promise.
    match unsafe { list(handle) } {
        Ok(args) => {
            args.finalised = true;
            ACL_SUCCESS
        }
        Err(code) => code,
    }
}

/// Copies a finalised list for a launch.
///
/// # Safety
/// `handle` is null or a live list.
pub(crate) unsafe fn snapshot(handle: aclrtArgsHandle) -> Result<Args, aclError> {
    // SAFETY: the caller's promise.
    let args = unsafe { list(handle) }?;
    if !args.finalised {
        return Err(fail(
            ACL_ERROR_INVALID_PARAM,
            "aclrtKernelArgsFinalize was not called on the argument list (emulated)",
        ));
    }
    Ok(Args {
        placeholders: args.placeholders.clone(),
        ..Args::packed(&args.bytes)
    })
}
