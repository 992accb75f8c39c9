//! Groups of frames: which frame depends on which, for each stream.
//!
//! A frame refers to those before it in its stream, back to the beginning of its group (a key frame, or any
//! frame that an encoder makes without reference to what was lost). Once a frame that others refer to is
//! missing, the rest of its group cannot be decoded, and the encoder has to make a new start. [`Groups`]
//! serves both ends of this knowledge:
//!
//! - the sender asks for new starts: after [`Groups::on_lost`], [`Groups::poll_start`] names the streams that
//!   need one;
//! - a queue leaves out what is of no use: it asks [`Groups::is_regular`] before it drops the rest of a
//!   group, and [`Groups::break_newest`] makes [`Groups::on_packet`] refuse what is still to come.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::wire::Role;

/// Streams that are followed.
const MAX_STREAMS: usize = 64;
/// Frames before the next key frame, whose way is kept free.
const NEAR: u32 = 2;
/// Ratio of a group's length to the last one's above which its stream counts as irregular.
const LONGER: u32 = 2;
/// Frames whose role is remembered.
const REMEMBERED: usize = 256;

/// A frame of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamFrame {
    /// The stream.
    pub stream: u64,
    /// Its number, which grows from frame to frame of the stream, and may wrap.
    pub number: u32,
}

/// The present group of a stream.
#[derive(Clone, Debug)]
struct Group {
    /// The newest frame.
    frame: StreamFrame,
    /// Number of the frame that began it.
    start: Option<u32>,
    /// Frames so far, the first included.
    frames: u32,
    /// Frames of the group before, if its beginning was seen.
    last: Option<u32>,
    /// The rest is of no use to the queue's peer.
    is_broken: bool,
    /// A frame is missing, and no new start was asked for since.
    needs_start: bool,
    /// When a new start was asked for last.
    asked: Option<Instant>,
}

impl Group {
    fn new(frame: StreamFrame) -> Self {
        let (frames, is_broken, needs_start) = (0, false, false);
        Self { frame, start: None, frames, last: None, is_broken, needs_start, asked: None }
    }

    /// `true` if the next key frame is expected soon.
    fn is_regular(&self) -> bool {
        self.last.is_some_and(|last| self.frames <= last.saturating_mul(LONGER))
    }
}

/// The present groups of all streams.
#[derive(Clone, Debug, Default)]
pub struct Groups(VecDeque<Group>);

impl Groups {
    fn of(&self, stream: u64) -> Option<&Group> {
        self.0.iter().find(|group| group.frame.stream == stream)
    }

    fn of_mut(&mut self, stream: u64) -> Option<&mut Group> {
        self.0.iter_mut().find(|group| group.frame.stream == stream)
    }

    /// A packet of a frame. Returns `false` if the group is broken, and the frame of no use.
    pub fn on_packet(&mut self, frame: StreamFrame, role: Role) -> bool {
        let known = self.0.iter().position(|group| group.frame.stream == frame.stream);
        let is_new = known.is_none_or(|at| self.0[at].frame != frame);
        let at = known.unwrap_or_else(|| {
            if self.0.len() == MAX_STREAMS {
                self.0.pop_front();
            }
            self.0.push_back(Group::new(frame));
            self.0.len() - 1
        });
        let group = &mut self.0[at];
        if is_new {
            if role == Role::Start {
                group.last = group.start.map(|_| group.frames);
                (group.start, group.frames) = (Some(frame.number), 0);
                (group.is_broken, group.needs_start) = (false, false);
            }
            group.frame = frame;
            group.frames = group.frames.saturating_add(1);
            group.is_broken &= group.is_regular();
        }
        !group.is_broken
    }

    /// `true` if a stream has regular key frames. Once a frame of such a stream is dropped that others refer
    /// to, the rest of its group only takes the rate that the next group needs. Other streams would stand
    /// still until the encoder makes a new start.
    #[must_use]
    pub fn is_regular(&self, stream: u64) -> bool {
        self.of(stream).is_some_and(Group::is_regular)
    }

    /// `true` if the next key frame of the stream is not expected at once.
    #[must_use]
    pub fn is_far_from_start(&self, stream: u64) -> bool {
        self.of(stream).is_some_and(|group| group.last.is_some_and(|last| group.frames + NEAR < last))
    }

    /// The rest of the newest group of the stream is of no use.
    pub fn break_newest(&mut self, stream: u64) {
        if let Some(group) = self.of_mut(stream) {
            group.is_broken = true;
        }
    }

    /// A frame is missing at the receiver. The stream needs a new start, if others refer to the frame and
    /// none was begun since.
    pub fn on_lost(&mut self, frame: StreamFrame, role: Role) {
        let Some(group) = self.of_mut(frame.stream).filter(|_| role != Role::Disposable) else { return };
        let is_before_start =
            group.start.is_some_and(|start| start.wrapping_sub(frame.number).cast_signed() > 0);
        group.needs_start |= !is_before_start;
    }

    /// The next stream whose encoder has to be asked for a new start. Each is asked once for what is missing,
    /// and again for what is missing later: after `patience` at the earliest, since what is lost until then
    /// was sent before the answer.
    pub fn poll_start(&mut self, now: Instant, patience: Duration) -> Option<u64> {
        let is_due = |group: &Group| group.asked.is_none_or(|asked| asked + patience <= now);
        let group = self.0.iter_mut().find(|group| group.needs_start && is_due(group))?;
        (group.needs_start, group.asked) = (false, Some(now));
        Some(group.frame.stream)
    }

    /// When [`Groups::poll_start`] has the next stream.
    #[must_use]
    pub fn start_due(&self, patience: Duration) -> Option<Instant> {
        let waiting = self.0.iter().filter(|group| group.needs_start);
        waiting.map(|group| group.asked.map_or(Instant::ZERO, |asked| asked + patience)).min()
    }
}

/// The streams and roles of the recent frames of a connection, which are numbered across all streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    frames: VecDeque<(u64, Role)>,
    /// Number of the next frame.
    next: u16,
}

impl Recent {
    /// A new frame. Returns its number.
    pub(crate) fn push(&mut self, stream: u64, role: Role) -> u16 {
        if self.frames.len() == REMEMBERED {
            self.frames.pop_front();
        }
        self.frames.push_back((stream, role));
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// `None` for a frame that is too old to be of a present group.
    pub(crate) fn find(&self, number: u16) -> Option<(StreamFrame, Role)> {
        let back = usize::from(self.next.wrapping_sub(number));
        let (stream, role) = *self.frames.get(self.frames.len().checked_sub(back)?)?;
        Some((StreamFrame { stream, number: of_all(number) }, role))
    }
}

/// The number of a frame for [`StreamFrame`]: in its upper half, so that both wrap at the same time.
pub(crate) fn of_all(number: u16) -> u32 {
    u32::from(number) << 16
}

#[cfg(test)]
mod tests;
