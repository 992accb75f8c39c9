//! CCID 3: TFRC over DCCP (RFC 4342, with RFC 5348 in place of RFC 3448, and RFC 6323).
//!
//! The laws are in [`whimbrel_control::tfrc`]; this module maps them to DCCP's sequence numbers and options. The sender
//! puts a *window counter*, quarters of a round-trip time modulo 16, into the CCVal field of its data packets; the
//! receiver uses it to detect loss events, and sends feedback once per round-trip time, and immediately when losses
//! increase: Elapsed Time, Receive Rate, Loss Intervals, and, if negotiated, Loss Event Rate. With the Send RTT
//! Estimate feature on, the sender sends its round-trip time to the receiver, which uses it instead of the counter.
//!
//! Choices where the RFCs leave one or contradict each other:
//!
//! - *Feedback packets.* RFC 4342, Section 6, requires Elapsed Time, Receive Rate and Loss Intervals. Linux sends no
//!   Loss Intervals but a Loss Event Rate, and no Elapsed Time. A packet with Receive Rate and either of the two loss
//!   options is therefore feedback, and a missing Elapsed Time is zero.
//! - *Source of p.* The sender computes it from the Loss Intervals. A Loss Event Rate on the same packet is used
//!   instead if the two differ by more than its rounding, because only the receiver can discount its history; unless it
//!   implies an average longer than the longest interval reported.
//! - *Skip Length* is at most 3 (Section 8.6.1), but a gap of more than two packets makes more packets wait. The option
//!   then has 3, and the rest of the gap counts as received until it is declared lost, one or two packets later.
//! - *Receive Rate* is measured as in RFC 5348, Section 6.2 (RFC 4342's errata 610 and 611).
//! - *Feedback triggered* by the window counter is backed up by a timer of two round-trip times (Section 10.3 mentions
//!   the need). With the Send RTT Estimate feature on, only the timer of RFC 5348, Section 6.2, applies.
//! - *The window counter* is raised to four ahead of an acknowledged packet's (Section 8.1), but by at most five
//!   between adjacent packets, so that a wrap cannot go undetected.
//! - *Packets on the handshake* belong to no loss interval, and CCVal is set on Data and DataAck only.
//! - *The ECN nonce* is historic (RFC 8311); Nonce Echoes are sent as zero and ignored.
//! - *Drop Code 2 and Slow Receiver* limit the rate for a round-trip time, as Section 5.2 intends, but not by lowering
//!   X_recv: since RFC 5348 the law takes the greatest X_recv of two round-trip times. Drop Codes 3 to 7 of Data
//!   Dropped count as marks (RFC 4340, Section 11.7.2).
//! - *Quiescence* (Section 6.4) needs no detection: any acknowledgement also acknowledges the receiver's Ack Vectors,
//!   and none is sent otherwise if the peer has no data (Section 6.3).
//! - *The number of lost packets* cannot be determined from Loss Intervals, which give the lengths of lossy parts. The
//!   sender counts those that are certain: the first and the last packet of each.
//!
//! [CCID 4](super::ccid4) is another [`Variant`] of these two ends.

mod loss_record;
mod receiver;
mod receiver_rtt;
mod sender;
mod sent_packets;
mod window_counter;

pub use receiver::Receiver;
pub use sender::Sender;

use whimbrel_control::tfrc::SmallPackets;
use whimbrel_wire::option::{FeatureNumber, tfrc};

use super::drop_reaction::{self, DropPolicy};
use super::{Ccid, FeaturePreference, HalfConnection, HalfEnd, HcReceiver, HcSender, Mechanism};
use crate::Config;
use crate::config::TfrcConfig;
use crate::feature::CcidProfile;

/// Differences among the CCIDs based on TFRC. An experimental one (248 to 254) can define a variant of its own.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The CCID.
    pub ccid: Ccid,
    /// TFRC-SP rather than TFRC: the rate law, the counting of losses, and the Dropped Packets option for the latter.
    pub small_packets: Option<SmallPackets>,
    /// The sender's reaction to data dropped by the receiving host.
    pub drop_policy: DropPolicy,
}

impl Variant {
    /// CCID 3.
    pub const TFRC: Self =
        Self { ccid: Ccid::TFRC, small_packets: None, drop_policy: drop_reaction::standard };
}

/// CCID 3, for the [`Registry`](super::Registry).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ccid3;

impl Mechanism for Ccid3 {
    fn ccid(&self) -> Ccid {
        Ccid::TFRC
    }
    fn sender(&self, half: &HalfConnection<'_>) -> Box<dyn HcSender> {
        Box::new(Sender::new(half))
    }
    fn receiver(&self, half: &HalfConnection<'_>) -> Box<dyn HcReceiver> {
        Box::new(Receiver::new(half))
    }
    fn profile(&self) -> CcidProfile {
        PROFILE
    }
    fn features(&self, end: HalfEnd, config: &Config) -> Vec<FeaturePreference> {
        features(end, &config.tfrc)
    }
}

/// CCID 3's options (RFC 4342, Section 8; RFC 6323, Section 3.2; those of freezing). It needs no Ack Vectors: Loss
/// Intervals report the losses, once per round-trip time (RFC 4342, Section 6).
pub(super) const PROFILE: CcidProfile =
    CcidProfile { options: SMALL_PACKETS_PROFILE.options.split_at(1).1, ..CcidProfile::PLAIN };

/// CCID 4's options: those of CCID 3, and before them Dropped Packets (RFC 5622, Section 8).
pub(super) const SMALL_PACKETS_PROFILE: CcidProfile = CcidProfile {
    options: &[
        tfrc::DROPPED_PACKETS,
        tfrc::RTT_ESTIMATE,
        tfrc::RESTORING,
        tfrc::PROBING,
        tfrc::LOSS_EVENT_RATE,
        tfrc::LOSS_INTERVALS,
        tfrc::RECEIVE_RATE,
        tfrc::UNFROZEN,
    ],
    ..CcidProfile::PLAIN
};

/// The features of the CCIDs based on TFRC, with the preferences of an end with that configuration.
pub(super) fn features(end: HalfEnd, config: &TfrcConfig) -> Vec<FeaturePreference> {
    // RTT estimates come from the sender and Loss Event Rates serve it: the sender opens the negotiation, the receiver
    // only responds.
    let by_sender = |feature, wanted: bool| {
        let value = u8::from(wanted);
        match end {
            HalfEnd::Sender if wanted => FeaturePreference::ask(feature, value),
            _ => FeaturePreference::accept(feature, value),
        }
    };
    // Timestamps serve only the receiver, which requires them.
    let timestamps = match end {
        HalfEnd::Receiver if config.needs_timestamps() => {
            FeaturePreference::demand(FeatureNumber::SendTimestamps, 1)
        }
        _ => FeaturePreference::accept(FeatureNumber::SendTimestamps, 0),
    };
    vec![
        by_sender(FeatureNumber::SendRttEstimate, config.send_rtt_estimate),
        timestamps,
        by_sender(FeatureNumber::SendLossEventRate, config.send_loss_event_rate),
    ]
}

#[cfg(test)]
mod tests;
