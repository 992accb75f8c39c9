//! Data that do not reach the application, and receivers that cannot keep up (RFC 4340, Sections 11.6 and
//! 11.7).

use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Ack, Data, DataAck, Request, Response};
use whimbrel_wire::option::data_dropped::{DropCode, runs};
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, Payload, Reset, ResetCode, SeqNo};

use super::fixed_rate::{FIXED_RATE, FixedRate};
use super::pair::{End, Pair, SentPacket, config, datagram};
use crate::ccid::Registry;
use crate::config::ReceiveConfig;
use crate::{Config, ConnectionError, Datagram, DropReason, Event, ReceiveMeta, SendError, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn with_ack_vectors() -> Config {
    let control = FixedRate { needs_ack_vector: true, ..FixedRate::every(millis(1)) };
    Config { ccids: Registry::empty().with(control), ..config(millis(1)) }
}

/// The contents of a packet's Data Dropped options: the packets and their codes, oldest first.
fn reported_drops(sent: &SentPacket) -> Vec<(SeqNo, DropCode)> {
    let Some(ack) = sent.packet.ack() else { return Vec::new() };
    let mut reported_drops = Vec::new();
    for run in runs(ack, &sent.packet.options) {
        let Some(code) = run.drop else { continue };
        let length = run.newest.distance_from(run.oldest) as u64;
        reported_drops.extend((0..=length).map(|back| (run.newest.sub(back), code)));
    }
    reported_drops.reverse();
    reported_drops
}

/// The reports that an application received about its own data.
fn learnt(events: &[Event]) -> Vec<(SeqNo, DropCode)> {
    let learnt = |event: &Event| match event {
        Event::DataDropped { sequence, code } => Some((*sequence, *code)),
        _ => None,
    };
    events.iter().filter_map(learnt).collect()
}

fn sequences(events: &[Event]) -> Vec<SeqNo> {
    let sequence = |event: &Event| match event {
        Event::Datagram { sequence, .. } => Some(*sequence),
        _ => None,
    };
    events.iter().filter_map(sequence).collect()
}

/// A packet from the server, with a number that the server has used for another, which was lost.
fn report(pair: &mut Pair, options: &[DccpOption]) -> Packet {
    pair.lose(|_| true);
    pair.send(End::Server, 0);
    pair.run_for(millis(1));
    pair.deliver_all();
    let (ack, sequence) = (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss());
    Packet { options: options.into(), ..pair.forge(End::Server, Kind::Ack { ack }, sequence) }
}

#[test]
fn a_full_receive_queue_drops_data_and_reports_it() {
    let receive = ReceiveConfig { max_datagrams: 3, ..ReceiveConfig::default() };
    let mut pair = Pair::connected(Config { receive, ..free() });
    let first = pair.client.cx.sequence.numbers.gss().next();
    // The driver does not drain the server while these arrive.
    for number in 0..5 {
        let mut packet = pair.forge(End::Client, Kind::Data, first.add(number));
        packet.payload = datagram(number).payload;
        pair.inject(End::Server, packet);
    }
    // The client has sent as many, as far as it knows.
    for tag in 0..5 {
        pair.client.send(pair.now, datagram(tag)).unwrap();
    }
    while pair.client.poll_transmit(pair.now).is_some() {}
    assert_eq!(pair.server().snapshot().statistics.datagrams_discarded, 2);
    pair.run_for(millis(300));
    assert_eq!(pair.received(End::Server), [0, 1, 2]);
    let expected = [(first.add(3), DropCode::ReceiveBuffer), (first.add(4), DropCode::ReceiveBuffer)];
    assert_eq!(learnt(&pair.client_events), expected);
    assert_eq!(pair.client.snapshot().sender.marked, 2, "the congestion control learns it");
    assert_eq!(pair.client.snapshot().statistics.datagrams_lost_at_peer, 2);
    // Reading made room.
    pair.send(End::Client, 9);
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Server), [0, 1, 2, 9]);
}

#[test]
fn bytes_count_as_well_as_datagrams() {
    let receive = ReceiveConfig { max_bytes: 250, ..ReceiveConfig::default() };
    let mut pair = Pair::connected(Config { receive, ..free() });
    let first = pair.client.cx.sequence.numbers.gss().next();
    for number in 0..3 {
        let mut packet = pair.forge(End::Client, Kind::Data, first.add(number));
        packet.payload = datagram(number).payload;
        pair.inject(End::Server, packet);
    }
    pair.drain();
    assert_eq!(pair.received(End::Server), [0, 1]);
}

