//! Events: points in host time, since work runs when it is submitted.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::acl::code::{ACL_ERROR_INVALID_PARAM, ACL_SUCCESS, aclError, fail};
use crate::acl::process::put;
use crate::acl::stream::aclrtStream;

/// Handle of an event.
#[allow(non_camel_case_types, reason = "the public C name")]
pub type aclrtEvent = *mut c_void;

type Event = Mutex<Option<Instant>>;

/// Creates an event.
///
/// # Safety
/// `event` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtCreateEvent(event: *mut aclrtEvent) -> aclError {
    let created: Event = Mutex::new(None);
    // SAFETY: the caller's promise.
    unsafe { put(event, Box::into_raw(Box::new(created)).cast()) }
}

/// Destroys an event.
///
/// # Safety
/// `event` is a live event and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtDestroyEvent(event: aclrtEvent) -> aclError {
    if event.is_null() {
        return fail(ACL_ERROR_INVALID_PARAM, "the event is null (emulated)");
    }
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(event.cast::<Event>()) });
    ACL_SUCCESS
}

/// Records the present host time.
///
/// # Safety
/// `event` is a live event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtRecordEvent(event: aclrtEvent, stream: aclrtStream) -> aclError {
    let _ = stream;
    // SAFETY: the caller's promise.
    let Some(event) = (unsafe { event.cast::<Event>().as_ref() }) else {
        return fail(ACL_ERROR_INVALID_PARAM, "the event is null (emulated)");
    };
    *event.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    ACL_SUCCESS
}

/// Waits for an event; it has already happened.
#[unsafe(no_mangle)]
pub extern "C" fn aclrtSynchronizeEvent(event: aclrtEvent) -> aclError {
    if event.is_null() {
        fail(ACL_ERROR_INVALID_PARAM, "the event is null (emulated)")
    } else {
        ACL_SUCCESS
    }
}

/// Host milliseconds between two recorded events: the time the emulator took, not a device's.
///
/// # Safety
/// Both events are live, `ms` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtEventElapsedTime(
    ms: *mut f32,
    start: aclrtEvent,
    end: aclrtEvent,
) -> aclError {
    let time = |event: aclrtEvent| {
        // SAFETY: the caller's promise.
        let event = unsafe { event.cast::<Event>().as_ref() }?;
        *event.lock().unwrap_or_else(PoisonError::into_inner)
    };
    match (time(start), time(end)) {
        // SAFETY: the caller's promise.
        (Some(start), Some(end)) => unsafe {
            put(ms, end.saturating_duration_since(start).as_secs_f32() * 1e3)
        },
        _ => fail(
            ACL_ERROR_INVALID_PARAM,
            "an event was not recorded (emulated)",
        ),
    }
}
