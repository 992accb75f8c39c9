use whimbrel_wire::option::OptionBytes;
use whimbrel_wire::option::tfrc::TfrcOption;
use whimbrel_wire::{DccpOption, Kind, Packet, SeqNo};

use super::*;

/// The numbers up to 40 that a text like `6, 8 or 10`, `3 to 8`, `3 or more` or `3 + 9 n` allows.
fn lengths(text: &str) -> Vec<usize> {
    let numbers: Vec<usize> =
        text.split(|sign: char| !sign.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [first] if text.ends_with("or more") => (first..=40).collect(),
        [first, last] if text.contains(" to ") => (first..=last).collect(),
        [first, step] if text.ends_with(" n") => (first..=40).step_by(step).collect(),
        _ => numbers,
    }
}

#[test]
fn the_documented_lengths_of_multipath_options_are_those_decoded() {
    let decodes = |mp_opt: u8, length: usize| {
        let mut data = vec![0; length - 2];
        data[0] = mp_opt;
        let mut bytes = vec![46, length as u8];
        bytes.extend(&data);
        !matches!(read_bytes(&bytes), DccpOption::Unknown { .. })
    };
    // MP_CONFIRM and the data of MP_KEY depend on more than their length.
    for mp_opt in [1, 2, 4, 5, 6, 7, 8, 9, 10] {
        let text = expected_of_multipath(&[mp_opt]).expect("a length");
        let documented = lengths(text);
        let drafts: &[usize] = match mp_opt {
            7 => &[8, 10, 20, 22],
            8 => &[4],
            _ => &[],
        };
        for length in 3..=40 {
            let is_valid = documented.contains(&length) || drafts.contains(&length);
            assert_eq!(decodes(mp_opt, length), is_valid, "MP_OPT {mp_opt}, {length} bytes");
        }
    }
    assert_eq!(expected_of_multipath(&[12, 0]), None);
}

/// An option of that type and length, filled with zeros, as decoded from a packet.
fn read(kind: u8, length: usize) -> DccpOption {
    let mut option = vec![0; length];
    option[..2].copy_from_slice(&[kind, length as u8]);
    read_bytes(&option)
}

/// An option as decoded from a packet.
fn read_bytes(option: &[u8]) -> DccpOption {
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: Default::default(),
        extended: true,
        sequence: SeqNo::new(1),
        kind: Kind::Sync { ack: SeqNo::new(1) },
        options: Default::default(),
        payload: Default::default(),
    };
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).expect("a packet");
    let mut option = option.to_vec();
    option.resize(option.len().next_multiple_of(4), 0);
    // Data Offset, in words (RFC 4340, Section 5.1).
    bytes[4] += (option.len() / 4) as u8;
    bytes.extend(option);
    Packet::decode_slice(&bytes).expect("a packet").options[0].clone()
}

#[test]
fn the_documented_lengths_are_those_decoded() {
    for kind in (32..=119).filter(|kind| expected(*kind).is_some()) {
        let named = lengths(expected(kind).expect("named"));
        let is_read = |length: &usize| !matches!(read(kind, *length), DccpOption::Unknown { .. });
        assert_eq!((2..=40).filter(is_read).collect::<Vec<_>>(), named, "type {kind}");
    }
}

#[test]
fn the_documented_lengths_for_ccid_3_and_4_are_those_decoded() {
    for kind in (128..=255).filter(|kind| expected_by_tfrc(*kind).is_some()) {
        let named = lengths(expected_by_tfrc(kind).expect("named"));
        let is_read = |length: &usize| {
            let data = OptionBytes::from_elem(0, length - 2);
            TfrcOption::parse(&DccpOption::CcidSpecific { kind, data }).is_some()
        };
        assert_eq!((2..=40).filter(is_read).collect::<Vec<_>>(), named, "type {kind}");
    }
}
