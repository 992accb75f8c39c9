//! Checks of the steps of RFC 4340, Section 8.5 in every state, not only in OPEN.

use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Close, CloseReq, Data, Sync};
use whimbrel_wire::option::NdpCount;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType, Payload, Reset, ResetCode, SeqNo};

use super::fixed_rate::FixedRate;
use super::pair::{End, Pair, config};
use crate::ccid::Registry;
use crate::{Config, ConnectionError, Event, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn with_ack_vectors() -> Config {
    let control = FixedRate { needs_ack_vector: true, ..FixedRate::every(Duration::ZERO) };
    Config { ccids: Registry::empty().with(control), ..free() }
}

/// In PARTOPEN, CLOSING and CLOSEREQ: the pair, and the end that is in that state.
fn in_other_states() -> Vec<(Pair, End, State)> {
    let mut opening = Pair::new(free());
    opening.client.connect(opening.now);
    opening.run_for(millis(100));
    let mut closing = Pair::connected(free());
    closing.client.close(closing.now);
    closing.drain();
    let asks = Config { server_sends_close_request: true, ..free() };
    let mut asking = Pair::connected(asks);
    let now = asking.now;
    asking.server_mut().close(now);
    asking.drain();
    let mut all = vec![
        (opening, End::Client, State::PartOpen),
        (closing, End::Client, State::Closing),
        (asking, End::Server, State::CloseReq),
    ];
    for (pair, end, state) in &mut all {
        assert_eq!(pair.end(*end).state(), *state);
        pair.forget();
    }
    all
}

/// Step 6.
#[test]
fn in_every_state_a_packet_out_of_its_window_elicits_a_sync_and_nothing_else() {
    type Make = fn(SeqNo) -> Kind;
    let kinds: [(Make, &str); 4] = [
        (|_| Kind::Data, "data"),
        (|ack| Kind::DataAck { ack }, "data with an acknowledgement"),
        (|ack| Kind::Close { ack }, "a Close"),
        (|ack| Kind::Reset { ack, reset: Reset::new(ResetCode::Closed) }, "a Reset"),
    ];
    for (kind, what) in kinds {
        for (mut pair, end, state) in in_other_states() {
            let numbers = pair.end(end).cx.sequence.numbers.clone();
            let from = if end == End::Client { End::Server } else { End::Client };
            // Far beyond the Sequence Window, with an Acknowledgement Number that is right.
            let sequence = SeqNo::new(numbers.gsr().value() + 10_000);
            let mut packet = pair.forge(from, kind(numbers.gss()), sequence);
            if packet.packet_type().carries_data() {
                packet.payload = Payload::Opaque { length: 10, tag: 77 };
            }
            pair.inject(end, packet);
            pair.drain();
            assert_eq!(pair.end(end).state(), state, "{what}");
            assert_eq!(pair.received(end), [0u64; 0], "{what} in {state:?}");
            assert_eq!(pair.sent_by(end, Sync).len(), 1, "{what} in {state:?}: {:?}", pair.types());
            assert_eq!(pair.sent.len(), 1, "{what} in {state:?}: {:?}", pair.types());
            assert_eq!(pair.end(end).cx.sequence.numbers.gsr(), numbers.gsr());
        }
    }
    // The packets that these states wait for are taken within the window.
    for (mut pair, end, state) in in_other_states() {
        let numbers = pair.end(end).cx.sequence.numbers.clone();
        let from = if end == End::Client { End::Server } else { End::Client };
        let reset = Kind::Reset { ack: numbers.gss(), reset: Reset::new(ResetCode::Closed) };
        let packet = pair.forge(from, reset, numbers.gsr().next());
        pair.inject(end, packet);
        assert_eq!(pair.end(end).state(), State::TimeWait, "{state:?}");
    }
}

/// RFC 4340, Section 5.7: a Sync may name a packet that was not processed, so that nothing counts as
/// acknowledged.
#[test]
fn a_sync_acknowledges_nothing_that_an_ack_would() {
    for (kind, forgets) in
        [((|ack| Kind::Sync { ack }) as fn(SeqNo) -> Kind, false), (|ack| Kind::Ack { ack }, true)]
    {
        let mut pair = Pair::connected(with_ack_vectors());
        for tag in 1..5 {
            pair.send(End::Server, tag);
        }
        pair.run_for(millis(60));
        pair.lose(|_| true);
        let before = pair.client.snapshot().holdings.ack_vectors_sent;
        assert!(before > 0, "the client has reported what came");
        let dropped = pair.last_sequence(End::Server);
        assert!(pair.client.datagram_discarded(dropped, DropCode::ReceiveBuffer));
        pair.client.fx.outbound.request_ack();
        pair.drain();
        let numbers = pair.client.cx.sequence.numbers.clone();
        let packet = pair.forge(End::Server, kind(numbers.gss()), numbers.gsr().next());
        pair.inject(End::Client, packet);
        let holds = pair.client.snapshot().holdings.ack_vectors_sent;
        assert_eq!(holds < before, forgets, "{holds} of {before}");
        // Is the drop reported again?
        pair.forget();
        pair.client.fx.outbound.request_ack();
        pair.drain();
        let tells =
            |packet: &Packet| packet.options.iter().any(|it| matches!(it, DccpOption::DataDropped(_)));
        assert_eq!(pair.sent.iter().any(|sent| tells(&sent.packet)), !forgets);
    }
}

/// RFC 4340, Section 7.7: Syncs and SyncAcks have no data, even if they contain some.
#[test]
fn the_ndp_count_after_a_sync_counts_it() {
    let count = |packet: &Packet| {
        packet.options.iter().find_map(|option| match option {
            DccpOption::NdpCount(count) => Some(count.count()),
            _ => None,
        })
    };
    for syncs in 1..4u64 {
        let mut pair = Pair::connected(free());
        pair.send(End::Client, 1);
        pair.run_for(millis(200));
        pair.forget();
        for number in 0..syncs {
            let ack = pair.client.cx.sequence.numbers.gsr();
            pair.client.fx.outbound.syncs().ask(ack);
            pair.drain();
            assert_eq!(pair.sent_by(End::Client, Sync).len() as u64, number + 1);
        }
        pair.send(End::Client, 2);
        pair.drain();
        let counts: Vec<_> = pair.sent.iter().map(|sent| count(&sent.packet)).collect();
        let expected: Vec<_> = (0..=syncs).map(|before| Some(before).filter(|n| *n > 0)).collect();
        assert_eq!(counts, expected);
        // A padded Sync, which probes the path, is one more.
        assert_eq!(pair.sent_by(End::Client, Data).len(), 1);
    }
}

/// The greatest NDP Count stands for all larger ones: the count stays there, and what has data begins a new
/// one.
#[test]
fn an_ndp_count_stays_at_its_end() {
    let count = |packet: &Packet| {
        packet.options.iter().find_map(|option| match option {
            DccpOption::NdpCount(count) => Some((count.count(), count.width())),
            _ => None,
        })
    };
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.run_for(millis(200));
    pair.forget();
    pair.client.fx.outbound.set_ndp_run(NdpCount::MAX - 1);
    for _ in 0..3 {
        let ack = pair.client.cx.sequence.numbers.gsr();
        pair.client.fx.outbound.syncs().ask(ack);
        pair.drain();
    }
    pair.send(End::Client, 2);
    pair.drain();
    pair.send(End::Client, 3);
    pair.drain();
    let counts: Vec<_> = pair.sent.iter().map(|sent| count(&sent.packet)).collect();
    let most = Some((NdpCount::MAX, 6));
    assert_eq!(counts, [Some((NdpCount::MAX - 1, 6)), most, most, most, None]);
}

/// RFC 4340, Section 7.5.4: a Reset that came out of sequence gives the reason for the one that a Sync
/// elicits, and for no later one.
#[test]
fn a_suspected_reset_can_be_confirmed_for_two_round_trip_times() {
    for (pause, explains) in [(millis(150), true), (millis(10_000), false)] {
        let mut pair = Pair::connected(free());
        let numbers = pair.client.cx.sequence.numbers.clone();
        let reset = |ack, code| Kind::Reset { ack, reset: Reset::new(code) };
        let suspected = reset(numbers.gss(), ResetCode::TooBusy);
        let packet = pair.forge(End::Server, suspected, SeqNo::ZERO);
        pair.inject(End::Client, packet);
        pair.drain();
        pair.run_for(pause);
        let numbers = pair.client.cx.sequence.numbers.clone();
        let gone = reset(numbers.gss(), ResetCode::NoConnection);
        let packet = pair.forge(End::Server, gone, numbers.gsr().next());
        pair.inject(End::Client, packet);
        pair.drain();
        let code = if explains { ResetCode::TooBusy } else { ResetCode::NoConnection };
        let ended =
            |event: &Event| matches!(event, Event::Closed(ConnectionError::Reset(it)) if it.code == code);
        assert!(pair.client_events.iter().any(ended), "{pause:?}: {:?}", pair.client_events);
    }
}

#[test]
fn what_ends_a_connection_is_repeated_only_in_the_state_that_waits_for_it() {
    for (mut pair, end, state) in in_other_states() {
        pair.lose(|_| true);
        pair.run_for(Duration::from_secs(2));
        let repeats = |packet_type: PacketType| !pair.sent_by(end, packet_type).is_empty();
        assert_eq!((repeats(Close), repeats(CloseReq)), (state == State::Closing, state == State::CloseReq));
    }
}
