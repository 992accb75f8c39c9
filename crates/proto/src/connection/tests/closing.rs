//! From OPEN to CLOSED (RFC 4340, Section 8.3).

use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Close, CloseReq, Data, DataAck, Reset};
use whimbrel_wire::{Kind, PacketType, ResetCode};

use super::pair::{End, Pair, SentPacket, config, datagram};
use crate::config::TimerConfig;
use crate::{Config, ConnectionError, DropReason, Event, SendError, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn code(sent: &SentPacket) -> ResetCode {
    match sent.packet.kind {
        Kind::Reset { reset, .. } => reset.code,
        _ => panic!("{sent:?} is no Reset"),
    }
}

fn times(pair: &Pair, from: End, packet_type: PacketType) -> Vec<u64> {
    let sent = pair.sent_by(from, packet_type);
    sent.iter().map(|packet| (packet.at - sent[0].at).as_millis()).collect()
}

/// The end of a list of events, without those about feature values.
fn ending(events: &[Event]) -> Vec<Event> {
    events.iter().filter(|event| matches!(event, Event::Closed(_) | Event::Drained)).cloned().collect()
}

#[test]
fn a_client_closes_with_close_and_reset_and_keeps_timewait() {
    let mut pair = Pair::connected(free());
    pair.client.close(pair.now);
    pair.run_for(millis(60));
    assert_eq!(pair.client.state(), State::Closing);
    assert_eq!(pair.server().state(), State::Closed);
    pair.run_for(millis(60));
    assert_eq!(pair.types(), [(End::Client, Close), (End::Server, Reset)]);
    assert_eq!(code(&pair.sent[1]), ResetCode::Closed);
    assert_eq!(pair.client.state(), State::TimeWait);
    let reset_at = pair.sent[1].at + millis(50);
    assert_eq!(pair.client.poll_timeout(), Some(reset_at + Duration::from_secs(240)), "two MSL");
    pair.drive_bounded();
    assert_eq!(pair.now, reset_at + Duration::from_secs(240));
    assert_eq!(pair.client.state(), State::Closed);
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::ClosedLocally), Event::Drained]);
    assert_eq!(ending(&pair.server_events), [Event::Closed(ConnectionError::ClosedByPeer), Event::Drained]);
}

#[test]
fn a_server_closes_with_closereq_and_the_client_keeps_timewait() {
    let mut pair = Pair::connected(free());
    let now = pair.now;
    pair.server_mut().close(now);
    pair.run_for(millis(200));
    assert_eq!(pair.types(), [(End::Server, CloseReq), (End::Client, Close), (End::Server, Reset)]);
    assert_eq!(pair.client.state(), State::TimeWait);
    assert_eq!(pair.server().state(), State::Closed);
    assert_eq!(ending(&pair.server_events), [Event::Closed(ConnectionError::ClosedLocally), Event::Drained]);
    pair.drive_bounded();
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::ClosedByPeer), Event::Drained]);
}

#[test]
fn a_server_that_keeps_timewait_itself_sends_close() {
    let mut pair = Pair::connected(Config { server_sends_close_request: false, ..free() });
    let now = pair.now;
    pair.server_mut().close(now);
    pair.run_for(millis(200));
    assert_eq!(pair.types(), [(End::Server, Close), (End::Client, Reset)]);
    assert_eq!(pair.server().state(), State::TimeWait);
    assert_eq!(pair.client.state(), State::Closed);
}

#[test]
fn both_ends_may_close_at_once() {
    let mut pair = Pair::connected(Config { server_sends_close_request: false, ..free() });
    let now = pair.now;
    pair.client.close(now);
    pair.server_mut().close(now);
    pair.drive_bounded();
    let resets = [(End::Server, Reset), (End::Client, Reset)];
    assert_eq!(pair.types(), [[(End::Client, Close), (End::Server, Close)], resets].concat());
    for events in [&pair.client_events, &pair.server_events] {
        assert_eq!(ending(events), [Event::Closed(ConnectionError::ClosedLocally), Event::Drained]);
    }
}

