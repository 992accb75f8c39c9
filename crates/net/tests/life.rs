//! Lifetimes of sockets, listeners and their driver, and wake-ups between them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, Config, ConnectionError, DropCode, DropReason, Event, Listener, NetError, OverflowPolicy,
    SendError, SendQueueConfig, ServiceCode, Socket, SocketOptions,
};

const PORT: u16 = 5001;

fn config() -> Config {
    Config::default()
        .service_code(ServiceCode(42))
        .sender_ccids([Ccid::TCP_LIKE])
        .receiver_ccids([Ccid::TCP_LIKE])
        .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

async fn listener() -> Listener {
    Listener::bind("127.0.0.1:0".parse().expect("an address"), PORT, config()).await.expect("loopback")
}

async fn pair_of(listener: &Listener) -> (Socket, Socket) {
    let client = soon(Socket::connect(listener.local(), PORT, config())).await.expect("a handshake");
    (client, soon(listener.accept()).await.expect("a handshake"))
}

async fn pair() -> (Socket, Socket) {
    pair_of(&listener().await).await
}

fn numbered(n: u32) -> Bytes {
    Bytes::copy_from_slice(&n.to_be_bytes())
}

fn number(payload: &[u8]) -> u32 {
    u32::from_be_bytes(payload.try_into().expect("four bytes"))
}

/// A client behind a NAT or routers that lead the packets of its first port nowhere.
#[tokio::test]
async fn a_client_without_an_answer_changes_its_port() {
    let listener = listener().await;
    let path = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("loopback");
    let out = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("loopback");
    let (at, far) = (path.local_addr().expect("bound"), listener.local());
    let forward = async {
        let (mut dead, mut client) = (None, None);
        let (mut one, mut other) = ([0; 2048], [0; 2048]);
        loop {
            tokio::select! {
                Ok((size, source)) = path.recv_from(&mut one) => {
                    if *dead.get_or_insert(source) != source {
                        client = Some(source);
                        let _ = out.send_to(&one[..size], far).await;
                    }
                }
                Ok((size, _)) = out.recv_from(&mut other) => {
                    let _ = path.send_to(&other[..size], client.expect("it has asked")).await;
                }
            }
        }
    };
    let connecting = soon(Socket::connect(at, PORT, config()));
    let client = tokio::select! {
        connected = connecting => connected.expect("from another port"),
        () = forward => unreachable!("it goes on"),
    };
    assert_eq!(client.remote(), at);
}

/// No driver runs any more.
async fn all_drivers_end() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let ended = async {
        while metrics.num_alive_tasks() > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    soon(ended).await;
}

/// On a runtime of several threads it runs at once, while its first handle is still being made.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_driver_does_not_end_before_its_first_handle_is_made() {
    for _ in 0..500 {
        let listener = listener().await;
        let accepted = timeout(Duration::from_micros(200), listener.accept()).await;
        assert!(accepted.is_err(), "{accepted:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn many_tasks_send_and_receive_on_one_socket_and_none_misses_its_wake_up() {
    const TASKS: u32 = 8;
    const EACH: u32 = 500;
    let (client, server) = pair().await;
    let (client, server) = (Arc::new(client), Arc::new(server));
    let mut receiving = JoinSet::new();
    for _ in 0..3 {
        let server = server.clone();
        receiving.spawn(async move {
            let mut seen = Vec::new();
            while let Ok(received) = server.recv().await {
                seen.push(number(&received.payload));
            }
            seen
        });
    }
    let mut sending = JoinSet::new();
    for task in 0..TASKS {
        let client = client.clone();
        sending.spawn(async move {
            for n in 0..EACH {
                client.send(numbered(task * EACH + n)).await.expect("open");
            }
        });
    }
    let all = async {
        while let Some(result) = sending.join_next().await {
            result.expect("no panic");
        }
        client.close().await.expect("in order");
        let mut seen = Vec::new();
        while let Some(result) = receiving.join_next().await {
            seen.extend(result.expect("no panic"));
        }
        seen
    };
    let mut seen = soon(all).await;
    seen.sort_unstable();
    let count = seen.len();
    seen.dedup();
    assert_eq!(seen.len(), count, "a datagram was delivered twice");
    // On loopback next to none is lost.
    assert!(count as u32 > TASKS * EACH * 9 / 10, "{count}");
}

#[tokio::test]
async fn a_frame_of_many_datagrams_is_sent_at_once() {
    let (client, server) = pair().await;
    let sending = client.send_many((0..1000).map(numbered), None);
    let receiving = async {
        for n in 0..1000 {
            assert_eq!(number(&server.recv().await.expect("open").payload), n);
        }
    };
    let (sent, ()) = soon(async { tokio::join!(sending, receiving) }).await;
    sent.expect("open");
}

#[tokio::test]
async fn all_waiting_tasks_are_notified_of_the_end() {
    let (client, server) = pair().await;
    let client = Arc::new(client);
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        let (a, b, c) = (client.clone(), client.clone(), client.clone());
        waiting.spawn(async move { a.recv().await.map(drop) });
        waiting.spawn(async move {
            while !matches!(b.event().await?, Event::Closed(_)) {}
            Ok(())
        });
        waiting.spawn(async move {
            c.close().await.expect("in order");
            Ok(())
        });
    }
    drop(server);
    let all = async {
        while let Some(result) = waiting.join_next().await {
            let _ = result.expect("no panic");
        }
    };
    soon(all).await;
    assert!(matches!(client.recv().await, Err(NetError::Connection(_))));
    assert!(matches!(client.send(numbered(0)).await, Err(NetError::Connection(_))));
    assert!(matches!(client.try_send(numbered(0), None), Err(NetError::Connection(_))));
}

#[tokio::test]
async fn queued_datagrams_are_delivered_before_a_dropped_socket_closes() {
    let (client, server) = pair().await;
    for n in 0..60 {
        client.try_send(numbered(n), None).expect("room");
    }
    drop(client);
    let reading = async {
        let mut count = 0;
        loop {
            match server.recv().await {
                Ok(received) => {
                    assert_eq!(number(&received.payload), count);
                    count += 1;
                }
                Err(NetError::Connection(ConnectionError::ClosedByPeer)) => break count,
                Err(other) => panic!("{other}"),
            }
        }
    };
    assert_eq!(soon(reading).await, 60);
    drop(server);
    all_drivers_end().await;
}

#[tokio::test]
async fn a_driver_ends_with_the_last_of_its_sockets() {
    let listener = listener().await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        sockets.push(pair_of(&listener).await);
    }
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 6);
    drop(listener);
    // The accepted ones continue without it.
    for (client, server) in &sockets {
        server.send(numbered(7)).await.expect("open");
        assert_eq!(number(&soon(client.recv()).await.expect("open").payload), 7);
    }
    drop(sockets);
    all_drivers_end().await;
}

