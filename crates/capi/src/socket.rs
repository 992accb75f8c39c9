//! Sockets.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use whimbrel_net::polled::Socket;
use whimbrel_net::{Bytes, FrameRole, FreezeScope, HostPort, Mark, ParseHostPortError, PathChange, Role};

use crate::config::whimbrel_config;
use crate::failure::{Failure, WHIMBREL_AGAIN};
use crate::runtime::whimbrel_runtime;
use crate::{failure, pointers};

/// Freezes the data that this end sends.
pub const WHIMBREL_FREEZE_LOCAL: c_int = 1;
/// Freezes the data that the peer sends.
pub const WHIMBREL_FREEZE_REMOTE: c_int = 2;
/// Freezes both directions.
pub const WHIMBREL_FREEZE_BOTH: c_int = 3;

/// A frame that refers to frames before it, and to which frames after it refer.
pub const WHIMBREL_FRAME_INNER: c_int = 1;
/// A frame that begins a group: it refers to no other (a key frame).
pub const WHIMBREL_FRAME_START: c_int = 2;
/// A frame to which no other refers.
pub const WHIMBREL_FRAME_DISPOSABLE: c_int = 3;

/// The place of a datagram in a frame of media. The datagrams of a frame are sent one after the other.
#[repr(C)]
pub struct whimbrel_mark {
    /// The stream of the frame: frames of different streams do not refer to each other.
    pub stream: u64,
    /// A WHIMBREL_FRAME_ constant.
    pub role: c_int,
    /// Datagrams of the frame, 1 to 255; 0 if unknown.
    pub count: u8,
    /// The datagram is the last of its frame.
    pub ends_frame: bool,
}

/// One connection.
pub struct whimbrel_socket(pub(crate) Socket);

/// A received datagram, besides its data.
#[repr(C)]
pub struct whimbrel_datagram {
    /// The sequence number of the packet that brought it; over several paths, its number in the connection.
    pub sequence: u64,
    /// The time of its arrival in nanoseconds, on the clock of whimbrel_now.
    pub arrival_ns: u64,
    /// The ECN field of the packet: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 Congestion Experienced.
    pub ecn: u8,
    /// The number of the path on which it arrived; 0 unless there are several.
    pub path: u32,
}

/// The host and port of a text such as "127.0.0.1:6511", "[::1]:6511" or "localhost:6511".
pub(crate) fn host_port(text: &str) -> Result<HostPort, Failure> {
    let host: HostPort =
        text.parse().map_err(|error: ParseHostPortError| Failure::argument(error.to_string()))?;
    if host.port().is_none() {
        return Err(Failure::argument(format!(
            "{text}: expected a port as well, such as {}",
            host.or_port(6511)
        )));
    }
    Ok(host)
}

/// The socket behind a pointer.
///
/// # Safety
/// Same as [`pointers::object`].
pub(crate) unsafe fn borrowed<'a>(socket: *const whimbrel_socket) -> Result<&'a Socket, Failure> {
    // SAFETY: the caller's promise.
    Ok(&unsafe { pointers::object(socket, "socket") }?.0)
}

/// The open connection behind a pointer.
///
/// # Safety
/// Same as [`pointers::object`].
pub(crate) unsafe fn open(socket: *const whimbrel_socket) -> Result<Arc<whimbrel_net::Socket>, Failure> {
    // SAFETY: the caller's promise.
    let open = unsafe { borrowed(socket) }?.get()?;
    open.ok_or_else(|| Failure::again("the handshake is not complete"))
}

/// Begins to connect to the DCCP port `port` behind the UDP address `address`, such as "192.0.2.1:6511" or
/// "host:6511". The descriptor is readable when the handshake has ended; whimbrel_state returns its result.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_connect(
    runtime: *const whimbrel_runtime,
    config: *const whimbrel_config,
    address: *const c_char,
    port: u16,
) -> *mut whimbrel_socket {
    failure::object(|| {
        // SAFETY: the caller's promise.
        let (runtime, config, address) = unsafe {
            let runtime = pointers::object(runtime, "runtime")?;
            (runtime, pointers::object(config, "config")?, pointers::text(address, "address")?)
        };
        let (setup, options) = (config.setup(Role::Client)?, config.socket_options());
        Ok(whimbrel_socket(Socket::connect(&runtime.0, host_port(address)?, port, setup, options)?))
    })
}