#[test]
fn a_closereq_that_meets_a_close_changes_nothing() {
    let mut pair = Pair::connected(free());
    let now = pair.now;
    pair.client.close(now);
    pair.server_mut().close(now);
    pair.run_for(millis(140));
    // The client is in CLOSING already and the server in CLOSEREQ has its Close.
    assert_eq!(pair.types(), [(End::Client, Close), (End::Server, CloseReq), (End::Server, Reset)]);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn close_is_repeated_after_two_round_trip_times_backing_off_to_64_s() {
    let mut pair = Pair::connected(free());
    pair.lose(|_| true);
    pair.client.close(pair.now);
    let start = pair.now;
    pair.drive_bounded();
    let times = times(&pair, End::Client, Close);
    assert_eq!(times[..5], [0, 200, 600, 1400, 3000]);
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap <= 64_000));
    assert_eq!(gaps.last(), Some(&64_000));
    // After four maximum segment lifetimes the connection no longer exists.
    let last = pair.sent.last().unwrap();
    assert_eq!((last.at, code(last)), (start + Duration::from_secs(480), ResetCode::Aborted));
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::TimedOut), Event::Drained]);
}

#[test]
fn closereq_is_repeated_like_close() {
    let mut pair = Pair::connected(free());
    pair.lose(|_| true);
    let now = pair.now;
    pair.server_mut().close(now);
    pair.run_for(Duration::from_secs(4));
    assert_eq!(times(&pair, End::Server, CloseReq), [0, 200, 600, 1400, 3000]);
    assert_eq!(pair.server().state(), State::CloseReq);
}

#[test]
fn a_lost_reset_is_made_good_by_reset_3_to_the_next_close() {
    let mut pair = Pair::connected(free());
    let mut lost = false;
    pair.lose(move |sent| sent.packet.packet_type() == Reset && !core::mem::replace(&mut lost, true));
    pair.client.close(pair.now);
    pair.run_for(Duration::from_secs(1));
    let resets = pair.sent_by(End::Server, Reset);
    assert_eq!(
        resets.iter().map(|sent| code(sent)).collect::<Vec<_>>(),
        [ResetCode::Closed, ResetCode::NoConnection]
    );
    assert_eq!(pair.client.state(), State::TimeWait);
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::ClosedLocally)]);
}

#[test]
fn closing_waits_for_the_queue() {
    let mut pair = Pair::connected(config(millis(100)));
    for tag in 1..=5 {
        pair.send(End::Client, tag);
    }
    pair.client.close(pair.now);
    assert_eq!(pair.client.send(pair.now, datagram(6)), Err(SendError::Closed));
    pair.run_for(millis(350));
    assert_eq!(pair.client.state(), State::Open);
    assert_eq!(pair.client.snapshot().queued_datagrams, 1);
    pair.run_for(millis(500));
    assert_eq!(pair.received(End::Server), [1, 2, 3, 4, 5]);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn closing_waits_for_a_blocked_queue_no_longer_than_its_deadlines() {
    let mut pair = Pair::connected_with(config(Duration::MAX), free());
    let deadline = pair.now + millis(700);
    let id = pair.client.send(pair.now, datagram(1).with_deadline(deadline)).unwrap();
    pair.client.close(pair.now);
    pair.run_until(deadline.saturating_sub(millis(1)));
    assert_eq!(pair.client.state(), State::Open);
    pair.run_for(millis(1));
    assert_eq!(pair.client.state(), State::Closing);
    assert!(pair.client_events.contains(&Event::DatagramDropped { id, reason: DropReason::Expired }));
}

#[test]
fn closing_waits_for_a_blocked_queue_without_deadlines_no_longer_than_four_msl() {
    let mut pair = Pair::connected_with(config(Duration::MAX), free());
    pair.send(End::Client, 1);
    pair.client.close(pair.now);
    let start = pair.now;
    pair.drive_bounded();
    let reset = pair.sent_by(End::Client, Reset)[0];
    assert_eq!((reset.at, code(reset)), (start + Duration::from_secs(480), ResetCode::Aborted));
}

#[test]
fn a_close_request_leaves_no_time_for_the_queue() {
    let mut pair = Pair::connected(config(millis(100)));
    for tag in 1..=5 {
        pair.send(End::Client, tag);
    }
    let now = pair.now;
    pair.server_mut().close(now);
    pair.run_for(millis(60));
    assert_eq!(pair.client.state(), State::Closing);
    let dropped = pair
        .client_events
        .iter()
        .filter(|event| matches!(event, Event::DatagramDropped { reason: DropReason::ConnectionEnded, .. }));
    assert_eq!(dropped.count(), 4);
    // Data in flight when the server asked still gets through.
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Server), [1]);
}

