use super::*;

/// The IP packets of a frame.
fn ip_packets(link_type: u16, frame: &[u8]) -> Result<Vec<&[u8]>, NoPacket> {
    Frame::parse(link_type, frame).map(Iterator::collect)
}

const IP: [u8; 3] = [0x45, 0, 0];

fn with(head: &[u8]) -> Vec<u8> {
    [head, &IP].concat()
}

#[test]
fn the_ip_packet_is_found_for_every_link_type() {
    let addresses = [0u8; 12];
    // A data frame to the distribution system with 24 bytes of header, and one with quality of service.
    let data = |kind: &[u8], header: usize| {
        [kind, &vec![0; header - kind.len()], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()
    };
    let radiotap = [0, 0, 8, 0, 0, 0, 0, 0];
    let frames: [(u16, Vec<u8>); 33] = [
        (105, with(&data(&[0x08, 0x01], 24))),
        (105, with(&data(&[0x88, 0x02], 26))),
        (127, with(&[&radiotap[..], &data(&[0x08, 0x01], 24)].concat())),
        (1, with(&[&addresses[..], &[8, 0]].concat())),
        (1, with(&[&addresses[..], &[0x86, 0xdd]].concat())),
        // One VLAN tag, and two.
        (1, with(&[&addresses[..], &[0x81, 0, 0, 7, 8, 0]].concat())),
        (1, with(&[&addresses[..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 0x86, 0xdd]].concat())),
        // Linux cooked: the protocol is at the end of the first version and at the start of the second.
        (113, with(&[&[0; 14][..], &[8, 0]].concat())),
        (113, with(&[&[0; 14][..], &[0x81, 0, 0, 1, 0x86, 0xdd]].concat())),
        (276, with(&[&[0x86, 0xdd][..], &[0; 18]].concat())),
        // Null: an address family in the order of the machine, with the numbers of several systems.
        (0, with(&[2, 0, 0, 0])),
        (0, with(&[0, 0, 0, 2])),
        (0, with(&[30, 0, 0, 0])),
        (108, with(&[0, 0, 0, 24])),
        (0, with(&[23, 0, 0, 0])),
        // Three VLAN tags, one of them of an old type.
        (1, with(&[&addresses[..], &[0x92, 0, 0, 7, 0x91, 0, 0, 8, 0x81, 0, 0, 9, 8, 0]].concat())),
        // PPP with and without HDLC's address, with a protocol number of two bytes or of one.
        (9, with(&[0xff, 3, 0, 0x21])),
        (9, with(&[0, 0x57])),
        (9, with(&[0x21])),
        (50, with(&[0xff, 3, 0, 0x57])),
        (50, with(&[0xff, 3, 0x21])),
        // Cisco's HDLC, unicast and broadcast.
        (50, with(&[0x0f, 0, 8, 0])),
        (104, with(&[0x8f, 0, 0x86, 0xdd])),
        // pppd: the direction instead of the address.
        (166, with(&[1, 3, 0, 0x21])),
        (166, with(&[0, 0x57])),
        (204, with(&[1, 0xff, 3, 0, 0x21])),
        (204, with(&[0, 0x21])),
        // PPPoE: alone, on Ethernet, and after a VLAN tag.
        (51, with(&[0x11, 0, 0, 9, 0, 5, 0, 0x21])),
        (1, with(&[&addresses[..], &[0x88, 0x64, 0x11, 0, 0, 9, 0, 5, 0, 0x57]].concat())),
        (113, with(&[&[0; 14][..], &[0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 9, 0, 5, 0, 0x21]].concat())),
        (101, with(&[])),
        (228, with(&[])),
        (229, with(&[])),
    ];
    for (link_type, frame) in frames {
        assert_eq!(ip_packets(link_type, &frame), Ok(vec![&IP[..]]), "{link_type}: {frame:?}");
        assert_ne!(link_name(link_type), "unknown");
    }
}

#[test]
fn frames_without_ip_say_why() {
    let arp = [&[0; 12][..], &[8, 6, 1, 2]].concat();
    assert_eq!(ip_packets(1, &arp), Err(NoPacket::NotIp));
    assert_eq!(ip_packets(0, &[7, 0, 0, 0, 1]), Err(NoPacket::NotIp));
    assert_eq!(ip_packets(147, &[0; 40]), Err(NoPacket::UnknownLink(147)), "reserved for private use");
    // PPP's own link control, and PPPoE's discovery.
    assert_eq!(ip_packets(9, &[0xff, 3, 0xc0, 0x21, 1, 2]), Err(NoPacket::NotIp));
    assert_eq!(ip_packets(51, &[0x11, 9, 0, 0, 0, 4, 0, 0x21, 0x45]), Err(NoPacket::NotIp));
    // A tag at the end of the frame, and frames truncated before IP begins.
    let tag = [&[0; 12][..], &[0x81, 0, 0]].concat();
    assert_eq!(ip_packets(1, &tag), Err(NoPacket::Cut));
    for link_type in [0, 1, 9, 50, 51, 101, 104, 105, 108, 113, 119, 127, 163, 166, 192, 204, 276] {
        assert_eq!(ip_packets(link_type, &[]), Err(NoPacket::Cut), "{link_type}");
    }
}

/// Encrypted, fragmented, of another type, behind another LLC header, marked as damaged, and cut off.
#[test]
fn other_802_11_frames_say_why_they_have_no_packet() {
    let frame = |kind: u8, flags: u8, fragment: u8, llc: u8| {
        let mut frame = vec![0; 24];
        (frame[0], frame[1], frame[22]) = (kind, flags, fragment);
        frame.extend([llc, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0]);
        frame
    };
    assert_eq!(ip_packets(105, &frame(0x08, 0, 0, 0xaa)), Ok(vec![&IP[..]]));
    for (kind, flags, fragment, llc, reason) in [
        (0x08, 0x40, 0, 0xaa, NoPacket::Encrypted),
        (0x08, 0, 1, 0xaa, NoPacket::Fragment),
        (0x08, 0x04, 0, 0xaa, NoPacket::Fragment),
        (0x80, 0, 0, 0xaa, NoPacket::NotIp),
        (0x48, 0, 0, 0xaa, NoPacket::NotIp),
        (0x08, 0, 0, 0x42, NoPacket::NotIp),
    ] {
        assert_eq!(ip_packets(105, &frame(kind, flags, fragment, llc)), Err(reason));
    }
    let damaged = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x40][..], &frame(0x08, 0, 0, 0xaa)].concat();
    assert_eq!(ip_packets(127, &damaged), Err(NoPacket::Damaged));
    for length in 0..damaged.len() {
        let _ = ip_packets(127, &damaged[..length]);
    }
}

