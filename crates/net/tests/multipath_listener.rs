//! Multipath connections at a listener's port, secured, and the ends of paths.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::multipath::{MultipathConfig, MultipathEvent, SchedulerKind, SubflowId};
use whimbrel_net::{
    Config, Event, Host, HostOptions, Identity, Listener, NetError, OverflowPolicy, Security, SecurityError,
    SendError, SendQueueConfig, Setup, Socket, Trust,
};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn config() -> Config {
    let mut config = Config::default();
    config.receive.reorder_delay = Some(whimbrel_net::Duration::from_millis(100));
    config
}

/// Security of two ends that pin each other's key: client, server.
fn security() -> (Security, Security) {
    let (client, server) = (Identity::generate().expect("a key"), Identity::generate().expect("a key"));
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (for_client, for_server) = (trust(&server), trust(&client));
    (Security::new(client, for_client), Security::new(server, for_server))
}

/// A listener for connections over one path and over several.
async fn listener(setup: Setup) -> Listener {
    Listener::bind(address("0.0.0.0:0"), PORT, several(setup)).await.expect("loopback")
}

fn several(setup: impl Into<Setup>) -> Setup {
    setup.into().over_paths([], MultipathConfig::default())
}

fn at(listener: &Listener) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], listener.local().port()))
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

async fn client() -> Host {
    let host = Host::udp(address("127.0.0.1:0")).await.expect("loopback");
    host.add_local(address("127.0.0.2:0")).expect("loopback");
    host
}

#[tokio::test]
async fn a_listener_serves_both_kinds_and_encrypts_over_all_subflows() {
    let (of_client, of_server) = security();
    let keys = (of_server.fingerprint(), of_client.fingerprint());
    let listener = listener(Setup::secured(config(), of_server)).await;
    let setup = Setup::secured(config(), of_client);
    let single = soon(Socket::connect(at(&listener), PORT, setup.clone())).await.expect("a handshake");
    let accepted_single = soon(listener.accept()).await.expect("a client");

    let client = client().await;
    let setup = setup.over_paths([], MultipathConfig::default().scheduler(SchedulerKind::Weighted));
    let connected = soon(client.connect(at(&listener), PORT, setup)).await.expect("handshakes");
    let accepted = soon(listener.accept()).await.expect("a client");
    assert_eq!((connected.peer(), accepted.peer()), (Some(keys.0), Some(keys.1)));
    let second = joined(&accepted).await;
    joined(&connected).await;
    let mut on_second = 0;
    for number in 0..100_u32 {
        connected.send(Bytes::copy_from_slice(&number.to_be_bytes())).await.expect("room");
        let received = soon(accepted.recv()).await.expect("a datagram");
        assert_eq!(received.payload[..], number.to_be_bytes());
        on_second += u32::from(received.subflow == second);
    }
    assert!((30..=70).contains(&on_second), "{on_second} of 100 on the second subflow");
    accepted.send(Bytes::from_static(b"back")).await.expect("room");
    assert_eq!(soon(connected.recv()).await.expect("a datagram").payload[..], *b"back");
    // The handshake's datagrams and the bytes of records are not the application's.
    let sent = connected.snapshot().expect("open").statistics;
    assert_eq!((sent.datagrams_sent, sent.bytes_sent, sent.datagrams_received), (100, 400, 1));
    let received = accepted.snapshot().expect("open").statistics;
    assert_eq!((received.datagrams_received, received.bytes_received), (100, 400));
    assert_eq!(accepted.snapshot().expect("open").receiver.lost, 0);
    assert_eq!((connected.forgeries(), accepted.forgeries()), (0, 0));

    single.send(Bytes::from_static(b"single")).await.expect("open");
    assert_eq!(soon(accepted_single.recv()).await.expect("a datagram").payload[..], *b"single");
    // The connections outlive the listener.
    drop(listener);
    connected.send(Bytes::from_static(b"still")).await.expect("room");
    assert_eq!(soon(accepted.recv()).await.expect("a datagram").payload[..], *b"still");
    soon(connected.close()).await.expect("both ends agree");
    assert!(matches!(soon(accepted.recv()).await, Err(NetError::Connection(_))));
}

