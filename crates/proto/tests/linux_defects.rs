//! Defects of Linux's DCCP, each with a test of this implementation's behaviour in the same case.
//!
//! The list was written from memory of the kernel's history: what counts is the behaviour, and a CVE number
//! names where to look, not a source that was checked. Defects only in system calls
//! and kernel memory are not here.

use crate::duo;

use allocation_counter::measure;
use duo::{Duo, config, requesting, to_client};
use smallvec::smallvec;
use whimbrel_proto::config::TimerConfig;
use whimbrel_proto::{Ccid, Config, Connection, ConnectionError, Datagram, Event, ReceiveMeta, State};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{
    DccpOption, Ecn, Kind, OptionBytes, Options, Packet, PacketType, Payload, Reset, ResetCode, SeqNo,
    ServiceCode,
};

fn receive(connection: &mut Connection, now: Instant, packet: Packet) {
    connection.handle_packet(now, ReceiveMeta::default(), packet);
}

fn transmitted(connection: &mut Connection, now: Instant) -> Vec<Packet> {
    core::iter::from_fn(|| connection.poll_transmit(now))
        .take(10_000)
        .map(|transmit| transmit.packet)
        .collect()
}

fn reset_code(packet: &Packet) -> Option<ResetCode> {
    match packet.kind {
        Kind::Reset { reset, .. } => Some(reset.code),
        _ => None,
    }
}

/// net/dccp/ccids/ccid3.c computed t_ipi = s / X in microseconds, which is 0 where the rate is high or
/// the packet small, and then sent without any pause. Here a full queue on a path without delay still
/// leaves at the allowed rate.
#[test]
fn an_inter_packet_interval_of_zero_does_not_unleash_the_sender() {
    for length in [1, 100, 1400] {
        let mut config = config(Ccid::TFRC);
        config.send_queue.max_datagrams = 5_000;
        config.timers = TimerConfig::rfc4340();
        let mut duo = Duo::connected(config);
        for tag in 0..5_000 {
            duo.client.send(duo.now, Datagram::new(Payload::Opaque { length, tag })).expect("room");
        }
        let mut sent = 0;
        for _ in 0..2_000 {
            let at_once = transmitted(&mut duo.client, duo.now).len();
            sent += at_once;
            assert!(at_once <= 300, "{at_once} packets of {length} bytes in one instant");
            let next = duo.client.poll_timeout().expect("it has more to send");
            assert!(next > duo.now, "it would spin");
            duo.now = next;
            duo.client.handle_timeout(next);
            while duo.client.poll_event().is_some() {}
        }
        assert!(sent >= 10, "{sent}");
    }
}

/// net/dccp/ccids/ccid2.c looked acknowledged packets up in a ring of sent ones from which older
/// acknowledgements had already removed them, and read freed memory when acknowledgements came late or twice.
/// Here such acknowledgements have no effect.
#[test]
fn late_and_duplicate_acknowledgements_of_forgotten_packets_are_harmless() {
    let mut duo = Duo::connected(config(Ccid::TCP_LIKE));
    let gar = duo.gar;
    let pipe = duo.client.snapshot().sender.pipe;
    let cells = |cell: u8, count: usize| DccpOption::AckVector {
        nonce: false,
        cells: OptionBytes::from_elem(cell, count),
    };
    for round in 0..2_000u64 {
        // Back and forth through the acknowledgement window, with Ack Vectors that reach before the
        // connection's first packet, and with changing reports on packets no longer stored.
        let ack = gar.sub(round * 7 % 90);
        let mut packet = to_client(Kind::Ack { ack }, duo.gsr.add(1 + round));
        packet.options =
            smallvec![cells([0x3f, 0xff, 0x7f, 0x00][(round % 4) as usize], 1 + (round % 200) as usize)];
        receive(&mut duo.client, duo.now, packet.clone());
        receive(&mut duo.client, duo.now, packet);
        transmitted(&mut duo.client, duo.now);
    }
    let after = duo.client.snapshot();
    assert!(after.sender.pipe <= pipe.max(Some(1)), "{:?} after {pipe:?}", after.sender.pipe);
    assert!(after.state.is_at_least_open());
    // The connection still carries data.
    duo.client.send(duo.now, Datagram::new(Payload::Opaque { length: 100, tag: 1 })).expect("open");
    let now = duo.now + Duration::from_secs(3);
    duo.client.handle_timeout(now);
    assert!(transmitted(&mut duo.client, now).iter().any(|packet| packet.packet_type().carries_data()));
}

