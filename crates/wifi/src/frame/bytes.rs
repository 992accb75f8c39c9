//! MAC headers as bytes (IEEE Std 802.11-2012, clause 8).

use alloc::vec::Vec;

use super::MacAddress;

/// Reason for which bytes are not an 802.11 frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HeaderError {
    /// Fewer bytes than the header needs.
    Truncated {
        /// Bytes that the header needs, as far as known.
        needed: usize,
        /// Bytes present.
        present: usize,
    },
    /// The protocol version is not 0.
    Version(u8),
}

impl core::fmt::Display for HeaderError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Truncated { needed, present } => {
                write!(f, "802.11 header: {needed} bytes needed, {present} present")
            }
            Self::Version(version) => write!(f, "802.11 header: protocol version {version}, not 0"),
        }
    }
}

impl core::error::Error for HeaderError {}

/// Flags of the frame control field, its second byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(pub u8);

impl Flags {
    /// To the distribution system.
    pub const TO_DS: Self = Self(0x01);
    /// From the distribution system.
    pub const FROM_DS: Self = Self(0x02);
    /// More fragments of the MSDU follow.
    pub const MORE_FRAGMENTS: Self = Self(0x04);
    /// A repetition.
    pub const RETRY: Self = Self(0x08);
    /// The station dozes after the frame.
    pub const POWER_MANAGEMENT: Self = Self(0x10);
    /// More packets are kept for the dozing receiver, or group frames for all.
    pub const MORE_DATA: Self = Self(0x20);
    /// The body is encrypted.
    pub const PROTECTED: Self = Self(0x40);
    /// HT control is present, or strict order.
    pub const ORDER: Self = Self(0x80);

    /// `true` if all of these flags are set.
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// Header of a data or management frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PayloadHeader {
    /// Subtype, 4 bits.
    pub subtype: u8,
    /// Flags.
    pub flags: Flags,
    /// Duration field in microseconds.
    pub duration: u16,
    /// Address 1, the receiver.
    pub receiver: MacAddress,
    /// Address 2, the transmitter.
    pub transmitter: MacAddress,
    /// Address 3: BSSID, source or destination, depending on the flags.
    pub address3: MacAddress,
    /// Sequence number, 12 bits.
    pub sequence: u16,
    /// Fragment number, 4 bits.
    pub fragment: u8,
    /// Address 4, present in data frames with both flags [`Flags::TO_DS`] and [`Flags::FROM_DS`].
    pub address4: Option<MacAddress>,
    /// QoS control field, present in data frames whose subtype has bit 3.
    pub qos: Option<u16>,
}

/// LLC and SNAP headers in front of an EtherType (RFC 1042).
pub const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];

/// A MAC header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Header {
    /// Request to send.
    Rts {
        /// Duration field in microseconds.
        duration: u16,
        /// The station that is to answer.
        receiver: MacAddress,
        /// The station that sends the RTS.
        transmitter: MacAddress,
    },
    /// Clear to send.
    Cts {
        /// Duration field in microseconds.
        duration: u16,
        /// The station that sent the RTS.
        receiver: MacAddress,
    },
    /// Acknowledgement.
    Ack {
        /// Duration field in microseconds.
        duration: u16,
        /// The station that sent the acknowledged frame.
        receiver: MacAddress,
    },
    /// A data frame.
    Data(PayloadHeader),
    /// A management frame.
    Management(PayloadHeader),
    /// Another control frame, or a frame of the reserved type. The rest is left to the body.
    Unknown {
        /// First byte: type and subtype.
        kind: u8,
        /// Flags.
        flags: Flags,
        /// Duration field, or identifier.
        duration: u16,
    },
}

const TYPE_MASK: u8 = 0x0c;
const TYPE_MANAGEMENT: u8 = 0x00;
const TYPE_DATA: u8 = 0x08;
const KIND_RTS: u8 = 0xb4;
const KIND_CTS: u8 = 0xc4;
const KIND_ACK: u8 = 0xd4;
pub(super) const KIND_BLOCK_ACK_REQUEST: u8 = 0x84;
pub(super) const KIND_BLOCK_ACK: u8 = 0x94;
pub(super) const KIND_CF_END: u8 = 0xe4;
pub(super) const SUBTYPE_QOS: u8 = 0x8;

/// Reads fields from the front of a slice.
struct Reader<'a> {
    bytes: &'a [u8],
    read: usize,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let error = HeaderError::Truncated { needed: self.read + N, present: self.bytes.len() };
        let rest = self.rest();
        let field = rest.first_chunk::<N>().ok_or(error)?;
        self.read += N;
        Ok(*field)
    }

    fn address(&mut self) -> Result<MacAddress, HeaderError> {
        self.take().map(MacAddress)
    }

    fn word(&mut self) -> Result<u16, HeaderError> {
        self.take().map(u16::from_le_bytes)
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.read..).unwrap_or_default()
    }
}

