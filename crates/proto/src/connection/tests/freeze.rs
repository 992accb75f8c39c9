//! Freezing: which end stops, the announcements, and resistance to forged options.

use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Ack, Data, DataAck, Request, Response, Sync, SyncAck};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, Kind, PacketType};

use super::pair::{End, Pair, SentPacket, config};
use crate::config::FreezeConfig;
use crate::feature::Location;
use crate::{Ccid, Config, Event, FreezeScope, PathMtuDiscovery, State, UnfreezeCause};

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn offering() -> Config {
    Config { freeze: FreezeConfig { offer: true, ..FreezeConfig::default() }, ..config(Duration::ZERO) }
}

fn with(packet: &SentPacket, option: &DccpOption) -> bool {
    packet.packet.options.contains(option)
}

/// Number of packets that an end sent with that option.
fn count(pair: &Pair, from: End, option: &DccpOption) -> usize {
    pair.sent.iter().filter(|sent| sent.from == from && with(sent, option)).count()
}

/// Sends a datagram from an end. Returns `true` if it leaves at once.
fn flows(pair: &mut Pair, from: End) -> bool {
    let before = pair.end(from).snapshot().statistics.datagrams_sent;
    pair.send(from, 7);
    pair.run_for(millis(1));
    pair.end(from).snapshot().statistics.datagrams_sent > before
}

/// The client has frozen the server, which has received the Freeze.
fn server_frozen() -> Pair {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Remote);
    pair.run_for(millis(60));
    assert!(pair.server().snapshot().freeze.by_peer);
    pair
}

#[test]
fn freezing_is_agreed_where_both_ends_offer_it_and_nowhere_else() {
    for (client, server, agreed) in [(true, true, true), (true, false, false), (false, true, false)] {
        let configured = |offer| if offer { offering() } else { config(Duration::ZERO) };
        let mut pair = Pair::connected_with(configured(client), configured(server));
        pair.run_for(Duration::from_secs(60));
        for end in [End::Client, End::Server] {
            assert_eq!(pair.end(end).snapshot().freeze.is_agreed, agreed, "{client} {server}");
            for location in Location::BOTH {
                assert_eq!(pair.end(end).negotiation().is_on(FeatureNumber::Freezing, location), agreed);
            }
            assert!(flows(&mut pair, end));
        }
    }
}

#[test]
fn an_end_without_the_offer_sends_no_freeze_options() {
    let mut pair = Pair::with(config(Duration::ZERO), config(Duration::ZERO));
    let now = pair.now;
    pair.client.connect(now);
    pair.run_for(Duration::from_secs(1));
    let features = |sent: &SentPacket| {
        sent.packet.options.iter().any(|option| matches!(option, DccpOption::Feature(f) if f.feature == 120))
    };
    assert!(pair.sent.iter().any(|sent| sent.packet.packet_type() == Request));
    assert!(pair.sent.iter().any(|sent| sent.packet.packet_type() == Response));
    assert!(!pair.sent.iter().any(features));
}

#[test]
fn a_peer_that_knows_nothing_of_freezing_is_left_alone() {
    let mut pair = Pair::connected_with(offering(), config(Duration::ZERO));
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Both);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(count(&pair, End::Client, &DccpOption::Freeze), 0);
    assert!(!flows(&mut pair, End::Client), "this end stops all the same");
    assert!(flows(&mut pair, End::Server));
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Both);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(count(&pair, End::Client, &DccpOption::Unfreeze), 0);
    assert!(!pair.client.probe(pair.now));
    assert!(flows(&mut pair, End::Client));
}

#[test]
fn a_frozen_end_keeps_its_datagrams_and_sends_them_when_it_goes_on() {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Local);
    for tag in [1, 2, 3] {
        pair.send(End::Client, tag);
    }
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received(End::Server), []);
    assert_eq!(pair.client.queued_datagrams(), 3);
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Local);
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [1, 2, 3]);
    let freeze_events: Vec<_> = pair
        .client_events
        .iter()
        .filter(|event| matches!(event, Event::Frozen { .. } | Event::Unfrozen { .. }))
        .cloned()
        .collect();
    assert_eq!(
        freeze_events,
        [Event::Frozen { by_peer: false }, Event::Unfrozen { by: UnfreezeCause::Local }]
    );
}

