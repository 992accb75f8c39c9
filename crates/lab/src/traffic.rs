//! What applications send, and when: bulk data, constant rates, bursts, recorded videos.
//!
//! A [`TrafficSource`] says when its next datagram arises and then hands it over as an [`Emission`]. It
//! knows no transport; sizes are application data without headers.

mod bulk;
mod cbr;
mod on_off;
mod schedule;

pub use bulk::Bulk;
pub use cbr::Cbr;
pub use on_off::OnOff;
pub use schedule::{Entry, Playback, Schedule, ScheduleError};

use whimbrel_units::Instant;

/// A datagram that an application hands to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// Application data in bytes.
    pub size: u32,
    /// The datagram's number at its source, from 0: for a schedule, its position there.
    pub tag: u64,
    /// When it is no longer worth sending.
    pub deadline: Option<Instant>,
}

/// An application that sends.
#[derive(Debug)]
pub struct TrafficSource {
    stop: Instant,
    /// Whether the application ends at `stop`, rather than the simulation with the application under way.
    ends: bool,
    pattern: Pattern,
}

/// The kinds of applications.
#[derive(Debug)]
pub enum Pattern {
    /// Always more.
    Bulk(Bulk),
    /// A datagram at every interval.
    Cbr(Cbr),
    /// Bursts and pauses.
    OnOff(OnOff),
    /// A recorded schedule.
    Playback(Playback),
}

impl TrafficSource {
    /// An application that stops at `stop`: what would arise then or later does not.
    pub fn new(pattern: Pattern, stop: Instant) -> Self {
        Self { stop, ends: true, pattern }
    }

    /// An application that would go on after the simulation's `end`.
    pub fn endless(pattern: Pattern, end: Instant) -> Self {
        Self { stop: end, ends: false, pattern }
    }

    /// Whether there is always more: such a source is asked whenever the transport has room.
    pub fn is_greedy(&self) -> bool {
        matches!(self.pattern, Pattern::Bulk(_))
    }

    /// When it stops, if it does.
    pub fn stop(&self) -> Option<Instant> {
        self.ends.then_some(self.stop)
    }

    /// Whether the application has ended: there will never be more, and its connection can be closed.
    pub fn has_ended(&self, now: Instant) -> bool {
        match self.next() {
            Some(next) => self.ends && (now >= self.stop || next >= self.stop),
            None => true,
        }
    }

    /// When the next datagram arises; `None` once there will be no more.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next().filter(|next| *next < self.stop)
    }

    fn next(&self) -> Option<Instant> {
        match &self.pattern {
            Pattern::Bulk(bulk) => Some(bulk.start()),
            Pattern::Cbr(cbr) => Some(cbr.next()),
            Pattern::OnOff(on_off) => Some(on_off.next()),
            Pattern::Playback(playback) => playback.next(),
        }
    }

    /// The next datagram, if it has arisen by `now`.
    pub fn poll_emission(&mut self, now: Instant) -> Option<Emission> {
        if now >= self.stop || self.poll_timeout()? > now {
            return None;
        }
        Some(match &mut self.pattern {
            Pattern::Bulk(bulk) => bulk.emit(),
            Pattern::Cbr(cbr) => cbr.emit(),
            Pattern::OnOff(on_off) => on_off.emit(),
            Pattern::Playback(playback) => playback.emit(),
        })
    }
}

#[cfg(test)]
mod tests;
