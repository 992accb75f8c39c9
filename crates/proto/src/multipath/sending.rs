//! Datagrams that wait for a path.

use std::collections::VecDeque;

use whimbrel_control::multipath::Purpose;
use whimbrel_units::Instant;
use whimbrel_wire::{Payload, SeqNo};

use super::{MultipathEvent, SubflowId};
use crate::send_queue::{Queued, SendQueue, SendQueueConfig};
use crate::{Datagram, DatagramId, DropReason, Event, SendError};

/// A datagram that was given to a subflow, and has not left yet.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pub(super) id: DatagramId,
    pub(super) payload: Payload,
    /// Time after which it is not worth sending.
    pub(super) deadline: Instant,
    /// Its number in the multipath connection; `None` in a regular connection.
    pub(super) sequence: Option<SeqNo>,
    /// `true` if another subflow has the same datagram.
    pub(super) is_copy: bool,
    pub(super) purpose: Purpose,
}

/// Until the peer has received a datagram, it does not know the first number: datagrams that arrive on a
/// faster path before it would make it appear late. The first datagrams therefore take one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    Unsent,
    On(SubflowId),
    Over,
}

/// The send queue of a multipath connection, and its sequence numbers.
#[derive(Debug)]
pub(super) struct Sending {
    queue: SendQueue,
    /// Events of the queue, until they are translated.
    reports: VecDeque<Event>,
    /// Datagrams of subflows that ended, or failed, before they left.
    returned: VecDeque<Staged>,
    /// The next number (MP_SEQ).
    next: SeqNo,
    /// Progress of the peer's knowledge of the first number.
    opening: Opening,
    /// Time at which congestion control of a path permits the next datagram, if one waits.
    pub(super) wake: Instant,
    /// Datagrams that left, copies not counted, and their bytes.
    sent: u64,
    sent_bytes: u64,
    /// Datagrams that will never leave, and how many of them the paths had become too narrow for.
    dropped: u64,
    too_large: u64,
    /// The peer's application no longer listens.
    has_peer_stopped: bool,
}

impl Sending {
    pub(super) fn new(config: SendQueueConfig, first: SeqNo) -> Self {
        Self {
            queue: SendQueue::new(config),
            reports: VecDeque::new(),
            returned: VecDeque::new(),
            next: first,
            opening: Opening::Unsent,
            wake: Instant::FAR_FUTURE,
            sent: 0,
            sent_bytes: 0,
            dropped: 0,
            too_large: 0,
            has_peer_stopped: false,
        }
    }

    pub(super) fn push(&mut self, now: Instant, datagram: Datagram) -> Result<DatagramId, SendError> {
        self.queue.push(now, datagram, &mut self.reports)
    }

    /// A datagram did not leave on its subflow: it is the next to be sent.
    pub(super) fn take_back(&mut self, staged: Staged) {
        if staged.is_copy {
            return;
        }
        if self.has_peer_stopped {
            let reason = DropReason::PeerNotListening;
            self.reports.push_back(Event::DatagramDropped { id: staged.id, reason });
        } else {
            self.returned.push_back(staged);
        }
    }

    /// Size of the next datagram; drops expired ones before it.
    pub(super) fn front_size(&mut self, now: Instant) -> Option<usize> {
        self.expire_returned(now);
        match self.returned.front() {
            Some(staged) => Some(staged.payload.len()),
            None => self.queue.front_size(now, &mut self.reports),
        }
    }

    /// The purpose of the next datagram.
    pub(super) fn front_purpose(&self) -> Purpose {
        self.returned.front().map_or_else(|| self.queue.front_purpose(), |staged| staged.purpose)
    }

    /// Drops returned datagrams that have become too old.
    fn expire_returned(&mut self, now: Instant) {
        let reports = &mut self.reports;
        self.returned.retain(|staged| {
            let is_worth = staged.deadline > now;
            if !is_worth {
                reports.push_back(Event::DatagramDropped { id: staged.id, reason: DropReason::Expired });
            }
            is_worth
        });
    }

    /// Makes room for a datagram of that size, or returns the reason for refusing it.
    pub(super) fn make_room(&mut self, now: Instant, size: usize) -> Result<(), SendError> {
        self.queue.make_room(now, size, &mut self.reports)
    }

    /// Removes the next datagram.
    pub(super) fn pop(&mut self) -> Option<Staged> {
        self.returned.pop_front().or_else(|| {
            let queued = self.queue.pop(&mut self.reports)?;
            let Queued { id, payload, deadline, purpose } = queued;
            Some(Staged { id, payload, deadline, sequence: None, is_copy: false, purpose })
        })
    }

