//! Expiration of the connection's timers.

use whimbrel_units::Instant;

use super::liveness::Liveness;
use super::timer::Timer;
use super::{Connection, State};
use crate::{ConnectionError, UnfreezeCause};

impl Connection {
    /// Runs the timers that are due.
    pub(super) fn run_timers(&mut self, now: Instant) {
        if self.next_timer() > now {
            return;
        }
        while let Some(timer) = self.fx.timers.take_due(now) {
            self.on_timer(now, timer);
        }
        if self.cx.state.may_send_data() {
            self.congestion.handle_timeout(now);
            self.adopt_feature_requests(now);
        }
        self.fx.queue.expire(now, &mut self.fx.events);
        self.release(now);
    }

    /// Time at which [`Connection::run_timers`] has work to do.
    pub(super) fn next_timer(&self) -> Instant {
        let congestion =
            if self.cx.state.may_send_data() { self.congestion.next_timer() } else { Instant::FAR_FUTURE };
        let reordering =
            self.resequencer.as_ref().map_or(Instant::FAR_FUTURE, |resequencer| resequencer.next_timer());
        self.fx.timers.next().min(congestion).min(reordering).min(self.fx.queue.next_deadline())
    }

    fn on_timer(&mut self, now: Instant, timer: Timer) {
        match timer {
            Timer::Request if self.cx.state == State::Invited => {
                self.cx.state = self.invitation.on_timer(&mut self.fx);
            }
            Timer::Request => self.fx.outbound.owe_request(),
            Timer::PartOpenAck => self.handshake.repeat_acknowledgement(&mut self.fx),
            Timer::Close => self.fx.outbound.owe_close(),
            Timer::Connect | Timer::Handshake | Timer::GiveUpClosing => {
                self.abort_with(ConnectionError::TimedOut);
            }
            Timer::TimeWait => {
                self.cx.state = State::Closed;
                self.closing.drain(&mut self.fx);
            }
            Timer::Probe => {
                let again = self.fx.outbound.syncs().probe(self.cx.sequence.numbers.gsr());
                self.fx.timers.set(Timer::Probe, now + again);
                self.mtu.suspect(now, &self.cx, &mut self.fx);
            }
            // The expired timer no longer holds data back.
            Timer::Constraint => {}
            Timer::CcidHold => self.cx.features.negotiation.release_ccids(),
            Timer::Idle => {
                let is_frozen = self.freezing.is_frozen();
                if Liveness::check_idle(now, &self.cx, &mut self.fx, is_frozen) {
                    self.abort_with(ConnectionError::TimedOut);
                }
            }
            Timer::KeepAlive => {
                self.liveness.keep_alive(now, &self.cx, &mut self.fx, self.freezing.is_quiet());
            }
            Timer::PathMtu => {
                if !self.freezing.is_quiet() {
                    let resized = self.mtu.on_timer(now, &self.cx, &mut self.fx);
                    self.resize(now, resized);
                }
            }
            Timer::Announce => {
                let front = self.fx.queue.front_len();
                let data_wait = front.is_some_and(|size| !self.fits_beside_constants(now, size));
                self.mobility.announce_again(now, &self.cx, &mut self.fx, data_wait);
            }
            Timer::Silence => {
                let is_quiet = self.freezing.is_quiet();
                self.mobility.check_silence(now, &self.cx, &mut self.fx, is_quiet);
            }
            Timer::Outage => {
                self.liveness.check_outage(now, &self.cx, &mut self.fx, self.freezing.is_quiet());
            }
            Timer::RepeatFreeze => self.freezing.repeat_announcement(now, &self.cx, &mut self.fx),
            Timer::VerifyFreeze => self.freezing.verify(now, &mut self.fx),
            Timer::LocalFreeze => {
                let change = self.freezing.end_local(&mut self.fx);
                self.on_freeze_change(now, change);
            }
            Timer::RemoteFreeze => {
                let change = self.freezing.end_by_peer(&mut self.fx, UnfreezeCause::Limit);
                self.on_freeze_change(now, change);
            }
        }
    }
}
