//! Any bytes as what a TUN device hands over: a header of virtio, and a packet or an aggregate of TCP or UDP.
//!
//! The packet's fields are read and its ECN field is written; an aggregate is split into packets, which are
//! joined and split again. Nothing panics, an aggregate becomes a bounded number of packets, these have its
//! data and correct checksums and lengths, and joining them loses nothing.

use whimbrel_emu::offload::{HEADER, Joiner, MOST_JOINED, MOST_SEGMENTS, Offload, split};
use whimbrel_lab::emulation::ip::{IpPacket, set_ecn};
use whimbrel_lab::emulation::{BoxedPacket, EmulatedPacket, HEADROOM};
use whimbrel_units::Ecn;

/// One input: the header of the device, then the packet.
///
/// # Panics
///
/// If the code under test is wrong.
pub fn check(data: &[u8]) {
    let Some((header, packet)) = data.split_first_chunk::<HEADER>() else { return };
    check_fields(packet);
    let offload = Offload::read(header);
    check_completion(packet, offload);
    check_segments(packet, offload);
    check_strangers(packet, offload);
}

/// Fields are within the packet, and do not depend on the ECN field.
fn check_fields(packet: &[u8]) {
    let Some(parsed) = IpPacket::parse(packet) else { return };
    assert!(parsed.data as usize <= packet.len());
    assert_eq!(parsed.flow >> 30, 1);
    for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
        let mut marked = packet.to_vec();
        set_ecn(&mut marked, ecn);
        assert_eq!(IpPacket::parse(&marked), Some(IpPacket { ecn, ..parsed }));
        if packet[0] >> 4 == 4 {
            // A correct checksum stays correct, and a wrong one wrong by as much.
            assert_eq!(residue(&marked[..20]), residue(&packet[..20]));
        }
        let places: Vec<usize> = (0..packet.len()).filter(|at| packet[*at] != marked[*at]).collect();
        assert!(places.iter().all(|at| [1, 10, 11].contains(at)), "{places:?}");
    }
}

/// At most a field of two bytes changes.
fn check_completion(packet: &[u8], offload: Offload) {
    let mut completed = packet.to_vec();
    offload.complete(&mut completed);
    assert_eq!(completed.len(), packet.len());
    let places: Vec<usize> = (0..packet.len()).filter(|at| packet[*at] != completed[*at]).collect();
    assert!(places.last().is_none_or(|last| last - places[0] <= 1), "{places:?}");
}

/// An aggregate becomes correct packets with its data, from which the same aggregate can be made.
fn check_segments(aggregate: &[u8], offload: Offload) {
    let Some(packets) = segments(aggregate, offload) else { return };
    assert!(packets.len() <= MOST_SEGMENTS);
    let size = usize::from(offload.segment_size());
    let start = data_start(aggregate);
    let parsed = IpPacket::parse(aggregate).expect("only a packet is split");
    let (mut data, last) = (Vec::new(), packets.len().saturating_sub(1));
    for (number, packet) in packets.iter().enumerate() {
        let bytes = packet.ip();
        let part = &bytes[start..];
        assert!(part.len() == size || number == last && part.len() <= size && !part.is_empty());
        data.extend_from_slice(part);
        let own = IpPacket::parse(bytes).expect("a segment is a packet");
        assert_eq!(own, IpPacket { data: part.len() as u32, ..parsed });
        assert!(is_sound(bytes), "{bytes:02x?}");
        assert!(is_numbered(bytes, aggregate, number, size), "{number}: {bytes:02x?}");
    }
    assert_eq!(data, aggregate[start..]);
    let again: Vec<BoxedPacket> = join(&packets).into_iter().flatten().collect();
    assert_eq!(again.len(), packets.len());
    for (one, other) in packets.iter().zip(&again) {
        assert_eq!(one.ip(), other.ip());
    }
}

/// Two parts of the bytes as packets that have nothing to do with each other.
fn check_strangers(bytes: &[u8], offload: Offload) {
    let at = usize::from(offload.segment_size()).min(bytes.len());
    let pair = [&bytes[..at], &bytes[at..]].map(|part| {
        let mut packet = Box::new(EmulatedPacket::default());
        packet.fill(part);
        packet
    });
    for runs in join(&pair) {
        assert!(!runs.is_empty());
    }
}

