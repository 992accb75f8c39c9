//! The use of the medium that packets wait for, as Linux estimates and limits it (airtime queue limits,
//! `net/mac80211/airtime.c` and `ieee80211_txq_airtime_check`).

use whimbrel_units::Duration;

use crate::phy::{Format, Mode};

#[cfg(test)]
mod tests;

/// The packet that the estimate begins with: 1024 bytes.
const PACKET_BITS: u64 = 8 * 1_024;
/// Times are computed in units of 1/1024 us.
const UNIT: u64 = 1_024;
/// Estimates count in steps of this many microseconds.
const STEP: u64 = 4;

/// The time on the air that a packet of `bytes` bytes is expected to take in aggregates, whose length grows
/// with the rate of
/// `mode`.
pub fn expected(mode: Mode, bytes: u32) -> Duration {
    let symbols = (PACKET_BITS * UNIT).div_ceil(u64::from(mode.data_bits()));
    let packet = symbols * mode.symbol().as_nanos() / 1_000;
    let steps = [(400, 1), (250, 2), (150, 3), (70, 4)];
    let is_he = matches!(mode.format(), Format::He | Format::HeExtendedRange);
    let last = if is_he && packet <= 20 * UNIT { 6 } else { 5 };
    let shift = steps.iter().find(|(least, _)| packet > least * UNIT).map_or(last, |&(_, shift)| shift);
    let overhead = ((36 + 4 * u64::from(mode.streams())) * UNIT) >> shift;
    let micros = (packet * u64::from(bytes) / 1_024 + overhead) / UNIT;
    Duration::from_micros(micros / STEP * STEP)
}

/// Limit of data pending at a MAC before its packets wait in the queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimits {
    /// For one receiver and category at any time.
    pub low: Duration,
    /// For one receiver and category while all together have less than `threshold`.
    pub high: Duration,
    /// For all receivers.
    pub threshold: Duration,
}

impl QueueLimits {
    /// The limits of Linux: 5, 12 and 24 ms.
    pub const LINUX: Self = Self {
        low: Duration::from_millis(5),
        high: Duration::from_millis(12),
        threshold: Duration::from_millis(24),
    };

    /// `true` if a further packet may go to the MAC.
    pub fn admit(&self, of_receiver: Duration, of_all: Duration) -> bool {
        of_receiver < self.low || of_receiver < self.high && of_all < self.threshold
    }
}