/// Closes the connection in good order, after what is queued was sent, and frees the socket, which may be
/// NULL. Does not wait: whimbrel_runtime_close does.
///
/// # Safety
/// Nothing uses the socket any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_free(socket: *mut whimbrel_socket) {
    failure::number(|| {
        // SAFETY: the caller's promise.
        drop(unsafe { pointers::free(socket) });
        Ok(0)
    });
}

/// Begins to close the connection in good order. Received data can still be read; at the end whimbrel_recv
/// returns WHIMBREL_CLOSED.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_close(socket: *const whimbrel_socket) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| unsafe { borrowed(socket) }.map(|socket| socket.close()).map(|()| 0))
}

/// Returns the descriptor that is readable while there are datagrams to read, and when the handshake or the
/// connection has ended.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_fd(socket: *const whimbrel_socket) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| Ok(unsafe { borrowed(socket) }?.as_fd().as_raw_fd()))
}

/// Returns the descriptor that is readable while there are events to read.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_event_fd(socket: *const whimbrel_socket) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| Ok(unsafe { borrowed(socket) }?.event_fd().as_raw_fd()))
}

/// Returns 0 if the handshake was complete, WHIMBREL_AGAIN if it is not, and the reason why it has failed.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_state(socket: *const whimbrel_socket) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| unsafe { open(socket) }.map(|_| 0))
}

/// Waits until the descriptor is readable, or for timeout_ms milliseconds; forever if that is negative.
/// Returns 1 if it is, and 0 if not.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_wait(socket: *const whimbrel_socket, timeout_ms: i64) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let socket = unsafe { borrowed(socket) }?;
        Ok(c_int::from(socket.wait(u64::try_from(timeout_ms).ok().map(Duration::from_millis))?))
    })
}

/// Like whimbrel_wait, for the descriptor of events.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_wait_event(socket: *const whimbrel_socket, timeout_ms: i64) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let socket = unsafe { borrowed(socket) }?;
        Ok(c_int::from(socket.wait_event(u64::try_from(timeout_ms).ok().map(Duration::from_millis))?))
    })
}

/// Queues a datagram. It is dropped if it could not be sent within lifetime_ms milliseconds, unless that is
/// negative. `number`, unless that is NULL, gets the number by which the event WHIMBREL_EVENT_DROPPED names
/// it. Returns 0, or WHIMBREL_AGAIN if the queue is full and refuses (whimbrel_config_send_queue): the event
/// WHIMBREL_EVENT_SEND_READY follows.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_send(
    socket: *const whimbrel_socket,
    data: *const c_void,
    size: usize,
    lifetime_ms: i64,
    number: *mut u64,
) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| unsafe { queue(socket, (data, size), lifetime_ms, Mark::SINGLE, number) })
}

/// Like whimbrel_send, with the place of the datagram in a frame of media: repair
/// (whimbrel_config_latency) then protects whole frames, and WHIMBREL_EVENT_NEW_START_NEEDED reports that a
/// key frame is needed. A datagram of whimbrel_send counts as a frame of its own to which no other refers.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_send_part(
    socket: *const whimbrel_socket,
    data: *const c_void,
    size: usize,
    lifetime_ms: i64,
    mark: *const whimbrel_mark,
    number: *mut u64,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let mark = unsafe { pointers::object(mark, "mark") }?;
        let role = match mark.role {
            WHIMBREL_FRAME_INNER => FrameRole::Inner,
            WHIMBREL_FRAME_START => FrameRole::Start,
            WHIMBREL_FRAME_DISPOSABLE => FrameRole::Disposable,
            role => {
                let text = format!("mark.role is {role}: expected a WHIMBREL_FRAME_ constant");
                return Err(Failure::argument(text));
            }
        };
        let count = Some(mark.count).filter(|count| *count > 0);
        let mark = Mark { stream: mark.stream, ends_frame: mark.ends_frame, role, count, captured: None };
        // SAFETY: the caller's promise.
        unsafe { queue(socket, (data, size), lifetime_ms, mark, number) }
    })
}

