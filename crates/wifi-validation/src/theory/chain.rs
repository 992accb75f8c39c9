//! Bianchi's Markov chain of the backoff.

/// Parameters of the binary exponential backoff in the notation of Bianchi, "Performance analysis of the IEEE
/// 802.11 distributed coordination function", IEEE JSAC 18(3), 2000.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BackoffChain {
    /// W: the smallest number of values of the backoff, `CWmin` + 1.
    pub window: f64,
    /// m: doublings up to the largest window.
    pub stages: u32,
}

/// The operating point of n saturated stations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operation {
    /// tau: probability that a station transmits in a slot.
    pub transmission: f64,
    /// p: probability that a transmission collides.
    pub collision: f64,
}

impl BackoffChain {
    /// The chain of a contention window that grows from `cw_min` to `cw_max`.
    pub fn new(cw_min: u16, cw_max: u16) -> Self {
        let window = u32::from(cw_min) + 1;
        Self { window: f64::from(window), stages: ((u32::from(cw_max) + 1) / window).ilog2() }
    }

    /// tau as a function of p (equation 7), written without the singularity at p = 1/2.
    pub fn transmission(&self, collision: f64) -> f64 {
        let mut sum = 0.0;
        let mut power = 1.0;
        for _ in 0..self.stages {
            sum += power;
            power *= 2.0 * collision;
        }
        2.0 / (1.0 + self.window + collision * self.window * sum)
    }

    /// The unique solution of tau(p) and p = 1 - (1 - tau)^(n - 1), by bisection on p.
    pub fn solve(&self, stations: u32) -> Operation {
        let collided = |p: f64| 1.0 - libm::pow(1.0 - self.transmission(p), f64::from(stations) - 1.0);
        let collision = fixed_point(collided);
        Operation { transmission: self.transmission(collision), collision }
    }
}

/// The p with `collided(p)` = p, by bisection between 0 and 1. `collided` must fall with p, as every
/// collision probability of the chain does: tau falls with p.
pub(super) fn fixed_point(collided: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // 60 halvings reach the resolution of a double.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if collided(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
