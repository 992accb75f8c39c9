//! Datagrams that wait until congestion control lets them leave.
//!
//! For live media a late datagram is useless: a datagram may have a deadline, after which it is dropped
//! rather than sent, and a full queue drops stale datagrams before new ones. Every datagram that was accepted
//! ends in an event, sent or dropped.

use std::collections::VecDeque;

use whimbrel_control::multipath::Purpose;
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use crate::repair::Mark;
use crate::{DatagramId, DropReason, Event, SendError, config_setters};

#[cfg(test)]
mod tests;

/// A datagram to send.
#[derive(Clone, PartialEq, Debug)]
pub struct Datagram {
    /// Its data.
    pub payload: Payload,
    /// Time after which it is dropped instead of sent.
    pub deadline: Option<Instant>,
    /// Its place in a frame, for [repair](crate::repair); without repair it has no effect.
    pub mark: Mark,
    /// Its purpose: over several paths, the [scheduler](crate::multipath::SchedulerKind) may choose its path
    /// by it.
    pub purpose: Purpose,
}

impl Datagram {
    /// A datagram without a deadline.
    pub fn new(payload: impl Into<Payload>) -> Self {
        Self { payload: payload.into(), deadline: None, mark: Mark::SINGLE, purpose: Purpose::Data }
    }

    /// Sets the deadline.
    pub fn with_deadline(self, deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Sets the place in a frame.
    pub fn with_mark(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// Sets the purpose.
    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }
}

/// The datagram that is dropped when the queue is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OverflowPolicy {
    /// The oldest datagram in the queue, after all expired ones: for live media.
    #[default]
    DropOldest,
    /// The new one: `send` fails with `QueueFull`.
    Refuse,
}

/// Bounds of the send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SendQueueConfig {
    /// Maximum number of datagrams.
    pub max_datagrams: usize,
    /// Maximum number of bytes of application data.
    pub max_bytes: usize,
    /// The datagram that is dropped when the queue is full.
    pub overflow: OverflowPolicy,
}

impl Default for SendQueueConfig {
    fn default() -> Self {
        Self { max_datagrams: 64, max_bytes: 1 << 20, overflow: OverflowPolicy::DropOldest }
    }
}

config_setters!(SendQueueConfig { max_datagrams: usize, max_bytes: usize, overflow: OverflowPolicy });

/// A datagram in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) id: DatagramId,
    pub(crate) payload: Payload,
    /// [`Instant::FAR_FUTURE`] if there is none.
    pub(crate) deadline: Instant,
    pub(crate) purpose: Purpose,
}

/// The send queue. The outcome of each datagram is reported to `events`.
#[derive(Clone, Debug)]
pub(crate) struct SendQueue {
    config: SendQueueConfig,
    queue: VecDeque<Queued>,
    bytes: usize,
    next_id: u64,
    /// Number of datagrams dropped so far, and of those that the path had become too narrow for.
    dropped: u64,
    too_large: u64,
    /// `true` while deadlines do not decrease from front to back, so that the front has the earliest.
    in_order: bool,
    /// `true` if a `send` was refused and the application waits for `SendReady`.
    refused: bool,
}

impl SendQueue {
    pub(crate) fn new(config: SendQueueConfig) -> Self {
        Self {
            config,
            queue: VecDeque::new(),
            bytes: 0,
            next_id: 0,
            dropped: 0,
            too_large: 0,
            in_order: true,
            refused: false,
        }
    }

