//! Frames for which nothing can be sent any more, until a report tells whether they are whole.
//!
//! The receiver gives a frame up when a later one is due, and its report on that takes half a round-trip time
//! more. The sender knows it as soon as a report asks for a part of a frame whose deadline has passed.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::flight::{Flight, Frame};
use super::{FRAME_TIME, Sender, SenderEvent};
use crate::wire::Report;

/// Frames that are followed: a second at 60 frames/s.
const MOST: usize = 64;

/// Frames past their deadline, oldest first.
#[derive(Debug, Default)]
pub(super) struct GivenUp(VecDeque<Frame>);

impl GivenUp {
    /// The deadline of a frame has passed.
    pub(super) fn push(&mut self, frame: Frame) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(frame);
    }

    /// Forgets frames that are whole by a report, and one that is lost, whose number it returns.
    fn poll_lost(&mut self, flight: &Flight, report: &Report) -> Option<u16> {
        let mut index = 0;
        while let Some(frame) = self.0.get(index) {
            let missing = flight.missing(frame, report);
            if missing.needed > 0 {
                return self.0.remove(index).map(|frame| frame.number);
            }
            if missing.is_observed && missing.span.is_none() {
                self.0.remove(index);
            } else {
                index += 1;
            }
        }
        None
    }
}

impl Sender {
    /// By a report, frames that nothing can complete in time any more are lost.
    pub(super) fn give_up(&mut self, now: Instant, report: &Report) {
        self.expire(now);
        while let Some(frame) = self.given_up.poll_lost(&self.flight, report) {
            self.on_lost(now, frame);
        }
    }

    /// A frame is lost.
    pub(super) fn on_lost(&mut self, now: Instant, frame: u16) {
        self.counts.lost_frames += 1;
        self.events.push_back(SenderEvent::Lost { frame });
        if let Some((frame, role)) = self.recent.find(frame) {
            self.groups.on_lost(frame, role);
        }
        self.ask_for_starts(now);
    }

    /// Forgets frames for which nothing can be sent any more.
    pub(super) fn expire(&mut self, now: Instant) {
        let first = self.flight.expire(now, self.encoder.next(), &mut self.given_up);
        self.encoder.forget_before(first);
    }

    /// Time within which an encoder answers, and which what was sent before its answer needs to be reported.
    pub(super) fn patience(&self) -> Duration {
        self.flight.round_trip() + FRAME_TIME
    }

    pub(super) fn ask_for_starts(&mut self, now: Instant) {
        while let Some(stream) = self.groups.poll_start(now, self.patience()) {
            self.events.push_back(SenderEvent::NewStart { stream });
        }
        // A peer that reports what it likes fills no memory.
        while self.events.len() > 64 {
            self.events.pop_front();
        }
    }
}
