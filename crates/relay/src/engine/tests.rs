//! Retention of a connection's events.

use bytes::Bytes;
use whimbrel_net::{Config, Listener, Socket};

use super::*;

/// Events that `watch` leaves, after a datagram was sent, which the connection reports.
async fn left(watch: Watch) -> usize {
    let listener = Listener::bind("127.0.0.1:0".parse().expect("an address"), 1, Config::default()).await;
    let listener = listener.expect("loopback");
    let socket = Socket::connect(listener.local(), 1, Config::default()).await.expect("a server");
    let link = Link { socket, scheduler: None };
    link.try_send(Bytes::from_static(b"data"), None, whimbrel_net::Mark::SINGLE).expect("room");
    let peer = listener.accept().await.expect("a client");
    peer.recv().await.expect("a datagram");
    watch.discard(&link);
    std::iter::from_fn(|| link.socket.try_event().ok().flatten()).count()
}

/// An event that says that a frame is lost waits while the state is updated: whoever asks for key frames
/// reads it then.
#[tokio::test]
async fn an_update_drops_no_event_that_is_waited_for() {
    assert!(left(Watch::Events { repairs: true }).await > 0);
    assert_eq!(left(Watch::Events { repairs: false }).await, 0);
}
