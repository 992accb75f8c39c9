//! A path in user space: datagrams of both directions pass a bottleneck, a delay and losses; TCP passes as it
//! is.
//!
//! Its thread is late on a busy machine. Tests that measure a path compare with what it really carried:
//! [`Relay::carried`].

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// One direction.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Rate of the bottleneck in bit/s, with 28 bytes of headers per datagram.
    pub(crate) rate_bps: f64,
    /// Bytes of its queue.
    pub(crate) queue: f64,
    /// Delay behind it.
    pub(crate) delay: Duration,
    /// A datagram in this many is lost, together with the one behind it; 0 for none.
    pub(crate) lose_each: u64,
}

/// Bytes of a datagram that are kept.
const HEAD: usize = 32;

/// A datagram that left the path.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    /// Seconds since the relay began, when it came, should leave, and left.
    pub(crate) came: f64,
    pub(crate) due: f64,
    pub(crate) left: f64,
    /// Its bytes without headers of UDP and IP.
    pub(crate) length: usize,
    /// Its first bytes; zeros behind a shorter one.
    pub(crate) head: [u8; HEAD],
}

/// The datagrams of a direction in the order in which they left.
type Log = Arc<Mutex<Vec<Carried>>>;

/// A running relay; it ends when dropped.
pub(crate) struct Relay {
    pub(crate) port: u16,
    logs: [Log; 2],
    /// The rate towards the server, as bits of a number.
    rate: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Relay {
    /// Between clients and `server` on the loopback interface.
    pub(crate) fn start(server: u16, up: Path, down: Path) -> Self {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
            let at = tcp.local_addr().expect("an address");
            if let Ok(udp) = UdpSocket::bind(at) {
                break (tcp, udp);
            }
        };
        let port = tcp.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let to = SocketAddr::from(([127, 0, 0, 1], server));
        thread::spawn(move || {
            for client in tcp.incoming().flatten() {
                let Ok(server) = TcpStream::connect(to) else { return };
                let (Ok(a), Ok(b)) = (client.try_clone(), server.try_clone()) else { return };
                thread::spawn(move || pass(client, server));
                thread::spawn(move || pass(b, a));
            }
        });
        let stopped = stop.clone();
        let rate = Arc::new(AtomicU64::new(up.rate_bps.to_bits()));
        let current = rate.clone();
        let logs = [Log::default(), Log::default()];
        let [up, down] = [(up, &logs[0]), (down, &logs[1])].map(|(path, log)| Bottleneck {
            path,
            free_at: 0.0,
            count: 0,
            line: VecDeque::new(),
            log: log.clone(),
        });
        thread::spawn(move || relay(&udp, to, [up, down], &current, &stopped));
        Self { port, logs, rate, stop }
    }

    /// The datagrams carried so far, towards the server and from it.
    pub(crate) fn carried(&self) -> [Vec<Carried>; 2] {
        self.logs.each_ref().map(|log| log.lock().expect("no panic").clone())
    }

    /// The rate towards the server from now on.
    pub(crate) fn set_rate(&self, rate_bps: f64) {
        self.rate.store(rate_bps.to_bits(), Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The queue of a direction: datagrams with their times of arrival and departure.
struct Bottleneck {
    path: Path,
    free_at: f64,
    count: u64,
    line: VecDeque<(f64, f64, Vec<u8>)>,
    log: Log,
}

impl Bottleneck {
    fn accept(&mut self, now: f64, bytes: &[u8]) {
        self.count += 1;
        if self.path.lose_each > 0 && self.count % self.path.lose_each < 2 {
            return;
        }
        let waiting = (self.free_at - now).max(0.0);
        if waiting * self.path.rate_bps / 8.0 > self.path.queue {
            return;
        }
        self.free_at = now + waiting + 8.0 * (bytes.len() + 28) as f64 / self.path.rate_bps;
        self.line.push_back((now, self.free_at + self.path.delay.as_secs_f64(), bytes.to_vec()));
    }

    fn release(&mut self, now: impl Fn() -> f64, mut send: impl FnMut(&[u8])) {
        let until = now();
        while self.line.front().is_some_and(|(_, at, _)| *at <= until) {
            if let Some((came, due, bytes)) = self.line.pop_front() {
                // Behind the call, other threads may have run: it wakes the receiver.
                let left = now();
                send(&bytes);
                let head = std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0));
                let carried = Carried { came, due, left, length: bytes.len(), head };
                self.log.lock().expect("no panic").push(carried);
            }
        }
    }
}

#[allow(clippy::disallowed_types, reason = "the path of a test runs in real time")]
fn relay(
    near: &UdpSocket,
    server: SocketAddr,
    [mut up, mut down]: [Bottleneck; 2],
    rate: &AtomicU64,
    stop: &AtomicBool,
) {
    let far = UdpSocket::bind("127.0.0.1:0").expect("a port");
    near.set_read_timeout(Some(Duration::from_micros(300))).expect("a time limit");
    far.set_nonblocking(true).expect("it is possible");
    let start = std::time::Instant::now();
    let mut client = None;
    let mut buffer = [0; 2048];
    let now = || start.elapsed().as_secs_f64();
    while !stop.load(Ordering::Relaxed) {
        up.path.rate_bps = f64::from_bits(rate.load(Ordering::Relaxed));
        for _ in 0..64 {
            match near.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    client = Some(from);
                    up.accept(now(), &buffer[..length]);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    break;
                }
                Err(_) => {}
            }
            while let Ok(length) = far.recv(&mut buffer) {
                down.accept(now(), &buffer[..length]);
            }
            up.release(now, |bytes| drop(far.send_to(bytes, server)));
            down.release(now, |bytes| drop(client.map(|client| near.send_to(bytes, client))));
        }
        while let Ok(length) = far.recv(&mut buffer) {
            down.accept(now(), &buffer[..length]);
        }
        up.release(now, |bytes| drop(far.send_to(bytes, server)));
        down.release(now, |bytes| drop(client.map(|client| near.send_to(bytes, client))));
    }
}
