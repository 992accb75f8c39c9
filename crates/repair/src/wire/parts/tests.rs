use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::rlc::Density;
use crate::tests_support::Random;
use crate::wire::{Report, Role, begin_repair, begin_source};

const ANSWER: Answer = Answer { number: 9, report: 4, is_last: true };

fn header() -> AduHeader {
    let (frame, time, index, count) = (0x0102, 0x03_0405, 6, Some(7));
    AduHeader {
        frame,
        time,
        index,
        count,
        is_last: true,
        role: Role::Inner,
        has_parity: false,
        has_waited: false,
    }
}

/// A repeat of a datagram.
fn repeat(payload: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    begin_source(Some(ANSWER), &mut out);
    header().encode(&mut out);
    out.extend_from_slice(payload);
    Esi(0x0809_0a0b).encode(&mut out);
    out
}

fn divided(whole: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    divide(whole, &mut out).expect("a datagram");
    out
}

fn parts(bytes: &[u8]) -> Parts<'_> {
    match Datagram::decode(bytes) {
        Ok(Datagram::Parts(parts)) => parts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagrams_in_parts_are_the_bytes_of_the_table() {
    // The check value of the catalogue of checksums.
    assert_eq!(CHECKSUM.checksum(b"123456789"), 0x906e);
    let bytes = divided(&repeat(b"123456789"));
    let head = b"\x06\x82\x09\x04\x08\x09\x0a\x0b\x01\x01\x02\x03\x04\x05\x06\x07\x01\x90\x6e";
    let checksum = CHECKSUM.checksum(head).to_be_bytes();
    assert_eq!(bytes, [&head[..], &checksum, b"123456789"].concat());
    assert_eq!(bytes.len(), repeat(b"123456789").len() + overhead(9));
    let read = parts(&bytes);
    assert_eq!((read.answer, read.length()), (Some(ANSWER), 9));
    assert_eq!(read.head, Head::Source { header: header(), esi: Esi(0x0809_0a0b) });
}

#[test]
fn parts_lie_in_the_columns_of_the_symbol() {
    // The headers of the ADU take eleven bytes of the first column.
    for (size, expected) in
        [(0, vec![0]), (245, vec![245]), (246, vec![245, 1]), (1_000, vec![245, 256, 256, 243])]
    {
        let bytes = divided(&repeat(&vec![7; size]));
        let lengths: Vec<usize> = parts(&bytes).iter().map(|part| part.expect("whole").len()).collect();
        assert_eq!((lengths, columns(BEFORE + size)), (expected.clone(), expected.len()));
    }
    let mut repair = vec![];
    begin_repair(None, true, &mut repair);
    let id = RepairId { key: 1, density: Density::FULL, count: 3, first: Esi(2) };
    id.encode(&mut repair);
    repair.extend_from_slice(&[7; 600]);
    let bytes = divided(&repair);
    assert_eq!(parts(&bytes).head, Head::Repair { ends_parity: true, id });
    let lengths: Vec<usize> = parts(&bytes).iter().map(|part| part.expect("whole").len()).collect();
    assert_eq!(lengths, [256, 256, 88]);
}

#[test]
fn a_damaged_byte_costs_its_part_and_a_damaged_head_everything() {
    let whole = divided(&repeat(&[7; 1_000]));
    let body = whole.len() - 1_000;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        match Datagram::decode(&bytes) {
            Ok(Datagram::Parts(parts)) => {
                let column = (at.checked_sub(body).expect("a byte of the head") + BEFORE) / COLUMN;
                let is_whole: Vec<bool> = parts.iter().map(|part| part.is_some()).collect();
                let expected: Vec<bool> = (0..4).map(|each| each != column).collect();
                assert_eq!((is_whole, parts.is_whole()), (expected, false), "{at}");
            }
            Ok(other) => panic!("{at}: {other:?}"),
            Err(_) => assert!(at < body, "{at}"),
        }
    }
}

/// Of parts whose bytes are others, the checksum takes one in 65,536 for whole: 16 of 2^20, with a standard
/// deviation of 4.
#[test]
fn the_checksum_misses_what_it_must() {
    let whole = divided(&repeat(&[7; 16]));
    let body = whole.len() - 16;
    let (mut random, mut missed) = (Random(1), 0);
    for _ in 0..1 << 20 {
        let mut bytes = whole.clone();
        bytes[body..].iter_mut().for_each(|byte| *byte = random.word() as u8);
        missed += u32::from(parts(&bytes).is_whole());
    }
    assert!((4..=28).contains(&missed), "{missed} of 2^20 damaged parts count as whole");
}

#[test]
fn a_report_has_one_checksum() {
    let mut report = Report::new(3, Esi(100));
    report.arrivals = 0b1011;
    let mut bytes = vec![];
    report.encode(&mut bytes);
    assert!(divide(&bytes, &mut vec![]).is_err());
    seal_report(&mut bytes);
    assert!(super::super::is_report(&bytes));
    assert_eq!(Datagram::decode(&bytes), Ok(Datagram::Report(report)));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(!matches!(Datagram::decode(&damaged), Ok(Datagram::Report(_))), "{at}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..8_u8) {
        let mut bytes = bytes;
        bytes.splice(0..0, [KIND, kind]);
        // With the right checksum the rest is looked at.
        for head in 0..bytes.len().saturating_sub(2) {
            let mut sealed = bytes.clone();
            let checksum = CHECKSUM.checksum(&sealed[..head]).to_be_bytes();
            sealed[head..head + 2].copy_from_slice(&checksum);
            if let Ok(Datagram::Parts(parts)) = Datagram::decode(&sealed) {
                prop_assert_eq!(parts.iter().count(), split(parts.body, parts.before()).count());
            }
        }
    }
}
