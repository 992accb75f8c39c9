//! Multipath connections on real interfaces: a client with two links, a router and a server, each in a
//! network of its own.
//!
//! Needs root and network namespaces. Without them the tests report that they were skipped.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{sleep, timeout};
use whimbrel_net::multipath::{MultipathConfig, MultipathEvent, MultipathSnapshot, SchedulerKind};
use whimbrel_net::{Ccid, Config, Dscp, Event, Host as DccpHost, HostOptions, Listener, Setup, Socket};

use crate::own_network;
use own_network::{own_network, run};

const PORT: u16 = 5001;
/// The server's UDP address.
const SERVER: &str = "10.9.3.1:6511";
/// Headers of IPv4 and UDP, and the bytes that DCCP reserves for its own.
const OVERHEAD: usize = 20 + 8 + 52;
/// The MTU of the narrow route.
const NARROW: usize = 1100;

fn must(line: &str) {
    assert!(run(line), "{line}");
}

/// This thread, as `ip` names the network it is in.
fn thread_id() -> String {
    let link = std::fs::read_link("/proc/thread-self").expect("proc");
    link.file_name().expect("a number").to_string_lossy().into_owned()
}

fn block_on<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(what)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("done within 20 s")
}

fn setup() -> Setup {
    let config = Config::default().sender_ccids(Ccid::TFRC).receiver_ccids(Ccid::TFRC);
    Setup::from(config).over_paths([], MultipathConfig::default().scheduler(SchedulerKind::Redundant))
}

/// A host with a network of its own, in a thread.
struct Host<T> {
    /// The thread, as `ip` names its network.
    name: String,
    go: Sender<()>,
    thread: JoinHandle<T>,
}

impl<T: Send + 'static> Host<T> {
    /// Starts a host, which continues when its interfaces are there.
    fn new(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let ((go, links), (named, name)) = (channel(), channel());
        let thread = thread::spawn(move || {
            assert!(own_network());
            named.send(thread_id()).expect("the test waits");
            links.recv().expect("links");
            work()
        });
        Self { name: name.recv().expect("a network"), go, thread }
    }

    fn start(&self) {
        self.go.send(()).expect("the host waits");
    }
}

/// The server's side: sends every datagram back until the connection ends.
fn echo(ready: &Sender<()>) {
    must("ip addr add 10.9.3.1/24 dev host2");
    must("ip link set host2 up");
    must("ip route add default via 10.9.3.2");
    block_on(async {
        let at = SERVER.parse().expect("an address");
        let listener = Listener::bind(at, PORT, setup()).await.expect("an address");
        ready.send(()).expect("the test waits");
        let socket = soon(listener.accept()).await.expect("a client");
        while let Ok(received) = soon(socket.recv()).await {
            let _ = socket.send(received.payload).await;
        }
    });
}

/// The router's ends of the links, and routing between them. Links 0 and 1 are the client's, 2 the server's.
fn route(client: &str, server: &str) {
    for (link, host) in [client, client, server].into_iter().enumerate() {
        must(&format!("ip link add host{link} type veth peer name router{link}"));
        must(&format!("ip link set host{link} netns {host}"));
        must(&format!("ip link set router{link} up"));
        must(&format!("ip addr add 10.9.{}.2/24 dev router{link}", link + 1));
    }
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a router");
}

/// A client with two links whose packets leave by the interface of their source address.
fn settle() {
    for link in [0, 1] {
        let (net, table) = (link + 1, link + 100);
        must(&format!("ip addr add 10.9.{net}.1/24 dev host{link}"));
        must(&format!("ip link set host{link} up"));
        must(&format!("ip rule add from 10.9.{net}.1 table {table}"));
        must(&format!("ip route add default via 10.9.{net}.2 table {table}"));
    }
}

/// The client's side of a test, with the channels to the thread whose network is the router's.
type Client<T> = fn(&Sender<()>, &Receiver<()>) -> T;

/// Runs `client`, whose router is changed by `disturb` when the client signals, as often as it signals.
/// `None`: not possible here.
fn with_router<T: Send + 'static>(client: Client<T>, disturb: fn()) -> Option<T> {
    if !own_network() {
        return None;
    }
    let ((ready, listening), (signal, signals), (changed, is_changed)) = (channel(), channel(), channel());
    let server = Host::new(move || echo(&ready));
    let client = Host::new(move || {
        settle();
        client(&signal, &is_changed)
    });
    route(&client.name, &server.name);
    server.start();
    listening.recv().expect("the server listens");
    client.start();
    for () in &signals {
        disturb();
        let _ = changed.send(());
    }
    let outcome = client.thread.join().expect("no panic");
    server.thread.join().expect("no panic");
    Some(outcome)
}

/// A host with one peer, of which the system reports errors.
fn reported() -> HostOptions {
    HostOptions::default().peer(Some(SERVER.parse().expect("an address")))
}

/// A connection over both links.
async fn connect(options: HostOptions) -> (DccpHost, Socket) {
    let (host, socket) = connect_first(options).await;
    let is_join = |event: &MultipathEvent| matches!(event, MultipathEvent::SubflowUp(_));
    while !matches!(soon(socket.event()).await, Ok(Event::Paths(event)) if is_join(&event)) {}
    (host, socket)
}