#[test]
fn data_discarded_by_a_driver_are_reported_until_acknowledged() {
    let mut pair = Pair::connected(free());
    for tag in 0..4 {
        pair.send(End::Client, tag);
    }
    pair.run_for(millis(60));
    let arrived = sequences(&pair.server_events);
    assert!(pair.server_mut().datagram_discarded(arrived[1], DropCode::ReceiveBuffer));
    assert!(!pair.server_mut().datagram_discarded(arrived[1], DropCode::Corrupt), "it is dropped already");
    assert!(!pair.server_mut().datagram_discarded(arrived[3].next(), DropCode::Corrupt), "never arrived");
    assert!(!pair.server_mut().datagram_discarded(arrived[2], DropCode::Reserved(5)));
    pair.forget();
    let expected = (arrived[1], DropCode::ReceiveBuffer);
    // Reports are lost at first.
    let mut reports = 0;
    pair.lose(move |sent| {
        reports += usize::from(!reported_drops(sent).is_empty());
        !reported_drops(sent).is_empty() && reports <= 2
    });
    for tag in 10..30 {
        pair.send(End::Client, tag);
        pair.run_for(millis(20));
    }
    pair.run_for(millis(300));
    assert_eq!(learnt(&pair.client_events), [expected], "once, although it was reported repeatedly");
    let reports: Vec<_> = pair
        .sent
        .iter()
        .filter(|sent| sent.from == End::Server && !reported_drops(sent).is_empty())
        .collect();
    assert!(reports.len() > 3, "{} reports", reports.len());
    assert!(reports.iter().all(|report| reported_drops(report) == [expected]));
    // The client made a DataAck for it, where the fixed-rate control never does, and that was the end.
    let acks = pair.sent_by(End::Client, DataAck);
    assert_eq!(acks.len(), 1, "one acknowledgement is enough");
    let last = reports.last().unwrap().at;
    assert!(last <= acks[0].at + millis(60), "no more reports after the DataAck has arrived");
}

#[test]
fn reports_and_ack_vectors_agree() {
    let mut pair = Pair::connected(with_ack_vectors());
    pair.lose(|sent| sent.packet.packet_type() == Data && sent.packet.sequence.value() % 7 == 0);
    let mut discarded = Vec::new();
    for round in 0..40 {
        pair.send(End::Client, round);
        pair.run_for(millis(9));
        if round % 5 == 4 {
            let Some(arrived) = sequences(&pair.server_events).pop() else { continue };
            if pair.server_mut().datagram_discarded(arrived, DropCode::Corrupt) {
                discarded.push((arrived, DropCode::Corrupt));
            }
        }
    }
    pair.deliver_all();
    pair.run_for(millis(50));
    pair.send(End::Client, 98);
    pair.send(End::Client, 99);
    pair.run_for(millis(300));
    assert!(discarded.len() >= 7);
    assert_eq!(learnt(&pair.client_events), discarded);
    let last = pair.sent_by(End::Server, Ack).pop().unwrap();
    assert!(reported_drops(last).len() < 4, "acknowledged reports are not repeated");
}

#[test]
fn a_report_that_contradicts_its_ack_vector_is_ignored() {
    let mut pair = Pair::connected(with_ack_vectors());
    for tag in 0..3 {
        pair.send(End::Client, tag);
        pair.run_for(millis(2));
    }
    pair.forget();
    let (ack, sequence) =
        (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss().next());
    let options = |cells: &[u8]| {
        [
            DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(cells) },
            DccpOption::Mandatory,
            DccpOption::DataDropped(OptionBytes::from_slice(&[0, 0xa0])),
        ]
    };
    // The newest but one is missing, and yet dropped.
    let packet = pair.forge(End::Server, Kind::Ack { ack }, sequence);
    let wrong = options(&[0, 0xc0, 0]);
    let without_mandatory = vec![wrong[0].clone(), wrong[2].clone()];
    pair.inject(End::Client, Packet { options: without_mandatory.into(), ..packet.clone() });
    pair.drain();
    assert_eq!(learnt(&pair.client_events), []);
    assert_eq!(pair.client.state(), State::Open);
    let right = Packet { sequence: sequence.next(), options: options(&[2])[..].into(), ..packet.clone() };
    pair.inject(End::Client, right);
    pair.drain();
    assert_eq!(learnt(&pair.client_events), [(ack.previous(), DropCode::ReceiveBuffer)]);
    // But what must be understood cannot be ignored.
    pair.inject(End::Client, Packet { sequence: sequence.add(2), options: wrong[..].into(), ..packet });
    pair.drain();
    let reset = Reset::with_data(ResetCode::MandatoryError, [40, 0, 0xa0]);
    assert!(pair.client_events.contains(&Event::Closed(ConnectionError::ResetLocally(reset))));
}

