//! Datagrams of local programs that wait for the relay.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration as StdDuration;

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_net::{Clock, SOCKET_BUFFER};
use whimbrel_units::{Duration, Instant};

use crate::edge::ledger::{Ledger, Reason};
use crate::edge::local_socket::LocalSocket;

/// The largest UDP datagram.
const LARGEST: usize = 1 << 16;
/// The most datagrams that wait, and the most bytes: what the kernel's buffers hold.
const ARRIVING: usize = 8192;
const ARRIVING_BYTES: usize = SOCKET_BUFFER;
/// Datagrams of a socket that are read before another one has its turn, and before the relay is woken.
const BATCH: usize = 32;
/// Room that is kept when nothing waits.
const KEPT: usize = 4;
/// Time before a socket is read again that could not be read.
const RETRY_TIME: StdDuration = StdDuration::from_millis(100);

thread_local! {
    /// Room for a datagram while it is read. Sockets share it: one of 64 KiB each is too much for thousands
    /// of flows.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; LARGEST].into());
    /// Datagrams read from a socket, until they are queued.
    static READ: RefCell<Vec<(SocketAddr, Bytes)>> = RefCell::new(Vec::with_capacity(BATCH));
}

/// A datagram of a local program.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    /// The port's number, and at the far end the flow.
    pub(super) port: u8,
    pub(super) number: Option<u8>,
    /// The index of the socket at the near end.
    pub(super) socket: usize,
    pub(super) source: SocketAddr,
    pub(super) payload: Bytes,
    /// When it was queued, by the queue's clock.
    pub(super) at: Instant,
}

/// The queue of local datagrams. An empty one takes little memory, as a relay may have thousands.
#[derive(Debug)]
pub(super) struct Arrivals {
    queue: Mutex<Waiting>,
    arrived: Notify,
    ledger: Ledger,
    clock: Clock,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            queue: Mutex::default(),
            arrived: Notify::new(),
            ledger: Ledger::default(),
            clock: Clock::start(),
        }
    }
}

#[derive(Debug, Default)]
struct Waiting {
    datagrams: VecDeque<Arrived>,
    bytes: usize,
    /// There is no connection that could take them.
    is_unconnected: bool,
    /// Time for which they wait for one.
    hold: Duration,
}

impl Default for Arrived {
    /// An empty one of a program of this process.
    fn default() -> Self {
        let source = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { port: 0, number: None, socket: 0, source, payload: Bytes::new(), at: Instant::ZERO }
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Arrived> {
        let datagram = self.datagrams.pop_front()?;
        self.bytes -= datagram.payload.len();
        Some(datagram)
    }

    /// Drops datagrams that are too old for a connection. Returns their number.
    fn expire(&mut self, now: Instant) -> u64 {
        let fresh = self.datagrams.iter().position(|datagram| datagram.at + self.hold > now);
        let old = fresh.unwrap_or(self.datagrams.len());
        self.bytes -= self.datagrams.drain(..old).map(|datagram| datagram.payload.len()).sum::<usize>();
        old as u64
    }
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a socket until the task is aborted.
    pub(super) async fn read(
        arrivals: Arc<Self>,
        socket: Arc<LocalSocket>,
        (port, number, place): (u8, Option<u8>, usize),
    ) {
        loop {
            if socket.readable().await.is_err() {
                return;
            }
            let ended = READ.with_borrow_mut(|read| {
                let ended = read_batch(&socket, read);
                let place = Arrived { port, number, socket: place, ..Arrived::default() };
                arrivals.push_all(read.drain(..).map(|(source, payload)| Arrived {
                    source,
                    payload,
                    ..place.clone()
                }));
                ended
            });
            // The socket counts the system's messages about datagrams that were sent. What is left, such as a
            // lack of memory, passes.
            if ended.is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
                tokio::time::sleep(RETRY_TIME).await;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Queues a datagram, or counts it as lost.
    pub(super) fn push(&self, datagram: Arrived) {
        self.push_all(std::iter::once(datagram));
    }

    /// Queues datagrams that came together: one wake-up for all of them.
    fn push_all(&self, datagrams: impl Iterator<Item = Arrived>) {
        let now = self.clock.now();
        let mut queue = self.lock();
        for mut datagram in datagrams {
            self.ledger.on_sent();
            datagram.at = now;
            self.push_one(&mut queue, datagram);
        }
        let has_datagrams = !queue.datagrams.is_empty();
        drop(queue);
        if has_datagrams {
            self.arrived.notify_one();
        }
    }

    fn push_one(&self, queue: &mut Waiting, datagram: Arrived) {
        if queue.is_unconnected {
            let lost = queue.expire(datagram.at) + u64::from(queue.hold.is_zero());
            self.ledger.lose(Reason::Unconnected, lost);
            if queue.hold.is_zero() {
                return;
            }
        }
        if queue.datagrams.len() >= ARRIVING || queue.bytes + datagram.payload.len() > ARRIVING_BYTES {
            self.ledger.lose(Reason::Overrun, 1);
            return;
        }
        queue.bytes += datagram.payload.len();
        queue.datagrams.push_back(datagram);
    }

    /// Waits until there is a datagram. Cancel safe; for one task.
    pub(super) async fn ready(&self) {
        while self.lock().datagrams.is_empty() {
            self.arrived.notified().await;
        }
    }

    /// The oldest datagram.
    pub(super) fn try_next(&self) -> Option<Arrived> {
        self.lock().pop()
    }

    /// Their outcomes.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The time since a datagram was queued.
    pub(super) fn age(&self, datagram: &Arrived) -> Duration {
        self.clock.now().saturating_since(datagram.at)
    }

    /// Sets the time for which a datagram waits for a connection; at first, none.
    pub(super) fn set_hold(&self, hold: Duration) {
        self.lock().hold = hold;
    }

    /// Loses what is too old for a connection, until one begins.
    pub(super) async fn expire(&self) -> Infallible {
        loop {
            let hold = self.lock().hold;
            if hold.is_zero() {
                return std::future::pending().await;
            }
            tokio::time::sleep(hold.into()).await;
            let mut queue = self.lock();
            if queue.is_unconnected {
                self.ledger.lose(Reason::Unconnected, queue.expire(self.clock.now()));
            }
        }
    }

    /// Notes whether there is a connection. Datagrams for the old one are lost.
    pub(super) fn set_connected(&self, is_connected: bool) {
        let mut queue = self.lock();
        if queue.is_unconnected && is_connected {
            self.ledger.lose(Reason::Unconnected, queue.expire(self.clock.now()));
        }
        queue.is_unconnected = !is_connected;
        if !is_connected {
            self.ledger.lose(Reason::Ended, queue.datagrams.len() as u64);
            queue.datagrams.clear();
            queue.bytes = 0;
        }
    }

    /// Returns memory that a burst has left behind.
    pub(super) fn shrink(&self) {
        self.lock().datagrams.shrink_to(KEPT);
    }
}

/// Reads datagrams of a socket that is ready, up to [`BATCH`].
///
/// # Errors
/// There are fewer now.
fn read_batch(socket: &LocalSocket, read: &mut Vec<(SocketAddr, Bytes)>) -> io::Result<()> {
    ROOM.with_borrow_mut(|room| {
        for _ in 0..BATCH {
            let (size, source) = socket.try_recv(room)?;
            read.push((source, Bytes::copy_from_slice(&room[..size])));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
