//! Datagrams that wait for congestion control, ordered by age: whole frames are dropped, stale ones first.

use std::collections::VecDeque;

use bytes::Bytes;
use whimbrel_net::{FrameRole, Groups, Mark};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::flow_kind::{Frame, Kind};
use super::ledger::streams::StreamId;
use super::ledger::{Losses, Reason};
use super::stream::Lane;

/// The most datagrams and bytes that wait.
const MAX_DATAGRAMS: usize = 4096;
const MAX_BYTES: usize = 4 << 20;
/// Frames of which a part was dropped and that may have further packets.
const MAX_BROKEN: usize = 32;
/// Streams whose frames are followed.
const MAX_STREAMS: usize = 64;
/// Room that is kept when nothing waits.
const KEPT: usize = 4;
/// Age at which even essential datagrams are useless: the stream has sent others by then.
const ESSENTIAL_AGE: Duration = Duration::from_secs(5);

/// A datagram that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Waiting {
    pub(crate) bytes: Bytes,
    pub(crate) kind: Kind,
    /// Its place in a frame, for repair.
    pub(crate) mark: Mark,
    pub(crate) arrived: Instant,
}

/// Drops since the last call.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Datagrams, by stream.
    pub(crate) datagrams: Vec<(StreamId, Losses)>,
    /// Frames of which a datagram was dropped.
    pub(crate) frames: u64,
}

impl Drops {
    /// A datagram of the connection was dropped.
    pub(crate) fn add(&mut self, datagram: &[u8], lane: Lane, reason: Reason) {
        let id = StreamId::of(datagram, lane);
        let known = self.datagrams.iter_mut().find(|(known, _)| *known == id);
        match known {
            Some((_, losses)) => losses[reason] += 1,
            None => {
                let mut losses = Losses::default();
                losses[reason] = 1;
                self.datagrams.push((id, losses));
            }
        }
    }

    /// Moves all to another one.
    pub(crate) fn append_to(&mut self, other: &mut Self) {
        other.datagrams.append(&mut self.datagrams);
        other.frames += std::mem::take(&mut self.frames);
    }
}

/// Datagrams that wait for congestion control.
#[derive(Debug)]
pub(crate) struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Age at which a datagram is useless.
    stale: Duration,
    /// Age up to which a datagram that is sent arrives in time, where the transport repairs within a latency.
    budget: Option<Duration>,
    /// The longest budget so far: the budget of the path without a queue.
    widest: Duration,
    groups: Groups,
    /// The last frame of each stream of which a packet was taken.
    begun: VecDeque<Frame>,
    /// The frame that the last taken packet has begun, and the one before it in its stream.
    newly_begun: Option<(Frame, Option<Frame>)>,
    /// When a packet of a frame was taken last, and the time before.
    taken: [Option<Instant>; 2],
    /// Frames that are dropped.
    broken: VecDeque<Frame>,
    /// The newest frame that is sent although it cannot be decoded.
    probe: Option<Frame>,
    /// A stream whose encoder should be asked for a key frame.
    start: Option<u64>,
    /// The rate that congestion control allows.
    allowed: Option<DataRate>,
    drops: Drops,
}

