//! CCID 4: TFRC for small packets over DCCP (RFC 5622, with RFC 4828 and RFC 5348; an experiment).
//!
//! The ends are [CCID 3](super::ccid3)'s with another rate law and another counting of losses:
//! [`small_packets`](whimbrel_control::tfrc::small_packets) has both. The Dropped Packets option, by which
//! the receiver reports the number of packets lost or marked in each loss interval, lets the sender count
//! them as well. The two ends are from [`tfrc`](super::tfrc) with the [`VARIANT`] of this module.
//!
//! Choices where the RFCs leave one or contradict each other:
//!
//! - *H* is 36 bytes, 32 with 24-bit sequence numbers, as in RFC 5622, Section 5; RFC 4828's 40 is for
//!   transports without better information. UDP's header below DCCP (RFC 6773) is not counted, nor is IPv6's.
//! - *The rate reduced by the headers' share.* RFC 4828, Section 3, reduces "the allowed transmit rate X";
//!   RFC 5622, Section 5, the rate that "is derived from the TCP throughput equation". The latter applies
//!   here: twice the receive rate counts data only, and reducing it each round-trip time would stop slow
//!   start.
//! - *The segment size s.* RFC 5348 also uses s outside the equation: in bytes, as in the initial window and
//!   the least rate of s/64 s, it is the nominal size; where s/X is the time of a packet (the first packets,
//!   one per second, and the nofeedback timer, two packets), it is the true packet size.
//! - *The initial window* is for the nominal size, 4380 bytes, because RFC 5622, Section 5, leaves slow start
//!   to CCID 3. That is many small packets, limited only by the Min Interval.
//! - *The nominal size* is smaller if the path is known to carry less: if it has lowered the largest datagram
//!   (RFC 4828, Section 3). A limit set by the application is not one of the path.
//! - *The Min Interval* is enforced strictly. RFC 5622, Section 5, permits one packet more per timeslice for
//!   coarse timers; these are not.
//! - *Weights.* RFC 4828 prints RFC 3448's average; RFC 5348's is the same but for the oldest interval while
//!   there are fewer than nine. History discounting (RFC 5348, Section 5.5) ignores a short open interval, as
//!   the average does.
//! - *The length of an interval* is determined by the receiver from the window counter (RFC 5622, Section
//!   8.4), or, with the Send RTT Estimate feature on, from its clock. The sender uses the times at which it
//!   sent the packets; the RFC does not specify how.
//! - *The first interval* is never short: its length represents the rate before the first loss. It is
//!   computed for a nominal segment, headers' share included (RFC 5348, Section 6.3.1).
//! - *Data Length* follows RFC 4342, Section 6.1.1, although RFC 5622, Section 6.1, mentions another length
//!   for short intervals: the sender divides by the Drop Count itself.

use whimbrel_control::tfrc::SmallPackets;

use super::tfrc::small_packets::header_size;
use super::tfrc::{SMALL_PACKETS_OPTIONS, Tfrc, Variant};
use super::{Ccid, drop_reaction};

/// CCID 4.
pub const VARIANT: Variant = Variant {
    ccid: Ccid::TFRC_SP,
    name: "TFRC-SP",
    small_packets: Some(SmallPackets { header_size: header_size(false), ..SmallPackets::RFC4828 }),
    delay_aware: None,
    drop_policy: drop_reaction::standard,
    options: SMALL_PACKETS_OPTIONS,
};

/// CCID 4, for the [`Registry`](super::Registry).
pub fn mechanism() -> Tfrc {
    Tfrc::new(VARIANT)
}

#[cfg(test)]
mod tests;
