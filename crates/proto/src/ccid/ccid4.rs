//! CCID 4: TFRC for small packets over DCCP (RFC 5622, with RFC 4828 and RFC 5348; an experiment).
//!
//! The ends are [CCID 3](super::ccid3)'s with another rate law and another counting of losses:
//! [`tfrc::small_packets`](whimbrel_control::tfrc::small_packets) has both. What CCID 4 adds to the packets
//! is here: the Dropped Packets option, by which the receiver says how many packets were lost or
//! marked in each loss interval that it reports, so that the sender can count them, too.
//!
//! Where the RFCs leave a choice or contradict each other:
//!
//! - *H* is 36 bytes, 32 with 24-bit sequence numbers, as RFC 5622, Section 5, says; RFC 4828's 40 is for
//!   transports that know no better. UDP's header below DCCP (RFC 6773) is not counted, as little as IPv6's.
//! - *What the headers' share is taken of.* RFC 4828, Section 3, reduces "the allowed transmit rate X";
//!   RFC 5622, Section 5, what "is derived from the TCP throughput equation". The latter is done: twice the receive
//!   rate is data already, and taking a part of it each round-trip time would keep slow start from growing.
//! - *Which s.* RFC 5348's other uses of s than the equation: in bytes, as in the initial window and the
//!   least rate of s/64 s, it is the nominal size; where s/X is the time of a packet (the first packets, one per
//!   second, and the nofeedback timer, two packets), it is a packet's true size.
//! - *The initial window* is that of the nominal size, 4380 bytes, because RFC 5622, Section 5, leaves slow start to
//!   CCID 3. Small packets are many then, but for the Min Interval.
//! - *The nominal size* is smaller where the path is known to carry less: when it has lowered the largest
//!   datagram (RFC 4828, Section 3). A limit that the application has set says nothing of the path.
//! - *The Min Interval* is kept strictly. RFC 5622, Section 5, allows one packet more per timeslice where timers are
//!   coarse; ours are not.
//! - *Weights.* RFC 4828 prints RFC 3448's average; RFC 5348's is the same but for the oldest interval while there
//!   are fewer than nine. History discounting (RFC 5348, Section 5.5) ignores a short open interval, as the
//!   average does.
//! - *How long an interval is* the receiver sees by the window counter (RFC 5622, Section 8.4), or, with the
//!   Send RTT Estimate feature on, by its clock. The sender goes by when it sent the packets; the RFC does
//!   not say how it should know.
//! - *The first interval* is never short: its length stands for the rate before the first loss. That is computed
//!   for a nominal segment, headers' share included (RFC 5348, Section 6.3.1).
//! - *Data Length* stays what RFC 4342, Section 6.1.1, says, although RFC 5622, Section 6.1, speaks of another
//!   length for short intervals: the sender divides by the Drop Count itself.

use whimbrel_control::tfrc::SmallPackets;
use whimbrel_wire::option::tfrc;

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
    /// What makes CCID 4 of CCID 3's ends.
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
    /// RFC 5622, Section 8: CCID 3's options and Dropped Packets.
    fn profile(&self) -> CcidProfile {
        CcidProfile {
            options: &[
                tfrc::RTT_ESTIMATE,
                tfrc::RESTORING,
                tfrc::PROBING,
                tfrc::LOSS_EVENT_RATE,
                tfrc::LOSS_INTERVALS,
                tfrc::RECEIVE_RATE,
                tfrc::DROPPED_PACKETS,
                tfrc::UNFROZEN,
            ],
            ..CcidProfile::PLAIN
        }
    }
    fn features(&self, end: HalfEnd, config: &Config) -> Vec<FeaturePreference> {
        ccid3::features(end, &config.tfrc)
    }
}

#[cfg(test)]
mod tests;
