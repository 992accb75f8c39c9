//! From CLOSED to OPEN (RFC 4340, Section 8.1).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType::{Ack, Data, DataAck, Request, Reset, Response, Sync};
use whimbrel_wire::{DccpOption, Kind, OptionBytes, Packet, PacketType, ResetCode, SeqNo, ServiceCode};

use super::fixed_rate::FIXED_RATE;
use super::pair::{End, Pair, SentPacket, Treatment, config, datagram};
use crate::config::TimerConfig;
use crate::{Config, ConnectionError, Event, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn is(packet_type: PacketType) -> impl Fn(&SentPacket) -> bool {
    move |sent| sent.packet.packet_type() == packet_type
}

/// Sending times of the packets of one type, in milliseconds after the first.
fn times(pair: &Pair, from: End, packet_type: PacketType) -> Vec<u64> {
    let sent = pair.sent_by(from, packet_type);
    sent.iter().map(|packet| (packet.at - sent[0].at).as_millis()).collect()
}

fn reset_of(sent: &SentPacket) -> (u8, SeqNo) {
    match sent.packet.kind {
        Kind::Reset { ack, reset } => (reset.code.into(), ack),
        _ => panic!("{sent:?} is no Reset"),
    }
}

#[test]
fn a_handshake_is_request_response_ack() {
    let mut pair = Pair::new(free());
    let start = pair.now;
    pair.client.connect(pair.now);
    assert_eq!(pair.client.state(), State::Request);
    pair.run_for(millis(150));
    assert_eq!(pair.types(), [(End::Client, Request), (End::Server, Response), (End::Client, Ack)]);
    assert_eq!(pair.sent[1].at, start + millis(50));
    assert_eq!(pair.sent[2].at, start + millis(100));
    assert_eq!(pair.client.state(), State::PartOpen);
    assert_eq!(pair.server().state(), State::Open);
    let connected = Event::Connected { sender_ccid: FIXED_RATE, receiver_ccid: FIXED_RATE };
    assert!(pair.client_events.contains(&connected));
    assert!(pair.server_events.contains(&connected));
    // Both know the round-trip time from the handshake.
    assert_eq!(pair.client.snapshot().rtt, Some(millis(100)));
    assert_eq!(pair.server().snapshot().rtt, Some(millis(100)));
    assert_eq!(pair.client.snapshot().sender.rtt, Some(millis(100)), "and so does the congestion control");
    assert_eq!(pair.server().snapshot().sender.rtt, Some(millis(100)));
}

#[test]
fn packets_number_themselves_and_acknowledge_the_greatest_received() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    let numbers: Vec<_> =
        pair.sent.iter().map(|sent| (sent.packet.sequence.value(), sent.packet.ack())).collect();
    let (iss, isr) = (SeqNo::new(1_000_000), SeqNo::new(2_000_000));
    assert_eq!(numbers, [(1_000_000, None), (2_000_000, Some(iss)), (1_000_001, Some(isr))]);
    assert!(pair.sent.iter().all(|sent| sent.packet.extended));
}

#[test]
fn requests_are_repeated_after_one_second_and_then_twice_as_late_up_to_64_s() {
    let mut pair = Pair::new(Config {
        timers: TimerConfig { connect: Duration::from_secs(300), ..TimerConfig::rfc4340() },
        ..free()
    });
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(299));
    let expected = [0, 1, 3, 7, 15, 31, 63, 127, 191, 255].map(|seconds| seconds * 1000);
    assert_eq!(times(&pair, End::Client, Request), expected);
    for (index, sent) in pair.sent.iter().enumerate() {
        assert_eq!(sent.packet.sequence, SeqNo::new(1_000_000 + index as u64));
        assert_eq!(sent.packet.kind, Kind::Request { service_code: ServiceCode(42) });
    }
    assert_eq!(pair.client.state(), State::Request);
}

#[test]
fn a_client_gives_up_its_requests_with_reset_2_that_acknowledges_nothing() {
    let mut pair = Pair::new(free());
    pair.lose(|_| true);
    let id = pair.send(End::Client, 7);
    pair.client.connect(pair.now);
    let start = pair.now;
    pair.drive_bounded();
    let last = pair.sent.last().unwrap();
    assert_eq!(reset_of(last), (2, SeqNo::ZERO));
    assert_eq!(last.at, start + Duration::from_secs(180));
    assert_eq!(
        pair.client_events,
        [
            Event::DatagramDropped { id, reason: crate::DropReason::ConnectionEnded },
            Event::Closed(ConnectionError::TimedOut),
            Event::Drained
        ]
    );
}

