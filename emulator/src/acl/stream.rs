//! Streams: work runs when it is submitted, its findings wait here for synchronisation.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use crate::acl::code::{
    ACL_ERROR_RT_AICORE_EXCEPTION, ACL_ERROR_RT_AICORE_TIMEOUT, ACL_SUCCESS, aclError, fail,
};
use crate::acl::process::{overflow_mode, put, require_device};
use crate::dtype::Overflow;
use crate::report::{self, Finding, Severity};

/// Handle of a stream; null names the default stream.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtStream = *mut c_void;

/// What a stream remembers.
pub(crate) struct Stream {
    overflow: Option<Overflow>,
    findings: Mutex<Vec<Finding>>,
}

static DEFAULT_STREAM: Stream = Stream {
    overflow: None,
    findings: Mutex::new(Vec::new()),
};

impl Stream {
    /// The stream behind a handle.
    ///
    /// # Safety
    /// The handle is null or a live stream.
    pub(crate) unsafe fn of<'s>(handle: aclrtStream) -> &'s Stream {
        // SAFETY: the caller's promise.
        unsafe { handle.cast::<Stream>().as_ref() }.unwrap_or(&DEFAULT_STREAM)
    }

    /// The overflow mode of kernels on this stream.
    pub(crate) fn overflow(&self) -> Overflow {
        self.overflow.unwrap_or_else(overflow_mode)
    }

    pub(crate) fn add(&self, findings: Vec<Finding>) {
        self.findings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(findings);
    }

    fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut *self.findings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Creates a stream; it keeps the saturation mode in force now.
///
/// # Safety
/// `stream` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStream(stream: *mut aclrtStream) -> aclError {
    if let Err(code) = require_device() {
        return code;
    }
    let created = Stream {
        overflow: Some(overflow_mode()),
        findings: Mutex::new(Vec::new()),
    };
    let handle = Box::into_raw(Box::new(created)).cast();
    // SAFETY: the caller's promise.
    let code = unsafe { put(stream, handle) };
    if code != ACL_SUCCESS {
        // SAFETY: nobody else has the handle.
        drop(unsafe { Box::from_raw(handle.cast::<Stream>()) });
    }
    code
}

/// As [`aclrtCreateStream`]; priority and flags change nothing here.
///
/// # Safety
/// As for [`aclrtCreateStream`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateStreamWithConfig(
    stream: *mut aclrtStream,
    priority: u32,
    flag: u32,
) -> aclError {
    let _ = (priority, flag);
    // SAFETY: the caller's promise.
    unsafe { aclrtCreateStream(stream) }
}

/// Destroys a stream.
///
/// # Safety
/// `stream` is null or a live stream, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyStream(stream: aclrtStream) -> aclError {
    if !stream.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(stream.cast::<Stream>()) });
    }
    ACL_SUCCESS
}

/// Waits for the stream's work and reports what its kernels did wrong.
///
/// # Safety
/// `stream` is null or a live stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeStream(stream: aclrtStream) -> aclError {
    // SAFETY: the caller's promise.
    let findings = unsafe { Stream::of(stream) }.take();
    if findings.is_empty() {
        return ACL_SUCCESS;
    }
    report::deliver(&findings);
    let text = report::render(&findings);
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == Severity::Error);
    let mut kinds = errors.map(|finding| finding.kind).peekable();
    if kinds.peek().is_none() {
        tracing::warn!(target: "fa_emulator::launch", "{text}");
        return ACL_SUCCESS;
    }
    let code = if kinds.all(|kind| kind == "deadlock") {
        ACL_ERROR_RT_AICORE_TIMEOUT
    } else {
        ACL_ERROR_RT_AICORE_EXCEPTION
    };
    fail(code, text)
}

/// As [`aclrtSynchronizeStream`]; the work is already done, so the timeout never passes.
///
/// # Safety
/// As for [`aclrtSynchronizeStream`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtSynchronizeStreamWithTimeout(
    stream: aclrtStream,
    timeout_ms: i32,
) -> aclError {
    let _ = timeout_ms;
    // SAFETY: the caller's promise.
    unsafe { aclrtSynchronizeStream(stream) }
}
