//! The disconnection: rate and timer in each nofeedback interval, and the packets lost.

use super::{T_MBI, T_RTO};

/// A sender cut off from its receiver.
///
/// Time is counted in nofeedback intervals: the times between two expirations of the nofeedback timer, from
/// 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Disconnection {
    /// X_d/s: the previous rate, in packets per second.
    pub x_d: f64,
    /// R: the previous round-trip time, in seconds.
    pub rtt: f64,
}

impl Disconnection {
    /// Equation (5): X^i/s, the rate during interval `i`, in packets per second: halved by every expiration,
    /// down to one packet per t_mbi.
    pub fn rate(&self, i: u32) -> f64 {
        if f64::from(i) < self.first_minimal_interval() {
            self.x_d / libm::exp2(f64::from(i))
        } else {
            1.0 / T_MBI
        }
    }

    /// i_x of equation (5): the first interval at the minimum rate.
    pub fn first_minimal_interval(&self) -> f64 {
        libm::ceil(libm::log2(self.x_d * T_MBI))
    }

    /// Equation (6): t_RTO^i, the length of interval `i` in seconds: 4R, or the time of two packets.
    pub fn interval(&self, i: u32) -> f64 {
        if f64::from(i) < self.first_longer_interval() { T_RTO * self.rtt } else { 2.0 / self.rate(i) }
    }

    /// i_t of equation (6): the first interval longer than 4R, where the time of two packets is greater.
    pub fn first_longer_interval(&self) -> f64 {
        libm::ceil(libm::log2(2.0 * self.rtt * self.x_d))
    }

    /// n_D: the least number for which the intervals 0 to n_D cover `t_d` seconds; that number of intervals
    /// has ended before.
    pub fn whole_intervals(&self, t_d: f64) -> u32 {
        let mut covered = 0.0;
        let mut n = 0;
        loop {
            covered += self.interval(n);
            if covered >= t_d {
                return n;
            }
            n += 1;
        }
    }

    /// Equation (7): n_lost, the packets sent during `t_d` seconds, rounded down: all of them if the timer
    /// does not expire, otherwise the intervals 0 to i_D = n_D - 1.
    pub fn lost_packets(&self, t_d: f64) -> u64 {
        let sent = if t_d <= self.interval(0) {
            t_d * self.rate(0)
        } else {
            (0..self.whole_intervals(t_d)).map(|i| self.interval(i) * self.rate(i)).sum()
        };
        libm::floor(sent) as u64
    }
}
