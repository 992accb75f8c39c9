//! Pointers of callers.

use std::ffi::{CStr, c_char};
use std::slice;

use crate::failure::Failure;

/// The object behind a pointer.
///
/// # Safety
/// The pointer is null, or points to an object that lives until the call returns and is not changed
/// meanwhile.
pub(crate) unsafe fn object<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(name))
}

/// The object behind a pointer, to change it.
///
/// # Safety
/// The pointer is null, or points to an object that lives until the call returns and that nothing else uses
/// meanwhile.
pub(crate) unsafe fn object_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| null(name))
}

/// Frees an object that [`crate::failure::object`] has made.
///
/// # Safety
/// The pointer is null, or points to such an object that nothing uses any more.
pub(crate) unsafe fn free<T>(pointer: *mut T) -> Option<T> {
    // SAFETY: the caller's promise.
    (!pointer.is_null()).then(|| *unsafe { Box::from_raw(pointer) })
}

/// A text that ends with a zero.
///
/// # Safety
/// The pointer is null, or points to such a text, which lives until the call returns.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// Bytes.
///
/// # Safety
/// The pointer is null, or there are `size` bytes, which live until the call returns.
pub(crate) unsafe fn bytes<'a>(pointer: *const u8, size: usize, name: &str) -> Result<&'a [u8], Failure> {
    match size {
        0 => Ok(&[]),
        _ if pointer.is_null() => Err(null(name)),
        _ if size > isize::MAX as usize => Err(Failure::argument(format!("{name} has {size} bytes"))),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { slice::from_raw_parts(pointer, size) }),
    }
}

/// Copies as many bytes as there is room for.
///
/// # Safety
/// The pointer is null, or there is room for `size` bytes, which nothing else uses.
pub(crate) unsafe fn copy(from: &[u8], pointer: *mut u8, size: usize, name: &str) -> Result<(), Failure> {
    let count = from.len().min(size);
    if count > 0 && pointer.is_null() {
        return Err(null(name));
    }
    if count > 0 {
        // SAFETY: the caller's promise; what is new does not overlap what is copied.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), pointer, count) };
    }
    Ok(())
}

/// Copies a text and the zero behind it. Too long a text is an error.
///
/// # Safety
/// Same as [`copy`].
pub(crate) unsafe fn copy_text(
    text: &str,
    pointer: *mut c_char,
    size: usize,
    name: &str,
) -> Result<(), Failure> {
    let with_zero = [text.as_bytes(), b"\0"].concat();
    if with_zero.len() > size {
        let needed = with_zero.len();
        return Err(Failure::argument(format!(
            "{name} has room for {size} bytes: expected {needed} or more"
        )));
    }
    // SAFETY: the caller's promise.
    unsafe { copy(&with_zero, pointer.cast(), size, name) }
}

fn null(name: &str) -> Failure {
    Failure::argument(format!("{name} is NULL"))
}
