//! Repair of lost datagrams on the loopback interface, through a path that loses some.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::time::{interval, sleep, timeout};
use whimbrel_net::multipath::{MultipathConfig, SchedulerKind};
use whimbrel_net::{Config, Identity, Listener, RepairConfig, Security, Setup, Socket, Trust};

const PORT: u16 = 5001;
/// Datagrams that are sent, one each three milliseconds.
const COUNT: u32 = 400;
/// Longer than a loaded machine keeps a program waiting.
const LATENCY: whimbrel_net::Duration = whimbrel_net::Duration::from_millis(1500);

/// A path that loses every thirteenth packet once the connection is open: data and acknowledgements
/// alternate, and both are lost. Of the others it damages every third, near its end, unless it is short.
struct Path {
    address: SocketAddr,
    lost: Arc<AtomicU32>,
    damages: Arc<AtomicBool>,
}

impl Path {
    async fn to(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("loopback");
        let (address, lost) = (socket.local_addr().expect("bound"), Arc::new(AtomicU32::new(0)));
        let (count, damages) = (lost.clone(), Arc::new(AtomicBool::new(false)));
        let is_damaging = damages.clone();
        tokio::spawn(async move {
            let (mut client, mut buffer) = (None, [0; 2048]);
            for number in 0u32.. {
                let Ok((size, from)) = socket.recv_from(&mut buffer).await else { return };
                if from != server {
                    client = Some(from);
                }
                if number > 30 && number % 13 == 0 {
                    count.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                if number % 3 == 0 && size > 300 && is_damaging.load(Ordering::Relaxed) {
                    // Several changed bytes may leave the sum as it was.
                    buffer[size - 15] ^= 0x55;
                }
                let to = if from == server { client } else { Some(server) };
                if let Some(to) = to {
                    let _ = socket.send_to(&buffer[..size], to).await;
                }
            }
        });
        Self { address, lost, damages }
    }
}

/// A connection whose ends have these layers, and its path.
async fn connected(
    client: impl Fn(Setup) -> Setup,
    server: impl Fn(Setup) -> Setup,
) -> (Socket, Socket, Path) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let listener = Listener::bind(any, PORT, server(Config::default().into())).await.expect("loopback");
    let path = Path::to(listener.local()).await;
    let socket =
        Socket::connect(path.address, PORT, client(Config::default().into())).await.expect("a server");
    (socket, listener.accept().await.expect("a client"), path)
}

/// Sends all datagrams, and returns those that arrive.
async fn stream(from: &Socket, to: &Socket) -> Vec<u32> {
    let send = async {
        let mut pace = interval(Duration::from_millis(3));
        for number in 0..COUNT {
            pace.tick().await;
            let mut bytes = vec![number as u8; 100 + number as usize % 900];
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            from.send(Bytes::from(bytes)).await.expect("open");
        }
    };
    let receive = async {
        let mut received = Vec::new();
        while let Ok(Ok(next)) = timeout(Duration::from_secs(3), to.recv()).await {
            let number = u32::from_be_bytes(next.payload[..4].try_into().expect("four bytes"));
            assert_eq!(next.payload.len(), 100 + number as usize % 900);
            assert!(next.payload[4..].iter().all(|byte| *byte == number as u8));
            received.push(number);
            if received.last() == Some(&(COUNT - 1)) {
                break;
            }
        }
        received
    };
    tokio::join!(send, receive).1
}

fn repaired(setup: Setup) -> Setup {
    setup.repaired(RepairConfig::new(LATENCY))
}

#[tokio::test]
async fn lost_datagrams_are_repaired_in_both_directions() {
    let (client, server, path) = connected(repaired, repaired).await;
    let (up, down) = tokio::join!(stream(&client, &server), stream(&server, &client));
    let all: Vec<u32> = (0..COUNT).collect();
    assert!(path.lost.load(Ordering::Relaxed) > 40);
    assert_eq!((up, down), (all.clone(), all));
    let counts = server.repair().expect("agreed").received;
    assert!(counts.repeated + counts.restored > 10 && counts.lost == 0, "{counts:?}");
}

