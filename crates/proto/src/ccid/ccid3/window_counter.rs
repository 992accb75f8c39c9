//! The sender's window counter (RFC 4342, Section 8.1).

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The counter counts modulo this: CCVal has four bits.
const MODULUS: u8 = 16;
/// How far adjacent packets' counters may differ.
const MAX_STEP: u8 = 5;

/// Counts quarters of round-trip times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct WindowCounter {
    /// last_WC.
    value: u8,
    /// last_WC_time: when `value` was first sent.
    since: Option<Instant>,
    /// The value on the last packet.
    sent: u8,
}

impl WindowCounter {
    /// The value for a data packet that is being sent.
    pub(super) fn stamp(&mut self, now: Instant, rtt: Duration) -> u8 {
        let since = *self.since.get_or_insert(now);
        let quarter = (rtt.as_nanos() / 4).max(1);
        let quarters = (now - since).as_nanos() / quarter;
        if quarters > 0 {
            self.value = add(self.value, quarters.min(u64::from(MAX_STEP)) as u8);
            self.since = Some(now);
        }
        // An acknowledgement may have raised it before the time did.
        if ahead(self.value, self.sent) > MAX_STEP {
            self.value = add(self.sent, MAX_STEP);
        }
        self.sent = self.value;
        self.value
    }

    /// A packet with counter `acked` was acknowledged: what follows is another round-trip time.
    pub(super) fn on_ack(&mut self, now: Instant, acked: u8) {
        if ahead(self.value, acked) < 4 {
            self.value = add(acked, 4);
            self.since = Some(now);
        }
    }
}

fn add(counter: u8, n: u8) -> u8 {
    (counter + n) % MODULUS
}

/// How far `counter` is ahead of `other`, on the circle.
pub(super) fn ahead(counter: u8, other: u8) -> u8 {
    counter.wrapping_sub(other) % MODULUS
}
