//! The two ends of the CCIDs based on TFRC ([CCID 3](super::ccid3), [CCID 4](super::ccid4), [CCID
//! 250](super::ccid250),
//! [CCID 252](super::ccid252)).
//!
//! The laws are in [`whimbrel_control::tfrc`]. A CCID is a [`Variant`] of these ends: data.

use whimbrel_control::tfrc::{DelayAwareConfig, SmallPackets};
use whimbrel_wire::option::{FeatureNumber, tfrc};

use super::drop_reaction::DropPolicy;
use super::{Ccid, CcidProfile, FeaturePreference, HalfConnection, HalfEnd, HcReceiver, HcSender, Mechanism};
use crate::ConfigError;

mod config;
mod loss_record;
mod receiver;
mod sender;
mod sent_packets;
pub(super) mod small_packets;

pub use config::TfrcConfig;
pub use receiver::Receiver;
pub use sender::Sender;

/// Differences among the CCIDs based on TFRC. An experimental one (248 to 254) can define a variant of its
/// own.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The CCID.
    pub ccid: Ccid,
    /// Its name in messages.
    pub name: &'static str,
    /// TFRC-SP rather than TFRC: the rate law, the counting of losses, and the Dropped Packets option for the
    /// latter.
    pub small_packets: Option<SmallPackets>,
    /// The law that bounds the sender's rate by the queueing delay and by marks, if there is one. The
    /// receiver then reports the number of marked packets (ECN Counts) and does not count them as lost, and
    /// data carries ECT(1).
    pub delay_aware: Option<DelayAwareConfig>,
    /// The sender's reaction to data dropped by the receiving host.
    pub drop_policy: DropPolicy,
    /// The option types understood.
    pub options: &'static [u8],
}

/// CCID 4's options: CCID 3's, and before them Dropped Packets (RFC 5622, Section 8).
pub(super) const SMALL_PACKETS_OPTIONS: &[u8] = &[
    tfrc::DROPPED_PACKETS,
    tfrc::RTT_ESTIMATE,
    tfrc::RESTORING,
    tfrc::PROBING,
    tfrc::LOSS_EVENT_RATE,
    tfrc::LOSS_INTERVALS,
    tfrc::RECEIVE_RATE,
    tfrc::UNFROZEN,
];

/// CCID 252's options: CCID 3's, and ECN Counts.
pub(super) const DELAY_AWARE_OPTIONS: &[u8] = &[
    tfrc::RTT_ESTIMATE,
    tfrc::RESTORING,
    tfrc::PROBING,
    tfrc::LOSS_EVENT_RATE,
    tfrc::LOSS_INTERVALS,
    tfrc::RECEIVE_RATE,
    tfrc::UNFROZEN,
    tfrc::ECN_COUNTS,
];

/// CCID 3's options (RFC 4342, Section 8; RFC 6323, Section 3.2; and freezing's).
pub const OPTIONS: &[u8] = SMALL_PACKETS_OPTIONS.split_at(1).1;

/// A mechanism based on TFRC, for the [`Registry`](super::Registry).
#[derive(Clone, Copy, Debug)]
pub struct Tfrc {
    /// The variant.
    pub variant: Variant,
    /// The configuration.
    pub config: TfrcConfig,
}

impl Tfrc {
    /// The mechanism of a variant, with the default configuration.
    pub fn new(variant: Variant) -> Self {
        Self { variant, config: TfrcConfig::default() }
    }
}

impl Mechanism for Tfrc {
    fn ccid(&self) -> Ccid {
        self.variant.ccid
    }

    fn name(&self) -> &'static str {
        self.variant.name
    }

    fn sender(&self, half: &HalfConnection) -> Box<dyn HcSender> {
        Box::new(Sender::new(half, self.variant, &self.config))
    }

    fn receiver(&self, half: &HalfConnection) -> Box<dyn HcReceiver> {
        Box::new(Receiver::new(half, self.variant, &self.config))
    }

    /// TFRC needs no Ack Vectors: Loss Intervals report the losses, once per round-trip time (RFC 4342,
    /// Section 6).
    fn profile(&self) -> CcidProfile {
        CcidProfile {
            options: self.variant.options,
            classifies_losses: true,
            is_scalable: self.variant.delay_aware.is_some(),
            ..CcidProfile::PLAIN
        }
    }

    fn features(&self, end: HalfEnd) -> Vec<FeaturePreference> {
        features(end, &self.config)
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.config.validate()
    }
}

/// The features of the CCIDs based on TFRC, with the preferences of an end with that configuration.
fn features(end: HalfEnd, config: &TfrcConfig) -> Vec<FeaturePreference> {
    // RTT estimates come from the sender and Loss Event Rates serve it: the sender opens the negotiation, the
    // receiver only responds.
    let by_sender = |feature, wanted: bool| {
        let value = u8::from(wanted);
        match end {
            HalfEnd::Sender if wanted => FeaturePreference::ask(feature, value),
            _ => FeaturePreference::accept(feature, value),
        }
    };
    // Timestamps serve only the receiver, which requires them. A server that sends has to prefer them, as its
    // preference decides (RFC 4340, Section 6.3.1).
    let timestamps = match end {
        HalfEnd::Receiver if config.needs_timestamps() => {
            FeaturePreference::demand(FeatureNumber::SendTimestamps, 1)
        }
        HalfEnd::Receiver => FeaturePreference::accept(FeatureNumber::SendTimestamps, 0),
        HalfEnd::Sender => FeaturePreference::accept(FeatureNumber::SendTimestamps, 1),
    };
    vec![
        by_sender(FeatureNumber::SendRttEstimate, config.send_rtt_estimate),
        timestamps,
        by_sender(FeatureNumber::SendLossEventRate, config.send_loss_event_rate),
    ]
}