/// A pause of the application is no loss: neither end asks for what was never sent.
#[tokio::test]
async fn a_connection_at_rest_sends_nothing() {
    let (client, server, path) = connected(repaired, repaired).await;
    let _ = tokio::join!(stream(&client, &server), stream(&server, &client));
    sleep(Duration::from_secs(5)).await;
    let before = path.lost.load(Ordering::Relaxed);
    sleep(Duration::from_secs(3)).await;
    // Every thirteenth packet is lost.
    let lost = path.lost.load(Ordering::Relaxed) - before;
    assert!(lost <= 1, "some {} packets", lost * 13);
}

#[tokio::test]
async fn repair_stands_above_encryption() {
    let identities = [(); 2].map(|()| Identity::generate().expect("a key"));
    let [client_key, server_key] = [&identities[0], &identities[1]].map(Identity::fingerprint);
    let [client_identity, server_identity] = identities;
    let (for_client, for_server) = (
        Security::new(client_identity, Trust::Pinned(vec![server_key])),
        Security::new(server_identity, Trust::Pinned(vec![client_key])),
    );
    let above = |security: &Security| {
        let security = security.clone();
        move |_: Setup| repaired(Setup::secured(Config::default(), security.clone()))
    };
    let (client, server, path) = connected(above(&for_client), above(&for_server)).await;
    assert_eq!(stream(&client, &server).await, (0..COUNT).collect::<Vec<_>>());
    assert!(path.lost.load(Ordering::Relaxed) > 20);
}

#[tokio::test]
async fn an_end_without_repair_gets_datagrams_as_they_are() {
    for (client, server) in [(true, false), (false, true)] {
        let layers = |has: bool| move |setup: Setup| if has { repaired(setup) } else { setup };
        let (client, server, path) = connected(layers(client), layers(server)).await;
        let received = stream(&client, &server).await;
        let lost = path.lost.load(Ordering::Relaxed);
        assert!(received.len() < COUNT as usize && lost > 10, "{} received, {lost} lost", received.len());
        assert!(client.repair().is_none() && server.repair().is_none());
    }
}

fn in_parts(setup: Setup) -> Setup {
    setup.repaired(RepairConfig { in_parts: true, ..RepairConfig::new(LATENCY) })
}

#[tokio::test]
async fn what_of_damaged_packets_is_whole_is_used() {
    let (client, server, path) = connected(in_parts, in_parts).await;
    path.damages.store(true, Ordering::Relaxed);
    assert_eq!(stream(&client, &server).await, (0..COUNT).collect::<Vec<_>>());
    let counts = server.repair().expect("agreed").received;
    assert!(counts.damaged > 50 && counts.lost == 0, "{counts:?}");
}

#[tokio::test]
async fn an_end_that_knows_no_parts_repairs_as_usual() {
    let (client, server, _) = connected(in_parts, repaired).await;
    assert_eq!(stream(&client, &server).await, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(server.repair().expect("agreed").received.damaged, 0);
}

#[tokio::test]
async fn damaged_packets_and_encryption_exclude_each_other() {
    let security = || Security::new(Identity::generate().expect("a key"), Trust::Any);
    let setup = || in_parts(Setup::secured(Config::default(), security()));
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let refused = Listener::bind(any, PORT, setup()).await.expect_err("both").to_string();
    assert!(refused.contains("DTLS rejects damaged packets"), "{refused}");
    let refused = Socket::connect(any, PORT, setup()).await.expect_err("both").to_string();
    assert!(refused.contains("DTLS rejects damaged packets"), "{refused}");
}

/// The scheduler for repeats and coded packets needs repair at either end.
#[tokio::test]
async fn coded_paths_without_repair_are_refused() {
    let over =
        |setup: Setup| setup.over_paths([], MultipathConfig::default().scheduler(SchedulerKind::Coded));
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let refused = [
        Listener::bind(any, PORT, over(Config::default().into())).await.expect_err("no repair"),
        Socket::connect(any, PORT, over(Config::default().into())).await.expect_err("no repair"),
    ];
    for error in refused {
        let error = error.to_string();
        assert!(error.contains("scheduler = \"coded\": expected a connection with repair"), "{error}");
    }
    let listener = Listener::bind(any, PORT, over(repaired(Config::default().into()))).await.expect("repair");
    let client = Socket::connect(listener.local(), PORT, over(repaired(Config::default().into()))).await;
    assert!(client.expect("a server").repair().is_some());
}
