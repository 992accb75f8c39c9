//! Management messages (IEEE 802.11-2007 section 7.2.3).

use core::fmt;

use whimbrel_units::Duration;

use crate::frame::MacAddress;

/// The name of a network: up to 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ssid {
    bytes: [u8; 32],
    length: u8,
}

/// A name that is longer than 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidSsid {
    /// Bytes of the name.
    pub length: usize,
}

impl fmt::Display for InvalidSsid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the SSID has {} bytes, expected at most 32", self.length)
    }
}

impl core::error::Error for InvalidSsid {}

impl Ssid {
    /// The network with this name.
    ///
    /// # Errors
    /// If the name is longer than 32 bytes.
    pub fn new(name: &str) -> Result<Self, InvalidSsid> {
        let mut bytes = [0; 32];
        let length = name.len();
        bytes.get_mut(..length).ok_or(InvalidSsid { length })?.copy_from_slice(name.as_bytes());
        Ok(Self { bytes, length: length as u8 })
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Ssid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// The content of beacons and probe responses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Announcement {
    /// The network.
    pub ssid: Ssid,
    /// The access point's channel.
    pub channel: u8,
    /// Interval between its beacons.
    pub beacon_interval: Duration,
}

/// Result of an authentication or association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// 0: successful.
    Success,
    /// 1: unspecified failure.
    Failure,
    /// 17: the access point has too many stations.
    TooManyStations,
}

/// A management message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ManagementMessage {
    /// Periodic announcement of an access point.
    Beacon(Announcement),
    /// Request for announcements; of all networks if `ssid` is `None`.
    ProbeRequest {
        /// The network searched for.
        ssid: Option<Ssid>,
    },
    /// Announcement in answer to a probe request.
    ProbeResponse(Announcement),
    /// Open system authentication: the station's request.
    AuthenticationRequest,
    /// The access point's answer.
    AuthenticationResponse(Status),
    /// Request for association; a reassociation names the access point before.
    AssociationRequest {
        /// The network.
        ssid: Ssid,
        /// The access point of the present association.
        previous: Option<MacAddress>,
    },
    /// The answer to either.
    AssociationResponse {
        /// The result.
        status: Status,
        /// Association identifier, from 1; 0 without success.
        id: u16,
    },
    /// End of an association.
    Disassociation,
    /// End of authentication and association.
    Deauthentication,
}

impl ManagementMessage {
    /// Bytes of the element of supported rates with the eight rates of an 802.11g station.
    const RATES: u32 = 10;

    /// The subtype of the management frame (section 7.1.3.1.2).
    pub const fn subtype(&self) -> u8 {
        match self {
            Self::AssociationRequest { previous: None, .. } => 0,
            Self::AssociationResponse { .. } => 1,
            Self::AssociationRequest { previous: Some(_), .. } => 2,
            Self::ProbeRequest { .. } => 4,
            Self::ProbeResponse(_) => 5,
            Self::Beacon(_) => 8,
            Self::Disassociation => 10,
            Self::AuthenticationRequest | Self::AuthenticationResponse(_) => 11,
            Self::Deauthentication => 12,
        }
    }

    /// Bytes of the frame's body: the fixed fields and the elements SSID, supported rates, DS parameter set and traffic
    /// indication map.
    pub fn size(&self) -> u32 {
        let element = |ssid: &Ssid| 2 + u32::from(ssid.length);
        match self {
            Self::Beacon(announcement) => 12 + element(&announcement.ssid) + Self::RATES + 3 + 6,
            Self::ProbeResponse(announcement) => 12 + element(&announcement.ssid) + Self::RATES + 3,
            Self::ProbeRequest { ssid } => ssid.as_ref().map_or(2, element) + Self::RATES,
            Self::AuthenticationRequest | Self::AuthenticationResponse(_) => 6,
            Self::AssociationRequest { ssid, previous } => {
                4 + if previous.is_some() { 6 } else { 0 } + element(ssid) + Self::RATES
            }
            Self::AssociationResponse { .. } => 6 + Self::RATES,
            Self::Disassociation | Self::Deauthentication => 2,
        }
    }
}

#[cfg(test)]
mod tests;
