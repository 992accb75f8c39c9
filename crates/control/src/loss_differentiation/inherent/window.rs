//! Windows of packets and their losses.

use whimbrel_units::{ByteCount, Duration, Instant};

/// Minimum length of a window, by the sender's clock.
const LEAST_TIME: Duration = Duration::from_millis(250);
/// Minimum number of packets in a window.
const LEAST_PACKETS: u64 = 20;

/// A completed window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Window {
    /// n: packets sent.
    pub(super) sent: u64,
    /// l: packets lost.
    pub(super) lost: u64,
    /// S: the sending rate in bit/s; lost packets are assumed to have the mean size.
    pub(super) rate: f64,
}

/// The window in progress.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Open {
    /// Send time of the first packet.
    start: Instant,
    received: u64,
    bytes: u64,
    /// Packets lost so far.
    pub(super) lost: u64,
}

impl Open {
    pub(super) fn new(start: Instant) -> Self {
        Self { start, received: 0, bytes: 0, lost: 0 }
    }

    /// Packets sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.received + self.lost
    }

    pub(super) fn on_received(&mut self, size: ByteCount) {
        self.received += 1;
        self.bytes += size.as_u64();
    }

    /// Returns the window if it ends with the packet sent at `now`, which belongs to the next one.
    pub(super) fn close(&self, now: Instant) -> Option<Window> {
        let elapsed = now - self.start;
        if elapsed < LEAST_TIME || self.sent() < LEAST_PACKETS {
            return None;
        }
        let (sent, lost) = (self.sent(), self.lost);
        let bits = 8.0 * self.bytes as f64 * sent as f64 / self.received as f64;
        Some(Window { sent, lost, rate: bits / elapsed.as_secs_f64() })
    }
}
