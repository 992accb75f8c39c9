//! Groups of frames of the streams that wait: what is left of a group is of no use once a frame of it is dropped.
//!
//! At a rate that is too low for the video, every group would lose a frame in its middle, and nothing could be decoded. Instead the
//! rest of the group is left out, which makes room for the next one. This applies to streams with regular key frames only: others
//! would stand still until the encoder makes a new start.

use std::collections::VecDeque;

use super::flow_kind::Frame;

/// Streams that are followed.
const MAX_STREAMS: usize = 64;
/// Frames before the next key frame, whose way is kept free.
const NEAR: u32 = 2;
/// How much longer than the last one a group is expected to be, before its stream counts as irregular.
const LONGER: u32 = 2;

/// The present group of a stream.
#[derive(Debug)]
struct Group {
    /// The newest frame.
    frame: Frame,
    /// Frames so far, the key frame included.
    frames: u32,
    /// Frames of the group before, if it began with a key frame.
    last: Option<u32>,
    has_start: bool,
    is_broken: bool,
}

/// The present groups of all streams.
#[derive(Debug, Default)]
pub(super) struct Groups(VecDeque<Group>);

impl Groups {
    fn of(&mut self, frame: Frame) -> Option<&mut Group> {
        self.0.iter_mut().find(|group| group.frame.is_of_stream(frame))
    }

    /// A packet of a frame arrives. Returns `false` if its group is broken, and it is of no use.
    pub(super) fn on_packet(&mut self, frame: Frame, begins_group: bool) -> bool {
        let Some(group) = self.of(frame) else {
            if self.0.len() == MAX_STREAMS {
                self.0.pop_front();
            }
            let has_start = begins_group;
            self.0.push_back(Group { frame, frames: 1, last: None, has_start, is_broken: false });
            return true;
        };
        if group.frame != frame {
            if begins_group {
                group.last = Some(group.frames).filter(|_| group.has_start);
                (group.frames, group.has_start, group.is_broken) = (0, true, false);
            }
            group.frame = frame;
            group.frames = group.frames.saturating_add(1);
            if !group.is_regular() {
                group.is_broken = false;
            }
        }
        !group.is_broken
    }

    /// A frame is dropped that others refer to. Returns `true` if the rest of its group is of no use.
    pub(super) fn may_break(&mut self, frame: Frame) -> bool {
        self.of(frame).is_some_and(|group| group.is_regular())
    }
    /// `true` if the next key frame is not expected at once.
    pub(super) fn is_far_from_start(&mut self, frame: Frame) -> bool {
        self.of(frame).is_some_and(|group| group.last.is_some_and(|last| group.frames + NEAR < last))
    }
    /// The newest group of the stream is the one that is broken.
    pub(super) fn break_newest(&mut self, frame: Frame) {
        if let Some(group) = self.of(frame) {
            group.is_broken = true;
        }
    }
}

impl Group {
    /// `true` if the next key frame is expected soon.
    fn is_regular(&self) -> bool {
        self.last.is_some_and(|last| self.frames <= last.saturating_mul(LONGER))
    }
}
