//! Files compressed with gzip.

use std::cell::Cell;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_file_compressed_with_gzip_is_read_as_if_it_were_plain() {
    for plain in [pcap(Endianness::Little, TsResolution::NanoSecond), pcapng(Endianness::Big)] {
        let records = read_well(&plain);
        assert!(records.len() > 1);
        assert_eq!(read_well(&gzip(&plain)), records);
        // Two members, split in the middle of a record (RFC 1952, Section 2.2).
        let (one, other) = plain.split_at(plain.len() - 3);
        assert_eq!(read_well(&[gzip(one), gzip(other)].concat()), records);
    }
}

#[test]
fn compressed_files_that_are_truncated_damaged_or_no_captures_are_errors() {
    let plain = pcap(Endianness::Little, TsResolution::MicroSecond);
    let whole = gzip(&plain);
    let (records, error) = read(&whole[..whole.len() - 12]);
    let error = error.expect("an error");
    assert!(records.len() < 2 && matches!(error.kind, CaptureErrorKind::Gzip(_)), "{error}");
    let mut damaged = whole.clone();
    // The checksum at the end (RFC 1952, Section 2.3.1).
    let crc = damaged.len() - 8;
    damaged[crc] ^= 1;
    assert!(complaint(&damaged).contains("inflating gzip: "), "{}", complaint(&damaged));
    assert!(complaint(&[0x1f, 0x8b, 8, 0, 0]).contains("inflating gzip: "));
    assert!(complaint(&gzip(b"only text")).contains("expected a pcap or pcapng file"));
    assert!(complaint(&gzip(&whole)).contains("compressed once with gzip"));
    // Decompressed bytes are counted: the second record is truncated there.
    let cut = gzip(&plain[..plain.len() - 1]);
    assert_eq!(complaint(&cut), complaint(&plain[..plain.len() - 1]));
}

/// Counts the bytes read from it.
struct Counted<'a> {
    bytes: &'a [u8],
    read: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(out)?;
        self.read.set(self.read.get() + read);
        Ok(read)
    }
}

#[test]
fn decompressed_data_are_never_held_as_a_whole() {
    // A frame of four gigabytes of zeros, according to its header: rejected before any of it is decompressed.
    let mut plain = pcap(Endianness::Little, TsResolution::MicroSecond);
    let header = plain.len();
    plain.extend([0; 8]);
    plain.extend(u32::MAX.to_le_bytes());
    plain.resize(header + (8 << 20), 0);
    let (records, error) = read(&gzip(&plain));
    assert_eq!(records.len(), 2);
    assert!(matches!(error.expect("an error").kind, CaptureErrorKind::TooLong { .. }));
    // A thousand frames that hardly compress: the first requires only the beginning of the file.
    let mut noise = 1u32;
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    for second in 0..1000 {
        let data: Vec<u8> = (0..1000)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (noise >> 24) as u8
            })
            .collect();
        writer.write_packet(&PcapPacket::new(Duration::from_secs(second), 1000, &data)).unwrap();
    }
    let (file, count) = (gzip(&writer.into_writer()), Cell::new(0));
    let mut reader = CaptureReader::new(Counted { bytes: &file, read: &count }).unwrap();
    assert!(reader.next_record().unwrap().is_some());
    assert!(count.get() < file.len() / 4, "{} of {}", count.get(), file.len());
    let mut records = 1;
    while reader.next_record().unwrap().is_some() {
        records += 1;
    }
    assert_eq!((records, count.get()), (1000, file.len()));
}

/// A megabyte of gzip can hold a gigabyte of packets.
#[test]
fn a_list_of_packets_has_a_bound() {
    let plain = pcap(Endianness::Little, TsResolution::MicroSecond);
    let mut reader = CaptureReader::new(plain.as_slice()).unwrap();
    assert!(reader.check_listed(MAX_LISTED).is_ok());
    assert!(reader.next_record().unwrap().is_some());
    let error = reader.check_listed(MAX_LISTED + 1).unwrap_err().to_string();
    assert!(error.contains("more than 10000000 packets: expected a shorter capture"), "{error}");
    assert!(reader.next_record().unwrap().is_none());
}
