use std::borrow::Cow;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;

use super::*;

/// A record without its borrowed parts.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owned {
    number: u64,
    offset: u64,
    nanos: u64,
    interface: u32,
    name: Option<String>,
    link_type: u16,
    data: Vec<u8>,
    original_length: u32,
}

fn read(bytes: &[u8]) -> (Vec<Owned>, Option<CaptureError>) {
    let mut records = Vec::new();
    let mut reader = match CaptureReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (records, Some(error)),
    };
    loop {
        match reader.next_record() {
            Ok(Some(record)) => records.push(Owned {
                number: record.number,
                offset: record.offset,
                nanos: record.at.as_nanos(),
                interface: record.interface,
                name: record.interface_name.map(str::to_owned),
                link_type: record.link_type,
                data: record.data.to_vec(),
                original_length: record.original_length,
            }),
            Ok(None) => return (records, None),
            Err(error) => {
                assert!(matches!(reader.next_record(), Ok(None)), "no record follows an error");
                return (records, Some(error));
            }
        }
    }
}

#[track_caller]
fn read_well(bytes: &[u8]) -> Vec<Owned> {
    let (records, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    records
}

fn complaint(bytes: &[u8]) -> String {
    read(bytes).1.expect("an error").to_string()
}

/// A pcap file written by an independent implementation, with two packets.
fn pcap(endianness: Endianness, ts_resolution: TsResolution) -> Vec<u8> {
    let header = PcapHeader { endianness, ts_resolution, datalink: DataLink::IPV4, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (nanos, data) in [(1_700_000_000_123_456_000, &b"one"[..]), (1_700_000_001_000_001_000, b"second")] {
        writer.write_packet(&PcapPacket::new(Duration::from_nanos(nanos), 60, data)).unwrap();
    }
    writer.into_writer()
}

/// A pcapng file written by an independent implementation, with two interfaces and an option on its packets.
fn pcapng(endianness: Endianness) -> Vec<u8> {
    let mut writer = PcapNgWriter::with_endianness(Vec::new(), endianness).unwrap();
    for (linktype, options) in [
        (DataLink::ETHERNET, vec![]),
        (
            DataLink::RAW,
            vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed("radio")),
                InterfaceDescriptionOption::IfTsResol(9),
                InterfaceDescriptionOption::IfTsOffset(10),
            ],
        ),
    ] {
        writer.write_pcapng_block(InterfaceDescriptionBlock { linktype, snaplen: 0xffff, options }).unwrap();
    }
    for (interface_id, stamp, data) in [(0, 2_500_000, &b"micro"[..]), (1, 2_500_000_000, b"nanos!")] {
        let options = vec![EnhancedPacketOption::Comment(Cow::Borrowed("a comment"))];
        // The writer stores nanoseconds unchanged, regardless of the interface's unit.
        let timestamp = Duration::from_nanos(stamp);
        let block =
            EnhancedPacketBlock { interface_id, timestamp, original_len: 99, data: data.into(), options };
        writer.write_pcapng_block(block).unwrap();
    }
    writer.into_inner()
}

#[test]
fn pcap_files_are_read_in_both_orders_and_resolutions() {
    for endianness in [Endianness::Big, Endianness::Little] {
        for resolution in [TsResolution::MicroSecond, TsResolution::NanoSecond] {
            let records = read_well(&pcap(endianness, resolution));
            assert_eq!(records.len(), 2);
            let expected = Owned {
                number: 1,
                offset: 24,
                nanos: 1_700_000_000_123_456_000,
                interface: 0,
                name: None,
                link_type: 228,
                data: b"one".to_vec(),
                original_length: 60,
            };
            assert_eq!(records[0], expected);
            assert_eq!((records[1].number, records[1].offset), (2, 24 + 16 + 3));
            assert_eq!((records[1].nanos, &records[1].data[..]), (1_700_000_001_000_001_000, &b"second"[..]));
        }
    }
}

#[test]
fn pcapng_files_are_read_in_both_orders() {
    for endianness in [Endianness::Big, Endianness::Little] {
        let records = read_well(&pcapng(endianness));
        assert_eq!(records.len(), 2);
        assert_eq!((records[0].nanos, records[0].link_type, &records[0].name), (2_500_000_000, 1, &None));
        assert_eq!((&records[0].data[..], records[0].original_length), (&b"micro"[..], 99));
        // Ten seconds of offset.
        let second = &records[1];
        assert_eq!((second.nanos, second.link_type, second.interface), (12_500_000_000, 101, 1));
        assert_eq!((second.name.as_deref(), &second.data[..]), (Some("radio"), &b"nanos!"[..]));
    }
}

