//! Datagram sockets that wake their task only for what it waits for.
//!
//! The runtime watches its own sockets for both directions at once, and the system reports each datagram that
//! has left as room to write: one wake-up for each datagram sent, although hardly any send call blocks. Such
//! a socket is watched for reading, and for writing only while a task waits for that.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A datagram socket of the runtime.
#[derive(Debug)]
pub struct WatchedSocket<S: AsRawFd = UdpSocket>(AsyncFd<S>);

impl<S: AsFd + AsRawFd> WatchedSocket<S> {
    /// Watches a socket, which does not block, by the current runtime.
    ///
    /// # Errors
    /// The system has no descriptors or memory left.
    #[expect(deprecated, reason = "unsound for types that could close their descriptor: a socket cannot")]
    pub fn new(socket: S) -> io::Result<Self> {
        AsyncFd::with_interest(socket, Interest::READABLE).map(Self)
    }

    /// Waits until there is something to read, or an error with [`Interest::ERROR`].
    ///
    /// # Errors
    /// The runtime has ended.
    pub async fn ready(&self, interest: Interest) -> io::Result<()> {
        self.0.ready(interest).await.map(drop)
    }

    /// Waits until there is something to read.
    ///
    /// # Errors
    /// The runtime has ended.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await
    }

    /// Waits until there is room to write.
    ///
    /// # Errors
    /// The system has no descriptors or memory left.
    #[expect(deprecated, reason = "unsound for types that could close their descriptor: an OwnedFd cannot")]
    pub async fn writable(&self) -> io::Result<()> {
        // A descriptor can be watched once only; this one is a second name of the same socket.
        let second: OwnedFd = self.0.get_ref().as_fd().try_clone_to_owned()?;
        AsyncFd::with_interest(second, Interest::WRITABLE)?.writable().await.map(drop)
    }

    /// Reads by a call that returns [`io::ErrorKind::WouldBlock`] if there is nothing. Without readiness it
    /// is not made.
    ///
    /// # Errors
    /// The call fails.
    pub fn try_read<R>(&self, interest: Interest, read: impl FnOnce(&S) -> io::Result<R>) -> io::Result<R> {
        self.0.try_io(interest, read)
    }
}

impl WatchedSocket {
    /// Reads a datagram.
    ///
    /// # Errors
    /// There is none now, or an earlier datagram has met an error.
    pub fn try_recv_from(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.try_read(Interest::READABLE, |socket| socket.recv_from(room))
    }
}

impl<S: AsRawFd> Deref for WatchedSocket<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.0.get_ref()
    }
}

impl<S: AsFd + AsRawFd> AsFd for WatchedSocket<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

impl<S: AsRawFd> AsRawFd for WatchedSocket<S> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.get_ref().as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
