//! Buffers of datagram sockets in the kernel, and the datagrams that the kernel dropped when they were full.
//!
//! A frame of video leaves an encoder, and arrives from a fast path, in one burst: 400 kB at once are common.
//! The system's default receive buffer has room for 92 datagrams of 1200 bytes.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::sync::{Arc, Weak};

#[cfg(target_os = "linux")]
use nix::libc;
use socket2::SockRef;

#[cfg(target_os = "linux")]
use crate::socket_option::option_words;

/// Bytes requested for the receive buffer and for the send buffer of a socket.
pub const SOCKET_BUFFER: usize = 4 << 20;

/// Requests [`SOCKET_BUFFER`] bytes for the receive and the send buffer of a datagram socket: on Linux beyond
/// the limits `net.core.rmem_max` and `net.core.wmem_max` where the process may exceed them
/// (`CAP_NET_ADMIN`). Returns the bytes of the receive buffer.
///
/// # Errors
/// The system does not report the size.
pub fn enlarge_buffers<'s, S>(socket: &'s S) -> io::Result<usize>
where
    SockRef<'s>: From<&'s S>,
{
    request_send_buffer(&SockRef::from(socket));
    enlarge_receive_buffer(socket)
}

/// Like [`enlarge_buffers`], for the receive buffer alone: a large send buffer hides that packets wait in
/// this host.
///
/// # Errors
/// The system does not report the size.
pub fn enlarge_receive_buffer<'s, S>(socket: &'s S) -> io::Result<usize>
where
    SockRef<'s>: From<&'s S>,
{
    let socket = SockRef::from(socket);
    request_receive_buffer(&socket);
    // Linux doubles the requested size, for its own administration of the data (socket(7)).
    let share = if cfg!(target_os = "linux") { 2 } else { 1 };
    Ok(socket.recv_buffer_size()? / share)
}

#[cfg(target_os = "linux")]
fn request_receive_buffer(socket: &SockRef<'_>) {
    use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};
    if setsockopt(&**socket, RcvBufForce, &SOCKET_BUFFER).is_err() {
        // The kernel reduces the request to its limit.
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    }
}

#[cfg(target_os = "linux")]
fn request_send_buffer(socket: &SockRef<'_>) {
    use nix::sys::socket::{setsockopt, sockopt::SndBufForce};
    if setsockopt(&**socket, SndBufForce, &SOCKET_BUFFER).is_err() {
        let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    }
}

/// Other kernels refuse a request beyond their limit as a whole.
#[cfg(not(target_os = "linux"))]
fn halved_until_granted(mut request: impl FnMut(usize) -> io::Result<()>) {
    let mut size = SOCKET_BUFFER;
    while size > 1 << 16 && request(size).is_err() {
        size /= 2;
    }
}

#[cfg(not(target_os = "linux"))]
fn request_receive_buffer(socket: &SockRef<'_>) {
    halved_until_granted(|size| socket.set_recv_buffer_size(size));
}

#[cfg(not(target_os = "linux"))]
fn request_send_buffer(socket: &SockRef<'_>) {
    halved_until_granted(|size| socket.set_send_buffer_size(size));
}

/// asm-generic/socket.h, and the value for SPARC, which numbers its options differently.
#[cfg(target_os = "linux")]
const SO_MEMINFO: libc::c_int = if cfg!(target_arch = "sparc64") { 0x39 } else { 55 };
/// `SK_MEMINFO_VARS` of linux/sock_diag.h: the values of `SO_MEMINFO`.
#[cfg(target_os = "linux")]
const MEMINFO_VALUES: usize = 9;