impl Queue {
    pub(crate) fn new(stale: Duration) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            stale,
            budget: None,
            widest: Duration::ZERO,
            groups: Groups::default(),
            begun: VecDeque::new(),
            newly_begun: None,
            taken: [None; 2],
            broken: VecDeque::new(),
            probe: None,
            start: None,
            allowed: None,
            drops: Drops::default(),
        }
    }

    pub(crate) fn take_drops(&mut self, into: &mut Drops) {
        self.drops.append_to(into);
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Age of the oldest.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        self.waiting.front().map_or(Duration::ZERO, |oldest| now.saturating_since(oldest.arrived))
    }

    /// The size of the oldest.
    pub(crate) fn next_size(&self) -> Option<usize> {
        self.waiting.front().map(|oldest| oldest.bytes.len())
    }

    /// `true` if there is no queue on the path.
    pub(crate) fn is_path_free(&self) -> bool {
        self.budget.is_none_or(|budget| budget * 4 >= self.widest * 3)
    }

    /// The rate that congestion control allows now.
    pub(crate) fn set_rate(&mut self, allowed: Option<DataRate>) {
        self.allowed = allowed.filter(|rate| rate.as_bits_per_second() > 0.0);
    }

    /// Age up to which a datagram that is sent arrives in time; `None` if the peer delivers at any time.
    pub(crate) fn set_budget(&mut self, budget: Option<Duration>) {
        self.budget = budget;
        self.widest = self.widest.max(budget.unwrap_or_default());
    }

    /// Age at which a datagram is useless.
    fn time(&self) -> Duration {
        self.budget.map_or(self.stale, |budget| budget.min(self.stale))
    }

    /// Time until which a datagram is worth sending. Essential ones are for long, and what is left of a frame
    /// of which a part was sent has more time: the part would have been sent in vain.
    pub(crate) fn deadline(&self, waiting: &Waiting) -> Instant {
        let time = match waiting.kind {
            Kind::Essential => self.stale.max(ESSENTIAL_AGE),
            Kind::Part { frame, .. } if self.begun.contains(&frame) => self.stale * 2,
            _ => self.time(),
        };
        waiting.arrived + time
    }

    /// Adds a datagram, unless its frame is broken.
    pub(crate) fn push(&mut self, datagram: Waiting) {
        if self.is_broken(datagram.kind) {
            self.drops.add(&datagram.bytes, Lane::Media, Reason::Stale);
            return;
        }
        if let Kind::Part { frame, disposable } = datagram.kind {
            let is_of_use = self.groups.on_packet(frame.of_stream(), datagram.mark.role);
            if !is_of_use && !self.is_probe(frame) {
                let reason = if disposable { Reason::Disposable } else { Reason::Undecodable };
                self.drops.add(&datagram.bytes, Lane::Media, reason);
                self.note_dropped(frame);
                return;
            }
            self.look_for_start(datagram.arrived, frame.stream());
        }
        while !self.waiting.is_empty()
            && (self.waiting.len() >= MAX_DATAGRAMS || self.bytes + datagram.bytes.len() > MAX_BYTES)
        {
            // Essential ones go last.
            let oldest = self.waiting.iter().position(|waiting| waiting.kind != Kind::Essential).unwrap_or(0);
            self.drop_at(oldest, Reason::Overflow);
        }
        // The frame that made room may be its own.
        if self.is_broken(datagram.kind) {
            self.drops.add(&datagram.bytes, Lane::Media, Reason::Overflow);
            return;
        }
        self.bytes += datagram.bytes.len();
        self.waiting.push_back(datagram);
        self.relieve();
    }

    /// `true` if a frame that cannot be decoded is sent nevertheless, as nothing else waits, here or on the
    /// path: without data the allowed rate would fall (RFC 5348, Section 4.3), and where it is too low for a
    /// key frame, the stream would stand still.
    fn is_probe(&mut self, frame: Frame) -> bool {
        if self.budget.is_some()
            && self.is_path_free()
            && self.waiting.is_empty()
            && self.groups.is_far_from_start(frame.stream())
        {
            self.probe = Some(frame);
        }
        self.probe == Some(frame)
    }

    /// A packet of a stream is queued. If a frame was dropped that it needs, and the path takes data again, a
    /// key frame would arrive: unless one is due at once, the encoder is asked for it.
    fn look_for_start(&mut self, now: Instant, stream: u64) {
        let is_due = self.groups.is_regular(stream) && !self.groups.is_far_from_start(stream);
        if self.budget.is_some() && self.is_path_free() && self.waiting.is_empty() && !is_due {
            // Requests that are not answered yet are not repeated at once: `KeyFrames` waits.
            self.start = self.groups.poll_start(now, Duration::ZERO);
        }
    }

    /// A stream whose encoder should be asked for a key frame, once for what was dropped until then.
    pub(crate) fn take_start(&mut self) -> Option<u64> {
        self.start.take()
    }

    /// `true` if a datagram belongs to a frame of which a part was dropped.
    fn is_broken(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Part { frame, .. } if self.broken.contains(&frame))
    }

    /// Drops what is not worth sending any more.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(oldest) = self.waiting.front()
            && (self.deadline(oldest) <= now || self.is_too_long(now, oldest))
        {
            self.drop_at(0, Reason::Stale);
        }
    }

    /// `true` if a datagram begins a frame that cannot be sent completely in time, and another one of its
    /// stream waits. The only frame of a stream is sent in any case, and one at the start or after a pause:
    /// without data the rate would not grow. A stream of large frames would give way to small ones for ever.
    fn is_too_long(&self, now: Instant, oldest: &Waiting) -> bool {
        let (Kind::Part { frame, .. }, Some(allowed)) = (oldest.kind, self.allowed) else { return false };
        let was_idle = self.taken[0].is_none_or(|taken| now.saturating_since(taken) > self.time());
        if was_idle
            || self.begun.contains(&frame)
            || !self.frames().any(|other| other.is_of_stream(frame) && other != frame)
        {
            return false;
        }
        let is_of_frame =
            |waiting: &&Waiting| matches!(waiting.kind, Kind::Part { frame: other, .. } if other == frame);
        let bytes: usize = self.waiting.iter().filter(is_of_frame).map(|waiting| waiting.bytes.len()).sum();
        now + ByteCount::new(bytes as u64) / allowed > self.deadline(oldest)
    }

    /// The frames of the packets that wait.
    fn frames(&self) -> impl Iterator<Item = Frame> {
        self.waiting.iter().filter_map(|waiting| match waiting.kind {
            Kind::Part { frame, .. } => Some(frame),
            _ => None,
        })
    }

    /// `true` if packets of two frames or more wait.
    fn has_several_frames(&self) -> bool {
        let mut frames = self.frames();
        frames.next().is_some_and(|first| frames.any(|other| other != first))
    }

    /// Takes the oldest datagram that is worth sending.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting> {
        self.expire(now);
        let taken = self.waiting.pop_front()?;
        self.bytes -= taken.bytes.len();
        self.newly_begun = None;
        if let Kind::Part { .. } = taken.kind {
            self.taken = [Some(now), self.taken[0]];
        }
        if let Kind::Part { frame, .. } = taken.kind
            && !self.begun.contains(&frame)
        {
            let before = self.begun.iter().position(|other| other.is_of_stream(frame));
            let before = before.and_then(|index| self.begun.remove(index));
            if self.begun.len() == MAX_STREAMS {
                self.begun.pop_front();
            }
            self.begun.push_back(frame);
            self.newly_begun = Some((frame, before));
        }
        Some(taken)
    }

    /// Returns the datagram that was taken last and could not be sent yet.
    pub(crate) fn put_back(&mut self, datagram: Waiting) {
        if let Some((frame, before)) = self.newly_begun.take() {
            self.begun.retain(|begun| *begun != frame);
            self.begun.extend(before);
        }
        if let Kind::Part { .. } = datagram.kind {
            self.taken = [self.taken[1]; 2];
        }
        self.bytes += datagram.bytes.len();
        self.waiting.push_front(datagram);
    }

    /// Drops disposable frames that were not begun, oldest first, as long as the rest would take longer than
    /// half of the time that it has: others need that rate more.
    fn relieve(&mut self) {
        let Some(allowed) = self.allowed else { return };
        while ByteCount::new(self.bytes as u64) / allowed > self.time() / 2 && self.has_several_frames() {
            let found = self.waiting.iter().position(|waiting| match waiting.kind {
                Kind::Part { frame, disposable: true } => !self.begun.contains(&frame),
                _ => false,
            });
            let Some(found) = found else { return };
            self.drop_at(found, Reason::Disposable);
        }
    }

    /// Returns memory that a burst has left behind.
    pub(crate) fn shrink(&mut self) {
        self.waiting.shrink_to(KEPT);
    }

    /// Drops a datagram and all others of its frame, also those to come.
    fn drop_at(&mut self, index: usize, reason: Reason) {
        let Some(dropped) = self.waiting.remove(index) else { return };
        self.bytes -= dropped.bytes.len();
        self.drops.add(&dropped.bytes, Lane::Media, reason);
        let Kind::Part { frame, disposable } = dropped.kind else { return };
        self.note_dropped(frame);
        self.drop_frames(
            reason,
            |waiting| matches!(waiting.kind, Kind::Part { frame: other, .. } if other == frame),
        );
        self.groups.on_lost(frame.of_stream(), dropped.mark.role);
        // A stream whose key frames do not fit the rate would send nothing, so the rate would never grow.
        let is_key = dropped.mark.role == FrameRole::Start;
        if !disposable && !is_key && self.groups.is_regular(frame.stream()) {
            self.drop_rest(frame);
        }
    }

    /// Counts a frame that is dropped, also what of it is still to come.
    fn note_dropped(&mut self, frame: Frame) {
        if self.broken.contains(&frame) {
            return;
        }
        self.drops.frames += 1;
        if self.broken.len() == MAX_BROKEN {
            self.broken.pop_front();
        }
        self.broken.push_back(frame);
    }

    /// Drops the rest of a group of frames: up to the next key frame, and what is to come if none waits.
    fn drop_rest(&mut self, dropped: Frame) {
        let mut left = Vec::new();
        let mut is_over = false;
        for waiting in &self.waiting {
            let Kind::Part { frame, .. } = waiting.kind else { continue };
            if !frame.is_of_stream(dropped) {
                continue;
            }
            is_over |= waiting.mark.role == FrameRole::Start;
            if !is_over && !left.contains(&frame) {
                left.push(frame);
            }
        }
        if !is_over {
            self.groups.break_newest(dropped.stream());
        }
        left.iter().for_each(|frame| self.note_dropped(*frame));
        self.drop_frames(
            Reason::Undecodable,
            |waiting| matches!(waiting.kind, Kind::Part { frame, .. } if left.contains(&frame)),
        );
    }

    /// Drops the datagrams for which `is_dropped` holds.
    fn drop_frames(&mut self, reason: Reason, is_dropped: impl Fn(&Waiting) -> bool) {
        let Self { waiting, bytes, drops, .. } = self;
        waiting.retain(|waiting| {
            let goes = is_dropped(waiting);
            if goes {
                *bytes -= waiting.bytes.len();
                drops.add(&waiting.bytes, Lane::Media, reason);
            }
            !goes
        });
    }
}

#[cfg(test)]
mod tests;
