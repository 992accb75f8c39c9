//! One connection over several local addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use whimbrel_proto::multipath::{
    JoinError, MultipathConnection, MultipathEvent, MultipathSnapshot, Path, PathPriority, SubflowId,
};
use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{ConnectionHandle, Datagram, SendError};
use whimbrel_units::Instant;

use super::received::MultipathReceived;
use super::shared::{Handle, Opened};
use crate::NetError;
use crate::datagram_socket::{self, Queued, SocketCore, datagram_methods};
use crate::dtls::Fingerprint;
use crate::mailbox::Mailbox;
use crate::streams::Streams;
use crate::unread::Unread;
use crate::waiters::{Waiters, wait};

/// One connection over several local addresses. Closed in order when dropped.
///
/// Its methods take `&self`: several tasks may send, receive and watch events at the same time.
#[derive(Debug)]
pub struct MultipathSocket {
    shared: Handle,
    handle: ConnectionHandle,
    mailbox: Arc<Mailbox<MultipathConnection>>,
    streams: Streams,
}

impl MultipathSocket {
    pub(super) fn new((shared, handle, mailbox): Opened) -> Self {
        Self { shared, handle, mailbox, streams: Streams::default() }
    }
    /// Waits for the handshakes. Returns `true` if both ends use the multipath extensions.
    ///
    /// # Errors
    ///
    /// The reason for which the connection was not established.
    pub async fn established(&self) -> Result<bool, NetError> {
        wait(&self.mailbox.waiters.happened, || {
            let inbox = self.mailbox.inbox();
            inbox.unread.end().map(Err).or(inbox.opened.map(Ok))
        })
        .await
    }
    /// Waits until subflows may join, or the connection turns out to be a regular one.
    pub(super) async fn ready_to_join(&self) -> Result<(), NetError> {
        // The fourth packet of the handshake is no event: it follows within a round-trip time.
        const STEP: std::time::Duration = std::time::Duration::from_millis(1);
        loop {
            if let Some(error) = self.mailbox.inbox().unread.end() {
                return Err(error);
            }
            if self.command(|it, _| !it.is_multipath() || it.may_join()).unwrap_or(true) {
                return Ok(());
            }
            tokio::time::sleep(STEP).await;
        }
    }
    /// The fingerprint of the key by which the peer has authenticated itself; `None` if the connection is not secured, and
    /// once its state is removed.
    pub fn peer(&self) -> Option<Fingerprint> {
        let state = self.shared.get().lock();
        state
            .connections
            .layer(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox))?
            .peer()
    }
    /// Number of datagrams of the peer that were not authentic, or came twice, and were discarded. Zero if the connection is
    /// not secured.
    pub fn forgeries(&self) -> u64 {
        let state = self.shared.get().lock();
        let layer = state
            .connections
            .layer(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox));
        layer.map_or(0, crate::dtls::Layer::ignored)
    }
    /// What repair did ([`Setup::repaired`](crate::Setup::repaired)); `None` if the ends have not agreed on it, and once the
    /// connection is over.
    pub fn repair(&self) -> Option<RepairCounts> {
        let state = self.shared.get().lock();
        let connections = &state.connections;
        connections.repair(self.handle).filter(|_| connections.is_current(self.handle, &self.mailbox))
    }
    /// Number of datagrams that the kernel dropped at the UDP sockets of this end's addresses: they came faster than they were
    /// read, or their checksum was wrong. All connections of a [`MultipathHost`](super::MultipathHost) share the sockets. 0 on
    /// systems other than Linux.
    pub fn kernel_drops(&self) -> u64 {
        self.shared.get().lock().kernel_drops()
    }
    /// Adds a subflow from a local address to an address of the peer. Its outcome is an event.
    ///
    /// # Errors
    ///
    /// The reason for which no subflow can be added now.
    pub fn join(&self, local: SocketAddr, remote: SocketAddr) -> Result<SubflowId, JoinError> {
        let path = Path { local, remote };
        self.shared.get().with(|state, now| {
            if !state.connections.is_current(self.handle, &self.mailbox) {
                return Err(JoinError::NotReady);
            }
            state.connections.endpoint.join(now, self.handle, path, None)
        })
    }
    /// Sets the priority of a subflow, and notifies the peer. Returns `false` if the subflow does not exist.
    pub fn set_priority(&self, subflow: SubflowId, priority: PathPriority) -> bool {
        self.command(|connection, now| connection.set_priority(now, subflow, priority)).unwrap_or(false)
    }
    /// Sets a subflow's share under [`SchedulerKind::Weighted`](super::SchedulerKind::Weighted) and its cost under
    /// [`SchedulerKind::CheapestFirst`](super::SchedulerKind::CheapestFirst), for data of this end. Returns `false` if the
    /// subflow does not exist.
    pub fn set_shares(&self, subflow: SubflowId, weight: u32, cost: u32) -> bool {
        self.command(|connection, _| connection.set_shares(subflow, weight, cost)).unwrap_or(false)
    }
    /// Withdraws a local address, and closes its subflows. Returns `false` if no subflow used it. One that has disappeared
    /// with its interface is removed by [`MultipathHost::remove_local`](super::MultipathHost::remove_local).
    pub fn remove_address(&self, local: SocketAddr) -> bool {
        self.command(|connection, now| connection.remove_address(now, local.ip())).unwrap_or(false)
    }
    /// Closes one subflow in order. Returns `false` if it does not exist.
    pub fn close_subflow(&self, subflow: SubflowId) -> bool {
        self.command(|connection, now| connection.close_subflow(now, subflow)).unwrap_or(false)
    }
    /// Ends the connection at once on all subflows.
    pub fn abort(&self) {
        self.command(|connection, now| connection.abort(now));
    }
    /// Current state, for observation; `None` once the connection is over.
    pub fn snapshot(&self) -> Option<MultipathSnapshot> {
        let state = self.shared.get().lock();
        state
            .connections
            .snapshot(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox))
    }
    fn command<T>(&self, command: impl FnOnce(&mut MultipathConnection, Instant) -> T) -> Option<T> {
        self.shared.get().command(self.handle, &self.mailbox, command)
    }
}

