//! One connection over several local addresses.

use std::net::SocketAddr;

use bytes::Bytes;
use whimbrel_proto::multipath::{
    JoinError, MultipathEvent, MultipathHandle, MultipathSnapshot, Path, PathPriority, SubflowId,
};
use whimbrel_proto::{ConnectionError, Datagram, DatagramId, SendError};

use super::shared::{Handle, MultipathReceived};
use crate::NetError;

/// One connection over several local addresses. Closed in order when dropped.
#[derive(Debug)]
pub struct MultipathSocket {
    shared: Handle,
    handle: MultipathHandle,
}

impl MultipathSocket {
    pub(super) fn new(shared: Handle, handle: MultipathHandle) -> Self {
        Self { shared, handle }
    }
    /// Queues a datagram.
    ///
    /// # Errors
    ///
    /// The connection is closing, the datagram is too large, or the queue is full and its policy is to refuse.
    pub fn send(&self, payload: impl Into<Bytes>) -> Result<DatagramId, NetError> {
        let datagram = Datagram::new(payload.into());
        let handle = self.handle;
        let result = self.shared.get().command(|endpoint, now| {
            let connection = endpoint.connection_mut(handle).ok_or(SendError::Closed)?;
            let result = connection.send(now, datagram);
            endpoint.wake(handle);
            result
        });
        Ok(result?)
    }
    /// The next datagram.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its datagrams have been received.
    pub async fn recv(&self) -> Result<MultipathReceived, NetError> {
        self.shared.get().wait(self.handle, |_, inbox| inbox.datagram()).await
    }
    /// The next event: subflows that join, fail or end, addresses and priorities of the peer.
    ///
    /// # Errors
    ///
    /// The connection is over, and all its events have been taken.
    pub async fn event(&self) -> Result<MultipathEvent, NetError> {
        self.shared.get().wait(self.handle, |_, inbox| inbox.event()).await
    }
    /// Waits for the handshake. Returns `true` if both ends use the multipath extensions.
    ///
    /// # Errors
    ///
    /// The reason for which the connection was not established.
    pub async fn established(&self) -> Result<bool, NetError> {
        self.shared.get().wait(self.handle, |_, inbox| inbox.is_multipath()).await
    }
    /// Waits until subflows may join, or the connection turns out to be a regular one.
    pub(super) async fn ready_to_join(&self) -> Result<(), NetError> {
        let handle = self.handle;
        let is_ready = move |endpoint: &mut whimbrel_proto::multipath::MultipathEndpoint| {
            endpoint.connection(handle).is_none_or(|it| !it.is_multipath() || it.may_join())
        };
        // The fourth packet of the handshake is no event: it follows within a round-trip time.
        const STEP: std::time::Duration = std::time::Duration::from_millis(1);
        loop {
            if self.shared.get().command(|endpoint, _| is_ready(endpoint)) {
                return Ok(());
            }
            tokio::time::sleep(STEP).await;
        }
    }
    /// Adds a subflow from a local address to an address of the peer. Its outcome is an event.
    ///
    /// # Errors
    ///
    /// The reason for which no subflow can be added now.
    pub fn join(&self, local: SocketAddr, remote: SocketAddr) -> Result<SubflowId, JoinError> {
        let path = Path { local, remote };
        self.shared.get().command(|endpoint, now| endpoint.join(now, self.handle, path, None))
    }
    /// Sets the priority of a subflow, and notifies the peer. Returns `false` if the subflow does not exist.
    pub fn set_priority(&self, subflow: SubflowId, priority: PathPriority) -> bool {
        self.command(|connection, now| connection.set_priority(now, subflow, priority)).unwrap_or(false)
    }
    /// Withdraws a local address that has become invalid, and ends its subflows. Returns `false` if no subflow used it.
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
        self.command(|connection, now| connection.close(now));
        let closed = self.shared.get().wait(self.handle, |_, inbox| inbox.is_closed().then_some(())).await;
        match closed {
            Err(NetError::Connection(ConnectionError::ClosedLocally | ConnectionError::ClosedByPeer)) => {
                Ok(())
            }
            other => other,
        }
    }
    /// Ends the connection at once on all subflows.
    pub fn abort(&self) {
        self.command(|connection, now| connection.abort(now));
    }
    /// Current state, for observation; `None` once the connection is over.
    pub fn snapshot(&self) -> Option<MultipathSnapshot> {
        self.command(|connection, _| connection.snapshot())
    }
    fn command<T>(
        &self,
        command: impl FnOnce(&mut whimbrel_proto::multipath::MultipathConnection, whimbrel_units::Instant) -> T,
    ) -> Option<T> {
        let handle = self.handle;
        self.shared.get().command(|endpoint, now| {
            let result = command(endpoint.connection_mut(handle)?, now);
            endpoint.wake(handle);
            Some(result)
        })
    }
}

impl Drop for MultipathSocket {
    fn drop(&mut self) {
        self.shared.get().forget(self.handle);
    }
}
