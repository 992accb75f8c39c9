//! Fields of the generic header (RFC 4340, Section 5.1).

#[cfg(test)]
mod tests;

/// Packet types (RFC 4340, Section 5.1, Table 1; RFC 5596, Section 2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the RFC's")]
pub enum PacketType {
    Request = 0,
    Response = 1,
    Data = 2,
    Ack = 3,
    DataAck = 4,
    CloseReq = 5,
    Close = 6,
    Reset = 7,
    Sync = 8,
    SyncAck = 9,
    Listen = 10,
}

impl PacketType {
    /// The type with that number; `None` if it is reserved (11 to 15).
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Request,
            1 => Self::Response,
            2 => Self::Data,
            3 => Self::Ack,
            4 => Self::DataAck,
            5 => Self::CloseReq,
            6 => Self::Close,
            7 => Self::Reset,
            8 => Self::Sync,
            9 => Self::SyncAck,
            10 => Self::Listen,
            _ => return None,
        })
    }

    /// `true` if packets of this type may have X = 0 (RFC 4340, Section 5.1).
    pub const fn allows_short_sequence_numbers(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Number of bytes before the options: 12 to 28. `extended`: the X bit.
    pub const fn fixed_header_len(self, extended: bool) -> usize {
        let (generic, ack) = if extended { (16, 8) } else { (12, 4) };
        match self {
            Self::Data => generic,
            Self::Request | Self::Listen => generic + 4,
            Self::Response | Self::Reset => generic + ack + 4,
            Self::Ack | Self::DataAck | Self::CloseReq | Self::Close | Self::Sync | Self::SyncAck => {
                generic + ack
            }
        }
    }

    /// `true` if packets of this type carry an Acknowledgement Number.
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }

    /// `true` if packets of this type may carry application data that is delivered (RFC 4340, Section 5.1).
    pub const fn carries_data(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }
}

/// The CsCov field: the part of the packet covered by its checksum (RFC 4340, Section 9.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct ChecksumCoverage(u8);

impl ChecksumCoverage {
    /// Header, options and all application data.
    pub const ALL: Self = Self(0);
    /// The four-bit field; only the low four bits of `field` count.
    pub const fn from_field(field: u8) -> Self {
        Self(field & 0xf)
    }

    /// The four-bit field.
    pub const fn field(self) -> u8 {
        self.0
    }

    /// Number of bytes covered of `payload` bytes of application data; `None` if the field exceeds them.
    pub const fn covered(self, payload: usize) -> Option<usize> {
        match self.0 {
            0 => Some(payload),
            n if (n as usize - 1) * 4 <= payload => Some((n as usize - 1) * 4),
            _ => None,
        }
    }
}
