//! The functions that kernel libraries call, and the core that the calling thread runs.

use std::cell::Cell;
use std::ffi::c_char;
use std::io::Write;
use std::ptr;

use crate::abi::{ABI_VERSION, Api, RawRecord};
use crate::core_model::Core;
use crate::instruction::{Loc, Pipe, text};
use crate::report::Refusal;

thread_local! {
    static CURRENT: Cell<*mut Core> = const { Cell::new(ptr::null_mut()) };
}

/// The table handed to every kernel library.
pub(crate) static API: Api = Api {
    version: ABI_VERSION,
    reserved: 0,
    issue,
    report,
    print,
};

/// Runs `body` with `core` as the core of this thread.
pub(crate) fn with_core<R>(core: &mut Core, body: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.with(|current| current.set(ptr::null_mut()));
        }
    }
    CURRENT.with(|current| current.set(core));
    let _reset = Reset;
    body()
}

fn current<R>(use_core: impl FnOnce(&mut Core) -> R) -> Option<R> {
    let core = CURRENT.with(Cell::get);
    // SAFETY: set by `with_core` for the duration of the kernel on this thread; kernels are not reentrant.
    unsafe { core.as_mut() }.map(use_core)
}

unsafe extern "C-unwind" fn issue(record: *const RawRecord) -> u64 {
    // SAFETY: the headers pass a record on their own stack.
    let record = unsafe { &*record };
    current(|core| core.issue(record)).unwrap_or(0)
}

/// Kinds that the headers report; findings have static names.
const HEADER_KINDS: [&str; 15] = [
    "event-id",
    "tpipe-missing",
    "queue-empty",
    "queue-full",
    "queue-misuse",
    "buffer-count",
    "kernel-assert",
    "matmul-order",
    "matmul-shape",
    "matmul-tiling",
    "matmul-unfinished",
    "workspace-unset",
    "buffer-budget",
    "parameter-range",
    "header",
];

unsafe extern "C-unwind" fn report(
    severity: u32,
    kind: *const c_char,
    message: *const c_char,
    help: *const c_char,
    file: *const c_char,
    line: i32,
) {
    let kind = text(kind);
    let kind = HEADER_KINDS
        .iter()
        .find(|known| **known == kind)
        .copied()
        .unwrap_or("header");
    let refusal = Refusal::new(kind, text(message), text(help));
    let loc = Loc {
        file,
        line,
        call: ptr::null(),
    };
    // Destructors run while a stopped core unwinds.
    current(|core| match severity {
        _ if core.is_aborting() => {}
        0 => core.refuse(Pipe::S, loc, refusal),
        _ => core.note(Pipe::S, loc, refusal),
    });
}

unsafe extern "C-unwind" fn print(bytes: *const c_char, length: u64) {
    // SAFETY: the headers pass a buffer of at least that length.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length as usize) };
    let text = String::from_utf8_lossy(bytes);
    if tracing::dispatcher::has_been_set() {
        tracing::info!(target: "fa_emulator::kernel", "{}", text.trim_end());
    } else {
        // A host program that knows nothing of logs expects the text where the device's runtime puts it.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
}
