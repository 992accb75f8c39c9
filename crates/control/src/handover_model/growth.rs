//! Growth of the rate on a larger network as the loss event rate decreases.

use super::T_RTO;
use super::round_trip::RoundTrips;
use crate::freeze::delta_p_min;
use crate::tfrc::loss_intervals::INTERVALS;
use crate::tfrc::{LossEventRate, packets_per_round_trip};

/// Growth of the rate from X_d to X_max.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Growth {
    /// n_grow: the first round-trip time with X_r >= X_max.
    pub round_trips: u32,
    /// The second term of (23): packets that could have been sent in addition during the growth.
    pub wasted: f64,
}

/// The second term of equation (23), with n_grow: from `x_d` to `x_max` packets per second, starting at the
/// loss event rate `p_r` of the old network.
pub fn grow(x_d: f64, x_max: f64, p_r: LossEventRate, rtts: RoundTrips) -> Growth {
    let mut i = 0;
    let mut x = x_d;
    let mut sent = rtts.estimate(0) * x;
    let mut unused = x_max - x;
    while x < x_max {
        i += 1;
        x = rate(x, p_r, sent, rtts.estimate(i));
        sent += rtts.estimate(i) * x;
        unused += x_max - x;
    }
    Growth { round_trips: i, wasted: rtts.new * unused }
}

/// Equation (24): X_r^i/s in packets per second, with `previous` in the preceding round-trip time, `sent`
/// packets sent so far and an estimate `rtt` of the round-trip time in seconds.
pub fn rate(previous: f64, p_r: LossEventRate, sent: f64, rtt: f64) -> f64 {
    let p = LossEventRate::new(p_r.as_f64() + delta_p_min(sent, p_r, INTERVALS));
    (packets_per_round_trip(p, T_RTO) / rtt).min(2.0 * previous)
}
