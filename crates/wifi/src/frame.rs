//! Frames as typed values; their headers as bytes in [`bytes`], with [`radiotap`] headers for captures.

pub mod bytes;
pub mod radiotap;

use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::Duration;

use crate::phy::{Mode, Rate};

/// A 48-bit MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// A locally administered unicast address for the station of this number.
    pub const fn station(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0x00, a, b, c, d])
    }

    /// The number of the station with this [address](Self::station); `None` for other addresses.
    pub const fn number(self) -> Option<u32> {
        match self.0 {
            [0x02, 0x00, a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        }
    }

    /// `true` for the broadcast address and for multicast addresses, to which no station responds.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl core::str::FromStr for MacAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let mut bytes = [0; 6];
        let mut groups = text.split(':');
        for byte in &mut bytes {
            let group = groups.next().filter(|group| group.len() == 2).ok_or(InvalidAddress)?;
            if !group.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(InvalidAddress);
            }
            *byte = u8::from_str_radix(group, 16).map_err(|_| InvalidAddress)?;
        }
        if groups.next().is_some() { Err(InvalidAddress) } else { Ok(Self(bytes)) }
    }
}

/// A text that is no MAC address: six bytes in hexadecimal, with colons between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidAddress;

impl fmt::Display for InvalidAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected six bytes, such as 02:00:00:00:00:01")
    }
}

impl core::error::Error for InvalidAddress {}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Type of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameKind {
    /// Carries an MSDU.
    Data,
    /// Carries a management message (beacon, association and the like).
    Management,
    /// A data frame of the reserved subtype 1001, which the receiver acknowledges and discards: a probe of
    /// rt-Winf (paper `winf`, Section 3.2).
    Probe,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// An A-MPDU of QoS data frames, as a whole.
    Aggregate,
    /// Request for a block acknowledgement.
    BlockAckRequest,
    /// Block acknowledgement.
    BlockAck,
    /// End of a transmission opportunity before its limit.
    CfEnd,
}

/// Subtype of [`FrameKind::Probe`].
pub const PROBE_SUBTYPE: u8 = 0b1001;

impl FrameKind {
    /// `true` if the frame carries a payload, has a sequence number and, sent to one station, is
    /// acknowledged.
    pub const fn has_payload(self) -> bool {
        matches!(self, Self::Data | Self::Management | Self::Probe)
    }
}

/// Fields of the header of a frame with a payload that do not concern the MAC.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Addressing {
    /// Subtype, 4 bits.
    pub subtype: u8,
    /// [`bytes::Flags::TO_DS`] and [`bytes::Flags::FROM_DS`].
    pub flags: bytes::Flags,
    /// Address 3: the destination with `TO_DS`, the source with `FROM_DS`; `None` for the BSSID.
    pub address3: Option<MacAddress>,
    /// Traffic identifier of a QoS data frame.
    pub identifier: u8,
}

/// A frame on the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Address 1.
    pub receiver: MacAddress,
    /// Address 2. CTS frames and acknowledgements do not carry it; it then serves observers only.
    pub transmitter: MacAddress,
    /// Type of the frame.
    pub kind: FrameKind,
    /// Subtype, direction and address 3 of a frame with a payload.
    pub addressing: Addressing,
    /// Transmission rate; of a transmission with a mode, the rate by which responses go
    /// ([`Mode::reference_rate`]).
    pub rate: Rate,
    /// Mode of a transmission of 802.11n, ac or ax; `None` for the rates of 802.11a, b and g.
    pub mode: Option<Mode>,
    /// `true` in the repetition of a frame with a payload.
    pub is_retry: bool,
    /// Sequence number, modulo 4096; 0 in frames without a payload.
    pub sequence: u16,
    /// Length with header and frame check sequence, in bytes.
    pub size: u32,
    /// Time on the air.
    pub air_time: Duration,
    /// Duration field: the time for which the medium is reserved after the frame's end.
    pub nav: Duration,
    /// Driver's handle of the payload; 0 in frames without one.
    pub payload: u64,
}

impl Frame {
    /// The frame's MAC header. Data and management frames without an address 3 of their own name `bssid`.
    /// Durations above the field's largest, 32767 us, are limited to it.
    pub fn header(&self, bssid: MacAddress) -> bytes::Header {
        // Rounded up to a whole microsecond (8.2.4.2).
        let duration = self.nav.as_nanos().div_ceil(1_000).min(0x7fff) as u16;
        let (receiver, transmitter) = (self.receiver, self.transmitter);
        let payload = bytes::PayloadHeader {
            subtype: self.addressing.subtype,
            flags: bytes::Flags(
                self.addressing.flags.0 | if self.is_retry { bytes::Flags::RETRY.0 } else { 0 },
            ),
            duration,
            receiver,
            transmitter,
            address3: self.addressing.address3.unwrap_or(bssid),
            sequence: self.sequence & 0x0fff,
            fragment: 0,
            address4: None,
            qos: (self.addressing.subtype & bytes::SUBTYPE_QOS != 0)
                .then_some(u16::from(self.addressing.identifier)),
        };
        let control = |kind| bytes::Header::Unknown { kind, flags: bytes::Flags::default(), duration };
        match self.kind {
            FrameKind::Rts => bytes::Header::Rts { duration, receiver, transmitter },
            FrameKind::Cts => bytes::Header::Cts { duration, receiver },
            FrameKind::Ack => bytes::Header::Ack { duration, receiver },
            FrameKind::Data | FrameKind::Probe | FrameKind::Aggregate => bytes::Header::Data(payload),
            FrameKind::BlockAckRequest => control(bytes::KIND_BLOCK_ACK_REQUEST),
            FrameKind::BlockAck => control(bytes::KIND_BLOCK_ACK),
            FrameKind::CfEnd => control(bytes::KIND_CF_END),
            FrameKind::Management => bytes::Header::Management(payload),
        }
    }

    /// Appends the frame as it is on the air, with frame check sequence: the header, `body`, zeros up to
    /// [`size`](Self::size).
    pub fn encode(&self, bssid: MacAddress, body: &[u8], out: &mut Vec<u8>) {
        const FCS_BYTES: usize = 4;
        let start = out.len();
        self.header(bssid).encode(out);
        out.extend_from_slice(body);
        out.resize(out.len().max(start + (self.size as usize).saturating_sub(FCS_BYTES)), 0);
        let sequence = bytes::frame_check_sequence(&out[start..]);
        out.extend(sequence);
    }
}

#[cfg(test)]
mod tests;