#[test]
fn a_lost_response_is_made_good_by_the_next_request() {
    let mut pair = Pair::new(free());
    let mut responses = 0;
    pair.lose(move |sent| {
        responses += u32::from(is(Response)(sent));
        is(Response)(sent) && responses == 1
    });
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(2));
    let responses = pair.sent_by(End::Server, Response);
    assert_eq!(responses.len(), 2);
    assert_eq!(responses[1].packet.sequence, responses[0].packet.sequence.next());
    assert_eq!(responses[1].packet.ack(), Some(SeqNo::new(1_000_001)), "it answers the second Request");
    assert_eq!(pair.server().state(), State::Open);
    assert_eq!(pair.client.snapshot().rtt, Some(millis(100)), "measured with the Request that was answered");
}

#[test]
fn a_server_never_repeats_a_response_by_itself() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| sent.from == End::Server);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(31));
    assert_eq!(pair.sent_by(End::Server, Response).len(), pair.sent_by(End::Client, Request).len() - 1);
}

#[test]
fn partopen_repeats_its_acknowledgement_after_200_ms_backing_off() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| is(Ack)(sent));
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.client.state(), State::PartOpen);
    assert_eq!(times(&pair, End::Client, Ack), [0, 200, 600, 1400, 3000]);
    pair.deliver_all();
    pair.run_for(Duration::from_secs(3));
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn data_in_partopen_put_the_repetition_off_but_do_not_slow_it_down() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    pair.lose(|sent| sent.from == End::Client);
    pair.run_for(millis(60));
    for tag in 0..10 {
        pair.send(End::Client, tag);
        pair.run_for(millis(50));
    }
    let last = pair.sent_by(End::Client, DataAck)[9].at;
    pair.run_for(Duration::from_secs(1));
    let acks = pair.sent_by(End::Client, Ack);
    let times: Vec<_> = acks[1..].iter().map(|sent| (sent.at - last).as_millis()).collect();
    assert_eq!(times, [200, 600]);
}

#[test]
fn partopen_ends_when_the_server_sends_anything_but_a_response_or_a_sync() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    let server_next = pair.last_sequence(End::Server).next();
    let client_last = pair.last_sequence(End::Client);
    let sync = pair.forge(End::Server, Kind::Sync { ack: client_last }, server_next);
    pair.inject(End::Client, sync);
    assert_eq!(pair.client.state(), State::PartOpen);
    let ack = pair.forge(End::Server, Kind::Ack { ack: client_last }, server_next.next());
    pair.inject(End::Client, ack);
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn a_server_with_nothing_to_say_lets_the_client_out_of_partopen() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(1000));
    assert_eq!((pair.client.state(), pair.server().state()), (State::Open, State::Open));
    // The client repeats its Ack once, and that is answered.
    let handshake = [(End::Client, Request), (End::Server, Response), (End::Client, Ack)];
    let answer = [(End::Client, Ack), (End::Server, Ack)];
    assert_eq!(pair.types(), [&handshake[..], &answer[..]].concat());
}

#[test]
fn a_response_in_partopen_elicits_another_acknowledgement() {
    let mut pair = Pair::new(free());
    // The first Request arrives twice, so the server responds twice.
    pair.script = Box::new(|sent| match sent.packet.packet_type() {
        Request => Treatment::Duplicate(millis(10)),
        _ => Treatment::Deliver,
    });
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    assert_eq!(times(&pair, End::Server, Response), [0, 10]);
    assert_eq!(times(&pair, End::Client, Ack), [0, 10]);
}

