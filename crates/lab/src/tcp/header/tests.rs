use super::super::segment::Timestamps;
use super::*;

const ADDRESSES: Addresses =
    Addresses { source: [10, 0, 0, 1], destination: [10, 0, 0, 2], source_port: 49152, destination_port: 80 };

fn written(segment: &Segment) -> Vec<u8> {
    let mut out = vec![0xaa];
    write_tcp_header(segment, &ADDRESSES, &mut out);
    assert_eq!(out.remove(0), 0xaa, "what was there stays");
    assert_eq!(out.len(), segment.header_length() as usize);
    out
}

#[test]
fn a_data_segment_is_a_plain_header() {
    let segment =
        Segment { seq: 1460, ack: 0, length: 2, window: 1 << 30, flags: Flags::ACK, ..Segment::default() };
    // Worked by hand: pseudo-header 0a00 0001 0a00 0002 0006 0016, then c000 0050 0000 05b5 0000 0001 5010
    // ffff (the window is cut) 0000 0000. The sum is 2 2a34 (hex), folded 2a36, inverted d5c9.
    assert_eq!(
        written(&segment),
        [0xc0, 0, 0, 80, 0, 0, 0x05, 0xb5, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0xd5, 0xc9, 0, 0]
    );
}

#[test]
fn a_syn_offers_its_options_and_takes_number_zero() {
    let segment = Segment {
        flags: Flags::SYN | Flags::SACK_PERMITTED | Flags::ECE | Flags::CWR,
        mss: 1460,
        window: 70_000,
        timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0 }),
        ..Segment::default()
    };
    let bytes = written(&segment);
    assert_eq!(bytes[4..12], [0; 8]);
    assert_eq!(bytes[12..16], [0xa0, 0xc2, 0xff, 0xff]);
    assert_eq!(bytes[20..], [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 14]);
    let plain = Segment { timestamps: None, ..segment };
    assert_eq!(written(&plain)[20..], [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 14]);
}

#[test]
fn an_acknowledgement_carries_its_blocks() {
    let segment = Segment {
        ack: 1000,
        window: 5 << WINDOW_SHIFT,
        flags: Flags::ACK,
        timestamps: Some(Timestamps { value: 7, echo: 9 }),
        sack: [ByteRange::new(3000, 4000), ByteRange::new((1 << 32) + 1, (1 << 32) + 5)]
            .into_iter()
            .collect(),
        ..Segment::default()
    };
    let bytes = written(&segment);
    assert_eq!(bytes[8..12], 1001u32.to_be_bytes());
    assert_eq!(bytes[14..16], [0, 5]);
    assert_eq!(bytes[20..32], [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
    assert_eq!(bytes[32..36], [1, 1, 5, 18]);
    let edges: Vec<u32> = bytes[36..].chunks(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
    assert_eq!(edges, [3001, 4001, 2, 6]);
}

#[test]
fn every_checksum_verifies() {
    // The sum over pseudo-header, header and payload, checksum included, is all ones (RFC 1071, Section 1).
    for length in [0u32, 1, 1460, 65_000] {
        for flags in [Flags::ACK, Flags::ACK | Flags::FIN, Flags::SYN, Flags::SYN | Flags::ACK] {
            let segment =
                Segment { seq: 0xffff_fff0, ack: 77, length, flags, window: 9999, ..Segment::default() };
            let header = written(&segment);
            let total = header.len() as u32 + length;
            let mut packet = vec![10, 0, 0, 1, 10, 0, 0, 2, 0, 6, (total >> 8) as u8, total as u8];
            packet.extend(&header);
            packet.resize(packet.len() + length as usize + (length % 2) as usize, 0);
            let sum: u64 = packet.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1])).sum();
            assert_eq!((sum >> 16) + (sum & 0xffff), 0xffff, "{segment:?}");
        }
    }
}

#[test]
fn accurate_ecn_has_three_bits_and_an_option() {
    let counters = EcnCounters { ect1: 0x01_0203, ce: 0x04_0506 };
    let segment =
        Segment { ack: 1000, flags: Flags::ACK.with_ace(13), ecn: Some(counters), ..Segment::default() };
    let bytes = written(&segment);
    // 13 modulo 8 is 5: AE and ECE.
    assert_eq!((bytes[12], bytes[13]), (0x71, 0x50));
    assert_eq!(bytes[20..], [174, 8, 1, 2, 3, 4, 5, 6]);
    for count in 0..8 {
        assert_eq!(Flags::ACK.with_ace(7).with_ace(count).ace(), count as u8);
    }
}
