//! Reports of a station.

use super::super::HandoverReport;
use crate::frame::MacAddress;

/// A change at a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StationEvent {
    /// The radio changes to a channel; it neither sends nor receives for the station's `switch_time`.
    SwitchChannel {
        /// The channel.
        channel: u8,
    },
    /// The link to the access point is lost or given up: data waits or is dropped.
    LinkDown {
        /// The access point.
        access_point: MacAddress,
    },
    /// The station is associated.
    LinkUp(HandoverReport),
    /// The station protects its OFDM frames from now on, or no longer: its access point has announced so.
    Protection {
        /// `true` if it protects them.
        is_used: bool,
    },
    /// A search found no access point that is better than the present one: the link is up again.
    Stayed {
        /// The access point.
        access_point: MacAddress,
    },
}