/// A server may treat the first packet from PARTOPEN as the answer to its Response's Changes. Linux ends the
/// connection ("Too Busy") if that packet has no Confirm.
#[test]
fn answers_are_repeated_until_partopen_ends() {
    let mut asking = free();
    asking.integrity.minimum_coverage = 3;
    let mut pair = Pair::with(free(), asking);
    pair.lose(|sent| sent.from == End::Client && sent.packet.packet_type() == Ack);
    pair.client.connect(pair.now);
    pair.run_for(millis(110));
    let answers = |sent: &SentPacket| {
        let is_confirm = |option: &&DccpOption| matches!(option, DccpOption::Feature(feature) if !feature.action.is_change());
        sent.packet.options.iter().filter(is_confirm).cloned().collect::<Vec<_>>()
    };
    let first = answers(pair.sent_by(End::Client, Ack)[0]);
    assert!(!first.is_empty());
    for number in 0..3 {
        pair.send(End::Client, number);
    }
    pair.run_for(millis(300));
    let data = pair.sent_by(End::Client, DataAck);
    assert_eq!(data.len(), 3);
    assert!(data.iter().all(|sent| answers(sent) == first), "{data:?}");
    assert_eq!(pair.client.state(), State::Open);
    let feature = whimbrel_wire::option::FeatureNumber::MinimumChecksumCoverage;
    assert!(pair.server().negotiation().is_settled(feature, crate::feature::Location::Local));
}

#[test]
fn data_in_partopen_travel_as_dataack_and_later_as_data() {
    let mut pair = Pair::new(free());
    pair.send(End::Client, 1);
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    assert_eq!(pair.types(), [(End::Client, Request), (End::Server, Response), (End::Client, DataAck)]);
    pair.send(End::Client, 2);
    pair.run_for(millis(10));
    assert_eq!(pair.types().last(), Some(&(End::Client, DataAck)));
    pair.run_for(millis(500));
    assert_eq!(pair.client.state(), State::Open, "the server has acknowledged");
    pair.send(End::Client, 3);
    pair.run_for(millis(10));
    assert_eq!(pair.types().last(), Some(&(End::Client, Data)));
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Server), [1, 2, 3]);
}

#[test]
fn respond_lasts_four_maximum_segment_lifetimes() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| !is(Request)(sent));
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    pair.client.abort(pair.now);
    let accepted = pair.sent_by(End::Server, Response)[0].at;
    pair.drive_bounded();
    let reset = pair.sent_by(End::Server, Reset)[0];
    assert_eq!(reset.at, accepted + Duration::from_secs(480));
    assert_eq!(reset_of(reset), (2, SeqNo::new(1_000_000)));
    assert!(pair.server_events.ends_with(&[Event::Closed(ConnectionError::TimedOut), Event::Drained]));
}

#[test]
fn partopen_lasts_four_maximum_segment_lifetimes() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| !matches!(sent.packet.packet_type(), Request | Response));
    pair.client.connect(pair.now);
    pair.run_for(millis(100));
    assert_eq!(pair.client.state(), State::PartOpen);
    let began = pair.now;
    pair.drive_bounded();
    let reset = pair.sent_by(End::Client, Reset)[0];
    assert_eq!(reset.at, began + Duration::from_secs(480));
    assert_eq!(pair.client_events.last(), Some(&Event::Drained));
}

#[test]
fn data_on_requests_and_responses_arrive_once() {
    let mut pair = Pair::new(Config { data_on_handshake: true, ..free() });
    let mut lost = false;
    pair.lose(move |sent| is(Response)(sent) && !core::mem::replace(&mut lost, true));
    pair.send(End::Client, 1);
    pair.send(End::Client, 2);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(3));
    let requests = pair.sent_by(End::Client, Request);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].packet.payload, datagram(1).payload);
    assert_eq!(requests[1].packet.payload, datagram(1).payload, "every Request has the same data");
    assert_eq!(pair.received(End::Server), [1, 2]);
    let connected = pair.server_events.iter().position(|event| matches!(event, Event::Connected { .. }));
    let datagram = pair.server_events.iter().position(|event| matches!(event, Event::Datagram { .. }));
    assert!(connected < datagram, "the application has a connection before it has data");
    let sent = pair.client_events.iter().filter(|event| matches!(event, Event::DatagramSent { .. }));
    assert_eq!(sent.count(), 2, "a repetition is not another datagram");
}

#[test]
fn a_large_datagram_does_not_travel_on_a_request() {
    let many_options = Config { ecn: false, short_sequence_numbers: true, sequence_window: 500, ..free() };
    let mut pair = Pair::new(Config { data_on_handshake: true, ..many_options });
    let large = whimbrel_wire::Payload::Opaque { length: 1400, tag: 1 };
    pair.client.send(pair.now, crate::Datagram::new(large)).unwrap();
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.sent_by(End::Client, Request)[0].packet.payload.is_empty(), "options need the room");
    assert_eq!(pair.received(End::Server), [1]);
}

