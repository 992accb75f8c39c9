//! Sockets over several paths as streams and sinks, their halves, the identifiers of their datagrams, and
//! readers that are slow.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::time::timeout;
use whimbrel_net::multipath::{MultipathConfig, MultipathEvent};
use whimbrel_net::{
    Ccid, Config, DropCode, DropReason, Event, Listener, NetError, OverflowPolicy, SendError,
    SendQueueConfig, Setup, Socket, SocketOptions,
};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

/// A queue of four datagrams that refuses more.
fn refusing() -> Config {
    let queue = SendQueueConfig::default().max_datagrams(4).overflow(OverflowPolicy::Refuse);
    Config::default().sender_ccids([Ccid::TCP_LIKE]).receiver_ccids([Ccid::TCP_LIKE]).send_queue(queue)
}

/// A client with two addresses, both in use, and its server with one.
async fn pair(config: Config) -> (Socket, Socket) {
    pair_with(config, SocketOptions::default()).await
}

/// Like [`pair`], with options of the client.
async fn pair_with(config: Config, options: SocketOptions) -> (Socket, Socket) {
    let address = |text: &str| text.parse().expect("an address");
    let (setup, settings) = (Setup::from(config), MultipathConfig::default());
    let of_server = setup.clone().over_paths([], settings.clone());
    let server = Listener::bind(address("127.0.0.1:0"), PORT, of_server).await.expect("loopback");
    let setup = setup.over_paths([address("127.0.0.1:0"), address("127.0.0.2:0")], settings);
    let connecting = Socket::connect_with(server.local(), PORT, setup, options);
    let connected = soon(connecting).await.expect("a handshake");
    let accepted = soon(server.accept()).await.expect("a handshake");
    for socket in [&connected, &accepted] {
        let is_join = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowUp(_));
        while !matches!(soon(socket.event()).await, Ok(Event::Paths(event)) if is_join(&event)) {}
    }
    (connected, accepted)
}

fn numbers(count: u32) -> Vec<Bytes> {
    (0..count).map(|n| Bytes::copy_from_slice(&n.to_be_bytes())).collect()
}

#[tokio::test]
async fn a_sink_waits_for_room_and_the_stream_of_the_peer_ends_with_the_connection() {
    let (mut client, server) = pair(refusing()).await;
    let sent = numbers(300);
    let mut items = futures_util::stream::iter(sent.clone()).map(Ok);
    let sending = async {
        client.send_all(&mut items).await.expect("open");
        client.close().await.expect("in order");
    };
    // The queue refuses: nothing is dropped, although it has room for four of 300.
    let receiving = server.map(|item| item.expect("a regular end").payload).collect::<Vec<_>>();
    let ((), mut received) = soon(async { tokio::join!(sending, receiving) }).await;
    // Datagrams of two paths overtake each other.
    received.sort();
    assert_eq!(received, sent);
}

#[tokio::test]
async fn many_datagrams_wait_for_room_together() {
    let (client, server) = pair(refusing()).await;
    let sending = async {
        client.send_many(numbers(100), None).await.expect("open");
        client.close().await.expect("in order");
    };
    let receiving = server.map(|item| item.expect("a regular end").payload).collect::<Vec<_>>();
    let ((), received) = soon(async { tokio::join!(sending, receiving) }).await;
    assert_eq!(received.len(), 100);
}

#[tokio::test]
async fn the_sender_is_notified_when_the_receiving_half_is_dropped() {
    let (client, server) = pair(Config::default()).await;
    let (sending, receiving) = server.split();
    drop(receiving);
    let refused = soon(async {
        loop {
            if let Err(error) = client.send(Bytes::from_static(b"to no one")).await {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let error = refused.await;
    assert!(matches!(error, NetError::Send(SendError::PeerNotListening)), "{error}");
    // The other direction goes on.
    soon(sending.send(Bytes::from_static(b"news"))).await.expect("open");
    assert_eq!(&soon(client.recv()).await.expect("a datagram").payload[..], b"news");
}

#[tokio::test]
async fn halves_of_one_socket_are_reunited() {
    let (client, server) = pair(Config::default()).await;
    let (sending, receiving) = client.split();
    let (other, theirs) = server.split();
    let Err(error) = sending.reunite(theirs) else { panic!("the halves of different sockets") };
    let (sending, theirs) = *error.0;
    let client = sending.reunite(receiving).expect("halves of one socket");
    soon(client.send(Bytes::from_static(b"whole"))).await.expect("open");
    assert_eq!(&soon(theirs.recv()).await.expect("a datagram").payload[..], b"whole");
    drop(other);
}

#[tokio::test]
async fn a_dropped_datagram_is_reported_by_the_identifier_that_sending_returned() {
    let (client, _server) = pair(Config::default()).await;
    let kept = soon(client.send(Bytes::from_static(b"kept"))).await.expect("open");
    let stale = client.try_send(Bytes::from_static(b"stale"), Some(client.now())).expect("open");
    let reported = soon(async {
        loop {
            if let Event::DatagramDropped { id, reason } = client.event().await.expect("open") {
                break (id, reason);
            }
        }
    });
    assert_eq!(reported.await, (stale, DropReason::Expired));
    assert_ne!(kept, stale);
}

#[tokio::test]
async fn losses_of_a_slow_reader_are_reported_to_the_sender() {
    let options = SocketOptions::default().receive_queue(10);
    let (client, server) = pair_with(Config::default(), options).await;
    for datagram in numbers(50) {
        soon(server.send(datagram)).await.expect("open");
    }
    let mut codes = Vec::new();
    while codes.len() < 30 {
        if let Event::Paths(event) = soon(server.event()).await.expect("open")
            && let MultipathEvent::Subflow { event: Event::DataDropped { code, .. }, .. } = *event
        {
            codes.push(code);
        }
    }
    assert!(codes.iter().all(|code| *code == DropCode::ReceiveBuffer), "{codes:?}");
    // Reports of the first ones may come before the last have arrived.
    let all = async {
        while client.receive_overflows() < 40 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    soon(all).await;
    assert_eq!(client.receive_overflows(), 40);
    // The application's own report of a datagram that it received.
    let received = soon(client.recv()).await.expect("open");
    assert!(client.discarded(&received, DropCode::Corrupt));
    assert!(!client.discarded(&received, DropCode::Corrupt), "once");
}
