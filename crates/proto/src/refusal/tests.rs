use whimbrel_wire::{ResetCode, ServiceCode};

use super::*;

fn answer(extended: bool, kind: Kind) -> Option<Packet> {
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 3,
        checksum_coverage: ChecksumCoverage::ALL,
        extended,
        sequence: SeqNo::new(0xff_fffe),
        kind,
        options: Options::new(),
        payload: Payload::EMPTY,
    };
    refusal(&packet, Reset::new(ResetCode::NoConnection))
}

#[test]
fn its_numbers_are_those_of_the_packet() {
    // RFC 4340, Section 8.3.1.
    let reset = answer(true, Kind::Ack { ack: SeqNo::new(0xff_ffff) }).unwrap();
    assert_eq!((reset.sequence, reset.ack()), (SeqNo::new(0x100_0000), Some(SeqNo::new(0xff_fffe))));
    let reset = answer(true, Kind::Data).unwrap();
    assert_eq!(reset.sequence, SeqNo::ZERO);
    assert_eq!((reset.source_port, reset.destination_port, reset.ccval, reset.extended), (2, 1, 0, true));
}

#[test]
fn short_numbers_leave_the_upper_bits_zero() {
    let reset = answer(false, Kind::Ack { ack: SeqNo::new(0xff_ffff) }).unwrap();
    assert_eq!((reset.sequence, reset.ack()), (SeqNo::ZERO, Some(SeqNo::new(0xff_fffe))));
}

#[test]
fn resets_and_listens_are_not_answered() {
    let reset = Reset::new(ResetCode::NoConnection);
    assert_eq!(answer(true, Kind::Reset { ack: SeqNo::ZERO, reset }), None);
    assert_eq!(answer(true, Kind::Listen { service_code: ServiceCode(0) }), None);
}
