//! The backoff counters of a station's access categories.
//!
//! A counter is decremented at every boundary of slots, the first of which lies AIFS after the end of the
//! busy period, also at that at which another station begins to transmit (IEEE Std 802.11-2020, 10.23.2.4).
//! The distributed coordination function counts whole idle slots instead: each busy period costs its counters
//! one slot less.

use whimbrel_units::{Duration, Instant};

use super::config::EdcaConfig;

/// The counter of an access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counter {
    aifs: Duration,
    remaining: u32,
    /// There is a frame to be sent.
    has_traffic: bool,
    /// Boundaries before this instant do not count.
    from: Instant,
}

/// Carrier sense and the counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// The time before AIFS after a frame with errors.
    error_wait: Duration,
    is_sensed_busy: bool,
    is_transmitting: bool,
    /// An exchange of the station itself is in progress.
    is_held: bool,
    ended_in_error: bool,
    idle_since: Instant,
    nav_end: Instant,
    /// End of the wait after a frame with errors.
    error_end: Instant,
    /// The grant was reached at this instant, at which the medium became busy, too.
    granted: Option<Instant>,
    counters: [Counter; 4],
}

impl Contention {
    pub(super) fn new(config: &EdcaConfig) -> Self {
        let phy = &config.phy;
        let counter = |category: super::CategoryParameters| Counter {
            aifs: phy.sifs + phy.slot * u64::from(category.aifsn),
            remaining: 0,
            has_traffic: false,
            from: Instant::ZERO,
        };
        Self {
            slot: phy.slot,
            error_wait: config.error_wait(),
            is_sensed_busy: false,
            is_transmitting: false,
            is_held: false,
            ended_in_error: false,
            idle_since: Instant::ZERO,
            nav_end: Instant::ZERO,
            error_end: Instant::ZERO,
            granted: None,
            counters: config.categories.map(counter),
        }
    }

