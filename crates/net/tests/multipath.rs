//! Sockets over two addresses of loopback.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::multipath::{MultipathConfig, MultipathEvent, PathPriority, SchedulerKind, SubflowId};
use whimbrel_net::{Config, Event, Host, HostOptions, Listener, NetError, PathChange, Setup, Socket};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn ordered() -> Config {
    let mut config = Config::default();
    config.receive.reorder_delay = Some(whimbrel_net::Duration::from_millis(100));
    config
}

/// A setup over several paths, from these addresses.
fn several(config: Config, locals: &[&str], settings: &MultipathConfig) -> Setup {
    Setup::from(config).over_paths(locals.iter().map(|local| address(local)), settings.clone())
}

async fn listener(settings: &MultipathConfig) -> Listener {
    let setup = several(ordered(), &[], settings);
    Listener::bind(address("127.0.0.1:0"), PORT, setup).await.expect("loopback")
}

/// A client with two addresses, and its server with one.
async fn pair(settings: MultipathConfig) -> (Listener, Socket, Socket) {
    let server = listener(&settings).await;
    let setup = several(ordered(), &["127.0.0.1:0", "127.0.0.2:0"], &settings);
    let connected = soon(Socket::connect(server.local(), PORT, setup)).await.expect("a handshake");
    let accepted = soon(server.accept()).await.expect("a handshake");
    (server, connected, accepted)
}

async fn joined(socket: &Socket) -> SubflowId {
    loop {
        if let Event::Paths(event) = soon(socket.event()).await.expect("an event")
            && let MultipathEvent::SubflowUp(id) = *event
        {
            return id;
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

#[tokio::test]
async fn data_take_both_addresses_and_arrive_in_order() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    let (_server, connected, accepted) = pair(settings).await;
    let (here, there) = (joined(&connected).await, joined(&accepted).await);
    assert!(connected.is_multipath() && accepted.is_multipath());
    for number in 0..200_u32 {
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.resize(700, 0);
        connected.send(Bytes::from(bytes)).await.expect("room");
        if number % 10 == 9 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    let (mut received, mut on_second) = (Vec::new(), 0);
    while received.last() != Some(&199) {
        let datagram = soon(accepted.recv()).await.expect("a datagram");
        on_second += u32::from(datagram.subflow == there);
        received.push(number(&datagram.payload));
    }
    assert!(received.windows(2).all(|pair| pair[0] < pair[1]), "{received:?}");
    assert!(received.len() >= 195 && (60..=140).contains(&on_second), "{} {on_second}", received.len());
    // And back.
    accepted.send(Bytes::from_static(b"thanks")).await.expect("room");
    assert_eq!(&soon(connected.recv()).await.expect("a datagram").payload[..], b"thanks");
    assert_eq!(connected.paths().expect("a connection").subflows[1].id, here);
    // The connection's counts are the sums over its paths.
    let (whole, paths) = (connected.snapshot().expect("open"), connected.paths().expect("open"));
    let sent = |of: usize| paths.subflows[of].connection.statistics.datagrams_sent;
    assert_eq!((whole.statistics.datagrams_sent, sent(0) + sent(1)), (200, 200));
    let least = paths.subflows.iter().filter_map(|path| path.connection.rtt).min();
    assert!(whole.rtt == least && least.is_some(), "{:?} {least:?}", whole.rtt);

    soon(connected.close()).await.expect("both ends agree");
    assert!(matches!(soon(accepted.recv()).await, Err(NetError::Connection(_))));
}

#[tokio::test]
async fn an_address_that_is_withdrawn_leaves_the_other() {
    let (_server, connected, accepted) = pair(MultipathConfig::default()).await;
    joined(&connected).await;
    joined(&accepted).await;
    assert!(connected.set_priority(SubflowId(0), PathPriority::STANDBY));
    assert!(connected.remove_address(address("127.0.0.1:0")));
    soon(async {
        let removed = Event::Paths(MultipathEvent::AddressRemoved { address_id: 0 }.into());
        while accepted.event().await.expect("open") != removed {}
    })
    .await;
    connected.send(Bytes::from_static(b"by the second address")).await.expect("room");
    let datagram = soon(accepted.recv()).await.expect("a datagram");
    assert_eq!(datagram.subflow, SubflowId(1));
}

#[tokio::test]
async fn a_connection_moves_to_an_address_that_appears_later() {
    let settings = MultipathConfig::default();
    let server = listener(&settings).await;
    let client = Host::udp(address("127.0.0.1:0")).await.expect("loopback");
    let there = server.local();
    let connecting = client.connect(there, PORT, several(ordered(), &[], &settings));
    let connected = soon(connecting).await.expect("a handshake");
    let accepted = soon(server.accept()).await.expect("a handshake");
    let later = client.add_local(address("127.0.0.2:0")).expect("loopback");
    connected.join(later, there).expect("a subflow");
    joined(&connected).await;
    assert!(connected.close_subflow(SubflowId(0)));
    connected.send(Bytes::from_static(b"after the change")).await.expect("room");
    assert_eq!(&soon(accepted.recv()).await.expect("a datagram").payload[..], b"after the change");
}

#[tokio::test]
async fn errors_name_what_is_wrong() {
    let settings = MultipathConfig::default();
    let client = Host::without_address(HostOptions::default()).expect("entropy");
    let connect = |to| client.connect(to, PORT, several(ordered(), &[], &settings));
    let refused = connect(address("127.0.0.1:9")).await;
    assert!(matches!(refused, Err(NetError::Config(text)) if text.contains("family")));
    client.add_local(address("127.0.0.1:0")).expect("loopback");
    let refused = connect(address("[::1]:9")).await;
    assert!(matches!(refused, Err(NetError::Config(text)) if text.contains("family")));
    // There is no such port at the server.
    let server = Host::udp(address("127.0.0.1:0")).await.expect("loopback");
    let refused = soon(connect(server.local())).await;
    assert!(matches!(refused, Err(NetError::Connection(_))), "{refused:?}");
    let server = listener(&settings).await;
    let connected = soon(Socket::connect(server.local(), PORT, several(ordered(), &[], &settings))).await;
    let moved = connected.expect("a handshake").rebind(None, PathChange::Reset).await;
    assert!(matches!(moved, Err(NetError::Config(text)) if text.contains("several paths")));
}

#[tokio::test]
async fn what_the_other_end_has_sent_arrives_before_the_end() {
    let settings = MultipathConfig::default().scheduler(SchedulerKind::Weighted);
    for by_client in [true, false] {
        let (_server, connected, accepted) = pair(settings.clone()).await;
        joined(&connected).await;
        joined(&accepted).await;
        assert_eq!(connected.try_recv().expect("a connection"), None);
        let (closing, answering) = if by_client { (&connected, &accepted) } else { (&accepted, &connected) };
        for number in 0..40_u32 {
            answering.send(Bytes::copy_from_slice(&number.to_be_bytes())).await.expect("room");
        }
        let has_sent = || answering.snapshot().is_some_and(|it| it.statistics.datagrams_sent == 40);
        soon(async {
            while !has_sent() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        soon(closing.close()).await.expect("both ends agree");
        let mut received = Vec::new();
        while let Ok(Some(datagram)) = closing.try_recv() {
            received.push(number(&datagram.payload));
        }
        assert_eq!(received, (0..40).collect::<Vec<_>>());
        assert!(matches!(closing.try_recv(), Err(NetError::Connection(_))));
        // The events that remain, and then the end.
        while let Ok(Some(_)) = closing.try_event() {}
        assert!(matches!(closing.try_event(), Err(NetError::Connection(_))));
    }
}