#[test]
fn a_report_of_packets_never_sent_is_ignored() {
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.run_for(millis(200));
    let (ack, sequence) =
        (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss().next());
    let mut packet = pair.forge(End::Server, Kind::Ack { ack }, sequence);
    packet.options.push(DccpOption::DataDropped(OptionBytes::from_slice(&[0xa0, 127, 0xa0])));
    pair.forget();
    pair.inject(End::Client, packet);
    pair.drain();
    assert_eq!(learnt(&pair.client_events), []);
}

#[test]
fn an_application_that_stops_listening_ends_the_data_but_not_the_connection() {
    let mut pair = Pair::connected(config(millis(10)));
    let now = pair.now;
    pair.server_mut().stop_receiving(now);
    for tag in 0..40 {
        pair.send(End::Client, tag);
    }
    pair.run_for(millis(400));
    assert_eq!(pair.received(End::Server), []);
    let learnt = learnt(&pair.client_events);
    assert!(!learnt.is_empty() && learnt.iter().all(|(_, code)| *code == DropCode::ApplicationNotListening));
    let data = pair.sent_by(End::Client, Data).len() + pair.sent_by(End::Client, DataAck).len();
    assert!(data < 25, "{data} of 40 datagrams left before the client knew");
    let gone = Event::DatagramDropped { id: crate::DatagramId(39), reason: DropReason::PeerNotListening };
    assert!(pair.client_events.contains(&gone));
    assert_eq!(pair.client.send(pair.now, datagram(1)), Err(SendError::PeerNotListening));
    assert!(!pair.client.is_peer_listening());
    // The other direction goes on, and so does closing.
    pair.send(End::Server, 7);
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Client), [7]);
    pair.client.close(pair.now);
    pair.run_for(millis(200));
    assert_eq!(pair.server().state(), State::Closed);
}

#[test]
fn a_send_that_waits_for_room_is_woken_when_the_peer_stops_listening() {
    let mut client = config(Duration::MAX);
    client.send_queue.max_datagrams = 1;
    client.send_queue.overflow = crate::OverflowPolicy::Refuse;
    let mut pair = Pair::connected_with(client, free());
    pair.send(End::Client, 1);
    assert_eq!(pair.client.send(pair.now, datagram(2)), Err(SendError::QueueFull));
    let (ack, sequence) =
        (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss().next());
    let mut packet = pair.forge(End::Server, Kind::Ack { ack }, sequence);
    packet.options.push(DccpOption::DataDropped(OptionBytes::from_slice(&[0x90])));
    pair.inject(End::Client, packet);
    pair.drain();
    assert!(pair.client_events.contains(&Event::SendReady));
    assert_eq!(pair.client.send(pair.now, datagram(2)), Err(SendError::PeerNotListening));
}

#[test]
fn data_on_a_request_that_are_not_taken_are_reported_on_the_response() {
    // RFC 4340, Section 8.1.3. The first Response is lost, so there are two Requests.
    let mut pair = Pair::with(Config { data_on_handshake: true, ..free() }, free());
    let mut lost = false;
    pair.lose(move |sent| sent.packet.packet_type() == Response && !core::mem::replace(&mut lost, true));
    pair.send(End::Client, 1);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(3));
    let requests: Vec<_> =
        pair.sent_by(End::Client, Request).iter().map(|sent| sent.packet.sequence).collect();
    let [first, second] = requests[..] else { panic!("{requests:?}") };
    let responses: Vec<_> =
        pair.sent_by(End::Server, Response).iter().map(|sent| reported_drops(sent)).collect();
    let refused = |sequence| (sequence, DropCode::ProtocolConstraints);
    assert_eq!(responses, [vec![refused(first)], vec![refused(first), refused(second)]]);
    assert_eq!(learnt(&pair.client_events), [refused(first), refused(second)]);
    // The refusal does not concern data after the handshake.
    pair.forget();
    pair.send(End::Client, 2);
    pair.run_for(millis(60));
    assert_eq!(pair.received(End::Server), [2]);
}