/// Queues a datagram.
///
/// # Safety
/// Same as [`pointers::object`], for all pointers.
unsafe fn queue(
    socket: *const whimbrel_socket,
    (data, size): (*const c_void, usize),
    lifetime_ms: i64,
    mark: Mark,
    number: *mut u64,
) -> Result<c_int, Failure> {
    // SAFETY: the caller's promise.
    let (socket, data) = unsafe { (borrowed(socket)?, pointers::bytes(data.cast(), size, "data")?) };
    let lifetime = u64::try_from(lifetime_ms).ok().map(Duration::from_millis);
    let id = socket.try_send_part(Bytes::copy_from_slice(data), lifetime, mark)?;
    // SAFETY: the caller's promise.
    if let Some(number) = unsafe { number.as_mut() } {
        *number = id.0;
    }
    Ok(0)
}

/// Reads a datagram: copies up to `size` bytes of it to `buffer` and fills `datagram`, unless that is NULL.
/// Returns its size, which is more than `size` if it was cut off, or WHIMBREL_AGAIN if there is none.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_recv(
    socket: *const whimbrel_socket,
    buffer: *mut c_void,
    size: usize,
    datagram: *mut whimbrel_datagram,
) -> i64 {
    failure::number(|| {
        if buffer.is_null() && size > 0 {
            return Err(Failure::argument("buffer is NULL"));
        }
        // SAFETY: the caller's promise.
        let Some(received) = unsafe { borrowed(socket) }?.try_recv()? else {
            return Ok(WHIMBREL_AGAIN.into());
        };
        // SAFETY: the caller's promise.
        unsafe { pointers::copy(&received.payload, buffer.cast(), size, "buffer") }?;
        // SAFETY: the caller's promise.
        if let Some(datagram) = unsafe { datagram.as_mut() } {
            let (sequence, arrival_ns) = (received.sequence.value(), received.arrival.as_nanos());
            let (ecn, path) = (received.ecn.bits(), received.subflow.0);
            *datagram = whimbrel_datagram { sequence, arrival_ns, ecn, path };
        }
        Ok(received.payload.len() as i64)
    })
}

/// Returns the time in nanoseconds on the clock of the socket.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_now(socket: *const whimbrel_socket) -> i64 {
    // SAFETY: the caller's promise.
    failure::number(|| Ok(unsafe { open(socket) }?.now().as_nanos() as i64))
}

/// Writes the fingerprint of the key by which the peer has authenticated itself, with a zero behind it: 51
/// bytes; empty if nothing secures the connection.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_peer(
    socket: *const whimbrel_socket,
    out: *mut c_char,
    size: usize,
) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        let peer = unsafe { open(socket) }?.peer().map(|peer| peer.to_string()).unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { pointers::copy_text(&peer, out, size, "out") }.map(|()| 0)
    })
}

/// Freezes the connection for an outage of the path: WHIMBREL_FREEZE_LOCAL, _REMOTE or _BOTH. The peer takes
/// part if both ends have whimbrel_config_mobile.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_freeze(socket: *const whimbrel_socket, scope: c_int) -> c_int {
    // SAFETY: the caller's promise.
    failure::number(|| {
        let scope = freeze_scope(scope)?;
        // SAFETY: the caller's promise.
        unsafe { open(socket) }?.freeze(scope);
        Ok(0)
    })
}

/// Ends a freeze: the rate is what it was before.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_unfreeze(socket: *const whimbrel_socket, scope: c_int) -> c_int {
    failure::number(|| {
        let scope = freeze_scope(scope)?;
        // SAFETY: the caller's promise.
        unsafe { open(socket) }?.unfreeze(scope);
        Ok(0)
    })
}

/// Continues from the address that the system selects now, after a change of networks. Only clients can, if
/// both ends have whimbrel_config_mobile; WHIMBREL_EVENT_MOVE_CONFIRMED reports success.
///
/// # Safety
/// See the head of this file on pointers and threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whimbrel_rebind(socket: *const whimbrel_socket) -> c_int {
    failure::number(|| {
        // SAFETY: the caller's promise.
        unsafe { borrowed(socket) }?.rebind(None, PathChange::Reset)?;
        Ok(0)
    })
}

fn freeze_scope(scope: c_int) -> Result<FreezeScope, Failure> {
    match scope {
        WHIMBREL_FREEZE_LOCAL => Ok(FreezeScope::Local),
        WHIMBREL_FREEZE_REMOTE => Ok(FreezeScope::Remote),
        WHIMBREL_FREEZE_BOTH => Ok(FreezeScope::Both),
        _ => Err(Failure::argument(format!("scope is {scope}: expected a WHIMBREL_FREEZE_ constant"))),
    }
}
