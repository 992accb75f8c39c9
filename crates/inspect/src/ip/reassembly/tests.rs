use core::net::Ipv4Addr;

use proptest::prelude::*;
use whimbrel_wire::Ecn;

use super::*;
use crate::ip::Fragment;

const HERE: (u32, u64) = (0, 0);

fn fragment(identification: u32, offset: u16, more: bool, payload: &[u8], length: usize) -> IpPacket<'_> {
    IpPacket {
        source: Ipv4Addr::LOCALHOST.into(),
        destination: Ipv4Addr::LOCALHOST.into(),
        ecn: Ecn::NotEct,
        ttl: 64,
        identification: identification as u16,
        protocol: 17,
        payload,
        length,
        offset: 20,
        header_is_good: true,
        addresses_are_final: true,
        fragment: Some(Fragment { identification, offset, more }),
    }
}

#[test]
fn fragments_in_any_order_make_the_datagram() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut reassembly = Reassembly::default();
        let parts = [(0, true, &[1u8; 16][..]), (16, true, &[2; 8]), (24, false, &[3; 5])];
        let mut whole = None;
        for index in order {
            let (offset, more, bytes) = parts[index];
            assert_eq!(whole, None, "{order:?}");
            whole = reassembly.on_fragment(
                1,
                Instant::ZERO,
                HERE,
                &fragment(7, offset, more, bytes, bytes.len()),
            );
        }
        let whole = whole.unwrap();
        assert_eq!(whole.payload, [&[1u8; 16][..], &[2; 8], &[3; 5]].concat());
        assert_eq!((whole.length, whole.offset, reassembly.completed()), (29, 20, 1));
        assert_eq!(reassembly.incomplete(), (0, vec![]));
    }
}

#[test]
fn bytes_that_were_cut_off_stay_unknown() {
    let mut reassembly = Reassembly::default();
    assert_eq!(reassembly.on_fragment(1, Instant::ZERO, HERE, &fragment(7, 0, true, &[1; 10], 16)), None);
    let whole = reassembly.on_fragment(2, Instant::ZERO, HERE, &fragment(7, 16, false, &[3; 4], 4)).unwrap();
    assert_eq!((whole.payload, whole.length), (vec![1; 10], 20));
}

#[test]
fn fragments_of_other_places_and_datagrams_stay_apart() {
    let mut reassembly = Reassembly::default();
    for (identification, place) in [(7, HERE), (8, HERE), (7, (1, 0)), (7, (0, 1))] {
        let first = fragment(identification, 0, true, &[0; 8], 8);
        assert_eq!(reassembly.on_fragment(3, Instant::ZERO, place, &first), None);
    }
    assert_eq!(reassembly.incomplete(), (4, vec![3; 4]));
    // Given up in time.
    let late = fragment(7, 8, false, &[0; 8], 8);
    assert_eq!(reassembly.on_fragment(9, Instant::from_secs(61), HERE, &late), None);
    assert_eq!(reassembly.incomplete(), (5, vec![3, 3, 3, 3, 9]));
}

proptest! {
    #[test]
    fn any_fragments_are_bounded(
        parts in prop::collection::vec((0u32..400, any::<u16>(), any::<bool>(), 0usize..2000), 0..400),
    ) {
        let mut reassembly = Reassembly::default();
        let bytes = [0; 2000];
        for (identification, offset, more, length) in parts {
            let part = fragment(identification, offset & 0xfff8, more, &bytes[..length], length);
            if let Some(whole) = reassembly.on_fragment(1, Instant::ZERO, HERE, &part) {
                prop_assert!(whole.payload.len() <= whole.length);
            }
            prop_assert!(reassembly.waiting.len() <= MAX_DATAGRAMS && reassembly.bytes <= MAX_BYTES);
        }
        prop_assert_eq!(reassembly.bytes, reassembly.waiting.iter().map(Datagram::bytes).sum::<usize>());
    }
}
