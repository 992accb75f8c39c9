//! quinn with a law of whimbrel-control, and with repair of its datagrams, over loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use quinn_proto::congestion::ControllerFactory;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use whimbrel_control::window::NewReno;
use whimbrel_repair::receiver::{Receiver, ReceiverConfig};
use whimbrel_repair::sender::{Sender, SenderConfig};

use crate::quinn_repair::{receive, send};
use crate::quinn_window::Law;

/// The two ends of a connection whose sender follows NewReno, by way of `through` if it is given.
async fn connected(through: impl AsyncFnOnce(SocketAddr) -> SocketAddr) -> [(Endpoint, Connection); 2] {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config =
        ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into()).expect("a configuration");
    let local = "127.0.0.1:0".parse().expect("an address");
    let server = Endpoint::server(config, local).expect("a port");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a certificate");
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Law(NewReno::rfc5681().into())));
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a configuration");
    config.transport_config(Arc::new(transport));
    let mut client = Endpoint::client(local).expect("a port");
    client.set_default_client_config(config);
    let to = through(server.local_addr().expect("an address")).await;
    let accepting = async { server.accept().await.expect("a client").await.expect("a connection") };
    let (there, here) = tokio::join!(accepting, async {
        client.connect(to, "localhost").expect("a name").await.expect("it answers")
    });
    [(client, here), (server, there)]
}

#[tokio::test]
async fn the_window_follows_the_law() {
    let [(_here, client), (_there, server)] = connected(async |server| server).await;
    let initial = client.stats().path.cwnd;
    let data = vec![7; 3_000_000];
    let reading = async { server.accept_uni().await.expect("a stream").read_to_end(4_000_000).await };
    let writing = async {
        let mut stream = client.open_uni().await.expect("a stream");
        stream.write_all(&data).await.expect("it is read");
        stream.finish().expect("once");
        stream
    };
    let (read, _open) = tokio::join!(reading, writing);
    assert_eq!(read.expect("all of it").len(), data.len());
    // Slow start: without losses the window of NewReno grows by what is acknowledged.
    let stats = client.stats().path;
    assert!(stats.cwnd > 5 * initial || stats.congestion_events > 0, "{initial} bytes became {}", stats.cwnd);
}

#[test]
fn a_window_has_one_reduction() {
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    let mut controller = Arc::new(Law(NewReno::rfc5681().into())).build(start, 1_200);
    assert_eq!(controller.window(), 12_000);
    controller.on_end_acks(at(100), 12_000, false, None);
    controller.on_congestion_event(at(100), at(50), false, 1_200);
    assert_eq!(controller.window(), 6_000);
    // Of the same window.
    controller.on_congestion_event(at(110), at(60), false, 1_200);
    assert_eq!(controller.window(), 6_000);
    controller.on_end_acks(at(200), 6_000, false, None);
    controller.on_congestion_event(at(200), at(150), false, 1_200);
    assert_eq!(controller.window(), 3_000);
}

/// A path to `server` that loses every tenth long packet after the first 50, so that the handshake succeeds.
async fn lossy(server: SocketAddr, lost: Arc<AtomicU64>) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let far = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let address = near.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut there, mut back) = (vec![0; 2_000], vec![0; 2_000]);
        let (mut client, mut count) = (address, 0_u64);
        loop {
            tokio::select! {
                Ok((size, from)) = near.recv_from(&mut there) => {
                    (client, count) = (from, count + 1);
                    if count > 50 && size > 500 && count % 10 == 0 {
                        lost.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let _ = far.send_to(&there[..size], server).await;
                    }
                }
                Ok((size, _)) = far.recv_from(&mut back) => drop(near.send_to(&back[..size], client).await),
            }
        }
    });
    address
}

#[tokio::test]
async fn lost_datagrams_are_repaired_in_order() {
    let lost = Arc::new(AtomicU64::new(0));
    let [(_here, client), (_there, server)] = connected(async |to| lossy(to, Arc::clone(&lost)).await).await;
    let latency = whimbrel_units::Duration::from_millis(400);
    let (frames, taken) = mpsc::channel(16);
    let (given, mut delivered) = mpsc::channel(16);
    tokio::spawn(send(client, taken, Sender::new(SenderConfig::new(1_000, latency))));
    tokio::spawn(receive(server, given, Receiver::new(ReceiverConfig::new(1_000, latency))));
    tokio::spawn(async move {
        for number in 0..300_u32 {
            frames.send(number.to_be_bytes().repeat(200)).await.expect("it sends");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    for number in 0..300_u32 {
        let frame = tokio::time::timeout(Duration::from_secs(10), delivered.recv()).await;
        assert_eq!(frame.expect("in time").expect("open"), number.to_be_bytes().repeat(200));
    }
    assert!(lost.load(Ordering::Relaxed) > 10);
}
