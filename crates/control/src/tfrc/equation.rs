//! The TCP throughput equation and its inverse.
//!
//! RFC 5348, Section 3.1, with b = 1 (one packet per acknowledgement):
//!
//! ```text
//!                                   s
//! X_Bps = -------------------------------------------------------
//!         R sqrt(2p/3) + t_RTO 3 sqrt(3p/8) p (1 + 32 p^2)
//! ```
//!
//! The result depends on the round-trip time only through t_RTO/R, so that the computation is dimensionless:
//! [`packets_per_round_trip`] is X_Bps R/s, and [`loss_event_rate_at`] its inverse.

use whimbrel_units::{ByteCount, DataRate, Duration};

use super::LossEventRate;
use crate::window::rto::{RtoConfig, RttEstimator};

#[cfg(test)]
mod tests;

/// Assumption for t_RTO, TCP's retransmission timeout (RFC 5348, Section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RetransmitTimeout {
    /// 4R, which the RFC recommends (SHOULD).
    #[default]
    FourRoundTrips,
    /// The longer of 4R and one second, TCP's recommended minimum timeout, which the RFC allows: less
    /// aggressive on short paths.
    AtLeastOneSecond,
    /// The timeout measured as by a TCP (RFC 6298), with a clock of this tick and without a minimum; 4R until
    /// there is a measurement. The RFC allows a timeout "more accurate" than 4R. ns-2.35 has a tick of 100 ms
    /// (`tcp_tick_`), which is not more accurate: for comparison.
    Measured {
        /// The tick.
        tick: Duration,
    },
}

impl RetransmitTimeout {
    /// The estimator, if t_RTO is measured.
    pub(crate) fn estimator(self) -> Option<RttEstimator> {
        let Self::Measured { tick } = self else { return None };
        let none = Duration::ZERO;
        Some(RttEstimator::new(RtoConfig { minimum: none, granularity: none, tick, ..RtoConfig::RFC6298 }))
    }

    /// t_RTO/R for a round-trip time R, if t_RTO is not measured.
    pub fn in_round_trips(self, rtt: Duration) -> f64 {
        match self {
            Self::FourRoundTrips | Self::Measured { .. } => 4.0,
            Self::AtLeastOneSecond => f64::max(4.0, 1.0 / rtt.as_secs_f64().max(1e-9)),
        }
    }
}

/// X_Bps: the data rate of a TCP with segments of `segment_size` (RFC 5348, Section 3.1). Infinite without
/// loss.
pub fn throughput(
    segment_size: ByteCount,
    rtt: Duration,
    p: LossEventRate,
    timeout: RetransmitTimeout,
) -> DataRate {
    throughput_with(segment_size, rtt, p, timeout.in_round_trips(rtt))
}

/// X_Bps for t_RTO of `timeout` round-trip times.
pub(crate) fn throughput_with(
    segment_size: ByteCount,
    rtt: Duration,
    p: LossEventRate,
    timeout: f64,
) -> DataRate {
    let per_round_trip = packets_per_round_trip(p, timeout);
    DataRate::from_bytes_per_second(segment_size.as_f64() * per_round_trip / rtt.as_secs_f64())
}

/// Packets per round-trip time of a TCP, for t_RTO of `timeout` round-trip times: 1/f(p) of RFC 5348, Section
/// 8.1, if `timeout` is 4. Infinite if p is zero.
pub fn packets_per_round_trip(p: LossEventRate, timeout: f64) -> f64 {
    1.0 / response(libm::sqrt(p.as_f64()), timeout)
}

/// The loss event rate at which TCP would send `packets` per round-trip time: the inverse of
/// [`packets_per_round_trip`].
///
/// Returns [`LossEventRate::LOWEST`] if any higher loss rate gives less than `packets`, and one if even a
/// loss rate of one gives more; also for NaN.
pub fn loss_event_rate_at(packets: f64, timeout: f64) -> LossEventRate {
    let target = 1.0 / f64::max(packets, 0.0);
    // Each single term is less than the sum, so each bounds the root from above; so does p = 1.
    let [a, b] = coefficients(timeout);
    let mut root_p = f64::min(f64::min(target / a, libm::cbrt(target / b)), 1.0);
    if response(root_p, timeout) <= target {
        return LossEventRate::new(root_p * root_p).max(LossEventRate::LOWEST);
    }
    // Newton's method from the right of the root of a convex increasing function descends to it and never
    // passes it, so it has converged when a step no longer descends.
    for _ in 0..64 {
        let next = root_p - (response(root_p, timeout) - target) / slope(root_p, timeout);
        if next >= root_p {
            break;
        }
        root_p = next;
    }
    LossEventRate::new(root_p * root_p).max(LossEventRate::LOWEST)
}

/// Length of the synthetic first loss interval, in packets: the average interval at which TCP would send
/// `packets` per round-trip time (RFC 5348, Section 6.3.1). The equation is evaluated for at least half a
/// packet per round-trip time.
pub fn first_loss_interval(packets: f64, timeout: f64) -> f64 {
    let rate = loss_event_rate_at(f64::max(packets, NULL_INTERVAL_RATE), timeout);
    1.0 / rate.as_f64()
}

/// Rate after a loss of the very first data packet, in packets per round-trip time (RFC 5348, Section 6.3.1).
pub const NULL_INTERVAL_RATE: f64 = 0.5;

/// The equation's denominator over R, as a function of the square root of p, in which it is the
/// polynomial a u + b u^3 (1 + 32 u^4).
fn response(root_p: f64, timeout: f64) -> f64 {
    let [a, b] = coefficients(timeout);
    let p = root_p * root_p;
    root_p * (a + b * p * (1.0 + 32.0 * p * p))
}

/// The derivative of [`response`] by the square root of p.
fn slope(root_p: f64, timeout: f64) -> f64 {
    let [a, b] = coefficients(timeout);
    let p = root_p * root_p;
    a + b * p * (3.0 + 224.0 * p * p)
}

fn coefficients(timeout: f64) -> [f64; 2] {
    const SQRT_2_OVER_3: f64 = 0.816_496_580_927_726;
    const SQRT_3_OVER_8: f64 = 0.612_372_435_695_794_5;
    [SQRT_2_OVER_3, 3.0 * timeout * SQRT_3_OVER_8]
}
