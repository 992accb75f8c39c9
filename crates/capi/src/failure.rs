//! Failures of calls: a code, and a message for each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use whimbrel_net::{ConnectionError, KeyError, NetError, SendError};

/// There is nothing to read now, the queue is full, or the handshake is not complete: wait for the
/// descriptor.
pub const WHIMBREL_AGAIN: c_int = -1;
/// An argument is invalid.
pub const WHIMBREL_ERROR_ARGUMENT: c_int = -2;
/// The configuration is invalid or incomplete, or a key cannot be used.
pub const WHIMBREL_ERROR_CONFIG: c_int = -3;
/// The operating system refused.
pub const WHIMBREL_ERROR_SYSTEM: c_int = -4;
/// The datagram is larger than a packet can carry.
pub const WHIMBREL_ERROR_TOO_LARGE: c_int = -5;
/// One of the ends has closed the connection: its regular end.
pub const WHIMBREL_CLOSED: c_int = -6;
/// The connection has ended otherwise: a reset, a peer that does not answer or cannot be reached.
pub const WHIMBREL_ERROR_CONNECTION: c_int = -7;
/// The connection has ended because it is not secured: the peer has another key, or does not use DTLS.
pub const WHIMBREL_ERROR_SECURITY: c_int = -8;
/// The peer's application no longer listens.
pub const WHIMBREL_ERROR_NOT_LISTENING: c_int = -9;
/// A fault of this library.
pub const WHIMBREL_ERROR_INTERNAL: c_int = -10;

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    code: c_int,
    message: String,
}

impl Failure {
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self { code: WHIMBREL_ERROR_ARGUMENT, message: message.into() }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { code: WHIMBREL_ERROR_CONFIG, message: message.into() }
    }

    pub(crate) fn system(action: &str, error: &std::io::Error) -> Self {
        Self { code: WHIMBREL_ERROR_SYSTEM, message: format!("{action}: {error}") }
    }

    pub(crate) fn closed(message: &str) -> Self {
        Self { code: WHIMBREL_CLOSED, message: message.into() }
    }

    pub(crate) fn again(message: &str) -> Self {
        Self { code: WHIMBREL_AGAIN, message: message.into() }
    }
}

impl From<NetError> for Failure {
    fn from(error: NetError) -> Self {
        let code = match &error {
            NetError::Io { .. } | NetError::Name { .. } => WHIMBREL_ERROR_SYSTEM,
            NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer)
            | NetError::Send(SendError::Closed) => WHIMBREL_CLOSED,
            NetError::Connection(_) => WHIMBREL_ERROR_CONNECTION,
            NetError::Security(_) => WHIMBREL_ERROR_SECURITY,
            NetError::Send(SendError::QueueFull) => WHIMBREL_AGAIN,
            NetError::Send(SendError::TooLarge { .. }) => WHIMBREL_ERROR_TOO_LARGE,
            NetError::Send(SendError::PeerNotListening) => WHIMBREL_ERROR_NOT_LISTENING,
            NetError::Config(_) => WHIMBREL_ERROR_CONFIG,
            _ => WHIMBREL_ERROR_INTERNAL,
        };
        Self { code, message: error.chain() }
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::config(error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<(c_int, CString)> = RefCell::new((0, CString::default()));
}

/// Runs a call that returns a code or a number.
pub(crate) fn number<T: From<c_int>>(call: impl FnOnce() -> Result<T, Failure>) -> T {
    caught(call).unwrap_or_else(T::from)
}

/// Runs a call that returns an object.
pub(crate) fn object<T>(call: impl FnOnce() -> Result<T, Failure>) -> *mut T {
    caught(call).map_or(std::ptr::null_mut(), |object| Box::into_raw(Box::new(object)))
}

/// Runs a call; stores its failure for the thread, and returns the code.
fn caught<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, c_int> {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure { code: WHIMBREL_ERROR_INTERNAL, message: format!("a fault of this library: {text}") })
    });
    result.map_err(|Failure { code, message }| {
        let message = CString::new(message.replace('\0', "")).unwrap_or_default();
        // Without effect while the thread ends.
        let _ = LAST.try_with(|last| *last.borrow_mut() = (code, message));
        code
    })
}

/// Returns a description of the last failure in this thread; empty if there was none. It is valid until the
/// thread's next failing call.
#[unsafe(no_mangle)]
pub extern "C" fn whimbrel_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().1.as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the code of the last failure in this thread, 0 if there was none: the reason for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn whimbrel_last_error_code() -> c_int {
    LAST.try_with(|last| last.borrow().0).unwrap_or(0)
}

/// Returns the version of the library, such as "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn whimbrel_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