/// A QoS data frame with these flags, QoS control and body.
fn qos(flags: u8, control: u16, between: &[u8], body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 24];
    (frame[0], frame[1]) = (0x88, flags);
    if flags & 3 == 3 {
        frame.extend([0; 6]);
    }
    frame.extend(control.to_le_bytes());
    [&frame, between, body].concat()
}

const LLC: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

#[test]
fn bodies_of_802_11_are_found_behind_what_is_before_them() {
    let ip = [&LLC[..], &IP].concat();
    // HT Control; padding to 28 bytes; both.
    assert_eq!(ip_packets(105, &qos(0x80, 0, &[0; 4], &ip)), Ok(vec![&IP[..]]));
    let padded = [0, 0, 9, 0, 2, 0, 0, 0, 0x20];
    assert_eq!(ip_packets(127, &[&padded[..], &qos(0, 0, &[0; 2], &ip)].concat()), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(127, &[&padded[..], &qos(0x80, 0, &[0; 6], &ip)].concat()), Ok(vec![&IP[..]]));
    // Mesh Control without and with addresses. Outside meshes the bit has another meaning.
    assert_eq!(ip_packets(105, &qos(3, 0x100, &[0, 31, 1, 0, 0, 0], &ip)), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(105, &qos(3, 0x100, &[&[2, 31][..], &[0; 16]].concat(), &ip)), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(105, &qos(2, 0x100, &[], &ip)), Ok(vec![&IP[..]]));
}

