//! Path MTU discovery on connections (RFC 4340, Section 14; RFC 8899).

use std::cell::Cell;
use std::rc::Rc;

use whimbrel_units::Duration;
use whimbrel_wire::{PacketType, Payload};

use super::pair::{End, Pair, config};
use crate::config::PathMtuDiscovery;
use crate::{Ccid, Config, Datagram, Event, PathChange, PathId, PathMtuPhase};

/// A pair on a path that carries packets of as many bytes as the cell says, towards the server.
fn on_path(config: Config, carries: usize) -> (Pair, Rc<Cell<usize>>) {
    let limit = Rc::new(Cell::new(carries));
    let mut pair = Pair::new(config);
    let carried = limit.clone();
    pair.lose(move |sent| sent.from == End::Client && sent.packet.encoded_len() > carried.get());
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_millis(200));
    pair.send(End::Server, 0);
    pair.run_for(Duration::from_millis(100));
    (pair, limit)
}

fn probing(path_mtu: PathMtuDiscovery) -> Config {
    Config { path_mtu, ..config(Duration::from_millis(10)) }
}

fn probes(pair: &Pair, end: End) -> Vec<usize> {
    let syncs = pair.sent_by(end, PacketType::Sync);
    syncs
        .iter()
        .filter(|sent| !sent.packet.payload.is_empty())
        .map(|sent| sent.packet.encoded_len())
        .collect()
}

fn send(pair: &mut Pair, length: u32) -> bool {
    let datagram = Datagram::new(Payload::Opaque { length, tag: 1 });
    pair.client.send(pair.now, datagram).is_ok()
}

fn arrived(pair: &Pair) -> usize {
    pair.server_events.iter().filter(|event| matches!(event, Event::Datagram { .. })).count()
}

#[test]
fn both_ends_probe_and_learn_that_everything_fits() {
    let (mut pair, _) = on_path(probing(PathMtuDiscovery::FromBase), 1500);
    pair.run_for(Duration::from_secs(2));
    for end in [End::Client, End::Server] {
        assert_eq!(probes(&pair, end), [1200, 1452], "{end:?}");
        let snapshot = pair.end(end).snapshot();
        assert_eq!((snapshot.max_datagram, snapshot.path_mtu), (1400, Some(PathMtuPhase::Complete)));
        assert_eq!((snapshot.statistics.path_probes_sent, snapshot.statistics.syncs_sent), (2, 0));
    }
    let change = |max_datagram| Event::MaxDatagramChanged { max_datagram };
    let changes: Vec<_> =
        pair.client_events.iter().filter(|event| matches!(event, Event::MaxDatagramChanged { .. })).collect();
    assert_eq!(changes, [&change(1148), &change(1400)]);
    // Nothing is sent for its sake while nothing else is.
    pair.forget();
    pair.run_for(Duration::from_secs(3600));
    assert!(pair.sent.is_empty());
}

#[test]
fn a_path_with_a_small_mtu_is_found_and_accepted_datagrams_arrive() {
    let (mut pair, _) = on_path(probing(PathMtuDiscovery::FromBase), 1300);
    pair.run_for(Duration::from_secs(30));
    let limit = pair.client.snapshot().max_datagram as u32;
    assert!(limit as usize > 1300 - 52 - 17, "{limit}");
    assert!(!send(&mut pair, limit + 1));
    assert!(send(&mut pair, limit));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(arrived(&pair), 1);
}

#[test]
fn a_path_that_narrows_costs_some_seconds_of_datagrams() {
    let (mut pair, limit) = on_path(probing(PathMtuDiscovery::FromLargest), 1500);
    pair.run_for(Duration::from_secs(2));
    limit.set(1250);
    let mut first = None;
    for tick in 0..1000 {
        let size = pair.client.snapshot().max_datagram as u32;
        assert!(send(&mut pair, size));
        pair.run_for(Duration::from_millis(10));
        first = first.or((arrived(&pair) > 0).then_some(tick));
    }
    let first = first.expect("the connection recovers") * 10;
    assert!(first <= 8_000 && arrived(&pair) > 100, "{first} ms");
    assert!(pair.client.snapshot().max_datagram <= 1250 - 52);
    // Queued datagrams now too large are not sent any more.
    let last = pair.sent_by(End::Client, PacketType::Data);
    assert!(last.iter().rev().take(50).all(|sent| sent.packet.encoded_len() <= 1250));
}

