use whimbrel_wire::{ChecksumCoverage, Kind, Options, Payload};

use super::*;

fn secret(byte: u8) -> MobilitySecret {
    MobilitySecret::new([byte; 32])
}

fn packet() -> Packet {
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(100),
        kind: Kind::Ack { ack: SeqNo::new(200) },
        options: Options::new(),
        payload: Payload::EMPTY,
    }
}

fn agreed() -> (MoveKey, MoveKey) {
    let (client, server) = (secret(1), secret(2));
    let (ours, theirs) = (client.part(10), server.part(20));
    let at_client = client.agree(&ours, &theirs, &theirs).expect("a good key");
    let at_server = server.agree(&ours, &theirs, &ours).expect("a good key");
    (at_client, at_server)
}

#[test]
fn only_the_two_ends_have_the_key() {
    let (at_client, at_server) = agreed();
    let tag = at_client.tag(&packet(), 20, None);
    assert_eq!(tag, at_server.tag(&packet(), 20, None));
    // An attacker that saw both parts, and has a secret of its own.
    let (ours, theirs) = (secret(1).part(10), secret(2).part(20));
    for other in [&ours, &theirs] {
        let eve = secret(3).agree(&ours, &theirs, other).expect("a good key");
        assert_ne!(eve.tag(&packet(), 20, None), tag);
    }
    // Another connection of the same two endpoints.
    let later = secret(1).part(11);
    let another = secret(1).agree(&later, &theirs, &theirs).expect("a good key");
    assert_ne!(another.tag(&packet(), 20, None), tag);
}

#[test]
fn an_authenticator_is_good_for_one_packet_only() {
    let (key, _) = agreed();
    let tag = key.tag(&packet(), 20, Some(5));
    let genuine = |packet: &Packet, moved: Move| key.is_genuine(packet, &moved);
    let right = Move { identifier: 20, echo: Some(5), tag };
    assert!(genuine(&packet(), right));
    for changed in [
        Packet { sequence: SeqNo::new(101), ..packet() },
        Packet { source_port: 3, ..packet() },
        Packet { destination_port: 3, ..packet() },
        Packet { kind: Kind::Ack { ack: SeqNo::new(201) }, ..packet() },
        Packet { kind: Kind::DataAck { ack: SeqNo::new(200) }, ..packet() },
        Packet { kind: Kind::Data, ..packet() },
        Packet { extended: false, ..packet() },
    ] {
        assert!(!genuine(&changed, right), "{changed:?}");
    }
    for changed in [
        Move { identifier: 21, ..right },
        Move { echo: Some(6), ..right },
        Move { echo: None, ..right },
        Move { echo: Some(0), ..right },
    ] {
        assert!(!genuine(&packet(), changed), "{changed:?}");
    }
    for bit in 0..128 {
        assert!(!genuine(&packet(), Move { tag: tag ^ (1 << bit), ..right }), "bit {bit}");
    }
}

#[test]
fn a_public_key_of_low_order_is_refused() {
    // RFC 7748, Section 6.1: the point of order one gives zero with any secret.
    let (ours, bad) = (secret(1).part(1), MobilityKey { identifier: 2, public: [0; 32] });
    assert!(secret(1).agree(&ours, &bad, &bad).is_none());
}

#[test]
fn nothing_secret_is_printed() {
    assert_eq!(format!("{:?} {:?}", secret(1), agreed().0), "MobilitySecret MoveKey");
}
