//! Process, device and their attributes.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use crate::acl::code::{
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_REPEAT_INITIALIZE, ACL_ERROR_RT_CONTEXT_NULL,
    ACL_ERROR_RT_PARAM_INVALID, ACL_ERROR_UNINITIALIZE, ACL_SUCCESS, aclError, fail, take_message,
};
use crate::device;
use crate::dtype::Overflow;
use crate::options;

static INITIALISED: AtomicBool = AtomicBool::new(false);
static SATURATION: AtomicI32 = AtomicI32::new(0);

/// Address of the cross-core flag area: nothing reads it, kernels only pass it on.
pub(crate) const SYNC_BASE: u64 = 0x0000_0ffa_0000_0000;

thread_local! {
    static DEVICE: Cell<Option<i32>> = const { Cell::new(None) };
}

/// Initialises the process; `config_path` is ignored.
///
/// # Safety
/// `config_path` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclInit(config_path: *const c_char) -> aclError {
    let _ = config_path;
    if INITIALISED.swap(true, Ordering::SeqCst) {
        return fail(
            ACL_ERROR_REPEAT_INITIALIZE,
            "aclInit was already called (emulated)",
        );
    }
    ACL_SUCCESS
}

/// Ends the use of the device by this process.
#[unsafe(no_mangle)]
pub extern "C" fn aclFinalize() -> aclError {
    if !INITIALISED.swap(false, Ordering::SeqCst) {
        return fail(ACL_ERROR_UNINITIALIZE, "aclInit was not called (emulated)");
    }
    ACL_SUCCESS
}

/// The last error text of this thread, or null; valid until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetRecentErrMsg() -> *const c_char {
    take_message()
}

/// Number of devices: one.
///
/// # Safety
/// `count` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceCount(count: *mut u32) -> aclError {
    // SAFETY: the caller's promise.
    unsafe { put(count, 1) }
}

/// Makes the device current for this thread.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetDevice(device_id: i32) -> aclError {
    if device_id != 0 {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("device {device_id} does not exist, there is 1 emulated device"),
        );
    }
    DEVICE.with(|device| device.set(Some(device_id)));
    ACL_SUCCESS
}

/// Releases the device for this thread.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtResetDevice(device_id: i32) -> aclError {
    let _ = device_id;
    DEVICE.with(|device| device.set(None));
    ACL_SUCCESS
}

/// The device of this thread.
///
/// # Safety
/// `device_id` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDevice(device_id: *mut i32) -> aclError {
    match DEVICE.with(Cell::get) {
        // SAFETY: the caller's promise.
        Some(device) => unsafe { put(device_id, device) },
        None => fail(
            ACL_ERROR_RT_CONTEXT_NULL,
            "aclrtSetDevice was not called by this thread (emulated)",
        ),
    }
}

/// Fails unless this thread has set a device.
pub(crate) fn require_device() -> Result<(), aclError> {
    match DEVICE.with(Cell::get) {
        Some(_) => Ok(()),
        None => Err(fail(
            ACL_ERROR_RT_CONTEXT_NULL,
            "aclrtSetDevice was not called by this thread (emulated)",
        )),
    }
}

/// Free and total device memory, bytes.
///
/// # Safety
/// `free` and `total` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetMemInfo(
    attr: i32,
    free: *mut usize,
    total: *mut usize,
) -> aclError {
    let _ = attr;
    let all = options::current().device_bytes as usize;
    // SAFETY: the caller's promise.
    let code = unsafe { put(free, all.saturating_sub(device::allocated_bytes())) };
    if code != ACL_SUCCESS {
        return code;
    }
    // SAFETY: the caller's promise.
    unsafe { put(total, all) }
}

/// A device attribute: 101 and 102 cube cores, 201 vector cores, 204 UB bytes, 301 memory, 302 L2, 601 architecture.
///
/// # Safety
/// `value` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetDeviceInfo(
    device_id: u32,
    attr: i32,
    value: *mut i64,
) -> aclError {
    let _ = device_id;
    let target = options::current().target;
    let ascend = target.ascend().expect("options hold split-core targets");
    let cubes = i64::from(ascend.chip.cube_cores);
    let found = match attr {
        101 | 102 => cubes,
        201 => cubes * i64::from(ascend.chip.vector_cores_per_cube_core),
        204 => ascend.memory.ub.bytes as i64,
        301 => options::current().device_bytes as i64,
        302 => ascend.chip.l2_bytes as i64,
        601 => i64::from(ascend.chip.npu_arch),
        _ => {
            return fail(
                ACL_ERROR_INVALID_PARAM,
                format!("device attribute {attr} is not emulated"),
            );
        }
    };
    // SAFETY: the caller's promise.
    unsafe { put(value, found) }
}

/// Name of the emulated SoC.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtGetSocName() -> *const c_char {
    c"Ascend910B1".as_ptr()
}

/// Overflow mode of streams created from now on: 0 saturation, 1 infinity and NaN.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSetDeviceSatMode(mode: i32) -> aclError {
    if !(0..=1).contains(&mode) {
        return fail(
            ACL_ERROR_RT_PARAM_INVALID,
            format!("saturation mode {mode} does not exist (emulated)"),
        );
    }
    SATURATION.store(mode, Ordering::SeqCst);
    ACL_SUCCESS
}

/// The overflow mode that new streams get.
pub(crate) fn overflow_mode() -> Overflow {
    if SATURATION.load(Ordering::SeqCst) == 0 {
        Overflow::Saturate
    } else {
        Overflow::InfNan
    }
}

/// Address of the cross-core flag area, for kernels that take it as an argument.
///
/// # Safety
/// `addr` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetHardwareSyncAddr(addr: *mut *mut c_void) -> aclError {
    // SAFETY: the caller's promise.
    unsafe { put(addr, SYNC_BASE as usize as *mut c_void) }
}

/// Writes a result, refusing null.
///
/// # Safety
/// `target` is null or writable.
pub(crate) unsafe fn put<T>(target: *mut T, value: T) -> aclError {
    if target.is_null() {
        return fail(
            ACL_ERROR_INVALID_PARAM,
            "a result pointer is null (emulated)",
        );
    }
    // SAFETY: not null, and writable by the caller's promise.
    unsafe { target.write(value) };
    ACL_SUCCESS
}
