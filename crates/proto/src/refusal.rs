//! Resets to packets that belong to no connection (RFC 4340, Section 8.3.1).

use whimbrel_wire::{ChecksumCoverage, Kind, Options, Packet, PacketType, Payload, Reset, SeqNo};

#[cfg(test)]
mod tests;

/// The Reset that answers `packet`, for an end without sequence numbers of its own. Resets are
/// never answered, nor are Listens (RFC 5596, Section 2.2.2), which are invitations.
pub(crate) fn refusal(packet: &Packet, reset: Reset) -> Option<Packet> {
    if matches!(packet.packet_type(), PacketType::Reset | PacketType::Listen) {
        return None;
    }
    // What decoding left of short numbers are 24 bits, so their upper halves are zero as the RFC wants them.
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
