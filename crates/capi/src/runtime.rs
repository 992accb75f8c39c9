//! The thread of sockets.

use std::ffi::c_int;
use std::time::Duration;

use whimbrel_net::polled::Runtime;

use crate::{failure, pointers};

/// The thread that drives sockets.
pub struct whimbrel_runtime(pub(crate) Runtime);

/// Starts the thread that drives sockets. A program needs one.
#[unsafe(no_mangle)]
pub extern "C" fn whimbrel_runtime_new() -> *mut whimbrel_runtime {
    failure::object(|| Ok(whimbrel_runtime(Runtime::start()?)))
}

/// The wait of whimbrel_runtime_free.
const FREE_TIMEOUT_MS: u32 = 2_000;

/// Frees a runtime, which may be NULL, as whimbrel_runtime_close does within two seconds.
///
/// # Safety
/// Nothing uses the runtime any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_runtime_free(runtime: *mut whimbrel_runtime) {
    // SAFETY: the caller's promise.
    unsafe { whimbrel_runtime_close(runtime, FREE_TIMEOUT_MS) };
}

/// Frees a runtime, which may be NULL. Waits for at most timeout_ms milliseconds until the connections of
/// freed sockets are closed, with all that was sent. Returns 1 if they are, and 0 if some are not, or if some
/// sockets are not freed: the thread then ends after the last of them.
///
/// # Safety
/// Nothing uses the runtime any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_runtime_close(runtime: *mut whimbrel_runtime, timeout_ms: u32) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let runtime = unsafe { pointers::free(runtime) };
        let limit = Duration::from_millis(timeout_ms.into());
        Ok(c_int::from(runtime.is_none_or(|runtime| runtime.0.shutdown(limit))))
    })
}