#[test]
fn an_abort_resets_at_once_and_drops_the_queue() {
    let mut pair = Pair::connected(config(millis(100)));
    pair.send(End::Client, 1);
    pair.drain();
    pair.send(End::Client, 2);
    pair.client.abort(pair.now);
    pair.run_for(millis(60));
    assert_eq!(pair.types(), [(End::Client, Data), (End::Client, Reset)]);
    assert_eq!(code(&pair.sent[1]), ResetCode::Aborted);
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::AbortedLocally), Event::Drained]);
    assert_eq!(pair.server().state(), State::TimeWait);
    let error = Event::Closed(ConnectionError::Reset(whimbrel_wire::Reset::new(ResetCode::Aborted)));
    assert_eq!(ending(&pair.server_events), [error]);
}

#[test]
fn commands_queue_and_never_emit() {
    let mut pair = Pair::connected(free());
    pair.client.abort(pair.now);
    assert_eq!(pair.client.state(), State::Closed);
    assert!(!pair.client.is_drained(), "the Reset waits");
    assert!(pair.client.poll_transmit(pair.now).is_some());
    assert!(pair.client.is_drained());
}

#[test]
fn closing_before_connecting_ends_in_silence() {
    let mut pair = Pair::new(free());
    pair.client.close(pair.now);
    pair.client.connect(pair.now);
    pair.drive_bounded();
    assert!(pair.sent.is_empty());
    assert_eq!(pair.client_events, [Event::Closed(ConnectionError::ClosedLocally), Event::Drained]);
}

#[test]
fn closing_an_idle_attempt_to_connect_cleans_up_at_the_server() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    pair.client.close(pair.now);
    pair.drain();
    assert_eq!(code(pair.sent.last().unwrap()), ResetCode::Aborted);
    pair.run_for(millis(100));
    assert_eq!(pair.client.state(), State::Closed);
    // The Reset overtook nothing: it acknowledges zero, which the server in RESPOND cannot accept,
    // so it asks, and gets Reset 3.
    assert_eq!(pair.server().state(), State::TimeWait);
}

#[test]
fn what_is_queued_before_a_close_is_sent_even_if_the_handshake_comes_first() {
    let mut pair = Pair::new(free());
    pair.send(End::Client, 1);
    pair.client.connect(pair.now);
    pair.client.close(pair.now);
    pair.drive_bounded();
    assert_eq!(pair.received(End::Server), [1]);
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::ClosedLocally), Event::Drained]);
}

#[test]
fn a_close_from_partopen_completes_the_handshake_and_ends_the_connection() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| sent.packet.packet_type() == PacketType::Ack);
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    assert_eq!(pair.server().state(), State::Respond);
    pair.client.close(pair.now);
    pair.run_for(millis(200));
    assert_eq!(pair.client.state(), State::TimeWait);
    assert_eq!(pair.server().state(), State::Closed);
}

