//! Clients whose addresses change while data flow, over real sockets.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, Config, Event, Host, Listener, MobilityConfig, NetError, OverflowPolicy, PathChange,
    SendQueueConfig, Socket, SocketOptions,
};

const PORT: u16 = 5001;

fn config() -> Config {
    Config::default()
        .sender_ccids([Ccid::TCP_LIKE])
        .receiver_ccids([Ccid::TCP_LIKE])
        .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
        .mobility(Some(MobilityConfig::default()))
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

async fn listener() -> Listener {
    // On all addresses: answers come from the one that the packet was sent to.
    Listener::bind("0.0.0.0:0".parse().expect("an address"), PORT, config()).await.expect("loopback")
}

async fn connect(listener: &Listener, to: SocketAddr, local: Option<SocketAddr>) -> (Socket, Socket) {
    let options = SocketOptions::default().local(local);
    let client = soon(Socket::connect_with(to, PORT, config(), options)).await.expect("a handshake");
    (client, soon(listener.accept()).await.expect("a handshake"))
}

fn loopback(listener: &Listener) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], listener.local().port()))
}

/// Sends numbered datagrams, some time apart.
async fn send_numbers(socket: &Socket, numbers: std::ops::Range<u32>) {
    for n in numbers {
        socket.send(Bytes::copy_from_slice(&n.to_be_bytes())).await.expect("open");
        sleep(Duration::from_millis(1)).await;
    }
}

/// The numbers that arrive, up to `last`.
async fn receive_up_to(socket: &Socket, last: u32) -> Vec<u32> {
    let mut numbers = Vec::new();
    while numbers.last() != Some(&last) {
        let received = soon(socket.recv()).await.expect("open");
        numbers.push(u32::from_be_bytes(received.payload[..].try_into().expect("four bytes")));
    }
    numbers
}

async fn confirmed(client: &Socket) {
    soon(async { while client.event().await.expect("open") != Event::MoveConfirmed {} }).await;
}

#[tokio::test]
async fn a_client_moves_in_mid_transfer_and_nothing_is_lost() {
    let listener = listener().await;
    let (client, server) = connect(&listener, loopback(&listener), None).await;
    for (round, local) in ["127.0.0.1:0", "127.0.0.2:0", "127.0.0.1:0"].into_iter().enumerate() {
        let before = client.local();
        let first = round as u32 * 1_000;
        let there = async {
            send_numbers(&client, first..first + 100).await;
            client
                .rebind(Some(local.parse().expect("an address")), PathChange::Keep)
                .await
                .expect("loopback");
            send_numbers(&client, first + 100..first + 300).await;
        };
        let back = send_numbers(&server, first..first + 300);
        let last = first + 299;
        let (_, _, arrived, returned) =
            tokio::join!(there, back, receive_up_to(&server, last), receive_up_to(&client, last));
        // The previous path is still received from: not even packets in transit are lost.
        let all: Vec<u32> = (first..first + 300).collect();
        assert_eq!(arrived, all, "to the server, round {round}");
        assert_eq!(returned, all, "to the client, round {round}");
        confirmed(&client).await;
        assert_ne!(client.local(), before);
        assert_eq!(server.remote(), client.local());
        let is_move = |event: &Event| *event == Event::PeerMoved { from: before, to: client.local() };
        soon(async { while !is_move(&server.event().await.expect("open")) {} }).await;
    }
}

#[tokio::test]
async fn a_move_resets_the_path_state_if_requested() {
    let listener = listener().await;
    let (client, server) = connect(&listener, loopback(&listener), None).await;
    // As fast as congestion control lets them: the window grows.
    let all = (0..2_000u32).map(|n| Bytes::copy_from_slice(&n.to_be_bytes()));
    let (sent, _) = tokio::join!(client.send_many(all, None), receive_up_to(&server, 1_999));
    sent.expect("open");
    let grown = client.snapshot().expect("open").sender.cwnd.expect("CCID 2");
    client
        .rebind(Some("127.0.0.2:0".parse().expect("an address")), PathChange::Reset)
        .await
        .expect("loopback");
    let fresh = client.snapshot().expect("open").sender.cwnd.expect("CCID 2");
    // RFC 3390's initial window is four packets at most.
    assert!(fresh <= 4 && fresh < grown, "cwnd {grown}, then {fresh}");
    confirmed(&client).await;
    tokio::join!(send_numbers(&client, 2_000..2_100), receive_up_to(&server, 2_099));
}

#[tokio::test]
async fn an_unavailable_address_changes_nothing() {
    let listener = listener().await;
    let (client, server) = connect(&listener, loopback(&listener), None).await;
    let before = client.local();
    // 192.0.2.0/24 is for documentation (RFC 5737): it is not assigned.
    let result = client.rebind(Some("192.0.2.77:0".parse().expect("an address")), PathChange::Reset).await;
    assert!(matches!(result, Err(NetError::Io { .. })), "{result:?}");
    assert_eq!(client.local(), before);
    tokio::join!(send_numbers(&client, 0..50), receive_up_to(&server, 49));
}

