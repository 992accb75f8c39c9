use super::*;

const IP: [u8; 3] = [0x45, 0, 0];

fn with(head: &[u8]) -> Vec<u8> {
    [head, &IP].concat()
}

#[test]
fn every_link_type_leads_to_the_ip_packet() {
    let addresses = [0u8; 12];
    let frames: [(u16, Vec<u8>); 14] = [
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
fn what_is_not_ip_is_passed_over() {
    let arp = [&[0; 12][..], &[8, 6, 1, 2]].concat();
    assert_eq!(ip_packet(1, &arp), Ok(None));
    assert_eq!(ip_packet(0, &[7, 0, 0, 0, 1]), Ok(None));
    assert_eq!(ip_packet(105, &[0; 40]), Err(105), "802.11");
    // A tag without anything behind it, and frames cut off before IP begins.
    let tag = [&[0; 12][..], &[0x81, 0, 0]].concat();
    assert_eq!(ip_packet(1, &tag), Ok(None));
    for link_type in [0, 1, 101, 108, 113, 276] {
        assert_eq!(ip_packet(link_type, &[]), Ok(None), "{link_type}");
    }
}