    /// The radio has come to a channel: interframe spaces begin anew.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.idle_since = now;
    }

    pub(super) const fn is_sensed_busy(&self) -> bool {
        self.is_sensed_busy
    }

    pub(super) const fn nav_end(&self) -> Instant {
        self.nav_end
    }

    /// `true` if nothing prevents counting, interframe spaces aside.
    const fn is_free(&self) -> bool {
        !self.is_sensed_busy && !self.is_transmitting && !self.is_held
    }

    /// The next boundary at which the category's counter is looked at.
    fn boundary(&self, counter: &Counter) -> Instant {
        let idle = self.idle_since.max(self.nav_end).max(self.error_end);
        (idle + counter.aifs).max(counter.from)
    }

    fn grant_of(&self, counter: &Counter) -> Instant {
        self.boundary(counter) + self.slot * u64::from(counter.remaining)
    }

    /// The first grant of a category with traffic, if the medium stays idle; [`Instant::FAR_FUTURE`] for
    /// none.
    pub(super) fn deadline(&self) -> Instant {
        if let Some(granted) = self.granted {
            return granted;
        }
        if self.is_free() { self.first_grant() } else { Instant::FAR_FUTURE }
    }

    fn first_grant(&self) -> Instant {
        let with_traffic = self.counters.iter().filter(|counter| counter.has_traffic);
        with_traffic.map(|counter| self.grant_of(counter)).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// The categories whose grants are due, by number; all others count the boundaries up to `now`. The
    /// station transmits.
    pub(super) fn take_grants(&mut self, now: Instant) -> [bool; 4] {
        self.granted = None;
        let mut due = [false; 4];
        for (number, is_due) in due.iter_mut().enumerate() {
            let counter = self.counters[number];
            *is_due = counter.has_traffic && self.grant_of(&counter) <= now;
            if *is_due {
                self.counters[number].remaining = 0;
            } else {
                self.count(number, now);
            }
        }
        due
    }

    fn count(&mut self, number: usize, now: Instant) {
        let counter = self.counters[number];
        let boundary = self.boundary(&counter);
        if now >= boundary {
            let passed = (now - boundary).as_nanos() / self.slot.as_nanos() + 1;
            let counter = &mut self.counters[number];
            counter.remaining -= u64::from(counter.remaining).min(passed) as u32;
            counter.from = boundary + self.slot * passed;
        }
    }

    fn count_all(&mut self, now: Instant) {
        (0..4).for_each(|number| self.count(number, now));
    }

    /// The medium became busy. A grant at this very instant stands: the station could not sense it before.
    pub(super) fn handle_busy(&mut self, now: Instant) {
        let was_free = self.is_free();
        if core::mem::replace(&mut self.is_sensed_busy, true) || !was_free || self.granted.is_some() {
            return;
        }
        let grant = self.first_grant();
        if grant <= now {
            self.granted = Some(grant);
        } else {
            self.count_all(now);
        }
    }

    pub(super) fn handle_idle(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.is_sensed_busy, false) {
            return;
        }
        self.idle_since = now;
        if core::mem::take(&mut self.ended_in_error) {
            self.error_end = now + self.error_wait;
        }
    }

    /// A frame ended that was received without errors.
    pub(super) const fn handle_frame(&mut self) {
        self.ended_in_error = false;
        self.error_end = Instant::ZERO;
    }

    /// A frame ended that was received with errors.
    pub(super) fn handle_error(&mut self, now: Instant) {
        if self.is_sensed_busy {
            self.ended_in_error = true;
        } else {
            self.error_end = now + self.error_wait;
        }
    }

    /// Defers after an own frame without a response as the stations do that received the collision.
    pub(super) fn defer_after_own_frame(&mut self, end: Instant) {
        self.error_end = self.error_end.max(end + self.error_wait);
    }

    /// Reserves the medium, unless it is reserved for longer. Returns `true` if the reservation grew.
    pub(super) fn set_nav(&mut self, until: Instant) -> bool {
        let grows = until > self.nav_end;
        if grows {
            self.nav_end = until;
        }
        grows
    }

    /// Ends the reservation.
    pub(super) fn reset_nav(&mut self, now: Instant) {
        self.nav_end = self.nav_end.min(now);
    }

    pub(super) fn handle_transmit_start(&mut self, now: Instant) {
        if self.is_free() {
            self.count_all(now);
        }
        self.is_transmitting = true;
    }

    pub(super) const fn handle_transmit_end(&mut self, now: Instant) {
        self.is_transmitting = false;
        self.idle_since = now;
    }

    /// An exchange of the station begins: no category counts until its end.
    pub(super) const fn hold(&mut self) {
        self.is_held = true;
    }

    /// Ends the exchange. Boundaries since the end of the last frame count.
    pub(super) fn release(&mut self, now: Instant) {
        self.is_held = false;
        if self.is_free() {
            self.count_all(now);
        }
    }

    /// Begins a backoff of a category.
    pub(super) fn draw(&mut self, number: usize, now: Instant, slots: u32) {
        let start = self.boundary(&Counter { from: Instant::ZERO, ..self.counters[number] });
        let slot = self.slot.as_nanos();
        let counter = &mut self.counters[number];
        counter.remaining = slots;
        counter.from = if now > start {
            start + self.slot * (now - start).as_nanos().div_ceil(slot)
        } else {
            Instant::ZERO
        };
    }

    /// A category has something to send, or nothing more. `true` if a backoff is to be drawn, as the medium
    /// is busy and none is in progress.
    pub(super) fn set_traffic(&mut self, number: usize, now: Instant, has_traffic: bool) -> bool {
        if self.counters[number].has_traffic == has_traffic {
            return false;
        }
        let is_idle = self.is_free() && self.nav_end <= now;
        if has_traffic && is_idle {
            self.count(number, now);
        }
        self.counters[number].has_traffic = has_traffic;
        has_traffic && !is_idle && self.counters[number].remaining == 0
    }
}

#[cfg(test)]
mod tests;
