//! The packet size that the system reports, each test in a network of its own.
//!
//! Needs network namespaces. Without them the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::multipath::MultipathConfig;
use whimbrel_net::{Config, Host, InitCookies, Listener, Setup, Socket};

use crate::own_network;
use own_network::{in_own_network, run};

const PORT: u16 = 5001;
/// Bytes around the data in an IPv4 packet: headers of IP, UDP and DCCP, and room for options.
const OVERHEAD: usize = 20 + 8 + 52;

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

#[test]
fn both_ends_begin_with_what_the_interface_carries() {
    in_own_network(async {
        assert!(run("ip link set lo mtu 1300"));
        for init_cookies in [InitCookies::UnderPressure, InitCookies::Always] {
            let mut options = whimbrel_net::HostOptions::default();
            options.endpoint.init_cookies = init_cookies;
            let any = "127.0.0.1:0".parse().expect("an address");
            let listener =
                Listener::bind_with(any, PORT, Config::default(), options).await.expect("loopback");
            let client =
                soon(Socket::connect(listener.local(), PORT, Config::default())).await.expect("a handshake");
            client.send(Bytes::from_static(&[1; 1300 - OVERHEAD])).await.expect("it fits");
            client.send(Bytes::from_static(&[1; 1301 - OVERHEAD])).await.expect_err("one byte too many");
            let server = soon(listener.accept()).await.expect("a handshake");
            assert_eq!(soon(server.recv()).await.expect("nothing was lost").payload.len(), 1300 - OVERHEAD);
            for socket in [&client, &server] {
                let most = socket.snapshot().expect("open").max_datagram;
                // A client whose connection the server made of a cookie was open before it was asked.
                assert!(most <= 1300 - OVERHEAD, "{most} with {init_cookies:?}");
            }
            assert_eq!(client.snapshot().expect("open").max_datagram, 1300 - OVERHEAD);
        }
    });
}

#[test]
fn both_ends_of_a_multipath_connection_begin_with_what_the_interface_carries() {
    in_own_network(async {
        let any = "127.0.0.1:0".parse().expect("an address");
        let setup = Setup::from(Config::default()).over_paths([], MultipathConfig::default());
        let server = Listener::bind(any, PORT, setup.clone()).await.expect("a free port");
        assert!(run("ip link set lo mtu 900"));
        let connected = soon(Socket::connect(server.local(), PORT, setup)).await.expect("a handshake");
        let accepted = soon(server.accept()).await.expect("a handshake");
        for socket in [&connected, &accepted] {
            soon(async {
                while socket.snapshot().expect("open").max_datagram != 900 - OVERHEAD {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            let sends = |size: usize| socket.try_send(vec![1; size].into(), None).is_ok();
            assert!(sends(900 - OVERHEAD) && !sends(901 - OVERHEAD));
        }
        assert_eq!(soon(accepted.recv()).await.expect("nothing was lost").payload.len(), 900 - OVERHEAD);
    });
}

#[test]
fn a_host_without_udp_asks_the_system_as_well() {
    in_own_network(async {
        assert!(run("ip link set lo mtu 1300") && run("ip addr add 127.0.0.2/8 dev lo"));
        let [one, two] = ["127.0.0.1", "127.0.0.2"].map(|address| address.parse().expect("an address"));
        let (client, server) = (Host::raw(one).await.expect("root"), Host::raw(two).await.expect("root"));
        let _listener = server.listen(PORT, Config::default()).expect("no other");
        let socket =
            soon(client.connect((two, 0).into(), PORT, Config::default())).await.expect("a handshake");
        assert_eq!(socket.snapshot().expect("open").max_datagram, 1300 - 20 - 52);
    });
}
