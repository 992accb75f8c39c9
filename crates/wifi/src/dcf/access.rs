//! Access to the medium: interframe spaces, virtual carrier sense and the backoff counter.
//!
//! The counter is a deadline, not a sequence of slot events. While the medium is idle the deadline is a
//! function of a few stored instants; when the medium becomes busy, the whole slots that have passed are
//! subtracted.

use whimbrel_units::{Duration, Instant};

use super::passive::Sensed;

/// Interframe spaces by which a station defers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    /// Slot time.
    pub slot: Duration,
    /// Idle time before access and before the first slot of a backoff.
    pub difs: Duration,
    /// Idle time in place of `difs` after a frame that was received with errors.
    pub eifs: Duration,
    /// `true` if a backoff that begins while the medium is idle begins at the next boundary of the slots that
    /// are counted from the end of the interframe space, `false` if it begins at once.
    pub is_slotted: bool,
}

/// The first access of a frame for which no backoff is in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// The medium is idle: access after an interframe space, without a backoff.
    Immediate {
        /// Idle time required from the request on; zero if the idle time before the request counts.
        wait: Duration,
    },
    /// A backoff of this many slots.
    Backoff(u32),
    /// The backoff in progress, or one that is started separately.
    Unchanged,
}

/// One station's access to the medium.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChannelAccess {
    spacing: Spacing,
    is_sensed_busy: bool,
    is_transmitting: bool,
    /// A frame with errors ended while the medium was busy: the next idle period begins with EIFS.
    ended_in_error: bool,
    is_requested: bool,
    /// A backoff is in progress or, with no remaining slots, waits for the end of its interframe space.
    is_backing_off: bool,
    /// The request is an immediate access, which a busy medium turns into a backoff.
    is_immediate: bool,
    /// The grant was reached at this instant, at which the medium became busy, too.
    granted: Option<Instant>,
    remaining: u32,
    /// End of the last busy period, sensed or own.
    idle_since: Instant,
    nav_end: Instant,
    reserved_end: Instant,
    /// End of EIFS after a frame with errors.
    error_end: Instant,
    /// Slots before this instant do not count.
    count_from: Instant,
}

impl ChannelAccess {
    /// A station that senses an idle medium from the epoch on.
    pub const fn new(spacing: Spacing) -> Self {
        Self {
            spacing,
            is_sensed_busy: false,
            is_transmitting: false,
            ended_in_error: false,
            is_requested: false,
            is_backing_off: false,
            is_immediate: false,
            granted: None,
            remaining: 0,
            idle_since: Instant::ZERO,
            nav_end: Instant::ZERO,
            reserved_end: Instant::ZERO,
            error_end: Instant::ZERO,
            count_from: Instant::ZERO,
        }
    }

    /// `true` while physical carrier sense reports energy or the station transmits.
    pub const fn is_physically_busy(&self) -> bool {
        self.is_sensed_busy || self.is_transmitting
    }

    /// `true` while physical carrier sense reports energy.
    pub const fn is_sensed_busy(&self) -> bool {
        self.is_sensed_busy
    }

    /// `true` if neither carrier sense nor a reservation prevents access, interframe spaces aside.
    #[inline]
    pub fn is_idle(&self, now: Instant) -> bool {
        !self.is_physically_busy() && self.nav_end <= now && self.reserved_end <= now
    }

    /// The extended interframe space.
    pub const fn eifs(&self) -> Duration {
        self.spacing.eifs
    }

    /// End of the reservation by the duration fields of other stations' frames.
    pub const fn nav_end(&self) -> Instant {
        self.nav_end
    }

    /// Slots that remain of the backoff as of the last busy period.
    pub const fn remaining_slots(&self) -> u32 {
        self.remaining
    }

    /// `true` if a request waits for its grant.
    pub const fn is_requested(&self) -> bool {
        self.is_requested
    }

    /// `true` if the medium is idle, access is not requested and no backoff is in progress.
    #[inline]
    pub const fn is_at_rest(&self) -> bool {
        !self.is_requested && !self.is_backing_off && !self.is_physically_busy() && !self.ended_in_error
    }

    /// `true` while a backoff is in progress. Counts the slots up to `now`.
    pub fn is_backing_off(&mut self, now: Instant) -> bool {
        self.settle(now);
        self.is_backing_off
    }

