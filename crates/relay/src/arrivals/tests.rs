//! Tests of the queue of local datagrams.

use tokio::net::UdpSocket;
use tokio::time::timeout;
use whimbrel_net::{Clock, Instant};

use crate::edge::address::{Program, parse_from};
use crate::edge::local_socket::Reader;

use super::*;

fn datagram(n: u32) -> Arrived {
    let source = SocketAddr::from(([127, 0, 0, 1], 1));
    let payload = Bytes::copy_from_slice(&n.to_be_bytes());
    Arrived { source, payload, ..Arrived::default() }
}

async fn next(arrivals: &Arrivals) -> Arrived {
    arrivals.ready().await;
    arrivals.try_next().expect("a datagram")
}

/// The datagrams for which there was no room.
fn lost(arrivals: &Arrivals) -> u64 {
    arrivals.ledger().sums().to_peer.lost[Reason::Overrun]
}

#[tokio::test]
async fn a_burst_is_limited_and_its_memory_is_returned() {
    let arrivals = Arrivals::default();
    for n in 0..ARRIVING as u32 + 10 {
        arrivals.push(datagram(n));
    }
    let account = arrivals.ledger().sums().to_peer;
    assert_eq!((account.sent, account.lost[Reason::Overrun]), (ARRIVING as u64 + 10, 10));
    for n in 0..ARRIVING as u32 {
        assert_eq!(next(&arrivals).await.payload[..], n.to_be_bytes());
    }
    assert!(timeout(StdDuration::from_millis(5), next(&arrivals)).await.is_err());
    arrivals.shrink();
    assert!(arrivals.lock().datagrams.capacity() <= KEPT);
}

#[test]
fn what_comes_without_a_connection_is_lost_and_not_kept() {
    let arrivals = Arrivals::default();
    arrivals.set_connected(true);
    (0..3).for_each(|n| arrivals.push(datagram(n)));
    arrivals.set_connected(false);
    (0..5).for_each(|n| arrivals.push(datagram(n)));
    arrivals.set_connected(true);
    arrivals.push(datagram(7));
    let account = arrivals.ledger().sums().to_peer;
    let lost = [Reason::Ended, Reason::Unconnected].map(|reason| account.lost[reason]);
    assert_eq!((account.sent, lost, account.under_way()), (9, [3, 5], 1));
    assert_eq!(arrivals.lock().datagrams.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn datagrams_wait_for_a_connection_as_long_as_they_are_of_use() {
    let arrivals = Arrivals::default();
    arrivals.set_connected(false);
    arrivals.set_hold(Duration::from_millis(150));
    let wait = |milliseconds| tokio::time::sleep(StdDuration::from_millis(milliseconds));
    // One each 40 ms, for 0.4 s. The last 150 ms are there when a connection begins.
    for n in 0..10 {
        arrivals.push(datagram(n));
        wait(40).await;
    }
    arrivals.set_connected(true);
    let lost = |reason| arrivals.ledger().sums().to_peer.lost[reason];
    assert_eq!((lost(Reason::Unconnected), arrivals.lock().datagrams.len()), (7, 3));
    for (n, age) in [(7_u32, 120), (8, 80), (9, 40)] {
        let arrived = next(&arrivals).await;
        let expected = (&n.to_be_bytes()[..], Duration::from_millis(age));
        assert_eq!((&arrived.payload[..], arrivals.age(&arrived)), expected);
    }
    // With a connection, datagrams wait for the relay.
    arrivals.push(datagram(10));
    assert!(timeout(StdDuration::from_secs(1), arrivals.expire()).await.is_err());
    assert_eq!(arrivals.lock().datagrams.len(), 1);
    // The connection ends: what was queued is lost, and so is later what comes now.
    arrivals.set_connected(false);
    arrivals.push(datagram(11));
    assert!(timeout(StdDuration::from_secs(1), arrivals.expire()).await.is_err());
    assert_eq!((lost(Reason::Ended), lost(Reason::Unconnected)), (1, 8));
    let queue = arrivals.lock();
    assert_eq!((queue.datagrams.len(), queue.bytes), (0, 0));
}

#[tokio::test]
async fn large_datagrams_are_limited_by_their_bytes() {
    let arrivals = Arrivals::default();
    let large = Bytes::from(vec![0; 60_000]);
    for _ in 0..100 {
        arrivals.push(Arrived { payload: large.clone(), ..datagram(0) });
    }
    let fit = ARRIVING_BYTES / 60_000;
    assert_eq!(lost(&arrivals), 100 - fit as u64);
    for _ in 0..fit {
        next(&arrivals).await;
    }
    arrivals.push(datagram(7));
    assert_eq!(next(&arrivals).await.payload[..], 7_u32.to_be_bytes());
}

#[tokio::test]
async fn a_socket_is_read_on_after_a_report_of_the_network() {
    // A socket that has sent to a closed port gets an error with the next call, as for a missing route.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback").local_addr().expect("bound");
    let program = Program { addresses: vec![closed], interface: None, ttl: None, stream: Default::default() };
    let thread = Reader::get().expect("a thread");
    let socket = Arc::new(LocalSocket::open_to(&program, &thread).expect("loopback"));
    let arrivals = Arc::new(Arrivals::default());
    let reader = thread.spawn(Arrivals::read(arrivals.clone(), socket.clone(), (3, Some(4), 0)));
    for _ in 0..3 {
        let _ = socket.send(b"x");
        tokio::time::sleep(StdDuration::from_millis(5)).await;
    }
    let program = UdpSocket::bind(closed).await.expect("it is free");
    assert!(socket.refusals()[0] > 0);
    let at = SocketAddr::from(([127, 0, 0, 1], socket.local_addr().expect("bound").port()));
    program.send_to(b"answer", at).await.expect("loopback");
    let arrived = timeout(StdDuration::from_secs(5), next(&arrivals)).await.expect("the reader goes on");
    assert_eq!((arrived.port, arrived.number, &arrived.payload[..]), (3, Some(4), &b"answer"[..]));
    reader.abort();
}

#[tokio::test]
async fn sockets_are_read_while_the_connections_thread_is_busy() {
    let thread = Reader::get().expect("a thread");
    let place = parse_from("127.0.0.1:0").expect("an address");
    let socket = LocalSocket::open_from(&place, &thread).await.expect("loopback").swap_remove(0);
    let (at, socket) = (socket.local_addr().expect("bound"), Arc::new(socket));
    let arrivals = Arc::new(Arrivals::default());
    thread.spawn(Arrivals::read(arrivals.clone(), socket.clone(), (0, None, 0)));
    // Four times what the kernel's buffer holds, and this task does not give up its thread.
    let camera = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let (clock, read) = (Clock::start(), || arrivals.lock().datagrams.len() as u64 + lost(&arrivals));
    for burst in 1..=20 {
        for _ in 0..334 {
            camera.send_to(&[7; 1200], at).expect("loopback");
        }
        while read() < burst * 334 {
            assert!(clock.now() < Instant::from_secs(30), "{} datagrams were read", read());
            std::thread::sleep(StdDuration::from_millis(1));
        }
    }
    assert_eq!(socket.kernel_drops(), 0);
    assert_eq!(arrivals.lock().datagrams.len(), ARRIVING_BYTES / 1200);
}