#[test]
fn sections_may_follow_one_another_in_any_order() {
    let (big, little) = (pcapng(Endianness::Big), pcapng(Endianness::Little));
    let records = read_well(&[&big[..], &little[..], &big[..]].concat());
    assert_eq!(records.len(), 6);
    assert_eq!(records.iter().map(|record| record.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(records[4].offset, (big.len() + little.len()) as u64 + records[0].offset);
}

/// A pcapng block with these parts as its body.
fn block(kind: u32, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &body, &length].concat()
}

fn section() -> Vec<u8> {
    block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]])
}

#[test]
fn files_with_common_deviations_are_read() {
    // An interface with a resolution of 2^-10 s and no end mark; unknown blocks; a packet without a time.
    let resolution = [9, 0, 1, 0, 0x8a, 0, 0, 0];
    let file = [
        section(),
        block(0x0bad, &[&[7; 8]]),
        block(1, &[&[1, 0, 0, 0], &4u32.to_le_bytes(), &resolution]),
        block(6, &[&[0; 4], &[0; 4], &1536u32.to_le_bytes(), &[3, 0, 0, 0], &[3, 0, 0, 0], b"abc\0"]),
        block(3, &[&[9, 0, 0, 0], b"abcd"]),
        block(2, &[&[0, 0, 5, 0], &[0; 4], &2048u32.to_le_bytes(), &[1, 0, 0, 0], &[1, 0, 0, 0], b"x\0\0\0"]),
    ];
    let records = read_well(&file.concat());
    let summary: Vec<_> = records.iter().map(|one| (one.nanos, &one.data[..], one.original_length)).collect();
    assert_eq!(
        summary,
        [(1_500_000_000, &b"abc"[..], 3), (1_500_000_000, &b"abcd"[..], 9), (2_000_000_000, &b"x"[..], 1)]
    );
    // A packet longer than the snap length, as in every capture with a short one.
    let mut cut = pcap(Endianness::Little, TsResolution::MicroSecond);
    cut[16..20].copy_from_slice(&8u32.to_le_bytes());
    assert_eq!(read_well(&cut)[1].data, b"second");
}

/// Some programs write block lengths without the padding that they write.
#[test]
fn blocks_of_odd_lengths_are_read_with_their_padding() {
    let odd = |kind: u32, body: &[u8], trailer: u32| {
        let length = body.len() as u32 + 12;
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        [&kind.to_le_bytes()[..], &length.to_le_bytes(), body, &padding, &(length + trailer).to_le_bytes()]
            .concat()
    };
    let packet = |stamp: u32, data: &[u8]| {
        let length = (data.len() as u32).to_le_bytes();
        [&[0; 8][..], &stamp.to_le_bytes(), &length, &length, data].concat()
    };
    let interface = block(1, &[&[1, 0, 0, 0], &[0; 4]]);
    let file = [
        section(),
        odd(0x0bad, b"abcde", 0),
        interface,
        odd(6, &packet(1_000_000, b"abc"), 0),
        // The length at the end has the padding.
        odd(6, &packet(2_000_000, b"abcde"), 3),
        odd(6, &packet(3_000_000, b"abcd"), 0),
    ];
    let records = read_well(&file.concat());
    let data: Vec<_> = records.iter().map(|one| (one.nanos / 1_000_000_000, &one.data[..])).collect();
    assert_eq!(data, [(1, &b"abc"[..]), (2, b"abcde"), (3, b"abcd")]);
}

#[test]
fn packets_before_the_first_time_have_that_of_the_first_with_one() {
    let interface = block(1, &[&[1, 0, 0, 0], &[0; 4]]);
    let simple = |data: &[u8; 4]| block(3, &[&[4, 0, 0, 0], data]);
    let length = [4, 0, 0, 0];
    let stamped = block(6, &[&[0; 8], &7_000_000u32.to_le_bytes(), &length, &length, b"last"]);
    let before = [section(), interface, simple(b"one "), simple(b"two ")].concat();
    let summary = |file: &[u8]| {
        let (records, error) = read(file);
        let records: Vec<_> =
            records.iter().map(|one| (one.number, one.nanos / 1_000_000_000, one.data.clone())).collect();
        (records, error.map(|error| error.to_string()))
    };
    let all = [&before[..], &stamped, &simple(b"four")].concat();
    let expected = vec![
        (1, 7, b"one ".to_vec()),
        (2, 7, b"two ".to_vec()),
        (3, 7, b"last".to_vec()),
        (4, 7, b"four".to_vec()),
    ];
    assert_eq!(summary(&all), (expected, None));
    // Without any time, they are at zero; an error comes behind them.
    let none = vec![(1, 0, b"one ".to_vec()), (2, 0, b"two ".to_vec())];
    assert_eq!(summary(&before), (none.clone(), None));
    let (records, error) = summary(&[&before[..], &stamped[..20]].concat());
    assert_eq!(records, none);
    assert!(error.unwrap().contains("ends inside"));
}

