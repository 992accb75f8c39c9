//! Two ends without sockets: what a fade does to datagrams of all kinds, and the ledgers after a campaign.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::edge::flow::HEADER;
use crate::edge::flow_kind::Sends;
use crate::edge::ledger::Sums;

mod campaign;

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

const STALE: Duration = Duration::from_millis(200);
const FLOW: Flow = Flow { port: 0, number: 0 };

fn carriage(announced: Announcement) -> Carriage {
    Carriage::new(STALE, announced, false, Ledger::default(), Room::default())
}

/// Datagrams above 1180 bytes arrive, and one lost part is one datagram lost on the path.
#[test]
fn large_datagrams_cross_in_parts_and_are_counted_as_datagrams() {
    let (mut near, mut far) = (carriage(Announcement::default()), carriage(Announcement::default()));
    let mut arrived = Vec::new();
    for (n, size) in (0..).zip([1316_usize, 8000, 1316, 100]) {
        near.ledger().on_sent();
        near.take(ms(n), FLOW, &vec![n as u8; size]);
        let mut part = 0;
        let transport = |bytes: Bytes, _, _| {
            if bytes.len() > 1180 {
                return Ok::<_, ()>(Handed::TooLarge(1180));
            }
            part += 1;
            // The second part of the third is lost.
            if (n, part) != (2, 2) {
                arrived.extend(far.receive(ms(n), bytes, false));
            }
            Ok(Handed::Accepted)
        };
        assert_eq!(near.send(ms(n), 32, || None, transport), Ok(()));
    }
    let sizes: Vec<_> = arrived.iter().map(|arrival: &Arrival| arrival.payload.len()).collect();
    assert_eq!(sizes, [1316, 8000, 100]);
    assert_eq!(near.ledger().sums().datagrams_sent, 4);
    assert_eq!(far.ledger().sums().datagrams_received, 3);
}

/// Effect of a fade of 0.5 s on 600 datagrams, one in 10 ms: those that are lost, and the longest time
/// between two that are sent.
fn fade(announced: Announcement, datagram: impl Fn(u32) -> Vec<u8>) -> (u64, u64) {
    let mut carriage = carriage(announced);
    let (mut last, mut gap) = (0, 0);
    for n in 0..600 {
        let now = 10 * u64::from(n);
        carriage.ledger().on_sent();
        carriage.take(ms(now), FLOW, &datagram(n));
        let is_faded = (2000..2500).contains(&now);
        let sent = carriage.send(
            ms(now),
            32,
            || None,
            |_, _, _| {
                if is_faded {
                    return Ok(Handed::Later);
                }
                gap = gap.max(now - last);
                last = now;
                Ok::<_, ()>(Handed::Accepted)
            },
        );
        assert_eq!(sent, Ok(()));
    }
    let account = carriage.ledger().sums().to_peer;
    assert_eq!(account.lost.occurred().map(|(reason, _)| reason).collect::<Vec<_>>(), [Reason::Stale]);
    assert_eq!((account.sent, account.under_way()), (600, 0));
    (account.lost.sum(), gap)
}

