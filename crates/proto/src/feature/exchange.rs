//! What goes into a negotiation and what comes out of it.

use thiserror::Error;
use whimbrel_units::Duration;
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, PacketType, SeqNo};

use super::Location;

/// What matters of a packet that arrived.
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

/// What matters of a packet that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct SendContext {
    /// Its type.
    pub packet_type: PacketType,
    /// Its sequence number.
    pub sequence: SeqNo,
    /// The round-trip time, if known.
    pub rtt: Option<Duration>,
    /// How many bytes of options it can take.
    pub room: usize,
}

/// A negotiation ended, or the other end set a feature of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureChange {
    /// Which feature.
    pub feature: FeatureNumber,
    /// Where it is located.
    pub location: Location,
    /// The value now in force.
    pub value: u64,
    /// Whether that is another value than before.
    pub changed: bool,
}

/// Why a feature cannot be changed that way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The feature does not exist, or not under the half-connection's CCID.
    #[error("feature {0:?} does not exist here")]
    Unknown(FeatureNumber),
    /// The value is the other end's to decide.
    #[error("feature {0:?} is for the other end to set")]
    NotNegotiable(FeatureNumber),
    /// No value, too many, or one without a meaning.
    #[error("feature {0:?} cannot take that value")]
    Invalid(FeatureNumber),
}

/// Whether an option other than a Change or Confirm is one that this implementation always
/// understands, whatever the CCIDs.
pub fn is_understood(option: &DccpOption) -> bool {
    !matches!(option, DccpOption::Unknown { .. } | DccpOption::Malformed(_) | DccpOption::CcidSpecific { .. })
}
