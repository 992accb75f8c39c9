//! Slow start after reconnection: the wait for the next packet, then doubling of the rate once per round-trip
//! time.

use super::round_trip::{Q, RoundTrips};

/// Initial value of Newton's method, n_ss0.
const START: f64 = 10.0;
/// Maximum number of steps, far more than required from any initial value: f is convex, so that the steps
/// descend to the root once they are above it.
const MOST_STEPS: u32 = 100;
/// Tolerance, in round-trip times.
const CLOSE: f64 = 1e-9;

/// A sender at reconnection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SlowStart {
    /// X_d/s: the rate before the disconnection, in packets per second.
    pub x_d: f64,
    /// X_c/s: the rate on reconnection.
    pub x_c: f64,
    /// The networks' round-trip times.
    pub rtts: RoundTrips,
}

impl SlowStart {
    /// t_idle = s/2X_c: the mean time until the next packet, in seconds.
    pub fn idle(&self) -> f64 {
        0.5 / self.x_c
    }

    /// Equation (13): X_r^i/s, the rate in round-trip time `i`, in packets per second.
    pub fn rate(&self, i: u32) -> f64 {
        libm::exp2(f64::from(i)) * self.x_c
    }

    /// Equation (14): n_wasted, the packets that a network of the old capacity could have carried in
    /// addition.
    pub fn wasted(&self) -> f64 {
        let climb: f64 = (0..=self.round_trips()).map(|i| self.rtts.new * (self.x_d - self.rate(i))).sum();
        self.idle() * self.x_d + climb
    }

    /// n_ss: the least whole number of round-trip times that satisfies inequality (15), X_r^(n_ss) >=
    /// X_Bps^(n_ss).
    pub fn round_trips(&self) -> u32 {
        libm::ceil(self.root() - 1e-6).max(0.0) as u32
    }

    /// The root of [`Self::f`] by Newton's method from n_ss0 = 10.
    ///
    /// The paper states that this converges "regardless of the network parameters". It does for the networks
    /// of the paper; a step from far below the root of a much faster network ends where 2^n overflows, so
    /// that steps are limited to the range of the root.
    pub fn root(&self) -> f64 {
        // f(0) <= 0. Both powers together are at least (2q)^n for a shorter round-trip time, and 2^n for a
        // longer one.
        let highest = libm::log(self.x_d / self.x_c) / libm::log(2.0 * Q);
        let mut n = START;
        for _ in 0..MOST_STEPS {
            let next = (n - self.f(n) / self.f_prime(n)).min(highest).max(0.0);
            if libm::fabs(next - n) < CLOSE {
                return next;
            }
            n = next;
        }
        n
    }

    /// Equation (16): the difference of the two sides of (15).
    pub fn f(&self, n_ss: f64) -> f64 {
        let ratio = self.rtts.new / self.rtts.old;
        ratio * libm::exp2(n_ss) + (1.0 - ratio) * libm::pow(2.0 * Q, n_ss) - self.x_d / self.x_c
    }

    /// Equation (17): its derivative.
    pub fn f_prime(&self, n_ss: f64) -> f64 {
        let ratio = self.rtts.new / self.rtts.old;
        ratio * libm::exp2(n_ss) * core::f64::consts::LN_2
            + (1.0 - ratio) * libm::pow(2.0 * Q, n_ss) * libm::log(2.0 * Q)
    }

    /// n_pkts^i: the packets sent by the end of round-trip time `i` (Section 3.3.2, "Number of Sent
    /// Packets").
    pub fn sent_packets(&self, i: u32) -> f64 {
        (0..=i).map(|j| self.rtts.estimate(j) * self.rate(j)).sum()
    }
}
