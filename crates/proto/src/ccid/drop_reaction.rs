//! Reaction of congestion control to Drop Codes (RFC 4340, Section 11.7.2).

use whimbrel_wire::option::data_dropped::DropCode;

/// An HC-sender's reaction to a packet that arrived, but whose data was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DropReaction {
    /// None: the drop is unrelated to the network.
    Ignore,
    /// One packet less per round-trip time: the receiving host cannot keep up.
    SlowDown,
    /// The reaction to a Congestion Experienced mark on the packet.
    AsMarked,
}

/// An HC-sender's reaction to each Drop Code. The standard CCIDs use [`standard`]; RFC 4340, Section 11.7,
/// leaves other reactions to corruption to research, which uses an experimental CCID (248 to 254), such as
/// [CCID 250](super::ccid250).
pub type DropPolicy = fn(DropCode) -> DropReaction;

/// RFC 4340, Section 11.7.2: protocol constraints and applications that do not listen are no sign of
/// congestion; receive buffers require one packet less per round-trip time; corruption and undefined codes
/// MUST be treated as marks.
pub fn standard(code: DropCode) -> DropReaction {
    match code {
        DropCode::ProtocolConstraints | DropCode::ApplicationNotListening => DropReaction::Ignore,
        DropCode::ReceiveBuffer => DropReaction::SlowDown,
        DropCode::Corrupt | DropCode::DeliveredCorrupt | DropCode::Reserved(_) => DropReaction::AsMarked,
    }
}