#[test]
fn data_on_a_request_are_ignored_where_they_are_not_allowed() {
    let mut pair = Pair::with(Config { data_on_handshake: true, ..free() }, free());
    pair.send(End::Client, 1);
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.server().state(), State::Open);
    assert_eq!(pair.received(End::Server), []);
}

#[test]
fn a_wrong_service_code_is_refused_with_reset_8() {
    let mut pair = Pair::with(free(), Config { service_code: ServiceCode(43), ..free() });
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(reset_of(&pair.sent[1]), (8, SeqNo::new(1_000_000)));
    let error = pair.client_events.iter().find_map(|event| match event {
        Event::Closed(ConnectionError::Reset(reset)) => Some(reset.code),
        _ => None,
    });
    assert_eq!(error, Some(ResetCode::BadServiceCode));
    assert_eq!(pair.client.state(), State::TimeWait);
    assert_eq!(pair.server().state(), State::Closed);
}

#[test]
fn a_reset_in_request_counts_only_if_it_acknowledges_a_request() {
    let mut pair = Pair::new(free());
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(millis(10));
    let refused = whimbrel_wire::Reset::new(ResetCode::ConnectionRefused);
    for (ack, state) in [(999_999, State::Request), (1_000_001, State::Request), (1_000_000, State::TimeWait)]
    {
        let ack = SeqNo::new(ack);
        let reset = pair.forge(End::Server, Kind::Reset { ack, reset: refused }, SeqNo::ZERO);
        pair.inject(End::Client, reset);
        pair.drain();
        assert_eq!(pair.client.state(), state);
    }
    assert_eq!(pair.client_events, [Event::Closed(ConnectionError::Reset(refused))]);
    assert_eq!(pair.sent_by(End::Client, Reset).len(), 0, "a Reset is never answered with a Reset");
}

#[test]
fn a_client_in_request_answers_what_it_cannot_use_with_reset_4() {
    let mut pair = Pair::new(free());
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(millis(10));
    let data = pair.forge(End::Server, Kind::Data, SeqNo::new(77));
    pair.inject(End::Client, data);
    pair.drain();
    let reset = pair.sent.last().unwrap();
    assert_eq!(reset_of(reset), (4, SeqNo::new(77)));
    assert_eq!(reset.packet.sequence, SeqNo::ZERO, "Data acknowledge nothing");
    let Kind::Reset { reset, .. } = reset.packet.kind else { unreachable!() };
    assert_eq!(reset.data, [Data as u8, 0, 0]);
    assert_eq!(pair.client.state(), State::Request, "the attempt goes on");
}

#[test]
fn a_half_open_connection_is_cleaned_up_and_a_new_one_opened() {
    // RFC 4340, Section 7.5.6, the last example. The client crashes and comes back.
    let mut pair = Pair::connected(free());
    let (gsr, gss) = (SeqNo::new(1_000_002), SeqNo::new(2_000_001));
    pair.client = crate::Connection::client(pair.now, free(), 1111, 2222, 400).unwrap();
    pair.client.connect(pair.now);
    pair.run_for(millis(400));
    // The first Reset lies outside the server's window. It asks once more, and the second fits.
    let exchange = [
        (End::Client, Request, SeqNo::new(400), None),
        (End::Server, Sync, gss.add(1), Some(SeqNo::new(400))),
        (End::Client, Reset, SeqNo::new(401), Some(gss.add(1))),
        (End::Server, Sync, gss.add(2), Some(gsr)),
        (End::Client, Reset, gsr.next(), Some(gss.add(2))),
    ];
    let log =
        |sent: &SentPacket| (sent.from, sent.packet.packet_type(), sent.packet.sequence, sent.packet.ack());
    assert_eq!(pair.sent.iter().map(log).collect::<Vec<_>>(), exchange);
    assert_eq!(pair.server().state(), State::TimeWait);
    assert_eq!(pair.client.state(), State::Request);
}

