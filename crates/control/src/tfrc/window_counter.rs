//! The sender's window counter (RFC 4342, Section 8.1): a timestamp in quarters of a round-trip time.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Modulus of the counter: CCVal has four bits.
const MODULUS: u8 = 16;
/// The largest difference between adjacent packets' counters.
const MAX_STEP: u8 = 5;

/// Counts quarters of round-trip times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowCounter {
    /// last_WC.
    value: u8,
    /// last_WC_time: time at which `value` was first sent.
    since: Option<Instant>,
    /// The value on the last packet.
    sent: u8,
}

impl WindowCounter {
    /// The value for a data packet that is being sent.
    pub fn stamp(&mut self, now: Instant, rtt: Duration) -> u8 {
        let since = *self.since.get_or_insert(now);
        let quarter = (rtt.as_nanos() / 4).max(1);
        let quarters = (now - since).as_nanos() / quarter;
        if quarters > 0 {
            self.value = add(self.value, quarters.min(u64::from(MAX_STEP)) as u8);
            self.since = Some(now);
        }
        // An acknowledgement may have raised it early.
        if ahead(self.value, self.sent) > MAX_STEP {
            self.value = add(self.sent, MAX_STEP);
        }
        self.sent = self.value;
        self.value
    }

    /// A packet with counter `acked` was acknowledged: following packets belong to another round-trip time.
    pub fn on_ack(&mut self, now: Instant, acked: u8) {
        if ahead(self.value, acked) < 4 {
            self.value = add(acked, 4);
            self.since = Some(now);
        }
    }
}

fn add(counter: u8, n: u8) -> u8 {
    (counter + n) % MODULUS
}

/// Circular distance by which `counter` is ahead of `other`.
pub fn ahead(counter: u8, other: u8) -> u8 {
    counter.wrapping_sub(other) % MODULUS
}