    /// Time of the grant if the medium stays idle; `None` without a request or while the medium is busy.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        if !self.is_requested {
            return None;
        }
        if self.granted.is_some() {
            return self.granted;
        }
        if self.is_physically_busy() {
            return None;
        }
        Some(self.deadline_on_idle())
    }

    #[inline]
    fn deadline_on_idle(&self) -> Instant {
        self.count_base() + self.spacing.slot * u64::from(self.remaining)
    }

    /// Requests access for a frame. A request while a backoff is in progress must be [`Request::Unchanged`].
    pub fn request(&mut self, now: Instant, request: Request) {
        self.settle(now);
        self.is_requested = true;
        match request {
            Request::Immediate { wait } => {
                self.remaining = 0;
                self.count_from = now + wait;
                self.is_immediate = true;
                self.is_backing_off = false;
            }
            Request::Backoff(slots) => self.start_backoff(now, slots),
            Request::Unchanged => {}
        }
    }

    /// Starts a backoff, with or without a request.
    pub fn start_backoff(&mut self, now: Instant, slots: u32) {
        self.remaining = slots;
        self.is_backing_off = true;
        self.is_immediate = false;
        self.granted = None;
        self.count_from = self.next_boundary(now);
    }

    /// Ends the request: its grant was used.
    pub fn take_grant(&mut self) {
        self.is_requested = false;
        self.is_backing_off = false;
        self.is_immediate = false;
        self.granted = None;
        self.remaining = 0;
    }

    /// The medium became busy. Returns `true` if it interrupted an immediate access, which then needs a
    /// backoff.
    ///
    /// A grant at this very instant stands: the station decided at the slot's boundary, before it could sense
    /// the signal. So two stations whose counters expire in the same slot both transmit.
    #[inline]
    pub fn handle_busy(&mut self, now: Instant) -> bool {
        if self.is_sensed_busy {
            return false;
        }
        self.is_sensed_busy = true;
        if self.is_transmitting || self.granted.is_some() {
            return false;
        }
        if self.is_requested && self.deadline_on_idle() <= now {
            self.granted = Some(self.deadline_on_idle());
            return false;
        }
        self.count(now);
        self.is_requested && self.is_immediate
    }

    /// The medium became idle.
    #[inline]
    pub fn handle_idle(&mut self, now: Instant) {
        if !self.is_sensed_busy {
            return;
        }
        self.is_sensed_busy = false;
        self.idle_since = now;
        if self.ended_in_error {
            self.ended_in_error = false;
            self.error_end = now + self.spacing.eifs;
        }
    }

    /// Energy that was sensed since the station was [at rest](Self::is_at_rest). EIFS follows a corrupted
    /// frame if it `has_eifs`.
    pub fn handle_sensed(&mut self, sensed: &Sensed, has_eifs: bool) {
        self.is_sensed_busy = sensed.is_busy;
        if sensed.idle_since > Instant::ZERO {
            self.idle_since = sensed.idle_since;
        }
        if sensed.has_received {
            self.error_end = Instant::ZERO;
        }
        if has_eifs {
            self.ended_in_error = sensed.ended_in_error;
            if sensed.error_idle > Instant::ZERO {
                self.error_end = sensed.error_idle + self.spacing.eifs;
            }
        }
    }

    /// A frame ended that was received without errors: EIFS no longer applies (IEEE 802.11-2012, 9.3.2.3.7).
    #[inline]
    pub fn handle_frame(&mut self, now: Instant) {
        self.settle(now);
        self.ended_in_error = false;
        self.error_end = Instant::ZERO;
    }

    /// A frame ended that was received with errors: EIFS applies from the end of the busy period.
    #[inline]
    pub fn handle_error(&mut self, now: Instant) {
        self.settle(now);
        if self.is_sensed_busy {
            self.ended_in_error = true;
        } else {
            self.error_end = now + self.spacing.eifs;
        }
    }

    /// Defers for EIFS counted from `end`, the end of an own frame that got no response.
    pub fn defer_after_own_frame(&mut self, now: Instant, end: Instant) {
        self.settle(now);
        self.error_end = self.error_end.max(end + self.spacing.eifs);
    }

    /// Idle time before `now` no longer counts: a new interframe space begins.
    pub fn restart_spacing(&mut self, now: Instant) {
        self.settle(now);
        self.idle_since = self.idle_since.max(now);
    }

    /// Reserves the medium until `until`, unless it is reserved for longer. Returns `true` if that is longer.
    #[inline]
    pub fn set_nav(&mut self, now: Instant, until: Instant) -> bool {
        if until <= self.nav_end {
            return false;
        }
        self.settle(now);
        self.nav_end = until;
        true
    }

    /// Ends the reservation at `end`, earlier than announced.
    pub fn reset_nav(&mut self, now: Instant, end: Instant) {
        self.settle(now);
        self.nav_end = end;
    }

    /// Keeps the station from access until `until` without setting its NAV.
    pub fn reserve(&mut self, now: Instant, until: Instant) {
        self.settle(now);
        self.reserved_end = until;
    }

    /// The station begins to transmit.
    pub fn handle_transmit_start(&mut self, now: Instant) {
        self.settle(now);
        self.is_transmitting = true;
    }

    /// The station's own transmission ended.
    pub fn handle_transmit_end(&mut self, now: Instant) {
        self.is_transmitting = false;
        self.idle_since = now;
    }

    /// Beginning of the first slot after the interframe space.
    #[inline]
    fn access_start(&self) -> Instant {
        let idle = self.idle_since.max(self.nav_end).max(self.reserved_end);
        (idle + self.spacing.difs).max(self.error_end)
    }

    #[inline]
    fn count_base(&self) -> Instant {
        self.count_from.max(self.access_start())
    }

    /// Subtracts the whole slots that were idle up to `now`.
    #[inline]
    fn settle(&mut self, now: Instant) {
        if !self.is_physically_busy() && self.granted.is_none() {
            self.count(now);
        }
    }

    /// Subtracts the whole slots up to `now`, which were idle.
    #[inline]
    fn count(&mut self, now: Instant) {
        if self.is_backing_off {
            self.count_slots(now);
        }
    }

    fn count_slots(&mut self, now: Instant) {
        let base = self.count_base();
        if now < base {
            return;
        }
        let passed = (now - base).as_nanos() / self.spacing.slot.as_nanos();
        if passed >= u64::from(self.remaining) && !self.is_requested {
            self.is_backing_off = false;
            self.remaining = 0;
        } else {
            let counted = u64::from(self.remaining).min(passed);
            self.remaining -= counted as u32;
            self.count_from = base + self.spacing.slot * counted;
        }
    }

    /// The first slot boundary not before `now`, on the grid that begins at the end of the interframe space.
    fn next_boundary(&self, now: Instant) -> Instant {
        let start = self.access_start();
        if !self.spacing.is_slotted || self.is_physically_busy() || now <= start {
            return now;
        }
        let slot = self.spacing.slot.as_nanos();
        start + self.spacing.slot * (now - start).as_nanos().div_ceil(slot)
    }
}

#[cfg(test)]
mod tests;
