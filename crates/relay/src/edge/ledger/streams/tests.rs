//! Streams of two ends without a path between them.

use super::*;

const VIDEO: StreamId = StreamId { port: 1, lane: Lane::Media };
const LOGS: StreamId = StreamId { port: 2, lane: Lane::Bulk };

fn pass(from: &Ledger, to: &Ledger) -> Option<Bytes> {
    let report = from.stream_report()?;
    let (flow, rest) = Flow::unwrap(report.clone()).expect("a header");
    assert_eq!(flow, HEADER);
    to.on_stream_report(rest, report.len());
    Some(report)
}

fn of(ledger: &Ledger, id: StreamId, direction: Direction) -> StreamFigures {
    let all = ledger.streams(Some(Duration::from_millis(40)));
    let found =
        all.iter().find(|it| (it.port, it.lane, it.direction) == (id.port, id.lane.name(), direction));
    *found.expect("figures")
}

/// A stream whose lane a user has named arrives as the lane that the other end recognizes.
#[test]
fn both_ends_have_the_figures_of_each_stream() {
    let (near, far) = (Ledger::default(), Ledger::default());
    for n in 0..10 {
        for (id, is_whole) in [(VIDEO, false), (LOGS, true)] {
            near.on_classified(id, is_whole);
            near.on_handed_of(id, Duration::from_millis(if id == LOGS { 500 } else { 10 }));
            // The path loses two of the video, and one of the logs.
            if n >= if id == LOGS { 1 } else { 2 } {
                far.on_arrived_of(StreamId { lane: Lane::Media, ..id });
            }
        }
    }
    near.on_classified(VIDEO, false);
    near.lose_of(VIDEO, Reason::Stale, 1);
    far.lose_arrived(LOGS.port, Reason::Refused, 3);
    assert_eq!(of(&near, VIDEO, Direction::ToPeer).delivered, None);
    assert!(pass(&near, &far).is_some() && pass(&far, &near).is_some());
    for (ledger, direction) in [(&near, Direction::ToPeer), (&far, Direction::FromPeer)] {
        let (video, logs) = (of(ledger, VIDEO, direction), of(ledger, LOGS, direction));
        let stale = if direction == Direction::ToPeer { 1 } else { 0 };
        assert_eq!((video.sent, video.delivered, video.lost[Reason::Stale]), (10 + stale, Some(8), stale));
        assert_eq!((video.lost[Reason::Path], video.lost.sum()), (2, 2 + stale));
        assert_eq!((logs.sent, logs.delivered), (10, Some(6)));
        assert_eq!((logs.lost[Reason::Path], logs.lost[Reason::Refused]), (1, 3));
        let delay = |it: &StreamFigures| (it.delay_s.expect("a delay") * 1e3).round() as u64;
        assert_eq!((delay(&video), delay(&logs)), (30, 520));
    }
    // The connection ends: the fate of what is on the way is not known, and the sums go on.
    near.on_classified(VIDEO, false);
    near.on_handed_of(VIDEO, Duration::ZERO);
    near.end_connection(0);
    let video = of(&near, VIDEO, Direction::ToPeer);
    assert_eq!((video.sent, video.delivered, video.lost[Reason::Ended]), (12, Some(8), 1));
}

/// More streams than a report has room for are told in several, and more than that have no figures.
#[test]
fn many_streams_take_turns_and_are_limited() {
    let (near, far) = (Ledger::default(), Ledger::default());
    for port in 0..60 {
        let id = StreamId { port, lane: Lane::Media };
        near.on_classified(id, false);
        near.on_handed_of(id, Duration::ZERO);
        far.on_arrived_of(id);
    }
    pass(&near, &far);
    for round in 1..=3 {
        let report = pass(&far, &near).expect("a report");
        assert!(report.len() < 500);
        let known = near.streams(None).iter().filter(|it| it.delivered == Some(1)).count();
        assert_eq!(known, (round * MOST_ANSWERS).min(MOST));
    }
}

#[test]
fn what_a_peer_claims_overflows_nothing_and_changes_no_more_than_its_figures() {
    let ledger = Ledger::default();
    ledger.on_classified(VIDEO, false);
    ledger.on_handed_of(VIDEO, Duration::ZERO);
    for byte in [0, 1, 0x7f, 0xff] {
        for length in 0..120 {
            let mut report = vec![byte; length];
            ledger.on_stream_report(report.clone().into(), length);
            // One stream, and the bytes that follow.
            for (at, it) in [2, 1, 2, 0].into_iter().enumerate().take(length) {
                report[at] = it;
            }
            ledger.on_stream_report(report.into(), length);
            for it in ledger.streams(None) {
                assert!(it.delivered.unwrap_or(0) + it.lost.sum() <= it.sent, "{it:?}");
            }
        }
    }
    let answer = |of_sent: u64, arrived: u64, lost: u64| {
        let mut bytes = vec![0, VIDEO.port, VIDEO.lane as u8];
        [of_sent, arrived, lost, lost, lost].iter().for_each(|it| bytes.extend(it.to_be_bytes()));
        ledger.on_stream_report(bytes.into(), 0);
        of(&ledger, VIDEO, Direction::ToPeer)
    };
    // More than was sent is none, and more than arrived was not lost there.
    assert_eq!(answer(2, 2, 0).delivered, None);
    let told = answer(1, u64::MAX, u64::MAX);
    assert_eq!((told.delivered, told.lost.sum()), (Some(0), 1));
}
