//! Datagrams that are samples, and those that are not.

use super::*;

fn key(text: &str) -> &keyexpr {
    keyexpr::new(text).expect("a key expression")
}

fn sample() -> Sample<'static> {
    Sample {
        key: key("vehicle/speed"),
        payload: b"12.5",
        encoding: "text/plain;utf-8",
        attachment: None,
        is_deletion: false,
    }
}

/// The error of that datagram.
fn error(datagram: &[u8]) -> String {
    format!("{:#}", Message::decode(datagram).expect_err("an error"))
}

/// A map of that many fields with what `write` adds.
fn map(fields: u64, write: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let mut datagram = Vec::new();
    let mut writer = Encoder::new(&mut datagram);
    writer.map(fields).expect("memory");
    write(&mut writer);
    datagram
}

#[test]
fn samples_come_back_as_they_were() {
    let attached = Sample { attachment: Some(&[0, 255]), ..sample() };
    let deleted = Sample { payload: &[], encoding: "zenoh/bytes", is_deletion: true, ..sample() };
    let both = Sample { attachment: Some(&[]), is_deletion: true, ..sample() };
    for sample in [sample(), attached, deleted, both] {
        let datagram = sample.encode().expect("it fits");
        assert_eq!(Message::decode(&datagram).expect("valid"), Message::Sample(sample));
    }
}

#[test]
fn the_format_is_the_documented_one() {
    let sample = Sample { key: key("a"), payload: &[1], encoding: "b", attachment: None, is_deletion: true };
    let expected = b"\xa4\x63key\x61a\x67payload\x41\x01\x68encoding\x61b\x66delete\xf5";
    assert_eq!(sample.encode().expect("it fits"), expected);
}

#[test]
fn a_greeting_is_an_empty_map() {
    assert_eq!(Message::decode(&GREETING).expect("valid"), Message::Greeting);
}

#[test]
fn the_longest_datagram_is_whole_and_a_longer_one_is_none() {
    let room = LONGEST - Sample { payload: &[0; 60_000], ..sample() }.encode().expect("it fits").len();
    let fits = vec![0; 60_000 + room];
    assert_eq!(Sample { payload: &fits, ..sample() }.encode().expect("it fits").len(), LONGEST);
    let long = vec![0; fits.len() + 1];
    let error = Sample { payload: &long, ..sample() }.encode().expect_err("too long").to_string();
    assert!(error.contains("vehicle/speed") && error.contains(&long.len().to_string()), "{error}");
    assert!(Message::decode(&[0; LONGEST + 1]).is_err());
}

#[test]
fn wildcards_are_neither_sent_nor_taken() {
    for wild in ["a/*", "**", "a/b$*"] {
        assert!(Sample { key: key(wild), ..sample() }.encode().is_err(), "{wild}");
        let datagram = map(3, |writer| {
            writer.str("key").and_then(|writer| writer.str(wild)).expect("memory");
            writer.str("payload").and_then(|writer| writer.bytes(&[])).expect("memory");
            writer.str("encoding").and_then(|writer| writer.str("")).expect("memory");
        });
        assert!(error(&datagram).contains("without wildcards"), "{wild}");
    }
}

#[test]
fn invalid_datagrams_are_errors() {
    let whole = sample().encode().expect("it fits");
    for end in 0..whole.len() {
        error(&whole[..end]);
    }
    error(&[&whole[..], &[0]].concat());
    error(b"\x9f\xff");
    error(b"\xbf\xff");
    // Lengths of 2^64 - 1: of the map, and of a text and bytes in it.
    let huge = [0xff; 8];
    error(&[&[0xbb], &huge[..]].concat());
    error(&[b"\xa1\x7b", &huge[..]].concat());
    error(&[b"\xa1\x67payload\x5b", &huge[..]].concat());
    // Text that is no UTF-8, and arrays within each other.
    error(b"\xa1\x63key\x61\xff");
    error(&[0x81; 1000]);
    // Bytes in the place of text.
    error(b"\xa1\x63key\x41a");
}

#[test]
fn errors_name_the_field() {
    assert!(error(b"\xa1\x61x\x01").contains("field \"x\""));
    assert!(error(b"\xa1\x63key\x61a").contains("field encoding"));
    assert!(error(b"\xa2\x63key\x61a\x63key\x61a").contains("field key: expected once"));
    assert!(error(b"\xa1\x63key\x62/a").contains("key \"/a\""));
    assert!(error(b"\xa1\x66delete\xf5").contains("field key"));
    let encoding = "e".repeat(LONGEST_ENCODING + 1);
    let datagram = Sample { encoding: &encoding, ..sample() }.encode().expect("it fits");
    assert!(error(&datagram).contains("encoding of 256 bytes"));
}