#[test]
fn datagrams_that_arrive_while_closing_are_delivered() {
    let mut pair = Pair::connected(free());
    let now = pair.now;
    pair.server_mut().close(now);
    pair.drain();
    assert_eq!(pair.server().state(), State::CloseReq);
    pair.send(End::Client, 9);
    pair.run_for(millis(60));
    assert_eq!(pair.received(End::Server), [9]);
    assert!(pair.sent_by(End::Client, DataAck).len() + pair.sent_by(End::Client, Data).len() == 1);
}

#[test]
fn an_idle_peer_is_given_up_after_the_configured_time() {
    let timers = TimerConfig { idle: Some(Duration::from_secs(10)), ..TimerConfig::rfc4340() };
    let mut pair = Pair::connected_with(Config { timers, ..free() }, free());
    pair.run_for(Duration::from_secs(5));
    pair.forget();
    assert_eq!(pair.client.state(), State::Open);
    // A packet that shows that the peer is alive.
    pair.send(End::Server, 1);
    pair.run_for(millis(60));
    let received_at = pair.sent[0].at + millis(50);
    pair.lose(|_| true);
    pair.run_for(Duration::from_secs(20));
    let reset = pair.sent_by(End::Client, Reset)[0];
    assert_eq!((reset.at, code(reset)), (received_at + Duration::from_secs(10), ResetCode::Aborted));
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::TimedOut), Event::Drained]);
    assert_eq!(pair.server().state(), State::Open, "which has no such timer");
}

#[test]
fn a_dead_peer_is_noticed_by_default_within_a_minute() {
    for end in [End::Client, End::Server] {
        let mut pair = Pair::connected(Config { timers: TimerConfig::default(), ..free() });
        pair.send(end, 1);
        pair.run_for(millis(60));
        let died = pair.now;
        pair.lose(|_| true);
        pair.run_for(Duration::from_secs(60));
        let reset = pair.sent_by(end, Reset)[0];
        assert!(reset.at - died <= Duration::from_secs(60), "{end:?} {reset:?}");
        let now = pair.now;
        assert_eq!(pair.end(end).send(now, datagram(2)), Err(SendError::Closed), "{end:?}");
        let events = if end == End::Client { &pair.client_events } else { &pair.server_events };
        assert_eq!(ending(events), [Event::Closed(ConnectionError::TimedOut), Event::Drained]);
        // Several Syncs may be lost before that.
        let asked = pair.sent_by(end, PacketType::Sync).iter().filter(|sent| sent.at > died).count();
        assert!((3..=5).contains(&asked), "{end:?}: {asked}");
    }
}

#[test]
fn a_peer_that_merely_has_nothing_to_send_is_not_given_up_whatever_its_configuration() {
    let idle = TimerConfig { idle: Some(Duration::from_secs(10)), ..TimerConfig::rfc4340() };
    for (client, server) in [(idle, TimerConfig::rfc4340()), (TimerConfig::rfc4340(), idle), (idle, idle)] {
        let [client, server] = [client, server].map(|timers| Config { timers, ..free() });
        let mut pair = Pair::connected_with(client, server);
        // Every third packet is lost.
        let mut count = 0;
        pair.lose(move |_| {
            count += 1;
            count % 3 == 0
        });
        pair.run_for(Duration::from_secs(3600));
        assert_eq!((pair.client.state(), pair.server().state()), (State::Open, State::Open));
        // The hour costs few packets.
        assert!(pair.sent.len() < 3600, "{}", pair.sent.len());
    }
}

#[test]
fn closing_takes_no_longer_than_the_configuration_allows() {
    let timers = TimerConfig { close: Some(Duration::from_secs(7)), ..TimerConfig::rfc4340() };
    for end in [End::Client, End::Server] {
        for queued in [0, 1_000] {
            let slow = config(Duration::from_secs(1));
            let mut pair = Pair::connected(Config { timers, ..slow });
            pair.lose(|_| true);
            let began = pair.now;
            for tag in 0..queued {
                pair.end(end).send(began, datagram(tag)).unwrap();
            }
            pair.end(end).close(began);
            pair.run_for(Duration::from_secs(8));
            let reset = pair.sent_by(end, Reset)[0];
            assert_eq!(reset.at - began, Duration::from_secs(7), "{end:?}");
            let events = if end == End::Client { &pair.client_events } else { &pair.server_events };
            assert!(events.contains(&Event::Closed(ConnectionError::TimedOut)), "{end:?}");
            assert!(pair.end(end).is_drained());
        }
    }
}

