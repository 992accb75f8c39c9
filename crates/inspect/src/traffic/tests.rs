use whimbrel_units::Instant;
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::frame::bytes::{Flags, Header, PayloadHeader};
use whimbrel_wifi::frame::radiotap::Radiotap;

use super::{MAX_STREAMS, Traffic};
use crate::capture::Record;

/// Link type of 802.11 behind radiotap.
const RADIOTAP: u16 = 127;

/// A test's changes to a frame.
#[derive(Clone, Copy)]
struct Sent {
    from: u32,
    qos: u16,
    subtype: u8,
    is_retry: bool,
    ampdu: Option<u32>,
    flags: u8,
}

const PLAIN: Sent = Sent { from: 2, qos: 0, subtype: 8, is_retry: false, ampdu: None, flags: 0 };

fn add(traffic: &mut Traffic, millis: u64, sent: Sent) {
    let mut bytes = Vec::new();
    let radiotap = Radiotap {
        flags: Some(sent.flags),
        ampdu: sent.ampdu.map(|number| (number, false)),
        ..Radiotap::default()
    };
    radiotap.encode(&mut bytes);
    let header = bytes.len() as u32;
    let frame = Header::Data(PayloadHeader {
        subtype: sent.subtype,
        flags: if sent.is_retry { Flags::RETRY } else { Flags::default() },
        duration: 0,
        receiver: MacAddress::station(1),
        transmitter: MacAddress::station(sent.from),
        address3: MacAddress::station(1),
        sequence: 0,
        fragment: 0,
        address4: None,
        qos: Some(sent.qos),
    });
    frame.encode(&mut bytes);
    traffic.on_record(&Record {
        number: 1,
        offset: 0,
        at: Instant::from_millis(millis),
        interface: 0,
        interface_name: None,
        link_type: RADIOTAP,
        // Captured in part: the whole frame has 100 bytes behind the radiotap header.
        original_length: header + 100,
        data: &bytes,
    });
}

#[test]
fn ampdus_are_told_apart_by_their_numbers_and_streams_by_their_identifiers() {
    let mut traffic = Traffic::default();
    for (millis, sent) in [
        (0, Sent { ampdu: Some(7), ..PLAIN }),
        (0, Sent { ampdu: Some(7), ..PLAIN }),
        // Another station's A-MPDU in between does not end this one's.
        (0, Sent { ampdu: Some(8), from: 3, ..PLAIN }),
        (0, Sent { ampdu: Some(7), is_retry: true, ..PLAIN }),
        (500, Sent { ampdu: Some(9), ..PLAIN }),
        (500, Sent { qos: 6, ..PLAIN }),
        (1000, Sent { qos: 0x80, ..PLAIN }),
    ] {
        add(&mut traffic, millis, sent);
    }
    let report = traffic.report();
    assert_eq!((report.streams.len(), report.beyond_limit), (3, 0));
    let [best, voice, other] = &report.streams[..] else { panic!("{report:?}") };
    assert_eq!((best.identifier, best.category), (0, Some("best effort")));
    assert_eq!((best.frames, best.retries, best.amsdus, best.bytes), (5, 1, 1, 500));
    assert_eq!((best.ampdus, best.aggregated, best.longest), (2, 4, 3));
    assert_eq!((best.frames_per_ampdu, best.ampdus_per_s), (Some(2.0), Some(2.0)));
    assert_eq!((voice.identifier, voice.category, voice.frames), (6, Some("voice"), 1));
    assert_eq!((voice.frames_per_ampdu, voice.ampdus_per_s), (None, None));
    assert_eq!((other.transmitter.as_str(), other.ampdus_per_s), ("02:00:00:00:00:03", None));
}

#[test]
fn damaged_frames_and_frames_without_data_do_not_count() {
    let mut traffic = Traffic::default();
    add(&mut traffic, 0, Sent { flags: Radiotap::BAD_FCS, ..PLAIN });
    // QoS null.
    add(&mut traffic, 0, Sent { subtype: 12, ..PLAIN });
    assert!(traffic.report().streams.is_empty());
}

#[test]
fn streams_beyond_the_limit_are_counted() {
    let mut traffic = Traffic::default();
    for from in 0..=MAX_STREAMS as u32 {
        add(&mut traffic, 0, Sent { from, ..PLAIN });
    }
    let report = traffic.report();
    assert_eq!((report.streams.len(), report.beyond_limit), (MAX_STREAMS, 1));
}
