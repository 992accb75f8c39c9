//! Datagrams of the repair layer in the connection's queue.

use std::collections::VecDeque;

use whimbrel_repair::sender::Sent;

use crate::DatagramId;

/// The few datagrams that the connection has not sent yet.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    queued: VecDeque<Entry>,
}

/// A datagram in the connection's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    below: DatagramId,
    /// The application's identifier, if the datagram is the application's.
    pub(super) of_application: Option<DatagramId>,
    /// Repair sender's record; `None` for a report.
    pub(super) sent: Option<Sent>,
}

impl InFlight {
    pub(super) fn len(&self) -> usize {
        self.queued.len()
    }

    pub(super) fn push(&mut self, below: DatagramId, of_application: Option<DatagramId>, sent: Option<Sent>) {
        self.queued.push_back(Entry { below, of_application, sent });
    }

    /// Removes a datagram that the connection has sent or dropped; `None` if it is unknown.
    pub(super) fn take(&mut self, below: DatagramId) -> Option<Entry> {
        let found = self.queued.iter().position(|entry| entry.below == below)?;
        self.queued.remove(found)
    }
}
