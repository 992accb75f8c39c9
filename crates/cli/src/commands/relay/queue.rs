//! Datagrams that wait for congestion control, ordered by age: whole frames are dropped, stale ones first.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::frames::{Frame, Kind};

/// The most datagrams and bytes that wait.
const MAX_DATAGRAMS: usize = 4096;
const MAX_BYTES: usize = 4 << 20;
/// Frames of which a part was dropped and that may have further packets.
const MAX_BROKEN: usize = 32;
/// Age at which even essential datagrams are useless: the stream has sent others by then.
const ESSENTIAL_AGE: Duration = Duration::from_secs(5);

/// A datagram that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub(super) bytes: Bytes,
    pub(super) kind: Kind,
    pub(super) arrived: Instant,
}

/// Datagrams dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub(super) struct Drops {
    /// Too old, or of a frame of which a part was too old.
    pub(super) stale: u64,
    /// Of frames to which no other refers, because the rate is short.
    pub(super) disposable: u64,
    /// The queue was full.
    pub(super) overflow: u64,
    /// Frames of which a datagram was dropped.
    pub(super) frames: u64,
}

impl Drops {
    /// All datagrams.
    pub(super) fn datagrams(&self) -> u64 {
        self.stale + self.disposable + self.overflow
    }
}

/// Datagrams that wait for congestion control.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Age at which a datagram is useless.
    stale: Duration,
    /// The last frame of which a packet was taken.
    begun: Option<Frame>,
    broken: VecDeque<Frame>,
    /// The rate that congestion control allows.
    allowed: Option<DataRate>,
    drops: Drops,
}

impl Queue {
    pub(super) fn new(stale: Duration) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            stale,
            begun: None,
            broken: VecDeque::new(),
            allowed: None,
            drops: Drops::default(),
        }
    }
    pub(super) fn drops(&self) -> Drops {
        self.drops
    }
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
    /// Age of the oldest.
    pub(super) fn age(&self, now: Instant) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |oldest| now.saturating_since(oldest.arrived))
    }
    /// The rate that congestion control allows now.
    pub(super) fn set_rate(&mut self, allowed: Option<DataRate>) {
        self.allowed = allowed.filter(|rate| rate.as_bits_per_second() > 0.0);
    }
    /// Time until which a datagram is worth sending. Essential ones are for long, and what is left of a frame of which a
    /// part was sent has more time: the part would have been sent in vain.
    pub(super) fn deadline(&self, waiting: &Waiting) -> Instant {
        let time = match waiting.kind {
            Kind::Essential => self.stale.max(ESSENTIAL_AGE),
            Kind::Part { frame, .. } if Some(frame) == self.begun => self.stale * 2,
            _ => self.stale,
        };
        waiting.arrived + time
    }

    /// Adds a datagram, unless its frame is broken.
    pub(super) fn push(&mut self, datagram: Waiting) {
        if let Kind::Part { frame, .. } = datagram.kind
            && self.broken.contains(&frame)
        {
            self.drops.stale += 1;
            return;
        }
        while !self.waiting.is_empty()
            && (self.waiting.len() >= MAX_DATAGRAMS || self.bytes + datagram.bytes.len() > MAX_BYTES)
        {
            // Essential ones go last.
            let oldest = self.waiting.iter().position(|waiting| waiting.kind != Kind::Essential).unwrap_or(0);
            self.drops.overflow += self.remove_with_frame(oldest);
        }
        self.bytes += datagram.bytes.len();
        self.waiting.push_back(datagram);
        self.relieve();
    }

    /// Drops what is not worth sending any more.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(oldest) = self.waiting.front()
            && (self.deadline(oldest) <= now || self.is_too_long(now, oldest))
        {
            self.drops.stale += self.remove_with_frame(0);
        }
    }
    /// `true` if a datagram begins a frame that cannot be sent completely in time, and another one waits. The only frame is
    /// sent in any case: without data the rate would not grow.
    fn is_too_long(&self, now: Instant, oldest: &Waiting) -> bool {
        let (Kind::Part { frame, .. }, Some(allowed)) = (oldest.kind, self.allowed) else { return false };
        if Some(frame) == self.begun || !self.has_other(frame) {
            return false;
        }
        let is_of_frame =
            |waiting: &&Waiting| matches!(waiting.kind, Kind::Part { frame: other, .. } if other == frame);
        let bytes: usize = self.waiting.iter().filter(is_of_frame).map(|waiting| waiting.bytes.len()).sum();
        now + ByteCount::new(bytes as u64) / allowed > self.deadline(oldest)
    }
    /// `true` if another frame waits.
    fn has_other(&self, frame: Frame) -> bool {
        self.waiting
            .iter()
            .any(|waiting| matches!(waiting.kind, Kind::Part { frame: other, .. } if other != frame))
    }
    /// Takes the oldest datagram that is worth sending.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        self.expire(now);
        let taken = self.waiting.pop_front()?;
        self.bytes -= taken.bytes.len();
        if let Kind::Part { frame, .. } = taken.kind {
            self.begun = Some(frame);
        }
        Some(taken)
    }
    /// Returns a datagram that could not be sent yet.
    pub(super) fn put_back(&mut self, datagram: Waiting) {
        self.bytes += datagram.bytes.len();
        self.waiting.push_front(datagram);
    }

    /// Drops disposable frames that were not begun, oldest first, as long as the rest would take longer than half of the time
    /// that it has: others need that rate more.
    fn relieve(&mut self) {
        let Some(allowed) = self.allowed else { return };
        while ByteCount::new(self.bytes as u64) / allowed > self.stale / 2 {
            let found = self.waiting.iter().position(|waiting| match waiting.kind {
                Kind::Part { frame, disposable: true } => Some(frame) != self.begun && self.has_other(frame),
                _ => false,
            });
            let Some(found) = found else { return };
            self.drops.disposable += self.remove_with_frame(found);
        }
    }

    /// Removes a datagram and all others of its frame, also those to come; returns their number.
    fn remove_with_frame(&mut self, index: usize) -> u64 {
        let Some(removed) = self.waiting.remove(index) else { return 0 };
        self.bytes -= removed.bytes.len();
        let Kind::Part { frame, .. } = removed.kind else { return 1 };
        self.drops.frames += 1;
        if self.broken.len() == MAX_BROKEN {
            self.broken.pop_front();
        }
        self.broken.push_back(frame);
        let (before, mut bytes) = (self.waiting.len(), 0);
        self.waiting.retain(|waiting| {
            let stays = !matches!(waiting.kind, Kind::Part { frame: other, .. } if other == frame);
            bytes += if stays { 0 } else { waiting.bytes.len() };
            stays
        });
        self.bytes -= bytes;
        1 + (before - self.waiting.len()) as u64
    }
}

#[cfg(test)]
mod tests;
