//! Return codes, and the text of the last error of each thread.

use std::cell::RefCell;
use std::ffi::CString;

/// Return code of every function; 0 is success.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclError = i32;

/// Success.
pub const ACL_SUCCESS: aclError = 0;
/// An argument is out of its domain.
pub const ACL_ERROR_INVALID_PARAM: aclError = 100_000;
/// `aclInit` was not called.
pub const ACL_ERROR_UNINITIALIZE: aclError = 100_001;
/// `aclInit` was called twice.
pub const ACL_ERROR_REPEAT_INITIALIZE: aclError = 100_002;
/// A file cannot be read or is not a binary.
pub const ACL_ERROR_INVALID_FILE: aclError = 100_003;
/// A runtime argument is out of its domain.
pub const ACL_ERROR_RT_PARAM_INVALID: aclError = 107_000;
/// No device was set.
pub const ACL_ERROR_RT_CONTEXT_NULL: aclError = 107_002;
/// Device memory is exhausted.
pub const ACL_ERROR_RT_MEMORY_ALLOCATION: aclError = 207_001;
/// A kernel did not come to an end.
pub const ACL_ERROR_RT_AICORE_TIMEOUT: aclError = 507_014;
/// A kernel did something that the hardware cannot do.
pub const ACL_ERROR_RT_AICORE_EXCEPTION: aclError = 507_015;
/// A copy moved data that nothing had defined.
pub const ACL_ERROR_RT_DRV_INTERNAL_ERROR: aclError = 507_899;

thread_local! {
    static MESSAGE: RefCell<Option<CString>> = const { RefCell::new(None) };
    static SHOWN: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Remembers a message for `aclGetRecentErrMsg` and returns the code.
pub(crate) fn fail(code: aclError, message: impl Into<String>) -> aclError {
    let text = message.into().replace('\0', " ");
    let text = CString::new(text).expect("zero bytes were replaced");
    MESSAGE.with(|message| *message.borrow_mut() = Some(text));
    code
}

/// Pointer to this thread's last message, or null; it stays valid until the next call.
pub(crate) fn take_message() -> *const std::ffi::c_char {
    let message = MESSAGE.with(|message| message.borrow_mut().take());
    SHOWN.with(|shown| {
        *shown.borrow_mut() = message;
        shown
            .borrow()
            .as_ref()
            .map_or(std::ptr::null(), |text| text.as_ptr())
    })
}