#[test]
fn an_unreachable_peer_ends_an_attempt_to_close() {
    let mut pair = Pair::connected(free());
    pair.lose(|_| true);
    pair.client.close(pair.now);
    pair.drain();
    pair.client.handle_unreachable(pair.now);
    pair.drain();
    assert_eq!(ending(&pair.client_events), [Event::Closed(ConnectionError::Unreachable), Event::Drained]);
}

#[test]
fn a_connection_in_timewait_answers_with_reset_3_but_never_a_reset() {
    let mut pair = Pair::connected(free());
    pair.client.close(pair.now);
    pair.run_for(millis(200));
    assert_eq!(pair.client.state(), State::TimeWait);
    let last_server = pair.last_sequence(End::Server);
    let last_client = pair.last_sequence(End::Client);
    pair.forget();
    let ack = pair.forge(End::Server, Kind::Ack { ack: last_client }, last_server.next());
    pair.inject(End::Client, ack);
    pair.drain();
    let reset = &pair.sent[0];
    assert_eq!(code(reset), ResetCode::NoConnection);
    assert_eq!((reset.packet.sequence, reset.packet.ack()), (last_client.next(), Some(last_server.next())));
    let reset = whimbrel_wire::Reset::new(ResetCode::Closed);
    let reset = pair.forge(End::Server, Kind::Reset { ack: last_client, reset }, last_server.next());
    pair.inject(End::Client, reset);
    pair.drain();
    assert_eq!(pair.sent.len(), 1);
    assert_eq!(pair.client.state(), State::TimeWait);
}

#[test]
fn a_reset_with_any_code_ends_the_connection_and_is_reported() {
    for number in 0..=255 {
        let mut pair = Pair::connected(free());
        let (sequence, ack) =
            (pair.client.cx.sequence.numbers.gss().next(), pair.server().cx.sequence.numbers.gss());
        let reset = whimbrel_wire::Reset::with_data(ResetCode::from(number), [1, 2, 3]);
        let packet = pair.forge(End::Client, Kind::Reset { ack, reset }, sequence);
        pair.inject(End::Server, packet);
        pair.drain();
        assert_eq!(pair.server().state(), State::TimeWait);
        assert_eq!(ending(&pair.server_events), [Event::Closed(ConnectionError::Reset(reset))]);
        assert!(pair.sent.is_empty());
        pair.run_for(Duration::from_secs(240));
        assert_eq!(pair.server_events.last(), Some(&Event::Drained));
    }
}

#[test]
fn a_silent_end_sends_keep_alives_if_configured() {
    let timers = TimerConfig { keep_alive: Some(Duration::from_secs(20)), ..TimerConfig::rfc4340() };
    let mut pair = Pair::connected_with(Config { timers, ..free() }, free());
    let mut last = pair.now;
    pair.run_for(Duration::from_secs(200));
    let sent: Vec<_> = pair.sent_by(End::Client, PacketType::Ack).iter().map(|sent| sent.at).collect();
    assert!(sent.len() <= 200 / 20 + 1, "{sent:?}");
    for at in sent {
        assert!(at - last <= Duration::from_secs(20), "{at}");
        last = at;
    }
    assert!(pair.now - last <= Duration::from_secs(20));
    assert!(
        pair.sent.iter().all(|sent| sent.from == End::Client),
        "no packet is answered, and the peer need not answer"
    );
    // While data flow nothing is added.
    pair.forget();
    for tag in 0..50 {
        pair.send(End::Client, tag);
        pair.run_for(Duration::from_secs(1));
    }
    assert!(pair.sent_by(End::Client, PacketType::Ack).is_empty());
}
