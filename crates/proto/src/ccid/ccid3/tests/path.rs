//! Changes of path: the state of the half-connections afterwards.

use super::*;
use crate::{PathChange, PathId};

const HOME: PathId = PathId(1);
const AWAY: PathId = PathId(2);

/// A sender at work for 20 s on a path that loses every `n`th data packet.
fn at_work(n: u64) -> Pair {
    let mut pair = Pair::connected(config(all()));
    lose_every(&mut pair, n);
    send_greedily(&mut pair, End::Client, Duration::from_secs(20));
    pair
}

fn lose_every(pair: &mut Pair, n: u64) {
    let mut count = 0;
    pair.lose(move |sent| {
        count += u64::from(sent.from == End::Client && sent.packet.packet_type().carries_data());
        count % n == 0 && sent.packet.packet_type() == PacketType::Data
    });
}

fn change(pair: &mut Pair, end: End, change: PathChange, from: PathId, to: PathId) {
    let now = pair.now;
    pair.end(end).path_changed_between(now, change, from, to);
}

fn rate(snapshot: &SenderSnapshot) -> f64 {
    snapshot.allowed_rate.expect("CCID 3 has one").as_bytes_per_second()
}

#[test]
fn a_path_that_is_kept_changes_nothing() {
    let mut pair = at_work(50);
    let before = [pair.client.snapshot(), pair.server().snapshot()];
    for end in [End::Client, End::Server] {
        change(&mut pair, end, PathChange::Keep, HOME, AWAY);
    }
    assert_eq!([pair.client.snapshot(), pair.server().snapshot()], before);
}

#[test]
fn a_path_that_is_reset_is_like_that_of_a_new_connection() {
    let mut pair = at_work(50);
    assert!(pair.client.snapshot().sender.loss_event_rate > Some(0.005));
    change(&mut pair, End::Client, PathChange::Reset, HOME, AWAY);
    let sender = pair.client.snapshot();
    // RFC 5348, Section 4.2: without a round-trip time one segment per second.
    assert_eq!((sender.rtt, sender.sender.rtt), (None, None));
    assert_eq!(rate(&sender.sender), SIZE as f64);
    assert_eq!(sender.sender.loss_event_rate, Some(0.0));
    change(&mut pair, End::Server, PathChange::Reset, HOME, AWAY);
    assert_eq!(pair.server().snapshot().receiver.loss_event_rate, Some(0.0));
    // Without further losses, the rate doubles every round-trip time from then on.
    pair.deliver_all();
    send_greedily(&mut pair, End::Client, Duration::from_secs(3));
    let after = pair.client.snapshot();
    assert_eq!(after.state, crate::State::Open);
    assert_eq!(after.sender.loss_event_rate, Some(0.0));
    assert!(after.rtt.is_some_and(|rtt| rtt >= RTT && rtt < RTT * 2), "{:?}", after.rtt);
    assert!(rate(&after.sender) > 100.0 * SIZE as f64, "{}", rate(&after.sender));
}

#[test]
fn ends_notified_at_different_times_agree_again() {
    // Under way between the two are feedback about the old path and Loss Intervals of the old history.
    for late in [0, 10, 75, 150, 400, 1_000] {
        for first in [End::Client, End::Server] {
            let mut pair = at_work(50);
            let second = if first == End::Client { End::Server } else { End::Client };
            change(&mut pair, first, PathChange::Reset, HOME, AWAY);
            send_greedily(&mut pair, End::Client, Duration::from_millis(late));
            change(&mut pair, second, PathChange::Reset, HOME, AWAY);
            lose_every(&mut pair, 200);
            send_greedily(&mut pair, End::Client, Duration::from_secs(40));
            let (client, server) = (pair.client.snapshot(), pair.server().snapshot());
            let (p, reported) =
                (server.receiver.loss_event_rate.unwrap(), client.sender.loss_event_rate.unwrap());
            // Every 200th of the data, each its own loss event, as 200 take longer than a round trip at that
            // rate or not much less.
            assert!((0.003..0.007).contains(&p), "{first:?} first, {late} ms: p {p}");
            assert!(
                (reported / p - 1.0).abs() < 0.25,
                "{first:?} first, {late} ms: {reported} reported, {p} measured"
            );
        }
    }
}