#[test]
fn a_freeze_is_sent_three_times_within_a_quarter_of_a_round_trip_time() {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Remote);
    pair.run_for(millis(2000));
    let at: Vec<_> =
        pair.sent.iter().filter(|sent| with(sent, &DccpOption::Freeze)).map(|sent| sent.at - now).collect();
    // Answers to the server's questions, later, say so, too.
    let first: Vec<_> = at.iter().copied().filter(|at| *at < millis(100)).collect();
    assert_eq!(first.len(), 3, "{at:?}");
    assert!(first.last().is_some_and(|last| *last <= millis(26)), "{first:?}");
    assert!(!flows(&mut pair, End::Server));
    assert!(flows(&mut pair, End::Client), "only the other end was to stop");
}

#[test]
fn one_of_three_packets_is_enough() {
    for kept in 0..3 {
        let mut pair = Pair::connected(offering());
        let mut seen = 0;
        pair.lose(move |sent: &SentPacket| {
            let is_told = sent.packet.options.contains(&DccpOption::Freeze);
            seen += usize::from(is_told);
            is_told && seen != kept + 1
        });
        let now = pair.now;
        pair.client.freeze(now, FreezeScope::Remote);
        pair.run_for(millis(90));
        assert!(!flows(&mut pair, End::Server), "{kept}");
    }
}

#[test]
fn an_unfreeze_is_applied_at_once_and_sent_until_it_is_acknowledged() {
    let mut pair = server_frozen();
    pair.forget();
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Remote);
    pair.run_for(millis(51));
    assert!(flows(&mut pair, End::Server));
    pair.run_for(Duration::from_secs(60));
    assert_eq!(count(&pair, End::Client, &DccpOption::Unfreeze), 3, "acknowledged after a round-trip time");
    assert!(pair.server_events.contains(&Event::Unfrozen { by: UnfreezeCause::Peer }));
}

#[test]
fn an_unfreeze_that_gets_lost_is_repeated() {
    let mut pair = server_frozen();
    let mut lost = 0;
    pair.lose(move |sent: &SentPacket| {
        // Also the server's questions.
        let is_lost = lost < 5
            && (sent.packet.options.contains(&DccpOption::Unfreeze) || sent.packet.packet_type() == Sync);
        lost += usize::from(is_lost);
        is_lost
    });
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Remote);
    pair.run_for(Duration::from_secs(10));
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn an_end_frozen_by_the_peer_verifies_the_freeze_by_syncs() {
    let mut pair = server_frozen();
    // Nothing that says so unasked arrives.
    let unasked = |sent: &SentPacket| sent.packet.packet_type() == Ack;
    pair.lose(move |sent: &SentPacket| unasked(sent) && sent.packet.options.contains(&DccpOption::Unfreeze));
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Remote);
    pair.run_for(millis(700));
    assert!(pair.server_events.contains(&Event::Unfrozen { by: UnfreezeCause::Peer }));
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn answers_to_syncs_confirm_a_lasting_freeze() {
    let mut pair = server_frozen();
    pair.run_for(Duration::from_secs(30));
    let questions = pair.sent_by(End::Server, Sync).len();
    let answers = pair.sent_by(End::Client, SyncAck);
    // After 0.5, 1, 2, 4, 8 s, and so on.
    assert_eq!(questions, 5);
    assert_eq!(answers.len(), 5);
    assert!(answers.iter().all(|answer| with(answer, &DccpOption::Freeze)));
    assert!(!flows(&mut pair, End::Server));
}

#[test]
fn a_remote_freeze_ends_by_itself() {
    let mut configured = offering();
    configured.freeze.remote_limit = Duration::from_secs(20);
    let mut pair = Pair::connected(configured);
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Remote);
    pair.run_for(millis(60));
    pair.lose(|_: &SentPacket| true);
    pair.run_for(Duration::from_secs(19));
    assert!(!flows(&mut pair, End::Server));
    pair.run_for(Duration::from_secs(2));
    assert!(pair.server_events.contains(&Event::Unfrozen { by: UnfreezeCause::Limit }));
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn a_local_freeze_ends_by_itself_where_it_has_a_limit() {
    let mut configured = offering();
    configured.freeze.local_limit = Some(Duration::from_secs(20));
    let mut pair = Pair::connected(configured);
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Local);
    pair.run_for(Duration::from_secs(19));
    assert!(!flows(&mut pair, End::Client));
    pair.run_for(Duration::from_secs(2));
    assert!(pair.client_events.contains(&Event::Unfrozen { by: UnfreezeCause::Limit }));
    assert!(flows(&mut pair, End::Client));
}