#[test]
fn a_fade_costs_each_format_as_much_as_text() {
    let be = |n: u32| n.to_be_bytes();
    let text = fade(Announcement::default(), |n| format!("{{\"seq\":{n},\"lat\":52.1,\"lon\":4.3}}").into());
    // Datagrams of 2.0 to 2.3 s were older than 200 ms at 2.5 s.
    assert_eq!(text, (31, 510));
    type Format = Box<dyn Fn(u32) -> Vec<u8>>;
    let formats: [(&str, Format); 9] = [
        ("MAVLink", Box::new(|n| [&[0xfd, 9, 0, 0, n as u8, 1, 1, 0, 0, 0][..], &[7; 11]].concat())),
        (
            "CBOR map",
            Box::new(move |n| [&b"\xa3\x63seq\x19"[..], &be(n)[2..], b"\x61x\xfb@E\0\0\0\0\0\0"].concat()),
        ),
        (
            "CBOR array",
            Box::new(move |n| {
                [&[0x83, 0x19][..], &be(n)[2..], b"\x83\xfb@E\x11\x12\x13\x14\x15\x16\x17\x18\x19"].concat()
            }),
        ),
        (
            "MessagePack map",
            Box::new(move |n| [&b"\x82\xa3seq\xcd"[..], &be(n)[2..], b"\xa1x\xcb@E\0\0\0\0\0\0"].concat()),
        ),
        // Their second bytes are packet types of RTCP.
        (
            "MessagePack array",
            Box::new(move |n| [&[0x93, 0xcd][..], &be(n)[2..], b"\xcb@E\0\0\0\0\0\0\xc3"].concat()),
        ),
        (
            "MessagePack time",
            Box::new(move |n| {
                [&[0x92, 0xcf, 0, 0, 1, 0x8c][..], &be(10 * n), b"\xcb@E\0\0\0\0\0\0"].concat()
            }),
        ),
        (
            "CBOR tag",
            Box::new(move |n| {
                [&[0x82, 0xc1, 0x1a][..], &be(1_700_000_000 + n), b"\xfb@E\0\0\0\0\0\0"].concat()
            }),
        ),
        (
            "SRT control",
            Box::new(move |n| [&[0x80, 2, 0, 0][..], &be(n), &be(10_000 * n), &be(77), &[0; 28]].concat()),
        ),
        (
            "RTP that stands still",
            Box::new(move |n| [&[0x80, 96][..], &be(n)[2..], &[0; 4], &be(9), b"x"].concat()),
        ),
    ];
    for (name, datagram) in formats {
        assert_eq!(fade(Announcement::default(), &datagram), text, "{name}");
    }
    // One that is said to be RTP has frames, which end: none of them lasts for more than 250 ms.
    let announced =
        || Announcement { sends: Sends::All(Some(whimbrel_rtp::Codec::H264)), ..Announcement::default() };
    let still = fade(announced(), |n| [&[0x80, 96][..], &be(n)[2..], &[0; 4], &be(9), b"x"].concat());
    assert!(still.0 < 31 + 50 && still.1 < 510 + 250, "{still:?}");
}

#[test]
fn a_fade_drops_whole_frames_of_rtp() {
    // Four packets in 40 ms, at 90 kHz.
    let video = |n: u32| {
        let marker = if n % 4 == 3 { 0xe0 } else { 0x60 };
        [&[0x80, marker][..], &n.to_be_bytes()[2..], &(n / 4 * 3600).to_be_bytes(), &[0, 0, 0, 9], b"x"]
            .concat()
    };
    let (lost, gap) = fade(Announcement::default(), video);
    assert_eq!((lost % 4, lost), (0, 32), "whole frames");
    assert!(gap < 540, "{gap}");
}

#[test]
fn reports_of_rtp_outlive_a_fade_and_what_resembles_them_does_not_overtake_fresh_data() {
    let report = [0x81, 201, 0, 7, 0, 0, 0, 9].iter().copied().chain([5; 24]).collect::<Vec<u8>>();
    let audio = |n: u32| {
        [&[0x80, 96][..], &n.to_be_bytes()[2..], &(n * 480).to_be_bytes(), &[0, 0, 0, 9], b"x"].concat()
    };
    for (with_stream, expected) in [(true, vec![32, 13]), (false, vec![13])] {
        let mut carriage = carriage(Announcement::default());
        for n in 0..20 {
            let datagram = if with_stream { audio(n) } else { b"a line of text".to_vec() };
            carriage.take(ms(10 * u64::from(n)), FLOW, &datagram);
        }
        let send = |carriage: &mut Carriage, now| {
            let mut sizes = Vec::new();
            let sent = carriage.send(
                now,
                32,
                || None,
                |bytes, _, _| {
                    sizes.push(bytes.len() - HEADER);
                    Ok::<_, ()>(Handed::Accepted)
                },
            );
            assert_eq!(sent, Ok(()));
            sizes
        };
        assert_eq!(send(&mut carriage, ms(190)).len(), 20);
        carriage.take(ms(300), FLOW, &report);
        carriage.take(ms(1000), FLOW, &audio(80));
        assert_eq!(send(&mut carriage, ms(1000)), expected);
    }
}

