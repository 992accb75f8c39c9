//! Dead peers, and peers that exceed limits.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Config, ConnectionError, EndpointConfig, Event, Host, HostOptions, InitCookies, Listener, NetError,
    ResetCode, Socket, SocketOptions, TimerConfig,
};

const PORT: u16 = 5001;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

/// Half a second without a packet is too long.
fn impatient() -> Config {
    let timers = TimerConfig::default()
        .idle(Some(whimbrel_net::Duration::from_millis(500)))
        .close(Some(whimbrel_net::Duration::from_millis(300)));
    Config::default().timers(timers)
}

/// A server whose process is killed when this is dropped, while its host still accepts packets silently.
struct KillableServer {
    address: SocketAddr,
    /// Keeps the port open: no ICMP error reveals that the server is dead.
    _port: UdpSocket,
    _life: tokio::runtime::Runtime,
}

fn mortal(config: Config) -> KillableServer {
    let port = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let address = port.local_addr().expect("bound");
    let socket = port.try_clone().expect("a descriptor");
    let life = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    life.spawn(async move {
        let listener =
            Listener::from_std(socket, PORT, config, HostOptions::default()).await.expect("a listener");
        let mut sockets = Vec::new();
        while let Ok(socket) = listener.accept().await {
            sockets.push(socket);
        }
    });
    KillableServer { address, _port: port, _life: life }
}

impl KillableServer {
    /// No packet leaves any more.
    fn kill(self) -> UdpSocket {
        let Self { _port: port, _life: life, .. } = self;
        life.shutdown_background();
        port
    }
}

#[tokio::test]
async fn sending_to_a_killed_server_fails_after_the_idle_limit() {
    let server = mortal(Config::default());
    let client = soon(Socket::connect(server.address, PORT, impatient())).await.expect("a handshake");
    client.send(Bytes::from_static(b"hello")).await.expect("open");
    // Nothing to send for longer than the limit is no reason to give it up.
    sleep(Duration::from_millis(1_200)).await;
    client.send(Bytes::from_static(b"hello")).await.expect("still open");
    let _port = server.kill();
    let error = soon(async {
        loop {
            if let Err(error) = client.send(Bytes::from_static(b"hello?")).await {
                break error;
            }
            sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(matches!(error.await, NetError::Connection(ConnectionError::TimedOut)));
    assert!(matches!(soon(client.recv()).await, Err(NetError::Connection(ConnectionError::TimedOut))));
}

#[tokio::test]
async fn a_client_that_only_receives_detects_its_servers_death() {
    let server = mortal(Config::default());
    let client = soon(Socket::connect(server.address, PORT, impatient())).await.expect("a handshake");
    let _port = server.kill();
    assert!(matches!(soon(client.recv()).await, Err(NetError::Connection(ConnectionError::TimedOut))));
}

#[tokio::test]
async fn closing_does_not_wait_for_a_dead_peer_beyond_its_limit() {
    let server = mortal(Config::default());
    // The limit for closing alone.
    let mut config = impatient();
    config.timers.idle = None;
    let client = soon(Socket::connect(server.address, PORT, config)).await.expect("a handshake");
    let _port = server.kill();
    // There is more to send than leaves in that time.
    for _ in 0..1_000 {
        client.send(Bytes::from_static(&[0; 1_000])).await.expect("open");
    }
    let closed = soon(client.close()).await;
    assert!(matches!(closed, Err(NetError::Connection(ConnectionError::TimedOut))), "{closed:?}");
    assert!(matches!(client.send(Bytes::new()).await, Err(NetError::Connection(ConnectionError::TimedOut))));
}

#[tokio::test]
async fn a_listener_has_places_left_when_one_address_has_taken_all_that_it_can() {
    let endpoint = EndpointConfig::default().max_accepted(40).max_accepted_per_source(20);
    let options = HostOptions::default().endpoint(endpoint);
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind_with(any, PORT, impatient(), options).await.expect("loopback");
    let from = |host: u8| SocketOptions::default().local(Some(SocketAddr::from(([127, 0, 0, host], 0))));
    let connect = |host| Socket::connect_with(listener.local(), PORT, Config::default(), from(host));
    let mut taken = Vec::new();
    let refusal = loop {
        match soon(connect(2)).await {
            Ok(socket) => taken.push(socket),
            Err(error) => break error,
        }
    };
    assert_eq!(taken.len(), 20);
    assert!(
        matches!(&refusal, NetError::Connection(ConnectionError::Reset(reset)) if reset.code == ResetCode::TooBusy),
        "{refusal:?}"
    );
    soon(connect(3)).await.expect("another address");
}

#[tokio::test]
async fn init_cookies_can_be_asked_for_always() {
    let endpoint = EndpointConfig::default().init_cookies(InitCookies::Always);
    let options = HostOptions::default().endpoint(endpoint);
    let host = Host::udp_with("127.0.0.1:0".parse().expect("an address"), options).await.expect("loopback");
    let listener = host.listen(PORT, Config::default()).expect("no other");
    let client = soon(Socket::connect(host.local(), PORT, Config::default())).await.expect("a handshake");
    client.send(Bytes::from_static(b"hello")).await.expect("open");
    let server = soon(listener.accept()).await.expect("a handshake");
    assert_eq!(soon(server.recv()).await.expect("open").payload[..], *b"hello");
}

#[tokio::test]
async fn sockets_that_the_application_has_opened_are_taken_over() {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let (at, from) = (bind(), bind());
    let (there, here) = (at.local_addr().expect("bound"), from.local_addr().expect("bound"));
    let listener =
        Listener::from_std(at, PORT, Config::default(), HostOptions::default()).await.expect("a listener");
    let options = SocketOptions::default();
    let connecting = Socket::from_std(from, there, PORT, Config::default(), options);
    let client = soon(connecting).await.expect("a handshake");
    client.send(Bytes::from_static(b"hello")).await.expect("open");
    let server = soon(listener.accept()).await.expect("a handshake");
    assert_eq!((listener.local(), client.local(), server.remote()), (there, here, here));
    assert_eq!(soon(server.recv()).await.expect("open").payload[..], *b"hello");
    let host = Host::from_std(bind(), HostOptions::default()).await.expect("a host");
    soon(host.connect(there, PORT, Config::default())).await.expect("a handshake");
    soon(client.close()).await.expect("in order");
    while let Ok(event) = soon(server.event()).await {
        if event == Event::Closed(ConnectionError::ClosedByPeer) {
            return;
        }
    }
    panic!("the server has not received the end");
}