impl Header {
    /// Parses the header at the beginning of a frame. Returns it and the rest: the body and, if the capture
    /// has it, the frame check sequence.
    ///
    /// # Errors
    /// If bytes are missing or the protocol version is unknown.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), HeaderError> {
        let mut reader = Reader { bytes, read: 0 };
        let [kind, flags] = reader.take()?;
        if kind & 0x03 != 0 {
            return Err(HeaderError::Version(kind & 0x03));
        }
        let flags = Flags(flags);
        let duration = reader.word()?;
        let header = match kind {
            KIND_RTS => Self::Rts { duration, receiver: reader.address()?, transmitter: reader.address()? },
            KIND_CTS => Self::Cts { duration, receiver: reader.address()? },
            KIND_ACK => Self::Ack { duration, receiver: reader.address()? },
            _ if kind & TYPE_MASK == TYPE_DATA => {
                Self::Data(PayloadHeader::parse(kind, flags, duration, &mut reader)?)
            }
            _ if kind & TYPE_MASK == TYPE_MANAGEMENT => {
                Self::Management(PayloadHeader::parse(kind, flags, duration, &mut reader)?)
            }
            _ => Self::Unknown { kind, flags, duration },
        };
        Ok((header, reader.rest()))
    }

    /// Appends the header's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut control = |kind: u8, flags: Flags, duration: u16, addresses: &[MacAddress]| {
            out.extend([kind, flags.0]);
            out.extend(duration.to_le_bytes());
            addresses.iter().for_each(|address| out.extend(address.0));
        };
        let none = Flags::default();
        match *self {
            Self::Rts { duration, receiver, transmitter } => {
                control(KIND_RTS, none, duration, &[receiver, transmitter]);
            }
            Self::Cts { duration, receiver } => control(KIND_CTS, none, duration, &[receiver]),
            Self::Ack { duration, receiver } => control(KIND_ACK, none, duration, &[receiver]),
            Self::Unknown { kind, flags, duration } => control(kind, flags, duration, &[]),
            Self::Data(header) => header.encode(TYPE_DATA, out),
            Self::Management(header) => header.encode(TYPE_MANAGEMENT, out),
        }
    }
}

impl PayloadHeader {
    const fn is_data(kind: u8) -> bool {
        kind & TYPE_MASK == TYPE_DATA
    }

    fn parse(kind: u8, flags: Flags, duration: u16, reader: &mut Reader<'_>) -> Result<Self, HeaderError> {
        let subtype = kind >> 4;
        let (receiver, transmitter, address3) = (reader.address()?, reader.address()?, reader.address()?);
        let control = reader.word()?;
        let has_address4 = Self::is_data(kind) && flags.contains(Flags(0x03));
        let address4 = if has_address4 { Some(reader.address()?) } else { None };
        let has_qos = Self::is_data(kind) && subtype & SUBTYPE_QOS != 0;
        let qos = if has_qos { Some(reader.word()?) } else { None };
        Ok(Self {
            subtype,
            flags,
            duration,
            receiver,
            transmitter,
            address3,
            sequence: control >> 4,
            fragment: (control & 0x0f) as u8,
            address4,
            qos,
        })
    }

    /// Presence of address 4 and QoS control follows from the flags and the subtype; absent values are
    /// written as zero.
    fn encode(&self, frame_type: u8, out: &mut Vec<u8>) {
        let kind = frame_type | self.subtype << 4;
        out.extend([kind, self.flags.0]);
        out.extend(self.duration.to_le_bytes());
        for address in [self.receiver, self.transmitter, self.address3] {
            out.extend(address.0);
        }
        out.extend((self.sequence << 4 | u16::from(self.fragment & 0x0f)).to_le_bytes());
        if Self::is_data(kind) && self.flags.contains(Flags(0x03)) {
            out.extend(self.address4.unwrap_or_default().0);
        }
        if Self::is_data(kind) && self.subtype & SUBTYPE_QOS != 0 {
            out.extend(self.qos.unwrap_or_default().to_le_bytes());
        }
    }
}

/// Frame check sequence of a frame without it: CRC-32 of IEEE 802.3 (8.2.4.8), appended little-endian.
pub fn frame_check_sequence(frame: &[u8]) -> [u8; 4] {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    let crc = frame.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step));
    (!crc).to_le_bytes()
}

/// `true` if the last four bytes are the frame check sequence of the others.
pub fn has_valid_check_sequence(frame: &[u8]) -> bool {
    frame
        .split_last_chunk::<4>()
        .is_some_and(|(content, sequence)| frame_check_sequence(content) == *sequence)
}

#[cfg(test)]
mod tests;
