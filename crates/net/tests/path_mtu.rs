//! Packet sizes on real interfaces: a client, a router and a server, each in a network of its own.
//!
//! Needs root and network namespaces. Without them the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{interval, timeout};
use whimbrel_net::{Ccid, Config, Event, Listener, Socket};
use whimbrel_proto::PathMtuPhase;

use crate::own_network;
use own_network::{own_network, run};

const PORT: u16 = 5001;
/// Headers of IPv4 and UDP, and the bytes that DCCP reserves for its own.
const IPV4_OVERHEAD: usize = 20 + 8 + 52;

/// The path between the hosts.
#[derive(Clone, Copy)]
struct Path {
    is_v6: bool,
    /// The client's link, and that from the router to the server.
    mtus: [usize; 2],
    /// The router reports packets that are too large.
    has_icmp: bool,
}

impl Path {
    fn address(&self, link: u8, host: u8) -> String {
        if self.is_v6 { format!("fd00:{link}::{host}") } else { format!("10.9.{link}.{host}") }
    }

    fn prefix(&self) -> u8 {
        if self.is_v6 { 64 } else { 24 }
    }

    /// A host's end of its link.
    fn settle(&self, link: u8) {
        let [near, router] = [1, 2].map(|host| self.address(link, host));
        let (prefix, mtu) = (self.prefix(), self.mtus[usize::from(link)]);
        must(&format!("ip link set host{link} mtu {mtu} up"));
        must(&format!("ip addr add {near}/{prefix} dev host{link}{}", self.at_once()));
        must(&format!("ip {} route add default via {router}", if self.is_v6 { "-6" } else { "-4" }));
    }

    /// No detection of duplicate addresses.
    fn at_once(&self) -> &'static str {
        if self.is_v6 { " nodad" } else { "" }
    }

    /// The router's ends of the links, and routing between them.
    fn route(&self, hosts: [&str; 2]) {
        for (link, host) in (0u8..).zip(hosts) {
            must(&format!("ip link add host{link} type veth peer name router{link}"));
            must(&format!("ip link set host{link} netns {host}"));
            must(&format!("ip link set router{link} mtu {} up", self.mtus[usize::from(link)]));
            let address = self.address(link, 2);
            must(&format!("ip addr add {address}/{} dev router{link}{}", self.prefix(), self.at_once()));
        }
        let forwarding = if self.is_v6 { "ipv6/conf/all/forwarding" } else { "ipv4/ip_forward" };
        std::fs::write(format!("/proc/sys/net/{forwarding}"), "1").expect("a router");
        if !self.has_icmp {
            must("ip -4 rule add pref 1 ipproto icmp blackhole");
        }
    }
}

fn must(line: &str) {
    assert!(run(line), "{line}");
}

/// Interfaces of this network use addresses at once, without looking for duplicates (RFC 4862, Section 5.4).
fn without_delay() -> bool {
    let file = |of| format!("/proc/sys/net/ipv6/conf/{of}/accept_dad");
    ["all", "default"].into_iter().all(|of| std::fs::write(file(of), "0").is_ok())
}

/// The measurements of one end.
struct Outcome {
    sent: usize,
    received: usize,
    /// Number of changes of the largest datagram.
    changes: usize,
    max_datagram: usize,
    phase: Option<PathMtuPhase>,
}

/// Sends the largest datagrams possible and receives until both ends are done, twenty seconds at most.
async fn exchange(
    socket: Socket,
    is_done: fn(usize, Duration) -> bool,
    done: Sender<()>,
    other: Receiver<()>,
) -> Outcome {
    let start = socket.now();
    let mut outcome = Outcome { sent: 0, received: 0, changes: 0, max_datagram: 0, phase: None };
    let mut ticks = interval(Duration::from_millis(4));
    let mut other_done = false;
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let Some(snapshot) = socket.snapshot() else { break };
                (outcome.max_datagram, outcome.phase) = (snapshot.max_datagram, snapshot.path_mtu);
                outcome.sent = snapshot.statistics.datagrams_sent as usize;
                let elapsed = Duration::from_nanos((socket.now() - start).as_nanos());
                let is_late = elapsed > Duration::from_secs(20);
                if (outcome.phase.is_some() && is_done(outcome.max_datagram, elapsed)) || is_late {
                    let _ = done.send(());
                    other_done |= other.try_recv().is_ok();
                    if other_done || is_late {
                        break;
                    }
                }
                let payload = Bytes::from(vec![7; snapshot.max_datagram]);
                let _ = socket.try_send(payload, None);
            }
            received = socket.recv() => outcome.received += usize::from(received.is_ok()),
            event = socket.event() => {
                outcome.changes += usize::from(matches!(event, Ok(Event::MaxDatagramChanged { .. })));
            }
        }
    }
    // Packets in transit arrive.
    let rest = async {
        while socket.recv().await.is_ok() {
            outcome.received += 1
        }
    };
    let _ = timeout(Duration::from_millis(300), rest).await;
    outcome
}

fn config() -> Config {
    Config::default().sender_ccids(Ccid::TFRC).receiver_ccids(Ccid::TFRC)
}

