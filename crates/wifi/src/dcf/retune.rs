//! Changes of the channel.

use whimbrel_units::Instant;

use super::access::ChannelAccess;
use super::{Dcf, Exchange, InService, Outgoing};
use crate::random::Random;

impl<R: Random> Dcf<R> {
    /// `true` while the station transmits or owes a response, which a change of the channel waits for.
    pub const fn is_engaged(&self) -> bool {
        self.on_air.is_some() || self.response.is_some()
    }

    /// The radio leaves its channel. Returns the payload in service, which the MAC has not sent successfully;
    /// its receiver may have received it all the same. Must not be called while the station [is
    /// engaged](Self::is_engaged).
    ///
    /// Waits for responses, reservations and retry counters are void.
    pub fn leave_channel(&mut self, now: Instant) -> Option<Outgoing> {
        debug_assert!(!self.is_engaged(), "the station transmits or owes a response");
        let withdrawn = self.in_service.take().map(|InService { frame, is_adapted, .. }| Outgoing {
            receiver: frame.receiver,
            size: frame.size.saturating_sub(self.config.header_bytes),
            payload: frame.payload,
            kind: frame.kind,
            rate: (!is_adapted).then_some(frame.rate),
            addressing: frame.addressing,
        });
        // The data behind a probe, which itself is not repeated.
        let withdrawn = self.behind_probe.take().or(withdrawn);
        self.counters.withdrawn += u64::from(withdrawn.is_some());
        self.exchange = Exchange::None;
        self.stop_waiting();
        self.nav_reset_at = None;
        self.data_until = None;
        (self.short_retries, self.long_retries, self.retries) = (0, 0, 0);
        self.window = self.config.phy.cw_min;
        self.access = ChannelAccess::new(self.config.spacing());
        self.access.restart_spacing(now);
        self.refresh_timer();
        withdrawn
    }

    /// The radio is on another channel, which is idle as far as the station knows. The first access needs a
    /// backoff: stations that come to a channel together, because they lost one access point, do not transmit
    /// at one instant.
    pub fn enter_channel(&mut self, now: Instant) {
        self.access.restart_spacing(now);
        self.draw_backoff(now);
    }
}
