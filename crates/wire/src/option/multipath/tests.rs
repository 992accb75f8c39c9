use core::net::{Ipv4Addr, Ipv6Addr};
use std::{vec, vec::Vec};

use proptest::prelude::*;
use smallvec::smallvec;

use super::*;
use crate::arbitrary;
use crate::option::{decode_options, encode_option};

fn bytes(option: &MultipathOption) -> Vec<u8> {
    let mut out = Vec::new();
    encode_option(&option.clone().into(), &mut out);
    out
}

/// Decodes one option from its bytes.
fn decode(wire: &[u8]) -> DccpOption {
    let mut area = wire.to_vec();
    area.resize(area.len().next_multiple_of(4), 0);
    let mut options = decode_options(&area);
    assert_eq!(options.len(), 1, "{options:?}");
    options.remove(0)
}

#[track_caller]
fn assert_is(option: MultipathOption, wire: &[u8]) {
    assert_eq!(bytes(&option), wire);
    assert_eq!(MultipathOption::parse(&decode(wire)), Some(option));
}

fn key(key_type: KeyType, byte: u8) -> Key {
    Key { key_type, data: OptionBytes::from_elem(byte, key_type.len()) }
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));

fn add(nonce: Option<u32>, address: IpAddr, port: Option<u16>) -> MultipathOption {
    MultipathOption::AddAddress(AddAddress { address_id: 2, nonce, address, port })
}

#[test]
fn options_of_a_fixed_length_have_the_bytes_of_the_figures() {
    let join = Join { address_id: 2, connection: 0x0102_0304, nonce: 0x0123_4567 };
    assert_is(MultipathOption::Join(join), &[46, 12, 1, 2, 1, 2, 3, 4, 0x01, 0x23, 0x45, 0x67]);
    assert_is(MultipathOption::Sequence(SeqNo::new(0x0a0b_0c0d_0e0f)), &[46, 9, 4, 10, 11, 12, 13, 14, 15]);
    let mut hmac = vec![46, 23, 5];
    hmac.extend([7; 20]);
    assert_is(MultipathOption::Hmac([7; 20]), &hmac);
    let rtt = RttReport { kind: RttKind::Smoothed, rtt_millis: 258, age_millis: 3 };
    assert_is(MultipathOption::Rtt(rtt), &[46, 12, 6, 3, 0, 0, 1, 2, 0, 0, 0, 3]);
    assert_is(MultipathOption::Priority(PathPriority::new(15)), &[46, 4, 9, 15]);
    let remove = |nonce| MultipathOption::RemoveAddress(RemoveAddress { address_id: 2, nonce });
    assert_is(remove(Some(0x0a0b_0c0d)), &[46, 8, 8, 2, 10, 11, 12, 13]);
    assert_is(remove(None), &[46, 4, 8, 2]);
}

#[test]
fn the_length_of_an_address_option_tells_its_family_port_and_nonce() {
    let nonce = Some(0x0a0b_0c0d);
    assert_is(add(nonce, V4, None), &[46, 12, 7, 2, 10, 11, 12, 13, 198, 51, 100, 7]);
    assert_is(add(nonce, V4, Some(5009)), &[46, 14, 7, 2, 10, 11, 12, 13, 198, 51, 100, 7, 0x13, 0x91]);
    let v6: IpAddr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7).into();
    let octets = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    let wire = |head: &[u8], tail: &[u8]| [head, &octets, tail].concat();
    assert_is(add(nonce, v6, None), &wire(&[46, 24, 7, 2, 10, 11, 12, 13], &[]));
    assert_is(add(nonce, v6, Some(5009)), &wire(&[46, 26, 7, 2, 10, 11, 12, 13], &[0x13, 0x91]));
    // The drafts' form.
    assert_is(add(None, V4, None), &[46, 8, 7, 2, 198, 51, 100, 7]);
    assert_is(add(None, V4, Some(5009)), &[46, 10, 7, 2, 198, 51, 100, 7, 0x13, 0x91]);
    assert_is(add(None, v6, None), &wire(&[46, 20, 7, 2], &[]));
    assert_is(add(None, v6, Some(5009)), &wire(&[46, 22, 7, 2], &[0x13, 0x91]));
}

#[test]
fn keys_follow_the_reserved_byte_and_the_connection_identifier() {
    let option = |keys| {
        MultipathOption::Key(MultipathKey { connection: 0x0102_0304, keys, unread: OptionBytes::new() })
    };
    let plain = || key(KeyType::PlainText, 0x11);
    let mut wire = vec![46, 17, 3, 0, 1, 2, 3, 4, 0];
    wire.extend([0x11; 8]);
    assert_is(option(smallvec![plain()]), &wire);
    let experimental = || key(KeyType::Experimental, 0x22);
    assert_eq!(bytes(&option(smallvec![experimental()])).len(), 73);
    wire[1] = 82;
    wire.push(255);
    wire.extend([0x22; 64]);
    assert_is(option(smallvec![plain(), experimental()]), &wire);

    // The reserved byte is ignored, and a key of an unassigned type ends the list that can be read.
    wire[3] = 0xff;
    wire.truncate(17);
    wire.extend([99, 1, 2, 3]);
    wire[1] = 21;
    let Some(MultipathOption::Key(read)) = MultipathOption::parse(&decode(&wire)) else { panic!("no key") };
    assert_eq!(read.of_type(KeyType::PlainText), Some(&plain()));
    assert_eq!((read.of_type(KeyType::Experimental), &read.unread[..]), (None, &[99, 1, 2, 3][..]));
}

#[test]
fn a_key_is_not_printed() {
    let text = std::format!("{:?}", key(KeyType::PlainText, 0x5a));
    assert!(!text.contains("90") && !text.contains("5a"), "{text}");
}

