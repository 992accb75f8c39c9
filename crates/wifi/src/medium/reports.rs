//! The reports of one call of the medium to its listener, and the time that passes between them.

use whimbrel_units::{Duration, Instant};

use super::{Listener, ReceptionLoss};
use crate::StationIndex;
use crate::dcf::{ReceptionError, Sensed};
use crate::frame::Frame;

/// The time while the arrivals of a transmission begin or end one after the other, in nanoseconds after the
/// beginning or the end at the sender: comparable with the delays of the arrivals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    now: u64,
    /// Before this time, neither the medium nor the driver has anything else to do.
    bound: u64,
    /// Later instants that were reached since the listener's clock was set.
    steps: u64,
}

impl Clock {
    /// Moves the time on to an arrival with this delay. Returns `false` if something else is to be done
    /// before.
    #[inline(always)]
    pub(super) fn reach(&mut self, delay: u32) -> bool {
        let delay = u64::from(delay);
        if delay >= self.bound {
            return false;
        }
        self.steps += u64::from(delay > self.now);
        self.now = self.now.max(delay);
        true
    }
}

/// A listener for which the time moves on while the arrivals of a transmission are processed. Arrivals at
/// passive stations change the state of the medium alone: the listener's clock is set only before a report.
pub(super) struct Reports<'a, L> {
    listener: &'a mut L,
    /// Beginning or end of the transmission at the sender.
    base: Instant,
    pub(super) clock: Clock,
    /// The next change of the medium's state by something else, as in [`Clock`].
    until: u64,
}

impl<'a, L: Listener> Reports<'a, L> {
    /// The reports of a call at `now` of arrivals whose delays count from `base`. The medium has something
    /// else to do at `until`.
    pub(super) fn new(listener: &'a mut L, base: Instant, now: Instant, until: Instant) -> Self {
        let [now, until] = [now, until].map(|time| (time - base).as_nanos());
        let mut reports = Self { listener, base, clock: Clock { now, bound: 0, steps: 0 }, until };
        reports.limit();
        reports
    }

    /// The time of an arrival with this delay.
    #[inline(always)]
    pub(super) fn at(&self, delay: u32) -> Instant {
        self.base + Duration::from_nanos(u64::from(delay))
    }

    /// Arrivals at the present time are reported in any case.
    fn limit(&mut self) {
        let limit = (self.listener.limit() - self.base).as_nanos();
        self.clock.bound = self.until.min(limit.max(self.clock.now + 1));
    }

    fn now(&self) -> Instant {
        self.base + Duration::from_nanos(self.clock.now)
    }

    fn report(&mut self, call: impl FnOnce(&mut L)) {
        let steps = core::mem::take(&mut self.clock.steps);
        self.listener.advance(self.now(), steps);
        call(self.listener);
        self.limit();
    }

    /// Sets the listener's clock after the last arrival, and returns the time.
    pub(super) fn end(self) -> Instant {
        let now = self.now();
        self.listener.advance(now, self.clock.steps);
        now
    }

    pub(super) fn busy(&mut self, at: Instant, station: StationIndex) {
        self.report(|listener| listener.busy(at, station));
    }

    /// Returns `true` if the station is passive from now on.
    pub(super) fn idle(&mut self, at: Instant, station: StationIndex) -> bool {
        self.report(|listener| listener.idle(at, station));
        self.listener.is_passive(station)
    }

    /// A `sensed` summary precedes the reception that ends a station's passivity.
    pub(super) fn received(
        &mut self,
        at: Instant,
        station: StationIndex,
        frame: &Frame,
        sensed: Option<&Sensed>,
    ) {
        self.report(|listener| {
            if let Some(sensed) = sensed {
                listener.sensed(station, sensed);
            }
            listener.received(at, station, frame);
        });
    }

    pub(super) fn error(&mut self, at: Instant, station: StationIndex, error: ReceptionError) {
        self.report(|listener| listener.error(at, station, error));
    }

    pub(super) fn captured(&mut self, at: Instant, station: StationIndex, air_time: Duration) {
        self.report(|listener| listener.captured(at, station, air_time));
    }

    pub(super) fn damaged(&mut self, station: StationIndex, frame: &Frame, part: (Instant, Instant)) {
        self.listener.damaged(station, frame, part);
    }

    #[inline(always)]
    pub(super) fn overhears(&self, station: StationIndex, frame: &Frame) -> bool {
        self.listener.overhears(station, frame)
    }

    #[inline(always)]
    pub(super) fn lost(&mut self, at: Instant, station: StationIndex, frame: &Frame, cause: ReceptionLoss) {
        self.listener.lost(at, station, frame, cause);
    }
}