/// A forged packet to the server in the client's name: with Freeze, `ahead` of the client's numbers.
fn forge(pair: &mut Pair, kind: fn(whimbrel_wire::SeqNo) -> Kind, ahead: u64) {
    forge_with(pair, kind, ahead, &[DccpOption::Freeze]);
}

fn forge_with(pair: &mut Pair, kind: fn(whimbrel_wire::SeqNo) -> Kind, ahead: u64, options: &[DccpOption]) {
    let ack = pair.last_sequence(End::Server);
    let sequence = pair.client.cx.sequence.numbers.gss().add(ahead);
    let mut packet = pair.forge(End::Client, kind(ack), sequence);
    packet.options.extend(options.iter().cloned());
    pair.inject(End::Server, packet);
    pair.drain();
}

#[test]
fn a_forged_freeze_out_of_the_window_or_on_data_does_nothing() {
    let mut pair = Pair::connected(offering());
    pair.send(End::Server, 1);
    pair.run_for(millis(200));
    for ahead in [100_000, 1 << 40] {
        forge(&mut pair, |ack| Kind::Ack { ack }, ahead);
        assert!(!pair.server().snapshot().freeze.by_peer, "{ahead}");
    }
    forge(&mut pair, |_| Kind::Data, 1);
    assert!(!pair.server().snapshot().freeze.by_peer);
    // An acknowledgement of what was never sent.
    forge(&mut pair, |ack| Kind::Ack { ack: ack.add(10) }, 2);
    assert!(!pair.server().snapshot().freeze.by_peer);
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn a_forged_freeze_with_valid_numbers_is_revoked_by_genuine_packets() {
    // Just ahead of the true numbers, and as far as leaves them in the window.
    for ahead in [1, 24] {
        let mut pair = Pair::connected(offering());
        pair.send(End::Server, 1);
        pair.run_for(millis(200));
        forge(&mut pair, |ack| Kind::Ack { ack }, ahead);
        assert!(pair.server().snapshot().freeze.by_peer, "it hit");
        assert!(!flows(&mut pair, End::Server));
        pair.run_for(millis(1000));
        assert!(!pair.server().snapshot().freeze.by_peer, "{ahead}");
        assert!(flows(&mut pair, End::Server));
        assert_eq!(pair.client.state(), State::Open);
    }
}

/// Eleven seconds with ten forgeries each, and four without: number of fifty datagrams per second that arrive
/// in each.
fn under_attack(ccid: Ccid, ahead: u64, options: &[DccpOption]) -> Vec<usize> {
    let configured = Config {
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        ccids: Config::default().ccids,
        ..offering()
    };
    let mut pair = Pair::connected(configured);
    let mut stream = |is_attacked: bool| {
        let before = pair.received(End::Client).len();
        for tick in 0..50 {
            if is_attacked && tick % 5 == 0 {
                forge_with(&mut pair, |ack| Kind::Ack { ack }, ahead, options);
            }
            pair.send(End::Server, tick);
            pair.run_for(millis(20));
        }
        pair.received(End::Client).len() - before
    };
    (0..10).for_each(|_| _ = stream(false));
    (0..15).map(|second| stream(second < 11)).collect()
}

/// However many there are, the first one stalls the stream for less than a second, and the others do not.
#[test]
fn forged_freezes_by_the_dozen_stall_a_stream_once() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let arrived = under_attack(ccid, 1, &[DccpOption::Freeze]);
        assert!(arrived[0] >= 10 && arrived[..11].iter().sum::<usize>() >= 545, "{ccid}: {arrived:?}");
        assert!(arrived[11..].iter().all(|arrived| *arrived >= 49), "{ccid}: {arrived:?}");
        // Numbers far ahead of the true ones hide true acknowledgements, regardless of the option. It adds
        // nothing to that.
        let freezing = under_attack(ccid, 24, &[DccpOption::Freeze]);
        let plain = under_attack(ccid, 24, &[]);
        let total = |arrived: &[usize]| arrived.iter().sum::<usize>();
        assert!(total(&freezing) + 50 >= total(&plain), "{ccid}: {freezing:?}, without Freeze {plain:?}");
    }
}

#[test]
fn a_genuine_freeze_under_suspicion_takes_effect_a_round_trip_time_later() {
    let mut pair = Pair::connected(offering());
    pair.send(End::Server, 1);
    pair.run_for(millis(200));
    forge(&mut pair, |ack| Kind::Ack { ack }, 1);
    pair.run_for(millis(1500));
    assert!(flows(&mut pair, End::Server));
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Remote);
    pair.run_for(millis(60));
    assert!(!pair.server().snapshot().freeze.by_peer, "it asks");
    pair.run_for(millis(100));
    assert!(pair.server().snapshot().freeze.by_peer);
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Remote);
    pair.run_for(millis(60));
    assert!(flows(&mut pair, End::Server));
    // A minute later it is believed at once.
    pair.run_for(Duration::from_secs(61));
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Remote);
    pair.run_for(millis(60));
    assert!(pair.server().snapshot().freeze.by_peer);
}

