//! A client whose address changes before its handshake has ended, each test in a network of its own.
//!
//! Needs network namespaces. Without them the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};
use whimbrel_net::{Config, Listener, RequestSchedule, Socket, TimerConfig};

use crate::own_network;
use own_network::{in_own_network, run};

const SERVER: &str = "192.0.2.7";
const PORT: u16 = 5001;

fn ip(address: &str) -> IpAddr {
    address.parse().expect("an address")
}

/// Makes that address the source of the route to the server.
fn be_at(address: &str) {
    assert!(run(&format!("ip addr add {address}/32 dev lo")));
    assert!(run(&format!("ip route replace local {SERVER} dev lo table local src {address}")));
}

fn leave(address: &str) {
    assert!(run(&format!("ip addr del {address}/32 dev lo")));
}

/// A server that receives and does not answer.
async fn silent_server() -> UdpSocket {
    assert!(run(&format!("ip addr add {SERVER}/32 dev lo")));
    be_at("10.1.0.1");
    UdpSocket::bind((SERVER, 0)).await.expect("an address of this host")
}

/// The source address of the next Request.
async fn heard_from(server: &UdpSocket) -> IpAddr {
    let mut buffer = [0; 2048];
    let received = timeout(Duration::from_secs(10), server.recv_from(&mut buffer)).await.expect("a Request");
    received.expect("open").1.ip()
}

fn connect(at: SocketAddr) -> tokio::task::JoinHandle<Result<Socket, whimbrel_net::NetError>> {
    // Seldom enough for a test to change addresses between two Requests.
    let config = Config::default().timers(TimerConfig::default().requests(RequestSchedule::RFC4340));
    tokio::spawn(async move { Socket::connect(at, PORT, config).await })
}

async fn completes(
    connecting: tokio::task::JoinHandle<Result<Socket, whimbrel_net::NetError>>,
    server: UdpSocket,
) {
    let at = server.local_addr().expect("bound");
    drop(server);
    let listener = Listener::bind(at, PORT, Config::default()).await.expect("the address is free");
    let (client, accepted) =
        timeout(Duration::from_secs(20), async { tokio::join!(connecting, listener.accept()) })
            .await
            .expect("a handshake");
    let client = client.expect("no panic").expect("a handshake");
    accepted.expect("a handshake");
    assert_eq!(client.local().ip(), ip("10.2.0.1"));
}

#[test]
fn a_client_requests_from_its_new_address_at_once() {
    in_own_network(async {
        let server = silent_server().await;
        let connecting = connect(server.local_addr().expect("bound"));
        assert_eq!(heard_from(&server).await, ip("10.1.0.1"));
        be_at("10.2.0.1");
        leave("10.1.0.1");
        // The client waits neither for the second after which a Request is repeated nor for an error of its
        // socket.
        assert_eq!(heard_from(&server).await, ip("10.2.0.1"));
        completes(connecting, server).await;
    });
}

#[test]
fn a_client_without_a_route_for_a_while_keeps_requesting() {
    in_own_network(async {
        let server = silent_server().await;
        let at = server.local_addr().expect("bound");
        let connecting = connect(at);
        assert_eq!(heard_from(&server).await, ip("10.1.0.1"));
        assert!(run(&format!("ip route del local {SERVER} dev lo table local")));
        leave("10.1.0.1");
        // Requests are repeated meanwhile, and the system refuses them.
        sleep(Duration::from_millis(1500)).await;
        assert!(!connecting.is_finished(), "{:?}", connecting.await);
        be_at("10.2.0.1");
        assert_eq!(heard_from(&server).await, ip("10.2.0.1"));
        completes(connecting, server).await;
    });
}
