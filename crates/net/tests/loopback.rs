//! Real sockets on loopback.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::{
    Ccid, Config, ConnectionError, Listener, NetError, OverflowPolicy, Registry, SendQueueConfig,
    ServiceCode, Socket, SocketOptions,
};
use whimbrel_wire::ResetCode;

const PORT: u16 = 5001;

fn config(ccid: Ccid) -> Config {
    Config::default()
        .ccids(Registry::default().with_window_laws())
        .service_code(ServiceCode(42))
        .sender_ccids([ccid])
        .receiver_ccids([ccid])
        .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

async fn listener(address: &str, ccid: Ccid) -> Listener {
    Listener::bind(address.parse().expect("an address"), PORT, config(ccid)).await.expect("loopback")
}

async fn pair(ccid: Ccid) -> (Socket, Socket) {
    let listener = listener("127.0.0.1:0", ccid).await;
    let client = soon(Socket::connect(listener.local(), PORT, config(ccid))).await.expect("a handshake");
    // The server's side is accepted when the client's first data or acknowledgement comes.
    let server = soon(listener.accept()).await.expect("a handshake");
    (client, server)
}

#[tokio::test]
async fn datagrams_cross_in_both_directions_with_each_ccid() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC, Ccid::CUBIC, Ccid::VENO, Ccid::WESTWOOD, Ccid::PRAGUE] {
        let (client, server) = pair(ccid).await;
        let both = async {
            for n in 0..500u32 {
                client.send(Bytes::copy_from_slice(&n.to_be_bytes())).await.expect("open");
                let received = server.recv().await.expect("open");
                assert_eq!(received.payload[..], n.to_be_bytes());
                server.send(received.payload).await.expect("open");
                assert_eq!(client.recv().await.expect("open").payload[..], n.to_be_bytes());
            }
        };
        soon(both).await;
        let snapshot = client.snapshot().expect("open");
        assert_eq!((snapshot.sender_ccid, snapshot.statistics.datagrams_received), (ccid, 500));
        assert!(snapshot.rtt.is_some_and(|rtt| rtt.as_millis() < 1000), "{snapshot:?}");
    }
}

#[tokio::test]
async fn a_listener_without_the_experiments_refuses_a_client_that_offers_nothing_else() {
    let plain = Config::default().service_code(ServiceCode(42));
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(address, PORT, plain).await.expect("loopback");
    let refused = soon(Socket::connect(listener.local(), PORT, config(Ccid::CUBIC))).await;
    assert!(refused.is_err());
    let fallback = config(Ccid::CUBIC).sender_ccids([Ccid::CUBIC, Ccid::TCP_LIKE]);
    let fallback = fallback.receiver_ccids([Ccid::CUBIC, Ccid::TCP_LIKE]);
    let client = soon(Socket::connect(listener.local(), PORT, fallback)).await.expect("a handshake");
    assert_eq!(client.snapshot().expect("open").sender_ccid, Ccid::TCP_LIKE);
}

#[tokio::test]
async fn a_bulk_transfer_arrives_in_order_and_close_lets_the_reader_finish() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let (client, server) = pair(ccid).await;
        let sending = tokio::spawn(async move {
            for n in 0..5_000u32 {
                let mut payload = vec![0; 1200];
                payload[..4].copy_from_slice(&n.to_be_bytes());
                client.send(payload.into()).await.expect("open");
            }
            client.close().await.expect("in order");
        });
        let mut last = None;
        let mut count = 0;
        let end = loop {
            match soon(server.recv()).await {
                Ok(received) => {
                    let n = u32::from_be_bytes(received.payload[..4].try_into().expect("four bytes"));
                    assert!(last.is_none_or(|last| n > last), "{n} after {last:?}");
                    last = Some(n);
                    count += 1;
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(end, NetError::Connection(ConnectionError::ClosedByPeer)), "{end}");
        soon(sending).await.expect("no panic");
        // Datagrams are not retransmitted; on loopback next to none is lost.
        assert!(count > 4_500, "{ccid}: {count} of 5000");
    }
}

