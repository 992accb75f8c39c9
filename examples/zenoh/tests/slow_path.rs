//! A path with a bottleneck, for datagrams of both directions.
#![allow(clippy::disallowed_types, reason = "the path is one in real time")]

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Rate in bit/s, with the 28 bytes of the headers of UDP and IP for each datagram.
const RATE_BPS: f64 = 40_000.0;
/// The time that a datagram waits at most: a fuller queue drops it.
const QUEUE: Duration = Duration::from_millis(500);

/// A running path; it ends when dropped.
pub(crate) struct SlowPath {
    pub(crate) address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl SlowPath {
    /// Between one client and that server.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let [near, far] = [(); 2].map(|()| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
            socket.set_nonblocking(true).expect("it is possible");
            socket
        });
        let address = near.local_addr().expect("bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let stopped = is_over.clone();
        thread::spawn(move || {
            let (mut up, mut down) = (Queue::default(), Queue::default());
            let (mut client, mut buffer) = (None, [0; 2048]);
            while !stopped.load(Ordering::Relaxed) {
                while let Ok((length, from)) = near.recv_from(&mut buffer) {
                    client = Some(from);
                    up.add(&buffer[..length]);
                }
                while let Ok(length) = far.recv(&mut buffer) {
                    down.add(&buffer[..length]);
                }
                up.leave(|datagram| drop(far.send_to(datagram, server)));
                down.leave(|datagram| drop(client.map(|client| near.send_to(datagram, client))));
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { address, is_over }
    }
}

impl Drop for SlowPath {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Datagrams of a direction with the times when they leave.
#[derive(Default)]
struct Queue {
    free_at: Option<Instant>,
    line: VecDeque<(Instant, Vec<u8>)>,
}

impl Queue {
    fn add(&mut self, datagram: &[u8]) {
        let now = Instant::now();
        let begins = self.free_at.unwrap_or(now).max(now);
        if begins - now < QUEUE {
            let leaves = begins + Duration::from_secs_f64(8.0 * (datagram.len() + 28) as f64 / RATE_BPS);
            self.free_at = Some(leaves);
            self.line.push_back((leaves, datagram.to_vec()));
        }
    }

    fn leave(&mut self, send: impl Fn(&[u8])) {
        while let Some((_, datagram)) = self.line.front().filter(|(at, _)| *at <= Instant::now()) {
            send(datagram);
            self.line.pop_front();
        }
    }
}