#[test]
fn confirmations_list_the_newest_number_with_its_options_first() {
    let priority = DccpOption::from(MultipathOption::Priority(PathPriority::STANDBY));
    let address = DccpOption::from(add(Some(5), V4, None));
    let mut list = Confirmations::new();
    assert!(list.is_empty());
    assert!(list.push(SeqNo::new(9), &priority));
    assert!(list.push(SeqNo::new(9), &address));
    assert!(list.push(SeqNo::new(8), &priority));
    assert!(!list.push(SeqNo::new(7), &DccpOption::Padding));
    assert!(!list.push(SeqNo::new(7), &MultipathOption::Sequence(SeqNo::ZERO).into()));
    assert_eq!(
        bytes(&MultipathOption::Confirm(list.clone())),
        [
            &[46, 41, 0][..],
            &[46, 9, 4, 0, 0, 0, 0, 0, 9, 46, 4, 9, 1, 46, 12, 7, 2, 0, 0, 0, 5, 198, 51, 100, 7],
            &[46, 9, 4, 0, 0, 0, 0, 0, 8, 46, 4, 9, 1],
        ]
        .concat()
    );
    let read: Vec<_> = list.iter().map(|(sequence, option)| (sequence.value(), option)).collect();
    assert_eq!(read, [(9, priority.clone()), (9, address), (8, priority)]);
}

#[test]
fn confirmations_are_copied_with_their_reserved_bits() {
    let received = decode(&[46, 4, 9, 0xf1]);
    let mut list = Confirmations::new();
    list.push(SeqNo::new(1), &received);
    assert_eq!(list.iter().next(), Some((SeqNo::new(1), received)));
}

#[test]
fn a_list_of_confirmations_ends_where_the_option_does() {
    let address = DccpOption::from(add(Some(5), V4, None));
    let mut list = Confirmations::new();
    let pushed = (0..64).take_while(|number| list.push(SeqNo::new(*number), &address)).count();
    // 252 bytes hold twelve groups of 21.
    assert_eq!(pushed, 12);
    let option = MultipathOption::Confirm(list);
    assert_eq!(bytes(&option).len(), 255);
    assert_eq!(MultipathOption::parse(&decode(&bytes(&option))), Some(option));
}

#[test]
fn invalid_options_are_unknown() {
    let is_unknown = |data: &[u8]| {
        let mut wire = vec![46, 2 + data.len() as u8];
        wire.extend(data);
        let option = decode(&wire);
        let is_unknown = matches!(&option, DccpOption::Unknown { kind: 46, .. });
        let mut again = Vec::new();
        encode_option(&option, &mut again);
        assert_eq!(again, wire);
        is_unknown
    };
    assert!(is_unknown(&[]));
    // Lengths of the body, per MP_OPT.
    let right: [(u8, &[usize]); 6] = [
        (JOIN, &[9]),
        (SEQ, &[6]),
        (HMAC, &[20]),
        (RTT, &[9]),
        (REMOVE_ADDRESS, &[1, 5]),
        (ADD_ADDRESS, &[5, 7, 9, 11, 17, 19, 21, 23]),
    ];
    for (mp_opt, lengths) in right {
        for length in 0..64 {
            let mut data = vec![1; 1 + length];
            data[0] = mp_opt;
            assert_eq!(is_unknown(&data), !lengths.contains(&length), "MP_OPT {mp_opt}, {length} bytes");
        }
    }
    assert!(is_unknown(&[PRIORITY]) && is_unknown(&[PRIORITY, 1, 1]));
    assert!(is_unknown(&[CLOSE]) && is_unknown(&[FAST_CLOSE]));
    for unassigned in 12..=255 {
        assert!(is_unknown(&[unassigned, 1, 2, 3]));
    }
    // A key that is cut off, and no key.
    assert!(is_unknown(&[KEY, 0, 1, 2, 3, 4, 0, 1, 2, 3]) && is_unknown(&[KEY, 0, 1, 2, 3, 4]));
    // A list without a number, with another option, with a list in it, cut off, and empty.
    assert!(is_unknown(&[CONFIRM, 46, 4, 9, 1]));
    let numbered = |rest: &[u8]| is_unknown(&[&[CONFIRM, 46, 9, 4, 0, 0, 0, 0, 0, 1], rest].concat());
    assert!(!numbered(&[46, 4, 9, 1]));
    assert!(numbered(&[44, 6, 1, 1, 1, 1]));
    assert!(numbered(&[46, 12, 0, 46, 9, 4, 0, 0, 0, 0, 0, 1]));
    assert!(numbered(&[46, 4, 9]) && numbered(&[46]) && numbered(&[46, 1]));
    assert!(is_unknown(&[CONFIRM]));
}

proptest! {
    #[test]
    fn options_are_decoded_as_they_were_encoded(option in arbitrary::multipath()) {
        let wire = bytes(&option);
        prop_assert_eq!(wire.len(), DccpOption::from(option.clone()).encoded_len());
        prop_assert_eq!(MultipathOption::parse(&decode(&wire)), Some(option));
    }

    #[test]
    fn any_data_are_decoded_or_left_unknown(data in proptest::collection::vec(any::<u8>(), 0..=253)) {
        let mut wire = vec![46, 2 + data.len() as u8];
        wire.extend(&data);
        let option = decode(&wire);
        let mut again = Vec::new();
        encode_option(&option, &mut again);
        prop_assert_eq!(again, wire);
        if let Some(MultipathOption::Confirm(list)) = MultipathOption::parse(&option) {
            prop_assert!(list.iter().count() <= 252 / 4);
        }
    }
}