#[tokio::test]
async fn a_wrong_service_code_is_distinguished_from_an_absent_server() {
    let listener = listener("127.0.0.1:0", Ccid::TFRC).await;
    let wrong = config(Ccid::TFRC).service_code(ServiceCode(43));
    match soon(Socket::connect(listener.local(), PORT, wrong)).await {
        Err(NetError::Connection(ConnectionError::Reset(reset))) => {
            assert_eq!(reset.code, ResetCode::BadServiceCode)
        }
        other => panic!("{other:?}"),
    }
    match soon(Socket::connect(listener.local(), PORT + 1, config(Ccid::TFRC))).await {
        Err(NetError::Connection(ConnectionError::Reset(reset))) => {
            assert_eq!(reset.code, ResetCode::ConnectionRefused)
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_closed_udp_port_is_detected_at_once() {
    use whimbrel_net::{RequestSchedule, TimerConfig};

    let free =
        std::net::UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback");
    // Well before the Request would be repeated.
    let timers = TimerConfig::default().requests(RequestSchedule::RFC4340);
    let connecting = Socket::connect(free, PORT, config(Ccid::TFRC).timers(timers));
    match timeout(Duration::from_millis(900), connecting).await.expect("noticed") {
        Err(NetError::Connection(ConnectionError::Unreachable)) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_dual_stack_listener_serves_both_families() {
    let listener = listener("[::]:0", Ccid::TCP_LIKE).await;
    for host in ["127.0.0.1", "::1"] {
        let at = std::net::SocketAddr::new(host.parse().expect("an address"), listener.local().port());
        let client = soon(Socket::connect(at, PORT, config(Ccid::TCP_LIKE))).await.expect(host);
        let server = soon(listener.accept()).await.expect(host);
        soon(client.send(Bytes::from_static(b"hello"))).await.expect(host);
        assert_eq!(soon(server.recv()).await.expect(host).payload[..], *b"hello");
        assert_eq!(server.remote().is_ipv4(), host == "127.0.0.1");
    }
}

#[tokio::test]
async fn a_thousand_connections_share_one_udp_port() {
    const CONNECTIONS: u32 = 1000;
    let listener = listener("127.0.0.1:0", Ccid::TFRC).await;
    let at = listener.local();
    let serving = tokio::spawn(async move {
        let mut echoes = tokio::task::JoinSet::new();
        for _ in 0..CONNECTIONS {
            let socket = listener.accept().await.expect("a handshake");
            echoes.spawn(async move {
                let received = socket.recv().await.expect("a datagram");
                socket.send(received.payload).await.expect("open");
                // Until the client closes.
                while socket.recv().await.is_ok() {}
            });
        }
        while echoes.join_next().await.is_some() {}
    });
    let mut clients = tokio::task::JoinSet::new();
    for n in 0..CONNECTIONS {
        clients.spawn(async move {
            let socket = Socket::connect(at, PORT, config(Ccid::TFRC)).await.expect("a handshake");
            socket.send(Bytes::copy_from_slice(&n.to_be_bytes())).await.expect("open");
            assert_eq!(socket.recv().await.expect("an echo").payload[..], n.to_be_bytes());
            socket.close().await.expect("in order");
        });
    }
    let all = async {
        while let Some(result) = clients.join_next().await {
            result.expect("no panic");
        }
        serving.await.expect("no panic");
    };
    timeout(Duration::from_secs(60), all).await.expect("done within a minute");
}

#[tokio::test]
async fn an_abort_reaches_the_peer_as_a_reset() {
    let (client, server) = pair(Ccid::TFRC).await;
    client.abort();
    match soon(server.recv()).await {
        Err(NetError::Connection(ConnectionError::Reset(reset))) => {
            assert_eq!(reset.code, ResetCode::Aborted)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_datagram_too_large_for_a_packet_is_refused() {
    let (client, _server) = pair(Ccid::TFRC).await;
    let error = client.try_send(vec![0; 65_000].into(), None).expect_err("too large");
    assert!(error.to_string().contains("exceeds the limit"), "{error}");
}

#[tokio::test]
async fn a_server_invites_the_client_that_it_expects() {
    // The DCCP port is not listened on: the invitation alone lets the client in, and only that one.
    let inviting = listener("127.0.0.1:0", Ccid::TFRC).await;
    let local =
        std::net::UdpSocket::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("loopback");
    inviting.invite(local, 40_000, PORT + 1, config(Ccid::TFRC)).expect("the first invitation");
    assert!(inviting.invite(local, 40_000, PORT + 1, config(Ccid::TFRC)).is_err(), "twice");
    let uninvited = soon(Socket::connect(inviting.local(), PORT + 1, config(Ccid::TFRC))).await;
    assert!(matches!(uninvited, Err(NetError::Connection(ConnectionError::Reset(_)))), "{uninvited:?}");
    let options = SocketOptions::default().local(Some(local)).source_port(Some(40_000));
    let connecting = Socket::connect_with(inviting.local(), PORT + 1, config(Ccid::TFRC), options);
    let client = soon(connecting).await.expect("a handshake");
    let server = soon(inviting.accept()).await.expect("a handshake");
    client.send(Bytes::from_static(b"hello")).await.expect("open");
    assert_eq!(soon(server.recv()).await.expect("open").payload[..], b"hello"[..]);
}
