//! Losses are classified by the arrival times of packets, not by the times at which a busy program took them.
#![cfg(target_os = "linux")]

use std::net::UdpSocket;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{interval, sleep, timeout};
use whimbrel_net::{Config, Differentiation, Event, Evidence, Listener, Scheme, Socket};

const PORT: u16 = 5001;
/// Datagrams on the relay that are longer carry data.
const DATA: usize = 500;
/// The least time between two of them at the relay.
const APART: Duration = Duration::from_millis(4);

/// Carries datagrams between a client and `server`, those with data one by one with a pause behind each.
/// Every twentieth is lost.
fn relay(server: std::net::SocketAddr) -> std::net::SocketAddr {
    let bind = || UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let (outside, inside) = (bind(), bind());
    inside.connect(server).expect("loopback");
    let address = outside.local_addr().expect("bound");
    let (sender, receiver) = std::sync::mpsc::channel();
    let (back_from, back_to) =
        (inside.try_clone().expect("a socket"), outside.try_clone().expect("a socket"));
    std::thread::spawn(move || {
        let (mut buffer, mut data) = ([0; 2048], 0u64);
        while let Ok((length, from)) = outside.recv_from(&mut buffer) {
            if sender.send(from).is_err() {
                return;
            }
            data += u64::from(length > DATA);
            if length <= DATA || data % 20 != 0 {
                let _ = inside.send(&buffer[..length]);
            }
            if length > DATA {
                std::thread::sleep(APART);
            }
        }
    });
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let Ok(client) = receiver.recv() else { return };
        while let Ok(length) = back_from.recv(&mut buffer) {
            let _ = back_to.send_to(&buffer[..length], client);
        }
    });
    address
}

#[tokio::test]
async fn the_least_time_between_packets_is_the_networks_where_the_receiver_is_busy() {
    let mut config = Config::default();
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(Scheme::Biaz)));
    let listener = Listener::bind("127.0.0.1:0".parse().expect("an address"), PORT, config).await;
    let listener = listener.expect("loopback");
    let client = Socket::connect(relay(listener.local()), PORT, Config::default()).await.expect("open");
    client.send(Bytes::from_static(&[0; 1000])).await.expect("open");
    let server = listener.accept().await.expect("open");
    // Sockets of this thread make no progress meanwhile: arrivals are received all at once.
    let busy = async {
        loop {
            sleep(Duration::from_millis(5)).await;
            std::thread::sleep(Duration::from_millis(40));
        }
    };
    let watched = async {
        let mut pace = interval(Duration::from_millis(5));
        let mut found = 0;
        while found < 5 {
            tokio::select! {
                _ = pace.tick() => drop(client.send(Bytes::from_static(&[0; 1000])).await.expect("open")),
                event = server.event() => {
                    let Event::LossClassified(verdict) = event.expect("open") else { continue };
                    let Evidence::InterArrival { minimum, .. } = verdict.evidence else { panic!("{verdict:?}") };
                    // The two clocks are read to within some microseconds.
                    assert!(minimum.as_micros() + 200 >= APART.as_micros() as u64, "{verdict:?}");
                    found += 1;
                }
            }
        }
    };
    tokio::select! {
        () = busy => {}
        result = timeout(Duration::from_secs(20), watched) => result.expect("five losses in 20 s"),
    }
}
