//! One DCCP packet as a typed value.

use crate::{ChecksumCoverage, Options, PacketType, Payload, Reset, SeqNo, ServiceCode};

#[cfg(test)]
mod tests;

/// One DCCP packet.
#[derive(Clone, PartialEq, Debug)]
pub struct Packet {
    /// Source Port.
    pub source_port: u16,
    /// Destination Port.
    pub destination_port: u16,
    /// CCVal, four bits for the sender's CCID (RFC 4340, Section 5.1).
    pub ccval: u8,
    /// CsCov.
    pub checksum_coverage: ChecksumCoverage,
    /// The X bit: 48-bit sequence numbers. Only Data, Ack and DataAck may have it false.
    pub extended: bool,
    /// Sequence Number; with X = 0 decoding returns the low 24 bits, and the connection extends them.
    pub sequence: SeqNo,
    /// The type and its fields.
    pub kind: Kind,
    /// Options, in order.
    pub options: Options,
    /// Application data.
    pub payload: Payload,
}

/// The packet types and their specific fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    missing_docs,
    reason = "ack is the Acknowledgement Number everywhere; the rest are types of their own"
)]
pub enum Kind {
    Request { service_code: ServiceCode },
    Response { ack: SeqNo, service_code: ServiceCode },
    Data,
    Ack { ack: SeqNo },
    DataAck { ack: SeqNo },
    CloseReq { ack: SeqNo },
    Close { ack: SeqNo },
    Reset { ack: SeqNo, reset: Reset },
    Sync { ack: SeqNo },
    SyncAck { ack: SeqNo },
    Listen { service_code: ServiceCode },
}

impl Kind {
    /// The packet type.
    pub const fn packet_type(self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
            Self::Listen { .. } => PacketType::Listen,
        }
    }

    /// The Acknowledgement Number, if the type has one.
    pub const fn ack(self) -> Option<SeqNo> {
        match self {
            Self::Response { ack, .. }
            | Self::Ack { ack }
            | Self::DataAck { ack }
            | Self::CloseReq { ack }
            | Self::Close { ack }
            | Self::Reset { ack, .. }
            | Self::Sync { ack }
            | Self::SyncAck { ack } => Some(ack),
            Self::Request { .. } | Self::Data | Self::Listen { .. } => None,
        }
    }
}

impl Packet {
    /// The packet's type.
    pub const fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    /// The Acknowledgement Number, if the type has one.
    pub const fn ack(&self) -> Option<SeqNo> {
        self.kind.ack()
    }
}
