use super::*;

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
        assert_eq!(ip_packet(link_type, &frame), Ok(Some(&IP[..])), "{link_type}: {frame:?}");
        assert_ne!(link_name(link_type), "unknown");
    }
}

#[test]
fn frames_without_ip_are_skipped() {
    let arp = [&[0; 12][..], &[8, 6, 1, 2]].concat();
    assert_eq!(ip_packet(1, &arp), Ok(None));
    assert_eq!(ip_packet(0, &[7, 0, 0, 0, 1]), Ok(None));
    assert_eq!(ip_packet(147, &[0; 40]), Err(147), "reserved for private use");
    // PPP's own link control, and PPPoE's discovery.
    assert_eq!(ip_packet(9, &[0xff, 3, 0xc0, 0x21, 1, 2]), Ok(None));
    assert_eq!(ip_packet(51, &[0x11, 9, 0, 0, 0, 4, 0, 0x21, 0x45]), Ok(None));
    // A tag at the end of the frame, and frames truncated before IP begins.
    let tag = [&[0; 12][..], &[0x81, 0, 0]].concat();
    assert_eq!(ip_packet(1, &tag), Ok(None));
    for link_type in [0, 1, 9, 50, 51, 101, 104, 108, 113, 166, 204, 276] {
        assert_eq!(ip_packet(link_type, &[]), Ok(None), "{link_type}");
    }
}

/// Encrypted, fragmented, of another type, behind another LLC header, marked as damaged, and cut off.
#[test]
fn other_802_11_frames_have_no_packet() {
    let frame = |kind: u8, flags: u8, fragment: u8, llc: u8| {
        let mut frame = vec![0; 24];
        (frame[0], frame[1], frame[22]) = (kind, flags, fragment);
        frame.extend([llc, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0]);
        frame
    };
    assert_eq!(ip_packet(105, &frame(0x08, 0, 0, 0xaa)), Ok(Some(&IP[..])));
    for (kind, flags, fragment, llc) in
        [(0x08, 0x40, 0, 0xaa), (0x08, 0, 1, 0xaa), (0x80, 0, 0, 0xaa), (0x08, 0, 0, 0x42)]
    {
        assert_eq!(ip_packet(105, &frame(kind, flags, fragment, llc)), Ok(None));
    }
    let damaged = [&[0, 0, 9, 0, 2, 0, 0, 0, 0x40][..], &frame(0x08, 0, 0, 0xaa)].concat();
    assert_eq!(ip_packet(127, &damaged), Ok(None));
    for length in 0..damaged.len() {
        let _ = ip_packet(127, &damaged[..length]);
    }
}
