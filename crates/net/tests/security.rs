//! Secured connections on the loopback interface.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::time::timeout;
use whimbrel_net::{
    Config, ConnectionError, FreezeScope, Identity, Listener, MobilityConfig, NetError, OverflowPolicy,
    PathChange, PathMtuDiscovery, ResetCode, Role, Security, SecurityError, SendError, SendQueueConfig,
    ServiceCode, Setup, SharedSecret, Socket, Trust,
};

const PORT: u16 = 5001;

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn config() -> Config {
    Config::default().service_code(ServiceCode(7))
}

/// Security of two ends that pin each other's key: client, server.
fn pair() -> (Security, Security) {
    let (client, server) = (Identity::generate().expect("a key"), Identity::generate().expect("a key"));
    let trust = |identity: &Identity| Trust::Pinned(vec![identity.fingerprint()]);
    let (for_client, for_server) = (trust(&server), trust(&client));
    (Security::new(client, for_client), Security::new(server, for_server))
}

async fn listener(security: Security) -> Listener {
    Listener::bind(any(), PORT, Setup::secured(config(), security)).await.expect("loopback")
}

async fn connect(to: &Listener, security: Security) -> Result<Socket, NetError> {
    Socket::connect(to.local(), PORT, Setup::secured(config(), security)).await
}

#[tokio::test]
async fn ends_that_pin_each_other_exchange_datagrams() {
    let (client, server) = pair();
    let (client_key, server_key) = (client.fingerprint(), server.fingerprint());
    let listener = listener(server).await;
    let socket = connect(&listener, client).await.expect("it is trusted");
    let accepted = listener.accept().await.expect("a client");
    assert_eq!((socket.peer(), accepted.peer()), (Some(server_key), Some(client_key)));

    for size in [0, 1, 1000, 1200] {
        let data = Bytes::from(vec![size as u8; size]);
        socket.send(data.clone()).await.expect("open");
        assert_eq!(accepted.recv().await.expect("open").payload, data);
        accepted.send(data.clone()).await.expect("open");
        assert_eq!(socket.recv().await.expect("open").payload, data);
    }
    // The handshake's datagrams and the bytes of records are not the application's.
    let statistics = socket.snapshot().expect("open").statistics;
    assert_eq!((statistics.datagrams_sent, statistics.bytes_sent), (4, 2201));
    assert_eq!((statistics.datagrams_received, statistics.bytes_received), (4, 2201));
    socket.close().await.expect("in order");
    let end = accepted.recv().await.expect_err("closed");
    assert!(matches!(end, NetError::Connection(ConnectionError::ClosedByPeer)), "{end}");
    assert_eq!(accepted.forgeries(), 0);
}

#[tokio::test]
async fn ends_with_the_same_secret_trust_each_other_and_no_other() {
    let secret = |text: &str| SharedSecret::new(text.as_bytes()).expect("long enough");
    let (ours, theirs) = (secret("a secret of twenty-six bytes"), secret("another one of similar length"));
    let listener = listener(ours.security(Role::Server)).await;
    let socket = connect(&listener, ours.security(Role::Client)).await.expect("the same secret");
    socket.send(Bytes::from_static(b"in")).await.expect("open");
    let accepted = listener.accept().await.expect("a client");
    assert_eq!(accepted.recv().await.expect("open").payload[..], *b"in");

    let error = connect(&listener, theirs.security(Role::Client)).await.expect_err("another secret");
    assert!(matches!(error, NetError::Security(SecurityError::UntrustedKey(_))), "{error}");
    // The two roles have different keys: a server's secret does not make a client of it.
    let error = connect(&listener, ours.security(Role::Server)).await.expect_err("the other role");
    assert!(matches!(error, NetError::Security(SecurityError::UntrustedKey(_))), "{error}");
    let next = timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(next.is_err(), "a refused client is not accepted");
}

#[tokio::test]
async fn a_client_that_is_not_trusted_learns_so_and_is_never_accepted() {
    let (client, server) = pair();
    let server_key = server.fingerprint();
    let listener = listener(server).await;
    let stranger = Security::new(Identity::generate().expect("a key"), Trust::Pinned(vec![server_key]));
    let error = connect(&listener, stranger).await.expect_err("it is not trusted");
    assert!(matches!(error, NetError::Security(SecurityError::EndedByPeer)), "{error}");
    assert!(error.to_string().contains("may not trust this end's key"), "{error}");
    let next = timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(next.is_err(), "a refused client is not accepted");
    // The server goes on.
    connect(&listener, client).await.expect("it is trusted");
}

#[tokio::test]
async fn a_server_that_is_not_trusted_is_refused_by_its_key() {
    let (client, _) = pair();
    let impostor = Identity::generate().expect("a key");
    let key = impostor.fingerprint();
    let listener = listener(Security::new(impostor, Trust::Any)).await;
    let error = connect(&listener, client).await.expect_err("another key");
    assert!(matches!(error, NetError::Security(SecurityError::UntrustedKey(seen)) if seen == key), "{error}");
    assert!(error.to_string().contains(&key.to_string()), "{error}");
}

