//! Feature negotiation (RFC 4340, Section 6).
//!
//! A *feature* is a property of a connection that both ends must agree on. Each exists twice, once located at
//! either end: Send Ack Vector/A determines whether A sends Ack Vectors, Send Ack Vector/B whether B does.
//! [`Negotiation`] is one end's view of all features. It reads the Change and Confirm options of received
//! packets, writes its own on packets being sent, retransmits a Change until it is answered, and returns the
//! value in force.
//!
//! ```text
//! request_change(..)  ->  write_options(..) on a packet that is being sent anyway,
//!                         or on one created for the purpose once poll_timeout() has come
//! handle_options(..)  ->  poll_event(): a value came into force
//! ```
//!
//! [`FeatureNumber`] holds the table of features (number, rule, width, initial value, whether required);
//! [`bounds`] adds the valid values.

use core::ops::RangeInclusive;

use smallvec::SmallVec;
use whimbrel_wire::option::FeatureNumber;

use crate::config::{MAX_SEQUENCE_WINDOW, MIN_SEQUENCE_WINDOW};

mod entry;
mod exchange;
mod negotiation;
mod preferences;

pub use exchange::{ChangeError, FeatureChange, ReceivedFeatures, SendContext, is_understood};
pub use negotiation::Negotiation;
pub use preferences::{CcidChoice, CcidChoices, Preferences, Wish, Wishes};

/// Values of a server-priority feature, in order of preference.
pub type ValueList = SmallVec<[u8; 16]>;

/// Location of a feature, relative to this end. The feature location sends Change L and Confirm L, the
/// feature remote Change R and Confirm R.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Location {
    /// At this end.
    Local,
    /// At the other end.
    Remote,
}

impl Location {
    /// Both locations.
    pub const BOTH: [Self; 2] = [Self::Local, Self::Remote];

    /// The other location.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// The valid values of a feature.
///
/// A non-negotiable feature with another value is an invalid option; in a server-priority feature's list such
/// a value is merely never shared (RFC 4340, Section 6.6.8).
pub const fn bounds(feature: FeatureNumber) -> RangeInclusive<u64> {
    match feature {
        FeatureNumber::SequenceWindow => MIN_SEQUENCE_WINDOW..=MAX_SEQUENCE_WINDOW,
        // Zero: the half-connection does not use the Ack Ratio (RFC 4340, Section 11.3; erratum 1049).
        FeatureNumber::AckRatio => 0..=0xffff,
        FeatureNumber::MinimumChecksumCoverage => 0..=15,
        FeatureNumber::Repair => 0..=2,
        FeatureNumber::Ccid | FeatureNumber::Other(_) => 0..=255,
        _ => 0..=1,
    }
}

/// The location of the CCID feature that governs the half-connection to which the CCID-specific
/// feature `number`, located at `location`, belongs. Numbers below 192 are located at the end that
/// sends the half-connection's data, the others at the end that receives it (RFC 4340, Section 10.3).
const fn half_connection(number: u8, location: Location) -> Location {
    if number < 192 { location } else { location.opposite() }
}

/// Server-priority reconciliation: selects the first of the server's values that is also in the client's list
/// (RFC 4340, Section 6.3.1).
fn reconcile(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|value| client.contains(value))
}

#[cfg(test)]
mod tests;
