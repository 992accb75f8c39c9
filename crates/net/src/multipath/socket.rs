//! One connection over several local addresses.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use whimbrel_dtls::Fingerprint;
use whimbrel_proto::multipath::{
    JoinError, MultipathConnection, MultipathEvent, MultipathHandle, MultipathSnapshot, Path, PathPriority,
    SubflowId,
};
use whimbrel_proto::{ConnectionError, Datagram, DatagramId, SendError};
use whimbrel_units::Instant;

use super::mailbox::{Mailbox, MultipathReceived};
use super::shared::{Handle, Opened};
use crate::NetError;

/// One connection over several local addresses. Closed in order when dropped.
///
/// Its methods take `&self`: several tasks may send, receive and watch events at the same time.
#[derive(Debug)]
pub struct MultipathSocket {
    shared: Handle,
    handle: MultipathHandle,
    mailbox: Arc<Mailbox>,
}

impl MultipathSocket {
    pub(super) fn new((shared, handle, mailbox): Opened) -> Self {
        Self { shared, handle, mailbox }
    }
    /// The time on this socket's clock, for deadlines.
    pub fn now(&self) -> Instant {
        self.shared.get().clock.now()
    }
    /// Queues a datagram. Never waits.
    ///
    /// # Errors
    ///
    /// The connection is closing, the datagram is too large, or the queue is full and its policy is to refuse.
    pub fn send(&self, payload: impl Into<Bytes>) -> Result<DatagramId, NetError> {
        self.try_send(payload, None)
    }
    /// Queues a datagram that is not worth sending after `deadline` (on this socket's clock). Never waits.
    ///
    /// # Errors
    ///
    /// As [`MultipathSocket::send`].
    pub fn try_send(
        &self,
        payload: impl Into<Bytes>,
        deadline: Option<Instant>,
    ) -> Result<DatagramId, NetError> {
        let datagram = Datagram { deadline, ..Datagram::new(payload.into()) };
        let result = self.shared.get().with(|state, now| {
            if !state.is_current(self.handle, &self.mailbox) || state.is_stopped {
                return Err(SendError::Closed);
            }
            state.send(now, self.handle, datagram)
        });
        result.map_err(|error| self.refusal(error))
    }
    /// Waits until the send queue has room for a datagram of `size` bytes. Without
    /// [`OverflowPolicy::Refuse`](crate::OverflowPolicy::Refuse) it makes room, and does not wait.
    ///
    /// # Errors
    ///
    /// Such a datagram is too large, or the connection is over.
    pub async fn writable(&self, size: usize) -> Result<(), NetError> {
        let look = || {
            let result = {
                let mut state = self.shared.get().lock();
                if !state.is_current(self.handle, &self.mailbox) || state.is_stopped {
                    Err(SendError::Closed)
                } else {
                    state.make_room(self.now(), self.handle, size)
                }
            };
            match result {
                Err(SendError::QueueFull) => None,
                result => Some(result.map_err(|error| self.refusal(error))),
            }
        };
        self.mailbox.when_writable(look).await
    }
    /// The reason why a datagram was refused: for a connection that is over, that of its end.
    fn refusal(&self, error: SendError) -> NetError {
        let end = (error == SendError::Closed).then(|| self.mailbox.inbox().end()).flatten();
        end.unwrap_or(error.into())
    }
    /// The next datagram.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its datagrams have been received.
    pub async fn recv(&self) -> Result<MultipathReceived, NetError> {
        self.mailbox
            .when_readable(|| {
                let mut inbox = self.mailbox.inbox();
                inbox.datagrams.pop_front().map(Ok).or_else(|| inbox.end().map(Err))
            })
            .await
    }
    /// Waits for at least one datagram and appends up to `limit` to `out`; returns their number.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its datagrams have been received.
    pub async fn recv_many(&self, out: &mut Vec<MultipathReceived>, limit: usize) -> Result<usize, NetError> {
        self.mailbox
            .when_readable(|| {
                let mut inbox = self.mailbox.inbox();
                let taken = limit.min(inbox.datagrams.len());
                out.extend(inbox.datagrams.drain(..taken));
                match taken {
                    0 if limit > 0 => inbox.end().map(Err),
                    taken => Some(Ok(taken)),
                }
            })
            .await
    }
    /// The next datagram, if one has arrived. Never waits.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its datagrams have been received.
    pub fn try_recv(&self) -> Result<Option<MultipathReceived>, NetError> {
        let mut inbox = self.mailbox.inbox();
        match inbox.datagrams.pop_front() {
            Some(received) => Ok(Some(received)),
            None => inbox.end().map_or(Ok(None), Err),
        }
    }
    /// The next event, if there is one. Never waits.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its events have been taken.
    pub fn try_event(&self) -> Result<Option<MultipathEvent>, NetError> {
        let mut inbox = self.mailbox.inbox();
        match inbox.events.pop_front() {
            Some(event) => Ok(Some(event)),
            None => inbox.end().map_or(Ok(None), Err),
        }
    }
    /// The next event: subflows that join, fail or end, addresses and priorities of the peer.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its events have been taken.
    pub async fn event(&self) -> Result<MultipathEvent, NetError> {
        self.mailbox
            .when_happened(|| {
                let mut inbox = self.mailbox.inbox();
                inbox.events.pop_front().map(Ok).or_else(|| inbox.end().map(Err))
            })
            .await
    }
    /// Waits for the handshakes. Returns `true` if both ends use the multipath extensions.
    ///
    /// # Errors
    ///
    /// The reason for which the connection was not established.
    pub async fn established(&self) -> Result<bool, NetError> {
        self.mailbox
            .when_happened(|| {
                let inbox = self.mailbox.inbox();
                inbox.end().map(Err).or(inbox.is_multipath.map(Ok))
            })
            .await
    }
    /// Waits until subflows may join, or the connection turns out to be a regular one.
    pub(super) async fn ready_to_join(&self) -> Result<(), NetError> {
        // The fourth packet of the handshake is no event: it follows within a round-trip time.
        const STEP: std::time::Duration = std::time::Duration::from_millis(1);
        loop {
            if let Some(error) = self.mailbox.inbox().end() {
                return Err(error);
            }
            if self.command(|it, _| !it.is_multipath() || it.may_join()).unwrap_or(true) {
                return Ok(());
            }
            tokio::time::sleep(STEP).await;
        }
    }
    /// Datagrams dropped because the application did not read them in time.
    pub fn receive_overflows(&self) -> u64 {
        self.mailbox.inbox().overflowed
    }
    /// The fingerprint of the key by which the peer has authenticated itself; `None` if the connection is not secured, and
    /// once its state is removed.
    pub fn peer(&self) -> Option<Fingerprint> {
        let state = self.shared.get().lock();
        state.layer(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox))?.peer()
    }
    /// Number of datagrams of the peer that were not authentic, or came twice, and were discarded. Zero if the connection is
    /// not secured.
    pub fn forgeries(&self) -> u64 {
        let state = self.shared.get().lock();
        let layer = state.layer(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox));
        layer.map_or(0, whimbrel_dtls::Layer::ignored)
    }
    /// Adds a subflow from a local address to an address of the peer. Its outcome is an event.
    ///
    /// # Errors
    ///
    /// The reason for which no subflow can be added now.
    pub fn join(&self, local: SocketAddr, remote: SocketAddr) -> Result<SubflowId, JoinError> {
        let path = Path { local, remote };
        self.shared.get().with(|state, now| {
            if !state.is_current(self.handle, &self.mailbox) {
                return Err(JoinError::NotReady);
            }
            state.endpoint.join(now, self.handle, path, None)
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
    /// Closes the connection, and waits until it is over.
    ///
    /// # Errors
    ///
    /// The reason for the end, if it was another than the two ends' agreement.
    pub async fn close(&self) -> Result<(), NetError> {
        self.start_closing();
        match self.mailbox.when_happened(|| self.mailbox.inbox().end()).await {
            NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer) => Ok(()),
            other => Err(other),
        }
    }
    /// Ends the connection at once on all subflows.
    pub fn abort(&self) {
        self.command(|connection, now| connection.abort(now));
    }
    /// Current state, for observation; `None` once the connection is over.
    pub fn snapshot(&self) -> Option<MultipathSnapshot> {
        let state = self.shared.get().lock();
        state.snapshot(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox))
    }
    fn start_closing(&self) {
        self.shared.get().with(|state, now| {
            if state.is_current(self.handle, &self.mailbox) {
                state.close(now, self.handle);
            }
        });
    }
    fn command<T>(&self, command: impl FnOnce(&mut MultipathConnection, Instant) -> T) -> Option<T> {
        self.shared.get().command(self.handle, &self.mailbox, command)
    }
}

impl Drop for MultipathSocket {
    fn drop(&mut self) {
        self.start_closing();
    }
}
