//! What each CCID brings along: its own features and options, and what it needs of the common ones.

use whimbrel_wire::option::{FeatureNumber, tfrc};

use crate::Ccid;

/// What a half-connection under one CCID needs and defines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CcidProfile {
    /// Whether the end that receives the data must send Ack Vectors: Send Ack Vector = 1 there.
    pub needs_ack_vector: bool,
    /// Whether the Ack Ratio of the end that sends the data has a meaning.
    pub uses_ack_ratio: bool,
    /// The features, numbered from 128 on, that exist under this CCID.
    pub features: &'static [FeatureNumber],
    /// The option types from 128 on that are understood under this CCID.
    pub options: &'static [u8],
}

impl CcidProfile {
    /// A CCID that defines nothing and needs nothing.
    pub const PLAIN: Self =
        Self { needs_ack_vector: false, uses_ack_ratio: false, features: &[], options: &[] };
}

/// The profile of `ccid`; [`CcidProfile::PLAIN`] for one that is not known.
///
/// CCID 2 cannot do without Ack Vectors and steers the Ack Ratio (RFC 4341, Sections 4 and 6).
/// CCIDs 3 and 4 need neither: Loss Intervals tell the losses, and feedback comes once per
/// round-trip time (RFC 4342, Sections 6 and 8; RFC 5622, Section 8; RFC 6323, Section 3.2).
pub const fn profile(ccid: Ccid) -> CcidProfile {
    const FEATURES: &[FeatureNumber] =
        &[FeatureNumber::SendRttEstimate, FeatureNumber::SendTimestamps, FeatureNumber::SendLossEventRate];
    match ccid.0 {
        2 => CcidProfile { needs_ack_vector: true, uses_ack_ratio: true, ..CcidProfile::PLAIN },
        3 => CcidProfile {
            features: FEATURES,
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
        },
        4 => CcidProfile {
            features: FEATURES,
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
        },
        _ => CcidProfile::PLAIN,
    }
}