#[test]
fn files_of_other_formats_are_identified() {
    assert_eq!(
        complaint(b"\x7fELF 1234"),
        "byte 0: starts with [7f, 45, 4c, 46]: expected a pcap or pcapng file"
    );
    assert!(
        complaint(&[0x28, 0xb5, 0x2f, 0xfd]).contains("compressed with zstd: expected a pcap or pcapng file")
    );
    assert_eq!(
        complaint(b""),
        "byte 0: the file ends inside a capture file's first four bytes: expected 4 bytes, 0 are there"
    );
    assert!(complaint(&[0xd4, 0xc3, 0xb2, 0xa1, 9, 0]).contains("the pcap header: expected 20 bytes, 2 are"));
    let mut old = pcap(Endianness::Little, TsResolution::MicroSecond);
    old[4] = 1;
    assert_eq!(complaint(&old), "byte 4: pcap version 1: expected 2");
}

#[test]
fn invalid_values_are_reported_with_their_offset() {
    let mut long = pcap(Endianness::Little, TsResolution::MicroSecond);
    long[24 + 16 + 3 + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let (records, error) = read(&long);
    assert_eq!(records.len(), 1, "the preceding record is read");
    assert_eq!(
        error.unwrap().to_string(),
        "byte 43: a pcap record of 4294967295 bytes: expected at most 1048576"
    );
    let interface = block(1, &[&[1, 0, 0, 0], &[0; 4]]);
    let packet = |interface: u32, length: u32| {
        block(6, &[&interface.to_le_bytes(), &[0; 8], &length.to_le_bytes(), &[9, 0, 0, 0], b"abcd"])
    };
    let with = |last: Vec<u8>| [section(), interface.clone(), last].concat();
    let place = section().len() + interface.len();
    assert_eq!(
        complaint(&with(packet(1, 4))),
        format!("byte {place}: a packet of interface 1: expected an interface description before it")
    );
    assert_eq!(
        complaint(&with(packet(0, 5))),
        format!("byte {place}: a packet of 5 bytes: expected at most 4")
    );
    let mut two = packet(0, 4);
    *two.last_mut().unwrap() = 1;
    assert!(complaint(&with(two)).contains("expected the same twice"));
    assert!(
        complaint(&with(block(6, &[])))
            .contains("a pcapng enhanced packet of 12 bytes: expected at least 32")
    );
    assert!(complaint(&with([0x0bad_u32, 4].map(u32::to_le_bytes).concat())).contains("at least 12"));
    assert!(complaint(&with([6, u32::MAX - 3].map(u32::to_le_bytes).concat())).contains("at most 4194304"));
    let mut order = section();
    order[8] = 0;
    assert!(complaint(&order).starts_with("byte 8: byte order magic"));
}

#[test]
fn a_truncated_file_yields_the_complete_records_and_an_error() {
    for file in
        [pcap(Endianness::Big, TsResolution::NanoSecond), pcapng(Endianness::Big), pcapng(Endianness::Little)]
    {
        let whole = read_well(&file);
        for length in 0..file.len() {
            let (records, error) = read(&file[..length]);
            assert_eq!(records[..], whole[..records.len()], "cut at {length}");
            match error {
                // Truncation between records cannot be detected.
                None => assert!(records.len() < whole.len() || length == file.len()),
                Some(CaptureError { offset, kind: CaptureErrorKind::CutOff { expected, found, .. } }) => {
                    assert!(found < expected && offset + found == length as u64, "{offset} {found} {length}");
                }
                Some(error) => panic!("cut at {length}: {error}"),
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(
        which in 0..3usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        tail in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut file = match which {
            0 => pcap(Endianness::Little, TsResolution::MicroSecond),
            1 => pcapng(Endianness::Little),
            _ => Vec::new(),
        };
        file.extend(tail);
        for (at, byte) in changes {
            if !file.is_empty() {
                let at = at.index(file.len());
                file[at] = byte;
            }
        }
        let (records, error) = read(&file);
        prop_assert!(records.iter().all(|record| record.original_length as usize >= record.data.len()));
        prop_assert!(error.is_none_or(|error| error.offset <= file.len() as u64));
    }
}

mod compressed;