#[test]
fn a_path_that_is_restored_begins_with_half_of_what_it_carried() {
    // 38 packets per round-trip time (RFC 5348, Section 3.1): half of that is more than the initial rate.
    let mut pair = at_work(1000);
    let (home, away) = (pair.client.snapshot(), pair.server().snapshot());
    for end in [End::Client, End::Server] {
        change(&mut pair, end, PathChange::Restore, HOME, AWAY);
    }
    // Nothing is known of the other one.
    assert_eq!(pair.client.snapshot().rtt, None);
    lose_every(&mut pair, 500);
    send_greedily(&mut pair, End::Client, Duration::from_secs(10));
    for end in [End::Client, End::Server] {
        change(&mut pair, end, PathChange::Restore, AWAY, HOME);
    }
    let back = pair.client.snapshot();
    assert_eq!(back.rtt, home.rtt);
    assert!(rate(&home.sender) > 2.0 * 146_000.0);
    assert!((rate(&back.sender) / rate(&home.sender) - 0.5).abs() < 1e-9);
    // The first packets do not undo it.
    send_greedily(&mut pair, End::Client, Duration::from_millis(20));
    assert!(rate(&pair.client.snapshot().sender) >= rate(&back.sender));
    // With the first loss the history is what it was: the interval before it is the average of then,
    // regardless of the rate since.
    let p = away.receiver.loss_event_rate.unwrap();
    lose_every(&mut pair, 10);
    while pair.server().snapshot().receiver.loss_event_rate == Some(0.0) {
        send_greedily(&mut pair, End::Client, Duration::from_millis(20));
    }
    let after = pair.server().snapshot().receiver.loss_event_rate.unwrap();
    assert!((after / p - 1.0).abs() < 0.03, "{p} before, {after} after the first loss");
}

#[test]
fn four_paths_are_remembered_and_not_more() {
    let mut pair = at_work(50);
    let rtt = pair.client.snapshot().rtt;
    let go = |pair: &mut Pair, from, to| {
        change(pair, End::Client, PathChange::Restore, PathId(from), PathId(to));
        pair.client.snapshot().rtt
    };
    for path in 1..=4 {
        assert_eq!(go(&mut pair, path, path + 1), None);
    }
    // Paths 1 to 4 were left, and 5 now: 1 is the oldest.
    let mut other = at_work(50);
    for path in 1..=3 {
        go(&mut other, path, path + 1);
    }
    assert_eq!(go(&mut other, 4, 1), rtt);
    assert_eq!(go(&mut pair, 5, 1), None);
}

#[test]
fn the_capacity_of_the_local_link_limits_the_rate_if_the_configuration_asks_for_it() {
    let capacity = DataRate::from_bytes_per_second(20.0 * SIZE as f64);
    let estimate = Some(crate::LinkEstimate { capacity, available: DataRate::ZERO });
    for (is_capped, most) in [(true, 20.0), (false, 1e9)] {
        let mut config = config(all());
        config.tune_tfrc(|tfrc| tfrc.link_cap = is_capped);
        let mut pair = Pair::connected(config);
        let now = pair.now;
        pair.client.set_link_estimate(now, estimate);
        send_greedily(&mut pair, End::Client, Duration::from_secs(5));
        let found = rate(&pair.client.snapshot().sender) / SIZE as f64;
        assert!(found <= most + 1e-6 && found >= 20.0 - 1e-6, "{found} packets per second");
        let now = pair.now;
        pair.client.set_link_estimate(now, None);
        send_greedily(&mut pair, End::Client, Duration::from_secs(3));
        let found = rate(&pair.client.snapshot().sender) / SIZE as f64;
        assert!(found > 100.0, "{found} packets per second without an estimate");
    }
}
