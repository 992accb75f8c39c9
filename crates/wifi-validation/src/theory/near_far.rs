//! Senders near the receiver, whose frames survive collisions with far senders' frames.

use super::BackoffChain;
use super::chain::fixed_point;

/// Saturated senders of two classes. A near sender's frame survives a collision with far ones; it is lost
/// with another near one's. Bianchi's chain for each class, with the collision probability of the class
/// (after Z. Hadzi-Velkov, B. Spasenovski, "Capture effect in IEEE 802.11 basic service area under influence
/// of Rayleigh fading and near/far effect", PIMRC 2002, for a certain capture).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NearFar {
    /// The backoff of all senders.
    pub chain: BackoffChain,
    /// Near senders.
    pub near: u32,
    /// Far senders, at least one.
    pub far: u32,
}

impl NearFar {
    /// Ratio of the successes of one near sender to the successes of one far sender.
    pub fn unfairness(&self) -> f64 {
        let silent = |tau: f64, senders: u32| libm::pow(1.0 - tau, f64::from(senders));
        let near = if self.near > 0 { self.chain.solve(self.near) } else { return 1.0 };
        let disturbed = silent(near.transmission, self.near);
        // A far frame needs the silence of all other senders.
        let collided =
            |p: f64| 1.0 - disturbed * silent(self.chain.transmission(p), self.far.saturating_sub(1));
        let p = fixed_point(collided);
        near.transmission * (1.0 - near.collision) / (self.chain.transmission(p) * (1.0 - p))
    }
}