#[tokio::test]
async fn ends_that_disagree_on_encryption_notice() {
    let (client, server) = pair();
    // A client without it, at a server with it.
    let secured = listener(server).await;
    let plain = Socket::connect(secured.local(), PORT, config()).await.expect("DCCP connects");
    plain.send(Bytes::from_static(b"in the clear")).await.expect("open");
    let error = plain.recv().await.expect_err("it is not accepted");
    let NetError::Connection(ConnectionError::Reset(reset)) = error else { panic!("{error}") };
    assert_eq!(reset.code, ResetCode::Aborted);
    let next = timeout(Duration::from_millis(50), secured.accept()).await;
    assert!(next.is_err(), "clear data reach no application");

    // A client with it, at a server without it, which answers.
    let listener = Listener::bind(any(), PORT, config()).await.expect("loopback");
    let connecting = tokio::spawn({
        let at = listener.local();
        async move { Socket::connect(at, PORT, Setup::secured(config(), client)).await }
    });
    let accepted = listener.accept().await.expect("a client");
    accepted.send(Bytes::from_static(b"welcome")).await.expect("open");
    let error = connecting.await.expect("no panic").expect_err("no DTLS");
    assert!(matches!(error, NetError::Security(SecurityError::NotDtls)), "{error}");
    let first = accepted.recv().await.expect("a ClientHello").payload;
    assert!(!first.windows(4).any(|window| window == b"in t"), "{first:?}");
}

#[tokio::test]
async fn the_largest_datagram_is_that_of_the_path_without_the_records_overhead() {
    let (client, server) = pair();
    let listener = listener(server).await;
    let socket = connect(&listener, client).await.expect("it is trusted");
    let accepted = listener.accept().await.expect("a client");
    let most = socket.snapshot().expect("open").max_datagram;
    socket.send(Bytes::from(vec![5; most])).await.expect("it fits");
    assert_eq!(accepted.recv().await.expect("open").payload.len(), most);
    let error = socket.send(Bytes::from(vec![5; most + 1])).await.expect_err("too large");
    let NetError::Send(SendError::TooLarge { size, limit }) = error else { panic!("{error}") };
    assert_eq!(size, most + 1);
    assert!(limit >= most, "{limit}");
}