    /// The subflow that carries the first datagrams, until one is acknowledged.
    pub(super) fn opening_subflow(&self) -> Option<SubflowId> {
        match self.opening {
            Opening::On(subflow) => Some(subflow),
            Opening::Unsent | Opening::Over => None,
        }
    }

    /// A datagram is being sent on that subflow.
    pub(super) fn on_first(&mut self, subflow: SubflowId) {
        if self.opening == Opening::Unsent {
            self.opening = Opening::On(subflow);
        }
    }

    /// A packet from the peer has arrived on that subflow. `is_unanswered`: it acknowledges no data.
    pub(super) fn on_acknowledged(&mut self, subflow: SubflowId, is_unanswered: bool) {
        if self.opening == Opening::On(subflow) && !is_unanswered {
            self.opening = Opening::Over;
        }
    }

    /// The subflow of the first datagrams is no longer usable.
    pub(super) fn end_opening(&mut self) {
        self.opening = Opening::Over;
    }

    /// The most subflows that may get the next datagram.
    pub(super) fn copies(&self) -> usize {
        if self.opening == Opening::Over { usize::MAX } else { 1 }
    }

    /// The number of the next packet.
    pub(super) fn number(&mut self) -> SeqNo {
        let number = self.next;
        self.next = number.next();
        number
    }

    /// The number that [`Sending::number`] would return.
    pub(super) fn next_number(&self) -> SeqNo {
        self.next
    }

    /// A datagram has left.
    pub(super) fn on_sent(&mut self, staged: &Staged) {
        if !staged.is_copy {
            self.sent += 1;
            self.sent_bytes += staged.payload.len() as u64;
        }
    }

    /// Numbers of datagrams sent, of their bytes, of datagrams dropped, and of those that were too large.
    pub(super) fn counts(&self) -> [u64; 4] {
        [self.sent, self.sent_bytes, self.dropped, self.too_large]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.queue.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.returned.len() + self.queue.len()
    }

    /// Number of bytes of the datagrams that wait.
    pub(super) fn bytes(&self) -> usize {
        let returned = self.returned.iter().map(|staged| staged.payload.len());
        returned.sum::<usize>() + self.queue.bytes()
    }

    /// Time at which the next datagram expires.
    pub(super) fn next_deadline(&self) -> Instant {
        let returned = self.returned.iter().map(|staged| staged.deadline);
        returned.chain([self.queue.next_deadline()]).min().unwrap_or(Instant::FAR_FUTURE)
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.expire_returned(now);
        self.queue.expire(now, &mut self.reports);
    }

    pub(super) fn drop_larger_than(&mut self, limit: usize) {
        self.queue.drop_larger_than(limit, &mut self.reports);
        let reports = &mut self.reports;
        self.returned.retain(|staged| {
            let fits = staged.payload.len() <= limit;
            if !fits {
                reports.push_back(Event::DatagramDropped { id: staged.id, reason: DropReason::TooLarge });
            }
            fits
        });
    }

    /// Drops all datagrams: the connection has ended.
    pub(super) fn clear(&mut self) {
        self.queue.clear(&mut self.reports);
        self.drop_returned(DropReason::ConnectionEnded);
    }

    /// Drops all datagrams, because the peer's application no longer listens (RFC 4340, Section 11.7.2).
    pub(super) fn give_up(&mut self) {
        self.has_peer_stopped = true;
        self.queue.give_up(&mut self.reports);
        self.drop_returned(DropReason::PeerNotListening);
    }

    /// `true` if the peer's application no longer listens.
    pub(super) fn has_peer_stopped(&self) -> bool {
        self.has_peer_stopped
    }

    fn drop_returned(&mut self, reason: DropReason) {
        while let Some(staged) = self.returned.pop_front() {
            self.reports.push_back(Event::DatagramDropped { id: staged.id, reason });
        }
    }

    /// Moves the queue's reports to the connection's events.
    pub(super) fn report(&mut self, events: &mut VecDeque<MultipathEvent>) {
        while let Some(event) = self.reports.pop_front() {
            match event {
                Event::DatagramDropped { id, reason } => {
                    self.dropped += 1;
                    self.too_large += u64::from(reason == DropReason::TooLarge);
                    events.push_back(MultipathEvent::DatagramDropped { id, reason });
                }
                Event::SendReady => events.push_back(MultipathEvent::SendReady),
                _ => {}
            }
        }
    }
}
