//! Correction for collisions (paper `winf`, Section 4.3, equations 7 to 9).
//!
//! Equation 9 corrects the available bandwidth. The text before it asks for "more real values for the
//! available bandwidth and, of course, link capacity", and has no equation for the second.

use whimbrel_units::{DataRate, Duration};

/// Times between the transmissions of two consecutive packets of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollisionTimes {
    /// DIFS.
    pub difs: Duration,
    /// SIFS.
    pub sifs: Duration,
    /// Backoff of the packet.
    pub backoff: Duration,
    /// Time of the RTS.
    pub rts: Duration,
    /// Time of the CTS.
    pub cts: Duration,
    /// Time of the data frame.
    pub data: Duration,
}

/// K: the share of the time between two packets that is spent on backoff, (DIFS + backoff) / T(m), in \[0,
/// 1\] (equations 7 and 8).
///
/// T(m) = 2 DIFS + 3 SIFS + backoff + CTS + RTS + DATA as printed: with three SIFS, but without the ACK that
/// follows the third. K is larger than with the ACK.
pub fn backoff_share(times: &CollisionTimes) -> f64 {
    let cycle = times.difs * 2 + times.sifs * 3 + times.backoff + times.cts + times.rts + times.data;
    if cycle.is_zero() { 0.0 } else { ((times.difs + times.backoff) / cycle).min(1.0) }
}

/// A rate less the share K: AB = (1 - K) AB (equation 9), and the same for the capacity.
///
/// The paper calls 1 - K the collision probability Pc and multiplies by it. The factor is the share of the
/// time that is *not* spent on backoff; a probability of collision would be subtracted from 1.
pub fn without_collisions(rate: DataRate, backoff_share: f64) -> DataRate {
    rate * (1.0 - backoff_share).max(0.0)
}
