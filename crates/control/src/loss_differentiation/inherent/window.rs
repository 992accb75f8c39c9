//! Packets sent in a row, and what became of them.

use whimbrel_units::{ByteCount, Duration, Instant};

/// How long a window is at least, by the sender's clock.
const LEAST_TIME: Duration = Duration::from_millis(250);
/// How many packets it has at least.
const LEAST_PACKETS: u64 = 20;

/// A window that is over.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Window {
    /// n: packets sent.
    pub(super) sent: u64,
    /// l: packets lost.
    pub(super) lost: u64,
    /// S: at which rate they were sent, in bit/s; lost ones count as having the mean size.
    pub(super) rate: f64,
}

/// The window that packets are counted in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Open {
    /// When the first packet was sent.
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
    /// The window, if it ends with the packet sent at `now`, which belongs to the next.
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
