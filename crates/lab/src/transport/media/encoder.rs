//! The encoder and the sender's queue.

use std::collections::VecDeque;
use std::ops::Range;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::metrics::FramePart;
use crate::traffic::{Emission, TrafficSource};
use crate::transport::FrameParts;

/// A datagram that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) emission: Emission,
    /// Time of the frame it is of.
    pub(super) captured: Instant,
    /// Its place in its frame.
    pub(super) part: FramePart,
}

/// The application: an adaptive encoder where the traffic is unlimited, a given source otherwise.
#[derive(Debug)]
pub(super) struct Encoder {
    source: TrafficSource,
    headers: u32,
    frame_interval: Duration,
    /// Time of the next frame of an adaptive encoder; `None` before the first.
    next_frame: Option<Instant>,
    /// Bits that the frames so far may still fill.
    budget: f64,
    send_delay: Duration,
    queue: VecDeque<Queued>,
    queued_bytes: u64,
    parts: FrameParts,
    /// Frames of an adaptive encoder.
    frames: u64,
    /// Captures that count, and the frames of that time.
    counted: Range<Instant>,
    sent_frames: u64,
}

impl Encoder {
    pub(super) fn new(
        source: TrafficSource,
        headers: u32,
        frame_interval: Duration,
        send_delay: Duration,
        parts: FrameParts,
        counted: Range<Instant>,
    ) -> Self {
        Self {
            source,
            headers,
            frame_interval,
            next_frame: None,
            budget: 0.0,
            send_delay,
            queue: VecDeque::new(),
            queued_bytes: 0,
            parts,
            frames: 0,
            counted,
            sent_frames: 0,
        }
    }

    /// Takes the frames and datagrams due by `now`; an adaptive encoder makes frames at the `target` rate.
    pub(super) fn produce(&mut self, now: Instant, target: DataRate) {
        if !self.source.is_greedy() {
            while let Some(emission) = self.source.poll_emission(now) {
                let part = self.parts.part(emission.tag);
                self.push(emission, now, part);
            }
            return;
        }
        let Some(start) = self.source.poll_timeout() else { return };
        let mut due = self.next_frame.unwrap_or(start);
        while due <= now {
            // A frame that would wait for too long is skipped, and its bits are not saved up.
            let waiting = ByteCount::new(self.queued_bytes) / target;
            if waiting <= self.send_delay {
                self.budget += target.as_bits_per_second() * self.frame_interval.as_secs_f64();
                self.packetize(due);
            }
            due += self.frame_interval;
        }
        self.next_frame = Some(due);
    }

    /// Makes the packets of a frame; what does not fill a packet is left to the next frame.
    fn packetize(&mut self, captured: Instant) {
        let first = self.queue.len();
        while self.budget > 0.0 {
            let Some(emission) = self.source.poll_emission(captured) else { break };
            self.budget -= f64::from(emission.size + self.headers) * 8.0;
            let index = (self.queue.len() - first) as u32;
            let part = FramePart { frame: self.frames, index, count: 0, is_key: true };
            self.push(emission, captured, part);
        }
        let count = (self.queue.len() - first) as u32;
        self.queue.iter_mut().skip(first).for_each(|queued| queued.part.count = count);
        if count > 0 {
            self.frames += 1;
            self.sent_frames += u64::from(self.counted.contains(&captured));
        }
    }

    fn push(&mut self, emission: Emission, captured: Instant, part: FramePart) {
        let is_last = part.index + 1 == part.count;
        self.sent_frames += u64::from(is_last && self.counted.contains(&captured));
        self.queued_bytes += u64::from(emission.size + self.headers);
        self.queue.push_back(Queued { emission, captured, part });
    }

    /// The datagram to be sent next.
    pub(super) fn front(&self) -> Option<&Queued> {
        self.queue.front()
    }

    /// Removes the datagram to be sent next.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let front = self.queue.pop_front()?;
        self.queued_bytes -= u64::from(front.emission.size + self.headers);
        Some(front)
    }

    /// Removes the datagram to be sent next if it has waited for too long.
    pub(super) fn pop_expired(&mut self, now: Instant) -> Option<Emission> {
        let front = self.queue.front()?;
        let waited = now.saturating_since(front.captured);
        let is_expired = front.emission.deadline.is_some_and(|deadline| deadline < now);
        // An adaptive encoder has skipped frames instead.
        let is_late = !self.source.is_greedy() && waited > self.send_delay;
        if is_late || is_expired { self.pop().map(|queued| queued.emission) } else { None }
    }

    /// The frames that count.
    pub(super) fn sent_frames(&self) -> u64 {
        self.sent_frames
    }

    /// Bytes that wait to be sent, with headers.
    pub(super) fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// `true` if the application produces less than the rate allowed. An adaptive encoder produces just that.
    pub(super) fn is_limited(&self) -> bool {
        !self.source.is_greedy() && self.queue.is_empty()
    }

    /// Time of the next frame or datagram.
    pub(super) fn next(&self) -> Option<Instant> {
        let next = self.source.poll_timeout()?;
        if self.source.is_greedy() { Some(self.next_frame.unwrap_or(next)) } else { Some(next) }
    }
}