#[test]
fn an_unreachable_destination_ends_an_attempt_to_connect_but_no_connection() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.client.handle_unreachable(pair.now);
    pair.drain();
    assert_eq!(pair.client_events, [Event::Closed(ConnectionError::Unreachable), Event::Drained]);
    assert!(pair.sent.is_empty());

    let mut pair = Pair::connected(free());
    pair.client.handle_unreachable(pair.now);
    pair.drain();
    assert_eq!(pair.client.state(), State::Open);
}

#[test]
fn an_invitation_makes_the_client_repeat_its_request_once() {
    // RFC 5596, Section 2.2.3.1.
    let mut pair = Pair::new(free());
    pair.lose(|_| true);
    pair.client.connect(pair.now);
    pair.run_for(millis(300));
    for _ in 0..3 {
        let listen = pair.forge(End::Server, Kind::Listen { service_code: ServiceCode(42) }, SeqNo::ZERO);
        pair.inject(End::Client, listen);
        pair.run_for(millis(200));
    }
    // The Request that answers counts as the retransmission, so that the next one is due two seconds later.
    pair.run_for(Duration::from_secs(3));
    assert_eq!(times(&pair, End::Client, Request), [0, 300, 2300]);
}

#[test]
fn connecting_twice_is_connecting_once() {
    let mut pair = Pair::new(free());
    pair.client.connect(pair.now);
    pair.client.connect(pair.now);
    pair.run_for(millis(150));
    pair.client.connect(pair.now);
    pair.drain();
    assert_eq!(pair.sent_by(End::Client, Request).len(), 1);
    assert_eq!(pair.client.state(), State::PartOpen);
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let error = |config| crate::Connection::client(Instant::ZERO, config, 1, 2, 3).err().unwrap().to_string();
    assert_eq!(
        error(Config { sequence_window: 31, ..free() }),
        "sequence_window = 31: expected 32 to 2^46 - 1 (RFC 4340, Section 7.5.2)"
    );
    assert_eq!(
        error(Config { sender_ccids: [crate::Ccid(250)].into(), ..free() }),
        "sender_ccids = 250: expected a CCID of the registry"
    );
    assert!(error(Config { max_datagram: 0, ..free() }).starts_with("max_datagram = 0"));
}

/// RFC 4340, Section 8.1.4: a server without state answers each copy of a Request with numbers and cookies of
/// their own. It establishes the connection whose cookie arrives first, and would find acknowledgements of
/// another Response invalid.
#[test]
fn a_client_stays_with_the_cookies_of_the_response_it_accepted() {
    let cookie = |byte| DccpOption::InitCookie(OptionBytes::from_slice(&[byte; 3]));
    let mut pair = Pair::new(config(Duration::ZERO));
    pair.client.connect(pair.now);
    pair.drain();
    let request = pair.last_sequence(End::Client);
    let response = |number, byte| {
        let kind = Kind::Response { ack: request, service_code: ServiceCode(0) };
        let options = [cookie(byte)].as_slice().into();
        Packet { options, ..pair.forge(End::Server, kind, SeqNo::new(number)) }
    };
    let [first, second, late] = [response(700, 1), response(702, 2), response(701, 9)];
    for packet in [first, second, late] {
        let expected = (700, 1);
        pair.forget();
        pair.inject(End::Client, packet);
        pair.drain();
        let answers = pair.sent_by(End::Client, PacketType::Ack);
        let answer = &answers.last().expect("a Response in PARTOPEN is acknowledged").packet;
        assert_eq!(answer.ack(), Some(SeqNo::new(expected.0)));
        assert!(answer.options.contains(&cookie(expected.1)), "{:?}", answer.options);
        assert_eq!(answer.options.iter().filter(|o| matches!(o, DccpOption::InitCookie(_))).count(), 1);
    }
    // A server that has state by now repeats its Response without cookies: that is followed.
    let kind = Kind::Response { ack: request, service_code: ServiceCode(0) };
    pair.forget();
    pair.inject(End::Client, pair.forge(End::Server, kind, SeqNo::new(703)));
    pair.drain();
    let answers = pair.sent_by(End::Client, PacketType::Ack);
    let answer = &answers.last().expect("a Response in PARTOPEN is acknowledged").packet;
    assert_eq!(answer.ack(), Some(SeqNo::new(703)));
    assert!(!answer.options.iter().any(|o| matches!(o, DccpOption::InitCookie(_))));
}
