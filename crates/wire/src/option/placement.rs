//! Packet types on which options are valid.

use super::{DccpOption, mobility, multipath, tfrc};
use crate::PacketType;

#[cfg(test)]
mod tests;

impl DccpOption {
    /// `true` if the option is valid on packets of this type; elsewhere it must be ignored.
    ///
    /// The table of RFC 4340, Section 5.8 (the column "DCCP-Data?"), the limits in the sections of the
    /// options, the tables of RFC 4342, Section 8, RFC 5622, Section 8 and RFC 6323, Section 3.2.1 for the
    /// TFRC options, RFC 9897, Section 3.2 for Multipath options, and RFC 5596, Section 2.2.1, by which no
    /// option on a Listen packet is valid. Unknown options and other CCIDs' are valid everywhere, as their
    /// placement is not known.
    pub fn counts_on(&self, packet_type: PacketType) -> bool {
        match self {
            _ if packet_type == PacketType::Listen => false,
            Self::Padding
            | Self::SlowReceiver
            | Self::NdpCount(_)
            | Self::Timestamp(_)
            | Self::TimestampEcho { .. }
            | Self::DataChecksum(_)
            | Self::Unknown { .. }
            | Self::Malformed(_) => true,
            Self::Mandatory | Self::Feature(_) => packet_type != PacketType::Data,
            // The options refer to the packets at and below the Acknowledgement Number.
            Self::AckVector { .. } | Self::DataDropped(_) | Self::ElapsedTime(_) => packet_type.has_ack(),
            // An attacker then has to guess two sequence numbers.
            Self::Freeze | Self::Unfreeze => packet_type.has_ack(),
            // RFC 4340, Section 8.1.4: a Request is sent before there is a cookie.
            Self::InitCookie(_) => !matches!(packet_type, PacketType::Request | PacketType::Data),
            Self::Multipath(data) => match data.first() {
                Some(&(multipath::JOIN | multipath::KEY)) => {
                    matches!(packet_type, PacketType::Request | PacketType::Response)
                }
                Some(&multipath::FAST_CLOSE) => packet_type == PacketType::Reset,
                Some(&multipath::CLOSE) => matches!(packet_type, PacketType::CloseReq | PacketType::Close),
                _ => true,
            },
            Self::Mobility { kind: mobility::KEY, .. } => {
                matches!(packet_type, PacketType::Request | PacketType::Response)
            }
            Self::Mobility { kind: mobility::CHALLENGE, .. } => packet_type == PacketType::Sync,
            // A client that has moved sends the option on all its packets.
            Self::Mobility { .. } => !matches!(packet_type, PacketType::Request | PacketType::Response),
            Self::CcidSpecific { kind: tfrc::LOSS_INTERVALS | tfrc::UNFROZEN | tfrc::ECN_COUNTS, .. } => {
                packet_type.has_ack()
            }
            Self::CcidSpecific {
                kind: tfrc::LOSS_EVENT_RATE | tfrc::RECEIVE_RATE | tfrc::DROPPED_PACKETS,
                ..
            } => packet_type != PacketType::Data,
            Self::CcidSpecific { .. } => true,
        }
    }
}
