//! Packets of the steady state are encoded and decoded without heap allocation.

use std::hint::black_box;

use allocation_counter::measure;
use bytes::Bytes;
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, Payload, SeqNo,
    checksum::{self, PseudoHeader},
    option::{NdpCount, ack_vector, tfrc},
};

fn packet(kind: Kind, options: Options, payload: Payload) -> Packet {
    Packet {
        source_port: 5001,
        destination_port: 40123,
        ccval: 3,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(0x1234_5678_9abc),
        kind,
        options,
        payload,
    }
}

/// Number of allocations for encoding, checksumming, decoding, copying and iterating over `packet`.
fn allocations(packet: &Packet) -> u64 {
    let pseudo_header = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let mut out = Vec::with_capacity(packet.encoded_len());
    packet.encode_with_checksum(&pseudo_header, &mut out).unwrap();
    // Created from a slice, so that sharing does not have to change the owner of the bytes.
    let bytes = Bytes::copy_from_slice(&out);
    drop(bytes.clone());
    let info = measure(|| {
        for _ in 0..10 {
            out.clear();
            packet.encode_with_checksum(&pseudo_header, &mut out).unwrap();
            assert!(checksum::verify(&bytes, &pseudo_header));
            let read = Packet::decode(&bytes).unwrap();
            assert_eq!(&read, packet);
            assert_eq!(read.encoded_len(), out.len());
            let ack = read.ack().unwrap_or(SeqNo::ZERO);
            black_box(ack_vector::runs(ack, &read.options).count());
            black_box(read.options.iter().filter_map(tfrc::TfrcOption::parse).count());
            black_box(read.clone());
        }
    });
    info.count_total
}

#[test]
fn data_packets() {
    let payload = Payload::Bytes(Bytes::from(vec![7; 1200]));
    let ndp_count = DccpOption::NdpCount(NdpCount::new(1));
    assert_eq!(allocations(&packet(Kind::Data, Options::new(), payload.clone())), 0);
    assert_eq!(allocations(&packet(Kind::Data, Options::from_iter([ndp_count]), payload)), 0);
    let opaque = Payload::Opaque { length: 1200, tag: 9 };
    assert_eq!(allocations(&packet(Kind::Data, Options::new(), opaque)), 0);
}

#[test]
fn acknowledgements_of_ccid_2() {
    let cells = OptionBytes::from_slice(&[0, 192, 3, 64, 5, 63, 63, 63, 0, 192, 3, 64, 5, 63, 63, 63]);
    let options = Options::from_iter([DccpOption::AckVector { nonce: false, cells }]);
    let kind = Kind::Ack { ack: SeqNo::new(7_000_000) };
    assert_eq!(allocations(&packet(kind, options, Payload::EMPTY)), 0);
}

#[test]
fn feedback_of_ccid_3() {
    let elapsed = DccpOption::ElapsedTime(whimbrel_wire::option::Elapsed::from_units(100));
    let options = Options::from_iter([tfrc::loss_event_rate(100), tfrc::receive_rate(125_000), elapsed]);
    let kind = Kind::DataAck { ack: SeqNo::new(7_000_000) };
    assert_eq!(allocations(&packet(kind, options, Bytes::from(vec![7; 1200]).into())), 0);
}

#[test]
fn allocations_are_counted() {
    // More options than are stored inline.
    let options = Options::from_elem(DccpOption::SlowReceiver, 4);
    assert!(allocations(&packet(Kind::Data, options, Payload::EMPTY)) > 0);
}