datagram_methods!(MultipathSocket, MultipathReceived, MultipathEvent);

impl SocketCore for MultipathSocket {
    type Received = MultipathReceived;
    type Event = MultipathEvent;
    type Connection = MultipathConnection;

    fn clock(&self) -> Instant {
        self.shared.get().clock.now()
    }
    fn waiters(&self) -> &Waiters {
        &self.mailbox.waiters
    }
    fn with_unread<T>(&self, look: impl FnOnce(&mut Unread<MultipathReceived, MultipathEvent>) -> T) -> T {
        look(&mut self.mailbox.inbox().unread)
    }
    fn queue(&self, next: impl FnMut() -> Option<Datagram>) -> Queued {
        self.shared.get().with(|state, now| {
            let is_current = state.connections.is_current(self.handle, &self.mailbox) && !state.is_stopped;
            Queued::by(next, |datagram| {
                if is_current {
                    state.connections.send(now, self.handle, datagram)
                } else {
                    Err(SendError::Closed)
                }
            })
        })
    }
    fn make_room(&self, size: usize) -> Result<(), SendError> {
        let mut state = self.shared.get().lock();
        if !state.connections.is_current(self.handle, &self.mailbox) || state.is_stopped {
            return Err(SendError::Closed);
        }
        state.connections.make_room(self.now(), self.handle, size)
    }
    fn begin_closing(&self) {
        self.shared.get().with(|state, now| {
            if state.connections.is_current(self.handle, &self.mailbox) {
                state.connections.close(now, self.handle);
            }
        });
    }
    fn with_connection<T>(&self, command: impl FnOnce(&mut Self::Connection, Instant) -> T) -> Option<T> {
        self.command(command)
    }
    fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }
}

impl Drop for MultipathSocket {
    fn drop(&mut self) {
        datagram_socket::stop_receiving(self);
        self.begin_closing();
    }
}
