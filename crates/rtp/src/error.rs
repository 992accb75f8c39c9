//! Errors of RTCP messages.

use core::{error, fmt};

/// Error of decoding or encoding an RTCP message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RtcpError {
    /// The bytes end before the message does.
    Truncated,
    /// The packet is not version 2 of RTCP.
    Version,
    /// The packet is another RTCP message.
    Type,
    /// The padding is longer than the packet.
    Padding,
    /// A value has no meaning: a reserved symbol, or a bit rate of more than 64 bits.
    Reserved,
    /// There are too many packets or streams for one message.
    TooLong,
    /// The received packets are not in the order of their sequence numbers, or beyond the number of packets.
    Order,
}

impl fmt::Display for RtcpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the bytes end before the message does",
            Self::Version => "not version 2 of RTCP",
            Self::Type => "another RTCP message",
            Self::Padding => "the padding is longer than the packet",
            Self::Reserved => "a reserved value",
            Self::TooLong => "more packets or streams than one message can have",
            Self::Order => "received packets out of order or beyond the number of packets",
        })
    }
}

impl error::Error for RtcpError {}