fn block_on<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(what)
}

/// This thread, as `ip` names the network it is in.
fn thread_id() -> String {
    let link = std::fs::read_link("/proc/thread-self").expect("proc");
    link.file_name().expect("a number").to_string_lossy().into_owned()
}

/// Both ends send the largest datagrams over that path until the client is done: client and server.
fn over(path: Path, is_done: fn(usize, Duration) -> bool) -> Option<[Outcome; 2]> {
    if !own_network() || !without_delay() {
        return None;
    }
    let server: SocketAddr = if path.is_v6 { "[fd00:1::1]:6511" } else { "10.9.1.1:6511" }.parse().ok()?;
    let (ids, hosts) = channel();
    let ends: Vec<_> = [0u8, 1]
        .map(|link| {
            let ids = ids.clone();
            let (go, start) = channel::<(Sender<()>, Receiver<()>)>();
            let work = move || {
                assert!(own_network() && without_delay());
                ids.send((link, thread_id())).expect("the test waits");
                let (done, other) = start.recv().expect("links");
                path.settle(link);
                block_on(async move {
                    if link == 1 {
                        let listener = Listener::bind(server, PORT, config()).await.expect("an address");
                        ids.send((link, String::new())).expect("the test waits");
                        let socket = listener.accept().await.expect("a client");
                        exchange(socket, |_, _| true, done, other).await
                    } else {
                        let socket = Socket::connect(server, PORT, config()).await.expect("a server");
                        exchange(socket, is_done, done, other).await
                    }
                })
            };
            (go, thread::spawn(work))
        })
        .into();
    let mut names = [String::new(), String::new()];
    for _ in 0..2 {
        let (link, id) = hosts.recv().expect("both hosts start");
        names[usize::from(link)] = id;
    }
    path.route([&names[0], &names[1]]);
    let (client_done, server_waits) = channel();
    let (server_done, client_waits) = channel();
    ends[1].0.send((server_done, server_waits)).expect("the server waits");
    hosts.recv().expect("the server listens");
    ends[0].0.send((client_done, client_waits)).expect("the client waits");
    let outcomes: Vec<_> = ends.into_iter().map(|(_, thread)| thread.join().expect("no panic")).collect();
    outcomes.try_into().ok()
}

#[test]
fn with_both_directions_full_of_the_largest_datagrams_nothing_is_refused_on_ipv6() {
    let path = Path { is_v6: true, mtus: [1500, 1500], has_icmp: true };
    let Some([client, server]) = over(path, |_, time| time > Duration::from_secs(2)) else { return };
    for (end, other) in [(&client, &server), (&server, &client)] {
        assert_eq!((end.changes, end.max_datagram), (0, 1400));
        assert_eq!(end.phase, Some(PathMtuPhase::Complete));
        assert!(end.sent > 200, "{}", end.sent);
        // No datagram sent before the end was near is lost.
        assert!(end.received + 20 >= other.sent, "{} of {}", end.received, other.sent);
    }
}

#[test]
fn the_mtu_of_the_hosts_own_interface_is_queried() {
    let path = Path { is_v6: false, mtus: [1300, 1500], has_icmp: true };
    let Some([client, _]) = over(path, |found, _| found == 1300 - IPV4_OVERHEAD) else {
        return;
    };
    assert_eq!(client.max_datagram, 1300 - IPV4_OVERHEAD);
}

/// A packet without DF would be fragmented and arrive, and the largest size with it.
#[test]
fn below_the_base_size_the_mtu_that_icmp_names_is_used() {
    for mtu in [1060, 1100] {
        let path = Path { is_v6: false, mtus: [1500, mtu], has_icmp: true };
        let is_found = |found, _| [1060 - IPV4_OVERHEAD, 1100 - IPV4_OVERHEAD].contains(&found);
        // Run each case in its own thread: network namespaces are per thread.
        let outcomes = thread::spawn(move || over(path, is_found)).join().expect("no panic");
        let Some([client, _]) = outcomes else { return };
        assert_eq!(client.max_datagram, mtu - IPV4_OVERHEAD);
        // If ICMP arrived before the connection was open, that size is the limit from the beginning, and
        // nothing changes: the search is complete. Otherwise the base size does not arrive (RFC 8899, Section
        // 5.2), and datagrams become smaller twice at least: to the size that always works, and to the size
        // that ICMP names.
        let expected = if client.changes == 0 { PathMtuPhase::Complete } else { PathMtuPhase::Error };
        assert_eq!(client.phase, Some(expected), "{} changes", client.changes);
        assert_ne!(client.changes, 1);
    }
}

#[test]
fn without_icmp_lost_probes_find_the_mtu() {
    let path = Path { is_v6: false, mtus: [1500, 1300], has_icmp: false };
    let Some([client, _]) = over(path, |found, time| found < 1400 && time > Duration::from_secs(6)) else {
        return;
    };
    assert!((1148..=1300 - IPV4_OVERHEAD).contains(&client.max_datagram), "{}", client.max_datagram);
    assert!(client.received > 0);
}
