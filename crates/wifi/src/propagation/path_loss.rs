//! Deterministic attenuation over distance.

use super::Radio;

/// The speed of light in metres per second as ns-2 has it (`wireless-phy.cc`): 3e8, 0.07 % above the true
/// value. The published ranges (250 m and 550 m at 914 MHz) do not depend on it, the crossover distance does.
pub const SPEED_OF_LIGHT: f64 = 3.0e8;

/// A law of attenuation over distance.
///
/// The formulae hold in the far field. Closer, where a formula gives more than the power that was sent times
/// the antenna gains, the received power is that product.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathLoss {
    /// Free space: power falls with the square of the distance.
    ///
    /// Pr = Pt Gt Gr (lambda / 4 pi d)^2 / L (H. T. Friis, Proc. IRE 34(5), 1946).
    Friis,
    /// Direct path and ground reflection: free space up to the crossover distance 4 pi ht hr / lambda, beyond
    /// it power falls with the fourth power of the distance.
    ///
    /// Pr = Pt Gt Gr ht^2 hr^2 / (d^4 L) (T. S. Rappaport, "Wireless Communications", 2nd edition, section
    /// 4.6).
    TwoRayGround,
    /// Power falls with a given exponent beyond a reference distance, at which free space holds; constant
    /// below it.
    ///
    /// Pr(d) = Pr(d0) (d / d0)^-beta (Rappaport, section 4.9).
    LogDistance {
        /// Path loss exponent beta: 2 in free space, 2.7 to 5 outdoors with obstacles, 1.6 to 6 indoors.
        exponent: f64,
        /// Reference distance d0 in metres.
        reference: f64,
    },
}

/// The attenuation between two radios with everything but the distance folded into constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Attenuation {
    /// `near / d^2` up to the squared crossover distance, `far / d^4` beyond it.
    Polynomial { near: f64, far: f64, crossover_squared: f64 },
    /// `at_reference * (d^2 / d0^2)^-half_exponent` beyond the reference distance.
    Power { at_reference: f64, reference_squared: f64, half_exponent: f64 },
}

impl PathLoss {
    /// The distance in metres beyond which the two-ray law applies: 4 pi ht hr / lambda.
    pub fn crossover_distance(sender: &Radio, receiver: &Radio) -> f64 {
        4.0 * core::f64::consts::PI * sender.antenna_height * receiver.antenna_height / sender.wavelength()
    }

    pub(super) fn attenuation(&self, sender: &Radio, receiver: &Radio) -> Attenuation {
        let budget = sender.transmit_power * sender.antenna_gain * receiver.antenna_gain / sender.system_loss;
        let spread = sender.wavelength() / (4.0 * core::f64::consts::PI);
        let near = budget * spread * spread;
        match *self {
            Self::Friis => Attenuation::Polynomial { near, far: 0.0, crossover_squared: f64::INFINITY },
            Self::TwoRayGround => {
                let heights = sender.antenna_height * receiver.antenna_height;
                let crossover = Self::crossover_distance(sender, receiver);
                Attenuation::Polynomial {
                    near,
                    far: budget * heights * heights,
                    crossover_squared: crossover * crossover,
                }
            }
            Self::LogDistance { exponent, reference } => Attenuation::Power {
                at_reference: near / (reference * reference),
                reference_squared: reference * reference,
                half_exponent: exponent / 2.0,
            },
        }
    }
}

impl Attenuation {
    /// Received power in watts over a squared distance, without the bound of the near field.
    #[inline]
    pub(super) fn power(&self, distance_squared: f64) -> f64 {
        match *self {
            Self::Polynomial { near, far, crossover_squared } => {
                // One division, without a branch.
                let is_near = distance_squared < crossover_squared;
                let numerator = if is_near { near } else { far };
                let denominator =
                    if is_near { distance_squared } else { distance_squared * distance_squared };
                numerator / denominator
            }
            Self::Power { at_reference, reference_squared, half_exponent } => {
                if distance_squared <= reference_squared {
                    at_reference
                } else {
                    at_reference * libm::pow(distance_squared / reference_squared, -half_exponent)
                }
            }
        }
    }

    /// The squared distance at which the received power equals `power` watts; the inverse of
    /// [`power`](Self::power).
    pub(super) fn distance_squared(&self, power: f64) -> f64 {
        match *self {
            Self::Polynomial { near, far, crossover_squared } => {
                let free_space = near / power;
                if free_space < crossover_squared { free_space } else { libm::sqrt(far / power) }
            }
            Self::Power { at_reference, reference_squared, half_exponent } => {
                if power > at_reference {
                    0.0
                } else if half_exponent == 0.0 {
                    f64::INFINITY
                } else {
                    reference_squared * libm::pow(at_reference / power, 1.0 / half_exponent)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