/// net/dccp/feat.c appended an entry for every Change R it could not answer at once, and freed them with the
/// connection: a peer that repeated its Changes exhausted the memory (dccp_feat_change_recv; the list had no
/// bound). Here pending answers are bounded and repetitions share one.
#[test]
fn changes_without_end_keep_no_memory() {
    let mut duo = Duo::connected(config(Ccid::TCP_LIKE));
    let mut round = 0u64;
    let mut flood = |duo: &mut Duo, packets: u64| {
        for _ in 0..packets {
            round += 1;
            let mut packet = to_client(Kind::Ack { ack: duo.gar }, duo.gsr.add(round));
            let action = [FeatureAction::ChangeR, FeatureAction::ChangeL][(round % 2) as usize];
            packet.options = (0..30u64)
                .map(|n| (round * 31 + n) as u8)
                .map(|feature| FeatureOption::preferences(action, feature, &[round as u8, 7]))
                .map(DccpOption::Feature)
                .collect();
            receive(&mut duo.client, duo.now, packet);
            while duo.client.poll_event().is_some() {}
        }
    };
    flood(&mut duo, 500);
    let info = measure(|| flood(&mut duo, 5_000));
    assert!(info.bytes_current < 16 << 10, "{} bytes for 150 thousand Changes", info.bytes_current);
}

/// dccp_rcv_request_sent_state_process answered any Reset in REQUEST by closing, without checking what it
/// acknowledged: an attacker that knew the ports could prevent connections (RFC 4340, Section 8.5, Step 4
/// requires the Request's number).
#[test]
fn a_forged_reset_in_request_does_not_end_the_attempt() {
    let (now, mut client, request) = requesting(config(Ccid::TFRC));
    let reset = Reset::new(ResetCode::ConnectionRefused);
    for distance in [1, 2, 1 << 20, 1 << 47] {
        for ack in [request.sequence.add(distance), request.sequence.sub(distance)] {
            receive(&mut client, now, to_client(Kind::Reset { ack, reset }, SeqNo::new(5)));
            assert_eq!(client.state(), State::Request);
        }
    }
    assert!(transmitted(&mut client, now).is_empty(), "a Reset gets no answer");
    receive(&mut client, now, to_client(Kind::Reset { ack: request.sequence, reset }, SeqNo::new(5)));
    assert_eq!(client.poll_event(), Some(Event::Closed(ConnectionError::Reset(reset))));
}

/// CVE-2017-6074: the buffer of a Request that was kept for its ancillary data was freed twice, once
/// where LISTEN dropped it. Here a Request with data and options serves the handshake, the options and
/// the application, each once, however often it comes.
#[test]
fn a_request_is_used_once_however_often_it_comes() {
    let config = config(Ccid::TFRC).data_on_handshake(true);
    let (now, _, mut request) = requesting(config.clone());
    request.payload = Payload::Opaque { length: 50, tag: 77 };
    let mut server = Connection::server(now, config, &request, 5).expect("a configuration");
    let mut responses = 0;
    for copy in 0..20 {
        let mut copied = request.clone();
        copied.sequence = request.sequence.add(copy / 2);
        receive(&mut server, now, copied);
        responses += transmitted(&mut server, now)
            .iter()
            .filter(|packet| packet.packet_type() == PacketType::Response)
            .count();
    }
    assert_eq!(responses, 20, "every Request gets its Response");
    // The client's address is not validated yet.
    let reported: Vec<Event> = core::iter::from_fn(|| server.poll_event()).collect();
    assert!(reported.iter().all(|event| matches!(event, Event::FeatureChanged { .. })), "{reported:?}");
    let mut ack = request.clone();
    ack.sequence = request.sequence.add(11);
    ack.kind = Kind::Ack { ack: SeqNo::new(5 + 19) };
    (ack.options, ack.payload) = (Options::new(), Payload::EMPTY);
    receive(&mut server, now, ack);
    let data = core::iter::from_fn(|| server.poll_event())
        .filter(|event| matches!(event, Event::Datagram { .. }))
        .count();
    assert_eq!(data, 1);
}

/// CVE-2017-8824: a socket that was disconnected kept state of its connection, and a second connect used it
/// after it was freed. Here a connection that has ended does not return: commands and timers have no effect.
#[test]
fn a_connection_that_is_over_cannot_be_revived() {
    let mut duo = Duo::connected(config(Ccid::TCP_LIKE));
    duo.client.abort(duo.now);
    assert_eq!(reset_code(&transmitted(&mut duo.client, duo.now)[0]), Some(ResetCode::Aborted));
    while duo.client.poll_event().is_some() {}
    duo.client.connect(duo.now);
    duo.client.invite(duo.now);
    let datagram = Datagram::new(Payload::Opaque { length: 1, tag: 1 });
    assert!(duo.client.send(duo.now, datagram).is_err());
    duo.client.set_max_datagram(duo.now, 100);
    duo.client.close(duo.now);
    assert_eq!(duo.client.poll_timeout(), None);
    let later = duo.now + Duration::from_secs(1000);
    duo.client.handle_timeout(later);
    assert!(transmitted(&mut duo.client, later).is_empty());
    assert_eq!((duo.client.state(), duo.client.poll_event()), (State::Closed, None));
}

