//! Infrastructure networks: access points, scanning, authentication, association, handover.
//!
//! [`AccessPoint`] and [`Client`] are machines of the station management entity: management messages and the
//! MAC's reports go in, messages and events come out. They use a MAC and do not contain one. A station's
//! handover is reported with the times of its phases ([`HandoverReport`]). [`DistributionSystem`] keeps the
//! location of each station behind the access points.
//!
//! In a network of 802.11b and 802.11g stations, the access point announces while a station is associated
//! that cannot decode OFDM frames ([`ErpInformation`]); the others then protect theirs.
//!
//! Clients may save power ([`PowerSaveConfig`]): access points that know of it have a delivery period
//! ([`AccessPointConfig::dtim_period`]), and beacons name the clients for which packets are kept.
//!
//! Authentication is open system (IEEE 802.11-2007 section 8.2.2.2); security is not modelled.

mod access_point;
mod config;
mod distribution;
mod handover;
mod message;
mod power_save;
mod station;
mod traffic_indication;
mod uapsd;

pub use access_point::{AccessPoint, AccessPointConfig, AccessPointEvent};
pub use config::{HandoverTrigger, InvalidInfrastructure, Scan, StationConfig, check_access_points};
pub use distribution::DistributionSystem;
pub use handover::HandoverReport;
pub use message::{Announcement, ErpInformation, InvalidSsid, ManagementMessage, Ssid, Status};
pub use power_save::PowerSaveConfig;
pub use station::{Client, StationEvent};
pub use traffic_indication::TrafficIndication;
pub use uapsd::{END_OF_SERVICE, Uapsd};

use whimbrel_units::Instant;

use crate::frame::MacAddress;

/// A management message to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ManagementTransmit {
    /// The receiver; [`MacAddress::BROADCAST`] for beacons and probe requests.
    pub to: MacAddress,
    /// The message.
    pub message: ManagementMessage,
    /// Bytes of the frame's body, without header and frame check sequence.
    pub size: u32,
    /// Time at which nobody waits for the message any more: from then on it need not be sent.
    pub expires: Instant,
}

impl ManagementTransmit {
    fn new(to: MacAddress, message: ManagementMessage) -> Self {
        Self { to, size: message.size(), message, expires: Instant::FAR_FUTURE }
    }
}
