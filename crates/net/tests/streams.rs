//! Sockets as streams and sinks, and their halves.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::time::timeout;
use whimbrel_net::{
    Ccid, Config, ConnectionError, DropReason, Event, FreezeScope, Listener, NetError, OverflowPolicy,
    SendQueueConfig, Socket,
};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

async fn pair(config: Config) -> (Socket, Socket) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(any, PORT, config.clone()).await.expect("loopback");
    let client = soon(Socket::connect(listener.local(), PORT, config)).await.expect("a handshake");
    let server = soon(listener.accept()).await.expect("a handshake");
    (client, server)
}

/// A queue of four datagrams that refuses more.
fn refusing() -> Config {
    let queue = SendQueueConfig::default().max_datagrams(4).overflow(OverflowPolicy::Refuse);
    Config::default().sender_ccids([Ccid::TCP_LIKE]).receiver_ccids([Ccid::TCP_LIKE]).send_queue(queue)
}

#[tokio::test]
async fn a_sink_waits_for_room_and_the_stream_of_the_peer_ends_with_the_connection() {
    let (mut client, server) = pair(refusing()).await;
    let sent: Vec<Bytes> = (0..300u32).map(|n| Bytes::copy_from_slice(&n.to_be_bytes())).collect();
    let mut items = futures_util::stream::iter(sent.clone()).map(Ok);
    let sending = async {
        client.send_all(&mut items).await.expect("open");
        client.close().await.expect("in order");
    };
    // The queue refuses: nothing is dropped, although it has room for four of 300.
    let receiving = server.map(|item| item.expect("a regular end").payload).collect::<Vec<_>>();
    let ((), received) = soon(async { tokio::join!(sending, receiving) }).await;
    assert_eq!(received, sent);
}

#[tokio::test]
async fn an_irregular_end_is_an_item_and_the_last_one() {
    let (client, mut server) = pair(Config::default()).await;
    client.abort();
    let last = soon(server.next()).await.expect("the reason");
    let error = last.expect_err("it was aborted");
    assert!(matches!(error, NetError::Connection(ConnectionError::Reset(_))), "{error}");
    assert!(soon(server.next()).await.is_none());
}

#[tokio::test]
async fn a_datagram_that_is_too_large_is_refused_and_the_next_is_sent() {
    let (mut client, mut server) = pair(Config::default()).await;
    let error = SinkExt::send(&mut client, Bytes::from(vec![0; 100_000])).await.expect_err("too large");
    assert!(matches!(error, NetError::Send(_)), "{error}");
    SinkExt::send(&mut client, Bytes::from_static(b"small")).await.expect("open");
    assert_eq!(soon(server.next()).await.expect("open").expect("open").payload[..], *b"small");
}

#[tokio::test]
async fn halves_work_in_two_tasks_and_only_the_last_one_closes_the_connection() {
    let (client, server) = pair(Config::default()).await;
    let (sending, mut receiving) = client.split();
    let echo = tokio::spawn(async move {
        let (mut sink, stream) = server.split();
        let mut payloads = stream.map(|item| item.map(|received| received.payload));
        sink.send_all(&mut payloads).await.map(|()| sink)
    });
    let sender = tokio::spawn(async move {
        for n in 0..50u8 {
            sending.send(Bytes::from(vec![n; 10])).await.expect("open");
        }
        sending
    });
    for n in 0..50u8 {
        assert_eq!(soon(receiving.next()).await.expect("open").expect("open").payload[..], [n; 10]);
    }
    let mut sending = sender.await.expect("no panic");
    drop(receiving);
    // The connection is still open in the other direction.
    sending.send(Bytes::from_static(b"unread")).await.expect("open");
    soon(SinkExt::close(&mut sending)).await.expect("closed");
    // The echo of the unread datagram may be refused: the client has stopped receiving.
    let ended = soon(echo).await.expect("no panic");
    assert!(matches!(ended, Ok(_) | Err(NetError::Send(_) | NetError::Connection(_))), "{ended:?}");
}

#[tokio::test]
async fn halves_of_one_socket_are_reunited_and_others_are_returned() {
    let (client, server) = pair(Config::default()).await;
    let (sending, receiving) = client.split();
    let (other, others) = server.split();
    let halves = sending.reunite(others).expect_err("of different sockets").0;
    let (sending, others) = *halves;
    let (client, server) =
        (sending.reunite(receiving).expect("of one"), other.reunite(others).expect("of one"));
    // Neither has stopped receiving.
    client.send(Bytes::from_static(b"a")).await.expect("open");
    assert_eq!(soon(server.recv()).await.expect("open").payload[..], *b"a");
    server.send(Bytes::from_static(b"b")).await.expect("open");
    assert_eq!(soon(client.recv()).await.expect("open").payload[..], *b"b");
}

#[tokio::test]
async fn datagrams_are_dropped_at_their_deadline_and_an_event_says_so() {
    let (client, server) = pair(Config::default()).await;
    // While it is frozen, nothing is sent.
    client.freeze(FreezeScope::Local);
    let brief = whimbrel_net::Duration::from_millis(20);
    let stale = client.send_within(Bytes::from_static(b"stale"), brief).await.expect("open");
    let later = client.now() + whimbrel_net::Duration::from_secs(20);
    client.send_before(Bytes::from_static(b"fresh"), later).await.expect("open");
    let (sending, _receiving) = client.split();
    let mut sending = sending.with_lifetime(brief);
    SinkExt::send(&mut sending, Bytes::from_static(b"stale as well")).await.expect("open");
    tokio::time::sleep(Duration::from_millis(60)).await;
    sending.socket().unfreeze(FreezeScope::Local);
    assert_eq!(soon(server.recv()).await.expect("open").payload[..], *b"fresh");
    let mut expired = Vec::new();
    while expired.len() < 2 {
        let event = soon(sending.socket().event()).await.expect("open");
        if let Event::DatagramDropped { id, reason: DropReason::Expired } = event {
            expired.push(id);
        }
    }
    assert_eq!(expired[0], stale);
    assert_eq!(sending.socket().try_recv().map(|found| found.is_none()).ok(), Some(true));
}