/// Number of datagrams that the kernel dropped at a socket since it was opened: its receive buffer was full,
/// their checksum was wrong, or the socket's filter refused them. The kernel's own count, which `SO_RXQ_OVFL`
/// and `ss -m` report, too. `None` on systems other than Linux.
#[cfg(target_os = "linux")]
pub fn kernel_drops(socket: &impl AsFd) -> Option<u64> {
    let values: [u32; MEMINFO_VALUES] = option_words(socket, libc::SOL_SOCKET, SO_MEMINFO)?;
    Some(u64::from(values[libc::SK_MEMINFO_DROPS as usize]))
}

/// Number of datagrams that the kernel dropped at a socket: unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn kernel_drops<S>(_socket: &S) -> Option<u64> {
    None
}

/// Reads the drops of a socket that a task owns, as long as the task exists.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug)]
pub(crate) struct DropCounter(Weak<dyn AsFd + Send + Sync>);

#[cfg(target_os = "linux")]
impl DropCounter {
    pub(crate) fn of<S: AsFd + Send + Sync + 'static>(socket: &Arc<S>) -> Self {
        let socket: Weak<S> = Arc::downgrade(socket);
        Self(socket)
    }

    fn read(&self) -> Option<u64> {
        let socket = self.0.upgrade()?;
        kernel_drops(&(*socket).as_fd())
    }
}

/// Reads the drops of a socket: unknown on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Debug)]
pub(crate) struct DropCounter;

#[cfg(not(target_os = "linux"))]
impl DropCounter {
    pub(crate) fn of<S>(_socket: &S) -> Self {
        Self
    }

    fn read(&self) -> Option<u64> {
        None
    }
}

/// The drops of a socket and of those in whose place it is.
#[derive(Debug, Default)]
pub(crate) struct KernelDrops {
    counter: Option<DropCounter>,
    earlier: u64,
    /// The last count of the present socket.
    last: u64,
}

impl KernelDrops {
    pub(crate) fn of(counter: Option<DropCounter>) -> Self {
        Self { counter, earlier: 0, last: 0 }
    }

    /// Another socket takes the place of the present one.
    pub(crate) fn replace(&mut self, counter: Option<DropCounter>) {
        self.earlier = self.total();
        (self.counter, self.last) = (counter, 0);
    }

    /// The drops of all of them.
    pub(crate) fn total(&mut self) -> u64 {
        if let Some(now) = self.counter.as_ref().and_then(DropCounter::read) {
            self.last = now;
        }
        self.earlier + self.last
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_burst_of_a_frame_fits_the_buffer_or_is_counted() {
        let receiver = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let at = receiver.local_addr().expect("bound");
        receiver.set_nonblocking(true).expect("a socket");
        let granted = enlarge_buffers(&receiver).expect("a size");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let send = |count: usize| (0..count).for_each(|_| drop(sender.send_to(&[7; 1200], at)));
        let read = || std::iter::from_fn(|| receiver.recv(&mut [0; 1500]).ok()).count() as u64;
        // The kernel charges 2304 bytes for such a datagram.
        if granted == SOCKET_BUFFER {
            send(334);
            assert_eq!((read(), kernel_drops(&receiver)), (334, Some(0)));
        }
        send(8000);
        let (arrived, dropped) = (read(), kernel_drops(&receiver).expect("Linux"));
        assert!(dropped > 0);
        assert_eq!(arrived + dropped, 8000);
    }

    #[test]
    fn drops_of_a_replaced_socket_are_kept() {
        let full = || {
            let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("loopback"));
            SockRef::from(&*socket).set_recv_buffer_size(0).expect("a size");
            let at = socket.local_addr().expect("bound");
            for _ in 0..100 {
                socket.send_to(&[0; 1200], at).expect("loopback");
            }
            socket
        };
        let (first, second) = (full(), full());
        let mut drops = KernelDrops::of(Some(DropCounter::of(&first)));
        let of_first = drops.total();
        assert!(of_first > 0);
        drops.replace(Some(DropCounter::of(&second)));
        drop(first);
        let both = drops.total();
        assert!(both > of_first);
        drop(second);
        assert_eq!(drops.total(), both);
    }
}
