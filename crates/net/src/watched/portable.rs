//! Datagram sockets of the runtime, on systems where it cannot watch one direction alone.

use std::io;
use std::net::SocketAddr;
use std::ops::Deref;

use tokio::io::Interest;
use tokio::net::UdpSocket;

/// A datagram socket of the runtime.
#[derive(Debug)]
pub struct WatchedSocket(UdpSocket);

impl WatchedSocket {
    /// Watches a socket, which does not block, by the current runtime.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        UdpSocket::from_std(socket).map(Self)
    }

    /// Waits until there is something to read.
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
        self.0.readable().await
    }

    /// Waits until there is room to write.
    ///
    /// # Errors
    /// The runtime has ended.
    pub async fn writable(&self) -> io::Result<()> {
        // The runtime does not know of send calls that were refused: they were not made through it.
        let _ = self.0.try_io(Interest::WRITABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        self.0.writable().await
    }

    /// Reads by a call that returns [`io::ErrorKind::WouldBlock`] if there is nothing. Without readiness it
    /// is not made.
    ///
    /// # Errors
    /// The call fails.
    pub fn try_read<R>(
        &self,
        interest: Interest,
        read: impl FnOnce(&UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.try_io(interest, || read(&self.0))
    }

    /// Reads a datagram.
    ///
    /// # Errors
    /// There is none now, or an earlier datagram has met an error.
    pub fn try_recv_from(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.try_recv_from(room)
    }
}

impl Deref for WatchedSocket {
    type Target = UdpSocket;

    fn deref(&self) -> &UdpSocket {
        &self.0
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsSocket for WatchedSocket {
    fn as_socket(&self) -> std::os::windows::io::BorrowedSocket<'_> {
        self.0.as_socket()
    }
}
