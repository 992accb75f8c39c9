//! The retransmission timeout (RFC 6298).
//!
//! An [`RttEstimator`] turns round-trip times into the time to wait for an acknowledgement before taking it for
//! lost. It is the caller's part to measure only what Karn's algorithm allows: a segment that was sent
//! once (RFC 6298, Section 3).
//!
//! The arithmetic is the usual one in integers: `SRTT` kept eightfold and `RTTVAR` fourfold, so that
//! the gains 1/8 and 1/4 are additions. It counts ticks of a clock. With a tick of a nanosecond the
//! result is RFC 6298's to the nanosecond; with a coarse tick ([`RtoConfig::NS2`]: 10 ms) it is that of BSD and
//! of ns-2, whose small round-trip times are a few ticks and whose timeouts are accordingly rough.

use whimbrel_units::{Duration, Instant};

/// Constants of the estimator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// The timeout before the first measurement.
    pub initial: Duration,
    /// The least timeout.
    pub minimum: Duration,
    /// The largest timeout, backed off or not.
    pub maximum: Duration,
    /// `G`: the least that is added to the smoothed round-trip time.
    pub granularity: Duration,
    /// The clock that measures round-trip times counts in these. At most a nanosecond: exact.
    pub tick: Duration,
    /// How long before the driver's epoch that clock ticked. It decides whether 15 ms are one tick of 10 ms or two.
    pub tick_phase: Duration,
    /// Forget the round-trip time once the timer was backed off so often in a row, since it can hardly
    /// be right (RFC 6298, Section 5, last paragraph, which allows it).
    pub forget_after: Option<u32>,
}

impl RtoConfig {
    /// RFC 6298: 1 s at first and at least, 60 s at most, `G` = 1 ms, an exact clock.
    pub const RFC6298: Self = Self {
        initial: Duration::from_secs(1),
        minimum: Duration::from_secs(1),
        maximum: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        tick: Duration::from_nanos(1),
        tick_phase: Duration::ZERO,
        forget_after: None,
    };

    /// ns-2.35's `Agent/TCP`: `rtxcur_init_` 3 s, `minrto_` 200 ms, `maxrto_` 60 s, `tcpTick_` 10 ms, and no `G`.
    /// (There the phase of the clock, `boot_time_`, is drawn at random.)
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
    /// How often it was doubled.
    backoffs: u32,
}

impl RttEstimator {
    /// An estimator that has measured nothing.
    pub fn new(config: RtoConfig) -> Self {
        let tick = config.tick.as_nanos().max(1);
        Self { config, tick, srtt_8: 0, rttvar_4: 0, latest: None, base: config.initial, backoffs: 0 }
    }

    /// A segment that was sent once, at `sent`, was acknowledged at `now`. Ends any back-off.
    pub fn on_round_trip(&mut self, sent: Instant, now: Instant) {
        if self.tick == 1 {
            return self.on_ticks((now - sent).as_nanos());
        }
        // A coarse clock counts the ticks that fall between, wherever in a tick the segment was sent.
        let phase = self.config.tick_phase.as_nanos();
        self.on_ticks((now.as_nanos() + phase) / self.tick - (sent.as_nanos() + phase) / self.tick);
    }

    /// A round-trip time that the other end's echo of a timestamp gave (RFC 7323, Section 4.1),
    /// rounded to the nearest tick. Ends any back-off.
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
            // RFC 6298, Section 2.3: RTTVAR moves before SRTT does, by the error against the old SRTT.
            let error = measured - (self.srtt_8 >> 3);
            self.srtt_8 = (self.srtt_8 + error).max(1);
            self.rttvar_4 = (self.rttvar_4 + error.abs() - (self.rttvar_4 >> 2)).max(1);
        }
        // SRTT + 4 RTTVAR: RTTVAR is kept fourfold, so this is one shift for both.
        let both = self.in_time((self.srtt_8 + (self.rttvar_4 << 3)) >> 3);
        self.base = both.max(self.in_time(self.srtt_8 >> 3) + self.config.granularity);
        self.backoffs = 0;
    }

    /// The timer expired: doubles the timeout (RFC 6298, Section 5.5).
    pub fn back_off(&mut self) {
        if self.rto() < self.config.maximum {
            self.backoffs += 1;
        }
        if self.config.forget_after.is_some_and(|limit| self.backoffs >= limit) {
            self.srtt_8 = 0;
        }
    }

    /// Starts over from that timeout and without a round-trip time, as after a SYN that was lost
    /// (RFC 6298, Section 5.7).
    pub fn restart(&mut self, timeout: Duration) {
        *self = Self { base: timeout, ..Self::new(self.config) };
    }

    /// RTO: how long to wait for an acknowledgement.
    pub fn rto(&self) -> Duration {
        let least = self.base.max(self.config.minimum).as_nanos();
        // u64::MAX stands for "too long": the maximum applies.
        let backed_off =
            if least.leading_zeros() > self.backoffs { least << self.backoffs } else { u64::MAX };
        let bounded = Duration::from_nanos(backed_off).min(self.config.maximum);
        // A coarse timer that is set for one tick may expire at once.
        if self.tick > 1 { bounded.max(Duration::from_nanos(2 * self.tick)) } else { bounded }
    }

    /// SRTT: the smoothed round-trip time, once there is a measurement.
    pub fn smoothed(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| Duration::from_nanos((self.srtt_8 as u64 * self.tick) >> 3))
    }
    /// RTTVAR: the mean deviation, once there is a measurement.
    pub fn variation(&self) -> Option<Duration> {
        (self.srtt_8 > 0).then(|| Duration::from_nanos((self.rttvar_4 as u64 * self.tick) >> 2))
    }
    /// The last measurement, as the clock saw it.
    pub fn latest(&self) -> Option<Duration> {
        self.latest
    }
    /// How often the timeout was doubled since the last measurement.
    pub fn backoffs(&self) -> u32 {
        self.backoffs
    }

    fn in_time(&self, ticks: i64) -> Duration {
        Duration::from_nanos((ticks as u64).saturating_mul(self.tick))
    }
}

#[cfg(test)]
mod tests;
