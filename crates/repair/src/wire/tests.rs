use std::vec;

use proptest::prelude::*;

use super::*;
use crate::rlc::Density;

#[test]
fn datagrams_are_the_bytes_of_the_tables() {
    let mut out = vec![];
    begin_source(None, &mut out);
    AduHeader {
        frame: 0x0102,
        time: 0x03_0405,
        index: 6,
        count: Some(7),
        is_last: true,
        role: Role::Start,
        has_parity: true,
        has_waited: true,
    }
    .encode(&mut out);
    out.extend_from_slice(b"payload");
    Esi(0x0809_0a0b).encode(&mut out);
    assert_eq!(out, b"\x01\x1b\x01\x02\x03\x04\x05\x06\x07payload\x08\x09\x0a\x0b");
    assert_eq!(out.len(), SOURCE_OVERHEAD + 7);
    let mut out = vec![];
    begin_repair(Some(Answer { number: 9, report: 4, is_last: true }), false, &mut out);
    RepairId { key: 1, density: Density::FULL, count: 3, first: Esi(2) }.encode(&mut out);
    assert_eq!(out, b"\x84\x09\x04\x00\x01\xf0\x03\x00\x00\x00\x02");
    let mut report = Report::new(7, Esi(0x100));
    (report.echo, report.hold, report.answer) = (Some(Esi(0xff)), Duration::from_micros(640), 3);
    (report.lost, report.arrivals, report.first) = (Some(0x55), 0b101, Esi(0xf0));
    (report.lead, report.cause, report.lost_before, report.is_overdue) = (-128_000, Cause::Radio, 2, true);
    assert!(report.want(Esi(0xf1)) && report.want(Esi(0xf9)));
    assert!(!report.want(Esi(0xef)) && !report.want(Esi(0xf0 + 512)));
    let mut out = vec![];
    report.encode(&mut out);
    assert_eq!(
        out,
        b"\x05\x07\x00\x00\x01\x00\x00\x01\x00\x0a\xff\xfe\x03\x2b\x00\x55\x01\x05\x00\x10\x02\x02\x02"
    );
    assert_eq!((report.arrived(Esi(0xff)), report.arrived(Esi(0xfe))), (Some(true), Some(false)));
    assert_eq!((report.arrived(Esi(0x100)), report.arrived(Esi(0x7f))), (None, None));
}

#[test]
fn time_stamps_wrap() {
    let (before, after) = (Instant::from_secs(536), Instant::from_secs(538));
    let difference = AduHeader::difference(AduHeader::time_of(after), AduHeader::time_of(before));
    assert_eq!(difference, 2_000_000_000);
    assert_eq!(AduHeader::difference(5, 6), -32_000);
}

#[test]
fn what_is_no_datagram_is_named() {
    assert_eq!(Datagram::decode(&[]), Err(WireError::TooShort { bytes: 0 }));
    assert_eq!(Datagram::decode(&[9]), Err(WireError::UnknownKind(9)));
    assert_eq!(Datagram::decode(&[1, 0, 0]), Err(WireError::TooShort { bytes: 3 }));
    let mut report = vec![];
    Report::new(1, Esi(0)).encode(&mut report);
    report[16] = 17;
    assert_eq!(Datagram::decode(&report), Err(WireError::Invalid("arrivals")));
}

proptest! {
    #[test]
    fn reports_survive_the_wire(
        number: u8, next: u32, echo in 1..=u16::MAX, hold: u16, answer: u8, lost: Option<u16>, arrivals: u128,
        lead: i16, cause in prop_oneof![Just(Cause::Radio), Just(Cause::Congestion), Just(Cause::Unknown)],
        lost_before in 0..16_u8, is_overdue: bool, back: u16, wanted in proptest::collection::vec(0..512_u32, 0..40),
    ) {
        let mut report = Report::new(number, Esi(next));
        report.echo = Some(Esi(next.wrapping_sub(u32::from(echo))));
        report.hold = Duration::from_nanos(u64::from(hold) * 64_000);
        (report.answer, report.lost, report.arrivals, report.lost_before) = (answer, lost, arrivals, lost_before);
        report.is_overdue = is_overdue;
        (report.lead, report.cause) = (i64::from(lead) * 64_000, cause);
        report.first = Esi(next.wrapping_sub(u32::from(back) & 0x7fff));
        for offset in wanted {
            report.want(report.first.plus(offset));
        }
        let mut out = vec![];
        report.encode(&mut out);
        prop_assert!(out.len() <= MAX_REPORT);
        prop_assert_eq!(Datagram::decode(&out), Ok(Datagram::Report(report)));
    }

    #[test]
    fn bytes_are_a_datagram_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..120), kind in 0..8_u8) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = *first & 0x80 | kind;
        }
        if let Ok(Datagram::Source { adu, .. }) = Datagram::decode(&bytes) {
            let _ = AduHeader::decode(adu);
        }
    }
}
