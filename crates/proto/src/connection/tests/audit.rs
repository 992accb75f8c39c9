//! Checks that apply to every packet of every [`Pair`](super::pair::Pair) in any test.

use whimbrel_wire::PacketType::{Data, Request};
use whimbrel_wire::option::FeatureAction::{ConfirmL, ConfirmR};
use whimbrel_wire::{ChecksumCoverage, DccpOption, Ecn, Kind, Packet, ResetCode};

use super::pair::SentPacket;

/// Panics if a packet violates a sender's rule of RFC 4340 or of RFC 8311.
pub(crate) fn audit(sent: &SentPacket) {
    let packet = &sent.packet;
    let packet_type = packet.packet_type();
    for option in &packet.options {
        let is_allowed = match option {
            // Sections 5.8.2 and 6.
            DccpOption::Mandatory | DccpOption::Feature(_) if packet_type == Data => false,
            // Section 6.6.1.
            DccpOption::Feature(option) if matches!(option.action, ConfirmL | ConfirmR) => {
                packet.ack().is_some()
            }
            // Sections 11.4, 11.7 and 13.2.
            DccpOption::AckVector { nonce, .. } => !nonce && !matches!(packet_type, Data | Request),
            DccpOption::DataDropped(_) | DccpOption::ElapsedTime(_) => !matches!(packet_type, Data | Request),
            // RFC 4342, Section 8 and RFC 5622, Section 8, among others.
            _ => option.counts_on(packet_type),
        };
        assert!(is_allowed, "{option:?} on {packet_type:?}");
    }
    // Section 5.8.2: Mandatory stands before another option.
    assert_ne!(packet.options.last(), Some(&DccpOption::Mandatory));
    // Section 5.6: a Reset says why.
    let is_vague = matches!(packet.kind, Kind::Reset { reset, .. } if reset.code == ResetCode::Unspecified);
    assert!(!is_vague, "{packet:?}");
    // Section 5.1, and Section 9.2 for the coverage.
    assert!(packet.extended || packet_type.allows_short_sequence_numbers());
    let coverage = packet.checksum_coverage;
    assert!(coverage.covered(packet.payload.len()).is_some());
    assert!(coverage == ChecksumCoverage::ALL || packet_type.carries_data());
    // RFC 8311, Section 6: no nonces, and no marks from an end. ECT(1) is for data, under a scalable law (RFC
    // 9331, Section 4.1).
    assert!(
        matches!(sent.ecn, Ecn::NotEct | Ecn::Ect0) || (sent.ecn == Ecn::Ect1 && packet_type.carries_data())
    );
    // The packet exists in the wire format, and is decoded to the same value.
    let mut bytes = bytes::BytesMut::new();
    packet.encode(&mut bytes).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
    assert_eq!(&Packet::decode(&bytes.freeze()).unwrap(), packet);
}

/// Panics if a packet is larger than those that hold the largest datagram, of `max_datagram` bytes. Path MTU
/// probes may be, and packets without data up to the size that every path is assumed to carry.
pub(crate) fn audit_size(sent: &SentPacket, max_datagram: usize) {
    /// The longest header of a packet with data, and the room that is kept for options.
    const OVERHEAD: usize = 24 + 28;
    const LEAST: usize = 548;
    let packet = &sent.packet;
    let has_data = packet.packet_type().carries_data();
    if !has_data && !packet.payload.is_empty() {
        return;
    }
    let limit = max_datagram + OVERHEAD;
    let limit = if has_data { limit } else { limit.max(LEAST) };
    let length = packet.encoded_len();
    assert!(length <= limit, "{length} bytes where {limit} fit: {packet:?}");
}