/// A command that the path loses is repeated; one that is too large for a packet goes in parts, once. Each
/// counts once at both ends.
#[test]
fn lost_commands_are_repeated_and_counted_once() {
    let commands = Announcement { streams: vec![Stream::Command], ..Announcement::default() };
    let mut near = Carriage::new(STALE, commands, true, Ledger::default(), Room::default());
    let mut far = carriage(Announcement::default());
    let mut arrived = Vec::new();
    for n in 0..600_u64 {
        let now = ms(n * 10);
        if n.is_multiple_of(20) && n < 300 {
            near.ledger().on_sent();
            near.take(now, FLOW, &vec![n as u8; if n == 40 { 3000 } else { 40 }]);
        }
        let mut count = 0;
        let transport = |bytes: Bytes, _, _| {
            if bytes.len() > 1180 {
                return Ok::<_, ()>(Handed::TooLarge(1180));
            }
            count += 1;
            // The path loses all at first, but for the reports and the parts.
            if n < 200 && commands::is_numbered(&bytes) && n > 60 {
                return Ok(Handed::Accepted);
            }
            arrived.extend(far.receive(now, bytes, false).map(|arrival| arrival.payload[0]));
            arrived.extend(std::iter::from_fn(|| far.further(now)).map(|arrival| arrival.payload[0]));
            Ok(Handed::Accepted)
        };
        assert_eq!(near.send(now, 32, || None, transport), Ok(()));
        let mut back = Vec::new();
        let sent = far.send(
            now,
            32,
            || None,
            |bytes, _, _| {
                back.push(bytes);
                Ok::<_, ()>(Handed::Accepted)
            },
        );
        assert_eq!(sent, Ok(()));
        back.into_iter().for_each(|bytes| drop(near.receive(now, bytes, false)));
    }
    arrived.sort_unstable();
    let all: Vec<u8> = (0..15).map(|n| (n * 20) as u8).collect();
    assert_eq!(arrived.len(), all.len());
    assert!(all.iter().all(|each| arrived.contains(each)));
    assert!(near.is_at_rest());
    let account = near.ledger().sums().to_peer;
    assert_eq!((account.sent, account.delivered, account.under_way()), (15, 15, 0), "{account:?}");
}

/// A vehicle sends the list of its parameters at once, over a geostationary satellite.
#[test]
fn a_list_of_parameters_is_not_held_back_by_a_long_path() {
    const COUNT: u16 = 1000;
    const WAY: u64 = 300;
    let commands = Announcement { streams: vec![Stream::Command], ..Announcement::default() };
    let mut near = Carriage::new(STALE, commands, true, Ledger::default(), Room::default());
    let mut far = carriage(Announcement::default());
    let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
    let mut arrived: Vec<u16> = Vec::new();
    let mut done = 0;
    for now in (0..20_000).step_by(5) {
        // The first of all teaches each end that the other one reports.
        let parameters = match now {
            0 => 0..1,
            5000 => 1..COUNT,
            _ => 0..0,
        };
        for parameter in parameters {
            near.ledger().on_sent();
            near.take(ms(now), FLOW, &parameter.to_be_bytes());
        }
        for (carriage, way) in [(&mut near, &mut there), (&mut far, &mut back)] {
            let transport = |bytes: Bytes, _, _| {
                way.push_back((now + WAY, bytes));
                Ok::<_, ()>(Handed::Accepted)
            };
            assert_eq!(carriage.send(ms(now), 32, || None, transport), Ok(()));
        }
        while let Some((_, bytes)) =
            there.front().is_some_and(|(at, _)| *at <= now).then(|| there.pop_front()).flatten()
        {
            let next = far.receive(ms(now), bytes, false);
            let next = next.into_iter().chain(std::iter::from_fn(|| far.further(ms(now))));
            arrived.extend(next.map(|arrival| u16::from_be_bytes([arrival.payload[0], arrival.payload[1]])));
        }
        while let Some((_, bytes)) =
            back.front().is_some_and(|(at, _)| *at <= now).then(|| back.pop_front()).flatten()
        {
            drop(near.receive(ms(now), bytes, false));
        }
        if done == 0 && arrived.len() == usize::from(COUNT) {
            done = now;
        }
    }
    assert_eq!(arrived, (0..COUNT).collect::<Vec<_>>());
    assert!((5000..8500).contains(&done), "{done} ms");
}