/// A connection over the first link, which the other one may join.
async fn connect_first(options: HostOptions) -> (DccpHost, Socket) {
    let host = DccpHost::without_address(options).expect("entropy");
    for local in ["10.9.1.1:0", "10.9.2.1:0"] {
        host.add_local(local.parse().expect("an address")).expect("an address");
    }
    let server: SocketAddr = SERVER.parse().expect("an address");
    let socket = soon(host.connect(server, PORT, setup())).await.expect("a server");
    (host, socket)
}

/// Sends the largest datagrams until `is_done`.
async fn send_until(socket: &Socket, is_done: impl Fn(&MultipathSnapshot) -> bool) -> MultipathSnapshot {
    soon(async {
        loop {
            let snapshot = socket.paths().expect("a connection");
            if is_done(&snapshot) {
                return snapshot;
            }
            let _ = socket.send(Bytes::from(vec![7; snapshot.max_datagram])).await;
            sleep(Duration::from_millis(5)).await;
            while let Ok(received) = timeout(Duration::from_millis(1), socket.recv()).await {
                received.expect("a connection");
            }
        }
    })
    .await
}

/// The largest datagram of each subflow.
fn sizes(snapshot: &MultipathSnapshot) -> Vec<usize> {
    snapshot.subflows.iter().map(|subflow| subflow.connection.max_datagram).collect()
}

#[test]
fn a_router_that_reports_a_smaller_mtu_changes_the_path_behind_it_only() {
    // The route of packets from the first link becomes narrow; the other one remains.
    let narrow = || {
        must(&format!("ip route add 10.9.3.0/24 dev router2 mtu lock {NARROW} table 200"));
        must("ip rule add iif router0 table 200");
        must("ip route flush cache");
    };
    let outcome = with_router(
        |signal, changed| {
            block_on(async {
                let (_host, socket) = connect(reported()).await;
                let before = send_until(&socket, |snapshot| {
                    snapshot.subflows.len() == 2 && sizes(snapshot).iter().all(|size| *size > 1300)
                })
                .await;
                signal.send(()).expect("a router");
                changed.recv().expect("a router");
                let after =
                    send_until(&socket, |snapshot| sizes(snapshot).contains(&(NARROW - OVERHEAD))).await;
                let received = after.statistics.datagrams_received;
                // Datagrams that fit the narrow path arrive again.
                let later =
                    send_until(&socket, |snapshot| snapshot.statistics.datagrams_received > received + 50)
                        .await;
                soon(socket.close()).await.expect("a close");
                (sizes(&before), sizes(&later), later.max_datagram)
            })
        },
        narrow,
    );
    let Some((before, after, largest)) = outcome else { return };
    assert_eq!(after, [NARROW - OVERHEAD, before[1]]);
    // Each datagram can take each path.
    assert_eq!(largest, NARROW - OVERHEAD);
}

#[test]
fn a_router_that_refuses_a_path_ends_a_subflow_that_joins() {
    let refuse = || must("ip rule add iif router1 to 10.9.3.1 prohibit");
    let outcome = with_router(
        |signal, changed| {
            block_on(async {
                signal.send(()).expect("a router");
                changed.recv().expect("a router");
                let (_host, socket) = connect_first(reported()).await;
                let down = async {
                    loop {
                        if let Event::Paths(event) = socket.event().await.expect("an event")
                            && let MultipathEvent::SubflowDown { .. } = *event
                        {
                            return event;
                        }
                    }
                };
                // Without the report, the handshake would be repeated for minutes.
                let ended = timeout(Duration::from_secs(5), down).await.expect("the report ends the subflow");
                // The first path goes on.
                let snapshot =
                    send_until(&socket, |snapshot| snapshot.statistics.datagrams_received > 20).await;
                soon(socket.close()).await.expect("a close");
                (format!("{ended:?}"), snapshot.subflows.len())
            })
        },
        refuse,
    );
    let Some((ended, subflows)) = outcome else { return };
    assert!(ended.contains("Unreachable"), "{ended}");
    assert_eq!(subflows, 1);
}

/// Prints the headers of packets that leave by an interface of this thread's network.
fn tcpdump(interface: &str) -> Option<Child> {
    let filter = ["-c", "30", "-nnv", "-i", interface, "--immediate-mode", "udp and dst port 6511"];
    let child = Command::new("tcpdump").args(filter).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let is_required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
    assert!(child.is_ok() || !is_required, "tcpdump is missing");
    child.ok()
}

#[test]
fn packets_on_all_paths_have_the_dscp() {
    let outcome = with_router(
        |_, _| {
            let captures = ["host0", "host1"].map(tcpdump);
            // Both capture before the first packet leaves.
            thread::sleep(Duration::from_secs(1));
            block_on(async {
                let dscp: Dscp = "EF".parse().expect("a name");
                let (_host, socket) = connect(HostOptions::default().dscp(dscp)).await;
                send_until(&socket, |snapshot| snapshot.statistics.datagrams_sent > 60).await;
                soon(socket.close()).await.expect("a close");
            });
            captures.map(|child| {
                let output = child.map(|child| child.wait_with_output().expect("tcpdump ends"));
                output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
            })
        },
        || (),
    );
    let Some(captures) = outcome else { return };
    for text in captures.into_iter().flatten() {
        let fields: Vec<&str> =
            text.lines().filter_map(|line| line.split("(tos ").nth(1)?.split(',').next()).collect();
        assert_eq!(fields.len(), 30, "{text}");
        // EF is 46; the codepoint of ECN follows in the last two bits.
        assert!(fields.iter().all(|tos| ["0xb8", "0xb9", "0xba"].contains(tos)), "{fields:?}");
    }
}
