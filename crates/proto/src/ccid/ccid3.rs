//! CCID 3: TFRC over DCCP (RFC 4342, with RFC 5348 in place of RFC 3448, and RFC 6323).
//!
//! The laws are [`whimbrel_control::tfrc`]'s; here they meet DCCP's sequence numbers and options.
//! The sender stamps its data packets with a *window counter*, quarters of a round-trip time modulo
//! 16, in the CCVal field; the receiver finds loss events with its help, and reports once per
//! round-trip time, and at once when losses increase: Elapsed Time, Receive Rate, Loss Intervals,
//! and, where negotiated, Loss Event Rate. With the Send RTT Estimate feature on, the sender tells
//! the receiver its round-trip time, and the receiver goes by that instead of the counter.
//!
//! Where the RFCs leave a choice or contradict each other:
//!
//! - *What is feedback.* RFC 4342, Section 6, wants Elapsed Time, Receive Rate and Loss Intervals.
//!   Linux sends no Loss Intervals but a Loss Event Rate, and no Elapsed Time. So Receive Rate and
//!   either of the two that tell of loss make a feedback packet, and a missing Elapsed Time is zero.
//! - *Which p.* The sender computes it from the Loss Intervals. Where a Loss Event Rate comes with
//!   them, that one is used if the two differ by more than its rounding, because only the receiver
//!   can discount its history; unless it claims an average longer than the longest interval reported.
//! - *Skip Length* is at most 3 (Section 8.6.1), but a hole of more than two packets makes more
//!   packets wait. The option then says 3, and the rest of the hole counts as received until it is
//!   declared lost, one or two packets later.
//! - *Receive Rate* is measured as RFC 5348, Section 6.2, says (RFC 4342's errata 610 and 611).
//! - *When feedback is due* by the window counter, a timer of two round-trip times backs it up
//!   (Section 10.3 mentions the need). With the Send RTT Estimate feature on, the timer of RFC 5348,
//!   Section 6.2, alone decides.
//! - *The window counter* is raised to four ahead of an acknowledged packet's (Section 8.1), but by
//!   no more than five between adjacent packets, so that it cannot wrap unseen.
//! - *Packets on the handshake* belong to no loss interval, and CCVal is set on Data and DataAck only.
//! - *The ECN nonce* is gone (RFC 8311); Nonce Echoes are sent as zero and not looked at.
//! - *Drop Code 2 and Slow Receiver* limit the rate for a round-trip time to what Section 5.2 has in mind, but
//!   not by lowering X_recv: since RFC 5348 the law takes the greatest X_recv of two round-trip times.
//!   Drop Codes 3 to 7 of Data Dropped count as marks (RFC 4340, Section 11.7.2).
//! - *Quiescence* (Section 6.4) needs no detection: whatever acknowledges pays the debt of acknowledging the
//!   receiver's Ack Vectors, and nothing else does if the other end has no data (Section 6.3).
//! - *How many packets were lost* the sender cannot tell from Loss Intervals, which give the lengths of lossy
//!   parts. It counts what they prove: the first and the last packet of each.
//!
//! [CCID 4](super::ccid4) is these two ends in another [`Variant`].

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

/// What the CCIDs that follow TFRC do differently. An experimental one (248 to 254) can have a variant
/// of its own.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Which CCID it is.
    pub ccid: Ccid,
    /// TFRC-SP rather than TFRC: the rate law, the counting of losses, and the Dropped Packets option that
    /// the latter needs.
    pub small_packets: Option<SmallPackets>,
    /// What the sender does about data that the receiving host dropped.
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
pub(super) const PROFILE: CcidProfile = CcidProfile {
    options: &[
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

/// The features of the CCIDs that follow TFRC, as an end with that configuration prefers them.
pub(super) fn features(end: HalfEnd, config: &TfrcConfig) -> Vec<FeaturePreference> {
    // RTT estimates help the sender or are its to give, and Loss Event Rates help it: it asks, the receiver only answers.
    let by_sender = |feature, wanted: bool| {
        let value = u8::from(wanted);
        match end {
            HalfEnd::Sender if wanted => FeaturePreference::ask(feature, value),
            _ => FeaturePreference::accept(feature, value),
        }
    };
    // Timestamps help the receiver alone, which insists on them.
    let timestamps = match end {
        HalfEnd::Receiver if config.wants_timestamps() => {
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
