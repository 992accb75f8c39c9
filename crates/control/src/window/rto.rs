//! The retransmission timeout (RFC 6298).
//!
//! An [`RttEstimator`] converts round-trip times into the time to wait for an acknowledgement before a
//! segment is considered lost. Callers must measure only what Karn's algorithm allows: segments that were
//! sent once (RFC 6298, Section 3).
//!
//! The arithmetic is the usual integer one: `SRTT` scaled by 8 and `RTTVAR` by 4, so that the gains 1/8 and
//! 1/4 are additions. It counts ticks of a clock. With a tick of a nanosecond the result is exact to the
//! nanosecond; with a coarse tick ([`RtoConfig::NS2`]: 10 ms) it is BSD's and ns-2's, where small
//! round-trip times are a few ticks and timeouts are accordingly imprecise.

use whimbrel_units::{Duration, Instant};

/// Constants of the estimator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Timeout before the first measurement.
    pub initial: Duration,
    /// Minimum timeout.
    pub minimum: Duration,
    /// Maximum timeout, with or without back-off.
    pub maximum: Duration,
    /// `G`: minimum amount added to the smoothed round-trip time.
    pub granularity: Duration,
    /// Tick of the clock that measures round-trip times; exact if at most a nanosecond.
    pub tick: Duration,
    /// Time between the last tick of that clock and the driver's epoch. It determines if 15 ms are one tick
    /// of 10 ms or two.
    pub tick_phase: Duration,
    /// Number of consecutive back-offs after which the round-trip time is discarded, as it is then unlikely
    /// to be right (RFC 6298, Section 5, last paragraph, which allows this).
    pub forget_after: Option<u32>,
}

impl RtoConfig {
    /// RFC 6298: 1 s initially and as minimum, 60 s as maximum, `G` = 1 ms, an exact clock.
    pub const RFC6298: Self = Self {
        initial: Duration::from_secs(1),
        minimum: Duration::from_secs(1),
        maximum: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        tick: Duration::from_nanos(1),
        tick_phase: Duration::ZERO,
        forget_after: None,
    };

    /// ns-2.35's `Agent/TCP`: `rtxcur_init_` 3 s, `minrto_` 200 ms, `maxrto_` 60 s, `tcpTick_` 10 ms, and no
    /// `G`. (There the phase of the clock, `boot_time_`, is drawn at random.)
    pub const NS2: Self = Self {
        initial: Duration::from_secs(3),
        minimum: Duration::from_millis(200),
        maximum: Duration::from_secs(60),
        granularity: Duration::ZERO,
        tick: Duration::from_millis(10),
        tick_phase: Duration::ZERO,
        forget_after: Some(4),
    };
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self::RFC6298
    }
}

/// SRTT, RTTVAR and RTO.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    /// Nanoseconds in a tick, at least 1.
    tick: u64,
    /// 8 SRTT in ticks; 0 before the first measurement, as measurements are at least a tick.
    srtt_8: i64,
    /// 4 RTTVAR in ticks.
    rttvar_4: i64,
    latest: Option<Duration>,
    /// The timeout before bounds and back-off.
    base: Duration,
    /// Number of back-offs.
    backoffs: u32,
}

impl RttEstimator {
    /// An estimator without measurements.
    pub fn new(config: RtoConfig) -> Self {
        let tick = config.tick.as_nanos().max(1);
        Self { config, tick, srtt_8: 0, rttvar_4: 0, latest: None, base: config.initial, backoffs: 0 }
    }

    /// Processes an acknowledgement at `now` of a segment that was sent once, at `sent`. Ends any back-off.
    pub fn on_round_trip(&mut self, sent: Instant, now: Instant) {
        if self.tick == 1 {
            return self.on_ticks((now - sent).as_nanos());
        }
        // A coarse clock counts the ticks in between, which depends on the phase of the send time within a
        // tick.
        let phase = self.config.tick_phase.as_nanos();
        self.on_ticks((now.as_nanos() + phase) / self.tick - (sent.as_nanos() + phase) / self.tick);
    }

    /// Processes a round-trip time from the peer's timestamp echo (RFC 7323, Section 4.1), rounded to the
    /// nearest tick. Ends any back-off.
    pub fn on_sample(&mut self, rtt: Duration) {
        self.on_ticks((rtt.as_nanos() + self.tick / 2) / self.tick);
    }

    fn on_ticks(&mut self, ticks: u64) {
        let ticks = ticks.max(1);
        self.latest = Some(self.in_time(ticks as i64));
        let measured = ticks as i64;
        if self.srtt_8 == 0 {
            // RFC 6298, Section 2.2.
            self.srtt_8 = measured << 3;
            self.rttvar_4 = measured << 1;
        } else {
            // RFC 6298, Section 2.3: RTTVAR is updated before SRTT, by the error against the old SRTT.
            let error = measured - (self.srtt_8 >> 3);
            self.srtt_8 = (self.srtt_8 + error).max(1);
            self.rttvar_4 = (self.rttvar_4 + error.abs() - (self.rttvar_4 >> 2)).max(1);
        }
        // SRTT + 4 RTTVAR: RTTVAR is kept fourfold, so this is one shift for both.
        let both = self.in_time((self.srtt_8 + (self.rttvar_4 << 3)) >> 3);
        self.base = both.max(self.in_time(self.srtt_8 >> 3) + self.config.granularity);
        self.backoffs = 0;
    }

    /// Handles an expiration of the timer: doubles the timeout (RFC 6298, Section 5.5).
    pub fn back_off(&mut self) {
        if self.rto() < self.config.maximum {
            self.backoffs += 1;
        }
        if self.config.forget_after.is_some_and(|limit| self.backoffs >= limit) {
            self.srtt_8 = 0;
        }
    }

    /// Restarts with `timeout` and without a round-trip time, as after a SYN that was lost (RFC 6298, Section
    /// 5.7).
    pub fn restart(&mut self, timeout: Duration) {
        *self = Self { base: timeout, ..Self::new(self.config) };
    }

    /// RTO: time to wait for an acknowledgement.
    pub fn rto(&self) -> Duration {
        let least = self.base.max(self.config.minimum).as_nanos();
        // u64::MAX represents overflow: the maximum applies.
        let backed_off =
            if least.leading_zeros() > self.backoffs { least << self.backoffs } else { u64::MAX };
        let bounded = Duration::from_nanos(backed_off).min(self.config.maximum);
        // A coarse timer that is set for one tick may expire at once.
        if self.tick > 1 { bounded.max(Duration::from_nanos(2 * self.tick)) } else { bounded }
    }

    /// SRTT: the smoothed round-trip time; `None` before the first measurement.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| Duration::from_nanos((self.srtt_8 as u64 * self.tick) >> 3))
    }

    /// RTTVAR: the mean deviation; `None` before the first measurement.
    pub fn variation(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| Duration::from_nanos((self.rttvar_4 as u64 * self.tick) >> 2))
    }

    /// The last measurement, in the resolution of the clock.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Number of back-offs since the last measurement.
    pub fn backoffs(&self) -> u32 {
        self.backoffs
    }

    fn in_time(&self, ticks: i64) -> Duration {
        Duration::from_nanos((ticks as u64).saturating_mul(self.tick))
    }
}

#[cfg(test)]
mod tests;