#[tokio::test]
async fn an_untrusted_peer_is_refused_with_the_reason() {
    let (_, of_server) = security();
    let (stranger, _) = security();
    let listener = listener(Setup::secured(config(), of_server)).await;
    let setup = Setup::secured(config(), stranger);
    let refused = soon(client().await.connect(at(&listener), PORT, several(setup))).await;
    assert!(matches!(refused, Err(NetError::Security(SecurityError::UntrustedKey { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_socket_does_not_receive_from_the_next_connection_in_its_place() {
    let listener = listener(config().into()).await;
    let client = client().await;
    let connect = || client.connect(at(&listener), PORT, several(config()));
    let first = soon(connect()).await.expect("a handshake");
    let old = soon(listener.accept()).await.expect("a client");
    first.abort();
    assert!(soon(old.recv()).await.is_err());
    drop(first);
    // The server's state of the first connection is gone: its place is free.
    soon(async {
        while old.snapshot().is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let second = soon(connect()).await.expect("a handshake");
    let new = soon(listener.accept()).await.expect("a client");
    second.send(Bytes::from_static(b"for the second")).await.expect("room");
    assert_eq!(soon(new.recv()).await.expect("a datagram").payload[..], *b"for the second");
    assert!(
        soon(old.recv()).await.is_err()
            && old.try_send(Bytes::from_static(b"x"), None).is_err()
            && old.snapshot().is_none()
    );
    // Dropping the old socket does not close the new connection.
    drop(old);
    second.send(Bytes::from_static(b"again")).await.expect("room");
    assert_eq!(soon(new.recv()).await.expect("a datagram").payload[..], *b"again");
}

#[tokio::test]
async fn a_listener_that_is_gone_accepts_nothing() {
    let setup = several(config());
    let listener = Listener::bind(address("127.0.0.1:0"), PORT, setup).await.expect("a free port");
    let there = listener.local();
    let client = client().await;
    let connect = || client.connect(there, PORT, several(config()));
    let accepted = soon(connect()).await.expect("a handshake");
    let taken = soon(listener.accept()).await.expect("a client");
    let unaccepted = soon(connect()).await.expect("a handshake");
    drop(listener);
    assert!(soon(unaccepted.recv()).await.is_err(), "it is closed");
    assert!(soon(connect()).await.is_err());
    accepted.send(Bytes::from_static(b"it continues")).await.expect("room");
    assert_eq!(soon(taken.recv()).await.expect("a datagram").payload[..], *b"it continues");
}

#[tokio::test]
async fn an_address_that_disappears_leaves_the_other_and_may_return() {
    let listener = listener(config().into()).await;
    let client = client().await;
    let connected = soon(client.connect(at(&listener), PORT, several(config()))).await;
    let connected = connected.expect("a handshake");
    let accepted = soon(listener.accept()).await.expect("a client");
    joined(&accepted).await;
    joined(&connected).await;
    let [first, second] = client.local_addrs()[..] else { panic!("two addresses") };
    assert!(client.remove_local(first) && !client.remove_local(first));
    assert_eq!(client.local_addrs(), [second]);
    let is_removal = |event: &MultipathEvent| matches!(event, MultipathEvent::AddressRemoved { .. });
    soon(async { while !matches!(accepted.event().await, Ok(Event::Paths(event)) if is_removal(&event)) {} })
        .await;
    connected.send(Bytes::from_static(b"by the second")).await.expect("room");
    assert_eq!(soon(accepted.recv()).await.expect("a datagram").subflow, SubflowId(1));
    let back = client.add_local(address("127.0.0.1:0")).expect("loopback");
    let third = connected.join(back, at(&listener)).expect("a subflow");
    assert_eq!(joined(&connected).await, third);
    assert!(client.remove_local(second));
    connected.send(Bytes::from_static(b"by the third")).await.expect("room");
    assert_eq!(soon(accepted.recv()).await.expect("a datagram").payload[..], *b"by the third");
}

#[tokio::test]
async fn a_full_queue_refuses_and_has_room_again() {
    let queue = SendQueueConfig::default().max_datagrams(4).overflow(OverflowPolicy::Refuse);
    let listener = listener(config().into()).await;
    let client = client().await;
    let connecting = client.connect(at(&listener), PORT, several(config().send_queue(queue)));
    let connected = soon(connecting).await.expect("a handshake");
    let accepted = soon(listener.accept()).await.expect("a client");
    let (mut sent, mut refused) = (0, 0);
    while sent < 50 {
        match connected.try_send(Bytes::from(vec![0; 1000]), None) {
            Ok(_) => sent += 1,
            Err(NetError::Send(SendError::QueueFull)) => {
                refused += 1;
                soon(connected.writable(1000)).await.expect("open");
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0);
    for _ in 0..50 {
        soon(accepted.recv()).await.expect("a datagram");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_unreachable_peer_is_reported_at_once() {
    // A port that was in use a moment ago.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback").local_addr().expect("bound");
    let host = Host::without_address(HostOptions::default().peer(Some(free))).expect("entropy");
    host.add_local(address("127.0.0.1:0")).expect("loopback");
    let connecting = host.connect(free, PORT, several(config()));
    let refused = timeout(Duration::from_secs(3), connecting).await.expect("the ICMP message ends it");
    assert!(matches!(refused, Err(NetError::Connection(_))), "{refused:?}");
}

#[tokio::test]
async fn without_the_extensions_at_the_listener_the_connection_is_a_regular_one() {
    let listener = Listener::bind(address("127.0.0.1:0"), PORT, config()).await.expect("loopback");
    let client = client().await;
    let connected = soon(client.connect(listener.local(), PORT, several(config()))).await;
    let connected = connected.expect("a handshake");
    assert!(!connected.is_multipath(), "a regular connection");
    let accepted = soon(listener.accept()).await.expect("a client");
    connected.send(Bytes::from_static(b"regular")).await.expect("room");
    assert_eq!(soon(accepted.recv()).await.expect("a datagram").payload[..], *b"regular");
}