#[tokio::test]
async fn a_secured_client_moves_to_another_address_and_nothing_is_lost() {
    let (client, server) = pair();
    let config = || {
        let queue = SendQueueConfig::default().overflow(OverflowPolicy::Refuse);
        config().mobility(Some(MobilityConfig::default())).send_queue(queue)
    };
    let any_of_all = "0.0.0.0:0".parse().expect("an address");
    let listener =
        Listener::bind(any_of_all, PORT, Setup::secured(config(), server)).await.expect("loopback");
    let at = SocketAddr::from(([127, 0, 0, 1], listener.local().port()));
    let socket = Socket::connect(at, PORT, Setup::secured(config(), client)).await.expect("it is trusted");
    let accepted = listener.accept().await.expect("a client");
    let send = async {
        for n in 0..300u32 {
            if n == 100 {
                let there = "127.0.0.2:0".parse().expect("an address");
                socket.rebind(Some(there), PathChange::Keep).await.expect("loopback");
            }
            socket.send(Bytes::copy_from_slice(&n.to_be_bytes())).await.expect("open");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let receive = async {
        for n in 0..300u32 {
            let received =
                timeout(Duration::from_secs(20), accepted.recv()).await.expect("in time").expect("open");
            assert_eq!(received.payload[..], n.to_be_bytes());
        }
    };
    tokio::join!(send, receive);
    assert_eq!(accepted.remote().ip().to_string(), "127.0.0.2");
    assert_eq!(accepted.forgeries(), 0);
}

#[tokio::test]
async fn a_freeze_holds_encrypted_data_back_as_any_others() {
    let (client, server) = pair();
    let listener = listener(server).await;
    let socket = connect(&listener, client).await.expect("it is trusted");
    let accepted = listener.accept().await.expect("a client");
    socket.freeze(FreezeScope::Local);
    socket.send(Bytes::from_static(b"later")).await.expect("open");
    let early = timeout(Duration::from_millis(200), accepted.recv()).await;
    assert!(early.is_err(), "it arrived in the freeze");
    socket.unfreeze(FreezeScope::Local);
    let received = timeout(Duration::from_secs(5), accepted.recv()).await.expect("in time").expect("open");
    assert_eq!(received.payload[..], *b"later");
}

#[tokio::test]
async fn dropped_sockets_and_listeners_close_secured_connections() {
    let (client, server) = pair();
    let listener = listener(server).await;
    let first = connect(&listener, client.clone()).await.expect("it is trusted");
    let accepted = listener.accept().await.expect("a client");
    drop(first);
    let end = timeout(Duration::from_secs(5), accepted.recv()).await.expect("in time").expect_err("closed");
    assert!(matches!(end, NetError::Connection(ConnectionError::ClosedByPeer)), "{end}");
    // One that was not accepted is closed with the listener.
    let second = connect(&listener, client).await.expect("it is trusted");
    drop(listener);
    let end = timeout(Duration::from_secs(5), second.recv()).await.expect("in time").expect_err("closed");
    assert!(matches!(end, NetError::Connection(_)), "{end}");
}

/// A path to `to` that carries datagrams of up to `most` bytes there. Returns its near address, and the size
/// of the largest datagram that has come back.
async fn path_to(to: SocketAddr, most: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let front = UdpSocket::bind(any()).await.expect("loopback");
    let back = UdpSocket::bind(any()).await.expect("loopback");
    back.connect(to).await.expect("loopback");
    let at = front.local_addr().expect("bound");
    let largest = Arc::new(AtomicUsize::new(0));
    let seen = largest.clone();
    tokio::spawn(async move {
        let (mut up, mut down, mut client) = ([0; 2048], [0; 2048], None);
        loop {
            tokio::select! {
                Ok((taken, from)) = front.recv_from(&mut up) => {
                    client = Some(from);
                    if taken <= most {
                        let _ = back.send(&up[..taken]).await;
                    }
                }
                Ok(taken) = back.recv(&mut down) => {
                    seen.fetch_max(taken, Ordering::Relaxed);
                    if let Some(client) = client {
                        let _ = front.send_to(&down[..taken], client).await;
                    }
                }
            }
        }
    });
    (at, largest)
}

/// One address fills the places for handshakes. A client at another one is slow: its handshake has begun
/// before, and takes longer than the flood.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn clients_that_never_finish_their_handshake_only_displace_those_of_their_address() {
    use whimbrel_net::Host;

    let (client, server) = pair();
    let listener = listener(server).await;
    let slow = Host::udp("127.0.0.2:0".parse().expect("an address")).await.expect("loopback");
    let slow = slow.connect(listener.local(), PORT, config()).await.expect("DCCP connects");
    // A client at the address of the flood, whose part of the handshake of DTLS does not arrive.
    let (at, _) = path_to(listener.local(), 300).await;
    let displaced = tokio::spawn(Socket::connect(at, PORT, Setup::secured(config(), client.clone())));
    tokio::time::sleep(Duration::from_millis(500)).await;
    // Each completes the handshake of DCCP, sends nothing and waits.
    let host = Host::udp(any()).await.expect("loopback");
    let mut idle = Vec::new();
    for _ in 0..1024 {
        idle.push(host.connect(listener.local(), PORT, config()).await.expect("DCCP connects"));
    }
    // An honest client still connects, and only the oldest of the others have ended.
    let honest = timeout(Duration::from_secs(10), connect(&listener, client)).await.expect("in time");
    honest.expect("it is trusted");
    let oldest =
        timeout(Duration::from_secs(5), idle[0].recv()).await.expect("in time").expect_err("displaced");
    assert!(
        matches!(oldest, NetError::Connection(ConnectionError::Reset(reset)) if reset.is_busy()),
        "it is told why: {oldest}"
    );
    let error = timeout(Duration::from_secs(5), displaced).await.expect("in time").expect("no panic");
    let error = error.expect_err("displaced");
    assert!(matches!(error, NetError::Security(SecurityError::Busy)), "not its key: {error}");
    for open in [&idle[1023], &slow] {
        let newest = timeout(Duration::from_millis(50), open.recv()).await;
        assert!(newest.is_err(), "it is still open");
    }
}

/// A client that proves its address and no more: probes of the path MTU would be a multiple of what it sends.
#[tokio::test]
async fn a_server_probes_no_path_before_the_handshake_is_complete() {
    let (client, server) = pair();
    let listener = listener(server).await;
    let (at, seen) = path_to(listener.local(), 2048).await;
    let largest = |seen: &AtomicUsize| seen.load(Ordering::Relaxed);
    // Its own probes would be answered by packets as large.
    let quiet = config().path_mtu(PathMtuDiscovery::Off);
    let idle = Socket::connect(at, PORT, quiet.clone()).await.expect("DCCP connects");
    let nothing = timeout(Duration::from_millis(1_500), idle.recv()).await;
    let bytes = largest(&seen);
    assert!(nothing.is_err() && bytes > 0 && bytes < 400, "{nothing:?}: {bytes}");
    drop(idle);
    // A path of its own: on the other the last packets of `idle` go on.
    let (at, seen) = path_to(listener.local(), 2048).await;
    let honest = Socket::connect(at, PORT, Setup::secured(quiet, client)).await.expect("it is trusted");
    let probed = async {
        while largest(&seen) < 1_300 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), probed).await.expect("an authenticated client's path is probed");
    drop(honest);
}