#[tokio::test]
async fn sockets_of_a_host_keep_its_address() {
    let listener = listener().await;
    let host = Host::udp("127.0.0.1:0".parse().expect("an address")).await.expect("loopback");
    let client = soon(host.connect(loopback(&listener), PORT, config())).await.expect("a handshake");
    let result = client.rebind(None, PathChange::Keep).await;
    assert!(matches!(result, Err(NetError::Config(_))), "{result:?}");
}

#[tokio::test]
async fn a_move_between_ip_versions_is_refused_with_the_reason() {
    let listener = listener().await;
    let (client, server) = connect(&listener, loopback(&listener), None).await;
    let before = client.local();
    let result = client.rebind(Some("[::1]:0".parse().expect("an address")), PathChange::Reset).await;
    let Err(error @ NetError::Config(_)) = result else { panic!("{result:?}") };
    assert!(error.to_string().contains("do not move between IPv4 and IPv6"), "{error}");
    assert_eq!(client.local(), before);
    tokio::join!(send_numbers(&client, 0..50), receive_up_to(&server, 49));
}

/// A NAT of one mapping: packets from inside leave by `outside`, which can be replaced.
struct Nat {
    inside: Arc<UdpSocket>,
    outside: Arc<Mutex<Arc<UdpSocket>>>,
    client: Arc<Mutex<Option<SocketAddr>>>,
}

impl Nat {
    async fn before(server: SocketAddr) -> Self {
        let inside = Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("loopback"));
        let nat = Self {
            inside: inside.clone(),
            outside: Arc::new(Mutex::new(Self::mapping(server).await)),
            client: Arc::default(),
        };
        let (outside, client) = (nat.outside.clone(), nat.client.clone());
        nat.carry_back();
        tokio::spawn(async move {
            let mut buffer = [0; 65_536];
            while let Ok((length, from)) = inside.recv_from(&mut buffer).await {
                *client.lock().expect("unpoisoned") = Some(from);
                let mapping = outside.lock().expect("unpoisoned").clone();
                let _ = mapping.send(&buffer[..length]).await;
            }
        });
        nat
    }

    async fn mapping(server: SocketAddr) -> Arc<UdpSocket> {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("loopback");
        socket.connect(server).await.expect("loopback");
        Arc::new(socket)
    }

    /// Forwards packets that arrive at the present mapping, as long as it lasts.
    fn carry_back(&self) {
        let (inside, outside, client) = (self.inside.clone(), self.outside.clone(), self.client.clone());
        tokio::spawn(async move {
            let mapping = outside.lock().expect("unpoisoned").clone();
            let mut buffer = [0; 65_536];
            loop {
                let Ok(length) = mapping.recv(&mut buffer).await else { continue };
                if !Arc::ptr_eq(&mapping, &outside.lock().expect("unpoisoned")) {
                    return;
                }
                let client = *client.lock().expect("unpoisoned");
                if let Some(client) = client {
                    let _ = inside.send_to(&buffer[..length], client).await;
                }
            }
        });
    }

    /// Forgets its mapping, and makes another.
    async fn rebind(&self, server: SocketAddr) -> SocketAddr {
        let mapping = Self::mapping(server).await;
        let address = mapping.local_addr().expect("bound");
        *self.outside.lock().expect("unpoisoned") = mapping;
        self.carry_back();
        address
    }
}

#[tokio::test]
async fn a_nat_that_forgets_its_mapping_interrupts_for_round_trips_only() {
    let listener = listener().await;
    let nat = Nat::before(loopback(&listener)).await;
    let (client, server) = connect(&listener, nat.inside.local_addr().expect("bound"), None).await;
    for round in 0..3 {
        let first = round * 1_000;
        let there = async {
            send_numbers(&client, first..first + 100).await;
            let address = nat.rebind(loopback(&listener)).await;
            send_numbers(&client, first + 100..first + 600).await;
            address
        };
        let (address, arrived) = tokio::join!(there, receive_up_to(&server, first + 599));
        assert_eq!(server.remote(), address);
        // Datagrams that left before the first answer from the server came back are lost.
        let lost = 600 - arrived.len();
        assert!(lost < 100, "{lost} lost of 500 after the change");
        tokio::join!(send_numbers(&server, first..first + 50), receive_up_to(&client, first + 49));
    }
}

#[tokio::test]
async fn a_client_that_only_receives_behind_such_a_nat_probes_in_time() {
    let listener = listener().await;
    let nat = Nat::before(loopback(&listener)).await;
    let (client, server) = connect(&listener, nat.inside.local_addr().expect("bound"), None).await;
    tokio::join!(send_numbers(&server, 0..50), receive_up_to(&client, 49));
    // Let all acknowledgements leave first.
    sleep(Duration::from_millis(300)).await;
    let address = nat.rebind(loopback(&listener)).await;
    let sending = async {
        for n in 50..u32::MAX {
            server.send(Bytes::copy_from_slice(&n.to_be_bytes())).await.expect("open");
            sleep(Duration::from_millis(20)).await;
            if server.remote() == address {
                return;
            }
        }
    };
    soon(sending).await;
    soon(client.recv()).await.expect("open");
}
