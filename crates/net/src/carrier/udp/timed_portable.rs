//! Datagrams with the times of their receive calls, on systems whose timestamps are not used.

use std::io;
use std::net::SocketAddr;

use whimbrel_units::Instant;

use crate::clock::Clock;

/// Receives datagrams of one UDP socket with their times of arrival.
///
/// On Linux, these are the kernel's, so that a receiver that reads late still measures the path alone. On
/// other systems, they are the times of the receive calls.
#[derive(Debug)]
pub struct TimedReceiver {
    clock: Clock,
}

/// A UDP socket, the system's or the runtime's.
pub trait Source {
    /// Receives a datagram.
    ///
    /// # Errors
    /// There is none now, or an earlier datagram has met an error.
    fn take(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)>;
}

impl Source for std::net::UdpSocket {
    fn take(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(room)
    }
}

impl Source for tokio::net::UdpSocket {
    fn take(&self, room: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.try_recv_from(room)
    }
}

impl TimedReceiver {
    /// The times of the socket's datagrams will be on `clock`.
    pub fn new<S>(_socket: &S, clock: Clock) -> Self {
        Self { clock }
    }

    /// Receives a datagram by one call from the socket given to [`TimedReceiver::new`].
    ///
    /// Returns its length in bytes, its sender and its time of arrival. What does not fit `room` is cut off.
    ///
    /// # Errors
    /// There is none now ([`io::ErrorKind::WouldBlock`]), or an earlier datagram has met an error.
    pub fn receive(
        &mut self,
        socket: &impl Source,
        room: &mut [u8],
    ) -> io::Result<(usize, SocketAddr, Instant)> {
        let (length, from) = socket.take(room)?;
        Ok((length, from, self.clock.now()))
    }
}
