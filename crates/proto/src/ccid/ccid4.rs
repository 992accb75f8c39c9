//! CCID 4: TFRC for small packets over DCCP (RFC 5622, with RFC 4828 and RFC 5348; an experiment).
//!
//! The ends are [CCID 3](super::ccid3)'s with another rate law and another counting of losses:
//! [`tfrc::small_packets`](whimbrel_control::tfrc::small_packets) has both. This module adds the Dropped Packets
//! option, by which the receiver reports the number of packets lost or marked in each loss interval, so that the sender
//! can count them as well.
//!
//! Choices where the RFCs leave one or contradict each other:
//!
//! - *H* is 36 bytes, 32 with 24-bit sequence numbers, as in RFC 5622, Section 5; RFC 4828's 40 is for transports
//!   without better information. UDP's header below DCCP (RFC 6773) is not counted, nor is IPv6's.
//! - *The rate reduced by the headers' share.* RFC 4828, Section 3, reduces "the allowed transmit rate X"; RFC 5622,
//!   Section 5, the rate that "is derived from the TCP throughput equation". The latter applies here: twice the receive
//!   rate counts data only, and reducing it each round-trip time would stop slow start.
//! - *The segment size s.* RFC 5348 also uses s outside the equation: in bytes, as in the initial window and the least
//!   rate of s/64 s, it is the nominal size; where s/X is the time of a packet (the first packets, one per second, and
//!   the nofeedback timer, two packets), it is the true packet size.
//! - *The initial window* is that of the nominal size, 4380 bytes, because RFC 5622, Section 5, leaves slow start to
//!   CCID 3. That is many small packets, limited only by the Min Interval.
//! - *The nominal size* is smaller if the path is known to carry less: if it has lowered the largest datagram (RFC
//!   4828, Section 3). A limit set by the application is not one of the path.
//! - *The Min Interval* is enforced strictly. RFC 5622, Section 5, permits one packet more per timeslice for coarse
//!   timers; these are not.
//! - *Weights.* RFC 4828 prints RFC 3448's average; RFC 5348's is the same but for the oldest interval while there
//!   are fewer than nine. History discounting (RFC 5348, Section 5.5) ignores a short open interval, as the
//!   average does.
//! - *The length of an interval* is determined by the receiver from the window counter (RFC 5622, Section 8.4), or,
//!   with the Send RTT Estimate feature on, from its clock. The sender uses the times at which it sent the packets; the
//!   RFC does not specify how.
//! - *The first interval* is never short: its length represents the rate before the first loss. It is computed for a
//!   nominal segment, headers' share included (RFC 5348, Section 6.3.1).
//! - *Data Length* is that of RFC 4342, Section 6.1.1, although RFC 5622, Section 6.1, mentions another length for
//!   short intervals: the sender divides by the Drop Count itself.

use whimbrel_control::tfrc::SmallPackets;

use super::ccid3::{self, Variant};
use super::{Ccid, FeaturePreference, HalfConnection, HalfEnd, HcReceiver, HcSender, Mechanism};
use crate::Config;
use crate::feature::CcidProfile;

mod receiver;
mod sender;

pub(super) use receiver::dropped_packets;
pub(super) use sender::{drop_counts, header_size, nominal_segment_size};

/// CCID 4, for the [`Registry`](super::Registry).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ccid4;

impl Ccid4 {
    /// CCID 4 as a variant of CCID 3.
    pub fn variant() -> Variant {
        let small = SmallPackets { header_size: header_size(false), ..SmallPackets::default() };
        Variant { ccid: Ccid::TFRC_SP, small_packets: Some(small), ..Variant::TFRC }
    }
}

impl Mechanism for Ccid4 {
    fn ccid(&self) -> Ccid {
        Ccid::TFRC_SP
    }
    fn sender(&self, half: &HalfConnection<'_>) -> Box<dyn HcSender> {
        Box::new(ccid3::Sender::with_variant(half, Self::variant()))
    }
    fn receiver(&self, half: &HalfConnection<'_>) -> Box<dyn HcReceiver> {
        Box::new(ccid3::Receiver::with_variant(half, Self::variant()))
    }
    fn profile(&self) -> CcidProfile {
        ccid3::SMALL_PACKETS_PROFILE
    }
    fn features(&self, end: HalfEnd, config: &Config) -> Vec<FeaturePreference> {
        ccid3::features(end, &config.tfrc)
    }
}

#[cfg(test)]
mod tests;
