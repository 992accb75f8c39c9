//! The application's datagrams that wait in the repair layer's sender, by the identifiers that the
//! application knows.

use std::collections::VecDeque;

use crate::DatagramId;

/// Identifiers in the order of the sender's queue.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queued: VecDeque<DatagramId>,
    /// Datagrams that were accepted and are of no use to the receiver.
    refused: VecDeque<DatagramId>,
    next: u64,
}

impl Waiting {
    fn take_id(&mut self) -> DatagramId {
        let id = DatagramId(self.next);
        self.next += 1;
        id
    }

    /// A datagram has entered the sender's queue.
    pub(super) fn push(&mut self) -> DatagramId {
        let id = self.take_id();
        self.queued.push_back(id);
        id
    }

    /// A datagram was accepted, but is not sent. It is reported by the next [`Waiting::settle`].
    pub(super) fn refuse(&mut self) -> DatagramId {
        let id = self.take_id();
        self.refused.push_back(id);
        id
    }

    /// The sender has `left` datagrams in its queue now, and returned the one before them if `is_source`.
    /// Reports those that it has dropped; returns the identifier of the one that it returned.
    pub(super) fn settle(
        &mut self,
        left: usize,
        is_source: bool,
        mut dropped: impl FnMut(DatagramId),
    ) -> Option<DatagramId> {
        self.refused.drain(..).for_each(&mut dropped);
        while self.queued.len() > left + usize::from(is_source) {
            self.queued.pop_front().into_iter().for_each(&mut dropped);
        }
        if is_source { self.queued.pop_front() } else { None }
    }

    /// The connection has ended.
    pub(super) fn drop_all(&mut self, dropped: impl FnMut(DatagramId)) {
        self.refused.drain(..).chain(self.queued.drain(..)).for_each(dropped);
    }
}