#[test]
fn every_ccid_survives_a_black_hole() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let config = Config {
            sender_ccids: [ccid].into(),
            receiver_ccids: [ccid].into(),
            path_mtu: PathMtuDiscovery::FromLargest,
            ..Config::default()
        };
        let (mut pair, limit) = on_path(config, 1500);
        pair.run_for(Duration::from_secs(2));
        limit.set(1250);
        for _ in 0..3000 {
            let size = pair.client.snapshot().max_datagram as u32;
            send(&mut pair, size);
            pair.run_for(Duration::from_millis(20));
        }
        pair.server_events.clear();
        for _ in 0..500 {
            let size = pair.client.snapshot().max_datagram as u32;
            send(&mut pair, size);
            pair.run_for(Duration::from_millis(20));
        }
        assert!(arrived(&pair) > 10, "{ccid}: {}", arrived(&pair));
    }
}

#[test]
fn a_sender_that_always_has_data_finds_the_time_to_probe() {
    // A datagram may leave every 9.973 ms: hardly ever at a round-trip time after another instant.
    let interval = Duration::from_micros(9_973);
    let (mut pair, _) = on_path(Config { path_mtu: PathMtuDiscovery::FromBase, ..config(interval) }, 1500);
    for _ in 0..500 {
        for _ in 0..2 {
            send(&mut pair, 100);
        }
        pair.run_for(Duration::from_millis(10));
    }
    let seen = pair.client.snapshot();
    assert_eq!((seen.max_datagram, seen.path_mtu), (1400, Some(PathMtuPhase::Complete)));
    assert_eq!(probes(&pair, End::Client), [1200, 1452]);
}

#[test]
fn it_is_off_unless_asked_for() {
    for off in [PathMtuDiscovery::Automatic, PathMtuDiscovery::Off] {
        let (mut pair, _) = on_path(probing(off), 1000);
        pair.run_for(Duration::from_secs(100));
        assert!(probes(&pair, End::Client).is_empty());
        assert_eq!(pair.client.snapshot().path_mtu, None);
    }
}

#[test]
fn probes_keep_to_the_congestion_control_and_to_a_rate() {
    // One datagram per minute is all that may go.
    let slow = Config { path_mtu: PathMtuDiscovery::FromBase, ..config(Duration::from_secs(60)) };
    let (mut pair, _) = on_path(slow, 1300);
    pair.run_for(Duration::from_secs(1));
    assert!(send(&mut pair, 100));
    pair.run_for(Duration::from_secs(50));
    let sent = pair.sent_by(End::Client, PacketType::Sync);
    let times: Vec<_> = sent.iter().map(|sent| sent.at).collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(100), "not more than one per round-trip time");
    }
    assert!(times.len() < 25, "{}", times.len());
}

/// RFC 8899, Section 3, item 8.
#[test]
fn probes_that_get_lost_are_no_sign_of_congestion() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::TFRC_SP] {
        let config = Config {
            sender_ccids: [ccid].into(),
            receiver_ccids: [ccid].into(),
            path_mtu: PathMtuDiscovery::FromBase,
            ..Config::default()
        };
        let (mut pair, _) = on_path(config, 1300);
        for _ in 0..1000 {
            send(&mut pair, 100);
            pair.run_for(Duration::from_millis(20));
        }
        let lost = probes(&pair, End::Client).iter().filter(|size| **size > 1300).count();
        assert!(lost >= 6, "{lost}");
        let (sender, receiver) = (pair.client.snapshot().sender, pair.server().snapshot().receiver);
        assert_eq!((sender.lost, receiver.lost), (0, 0), "{ccid}");
        assert_eq!(sender.loss_event_rate.unwrap_or(0.0), 0.0, "{ccid}");
    }
}

/// Before the connection is open nothing is discovered. The size that a host or router gives is tried later,
/// and is no limit.
#[test]
fn advice_from_the_time_of_the_handshake_does_not_limit_the_discovery() {
    for discovery in [PathMtuDiscovery::FromBase, PathMtuDiscovery::FromLargest] {
        // The least MTU of IPv6; a router's limit that is true; one that is below what the path carries; one
        // that is no use.
        for (named, carries) in [(None, 1264), (Some(1212), 1264), (Some(1100), 1264), (Some(100), 1400)] {
            let mut pair = Pair::new(probing(discovery));
            pair.lose(move |sent| sent.from == End::Client && sent.packet.encoded_len() > carries);
            pair.client.connect(pair.now);
            match named {
                Some(limit) => pair.client.set_max_datagram(pair.now, limit),
                None => pair.client.handle_too_large(pair.now, 1180),
            }
            pair.run_for(Duration::from_millis(200));
            pair.send(End::Server, 0);
            pair.run_for(Duration::from_secs(40));
            let found = pair.client.snapshot().max_datagram + 52;
            assert!(
                found <= carries && found + 16 >= carries,
                "{discovery:?}, {named:?}: {found} of {carries}"
            );
        }
    }
}

