//! Roles of the stations of a network with access points.

use core::fmt;
use std::collections::BTreeMap;

use crate::StationIndex;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::dcf::Protection;
use whimbrel_wifi::infrastructure::{
    AccessPointConfig, InvalidInfrastructure, StationConfig, check_access_points,
};

/// Channel of stations without a role.
const DEFAULT_CHANNEL: u8 = 1;

/// The role of a station.
#[derive(Clone, PartialEq, Debug)]
pub enum StationRole {
    /// The station exchanges frames with all ad hoc stations of its channel. Its address is
    /// [`MacAddress::station`] of its number.
    AdHoc {
        /// The channel.
        channel: u8,
    },
    /// An access point. Beacons of access points on one channel should not be due at the same times: they
    /// would collide.
    AccessPoint(AccessPointConfig),
    /// A station that searches for an access point and sends everything through it.
    Client {
        /// Its management.
        config: StationConfig,
        /// Time at which it begins to search.
        joins_at: Instant,
    },
}

impl StationRole {
    /// A client that searches from the beginning.
    pub const fn client(config: StationConfig) -> Self {
        Self::Client { config, joins_at: Instant::ZERO }
    }

    pub(super) fn address(&self, station: StationIndex) -> MacAddress {
        match self {
            Self::AdHoc { .. } => MacAddress::station(station.0),
            Self::AccessPoint(config) => config.address,
            Self::Client { config, .. } => config.address,
        }
    }
}

impl Default for StationRole {
    fn default() -> Self {
        Self::AdHoc { channel: DEFAULT_CHANNEL }
    }
}

/// The access points and clients of an 802.11 medium.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct InfrastructureConfig {
    /// The role of each station, in the order of their numbers.
    pub roles: Vec<StationRole>,
    /// Time from an association to the update of the distribution system, until which packets for the station
    /// go to its access point before.
    pub distribution_delay: Duration,
    /// Protection of OFDM frames by the access points that announce it
    /// ([`announces_erp`](AccessPointConfig::announces_erp)) and by their clients, while a client is
    /// associated that cannot decode them. `None` if all stations have the protection of their MACs at all
    /// times.
    pub protection: Option<Protection>,
}

impl InfrastructureConfig {
    /// Stations of these roles, with a distribution system without delay.
    pub const fn new(roles: Vec<StationRole>) -> Self {
        Self { roles, distribution_delay: Duration::ZERO, protection: None }
    }

    /// Sets the times of the first beacons so that the beacons of the access points are due one after the
    /// other, at equal distances if they have one interval.
    #[must_use]
    pub fn with_staggered_beacons(mut self) -> Self {
        let is_access_point = |role: &&StationRole| matches!(role, StationRole::AccessPoint(_));
        let count = self.roles.iter().filter(is_access_point).count() as u64;
        let mut position = 0;
        for role in &mut self.roles {
            if let StationRole::AccessPoint(config) = role {
                config.first_beacon = Instant::ZERO + config.beacon_interval * position / count;
                position += 1;
            }
        }
        self
    }

    /// Checks the roles of the stations of a site.
    ///
    /// # Errors
    /// If there is not one role per station, a parameter is out of range, or two stations have one address.
    pub fn check(&self, stations: usize) -> Result<(), InvalidRole> {
        if self.roles.len() != stations {
            return Err(InvalidRole::Count { roles: self.roles.len(), stations });
        }
        let mut addresses = BTreeMap::new();
        for (station, role) in (0..).map(StationIndex).zip(&self.roles) {
            match role {
                StationRole::AdHoc { .. } => Ok(()),
                StationRole::AccessPoint(config) => check_access_points(core::slice::from_ref(config)),
                StationRole::Client { config, .. } => config.check(),
            }
            .map_err(|error| InvalidRole::Parameter { station, error })?;
            let address = role.address(station);
            if address.is_group() {
                return Err(InvalidRole::GroupAddress { address, station });
            }
            if let Some(first) = addresses.insert(address, station) {
                return Err(InvalidRole::DuplicateAddress { address, stations: (first, station) });
            }
        }
        Ok(())
    }

    /// `true` if a client's network has an access point on one of the client's channels.
    pub fn serves(&self, client: &StationConfig) -> bool {
        self.roles.iter().any(|role| {
            matches!(role, StationRole::AccessPoint(config)
                if config.ssid == client.ssid && client.channels.contains(&config.channel))
        })
    }
}

/// Roles with which an 802.11 medium does not work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidRole {
    /// The number of roles differs from the number of stations.
    Count {
        /// Number of roles.
        roles: usize,
        /// Number of stations.
        stations: usize,
    },
    /// A parameter of a station has a value out of range.
    Parameter {
        /// Number of the station.
        station: StationIndex,
        /// The parameter.
        error: InvalidInfrastructure,
    },
    /// A station's address is a group address.
    GroupAddress {
        /// The address.
        address: MacAddress,
        /// Number of the station.
        station: StationIndex,
    },
    /// Two stations have one address: the BSSID of an access point is its address.
    DuplicateAddress {
        /// The address.
        address: MacAddress,
        /// Numbers of the two.
        stations: (StationIndex, StationIndex),
    },
}

impl fmt::Display for InvalidRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { roles, stations } => {
                write!(f, "{roles} roles for {stations} stations: expected one for each")
            }
            Self::Parameter { station, error } => write!(f, "station {station}: {error}"),
            Self::GroupAddress { address, station } => {
                write!(
                    f,
                    "station {station}: the address {address} is a group address, expected a unicast address"
                )
            }
            Self::DuplicateAddress { address, stations: (first, second) } => write!(
                f,
                "stations {first} and {second} have one address (BSSID), {address}: expected an address of its own for each"
            ),
        }
    }
}

impl core::error::Error for InvalidRole {}
