use super::*;

/// An aggregate: headers whose checksum field holds the sum of the pseudo-header, as the kernel leaves it,
/// and numbered data.
fn aggregate(is_v6: bool, is_tcp: bool, data: usize, segment_size: usize, flags: u8) -> (Vec<u8>, Offload) {
    let transport_header = if is_tcp { 32 } else { 8 };
    let length = transport_header + data;
    let mut bytes = if is_v6 {
        let mut bytes = vec![0x60, 0x20, 0, 7];
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend([if is_tcp { 6 } else { 17 }, 64]);
        bytes.extend((0..32).map(|byte| byte * 3 + 1));
        bytes
    } else {
        let mut bytes = vec![0x45, 2];
        bytes.extend((20 + length as u16).to_be_bytes());
        bytes.extend([0xff, 0xfe, 0x40, 0, 64, if is_tcp { 6 } else { 17 }, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes
    };
    let transport = bytes.len();
    bytes.extend([0x12, 0x34, 0, 80]);
    if is_tcp {
        bytes.extend([0xff, 0xff, 0xff, 0x00, 1, 2, 3, 4, 0x80, flags, 0x20, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
    } else {
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes.extend((0..data).map(|number| (number * 7 + number / 256) as u8));
    let layout = Layout::of(&bytes).expect("a plain packet");
    let pseudo = layout.set_length(&mut bytes, transport + length);
    let at = transport + layout.checksum_offset();
    bytes[at..at + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
    let kind = match (is_tcp, is_v6) {
        (true, false) => TCP_V4,
        (true, true) => TCP_V6,
        (false, _) => UDP,
    };
    let offload = Offload {
        flags: NEEDS_CHECKSUM,
        kind,
        header_length: layout.data.start as u16,
        segment_size: segment_size as u16,
        checksum_start: transport as u16,
        checksum_offset: layout.checksum_offset() as u16,
    };
    (bytes, offload)
}

fn split_all(bytes: &[u8], offload: Offload) -> Vec<BoxedPacket> {
    let mut packets = Vec::new();
    assert!(split(
        bytes,
        offload,
        || Box::new(EmulatedPacket::with_capacity(1_500)),
        |packet| packets.push(packet)
    ));
    packets
}

/// `true` if the transport's checksum matches the packet.
fn is_sound(packet: &[u8]) -> bool {
    let layout = Layout::of(packet).expect("a plain packet");
    let mut copy = packet.to_vec();
    let pseudo = layout.set_length(&mut copy, packet.len());
    let ip = layout.is_v6 || fold(sum(&packet[..20])) == 0xffff;
    copy == packet && ip && fold(pseudo + sum(&packet[layout.transport..])) == 0xffff
}

const ALL: [(bool, bool); 4] = [(false, true), (true, true), (false, false), (true, false)];

#[test]
fn an_aggregate_becomes_the_packets_of_a_wire() {
    for (is_v6, is_tcp) in ALL {
        let (bytes, offload) = aggregate(is_v6, is_tcp, 3_000, 1_448, ACK | PSH | FIN | CWR);
        let packets = split_all(&bytes, offload);
        let header = Layout::of(&bytes).expect("a plain packet").data.start;
        assert_eq!(
            packets.iter().map(|packet| packet.ip().len() - header).collect::<Vec<_>>(),
            [1_448, 1_448, 104]
        );
        let data: Vec<u8> = packets.iter().flat_map(|packet| packet.ip()[header..].to_vec()).collect();
        assert_eq!(data, bytes[header..]);
        assert!(packets.iter().all(|packet| is_sound(packet.ip())), "{is_v6} {is_tcp}");
        let transport = header - if is_tcp { 32 } else { 8 };
        if is_tcp {
            let sequences: Vec<u32> = packets.iter().map(|packet| be32(packet.ip(), transport + 4)).collect();
            assert_eq!(sequences, [0xffff_ff00, 1_192, 2_640], "it wraps");
            let flags: Vec<u8> = packets.iter().map(|packet| packet.ip()[transport + 13]).collect();
            assert_eq!(flags, [ACK | CWR, ACK, ACK | PSH | FIN]);
        } else {
            let lengths: Vec<u16> = packets.iter().map(|packet| be16(packet.ip(), transport + 4)).collect();
            assert_eq!(lengths, [1_456, 1_456, 112]);
        }
        if !is_v6 {
            let numbers: Vec<u16> = packets.iter().map(|packet| be16(packet.ip(), 4)).collect();
            assert_eq!(numbers, [0xfffe, 0xffff, 0]);
        }
    }
}

#[test]
fn a_checksum_that_was_left_out_is_completed() {
    for (is_v6, is_tcp) in ALL {
        for data in [1, 2, 3, 1_001] {
            let (mut bytes, offload) = aggregate(is_v6, is_tcp, data, 0, ACK);
            assert!(!is_sound(&bytes));
            Offload { kind: 0, ..offload }.complete(&mut bytes);
            assert!(is_sound(&bytes), "{is_v6} {is_tcp} {data}");
        }
    }
}

/// Joins packets as the driver does.
fn join(packets: &[BoxedPacket]) -> Vec<(Offload, Vec<u8>, usize)> {
    let mut joined = Vec::new();
    let mut rest = packets;
    while let Some(first) = rest.first() {
        let mut joiner = Joiner::default();
        joiner.start(first.ip());
        let mut count = 1;
        while count < rest.len() && joiner.add(first.ip(), rest[count].ip()) {
            count += 1;
        }
        let mut head = (**first).clone();
        joiner.finish(&mut head, count, joiner.flags(rest[count - 1].ip()));
        let mut bytes = head.ip().to_vec();
        rest[1..count].iter().for_each(|packet| bytes.extend_from_slice(&packet.ip()[joiner.data_start()..]));
        let header: [u8; HEADER] = head.bytes[HEADROOM - HEADER..HEADROOM].try_into().expect("ten bytes");
        joined.push((Offload::read(&header), bytes, count));
        rest = &rest[count..];
    }
    joined
}

#[test]
fn split_packets_are_joined_to_the_same_aggregate() {
    for (is_v6, is_tcp) in ALL {
        let (bytes, offload) = aggregate(is_v6, is_tcp, 10_000, 1_400, ACK | PSH);
        let joined = join(&split_all(&bytes, offload));
        assert_eq!(joined, [(offload, bytes, 8)], "{is_v6} {is_tcp}");
    }
}

#[test]
fn packets_that_differ_stay_apart() {
    let (bytes, offload) = aggregate(false, true, 4_000, 1_000, ACK);
    let packets = split_all(&bytes, offload);
    // Each change, of the second packet: destination, ECN, TTL, port, sequence number, acknowledgement,
    // window, timestamp, SYN.
    for (at, bit) in [(19, 1), (1, 1), (8, 1), (22, 1), (27, 1), (31, 1), (35, 1), (47, 1), (33, 2)] {
        let mut changed = packets.clone();
        changed[1].ip_mut()[at] ^= bit;
        let counts: Vec<usize> = join(&changed).iter().map(|(.., count)| *count).collect();
        assert_eq!(counts[0], 1, "byte {at}");
    }
    // A shorter packet and one with PSH are the last of a run.
    let mut pushed = packets.clone();
    pushed[1].ip_mut()[33] |= PSH;
    assert_eq!(join(&pushed).iter().map(|(.., count)| *count).collect::<Vec<_>>(), [2, 2]);
    let (short, offload) = aggregate(false, true, 1_500, 1_000, ACK);
    let mut two = split_all(&short, offload);
    two.extend(packets.iter().cloned());
    assert_eq!(join(&two)[0].2, 2);
    // Pure acknowledgements are never joined.
    let (acknowledgement, offload) = aggregate(true, true, 1, 1, ACK);
    let mut packet = split_all(&acknowledgement, offload).remove(0);
    packet.bytes.pop();
    let length = packet.ip().len();
    Layout { is_v6: true, is_tcp: true, transport: 40, data: 72..72 }.set_length(packet.ip_mut(), length);
    let counts: Vec<usize> = join(&[packet.clone(), packet]).iter().map(|(.., count)| *count).collect();
    assert_eq!(counts, [1, 1]);
}

#[test]
fn bytes_that_are_no_plain_packet_are_neither_split_nor_joined() {
    let (bytes, offload) = aggregate(false, true, 100, 10, ACK);
    for length in 0..bytes.len() {
        let mut joiner = Joiner::default();
        joiner.start(&bytes[..length]);
        assert!(!joiner.add(&bytes[..length], &bytes));
        assert!(!split(&bytes[..length], offload, Box::default, |_| ()));
    }
    assert!(!split(&bytes, Offload { segment_size: 0, ..offload }, Box::default, |_| ()));
    Offload { checksum_start: 60_000, checksum_offset: 5_535, ..offload }.complete(&mut bytes.clone());
}

#[test]
fn an_aggregate_of_too_many_segments_is_not_split() {
    let (bytes, offload) = aggregate(false, false, MOST_SEGMENTS + 1, 1, 0);
    assert!(!split(&bytes, offload, || unreachable!("no packet is needed"), |_| ()));
    assert_eq!(split_all(&bytes, Offload { segment_size: 2, ..offload }).len(), MOST_SEGMENTS / 2 + 1);
}

/// A data offset below five words, in a packet that ends before TCP's flags or checksum.
#[test]
fn a_tcp_header_that_is_too_short_is_neither_split_nor_joined() {
    for (is_v6, words) in [(false, 2), (false, 3), (false, 4), (true, 2), (true, 3), (true, 4)] {
        let (mut bytes, offload) = aggregate(is_v6, true, 100, 4, ACK);
        let transport = if is_v6 { 40 } else { 20 };
        bytes[transport + 12] = words << 4;
        bytes.truncate(transport + 13);
        let length = if is_v6 { 13 } else { bytes.len() as u16 };
        let at = if is_v6 { 4 } else { 2 };
        bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
        assert!(!split(&bytes, offload, || unreachable!("no packet is needed"), |_| ()));
        let mut joiner = Joiner::default();
        joiner.start(&bytes);
        assert!(!joiner.add(&bytes, &bytes));
    }
}
