//! What a packet's Drop Code means to congestion control (RFC 4340, Section 11.7.2).

use whimbrel_wire::option::data_dropped::DropCode;

/// What an HC-sender does about a packet that arrived, but whose data were dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DropReaction {
    /// Nothing: the network has nothing to do with it.
    Ignore,
    /// A packet less per round-trip time: the receiving host cannot take so many.
    SlowDown,
    /// What a Congestion Experienced mark on the packet would bring about.
    AsMarked,
}

/// How an HC-sender reads Drop Codes. The standard CCIDs know only [`standard`]; RFC 4340, Section 11.7, leaves
/// richer reactions to corruption to research, which takes an experimental CCID (248 to 254), such as
/// [CCID 250](super::ccid250).
pub type DropPolicy = fn(DropCode) -> DropReaction;

/// RFC 4340, Section 11.7.2: what the protocol forbade or nobody listened to says nothing about congestion;
/// receive buffers ask for one packet less per round-trip time; corruption and codes without a meaning MUST
/// be taken for marks.
pub fn standard(code: DropCode) -> DropReaction {
    match code {
        DropCode::ProtocolConstraints | DropCode::ApplicationNotListening => DropReaction::Ignore,
        DropCode::ReceiveBuffer => DropReaction::SlowDown,
        DropCode::Corrupt | DropCode::DeliveredCorrupt | DropCode::Reserved(_) => DropReaction::AsMarked,
    }
}
