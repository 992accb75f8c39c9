//! Management messages (IEEE 802.11-2007 section 7.2.3).

use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::{TrafficIndication, Uapsd};
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

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend([ELEMENT_SSID, self.length]);
        out.extend_from_slice(self.as_bytes());
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

/// The ERP Information element (section 7.3.2.13): the stations of a network that cannot decode OFDM frames.
/// Its third bit, `Barker_Preamble_Mode`, is not set: the preamble is a matter of the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ErpInformation {
    /// `NonERP_Present`: such a station is associated.
    pub has_non_erp: bool,
    /// `Use_Protection`: OFDM frames are to be protected.
    pub uses_protection: bool,
}

impl ErpInformation {
    fn encode(self, out: &mut Vec<u8>) {
        out.extend([ELEMENT_ERP, 1, u8::from(self.has_non_erp) | u8::from(self.uses_protection) << 1]);
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
    /// Stations that cannot decode OFDM frames; `None` if the access point announces nothing about them.
    pub erp: Option<ErpInformation>,
    /// The clients for which packets are kept, in a beacon; `None` without power saving: the map is empty.
    pub traffic: Option<TrafficIndication>,
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

impl Status {
    const fn code(self) -> u16 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::TooManyStations => 17,
        }
    }
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
        /// `true` if the station decodes OFDM frames: its supported rates include some.
        is_erp: bool,
        /// Beacons from one that the station listens to, while it dozes, to the next.
        listen_interval: u16,
        /// Categories in which the station requests automatic delivery.
        uapsd: Uapsd,
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
    /// A QoS null frame, a data frame without a body.
    Null {
        /// The power management bit: the station dozes from now on.
        is_dozing: bool,
    },
    /// A QoS null frame of an access point that ends a service period without packets.
    ServiceEnd,
}

impl ManagementMessage {
    /// The element of supported rates: 1, 2, 5.5 and 11 Mbit/s as basic rates, and 18, 24, 36 and 54 Mbit/s.
    const RATES_ELEMENT: [u8; 10] = [1, 8, 0x82, 0x84, 0x8b, 0x96, 0x24, 0x30, 0x48, 0x6c];
    /// The same of a station without OFDM.
    const NON_ERP_RATES_ELEMENT: [u8; 6] = [1, 4, 0x82, 0x84, 0x8b, 0x96];
    /// Bytes of the element of supported rates.
    const RATES: u32 = Self::RATES_ELEMENT.len() as u32;

    /// The element of supported rates of a station.
    const fn rates(is_erp: bool) -> &'static [u8] {
        if is_erp { &Self::RATES_ELEMENT } else { &Self::NON_ERP_RATES_ELEMENT }
    }

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
            // Of a data frame.
            Self::Null { .. } | Self::ServiceEnd => 12,
        }
    }

    /// Bytes of the frame's body: the fixed fields and the elements SSID, supported rates, DS parameter set,
    /// traffic indication map and ERP Information.
    pub fn size(&self) -> u32 {
        let element = |ssid: &Ssid| 2 + u32::from(ssid.length);
        let announcement = |content: &Announcement| {
            12 + element(&content.ssid) + Self::RATES + 3 + if content.erp.is_some() { 3 } else { 0 }
        };
        match self {
            Self::Beacon(content) => {
                announcement(content) + content.traffic.as_ref().map_or(6, TrafficIndication::size)
            }
            Self::ProbeResponse(content) => announcement(content),
            Self::ProbeRequest { ssid } => ssid.as_ref().map_or(2, element) + Self::RATES,
            Self::AuthenticationRequest | Self::AuthenticationResponse(_) => 6,
            Self::AssociationRequest { ssid, previous, is_erp, uapsd, .. } => {
                let rates = Self::rates(*is_erp).len() as u32;
                let delivery = if uapsd.is_empty() { 0 } else { Uapsd::ELEMENT_BYTES };
                4 + if previous.is_some() { 6 } else { 0 } + element(ssid) + rates + delivery
            }
            Self::AssociationResponse { .. } => 6 + Self::RATES,
            // QoS control instead of a body.
            Self::Disassociation | Self::Deauthentication | Self::Null { .. } | Self::ServiceEnd => 2,
        }
    }

    /// Appends the frame's body at the time `now`, [`size`](Self::size) bytes. The capabilities announce a
    /// network with access points (ESS). QoS control of a null frame is a part of the header.
    pub fn encode(&self, now: Instant, out: &mut Vec<u8>) {
        const CAPABILITIES: u16 = 1;
        const OPEN_SYSTEM: u16 = 0;
        let words =
            |out: &mut Vec<u8>, words: &[u16]| words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        match *self {
            Self::Beacon(Announcement { ssid, channel, beacon_interval, erp, traffic })
            | Self::ProbeResponse(Announcement { ssid, channel, beacon_interval, erp, traffic }) => {
                out.extend((now.as_nanos() / 1_000).to_le_bytes());
                let units = beacon_interval.as_nanos() / TIME_UNIT.as_nanos();
                words(out, &[u16::try_from(units).unwrap_or(u16::MAX), CAPABILITIES]);
                ssid.encode(out);
                out.extend(Self::RATES_ELEMENT);
                out.extend([ELEMENT_DS_PARAMETER, 1, channel]);
                if matches!(self, Self::Beacon(_)) {
                    match traffic {
                        Some(traffic) => traffic.encode(out),
                        None => out.extend([ELEMENT_TRAFFIC_INDICATION, 4, 0, 1, 0, 0]),
                    }
                }
                if let Some(erp) = erp {
                    erp.encode(out);
                }
            }
            Self::ProbeRequest { ssid } => {
                // A name without bytes stands for all networks.
                ssid.unwrap_or(Ssid { bytes: [0; 32], length: 0 }).encode(out);
                out.extend(Self::RATES_ELEMENT);
            }
            Self::AuthenticationRequest => words(out, &[OPEN_SYSTEM, 1, 0]),
            Self::AuthenticationResponse(status) => words(out, &[OPEN_SYSTEM, 2, status.code()]),
            Self::AssociationRequest { ssid, previous, is_erp, listen_interval, uapsd } => {
                words(out, &[CAPABILITIES, listen_interval]);
                if let Some(previous) = previous {
                    out.extend(previous.0);
                }
                ssid.encode(out);
                out.extend(Self::rates(is_erp));
                if !uapsd.is_empty() {
                    uapsd.encode(out);
                }
            }
            Self::AssociationResponse { status, id } => {
                // The two highest bits of an identifier are set (7.3.1.8).
                words(out, &[CAPABILITIES, status.code(), id | 0xc000]);
                out.extend(Self::RATES_ELEMENT);
            }
            // Class 2 and class 3 frames of a station that is not authenticated, or not associated (7.3.1.7).
            Self::Deauthentication => words(out, &[6]),
            Self::Disassociation => words(out, &[7]),
            Self::Null { .. } | Self::ServiceEnd => {}
        }
    }
}

/// The unit of beacon intervals.
pub(super) const TIME_UNIT: Duration = Duration::from_micros(1_024);
const ELEMENT_SSID: u8 = 0;
const ELEMENT_DS_PARAMETER: u8 = 3;
const ELEMENT_TRAFFIC_INDICATION: u8 = 5;
const ELEMENT_ERP: u8 = 42;

#[cfg(test)]
mod tests;