#[test]
fn a_forged_freeze_far_ahead_lasts_no_longer_than_it_may() {
    let mut configured = offering();
    configured.freeze.remote_limit = Duration::from_secs(5);
    let mut pair = Pair::connected(configured);
    pair.send(End::Server, 1);
    pair.run_for(millis(200));
    forge(&mut pair, |ack| Kind::Ack { ack }, 74);
    assert!(!flows(&mut pair, End::Server));
    pair.run_for(millis(5000));
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn a_peer_that_never_agreed_cannot_freeze() {
    let mut pair = Pair::connected_with(config(Duration::ZERO), offering());
    pair.send(End::Server, 1);
    pair.run_for(millis(200));
    forge(&mut pair, |ack| Kind::Ack { ack }, 1);
    assert!(flows(&mut pair, End::Server));
}

#[test]
fn an_older_freeze_that_arrives_late_is_none() {
    let mut pair = server_frozen();
    let freeze =
        pair.sent.iter().find(|sent| with(sent, &DccpOption::Freeze)).map(|sent| sent.packet.clone());
    let mut freeze = freeze.expect("it was sent");
    let now = pair.now;
    pair.client.unfreeze(now, FreezeScope::Remote);
    pair.run_for(Duration::from_secs(1));
    // A number that was never used, so that it is no duplicate.
    freeze.sequence = pair.client.cx.sequence.numbers.gss().sub(20);
    pair.inject(End::Server, freeze);
    assert!(!pair.server().snapshot().freeze.by_peer);
}

#[test]
fn a_frozen_end_is_quiet_for_a_day_and_survives() {
    let mut configured = offering();
    configured.timers.idle = Some(Duration::from_secs(30));
    configured.timers.keep_alive = Some(Duration::from_secs(15));
    configured.path_mtu = PathMtuDiscovery::FromBase;
    let mut pair = Pair::connected(configured);
    pair.run_for(Duration::from_secs(5));
    for end in [End::Client, End::Server] {
        let now = pair.now;
        pair.end(end).freeze(now, FreezeScope::Local);
    }
    pair.run_for(millis(200));
    pair.forget();
    pair.send(End::Client, 1);
    pair.run_for(Duration::from_secs(86_400));
    assert_eq!(pair.types(), [], "nothing leaves");
    assert_eq!(pair.client.state(), State::Open);
    for end in [End::Client, End::Server] {
        let now = pair.now;
        pair.end(end).unfreeze(now, FreezeScope::Local);
    }
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [1]);
    // And from then on silence is counted as ever.
    pair.lose(|_: &SentPacket| true);
    pair.run_for(Duration::from_secs(25));
    assert_eq!(pair.client.state(), State::Open);
    pair.run_for(Duration::from_secs(40));
    assert_ne!(pair.client.state(), State::Open);
}

#[test]
fn an_application_can_close_while_frozen() {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Local);
    pair.client.close(now);
    pair.run_for(Duration::from_secs(1));
    assert!(matches!(pair.client.state(), State::TimeWait | State::Closed));
}

#[test]
fn data_are_held_whatever_packets_leave_for_other_reasons() {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.freeze(now, FreezeScope::Both);
    pair.send(End::Client, 1);
    pair.run_for(Duration::from_secs(2));
    let data = |packet_type: &PacketType| matches!(packet_type, Data | DataAck);
    assert!(!pair.types().iter().any(|(end, packet_type)| *end == End::Client && data(packet_type)));
    assert!(pair.types().contains(&(End::Client, Ack)), "which notify the peer");
}

#[test]
fn a_connection_that_is_over_neither_freezes_nor_reports_it() {
    let mut pair = Pair::connected(offering());
    let now = pair.now;
    pair.client.abort(now);
    pair.run_for(millis(1));
    pair.forget();
    pair.client_events.clear();
    for scope in [FreezeScope::Local, FreezeScope::Remote, FreezeScope::Both] {
        pair.client.freeze(now, scope);
        pair.client.unfreeze(now, scope);
    }
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.client_events, []);
    assert!(pair.sent.is_empty(), "{:?}", pair.sent);
}