#[test]
fn data_on_a_request_that_are_taken_are_refused_the_second_time_only() {
    let mut pair = Pair::new(Config { data_on_handshake: true, ..free() });
    let mut lost = false;
    pair.lose(move |sent| sent.packet.packet_type() == Response && !core::mem::replace(&mut lost, true));
    pair.send(End::Client, 1);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(3));
    let second = pair.sent_by(End::Client, Request)[1].packet.sequence;
    let responses: Vec<_> =
        pair.sent_by(End::Server, Response).iter().map(|sent| reported_drops(sent)).collect();
    assert_eq!(responses, [vec![], vec![(second, DropCode::ProtocolConstraints)]]);
    assert_eq!(pair.received(End::Server), [1]);
}

#[test]
fn reports_of_more_packets_than_had_data_do_not_accumulate() {
    let mut pair = Pair::connected(free());
    for tag in 0..200 {
        pair.send(End::Server, tag);
        pair.run_for(millis(20));
    }
    pair.send(End::Client, 100);
    pair.run_for(millis(200));
    // The client has sent one datagram, and many acknowledgements.
    assert!(pair.sent_by(End::Client, Ack).len() > 50);
    pair.forget();
    let packet = report(&mut pair, &[DccpOption::DataDropped(OptionBytes::from_slice(&[0xaf; 3]))]);
    pair.inject(End::Client, packet);
    pair.drain();
    // As many as if the datagram had been on retransmitted Requests.
    assert_eq!(learnt(&pair.client_events).len(), 17);
    assert_eq!(pair.client.snapshot().statistics.datagrams_lost_at_peer, 17);
}

/// The server sends data on its Response, before it has received any.
fn send_on_the_response(pair: &mut Pair) {
    pair.client.connect(pair.now);
    let request = pair.client.poll_transmit(pair.now).unwrap().packet;
    pair.inject(End::Server, request);
    let now = pair.now;
    // Few enough for an answer to an address that may be forged.
    pair.server_mut().send(now, Datagram::new(Payload::Opaque { length: 8, tag: 5 })).unwrap();
}

#[test]
fn a_late_copy_of_a_response_does_not_report_the_data_taken_from_the_first() {
    let mut pair = Pair::new(Config { data_on_handshake: true, ..free() });
    send_on_the_response(&mut pair);
    pair.send(End::Server, 1);
    pair.run_for(millis(300));
    assert_eq!(pair.received(End::Client), [5, 1]);
    let response = pair.sent_by(End::Server, Response)[0].packet.clone();
    pair.inject(End::Client, response);
    pair.send(End::Server, 2);
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.received(End::Client), [5, 1, 2]);
    assert_eq!(learnt(&pair.server_events), []);
}

#[test]
fn data_on_a_response_that_are_not_taken_are_reported_by_the_client() {
    let mut pair = Pair::with(free(), Config { data_on_handshake: true, ..free() });
    send_on_the_response(&mut pair);
    pair.run_for(millis(300));
    let response = pair.sent_by(End::Server, Response)[0].packet.sequence;
    assert_eq!(learnt(&pair.server_events), [(response, DropCode::ProtocolConstraints)]);
    assert_eq!(pair.received(End::Client), []);
}

#[test]
fn after_a_refusal_for_a_reason_of_the_protocol_data_wait_a_round_trip() {
    // RFC 4340, Section 11.7.2, Drop Code 0.
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.run_for(millis(200));
    let packet = report(&mut pair, &[DccpOption::DataDropped(OptionBytes::from_slice(&[0x80]))]);
    pair.arrive(End::Client, ReceiveMeta::default(), packet);
    pair.forget();
    let (start, rtt) = (pair.now, pair.client.snapshot().rtt.unwrap());
    pair.send(End::Client, 2);
    pair.run_for(millis(400));
    let sent: Vec<_> = pair.sent.iter().filter(|sent| !sent.packet.payload.is_empty()).collect();
    assert_eq!(sent[0].at, start + rtt);
    assert_eq!(pair.received(End::Server), [2]);
}