/// Datagrams of the largest size, one every 10 ms, over a change of path: how many of the first hundred
/// arrive, the time of the first, and the number refused or dropped.
fn over_a_change(change: PathChange, before: usize, after: usize) -> (usize, Duration, u64, usize) {
    let (mut pair, limit) = on_path(probing(PathMtuDiscovery::FromLargest), before);
    for _ in 0..3000 {
        let size = pair.client.snapshot().max_datagram as u32;
        send(&mut pair, size);
        pair.run_for(Duration::from_millis(10));
    }
    limit.set(after);
    pair.server_events.clear();
    let dropped = pair.client.snapshot().statistics.datagrams_dropped;
    let start = pair.now;
    // Packets in flight arrive by the old path.
    pair.run_for(Duration::from_millis(100));
    pair.server_events.clear();
    let now = pair.now;
    pair.client.path_changed(now, change);
    let mut first = Duration::MAX;
    for _ in 0..100 {
        let size = pair.client.snapshot().max_datagram as u32;
        assert!(send(&mut pair, size));
        pair.run_for(Duration::from_millis(10));
        if first == Duration::MAX && arrived(&pair) > 0 {
            first = pair.now - start;
        }
    }
    let snapshot = pair.client.snapshot();
    let statistics = snapshot.statistics;
    assert_eq!(statistics.datagrams_too_large, statistics.datagrams_dropped, "nothing else was dropped");
    (arrived(&pair), first, statistics.datagrams_dropped - dropped, snapshot.max_datagram)
}

#[test]
fn another_path_is_tried_within_round_trips_and_an_equal_one_costs_nothing() {
    for change in [PathChange::Keep, PathChange::Reset, PathChange::Restore] {
        // From, to; the most that are lost and the longest silence, in ms, at a round-trip time of 100 ms.
        let cases =
            [(1500, 1500, 0, 300), (1500, 1300, 20, 400), (1500, 1000, 60, 800), (1300, 1500, 0, 300)];
        for (before, after, most_dropped, longest) in cases {
            let (arrived, first, dropped, max) = over_a_change(change, before, after);
            assert!(
                first <= Duration::from_millis(longest),
                "{change:?} {before} {after}: first after {first}"
            );
            assert!(dropped <= most_dropped, "{change:?} {before} {after}: {dropped}");
            assert!(
                max + 52 <= after.min(1452) && max + 52 + 200 > after.min(1452),
                "{change:?} {before} {after}: {max}"
            );
            assert!(arrived >= 100 - longest as usize / 10 - 10, "{change:?} {before} {after}: {arrived}");
        }
    }
}

#[test]
fn an_outage_at_a_change_of_path_does_not_narrow_it() {
    for change in [PathChange::Keep, PathChange::Reset] {
        let (mut pair, limit) = on_path(probing(PathMtuDiscovery::FromLargest), 1500);
        pair.run_for(Duration::from_secs(2));
        limit.set(0);
        let now = pair.now;
        pair.client.path_changed(now, change);
        for _ in 0..600 {
            send(&mut pair, 1400);
            pair.run_for(Duration::from_millis(100));
        }
        limit.set(1500);
        // The next round of probes comes within 15 s.
        pair.run_for(Duration::from_secs(16));
        assert_eq!(pair.client.snapshot().max_datagram, 1400);
        pair.server_events.clear();
        assert!(send(&mut pair, 1400));
        pair.run_for(Duration::from_secs(2));
        assert!(arrived(&pair) >= 1);
    }
}

/// A driver may report changes of path as long as it owns the connection, in TIMEWAIT as well.
#[test]
fn after_the_end_the_path_is_no_longer_reported() {
    let (mut pair, limit) = on_path(probing(PathMtuDiscovery::FromBase), 1_300);
    pair.run_for(Duration::from_secs(2));
    let names = (PathId(1), PathId(2));
    pair.client.path_changed_between(pair.now, PathChange::Restore, names.0, names.1);
    limit.set(1_500);
    pair.run_for(Duration::from_secs(2));
    pair.client.close(pair.now);
    pair.run_for(Duration::from_millis(300));
    let ends = |event: &Event| matches!(event, Event::Closed(_));
    let end = pair.client_events.iter().position(ends).expect("an end");
    pair.client.path_changed_between(pair.now, PathChange::Restore, names.1, names.0);
    pair.client.path_changed(pair.now, PathChange::Reset);
    pair.client.set_max_datagram(pair.now, 600);
    pair.client.handle_too_large(pair.now, 700);
    pair.run_for(Duration::from_millis(10));
    assert_eq!(pair.client_events[end + 1..], []);
}
