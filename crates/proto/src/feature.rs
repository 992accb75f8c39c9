//! Feature negotiation (RFC 4340, Section 6).
//!
//! A *feature* is a property of a connection that both ends must agree on. Each exists twice, once
//! located at either end: Send Ack Vector/A says whether A sends Ack Vectors, Send Ack Vector/B
//! whether B does. [`Negotiation`] is one end's view of all of them. It reads the Change and
//! Confirm options of arriving packets, writes its own on departing ones, repeats a Change until it
//! is answered, and tells the value in force.
//!
//! ```text
//! request_change(..)  ->  write_options(..) on a packet that is leaving anyway,
//!                         or on one made for the purpose once poll_timeout() has come
//! handle_options(..)  ->  poll_event(): a value came into force
//! ```
//!
//! The features' table (number, rule, width, initial value, whether required) is
//! [`FeatureNumber`]'s; [`bounds`] adds the values that have a meaning.

use core::ops::RangeInclusive;

use smallvec::SmallVec;
use whimbrel_wire::option::FeatureNumber;

mod entry;
mod exchange;
mod negotiation;
mod preferences;
mod profile;

pub use exchange::{Arrival, ChangeError, Departure, FeatureChange, is_understood};
pub use negotiation::Negotiation;
pub use preferences::{CcidChoice, CcidChoices, Preferences, Wish, Wishes};
pub use profile::CcidProfile;

/// Values of a server-priority feature, best first.
pub type ValueList = SmallVec<[u8; 16]>;

/// Where a feature is located, seen from this end. Its location sends Change L and Confirm L, the
/// other end Change R and Confirm R.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Location {
    /// At this end.
    Local,
    /// At the other end.
    Remote,
}

impl Location {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Local, Self::Remote];

    /// The other one.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// The values of a feature that have a meaning.
///
/// A non-negotiable feature with another value is an invalid option; in a server-priority
/// feature's list it is merely a value that nobody shares (RFC 4340, Section 6.6.8).
pub const fn bounds(feature: FeatureNumber) -> RangeInclusive<u64> {
    match feature {
        FeatureNumber::SequenceWindow => 32..=(1 << 46) - 1,
        // Zero: the half-connection has no use for it (RFC 4340, Section 11.3; erratum 1049).
        FeatureNumber::AckRatio => 0..=0xffff,
        FeatureNumber::MinimumChecksumCoverage => 0..=15,
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

/// What server-priority reconciliation selects: the first of the server's values that the client has,
/// too (RFC 4340, Section 6.3.1).
fn reconcile(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|value| client.contains(value))
}

#[cfg(test)]
mod tests;
