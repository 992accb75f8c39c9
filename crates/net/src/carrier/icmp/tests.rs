use std::net::IpAddr;

use whimbrel_wire::checksum::internet_checksum;
use whimbrel_wire::{Ecn, SeqNo};

use super::super::ip;
use super::{ICMPV4, ICMPV6, PathError, Quoted, fits, parse};

const HERE: [&str; 2] = ["192.0.2.1", "2001:db8::1"];
const THERE: [&str; 2] = ["198.51.100.7", "2001:db8::2"];

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The beginning of a DataAck from port 1 to port 2, number 3.
fn dccp() -> Vec<u8> {
    let mut packet = vec![0, 1, 0, 2, 6, 0, 0xab, 0xcd, 4 << 1 | 1, 0, 0, 0, 0, 0, 0, 3];
    packet.extend([0; 8]);
    packet
}

/// An ICMP message with `word` as its second word, about a packet whose first `quoted` bytes it quotes.
fn message(v6: usize, kind: u8, code: u8, word: u32, quoted: usize) -> Vec<u8> {
    let mut about = Vec::new();
    assert!(ip::write(address(HERE[v6]), address(THERE[v6]), 33, Ecn::Ect0.bits(), 1000, &mut about));
    about.extend(dccp());
    let header = about.len() - dccp().len();
    let mut out = vec![kind, code, 0, 0];
    out.extend(word.to_be_bytes());
    out.extend(&about[..header + quoted]);
    let checksum = internet_checksum(&out);
    out[2..4].copy_from_slice(&checksum.to_be_bytes());
    out
}

fn read(v6: usize, message: &[u8]) -> Option<(IpAddr, Quoted, PathError)> {
    let protocol = [ICMPV4, ICMPV6][v6];
    parse(protocol, message, address(HERE[v6])).map(|m| (m.destination, m.quoted, m.path_error))
}

#[test]
fn unreachable_is_reported_with_the_packet_quoted() {
    let quoted = Quoted { source_port: 1, destination_port: 2, sequence: Some(SeqNo::new(3)) };
    // Net, host, protocol, port; over IPv6 no route, address, port, unknown next header.
    for (v6, kind, code) in [(0, 3, 0), (0, 3, 1), (0, 3, 2), (0, 3, 3), (1, 1, 0), (1, 1, 4), (1, 4, 1)] {
        let parsed = read(v6, &message(v6, kind, code, 0, 24));
        assert_eq!(parsed, Some((address(THERE[v6]), quoted, PathError::Unreachable)), "{kind}/{code}");
    }
}

#[test]
fn too_large_has_the_size_that_fits() {
    for (v6, mtu, expected) in [
        (0, 1400, Some(1400 - 20 - 52)),
        // RFC 1191, Section 5: old routers give no MTU.
        (0, 0, None),
        (1, 1400, Some(1400 - 40 - 52)),
        (1, 1279, None),
    ] {
        let (kind, code) = if v6 == 0 { (3, 4) } else { (2, 0) };
        let parsed = read(v6, &message(v6, kind, code, mtu, 24)).expect("a message");
        assert_eq!(parsed.2, PathError::TooLarge(expected));
    }
    assert_eq!(fits(true, 575), None);
}

#[test]
fn eight_bytes_hold_the_ports_and_no_sequence_number() {
    for quoted in [8, 15] {
        let parsed = read(0, &message(0, 3, 2, 0, quoted)).expect("a message");
        assert_eq!(parsed.1, Quoted { source_port: 1, destination_port: 2, sequence: None });
    }
    assert_eq!(read(0, &message(0, 3, 2, 0, 7)), None);
}

#[test]
fn messages_about_other_hosts_packets_are_ignored() {
    let whole = message(0, 3, 2, 0, 24);
    // Another host's packet, another protocol's, an echo, a wrong checksum.
    assert_eq!(parse(ICMPV4, &whole, address("192.0.2.9")), None);
    assert_eq!(read(0, &message(0, 0, 0, 0, 24)), None);
    let mut udp = whole.clone();
    udp[8 + 9] = 17;
    udp[2..4].fill(0);
    let checksum = internet_checksum(&udp);
    udp[2..4].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(read(0, &udp), None);
    for bit in 0..8 * whole.len() {
        let mut broken = whole.clone();
        broken[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(read(0, &broken), None, "bit {bit}");
    }
}

#[test]
fn no_bytes_make_it_panic() {
    for v6 in [0, 1] {
        let whole = message(v6, 1 + 2 * u8::from(v6 == 0), 2, 0, 24);
        for length in 0..whole.len() {
            for at in 0..length {
                let mut broken = whole[..length].to_vec();
                broken[at] ^= 0xff;
                let _ = read(v6, &broken);
            }
        }
    }
}
