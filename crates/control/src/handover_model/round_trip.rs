//! Convergence of the estimate of the round-trip time from the old network to the new one.

/// Weight of the old estimate in the moving average, q (RFC 5348, Section 4.3, step 2).
pub const Q: f64 = 0.9;

/// The round-trip times of the old and the new network, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoundTrips {
    /// R_old.
    pub old: f64,
    /// R_new.
    pub new: f64,
}

impl RoundTrips {
    /// Equation (10): R_r^i, the estimate after `i` samples on the new network, in seconds.
    pub fn estimate(&self, i: u32) -> f64 {
        let weight = libm::pow(Q, f64::from(i));
        (1.0 - weight) * self.new + weight * self.old
    }

    /// Equation (11): n_R^epsilon, the number of samples until the estimate is within `epsilon` seconds of
    /// R_new; zero if it is so initially. `epsilon` is above zero.
    pub fn samples_until_within(&self, epsilon: f64) -> u32 {
        let apart = libm::fabs(self.old - self.new);
        if apart <= epsilon {
            return 0;
        }
        libm::ceil((libm::log(epsilon) - libm::log(apart)) / libm::log(Q)) as u32
    }

    /// Equation (12): X_Bps^i/s, the rate by the throughput equation after `i` samples if it was `x_d`
    /// packets per second with R_old at the same loss event rate.
    pub fn allowed_rate(&self, x_d: f64, i: u32) -> f64 {
        self.old / self.estimate(i) * x_d
    }
}
