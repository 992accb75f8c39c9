use super::*;

/// An IPv4 header for a payload of `length` bytes, with its checksum.
fn v4(length: usize, flags: u16) -> Vec<u8> {
    let mut header = vec![0x45, 0x02, 0, 0, 0xab, 0xcd, 0, 0, 64, 33, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    header[2..4].copy_from_slice(&(20 + length as u16).to_be_bytes());
    header[6..8].copy_from_slice(&flags.to_be_bytes());
    let checksum = internet_checksum(&header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// An IPv6 header for a payload of `length` bytes of `next`.
fn v6(length: usize, next: u8) -> Vec<u8> {
    let mut header = vec![0x60, 0x30, 0, 0, 0, 0, next, 64];
    header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    header
}

#[test]
fn ipv4() {
    // Ethernet pads short frames: the padding is not part of the packet.
    let bytes = [&v4(4, 0)[..], b"data", &[0; 22]].concat();
    let packet = decode(&bytes).unwrap();
    assert_eq!(packet.source, IpAddr::from([192, 0, 2, 1]));
    assert_eq!(packet.destination, IpAddr::from([192, 0, 2, 2]));
    assert_eq!((packet.ecn, packet.protocol, packet.payload), (Ecn::Ect0, 33, &b"data"[..]));
    assert_eq!((packet.length, packet.offset, packet.fragment), (4, 20, None));
    assert!(packet.header_is_good && packet.addresses_are_final);
    let mut wrong = bytes.clone();
    wrong[8] = 1;
    assert!(!decode(&wrong).unwrap().header_is_good);
    // Truncated by the capture.
    let cut = decode(&bytes[..22]).unwrap();
    assert_eq!((cut.payload, cut.length), (&b"da"[..], 4));
}

#[test]
fn ipv4_fragments_are_identified() {
    let first = [&v4(8, 0x2000)[..], &[0; 8]].concat();
    let fragment = Fragment { identification: 0xabcd, offset: 0, more: true };
    assert_eq!(decode(&first).unwrap().fragment, Some(fragment));
    let last = [&v4(8, 3)[..], &[0; 8]].concat();
    assert_eq!(decode(&last).unwrap().fragment, Some(Fragment { offset: 24, more: false, ..fragment }));
    // Don't Fragment does not make a fragment.
    assert_eq!(decode(&[&v4(1, 0x4000)[..], &[0]].concat()).unwrap().fragment, None);
}

#[test]
fn ipv6_with_extension_headers() {
    let plain = [&v6(4, 33)[..], b"data"].concat();
    let packet = decode(&plain).unwrap();
    assert_eq!((packet.ecn, packet.protocol, packet.payload), (Ecn::Ce, 33, &b"data"[..]));
    assert_eq!(packet.destination, "2001:db8::2".parse::<IpAddr>().unwrap());
    // Hop-by-hop options, destination options of 16 bytes, an atomic fragment, then DCCP.
    let hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let options = [44, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let atomic = [33, 0, 0, 0, 1, 2, 3, 4];
    let chain = [&v6(36, 0)[..], &hop, &options, &atomic, b"data"].concat();
    let packet = decode(&chain).unwrap();
    assert_eq!((packet.protocol, packet.payload, packet.length), (33, &b"data"[..], 4));
    assert_eq!((packet.offset, packet.fragment), (40 + 32, None));
    // In transit with a routing header, the addresses are not the checksum's.
    let routing = [33, 0, 4, 1, 0, 0, 0, 0];
    let packet =
        decode(&[&v6(12, 43)[..], &routing, b"data"].concat()).map(|packet| packet.addresses_are_final);
    assert_eq!(packet, Ok(false));
    // The second fragment of a datagram does not begin with a header.
    let second = [60, 0, 0, 0x11, 0, 0, 0, 9];
    let bytes = [&v6(12, 44)[..], &second, &[0xff; 4]].concat();
    let fragment = decode(&bytes).unwrap().fragment;
    assert_eq!(fragment, Some(Fragment { identification: 9, offset: 16, more: true }));
}

#[test]
fn invalid_ip_packets_are_reported_with_the_offset() {
    let error = |bytes: &[u8]| decode(bytes).unwrap_err();
    assert_eq!(error(&[]), IpError { offset: 0, reason: "expected IP version 4 or 6" });
    assert_eq!(error(&[0x75; 40]).reason, "expected IP version 4 or 6");
    assert_eq!(error(&[0x45; 19]), IpError { offset: 19, reason: "expected an IPv4 header of 20 bytes" });
    assert_eq!(error(&[0x44; 20]).reason, "expected an IPv4 header length of 20 bytes or more");
    assert_eq!(error(&[0x4f; 20]).offset, 20);
    let mut short = v4(0, 0);
    short[3] = 19;
    assert_eq!(error(&short).offset, 2);
    assert_eq!(error(&v6(0, 33)[..39]).offset, 39);
    let options = [&v6(8, 60)[..], &[33, 9, 0, 0, 0, 0, 0, 0]].concat();
    assert_eq!(error(&options).reason, "expected the rest of an IPv6 extension header");
}
