//! The types that a connection exchanges with its driver.

use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, Packet};

/// Information about a received packet that is not in its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveMeta {
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// Arrival time, on the same clock as `now`, if the driver has a more precise one than the time of the
    /// call: the kernel records arrival times, and drivers read packets in batches. Used for measuring the
    /// times between packets; timers use `now`.
    pub arrival: Option<Instant>,
}

/// The result of [`Connection::poll`](super::Connection::poll).
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant, reason = "packets are returned by value, and not kept")]
pub enum Poll {
    /// The next packet. More may follow.
    Transmit(Transmit),
    /// There is nothing to send now.
    Wait(Wait),
}

/// The times at which a connection acts next unless something arrives or is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The next timer. Before this time [`Connection::handle_timeout`](super::Connection::handle_timeout)
    /// does nothing. [`Instant::FAR_FUTURE`] if no timer is running.
    pub timer: Instant,
    /// The next packet: data that congestion control holds back, or feature negotiation.
    /// [`Instant::FAR_FUTURE`] if none is planned.
    pub transmit: Instant,
}

impl Wait {
    /// The earlier of them; `None` if the connection only waits for the peer or the application.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let next = self.timer.min(self.transmit);
        (next < Instant::FAR_FUTURE).then_some(next)
    }
}

/// A packet to put on the network.
#[derive(Clone, PartialEq, Debug)]
pub struct Transmit {
    /// The packet.
    pub packet: Packet,
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
}
