//! Resets and their codes (RFC 4340, Section 5.6).

use core::fmt;

use crate::{DccpOption, PacketType};

#[cfg(test)]
mod tests;

/// A Reset Code with its three data bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Reset {
    /// Reset Code.
    pub code: ResetCode,
    /// Data 1 to 3, with a meaning that depends on the code.
    pub data: [u8; 3],
}

impl Reset {
    /// A reset whose data bytes are zero.
    pub const fn new(code: ResetCode) -> Self {
        Self { code, data: [0; 3] }
    }

    /// A reset with data bytes.
    pub const fn with_data(code: ResetCode, data: [u8; 3]) -> Self {
        Self { code, data }
    }

    /// An Option Error (code 5) caused by `option`.
    pub fn option_error(option: &DccpOption) -> Self {
        Self::with_data(ResetCode::OptionError, option.reset_data())
    }

    /// A Mandatory Error (code 6) caused by `option`, which was preceded by a Mandatory.
    pub fn mandatory_error(option: &DccpOption) -> Self {
        Self::with_data(ResetCode::MandatoryError, option.reset_data())
    }

    /// A Packet Error (code 4): an unexpected packet of this type arrived.
    pub const fn packet_error(packet_type: PacketType) -> Self {
        Self::with_data(ResetCode::PacketError, [packet_type as u8, 0, 0])
    }

    /// The end of a multipath connection (code 13) because the peer is too busy: data 1 is that reason's
    /// code. RFC 9897 gives the data no meaning.
    pub const fn busy_multipath() -> Self {
        Self::with_data(ResetCode::AbruptMultipathTermination, [9, 0, 0])
    }

    /// `true` if the peer was too busy, and may accept the connection later.
    pub fn is_busy(self) -> bool {
        self.code == ResetCode::TooBusy || self == Self::busy_multipath()
    }

    /// An Encapsulated Port Reuse (code 12): a packet of this type arrived from this UDP port, which another
    /// connection uses (RFC 6773, Section 7.2).
    pub const fn encapsulated_port_reuse(packet_type: PacketType, udp_source_port: u16) -> Self {
        let [high, low] = udp_source_port.to_be_bytes();
        Self::with_data(ResetCode::EncapsulatedPortReuse, [packet_type as u8, high, low])
    }
}

/// Reset Codes (RFC 4340, Section 5.6, Table 2; RFC 6773, Section 6; RFC 9897, Section 7.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum ResetCode {
    /// 0: no reason given.
    Unspecified,
    /// 1: normal close.
    Closed,
    /// 2: one end aborted the connection.
    Aborted,
    /// 3: no such connection.
    NoConnection,
    /// 4: a packet of an unexpected type; data 1 is the type.
    PacketError,
    /// 5: an option was erroneous; data 1 is its type, data 2 and 3 the first bytes of its data.
    OptionError,
    /// 6: a Mandatory option could not be processed; data as for `OptionError`.
    MandatoryError,
    /// 7: the destination refuses the connection.
    ConnectionRefused,
    /// 8: the Service Code is not served on that port.
    BadServiceCode,
    /// 9: the server is too busy.
    TooBusy,
    /// 10: the Init Cookie was missing or wrong.
    BadInitCookie,
    /// 11: the peer violated congestion control.
    AggressionPenalty,
    /// 12: the UDP ports are in use by another connection (RFC 6773, Section 5.1).
    EncapsulatedPortReuse,
    /// 13: the multipath connection ends on all its subflows (RFC 9897, Section 3.2.3).
    AbruptMultipathTermination,
    /// Reserved, experimental and CCID-specific codes.
    Other(u8),
}

impl fmt::Display for ResetCode {
    /// The name in RFC 4340, Section 5.6, Table 2 or RFC 6773, Section 6, in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Closed => "closed",
            Self::Aborted => "aborted",
            Self::NoConnection => "no connection",
            Self::PacketError => "packet error",
            Self::OptionError => "option error",
            Self::MandatoryError => "mandatory error",
            Self::ConnectionRefused => "connection refused",
            Self::BadServiceCode => "bad service code",
            Self::TooBusy => "too busy",
            Self::BadInitCookie => "bad init cookie",
            Self::AggressionPenalty => "aggression penalty",
            Self::EncapsulatedPortReuse => "encapsulated port reuse",
            Self::AbruptMultipathTermination => "abrupt multipath termination",
            Self::Other(code @ 128..) => return write!(f, "code {code} of the congestion control"),
            Self::Other(code) => return write!(f, "code {code}"),
        })
    }
}

impl fmt::Display for Reset {
    /// The code, and its data if they have a meaning.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, two, three] = self.data;
        match self.code {
            ResetCode::PacketError => match PacketType::from_number(one) {
                Some(packet_type) => write!(f, "{} on account of a {packet_type:?} packet", self.code),
                None => write!(f, "{} on account of a packet of type {one}", self.code),
            },
            ResetCode::OptionError | ResetCode::MandatoryError => {
                write!(f, "{} on account of option {one} with data {two} {three}", self.code)
            }
            ResetCode::EncapsulatedPortReuse => {
                write!(f, "{} by UDP port {}", self.code, u16::from_be_bytes([two, three]))
            }
            ResetCode::Other(_) if self.data != [0; 3] => {
                write!(f, "{}, data {one} {two} {three}", self.code)
            }
            code => write!(f, "{code}"),
        }
    }
}

impl From<u8> for ResetCode {
    fn from(code: u8) -> Self {
        match code {
            0 => Self::Unspecified,
            1 => Self::Closed,
            2 => Self::Aborted,
            3 => Self::NoConnection,
            4 => Self::PacketError,
            5 => Self::OptionError,
            6 => Self::MandatoryError,
            7 => Self::ConnectionRefused,
            8 => Self::BadServiceCode,
            9 => Self::TooBusy,
            10 => Self::BadInitCookie,
            11 => Self::AggressionPenalty,
            12 => Self::EncapsulatedPortReuse,
            13 => Self::AbruptMultipathTermination,
            other => Self::Other(other),
        }
    }
}

impl From<ResetCode> for u8 {
    fn from(code: ResetCode) -> Self {
        match code {
            ResetCode::Unspecified => 0,
            ResetCode::Closed => 1,
            ResetCode::Aborted => 2,
            ResetCode::NoConnection => 3,
            ResetCode::PacketError => 4,
            ResetCode::OptionError => 5,
            ResetCode::MandatoryError => 6,
            ResetCode::ConnectionRefused => 7,
            ResetCode::BadServiceCode => 8,
            ResetCode::TooBusy => 9,
            ResetCode::BadInitCookie => 10,
            ResetCode::AggressionPenalty => 11,
            ResetCode::EncapsulatedPortReuse => 12,
            ResetCode::AbruptMultipathTermination => 13,
            ResetCode::Other(other) => other,
        }
    }
}
