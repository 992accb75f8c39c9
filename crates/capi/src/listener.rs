//! Listeners.

use std::ffi::{c_char, c_int};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use whimbrel_net::Role;
use whimbrel_net::polled::Listener;

use crate::config::whimbrel_config;
use crate::failure::Failure;
use crate::runtime::whimbrel_runtime;
use crate::socket::{host_port, whimbrel_socket};
use crate::{failure, pointers};

/// Accepts connections at one UDP port.
pub struct whimbrel_listener(Listener);

/// Listens at the UDP address `address`, such as "0.0.0.0:6511", "[::]:6511" or ":6511", for connections to
/// the DCCP port `port`. With the UDP port 0, whimbrel_listener_address gives the one that the system has
/// chosen.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_listen(
    runtime: *const whimbrel_runtime,
    config: *const whimbrel_config,
    address: *const c_char,
    port: u16,
) -> *mut whimbrel_listener {
    failure::object(|| {
        // SAFETY: the caller's promise.
        let (runtime, config, address) = unsafe {
            let runtime = pointers::object(runtime, "runtime")?;
            (runtime, pointers::object(config, "config")?, pointers::text(address, "address")?)
        };
        let (setup, options) = (config.setup(Role::Server)?, config.host_options());
        Ok(whimbrel_listener(Listener::bind(&runtime.0, host_port(address)?, port, setup, options)?))
    })
}

/// Stops listening, and frees the listener, which may be NULL. Accepted connections continue.
///
/// # Safety
/// Nothing uses the listener any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_listener_free(listener: *mut whimbrel_listener) {
    failure::number(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { pointers::free(listener) });
        Ok(0)
    });
}

/// Returns the descriptor that is readable while there are connections to accept.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_listener_fd(listener: *const whimbrel_listener) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| Ok(unsafe { pointers::object(listener, "listener") }?.0.as_fd().as_raw_fd()))
}

/// Writes the UDP address that it listens on, as text with a zero behind it: 64 bytes suffice.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_listener_address(
    listener: *const whimbrel_listener,
    out: *mut c_char,
    size: usize,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let listener = unsafe { pointers::object(listener, "listener") }?;
        // SAFETY: the caller's promise.
        unsafe { pointers::copy_text(&listener.0.local().to_string(), out, size, "out") }.map(|()| 0)
    })
}

/// Returns the next connection; NULL with the code WHIMBREL_AGAIN if there is none.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_accept(listener: *const whimbrel_listener) -> *mut whimbrel_socket {
    failure::object(|| {
        // SAFETY: the caller's promise.
        let accepted = unsafe { pointers::object(listener, "listener") }?.0.try_accept()?;
        accepted.map(whimbrel_socket).ok_or_else(|| Failure::again("there is no connection to accept"))
    })
}

/// Waits until the descriptor is readable, or for timeout_ms milliseconds; forever if that is negative.
/// Returns 1 if it is, and 0 if not.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_listener_wait(
    listener: *const whimbrel_listener,
    timeout_ms: i64,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let listener = unsafe { pointers::object(listener, "listener") }?;
        Ok(c_int::from(listener.0.wait(u64::try_from(timeout_ms).ok().map(Duration::from_millis))?))
    })
}