    /// Returns memory that traffic has left behind.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.queue.shrink_to_fit();
    }

    /// Adds a datagram, or returns the reason for refusing it.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        datagram: Datagram,
        events: &mut VecDeque<Event>,
    ) -> Result<DatagramId, SendError> {
        let size = datagram.payload.len();
        self.make_room(now, size, events)?;
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        let deadline = datagram.deadline.unwrap_or(Instant::FAR_FUTURE);
        self.in_order = match self.queue.back() {
            Some(last) => self.in_order && last.deadline <= deadline,
            None => true,
        };
        self.bytes += size;
        let Datagram { payload, purpose, .. } = datagram;
        self.queue.push_back(Queued { id, payload, deadline, purpose });
        Ok(id)
    }

    /// Makes room for a datagram of that size, or returns the reason for refusing it.
    pub(crate) fn make_room(
        &mut self,
        now: Instant,
        size: usize,
        events: &mut VecDeque<Event>,
    ) -> Result<(), SendError> {
        if size > self.config.max_bytes {
            return Err(SendError::TooLarge { size, limit: self.config.max_bytes });
        }
        if !self.has_room(size) {
            self.expire(now, events);
        }
        while !self.has_room(size) {
            match self.config.overflow {
                OverflowPolicy::Refuse => {
                    self.refused = true;
                    return Err(SendError::QueueFull);
                }
                OverflowPolicy::DropOldest => self.drop_front(DropReason::QueueFull, events),
            }
        }
        Ok(())
    }

    /// Size of the next datagram to send; drops expired ones before it.
    #[inline]
    pub(crate) fn front_size(&mut self, now: Instant, events: &mut VecDeque<Event>) -> Option<usize> {
        loop {
            let front = self.queue.front()?;
            if front.deadline > now {
                return Some(front.payload.len());
            }
            self.drop_front(DropReason::Expired, events);
            self.signal_room(events);
        }
    }

    /// Removes the next datagram to send.
    pub(crate) fn pop(&mut self, events: &mut VecDeque<Event>) -> Option<Queued> {
        let queued = self.remove_front()?;
        self.signal_room(events);
        Some(queued)
    }

    /// Removes the next datagram without a report. Returns `false` if there is none.
    pub(crate) fn withdraw(&mut self) -> bool {
        self.remove_front().is_some()
    }

    /// Drops all expired datagrams.
    pub(crate) fn expire(&mut self, now: Instant, events: &mut VecDeque<Event>) {
        if self.next_deadline() > now {
            return;
        }
        self.drop_where(DropReason::Expired, events, |queued| queued.deadline <= now);
        self.in_order = self.queue.iter().is_sorted_by_key(|queued| queued.deadline);
    }

    /// Drops the datagrams that are larger than the path carries.
    pub(crate) fn drop_larger_than(&mut self, limit: usize, events: &mut VecDeque<Event>) {
        let before = self.dropped;
        self.drop_where(DropReason::TooLarge, events, |queued| queued.payload.len() > limit);
        self.too_large += self.dropped - before;
    }

    /// Drops all datagrams, because the connection has ended.
    pub(crate) fn clear(&mut self, events: &mut VecDeque<Event>) {
        self.refused = false;
        self.drop_all(DropReason::ConnectionEnded, events);
    }

    /// Drops all datagrams, because the peer no longer accepts any; wakes an application that waits for room.
    pub(crate) fn give_up(&mut self, events: &mut VecDeque<Event>) {
        self.drop_all(DropReason::PeerNotListening, events);
        self.signal_room(events);
    }

    fn drop_all(&mut self, reason: DropReason, events: &mut VecDeque<Event>) {
        while !self.queue.is_empty() {
            self.drop_front(reason, events);
        }
    }

    /// Deadline of the first datagram to expire; [`Instant::FAR_FUTURE`] if none does.
    pub(crate) fn next_deadline(&self) -> Instant {
        let earliest = if self.in_order {
            self.queue.front().map(|queued| queued.deadline)
        } else {
            self.queue.iter().map(|queued| queued.deadline).min()
        };
        earliest.unwrap_or(Instant::FAR_FUTURE)
    }

    /// The purpose of the next datagram.
    pub(crate) fn front_purpose(&self) -> Purpose {
        self.queue.front().map_or(Purpose::Data, |front| front.purpose)
    }

    /// Size of the next datagram, expired or not.
    pub(crate) fn front_len(&self) -> Option<usize> {
        self.queue.front().map(|front| front.payload.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Dropped datagrams that the path had become too narrow for.
    pub(crate) fn too_large(&self) -> u64 {
        self.too_large
    }

    fn has_room(&self, size: usize) -> bool {
        self.queue.len() < self.config.max_datagrams && self.bytes + size <= self.config.max_bytes
    }

    fn remove_front(&mut self) -> Option<Queued> {
        let queued = self.queue.pop_front()?;
        self.bytes -= queued.payload.len();
        Some(queued)
    }

    fn drop_front(&mut self, reason: DropReason, events: &mut VecDeque<Event>) {
        if let Some(queued) = self.remove_front() {
            self.dropped += 1;
            events.push_back(Event::DatagramDropped { id: queued.id, reason });
        }
    }

    fn drop_where(
        &mut self,
        reason: DropReason,
        events: &mut VecDeque<Event>,
        condition: impl Fn(&Queued) -> bool,
    ) {
        let (bytes, dropped) = (&mut self.bytes, &mut self.dropped);
        self.queue.retain(|queued| {
            let goes = condition(queued);
            if goes {
                *bytes -= queued.payload.len();
                *dropped += 1;
                events.push_back(Event::DatagramDropped { id: queued.id, reason });
            }
            !goes
        });
        self.signal_room(events);
    }

    fn signal_room(&mut self, events: &mut VecDeque<Event>) {
        if self.refused && self.queue.len() < self.config.max_datagrams {
            self.refused = false;
            events.push_back(Event::SendReady);
        }
    }
}