/// While the path takes one packet at a time, all values that wait leave in it, and commands; an end that
/// does not know bundles gets none.
#[test]
fn commands_and_values_that_wait_leave_together() {
    let values: Stream = "newest:json:name".parse().expect("a stream");
    let streams = vec![values.clone(), Stream::Command, values, Stream::Recognized];
    for knows in [true, false] {
        let announced = Announcement { streams: streams.clone(), ..Announcement::default() };
        let mut near = Carriage::new(STALE, announced, true, Ledger::default(), Room::default());
        let mut far = carriage(Announcement::default());
        let (mut packets, mut arrived) = (0, Vec::new());
        for n in 0..40_u64 {
            let now = ms(n * 100);
            for value in 0..10 {
                near.ledger().on_sent();
                let payload = format!(r#"{{"name": "{value}", "value": {n:02}}}"#);
                near.take(now, Flow { port: value % 3, number: 0 }, payload.as_bytes());
            }
            if n == 30 {
                // Values that nothing replaces, and media that leave after them.
                near.ledger().on_sent();
                near.take(now, Flow { port: 3, number: 0 }, &[3; 800]);
            }
            let mut room = usize::from(n % 2 == 0) * (if n == 0 || n > 30 { 32 } else { 1 });
            let transport = |bytes: Bytes, _, _| {
                if room == 0 {
                    return Ok::<_, ()>(Handed::Later);
                }
                room -= 1;
                packets += 1;
                let first = far.receive(now, bytes, false);
                arrived.extend(first.into_iter().chain(std::iter::from_fn(|| far.further(now))));
                Ok(Handed::Accepted)
            };
            assert_eq!(near.send(now, 32, || None, transport), Ok(()));
            let answer = |bytes: Bytes, _, _| {
                // An earlier version ends its report before.
                let is_report = bytes[..HEADER] == [report::HEADER.port, report::HEADER.number];
                let end = bytes.len() - if is_report && !knows { 8 } else { 0 };
                drop(near.receive(now, bytes.slice(..end), false));
                Ok::<_, ()>(Handed::Accepted)
            };
            assert_eq!(far.send(now, 32, || None, answer), Ok(()));
        }
        let commands: Vec<_> = arrived.iter().filter(|arrival| arrival.flow.port == 1).collect();
        assert!(commands.is_sorted_by_key(|arrival| &arrival.payload[20..]), "in their order");
        let account = near.ledger().sums().to_peer;
        assert!(account.lost[Reason::Superseded] > 0 && account.delivered > 100, "{account:?}");
        let count = (packets, arrived.len());
        assert!(
            if knows { count.0 < 40 && count.1 > 220 } else { count.0 > 140 && count.1 < 160 },
            "{count:?}"
        );
    }
}

/// Telemetry's rate is not for the encoder.
#[test]
fn the_rate_of_values_is_measured() {
    let values =
        Announcement { streams: vec!["newest".parse().expect("a stream")], ..Announcement::default() };
    let mut near = carriage(values);
    for n in 0..600 {
        near.take(ms(n * 10), FLOW, &[7; 100]);
        let accept = |_, _, _| Ok::<_, ()>(Handed::Accepted);
        assert_eq!(near.send(ms(n * 10), 32, || None, accept), Ok(()));
        near.update(ms(n * 10), None);
    }
    // 100 datagrams of 102 bytes a second, and what is around them.
    assert!((108e3..111e3).contains(&near.urgent_bps()), "{}", near.urgent_bps());
    (600..1200).for_each(|n| near.update(ms(n * 10), None));
    assert!(near.urgent_bps() < 1e3);
}