#[test]
fn an_aggregate_has_several_packets() {
    let subframe = |kind: u8, payload: &[u8]| {
        let mut subframe = vec![0; 12];
        subframe.extend((8 + payload.len() as u16).to_be_bytes());
        subframe.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, kind]);
        subframe.extend(payload);
        subframe
    };
    // Padding to a multiple of four behind the first, another protocol between, a frame check sequence at the
    // end.
    let body =
        [&subframe(0, &[0x45, 1, 1])[..], &[0; 3], &subframe(6, &[1, 2]), &subframe(0, &[0x45, 2]), &[9; 4]];
    let frame = qos(2, 0x80, &[], &body.concat());
    assert_eq!(ip_packets(105, &frame), Ok(vec![&[0x45, 1, 1][..], &[0x45, 2]]));
    for length in 0..frame.len() {
        let packets = ip_packets(105, &frame[..length]).unwrap_or_default();
        assert!(packets.len() <= 2, "{length}: {packets:?}");
    }
}

#[test]
fn headers_before_802_11_frames_are_passed() {
    let frame = qos(0, 0, &[], &[&LLC[..], &IP].concat());
    // Prism in either byte order, AVS, PPI with the 802.11 field, and PPI that says that the frame is
    // damaged.
    let prism = |length: [u8; 4]| [&[0x44, 0, 0, 0][..], &length, &[0; 136], &frame].concat();
    assert_eq!(ip_packets(119, &prism([144, 0, 0, 0])), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(119, &prism([0, 0, 0, 144])), Ok(vec![&IP[..]]));
    let avs = [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &frame].concat();
    assert_eq!(ip_packets(163, &avs), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(119, &avs), Ok(vec![&IP[..]]));
    let ppi = |flags: u8| {
        let field = [&[2, 0, 20, 0][..], &[0; 8], &[flags, 0], &[0; 10]].concat();
        [&[0, 0, 32, 0, 105, 0, 0, 0][..], &field, &frame].concat()
    };
    assert_eq!(ip_packets(192, &ppi(1)), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(192, &ppi(5)), Err(NoPacket::Damaged));
    let within = [&[0, 0, 8, 0, 192, 0, 0, 0][..], &ppi(1)].concat();
    assert_eq!(ip_packets(192, &within), Err(NoPacket::NotIp), "no header within a header");
}

#[test]
fn packets_behind_mpls_labels_and_snap_are_found() {
    let ethernet = |rest: &[u8]| [&[0; 12][..], rest].concat();
    let labels = [0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64, 0x45, 0, 0];
    assert_eq!(ip_packets(1, &ethernet(&labels)), Ok(vec![&IP[..]]));
    assert_eq!(ip_packets(1, &ethernet(&[&[0, 11][..], &LLC, &IP].concat())), Ok(vec![&IP[..]]));
}

/// A packet that is forwarded has another place: other addresses, another interface, another direction.
#[test]
fn places_of_a_frame_differ() {
    let place = |link_type: u16, frame: &[u8]| Frame::parse(link_type, frame).unwrap().place;
    let ethernet = |last: u8| with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last, 8, 0]);
    let cooked = |index: u8, direction: u8| {
        with(&[8, 0, 0, 0, 0, 0, 0, index, 0, 1, direction, 6, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    assert_eq!(place(1, &ethernet(1)), place(1, &ethernet(1)));
    assert_ne!(place(1, &ethernet(1)), place(1, &ethernet(2)));
    assert_ne!(place(276, &cooked(2, 0)), place(276, &cooked(3, 0)));
    assert_ne!(place(276, &cooked(2, 0)), place(276, &cooked(2, 4)));
    let repeated = qos(8, 0, &[], &[&LLC[..], &IP].concat());
    assert!(Frame::parse(105, &repeated).unwrap().is_retry);
}
