//! Reports of a station with quality of service.

use crate::aggregation::Fate;
use crate::frame::MacAddress;

/// An event, with the packet's handle at the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A packet for this station, in order; each once.
    Delivered {
        /// The packet.
        packet: u64,
        /// The station that has sent it.
        transmitter: MacAddress,
    },
    /// A packet for this station was received, and waits for an earlier one.
    Held {
        /// The packet.
        packet: u64,
    },
    /// A packet was acknowledged, sent to a group, or given up.
    Done {
        /// The packet.
        packet: u64,
        /// Its fate.
        fate: Fate,
        /// Transmissions of the MPDU that it was in.
        transmissions: u16,
    },
}

/// Counters of an access category since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CategoryCounters {
    /// Accesses to the medium that expected a response.
    pub attempts: u64,
    /// Accesses among `attempts` without a response to the first frame.
    pub failed_attempts: u64,
    /// Exchanges that an access continued with, and that failed.
    pub failed_later: u64,
    /// Accesses that a higher category of the station took.
    pub internal_collisions: u64,
    /// MPDUs transmitted, repetitions included.
    pub mpdus: u64,
    /// Transmissions with MPDUs.
    pub transmissions: u64,
    /// Packets acknowledged, or sent to a group.
    pub acknowledged: u64,
    /// Packets given up.
    pub given_up: u64,
}
