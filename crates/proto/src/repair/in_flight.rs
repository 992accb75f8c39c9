//! Datagrams of the repair layer in the connection's queue.

use std::collections::VecDeque;

use crate::DatagramId;

/// The few datagrams that the connection has not sent yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// The connection's identifier, and that of the application if it is its datagram.
    queued: VecDeque<(DatagramId, Option<DatagramId>)>,
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.queued.len()
    }
    pub(super) fn push(&mut self, below: DatagramId, of_application: Option<DatagramId>) {
        self.queued.push_back((below, of_application));
    }
    /// The connection has sent or dropped a datagram. Returns the application's identifier; `None` if it is unknown.
    pub(super) fn take(&mut self, below: DatagramId) -> Option<Option<DatagramId>> {
        let found = self.queued.iter().position(|(id, _)| *id == below)?;
        self.queued.remove(found).map(|(_, of_application)| of_application)
    }
}