#[test]
fn an_end_without_ecn_reports_the_data_that_it_may_not_take() {
    // RFC 4340, Section 12.1. The client's confirmation is lost, the data behind it are not.
    let mut pair = Pair::with(free(), Config { ecn: false, ..free() });
    let mut lost = false;
    pair.lose(move |sent| sent.packet.packet_type() == Ack && !core::mem::replace(&mut lost, true));
    pair.client.connect(pair.now);
    pair.run_for(millis(110));
    let sequence = pair.client.cx.sequence.numbers.gss().next();
    let ack = pair.client.cx.sequence.numbers.gsr();
    let mut data = pair.forge(End::Client, Kind::DataAck { ack }, sequence);
    data.payload = datagram(1).payload;
    pair.inject(End::Server, data);
    assert_eq!(pair.server().snapshot().statistics.datagrams_discarded, 1);
    pair.run_for(millis(300));
    let reports: Vec<_> =
        pair.sent.iter().filter(|sent| sent.from == End::Server).flat_map(reported_drops).collect();
    assert!(reports.contains(&(sequence, DropCode::ProtocolConstraints)));
}

#[test]
fn a_slow_receiver_says_so_twice_per_round_trip_while_it_is() {
    let mut pair = Pair::connected(config(millis(1)));
    pair.server_mut().set_slow_receiver(true);
    for tag in 0..60 {
        pair.send(End::Client, tag);
    }
    let start = pair.now;
    pair.run_for(millis(400));
    let has_option = |sent: &&SentPacket| sent.packet.options.contains(&DccpOption::SlowReceiver);
    let times: Vec<_> = pair.sent.iter().filter(has_option).map(|sent| sent.at - start).collect();
    // Data arrives from 50 to 110 ms and every second packet is acknowledged; the round-trip time is 100 ms.
    assert_eq!(times, [millis(51), millis(101)]);
    assert_eq!(pair.client.snapshot().sender.ssthresh, Some(1), "congestion control is notified");
    assert!(pair.client.snapshot().peer_slow_at.is_some());
    let reported_drops = pair.client_events.iter().filter(|event| **event == Event::SlowReceiver).count();
    assert_eq!(reported_drops, 1, "once per round-trip time");
    pair.server_mut().set_slow_receiver(false);
    pair.forget();
    pair.send(End::Client, 99);
    pair.send(End::Client, 99);
    pair.run_for(millis(400));
    assert!(!pair.sent.iter().any(|sent| has_option(&sent)));
}

#[test]
fn a_receive_queue_three_quarters_full_makes_a_slow_receiver() {
    for (waiting, is_slow) in [(2, false), (3, true)] {
        let receive = ReceiveConfig { max_datagrams: 4, ..ReceiveConfig::default() };
        let mut pair = Pair::connected(Config { receive, ..free() });
        let first = pair.client.cx.sequence.numbers.gss().next();
        for number in 0..waiting {
            let data = pair.forge(End::Client, Kind::Data, first.add(number));
            pair.inject(End::Server, data);
        }
        let now = pair.now + millis(100);
        let ack = pair.server_mut().poll_transmit(now).expect("feedback is due");
        assert_eq!(ack.packet.options.contains(&DccpOption::SlowReceiver), is_slow, "{waiting} of 4");
    }
}

#[test]
fn a_congestion_control_that_finds_a_violation_has_the_connection_reset() {
    let reset = Reset::with_data(ResetCode::OptionError, [128, 5, 0]);
    let control = FixedRate { violation: Some(reset), ..FixedRate::every(Duration::ZERO) };
    let server = Config { ccids: Registry::empty().with(control), ..free() };
    assert_eq!(server.sender_ccids[0], FIXED_RATE);
    let mut pair = Pair::with(free(), server);
    pair.client.connect(pair.now);
    pair.run_for(millis(300));
    let closed = Event::Closed(ConnectionError::ResetLocally(reset));
    assert!(pair.server_events.contains(&closed), "{:?}", pair.server_events);
    assert!(pair.client_events.contains(&Event::Closed(ConnectionError::Reset(reset))));
    let text = "option error on account of option 128 with data 5 0".to_owned();
    assert!(pair.client_events.contains(&Event::ErrorText { text }), "{:?}", pair.client_events);
}
