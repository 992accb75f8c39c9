//! CCID 252, an experiment: delay-aware TFRC, [CCID 3](super::ccid3) with a bounded queueing delay.
//!
//! The allowed rate is the least of TFRC's X and the rate of
//! [`DelayAware`](whimbrel_control::tfrc::DelayAware), which keeps the queueing delay of the path between
//! half of a target of 25 ms and the target.
//! [`DelayBound`](whimbrel_control::tfrc::DelayBound) measures that delay by the round-trip time samples over
//! their minimum, and states the limits of this. The nofeedback timer, Faster Restart, loss differentiation,
//! freezing and the limit to the capacity of the local link are CCID 3's.
//!
//! # Marks
//!
//! Data packets carry ECT(1), as the response to marks is in proportion to their share (RFC 9331, Section
//! 4.3). Each feedback packet therefore has an option in addition to CCID 3's, ECN Counts
//! ([`EcnCounts`](whimbrel_wire::option::tfrc::EcnCounts)): the number of packets with data that have arrived
//! since the last feedback packet, and of those that were marked. A mark is no loss event, neither to the
//! receiver nor to the sender. With a lost feedback packet its counts are lost; the share in the next one is
//! still a sample of the same path.
//!
//! Feedback is due as in CCID 3, once per round-trip time, and not earlier because of marks. Packets that an
//! end drops or delivers corrupt (Data Dropped), and those that arrive too late for delivery in order, still
//! count as lost.
//!
//! A router that applies RFC 3168 to ECT(1), and marks where it would drop, gets the answer in proportion as
//! well: the sender takes more than its share there, as all L4S senders without a fallback do.
//!
//! No registry has it by default, so that no peer can negotiate it without the application's consent:
//!
//! ```
//! use whimbrel_proto::ccid::Registry;
//! use whimbrel_proto::{Ccid, Config};
//!
//! let mut config = Config::default().ccids(Registry::default().with_delay_aware());
//! config.sender_ccids = [Ccid::DELAY_AWARE, Ccid::TFRC].into();
//! config.receiver_ccids = [Ccid::DELAY_AWARE, Ccid::TFRC].into();
//! assert!(config.validate().is_ok());
//! ```

use whimbrel_control::tfrc::DelayAwareConfig;

use super::tfrc::{DELAY_AWARE_OPTIONS, Tfrc, Variant};
use super::{Ccid, ccid3};

/// CCID 252.
pub const VARIANT: Variant = Variant {
    ccid: Ccid::DELAY_AWARE,
    name: "delay-aware",
    delay_aware: Some(DelayAwareConfig::DEFAULT),
    options: DELAY_AWARE_OPTIONS,
    ..ccid3::VARIANT
};

/// CCID 252, for a [`Registry`](super::Registry).
pub fn mechanism() -> Tfrc {
    Tfrc::new(VARIANT)
}

#[cfg(test)]
mod tests;
