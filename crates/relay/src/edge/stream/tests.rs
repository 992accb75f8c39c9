//! Descriptions of a port, and keys of datagrams.

use proptest::prelude::*;

use super::*;

fn keys(stream: &str, datagram: &[u8]) -> Keys {
    let (lane, keys) = stream.parse::<Stream>().expect("a stream").classify(7, datagram);
    assert_eq!(lane, Lane::Newest);
    keys
}

/// `true` if the two have a key, and the same one.
fn is_same(stream: &str, [one, other]: [&[u8]; 2]) -> bool {
    let [one, other] = [one, other].map(|datagram| keys(stream, datagram));
    assert_eq!([one, other].map(|keys| keys.all().len()), [1, 1]);
    one == other
}

#[test]
fn what_a_user_may_say() {
    for (text, expected) in [
        ("command", Stream::Command),
        ("bulk", Stream::Bulk),
        ("newest", Stream::Newest(Key::Flow)),
        ("newest:rtps", Stream::Newest(Key::Rtps)),
        ("newest:json:id", Stream::Newest(Key::Json("id".into()))),
        ("newest:cbor:a:b", Stream::Newest(Key::Cbor("a:b".into()))),
    ] {
        assert_eq!(text.parse(), Ok(expected), "{text}");
    }
    for text in ["", "urgent", "newest:", "newest:json", "newest:json:", "newest:rtps:x", "command:x"] {
        assert_eq!(text.parse::<Stream>(), Err(()), "{text}");
    }
}

#[test]
fn fields_of_json_are_keys() {
    let stream = "newest:json:sensor";
    assert!(is_same(stream, [br#"{"sensor":"a","v":1}"#, br#" { "v": [2, {"sensor": 3}], "sensor": "a" }"#]));
    assert!(!is_same(stream, [br#"{"sensor":"a","v":1}"#, br#"{"sensor":"b","v":1}"#]));
    assert!(!is_same(stream, [br#"{"sensor":1}"#, br#"{"sensor":2}"#]));
    for none in
        [&b"{\"sensor\":[1]}"[..], b"{\"other\":1}", b"[1]", b"{\"sensor\":1", b"", b"{\"sensor\":1}x"]
    {
        assert_eq!(keys(stream, none), Keys::default(), "{none:?}");
    }
}

#[test]
fn fields_of_cbor_are_keys() {
    let stream = "newest:cbor:id";
    // {"id": 1, "v": 2}, {"v": [3], "id": 1} and {_ "id": 1}; {"id": 2}.
    let [one, other, open] =
        [&b"\xa2\x62id\x01\x61v\x02"[..], b"\xa2\x61v\x81\x03\x62id\x01", b"\xbf\x62id\x01\xff"];
    assert!(is_same(stream, [one, other]) && is_same(stream, [one, open]));
    assert!(!is_same(stream, [one, b"\xa1\x62id\x02"]));
    // Behind a tag with a number of eight bytes and a string in chunks: -1.
    let all = b"\xa3\x61t\xc1\xfb@E\x11\x12\x13\x14\x15\x16\x61b\x5f\x41a\xff\x62id\x20";
    assert!(is_same(stream, [all, b"\xa1\x62id\x20"]));
    let deep = [&b"\xa2\x61v"[..], &[0x81; 40], b"\x01\x62id\x01"].concat();
    assert_eq!(keys(stream, &deep), Keys::default());
    for none in [
        &b"\xa1\x62id"[..],
        b"\xa1\x61v\x01",
        b"\x81\x01",
        b"",
        b"\xbf\x62id\x01",
        b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        assert_eq!(keys(stream, none), Keys::default(), "{none:?}");
    }
}

/// A datagram of RTPS with data of that writer, of the instance whose key has that hash.
fn sample(writer: [u8; 4], instance: Option<u8>, value: u8) -> Vec<u8> {
    let mut data = vec![0, 0, 16, 0, 0, 0, 0, 0];
    data.extend(writer);
    data.extend([0, 0, 0, 0, value, 0, 0, 0]);
    if let Some(instance) = instance {
        data.extend([0x70, 0, 16, 0]);
        data.extend([instance; 16]);
        data.extend([1, 0, 0, 0]);
    }
    data.extend([0, 1, 0, 0, value]);
    let mut datagram = b"RTPS\x02\x03\x01\x0fguid prefix!".to_vec();
    datagram.extend([9, 1, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    datagram.extend([0x15, if instance.is_some() { 7 } else { 5 }, data.len() as u8, 0]);
    datagram.extend(data);
    datagram
}

#[test]
fn writers_and_instances_of_rtps_are_keys() {
    let stream = "newest:rtps";
    let same = |one: &[u8], other: &[u8]| is_same(stream, [one, other]);
    let (topic, other) = ([0, 0, 1, 3], [0, 0, 2, 3]);
    assert!(same(&sample(topic, None, 1), &sample(topic, None, 2)));
    assert!(!same(&sample(topic, None, 1), &sample(other, None, 1)));
    assert!(same(&sample(topic, Some(1), 1), &sample(topic, Some(1), 2)));
    assert!(!same(&sample(topic, Some(1), 1), &sample(topic, Some(2), 1)));
    // Discovery; data with a heartbeat, which a reliable writer answers for; several samples; a part.
    let reliable = [sample(topic, None, 1), vec![7, 1, 4, 0, 0, 0, 0, 0]].concat();
    let twice = [&sample(topic, None, 1)[..], &sample(topic, None, 2)[32..]].concat();
    let whole = sample(topic, None, 1);
    for none in [&sample([0, 0, 3, 0xc2], None, 1)[..], &reliable, &twice, &whole[..whole.len() - 3], b"RTPS"]
    {
        assert_eq!(keys(stream, none), Keys::default());
    }
}

#[test]
fn flows_have_values_of_their_own() {
    let stream = Stream::Newest(Key::Flow);
    assert_eq!(stream.classify(1, b"a").1, stream.classify(1, b"b").1);
    assert_ne!(stream.classify(1, b"a").1, stream.classify(2, b"a").1);
}

proptest! {
    /// Any datagram of a program is parsed without harm: nothing panics, and the length bounds the work.
    #[test]
    fn any_bytes_have_a_key_or_none(rest in prop::collection::vec(any::<u8>(), 0..200), begin in 0..6_usize) {
        let begins = [&b""[..], b"{\"id\":", b"\xa2\x62id", b"\xbf\x62id", b"RTPS\x02\x03\x01\x0fguid prefix!\x15\x07", b"[[[["];
        let datagram = [begins[begin], &rest].concat();
        for stream in ["newest:json:id", "newest:cbor:id", "newest:rtps", "newest"] {
            prop_assert!(keys(stream, &datagram).all().len() <= 1);
        }
    }
}
