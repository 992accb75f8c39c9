//! Datagrams with their times of arrival, for measurements besides DCCP.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use whimbrel_units::Instant;

use super::receive::Receiver;
use crate::arrival_times::KernelTime;
use crate::clock::Clock;

/// Receives datagrams of one UDP socket with their times of arrival.
///
/// On Linux, these are the kernel's, so that a receiver that reads late still measures the path alone. On
/// other systems, they are the times of the receive calls.
#[derive(Debug)]
pub struct TimedReceiver {
    receiver: Receiver,
    kernel: KernelTime,
    clock: Clock,
}

impl TimedReceiver {
    /// Makes the kernel timestamp the socket's datagrams. Their times will be on `clock`.
    pub fn new(socket: &impl AsFd, clock: Clock) -> Self {
        Self { receiver: Receiver::new(socket), kernel: KernelTime::default(), clock }
    }

    /// Receives a datagram by one call from the socket given to [`TimedReceiver::new`].
    ///
    /// Returns its length in bytes, its sender and its time of arrival. What does not fit `room` is cut off.
    ///
    /// # Errors
    /// There is none now ([`io::ErrorKind::WouldBlock`]), or an earlier datagram has met an error.
    pub fn receive(
        &mut self,
        socket: &impl AsRawFd,
        room: &mut [u8],
    ) -> io::Result<(usize, SocketAddr, Instant)> {
        let received = self.receiver.read(socket, room)?;
        let arrival = match received.stamp {
            Some(stamp) => self.kernel.arrival(stamp, &self.clock),
            None => self.clock.now(),
        };
        Ok((received.length, received.remote, arrival))
    }
}