#[tokio::test]
async fn a_dropped_listener_closes_connections_not_accepted() {
    let listener = listener().await;
    let client = soon(Socket::connect(listener.local(), PORT, config())).await.expect("a handshake");
    client.send(numbered(1)).await.expect("open");
    // The handshake is complete at the server, too, but the connection is not taken.
    sleep(Duration::from_millis(50)).await;
    drop(listener);
    match soon(client.recv()).await {
        Err(NetError::Connection(ConnectionError::ClosedByPeer)) => {}
        other => panic!("{other:?}"),
    }
    drop(client);
    all_drivers_end().await;
}

#[tokio::test]
async fn giving_up_a_connection_attempt_ends_it() {
    // A host that never answers.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let at = silent.local_addr().expect("bound");
    let attempt = timeout(Duration::from_millis(50), Socket::connect(at, PORT, config()));
    assert!(attempt.await.is_err());
    all_drivers_end().await;
}

#[tokio::test]
async fn a_slow_reader_keeps_the_newest() {
    let listener = listener().await;
    let options = SocketOptions::default().receive_queue(10);
    let client =
        soon(Socket::connect_with(listener.local(), PORT, config(), options)).await.expect("a handshake");
    let server = soon(listener.accept()).await.expect("a handshake");
    for n in 0..50 {
        server.send(numbered(n)).await.expect("open");
    }
    server.close().await.expect("in order");
    let mut unread = Vec::new();
    while let Ok(received) = client.recv().await {
        unread.push(number(&received.payload));
    }
    assert_eq!((unread, client.receive_overflows()), ((40..50).collect(), 40));
}

#[tokio::test]
async fn stale_datagrams_are_dropped_and_reported() {
    let (client, _server) = pair().await;
    client.try_send(numbered(1), Some(client.now())).expect("room");
    let reported = async {
        loop {
            if let Event::DatagramDropped { reason, .. } = client.event().await.expect("open") {
                break reason;
            }
        }
    };
    assert_eq!(soon(reported).await, DropReason::Expired);
}

#[tokio::test]
async fn a_full_queue_refuses_and_then_has_room_again() {
    let (client, server) = pair().await;
    let mut taken = 0;
    // The driver does not run meanwhile.
    let refused = loop {
        match client.try_send(numbered(taken), None) {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, NetError::Send(SendError::QueueFull)), "{refused}");
    soon(client.send(numbered(taken))).await.expect("open");
    for n in 0..=taken {
        assert_eq!(number(&soon(server.recv()).await.expect("open").payload), n);
    }
}

