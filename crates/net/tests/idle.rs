//! The processor time of idle connections.

#![cfg(unix)]

use std::time::Duration;

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use whimbrel_net::{Ccid, Config, Listener, ServiceCode, Socket};

/// Of this thread, on which the runtime of the test has all its tasks: other tests run in the same process.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[tokio::test]
async fn idle_connections_cost_next_to_nothing() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        let config =
            Config::default().service_code(ServiceCode(1)).sender_ccids([ccid]).receiver_ccids([ccid]);
        let any = "127.0.0.1:0".parse().expect("an address");
        let listener = Listener::bind(any, 5001, config.clone()).await.expect("loopback");
        let mut sockets = Vec::new();
        for n in 0..50u8 {
            let client = Socket::connect(listener.local(), 5001, config.clone()).await.expect("a handshake");
            client.send(Bytes::copy_from_slice(&[n])).await.expect("open");
            let server = listener.accept().await.expect("a handshake");
            assert_eq!(server.recv().await.expect("open").payload[..], [n]);
            server.send(Bytes::copy_from_slice(&[n])).await.expect("open");
            client.recv().await.expect("open");
            sockets.push((client, server));
        }
        // The acknowledgements of the data end soon.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = cpu_seconds();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let used = cpu_seconds() - before;
        assert!(used < 0.02, "{ccid}: {used} s of processor time in a second");
    }
}
