//! Packets that belong to no connection, or may not have one.

use super::*;

#[test]
fn packets_of_no_connection_get_reset_3_with_their_numbers() {
    let mut net = Net::serving();
    let ack = SeqNo::new(500);
    let cases = [
        (Kind::Data, 0),
        (Kind::Ack { ack }, 501),
        (Kind::DataAck { ack }, 501),
        (Kind::Response { ack, service_code: ServiceCode(0) }, 501),
        (Kind::CloseReq { ack }, 501),
        (Kind::Close { ack }, 501),
        (Kind::Sync { ack }, 501),
        (Kind::SyncAck { ack }, 501),
    ];
    for (kind, sequence) in cases {
        let answers = net.ask(packet(kind, 77, PORT));
        assert_eq!(answers.len(), 1, "{kind:?}");
        assert_eq!(code(&answers[0]), Some(ResetCode::NoConnection));
        assert_eq!(answers[0].sequence, SeqNo::new(sequence), "{kind:?}");
        assert_eq!(answers[0].ack(), Some(SeqNo::new(77)));
        assert_eq!((answers[0].source_port, answers[0].destination_port), (PORT, 7));
    }
}

#[test]
fn a_reset_and_a_listen_of_no_connection_get_no_answer() {
    let mut net = Net::serving();
    let reset = Reset::new(ResetCode::NoConnection);
    assert!(net.ask(packet(Kind::Reset { ack: SeqNo::ZERO, reset }, 77, PORT)).is_empty());
    assert!(net.ask(packet(Kind::Listen { service_code: ServiceCode(42) }, 0, PORT)).is_empty());
}

#[test]
fn requests_are_refused_with_the_reason() {
    let mut net = Net::serving();
    assert_eq!(code(&net.ask(request(42, PORT + 1))[0]), Some(ResetCode::ConnectionRefused));
    assert_eq!(code(&net.ask(request(43, PORT))[0]), Some(ResetCode::BadServiceCode));
    assert_eq!(code(&net.ask(request(u32::MAX, PORT))[0]), Some(ResetCode::BadServiceCode));
    assert_eq!(net.ask(request(42, PORT))[0].packet_type(), PacketType::Response);
}

#[test]
fn a_busy_endpoint_refuses_with_reset_9_until_a_connection_ends() {
    let mut net = Net::new(3, EndpointConfig { max_accepted: 1, ..EndpointConfig::default() });
    net.at(1).listen(PORT, free()).unwrap();
    let first = net.connect(2, 1);
    net.run_for(millis(100));
    net.connect(3, 1);
    net.run_for(millis(100));
    let refused =
        EndpointEvent::Connection(Event::Closed(ConnectionError::Reset(Reset::new(ResetCode::TooBusy))));
    assert!(net.events_at(3).contains(&&refused));
    let now = net.now;
    net.at(2).close(now, first);
    net.run_for(millis(100));
    let third = net.connect(3, 1);
    net.run_for(millis(100));
    assert_eq!(net.at(3).connection(third).unwrap().state(), State::PartOpen);
}

#[test]
fn half_open_connections_have_a_limit_of_their_own() {
    let never = InitCookies::Never;
    let limits = EndpointConfig { max_half_open: 1, init_cookies: never, ..EndpointConfig::default() };
    let mut net = Net::new(2, limits);
    net.at(1).listen(PORT, free()).unwrap();
    // A client that never completes the handshake.
    assert_eq!(net.ask(request(42, PORT))[0].packet_type(), PacketType::Response);
    let mut other = request(42, PORT);
    other.source_port = 8;
    assert_eq!(code(&net.ask(other)[0]), Some(ResetCode::TooBusy));
    // The connection is given up after four maximum segment lifetimes.
    net.run_for(Duration::from_secs(481));
    net.connect(2, 1);
    net.run_for(millis(100));
    let now = net.now;
    let second = net.at(2).connect(now, address(1), PORT, free()).unwrap();
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(second).unwrap().state(), State::PartOpen, "the first is complete");
}

#[test]
fn resets_to_unknown_senders_are_rate_limited() {
    let mut net = Net::new(1, EndpointConfig { resets_per_second: 80, ..EndpointConfig::default() });
    let count = |net: &mut Net| (0..1000).map(|n| net.ask(packet(Kind::Data, n, PORT)).len()).sum::<usize>();
    assert_eq!(count(&mut net), 10, "an eighth of a second's at once");
    net.now += millis(50);
    assert_eq!(count(&mut net), 4);
}