/// The packets of an aggregate; `None` if it cannot be split, and then none was asked for.
fn segments(aggregate: &[u8], offload: Offload) -> Option<Vec<BoxedPacket>> {
    let (mut taken, mut packets) = (0, Vec::new());
    let supply = || {
        taken += 1;
        Box::new(EmulatedPacket::default())
    };
    let is_split = split(aggregate, offload, supply, |packet| packets.push(packet));
    assert_eq!(packets.len(), taken);
    assert!(is_split || packets.is_empty());
    is_split.then_some(packets)
}

/// Joins packets into runs, as a device does, and splits each run again.
fn join(packets: &[BoxedPacket]) -> Vec<Vec<BoxedPacket>> {
    let (mut runs, mut rest) = (Vec::new(), packets);
    while let Some(first) = rest.first() {
        let mut joiner = Joiner::default();
        joiner.start(first.ip());
        let mut count = 1;
        while count < rest.len().min(MOST_JOINED) && joiner.add(first.ip(), rest[count].ip()) {
            count += 1;
        }
        let mut head = first.clone();
        joiner.finish(&mut head, count, joiner.flags(rest[count - 1].ip()));
        let header = head.bytes[HEADROOM - HEADER..].first_chunk::<HEADER>().expect("room for a header");
        let offload = Offload::read(header);
        assert_eq!(offload.is_aggregate(), count > 1);
        let mut joined = head.ip().to_vec();
        for packet in &rest[1..count] {
            joined.extend_from_slice(&packet.ip()[joiner.data_start()..]);
        }
        assert!(count == 1 || joined.len() <= usize::from(u16::MAX));
        runs.push(if count > 1 {
            let again = segments(&joined, offload).expect("what was joined can be split");
            assert_eq!(again.len(), count);
            again
        } else {
            vec![first.clone()]
        });
        rest = &rest[count..];
    }
    runs
}

/// The beginning of the data of a plain packet of TCP or UDP.
fn data_start(packet: &[u8]) -> usize {
    let (protocol, transport) = if packet[0] >> 4 == 4 { (packet[9], 20) } else { (packet[6], 40) };
    transport + if protocol == 6 { usize::from(packet[transport + 12] >> 4) * 4 } else { 8 }
}

/// `true` if segment `number` of an aggregate has the identification of IPv4 and the sequence number of TCP
/// that follow from it.
fn is_numbered(packet: &[u8], aggregate: &[u8], number: usize, size: usize) -> bool {
    let transport = if packet[0] >> 4 == 4 { 20 } else { 40 };
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let long = |bytes: &[u8], at: usize| u32::from(word(bytes, at)) << 16 | u32::from(word(bytes, at + 2));
    let is_identified = transport == 40 || word(packet, 4).wrapping_sub(word(aggregate, 4)) == number as u16;
    let protocol = if transport == 20 { packet[9] } else { packet[6] };
    let distance = || long(packet, transport + 4).wrapping_sub(long(aggregate, transport + 4));
    is_identified && (protocol != 6 || distance() == (number * size) as u32)
}

/// `true` if lengths and checksums of a plain packet of TCP or UDP are correct (RFC 791, 8200, 768 and 9293).
fn is_sound(packet: &[u8]) -> bool {
    let word = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let (protocol, transport, is_header_sound) = if packet[0] >> 4 == 4 {
        (packet[9], 20, word(2) == packet.len() && residue(&packet[..20]) == 0)
    } else {
        (packet[6], 40, word(4) + 40 == packet.len())
    };
    let length = packet.len() - transport;
    let mut summed = if transport == 20 { packet[12..20].to_vec() } else { packet[8..40].to_vec() };
    summed.extend_from_slice(&(length as u32).to_be_bytes());
    summed.extend_from_slice(&[0, 0, 0, protocol]);
    summed.extend_from_slice(&packet[transport..]);
    let is_length_sound = protocol == 6 || word(transport + 4) == length;
    is_header_sound && is_length_sound && residue(&summed) == 0
}

/// The one's complement sum of words, where both of its zeros are 0: 0 if a checksum within is correct.
fn residue(bytes: &[u8]) -> u64 {
    let sum: u64 = bytes
        .chunks(2)
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    sum % 0xffff
}
