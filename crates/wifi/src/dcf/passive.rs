//! Stations for which carrier sense makes no difference until they do something.

use whimbrel_units::{Duration, Instant};

use super::{Dcf, ReceptionError};
use crate::frame::{Frame, FrameKind};
use crate::random::Random;

/// Summary of the edges of carrier sense, the errors and the frames of others that a
/// [passive](Dcf::is_passive) station was not notified of.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sensed {
    /// `true` if carrier sense reports energy at present.
    pub is_busy: bool,
    /// Last end of the energy; [`Instant::ZERO`] for none.
    pub idle_since: Instant,
    /// Latest end of a frame with errors, or ignored for a stronger one; [`Instant::ZERO`] for none.
    pub(super) error_end: Instant,
    /// A corrupted frame has ended in the present busy period.
    pub(super) ended_in_error: bool,
    /// End of the last busy period in which a corrupted frame ended; [`Instant::ZERO`] for none.
    pub(super) error_idle: Instant,
    /// A frame was received without errors.
    pub(super) has_received: bool,
    /// Latest end of a reservation by a frame; [`Instant::ZERO`] for none.
    pub(super) nav_end: Instant,
}

impl Sensed {
    /// The energy is gone.
    #[inline]
    pub fn idle(&mut self, now: Instant) {
        self.idle_since = now;
        if self.ended_in_error {
            self.ended_in_error = false;
            self.error_idle = now;
        }
    }

    /// A frame was received with errors while the medium was busy.
    #[inline]
    pub fn error(&mut self, now: Instant, error: ReceptionError) {
        self.error_end = self.error_end.max(now);
        self.ended_in_error |= error == ReceptionError::Corrupted;
    }

    /// A frame for another station was received that reserves the medium for `nav`.
    #[inline]
    pub fn received(&mut self, now: Instant, nav: Duration) {
        self.ended_in_error = false;
        self.error_idle = Instant::ZERO;
        self.has_received = true;
        if !nav.is_zero() {
            self.nav_end = self.nav_end.max(now + nav);
        }
    }

    /// A frame on the air for `air_time` began during the reception of a much stronger one.
    #[inline]
    pub fn captured(&mut self, now: Instant, air_time: Duration) {
        self.error_end = self.error_end.max(now + air_time);
    }
}

impl<R: Random> Dcf<R> {
    /// `true` if edges of carrier sense and errors neither change the station's deadlines nor have it do
    /// anything. The driver may pass their [summary](Sensed) instead, before any other input.
    #[inline]
    pub const fn is_passive(&self) -> bool {
        self.access.is_at_rest()
            && self.next_timer.as_nanos() == Instant::FAR_FUTURE.as_nanos()
            && !self.awaits_reception
            && !self.config.is_traced
    }

    /// `true` if a frame that a passive station receives does no more than to end the effects of errors and
    /// to reserve the medium.
    #[inline]
    pub fn overhears(&self, frame: &Frame) -> bool {
        let is_for_others = frame.receiver != self.address && !frame.receiver.is_group();
        // The reservation of an RTS has a deadline under the standard's rules.
        let has_deadline = frame.kind == FrameKind::Rts;
        // With probes, each frame is traffic, whose time matters.
        is_for_others
            && self.config.probe.is_none()
            && (self.config.is_ns2()
                || (!has_deadline && frame.mode.is_none() && self.config.phy.supported.contains(frame.rate)))
    }

    /// Processes the edges, the errors and the frames of others since the station became passive.
    pub fn handle_sensed(&mut self, sensed: &Sensed) {
        debug_assert!(self.is_passive(), "the station has deadlines");
        self.access.set_nav(sensed.nav_end, sensed.nav_end);
        if sensed.error_end > Instant::ZERO && self.config.is_ns2() {
            self.access.set_nav(sensed.error_end, sensed.error_end + self.access.eifs());
        }
        self.access.handle_sensed(sensed, !self.config.is_ns2());
    }
}
