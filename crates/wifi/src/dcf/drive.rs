//! The inputs of the driver, and the deadlines.

use whimbrel_units::Instant;

use super::event::{Outgoing, Step, Transmit};
use super::{Dcf, Exchange};
use crate::random::Random;

impl<R: Random> Dcf<R> {
    /// Takes a payload into service, for which the station then contends. The caller waits for
    /// [`Event::Sent`](super::Event::Sent) or [`Event::Dropped`](super::Event::Dropped) before the next one.
    ///
    /// # Errors
    /// Returns the payload if another one is in service.
    pub fn enqueue(&mut self, now: Instant, outgoing: Outgoing) -> Result<(), Outgoing> {
        if self.in_service.is_some() {
            return Err(outgoing);
        }
        self.counters.enqueued += 1;
        self.accept(now, outgoing);
        Ok(())
    }

    /// Physical carrier sense reports energy.
    #[inline]
    pub fn handle_busy(&mut self, now: Instant) {
        if self.nav_reset_at.take().is_some() {
            self.refresh_timer();
        }
        if self.config.is_traced {
            self.handle_busy_traced(now);
        } else if self.access.handle_busy(now) {
            self.begin_backoff(now);
        }
    }

    fn handle_busy_traced(&mut self, now: Instant) {
        let had_backoff = self.access.is_backing_off(now);
        let was_busy = self.access.is_physically_busy();
        if self.access.handle_busy(now) {
            self.begin_backoff(now);
        } else if had_backoff && !was_busy && self.access.deadline().is_none() {
            self.trace(now, Step::BackoffFrozen { slots: self.access.remaining_slots() });
        }
    }

    /// Physical carrier sense reports that the energy is gone.
    #[inline]
    pub fn handle_idle(&mut self, now: Instant) {
        self.access.handle_idle(now);
        if self.awaits_reception {
            self.response_missing(now);
            self.refresh_timer();
        }
    }

    /// Processes every deadline up to `now`. A call before the next deadline has no effect.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.next_timer <= now {
            self.handle_timers(now);
            self.refresh_timer();
        }
        if self.access.deadline().is_some_and(|grant| grant <= now) {
            self.handle_grant(now);
            self.refresh_timer();
        }
    }

    fn handle_timers(&mut self, now: Instant) {
        if let Some(on_air) = self.on_air
            && on_air.end <= now
        {
            self.finish_transmission(on_air.end, on_air);
        }
        if self.nav_reset_at.is_some_and(|at| at <= now) {
            self.nav_reset_at = None;
            if self.access.nav_end() > now {
                self.access.reset_nav(now, now);
                self.trace(now, Step::NavReset);
            }
        }
        if self.data_until.is_some_and(|until| until <= now) {
            self.data_until = None;
        }
        if let Some((due, frame)) = self.response
            && due <= now
        {
            self.response = None;
            self.send_response(now, frame);
        }
        if let Exchange::DataDue(due) = self.exchange
            && due <= now
        {
            self.send_data_after_cts(now);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.handle_response_timeout(now);
        }
    }

    /// The frame whose transmission begins now. The driver drains it after every call that passes `now`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.outbox.is_none() && self.access.deadline().is_some_and(|grant| grant <= now) {
            self.handle_grant(now);
            self.refresh_timer();
        }
        self.outbox.take()
    }
}
