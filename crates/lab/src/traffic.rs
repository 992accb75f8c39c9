//! Traffic of applications: bulk data, constant rates, Poisson processes, bursts, recorded videos.
//!
//! A [`TrafficSource`] reports the time of its next datagram and then emits it as an [`Emission`]. It is
//! independent of transports; sizes are application data without headers.

mod bulk;
mod cbr;
mod downloads;
mod on_off;
mod pairs;
mod playback;
mod renewal;
mod transfer;

pub use bulk::Bulk;
pub use cbr::Cbr;
pub use downloads::Downloads;
pub use on_off::OnOff;
pub use pairs::Pairs;
pub use playback::Playback;
pub use renewal::Renewal;
pub use transfer::Transfer;
pub use whimbrel_scenario::schedule::{Entry, Schedule, ScheduleError};

use whimbrel_units::Instant;

/// A datagram that an application hands to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emission {
    /// Application data in bytes.
    pub size: u32,
    /// The datagram's number at its source, from 0: for a schedule, its position there.
    pub tag: u64,
    /// Time from which it is no longer worth sending.
    pub deadline: Option<Instant>,
}

/// An application that sends.
#[derive(Debug)]
pub struct TrafficSource {
    stop: Instant,
    /// `true` if the application ends at `stop`, `false` if that is the end of the simulation.
    ends: bool,
    pattern: Pattern,
}

/// The kinds of applications.
#[derive(Debug)]
pub enum Pattern {
    /// Unlimited data.
    Bulk(Bulk),
    /// A number of bytes.
    Transfer(Transfer),
    /// Transfers of random sizes at random times.
    Downloads(Downloads),
    /// Pairs of datagrams.
    Pairs(Pairs),
    /// A datagram at every interval.
    Cbr(Cbr),
    /// Datagrams at random intervals.
    Renewal(Renewal),
    /// Bursts and pauses.
    OnOff(OnOff),
    /// A recorded schedule.
    Playback(Playback),
}

impl TrafficSource {
    /// An application that stops at `stop` and emits no datagram then or later.
    pub fn new(pattern: Pattern, stop: Instant) -> Self {
        Self { stop, ends: true, pattern }
    }

    /// An application that continues beyond the simulation's `end`.
    pub fn endless(pattern: Pattern, end: Instant) -> Self {
        Self { stop: end, ends: false, pattern }
    }

    /// `true` if the data is unlimited: such a source is polled whenever the transport has room.
    pub fn is_greedy(&self) -> bool {
        matches!(self.pattern, Pattern::Bulk(_))
    }

    /// Its stop time, if any.
    pub fn stop(&self) -> Option<Instant> {
        self.ends.then_some(self.stop)
    }

    /// `true` if the application has ended: it emits no more, and its connection can be closed.
    #[inline]
    pub fn has_ended(&self, now: Instant) -> bool {
        match self.next() {
            Some(next) => self.ends && (now >= self.stop || next >= self.stop),
            None => true,
        }
    }

    /// Time of the next datagram; `None` if there are no more.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next().filter(|next| *next < self.stop)
    }

    #[inline]
    fn next(&self) -> Option<Instant> {
        match &self.pattern {
            Pattern::Bulk(bulk) => Some(bulk.start()),
            Pattern::Transfer(transfer) => transfer.next(),
            Pattern::Downloads(downloads) => Some(downloads.next()),
            Pattern::Pairs(pairs) => Some(pairs.next()),
            Pattern::Cbr(cbr) => Some(cbr.next()),
            Pattern::Renewal(renewal) => Some(renewal.next()),
            Pattern::OnOff(on_off) => Some(on_off.next()),
            Pattern::Playback(playback) => playback.next(),
        }
    }

    /// The next datagram, if it is due by `now`.
    pub fn poll_emission(&mut self, now: Instant) -> Option<Emission> {
        if now >= self.stop || self.poll_timeout()? > now {
            return None;
        }
        Some(match &mut self.pattern {
            Pattern::Bulk(bulk) => bulk.emit(),
            Pattern::Transfer(transfer) => transfer.emit(),
            Pattern::Downloads(downloads) => downloads.emit(),
            Pattern::Pairs(pairs) => pairs.emit(),
            Pattern::Cbr(cbr) => cbr.emit(),
            Pattern::Renewal(renewal) => renewal.emit(),
            Pattern::OnOff(on_off) => on_off.emit(),
            Pattern::Playback(playback) => playback.emit(),
        })
    }
}

#[cfg(test)]
mod tests;
