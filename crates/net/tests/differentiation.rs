//! Loss classification by real sockets, on a path that loses packets without a queue.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::time::{interval, sleep, timeout};
use whimbrel_net::{Config, Differentiation, Event, Evidence, Listener, LossClass, Scheme, Socket};

const PORT: u16 = 5001;
/// Datagrams on the relay that are longer carry data.
const DATA: usize = 500;

/// Carries datagrams between a client and `server`; of those with data, every tenth towards the
/// server is lost. Once there is a queue.
async fn relay(server: SocketAddr) -> SocketAddr {
    let bind = || async { Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("loopback")) };
    let (outside, inside) = (bind().await, bind().await);
    inside.connect(server).await.expect("loopback");
    let address = outside.local_addr().expect("bound");
    tokio::spawn(async move {
        let (mut there, mut back) = ([0; 2048], [0; 2048]);
        let (mut client, mut data) = (None, 0u64);
        loop {
            tokio::select! {
                Ok((length, from)) = outside.recv_from(&mut there) => {
                    client = Some(from);
                    data += u64::from(length > DATA);
                    if data == 5 {
                        // The packets that wait meanwhile are a queue, compared with which the host's own
                        // delays are small.
                        sleep(Duration::from_millis(100)).await;
                    }
                    if length <= DATA || data % 10 != 0 {
                        let _ = inside.send(&there[..length]).await;
                    }
                }
                Ok(length) = inside.recv(&mut back) => {
                    if let Some(client) = client {
                        let _ = outside.send_to(&back[..length], client).await;
                    }
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_receiver_negotiates_send_times_and_reports_its_verdicts() {
    let mut config = Config::default();
    config.tune_tfrc(|tfrc| tfrc.differentiation = Some(Differentiation::unguarded(Scheme::Spike)));
    let listener = Listener::bind("127.0.0.1:0".parse().expect("an address"), PORT, config).await;
    let listener = listener.expect("loopback");
    let client = Socket::connect(relay(listener.local()).await, PORT, Config::default()).await.expect("open");
    client.send(Bytes::from_static(&[0; 1000])).await.expect("open");
    let server = listener.accept().await.expect("open");

    let mut pace = interval(Duration::from_millis(10));
    let (mut found, mut wireless) = (0, 0);
    let all = async {
        while found < 10 {
            tokio::select! {
                _ = pace.tick() => drop(client.send(Bytes::from_static(&[0; 1000])).await.expect("open")),
                event = server.event() => {
                    let Event::LossClassified(verdict) = event.expect("open") else { continue };
                    found += verdict.count;
                    wireless += if verdict.cause == LossClass::Wireless { verdict.count } else { 0 };
                    // This evidence needs the send times.
                    assert!(matches!(verdict.evidence, Evidence::Spike { .. }), "{verdict:?}");
                }
            }
        }
    };
    timeout(Duration::from_secs(20), all).await.expect("ten losses in 20 s");
    let receiver = server.snapshot().expect("open").receiver;
    assert!(receiver.lost >= found && receiver.lost_wireless >= wireless, "{receiver:?}");
    // The queue is empty again, but for what a busy machine adds at times.
    assert!(wireless > 0, "{receiver:?}");
}
