//! Inputs and results of a negotiation.

use thiserror::Error;
use whimbrel_units::Duration;
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, PacketType, SeqNo};

use super::Location;

/// The parts of a received packet that negotiation uses.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFeatures<'a> {
    /// Its type.
    pub packet_type: PacketType,
    /// Its sequence number, in full.
    pub sequence: SeqNo,
    /// Its Acknowledgement Number, in full.
    pub ack: Option<SeqNo>,
    /// Its options.
    pub options: &'a [DccpOption],
}

/// The packet that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct SendContext {
    /// Its type.
    pub packet_type: PacketType,
    /// Its sequence number.
    pub sequence: SeqNo,
    /// The round-trip time, if known.
    pub rtt: Option<Duration>,
    /// Number of bytes available for options.
    pub room: usize,
}

/// A completed negotiation, or a new value of a non-negotiable feature of the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureChange {
    /// The feature.
    pub feature: FeatureNumber,
    /// Its location.
    pub location: Location,
    /// The value now in force.
    pub value: u64,
    /// `true` if the value differs from the previous one.
    pub changed: bool,
}

/// Reason for refusing to change a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The feature does not exist, or not under the half-connection's CCID.
    #[error("feature {0:?} does not exist here")]
    Unknown(FeatureNumber),
    /// The value is set by the peer.
    #[error("feature {0:?} is set by the peer")]
    NotNegotiable(FeatureNumber),
    /// The list is empty or too long, or has an invalid value.
    #[error("feature {0:?} cannot take that value")]
    Invalid(FeatureNumber),
}

/// `true` if an option other than a Change or Confirm is always understood by this implementation, regardless
/// of the CCIDs. The Multipath option is only understood on a subflow of a multipath connection.
pub fn is_understood(option: &DccpOption) -> bool {
    !matches!(
        option,
        DccpOption::Unknown { .. }
            | DccpOption::Malformed(_)
            | DccpOption::CcidSpecific { .. }
            | DccpOption::Multipath(_)
    )
}
