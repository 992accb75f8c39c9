//! Maximum-likelihood estimate of inherent loss and bandwidth limit.

use smallvec::SmallVec;

use super::SIGNIFICANT;
use super::window::Window;

/// Maximum number of windows kept.
const MEMORY: usize = 15;
/// Weight of a window relative to the following one.
const WEIGHT: f64 = 0.9;
/// Minimum of the inherent loss.
const LEAST_LOSS: f64 = 0.001;
/// Maximum of the inherent loss on a fast path.
const MOST_LOSS: f64 = 0.05;
/// Additional maximum on a slow path: this rate, in bit/s, divided by the path's.
const MORE_LOSS_BELOW: f64 = 100e3;
/// Candidate limits, as multiples of the previous one. The greatest comes first: where all windows exceed a
/// limit, a lower limit with less inherent loss is equally likely.
const STEPS: [f64; 3] = [1.02, 1.0, 0.95];
/// Log-likelihoods are equal if they differ by no more than this.
const EQUAL: f64 = 1e-6;
/// Step size at which Newton's method has converged: the next step, its square, would be negligible.
const SETTLED: f64 = 1e-6;
/// Maximum number of Newton steps.
const MOST_STEPS: usize = 40;

/// The most likely parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    /// p.
    pub(super) loss: f64,
    /// B in bit/s, if a limit is accepted.
    pub(super) limit: Option<f64>,
    /// The most likely limit, accepted or not; the next estimate starts from it.
    pub(super) likeliest: Option<f64>,
}

/// The last windows, the newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    windows: SmallVec<[Window; MEMORY]>,
}

impl History {
    pub(super) fn push(&mut self, window: Window) {
        self.windows.truncate(MEMORY - 1);
        self.windows.insert(0, window);
    }

    /// Computes the estimate that follows `before`.
    pub(super) fn estimate(&self, before: Option<Estimate>) -> Estimate {
        let likeliest = before.and_then(|before| before.likeliest);
        if self.windows.iter().all(|window| window.lost == 0) {
            return Estimate { loss: LEAST_LOSS, limit: None, likeliest };
        }
        let path = Observed::of(&self.windows);
        let newest = self.windows[0];
        let received = newest.rate * (newest.sent - newest.lost) as f64 / newest.sent as f64;
        let unlimited = path.unlimited(received);
        let steps = STEPS.iter().filter_map(|step| Some(step * likeliest?));
        let mut limited: Option<(f64, Fit)> = None;
        for limit in steps.chain([received]) {
            let fit = path.limited(limit, limited.map_or(unlimited, |(_, fit)| fit).success);
            if limited.is_none_or(|(_, best)| fit.log_likelihood > best.log_likelihood + EQUAL) {
                limited = Some((limit, fit));
            }
        }
        match limited {
            Some((limit, fit)) if fit.log_likelihood - unlimited.log_likelihood > SIGNIFICANT => {
                Estimate { loss: 1.0 - fit.success, limit: Some(limit), likeliest: Some(limit) }
            }
            _ => Estimate {
                loss: 1.0 - unlimited.success,
                limit: None,
                likeliest: limited.map(|(limit, _)| limit),
            },
        }
    }
}

/// The windows with their weights.
struct Observed {
    windows: SmallVec<[Weighted; MEMORY]>,
    lost: f64,
    received: f64,
}

#[derive(Clone, Copy)]
struct Weighted {
    lost: f64,
    received: f64,
    rate: f64,
}

/// The best p for a given limit.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// u = 1 - p.
    success: f64,
    log_likelihood: f64,
}

impl Observed {
    fn of(windows: &[Window]) -> Self {
        let mut weight = 1.0;
        let mut observed = Self { windows: SmallVec::new(), lost: 0.0, received: 0.0 };
        for window in windows {
            let (lost, received) = (weight * window.lost as f64, weight * (window.sent - window.lost) as f64);
            observed.windows.push(Weighted { lost, received, rate: window.rate });
            observed.lost += lost;
            observed.received += received;
            weight *= WEIGHT;
        }
        observed
    }

    /// The best p without a limit, on a path with this `bandwidth`.
    fn unlimited(&self, bandwidth: f64) -> Fit {
        let pooled = self.received / (self.received + self.lost);
        let success = pooled.clamp(least_success(bandwidth), 1.0 - LEAST_LOSS);
        let log_likelihood = self.received * libm::log(success) + self.lost * libm::log(1.0 - success);
        Fit { success, log_likelihood }
    }

    /// The best p under `limit`, starting from `near`.
    ///
    /// A window at the rate S > B lets the fraction B/S pass: a packet arrives with probability `u B/S`,
    /// which is another form of 1 - q.
    fn limited(&self, limit: f64, near: f64) -> Fit {
        let mut losses = Losses { received: self.received, kinds: SmallVec::new() };
        let (mut lost_within, mut passing) = (self.lost, 0.0);
        for window in self.windows.iter().filter(|window| window.rate > limit) {
            let passed = limit / window.rate;
            passing += window.received * libm::log(passed);
            lost_within -= window.lost;
            if window.lost > 0.0 {
                losses.kinds.push((window.lost, passed));
            }
        }
        if losses.kinds.is_empty() && passing == 0.0 {
            return self.unlimited(limit);
        }
        losses.kinds.push((lost_within, 1.0));
        let success = losses.success(least_success(limit), near);
        let failing = losses.kinds.iter().map(|(lost, passed)| lost * libm::log(1.0 - success * passed));
        Fit { success, log_likelihood: self.received * libm::log(success) + passing + failing.sum::<f64>() }
    }
}

/// The least 1 - p on a path with this `bandwidth`.
fn least_success(bandwidth: f64) -> f64 {
    (1.0 - MOST_LOSS - MORE_LOSS_BELOW / bandwidth).clamp(LEAST_LOSS, 1.0 - LEAST_LOSS)
}

/// Losses under a limit.
struct Losses {
    received: f64,
    /// Packets lost, and the fraction that the limit let pass in that window.
    kinds: SmallVec<[(f64, f64); MEMORY + 1]>,
}

impl Losses {
    /// The u = 1 - p of maximum likelihood. The log-likelihood is concave in u, so that its derivative
    /// decreases and has at most one root; Newton's method is kept between bounds on either side of it.
    fn success(&self, least: f64, near: f64) -> f64 {
        let (mut low, mut high) = (least, 1.0 - LEAST_LOSS);
        let mut u = near.clamp(low, high);
        for _ in 0..MOST_STEPS {
            let (value, derivative) = self.slope(u);
            if value > 0.0 {
                low = u;
            } else {
                high = u;
            }
            let mut next = u - value / derivative;
            if next >= high {
                if self.slope(high).0 >= 0.0 {
                    return high;
                }
                next = (low + high) / 2.0;
            } else if next <= low {
                if self.slope(low).0 <= 0.0 {
                    return low;
                }
                next = (low + high) / 2.0;
            }
            if (next - u).abs() < SETTLED {
                return next;
            }
            u = next;
        }
        u
    }

    /// u times the derivative of the log-likelihood by u, and the derivative of that.
    fn slope(&self, u: f64) -> (f64, f64) {
        let (mut value, mut derivative) = (self.received, 0.0);
        for (lost, passed) in &self.kinds {
            let fails = 1.0 / (1.0 - u * passed);
            value -= lost * u * passed * fails;
            derivative -= lost * passed * fails * fails;
        }
        (value, derivative)
    }
}

#[cfg(test)]
mod tests;