/// CVE-2011-1093: dccp_rcv_state_process dereferenced state that a Reset had already released, when more
/// packets of the connection came (the Reset left the socket in CLOSED, and the code continued). Here later
/// packets get Reset 3, and Resets no answer.
#[test]
fn packets_after_a_reset_find_a_connection_that_is_over() {
    let mut duo = Duo::connected(config(Ccid::TCP_LIKE));
    let reset = Reset::new(ResetCode::Aborted);
    receive(&mut duo.client, duo.now, to_client(Kind::Reset { ack: duo.gss, reset }, duo.gsr.next()));
    assert_eq!(duo.client.state(), State::TimeWait);
    let (ack, service_code) = (duo.gss, ServiceCode(0));
    let kinds = [
        (Kind::Data, true),
        (Kind::Ack { ack }, true),
        (Kind::DataAck { ack }, true),
        (Kind::Sync { ack }, true),
        (Kind::SyncAck { ack }, true),
        (Kind::Close { ack }, true),
        (Kind::CloseReq { ack }, true),
        (Kind::Request { service_code }, true),
        (Kind::Response { ack, service_code }, true),
        (Kind::Reset { ack, reset }, false),
        (Kind::Listen { service_code }, false),
    ];
    for (n, (kind, is_answered)) in kinds.into_iter().enumerate() {
        let now = duo.now + Duration::from_secs(n as u64);
        receive(&mut duo.client, now, to_client(kind, duo.gsr.add(2)));
        let answers = transmitted(&mut duo.client, now);
        let expected: &[_] = if is_answered { &[Some(ResetCode::NoConnection)] } else { &[] };
        assert_eq!(answers.iter().map(reset_code).collect::<Vec<_>>(), expected, "{kind:?}");
        assert_eq!(duo.client.state(), State::TimeWait);
    }
}

/// CVE-2008-2358: dccp_feat_change trusted the length of a Change, so that a long one overflowed the heap.
/// Here values of any length are decoded safely.
#[test]
fn changes_of_any_length_are_read_without_harm() {
    for feature in 0..=255u8 {
        for length in [0usize, 1, 2, 6, 7, 252] {
            for action in [FeatureAction::ChangeL, FeatureAction::ChangeR, FeatureAction::ConfirmL] {
                let (now, _, mut request) = requesting(config(Ccid::TFRC));
                let values = OptionBytes::from_elem(0xff, length);
                request.options = smallvec![DccpOption::Feature(FeatureOption { action, feature, values })];
                let mut server =
                    Connection::server(now, config(Ccid::TFRC), &request, 5).expect("a configuration");
                receive(&mut server, now, request);
                let answers = transmitted(&mut server, now);
                assert!(answers.iter().all(|packet| packet.encoded_len() <= 1020));
                assert!(answers.len() <= 1, "{answers:?}");
            }
        }
    }
}

/// CVE-2014-2523: connection tracking of DCCP read headers beyond the packet's end. Here every part of
/// a packet is a packet or an error.
#[test]
fn every_part_of_a_packet_is_a_packet_or_an_error() {
    let (_, _, mut request) = requesting(Config::default());
    request.payload = Payload::Opaque { length: 9, tag: 1 };
    let mut bytes = Vec::new();
    request.encode(&mut bytes).expect("it can be written");
    let header = request.header_len();
    for length in 0..=bytes.len() {
        let decoded = Packet::decode_slice(&bytes[..length]);
        assert_eq!(decoded.is_ok(), length >= header, "{length} of {} bytes", bytes.len());
    }
    // The Data Offset byte may have any value.
    for offset in 0..=255u8 {
        bytes[4] = offset;
        let _ = Packet::decode_slice(&bytes);
    }
}

/// net/dccp/ccids/ccid3.c divided by the round-trip time that it had measured, which was zero on a path
/// without delay ("BUG: divide by zero", ccid3_hc_tx_packet_recv). Here such a path works.
#[test]
fn a_path_without_delay_is_no_division_by_zero() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let (now, mut client, request) = requesting(config(ccid));
        let mut server = Connection::server(now, config(ccid), &request, 5).expect("a configuration");
        receive(&mut server, now, request);
        let mut clock = now;
        let mut received = 0;
        for tag in 0..200 {
            let _ = client.send(clock, Datagram::new(Payload::Opaque { length: 100, tag }));
            for _ in 0..50 {
                let forth = transmitted(&mut client, clock);
                let back = transmitted(&mut server, clock);
                if forth.is_empty() && back.is_empty() {
                    break;
                }
                for packet in forth {
                    server.handle_packet(
                        clock,
                        ReceiveMeta { ecn: Ecn::NotEct, ..ReceiveMeta::default() },
                        packet,
                    );
                }
                for packet in back {
                    client.handle_packet(
                        clock,
                        ReceiveMeta { ecn: Ecn::NotEct, ..ReceiveMeta::default() },
                        packet,
                    );
                }
            }
            while let Some(event) = server.poll_event() {
                received += usize::from(matches!(event, Event::Datagram { .. }));
            }
            while client.poll_event().is_some() {}
            clock += Duration::from_millis(50);
            client.handle_timeout(clock);
            server.handle_timeout(clock);
        }
        assert!(received > 100, "{ccid}: {received} datagrams");
    }
}
