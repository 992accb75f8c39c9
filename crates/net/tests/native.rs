//! DCCP as IP protocol 33, by raw sockets and behind TUN devices, each test in a network of its own.
//!
//! Needs root. Without it the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use whimbrel_net::{
    Ccid, Config, ConnectionError, Ecn, Host, NetError, OverflowPolicy, PathMtuDiscovery, SendQueueConfig,
    ServiceCode, Socket,
};
use whimbrel_wire::ResetCode;

use crate::own_network;
use own_network::{in_own_network, run};

const PORT: u16 = 5001;

fn config(ccid: Ccid) -> Config {
    Config::default()
        .service_code(ServiceCode(42))
        .sender_ccids([ccid])
        .receiver_ccids([ccid])
        .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn to(text: &str) -> SocketAddr {
    SocketAddr::new(ip(text), 0)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

/// Connects, sends datagrams in both directions and closes. Checks their contents and their ECN codepoints.
async fn transfer(client: &Host, server: &Host, at: SocketAddr, port: u16, ccid: Ccid) {
    let listener = server.listen(port, config(ccid)).expect("one listener");
    let client = soon(client.connect(at, port, config(ccid))).await.expect("a handshake");
    let server = soon(listener.accept()).await.expect("a handshake");
    let both = async {
        for n in 0..200u32 {
            let payload = Bytes::from(n.to_be_bytes().repeat(250));
            client.send(payload.clone()).await.expect("open");
            let received = server.recv().await.expect("open");
            assert_eq!((received.payload, received.ecn), (payload.clone(), Ecn::Ect0));
            server.send(payload.clone()).await.expect("open");
            let received = client.recv().await.expect("open");
            assert_eq!((received.payload, received.ecn), (payload, Ecn::Ect0));
        }
    };
    soon(both).await;
    soon(client.close()).await.expect("in order");
    let end = soon(server.recv()).await.expect_err("closed");
    assert!(matches!(end, NetError::Connection(ConnectionError::ClosedByPeer)), "{end}");
}

#[test]
fn raw_sockets_carry_datagrams_over_both_families() {
    in_own_network(async {
        assert!(run("ip addr add fd00::1/128 dev lo nodad") && run("ip addr add fd00::2/128 dev lo nodad"));
        for (here, there, any) in [("127.0.0.1", "127.0.0.2", "0.0.0.0"), ("fd00::1", "fd00::2", "::")] {
            let client = Host::raw(ip(here)).await.expect("a raw socket");
            for (server, ccid) in [(there, Ccid::TCP_LIKE), (any, Ccid::TFRC)] {
                let server = Host::raw(ip(server)).await.expect("a raw socket");
                transfer(&client, &server, to(there), PORT, ccid).await;
            }
        }
    });
}

#[test]
fn two_programs_on_one_address_leave_each_others_connections_alone() {
    in_own_network(async {
        let any = || Host::raw(ip("127.0.0.1"));
        let (one, two, three) =
            (any().await.expect("raw"), any().await.expect("raw"), any().await.expect("raw"));
        // The third serves another port, and receives all of the others' packets.
        let _other = three.listen(PORT + 1, config(Ccid::TFRC)).expect("one listener");
        transfer(&one, &two, to("127.0.0.1"), PORT, Ccid::TFRC).await;
    });
}

#[test]
fn a_connection_to_a_host_without_dccp_fails_at_once() {
    in_own_network(async {
        assert!(run("ip addr add fd00::1/128 dev lo nodad") && run("ip addr add fd00::2/128 dev lo nodad"));
        for (here, there) in [("127.0.0.1", "127.0.0.2"), ("fd00::1", "fd00::2")] {
            let host = Host::raw(ip(here)).await.expect("a raw socket");
            let attempt = host.connect(to(there), PORT, config(Ccid::TFRC));
            // Without ICMP it would repeat its Request for three minutes.
            let error = timeout(Duration::from_secs(20), attempt)
                .await
                .unwrap_or_else(|_| panic!("{there}: silence"));
            let error = error.expect_err("there is no server");
            assert!(matches!(error, NetError::Connection(ConnectionError::Unreachable)), "{error}");
        }
    });
}

#[test]
fn the_wrong_service_code_is_refused_over_a_raw_socket_too() {
    in_own_network(async {
        let server = Host::raw(ip("127.0.0.2")).await.expect("a raw socket");
        let _listener = server.listen(PORT, config(Ccid::TFRC)).expect("one listener");
        let client = Host::raw(ip("127.0.0.1")).await.expect("a raw socket");
        let wrong = config(Ccid::TFRC).service_code(ServiceCode(43));
        let error = soon(client.connect(to("127.0.0.2"), PORT, wrong)).await.expect_err("refused");
        let NetError::Connection(ConnectionError::Reset(reset)) = error else { panic!("{error}") };
        assert_eq!(reset.code, ResetCode::BadServiceCode);
    });
}

/// Two hosts of this process behind two devices, with the kernel as the router between them.
async fn tun_pair() -> (Host, Host) {
    let a = Host::tun("wh-a", &[ip("10.77.1.2"), ip("fd00:1::2")]).await.expect("a device");
    let b = Host::tun("wh-b", &[ip("10.77.2.2"), ip("fd00:2::2")]).await.expect("a device");
    for (device, n) in [("wh-a", 1), ("wh-b", 2)] {
        assert!(run(&format!("ip addr add 10.77.{n}.1/24 dev {device}")));
        assert!(run(&format!("ip -6 addr add fd00:{n}::1/64 dev {device} nodad")));
    }
    assert!(std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").is_ok(), "a kernel that forwards");
    assert!(std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").is_ok(), "a kernel that forwards");
    (a, b)
}

#[test]
fn hosts_behind_tun_devices_reach_each_other_through_the_kernel() {
    in_own_network(async {
        let (a, b) = tun_pair().await;
        let folder = tempfile::tempdir().expect("a folder");
        let pcap = folder.path().join("a.pcap");
        let capture = tcpdump(&pcap);
        transfer(&a, &b, to("10.77.2.2"), PORT, Ccid::TFRC).await;
        transfer(&b, &a, to("fd00:1::2"), PORT, Ccid::TCP_LIKE).await;
        if let Some(capture) = capture {
            dissect(capture, &pcap);
        }
    });
}

/// Captures the packets of the device; `None` if tcpdump or tshark are missing and not required.
fn tcpdump(pcap: &std::path::Path) -> Option<Child> {
    if !(run("tcpdump --version") && run("tshark --version")) {
        assert!(std::env::var("REQUIRE_ALL").map_or(true, |value| value != "1"), "tcpdump and tshark");
        eprintln!("not dissected: tcpdump or tshark is missing");
        return None;
    }
    let child = Command::new("tcpdump")
        .args(["--immediate-mode", "-U", "-s", "2048", "-i", "wh-a", "-Z", "root", "-w"])
        .arg(pcap)
        .stderr(Stdio::null())
        .spawn();
    while std::fs::metadata(pcap).map_or(0, |meta| meta.len()) < 24 {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.ok()
}

/// An independent reader finds every packet whole and every checksum right.
fn dissect(mut capture: Child, pcap: &std::path::Path) {
    let size = || std::fs::metadata(pcap).map_or(0, |meta| meta.len());
    let mut written = 0;
    while std::mem::replace(&mut written, size()) != written {
        std::thread::sleep(Duration::from_millis(300));
    }
    assert!(run(&format!("kill -INT {}", capture.id())));
    capture.wait().expect("tcpdump ends");
    let fields =
        ["ip.checksum.status", "dccp.checksum.status", "_ws.malformed", "_ws.expert.severity", "dccp.type"];
    let mut command = Command::new("tshark");
    command.args([
        "-o",
        "dccp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-T",
        "fields",
        "-Y",
        "dccp",
        "-r",
    ]);
    command.arg(pcap);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.stderr(Stdio::null()).output().expect("tshark");
    let text = String::from_utf8(output.stdout).expect("text");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(rows.len() > 800, "{} packets", rows.len());
    for row in &rows {
        // 1: good; IPv6 has no header checksum.
        assert!(row[0] == "1" || row[0].is_empty(), "{row:?}");
        assert_eq!((row[1], row[2]), ("1", ""), "{row:?}");
    }
}

#[test]
fn a_narrow_path_is_learnt_from_its_router() {
    in_own_network(async {
        let (a, b) = tun_pair().await;
        for (there, header) in [("10.77.2.2", 20), ("fd00:2::2", 40)] {
            let listener = b.listen(PORT, config(Ccid::TCP_LIKE)).expect("one listener");
            assert!(run("ip link set wh-b mtu 1400"));
            // Without probes of its own, so that the router's ICMP is the only source.
            let unprobed = config(Ccid::TCP_LIKE).path_mtu(PathMtuDiscovery::Off);
            let client = soon(a.connect(to(there), PORT, unprobed)).await.expect("a handshake");
            let server = soon(listener.accept()).await.expect("a handshake");
            client.send(Bytes::from(vec![1; 1400])).await.expect("not yet known");
            let limit = soon(async {
                loop {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    let snapshot = client.snapshot().expect("open");
                    if snapshot.max_datagram < 1400 {
                        return snapshot.max_datagram;
                    }
                }
            });
            let limit = limit.await;
            assert_eq!(limit, 1400 - header - 52);
            client.send(Bytes::from(vec![2; limit])).await.expect("now known");
            assert_eq!(soon(server.recv()).await.expect("open").payload, vec![2; limit]);
            assert!(client.send(Bytes::from(vec![3; limit + 1])).await.is_err());
        }
    });
}

#[test]
fn a_kernel_without_dccp_answers_a_tun_host_with_icmp() {
    in_own_network(async {
        let (a, _b) = tun_pair().await;
        for kernel in ["10.77.1.1", "fd00:1::1"] {
            let attempt = timeout(Duration::from_secs(5), a.connect(to(kernel), PORT, config(Ccid::TFRC)));
            let error = attempt.await.expect("at once").expect_err("there is no server");
            assert!(matches!(error, NetError::Connection(ConnectionError::Unreachable)), "{error}");
        }
    });
}

#[test]
fn a_tun_host_resets_unknown_connections() {
    in_own_network(async {
        let (a, _b) = tun_pair().await;
        let error =
            soon(a.connect(to("10.77.2.2"), PORT, config(Ccid::TFRC))).await.expect_err("no listener");
        let NetError::Connection(ConnectionError::Reset(reset)) = error else { panic!("{error}") };
        assert_eq!(reset.code, ResetCode::ConnectionRefused);
    });
}

#[test]
fn invalid_tun_hosts_are_refused() {
    in_own_network(async {
        for addresses in [&[][..], &[ip("10.0.0.1"), ip("10.0.0.2")], &[ip("0.0.0.0")], &[ip("ff02::1")]] {
            let error = Host::tun("wh-a", addresses).await.expect_err("no address");
            assert!(matches!(error, NetError::Config(_)), "{error}");
        }
        let taken = Host::tun("wh-a", &[ip("10.0.0.1")]).await.expect("a device");
        let error = Host::tun("wh-a", &[ip("10.0.0.1")]).await.expect_err("in use");
        assert!(error.to_string().contains("TUN device"), "{error}");
        drop(taken);
    });
}

/// A host is both: a listener and sockets that it opens itself share one port.
#[tokio::test]
async fn a_udp_host_listens_and_connects_on_one_port() {
    let host = async || Host::udp("127.0.0.1:0".parse().expect("an address")).await.expect("loopback");
    let (one, two) = (host().await, host().await);
    let listeners = [&one, &two].map(|host| host.listen(PORT, config(Ccid::TFRC)).expect("one listener"));
    assert!(one.listen(PORT + 1, config(Ccid::TFRC)).is_err(), "a second listener");
    let connect = async |from: &Host, to: &Host| -> Socket {
        soon(from.connect(to.local(), PORT, config(Ccid::TFRC))).await.expect("a handshake")
    };
    let (there, back) = (connect(&one, &two).await, connect(&two, &one).await);
    for (socket, listener) in [(&there, &listeners[1]), (&back, &listeners[0])] {
        let accepted = soon(listener.accept()).await.expect("a handshake");
        assert_eq!(accepted.remote(), socket.local());
        socket.send(Bytes::from_static(b"x")).await.expect("open");
        assert_eq!(soon(accepted.recv()).await.expect("open").payload, "x");
    }
}
