use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use whimbrel_proto::{Config, ConnectionError, Endpoint, EndpointConfig};
use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

use super::{MAIN, State};
use crate::HostOptions;
use crate::carrier::{PathError, Quoted};
use crate::mailbox::Mailbox;

const NOW: Instant = Instant::from_secs(9);
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// A client that has sent its Request, and the quotation of it in an ICMP message.
fn requesting() -> (State, std::sync::Arc<Mailbox>, SocketAddr, Quoted) {
    let remote = SocketAddr::from(([192, 0, 2, 1], 0));
    let mut state = State::new(&HostOptions::default(), true).expect("entropy");
    // The same numbers each time.
    state.one.endpoint = Endpoint::new(EndpointConfig::default(), 7);
    let mailbox = state.connect(NOW, remote, None, 5001, Config::default().into()).expect("a port").mailbox;
    let (_, request) = state.one.endpoint.poll_transmit(NOW).expect("a Request");
    let packet = request.packet;
    let quoted = Quoted {
        source_port: packet.source_port,
        destination_port: packet.destination_port,
        sequence: Some(packet.sequence),
    };
    (state, mailbox, remote, quoted)
}

fn error_after_report(remote: SocketAddr, quoted: Quoted) -> Option<ConnectionError> {
    let (mut state, mailbox, ..) = requesting();
    state.handle_path_error(NOW, (MAIN, HERE), remote, Some(quoted), PathError::Unreachable);
    state.one.deliver_events(NOW);
    mailbox.inbox().unread.closed()
}

#[test]
fn a_message_about_the_request_ends_the_attempt_and_one_about_another_packet_does_not() {
    let (_, _, remote, quoted) = requesting();
    assert_eq!(error_after_report(remote, quoted), Some(ConnectionError::Unreachable));
    // RFC 792: eight bytes are enough, and hold no number.
    assert_eq!(
        error_after_report(remote, Quoted { sequence: None, ..quoted }),
        Some(ConnectionError::Unreachable)
    );
    let forged = SeqNo::new(quoted.sequence.map_or(0, SeqNo::value) + 1);
    assert_eq!(error_after_report(remote, Quoted { sequence: Some(forged), ..quoted }), None);
    assert_eq!(error_after_report(remote, Quoted { source_port: quoted.source_port ^ 1, ..quoted }), None);
    assert_eq!(error_after_report(SocketAddr::from(([192, 0, 2, 2], 0)), quoted), None);
}

#[test]
fn the_packet_size_is_lowered_only_for_a_packet_that_was_sent() {
    let (_, _, remote, quoted) = requesting();
    let limit = |quoted, reported| {
        let (mut state, ..) = requesting();
        state.handle_path_error(NOW, (MAIN, HERE), remote, Some(quoted), PathError::TooLarge(reported));
        let handle = state.one.endpoint.find(remote, quoted.source_port, quoted.destination_port);
        handle.and_then(|handle| state.one.endpoint.connection(handle)).map(|c| c.snapshot().max_datagram)
    };
    assert_eq!(limit(quoted, Some(1000)), Some(1000));
    assert_eq!(limit(quoted, Some(9000)), Some(1400));
    assert_eq!(limit(quoted, None), Some(crate::connections::NARROW_PATH));
    assert_eq!(limit(Quoted { sequence: None, ..quoted }, Some(1000)), Some(1400));
    assert_eq!(limit(Quoted { sequence: Some(SeqNo::ZERO), ..quoted }, Some(1000)), Some(1400));
}
