//! Datagrams of local programs that wait for the relay.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use whimbrel_net::SOCKET_BUFFER;

use crate::edge::ledger::{Ledger, Reason};
use crate::edge::local_socket::LocalSocket;

/// The largest UDP datagram.
const LARGEST: usize = 1 << 16;
/// The most datagrams that wait, and the most bytes: what the kernel's buffers hold.
const ARRIVING: usize = 8192;
const ARRIVING_BYTES: usize = SOCKET_BUFFER;
/// Datagrams of a socket that are read before another one has its turn.
const BATCH: usize = 64;
/// Room that is kept when nothing waits.
const KEPT: usize = 4;
/// Time before a socket is read again that could not be read.
const RETRY_TIME: Duration = Duration::from_millis(100);

thread_local! {
    /// Room for a datagram while it is read. Sockets share it: one of 64 KiB each is too much for thousands of flows.
    static ROOM: RefCell<Box<[u8]>> = RefCell::new(vec![0; LARGEST].into());
}

/// A datagram of a local program.
#[derive(Debug)]
pub(super) struct Arrived {
    /// The port's number, and at the far end the flow.
    pub(super) port: u8,
    pub(super) number: Option<u8>,
    /// The index of the socket at the near end.
    pub(super) socket: usize,
    pub(super) source: SocketAddr,
    pub(super) payload: Bytes,
}

/// The queue of local datagrams. An empty one takes little memory, as a relay may have thousands.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    queue: Mutex<Waiting>,
    arrived: Notify,
    ledger: Ledger,
}

#[derive(Debug, Default)]
struct Waiting {
    datagrams: VecDeque<Arrived>,
    bytes: usize,
    /// There is no connection that could take them.
    is_unconnected: bool,
}

impl Default for Arrived {
    /// An empty one of a program of this process.
    fn default() -> Self {
        let source = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { port: 0, number: None, socket: 0, source, payload: Bytes::new() }
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Arrived> {
        let datagram = self.datagrams.pop_front()?;
        self.bytes -= datagram.payload.len();
        Some(datagram)
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
            for _ in 0..BATCH {
                match read_one(&socket) {
                    Ok((source, payload)) => {
                        arrivals.push(Arrived { port, number, socket: place, source, payload });
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // The system's messages about datagrams that were sent are counted by the socket. What is left, such as a lack
                    // of memory, passes.
                    Err(_) => {
                        tokio::time::sleep(RETRY_TIME).await;
                        break;
                    }
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Queues a datagram, or counts it as lost.
    pub(super) fn push(&self, datagram: Arrived) {
        self.ledger.on_sent();
        let mut queue = self.lock();
        if queue.is_unconnected {
            self.ledger.lose(Reason::Unconnected, 1);
            return;
        }
        if queue.datagrams.len() >= ARRIVING || queue.bytes + datagram.payload.len() > ARRIVING_BYTES {
            self.ledger.lose(Reason::Overrun, 1);
            return;
        }
        queue.bytes += datagram.payload.len();
        queue.datagrams.push_back(datagram);
        drop(queue);
        self.arrived.notify_one();
    }

    /// The oldest datagram. Cancel safe; for one task.
    pub(super) async fn next(&self) -> Arrived {
        loop {
            if let Some(datagram) = self.lock().pop() {
                return datagram;
            }
            self.arrived.notified().await;
        }
    }

    /// What became of them.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }
    /// Notes whether there is a connection. Datagrams that arrive without one are dropped: they would be
    /// stale.
    pub(super) fn set_connected(&self, is_connected: bool) {
        let mut queue = self.lock();
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

/// Reads a datagram of a socket that is ready.
fn read_one(socket: &LocalSocket) -> io::Result<(SocketAddr, Bytes)> {
    ROOM.with_borrow_mut(|room| {
        let (size, source) = socket.try_recv(room)?;
        Ok((source, Bytes::copy_from_slice(&room[..size])))
    })
}

#[cfg(test)]
mod tests;
