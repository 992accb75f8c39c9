//! Freezing, over the loopback interface.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::{
    Config, Event, FreezeConfig, FreezeScope, Lead, Listener, ServiceCode, Socket, UnfreezeCause,
};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

/// Two ends that have exchanged data.
async fn pair() -> (Socket, Socket) {
    let freeze = FreezeConfig::default().offer(true);
    let config = Config::default().service_code(ServiceCode(42)).freeze(freeze);
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(any, PORT, config.clone()).await.expect("loopback");
    let client = soon(Socket::connect(listener.local(), PORT, config)).await.expect("a handshake");
    let server = soon(listener.accept()).await.expect("a handshake");
    for (from, to) in [(&client, &server), (&server, &client)] {
        from.send(Bytes::from_static(b"hello")).await.expect("open");
        assert_eq!(soon(to.recv()).await.expect("open").payload, "hello");
    }
    (client, server)
}

/// `true` if a datagram of `from` arrives at `to` within a while.
async fn passes(from: &Socket, to: &Socket) -> bool {
    from.try_send(Bytes::from_static(b"x"), None).expect("open");
    timeout(Duration::from_millis(300), to.recv()).await.is_ok()
}

async fn until(socket: &Socket, wanted: Event) {
    soon(async { while socket.event().await.expect("open") != wanted {} }).await;
}

#[tokio::test]
async fn a_frozen_end_sends_nothing_until_it_is_unfrozen() {
    let (client, server) = pair().await;
    client.freeze(FreezeScope::Local);
    assert!(client.snapshot().expect("open").freeze.local);
    assert!(!passes(&client, &server).await);
    // The other direction is not affected.
    assert!(passes(&server, &client).await);
    client.unfreeze(FreezeScope::Local);
    assert_eq!(soon(server.recv()).await.expect("open").payload, "x");
    assert!(passes(&client, &server).await);
}

#[tokio::test]
async fn the_other_end_is_frozen_and_unfrozen_by_its_peer() {
    let (client, server) = pair().await;
    client.freeze(FreezeScope::Remote);
    until(&server, Event::Frozen { by_peer: true }).await;
    assert!(!passes(&server, &client).await);
    assert!(passes(&client, &server).await);
    client.unfreeze(FreezeScope::Remote);
    until(&server, Event::Unfrozen { by: UnfreezeCause::Peer }).await;
    assert_eq!(soon(client.recv()).await.expect("open").payload, "x");
}

#[tokio::test]
async fn a_freeze_ahead_of_an_outage_waits_for_its_time() {
    let (client, server) = pair().await;
    let ahead = whimbrel_net::Duration::from_millis(700);
    let lead = Lead::Time(whimbrel_net::Duration::from_millis(200));
    let called = client.now();
    let freezing = client.freeze_before(called + ahead, lead, FreezeScope::Local);
    let before = async {
        assert!(!client.snapshot().expect("open").freeze.local);
        assert!(passes(&client, &server).await);
    };
    tokio::join!(freezing, before);
    assert!(client.now() - called >= whimbrel_net::Duration::from_millis(500));
    assert!(!passes(&client, &server).await);
}
