//! Resets to packets that belong to no connection (RFC 4340, Section 8.3.1).

use whimbrel_wire::{ChecksumCoverage, Kind, Options, Packet, PacketType, Payload, Reset, SeqNo};

#[cfg(test)]
mod tests;

/// The Reset that answers `packet`, sent by an end without sequence numbers of its own. Neither Resets nor
/// Listens (RFC 5596, Section 2.2.2) are answered.
pub(crate) fn refusal(packet: &Packet, reset: Reset) -> Option<Packet> {
    if matches!(packet.packet_type(), PacketType::Reset | PacketType::Listen) {
        return None;
    }
    // Short numbers decode to 24 bits, so the upper halves are zero, as the RFC requires.
    let shorten = |number: SeqNo| if packet.extended { number } else { SeqNo::new(number.low24().into()) };
    let sequence = packet.ack().map_or(SeqNo::ZERO, |ack| shorten(ack.next()));
    let ack = shorten(packet.sequence);
    Some(Packet {
        source_port: packet.destination_port,
        destination_port: packet.source_port,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence,
        kind: Kind::Reset { ack, reset },
        options: Options::new(),
        payload: Payload::EMPTY,
    })
}