#[tokio::test]
async fn a_socket_whose_connection_is_over_does_not_touch_the_next_one() {
    let listener = listener().await;
    let mut old = Vec::new();
    for _ in 0..20 {
        let (client, server) = pair_of(&listener).await;
        client.abort();
        assert!(soon(server.recv()).await.is_err());
        // Kept, while the endpoint uses its handle again.
        old.push(server);
    }
    let (client, server) = pair_of(&listener).await;
    for socket in &old {
        assert!(socket.try_send(numbered(1), None).is_err());
        socket.abort();
    }
    drop(old);
    soon(server.send(numbered(9))).await.expect("open");
    assert_eq!(number(&soon(client.recv()).await.expect("open").payload), 9);
    assert!(server.snapshot().is_some());
}

#[test]
fn a_socket_that_outlives_its_runtime_returns_an_error() {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let first = build();
    let (client, listener) = first.block_on(async {
        let listener = listener().await;
        let (client, _server) = pair_of(&listener).await;
        (client, listener)
    });
    drop(first);
    build().block_on(async {
        assert!(matches!(soon(client.recv()).await, Err(NetError::DriverStopped)));
        assert!(matches!(soon(client.send(numbered(1))).await, Err(NetError::DriverStopped)));
        assert!(matches!(soon(listener.accept()).await, Err(NetError::DriverStopped)));
        let closed = soon(client.close()).await;
        assert!(matches!(closed, Err(NetError::DriverStopped)), "{closed:?}");
    });
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn answers_come_from_the_address_that_the_packet_was_sent_to() {
    // The client's socket receives from no other address; the system would answer from 127.0.0.1.
    for wildcard in ["0.0.0.0:0", "[::]:0"] {
        let wildcard = wildcard.parse().expect("an address");
        let listener = Listener::bind(wildcard, PORT, config()).await.expect("loopback");
        let at = std::net::SocketAddr::new([127, 0, 0, 2].into(), listener.local().port());
        let client = soon(Socket::connect(at, PORT, config())).await.expect("a handshake");
        let server = soon(listener.accept()).await.expect("a handshake");
        soon(server.send(numbered(3))).await.expect("open");
        assert_eq!(number(&soon(client.recv()).await.expect("open").payload), 3);
    }
}

/// The packets that a socket's peer reports as dropped, until it has reported `count`.
async fn dropped(socket: &Socket, count: usize) -> Vec<DropCode> {
    let mut codes = Vec::new();
    while codes.len() < count {
        if let Event::DataDropped { code, .. } = soon(socket.event()).await.expect("open") {
            codes.push(code);
        }
    }
    codes
}

#[tokio::test]
async fn losses_of_a_slow_reader_are_reported_to_the_sender() {
    let listener = listener().await;
    let options = SocketOptions::default().receive_queue(10);
    let client = Socket::connect_with(listener.local(), PORT, config(), options);
    let client = soon(client).await.expect("a handshake");
    let server = soon(listener.accept()).await.expect("a handshake");
    for n in 0..50 {
        soon(server.send(numbered(n))).await.expect("open");
    }
    let codes = dropped(&server, 30).await;
    assert!(codes.iter().all(|code| *code == DropCode::ReceiveBuffer), "{codes:?}");
    let snapshot = server.snapshot().expect("it lives");
    assert!(snapshot.peer_slow_at.is_some(), "a full queue makes a slow receiver");
    // The application's own report of a datagram that it received.
    let received = soon(client.recv()).await.expect("open");
    assert!(client.discarded(&received, DropCode::Corrupt));
    assert!(!client.discarded(&received, DropCode::Corrupt), "once");
}

#[tokio::test]
async fn an_application_that_reads_no_more_stops_the_sender() {
    let (client, server) = pair().await;
    soon(client.send(numbered(1))).await.expect("open");
    assert_eq!(number(&soon(server.recv()).await.expect("open").payload), 1);
    server.stop_receiving();
    soon(client.send(numbered(2))).await.expect("open");
    assert_eq!(dropped(&client, 1).await, [DropCode::ApplicationNotListening]);
    let refused = soon(client.send(numbered(3))).await;
    assert!(matches!(refused, Err(NetError::Send(SendError::PeerNotListening))), "{refused:?}");
    // The other direction continues.
    soon(server.send(numbered(4))).await.expect("open");
    assert_eq!(number(&soon(client.recv()).await.expect("open").payload), 4);
}
