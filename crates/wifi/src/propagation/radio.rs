//! Radios: transmit power, antennas, thresholds.

use alloc::vec::Vec;

use super::PathLoss;
use super::path_loss::{Attenuation, SPEED_OF_LIGHT};
use crate::medium::{CaptureRule, MediumConfig};

/// The radio of a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Radio {
    /// Transmit power Pt in watts.
    pub transmit_power: f64,
    /// Carrier frequency in hertz.
    pub frequency: f64,
    /// Antenna gain over an isotropic antenna, a power ratio (1 = 0 dBi).
    pub antenna_gain: f64,
    /// Height of the antenna above ground in metres.
    pub antenna_height: f64,
    /// System loss L, a power ratio of at least 1 (1 = no loss).
    pub system_loss: f64,
    /// The least power in watts at which a frame can be decoded.
    pub receive_threshold: f64,
    /// The least power in watts that makes the medium busy. A weaker signal does not exist for the receiver.
    pub carrier_sense_threshold: f64,
    /// The least power ratio at which a frame survives a weaker one that overlaps it.
    pub capture_ratio: f64,
}

/// The class of a signal at a receiver by its power.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SignalClass {
    /// Below the carrier-sense threshold.
    Undetected,
    /// Makes the medium busy and cannot be decoded.
    Sensed,
    /// Can be decoded.
    Decodable,
}

/// The ranges of a pair of radios in metres.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranges {
    /// Up to this distance frames can be decoded.
    pub receive: f64,
    /// Up to this distance transmissions make the medium busy.
    pub carrier_sense: f64,
}

impl Radio {
    /// ns-2's default radio, the 914 MHz Lucent WaveLAN card (`ns-default.tcl`): 250 m receive and 550 m
    /// carrier-sense range under [`PathLoss::TwoRayGround`].
    pub const NS2: Self = Self {
        transmit_power: 0.281_838_15,
        frequency: 914.0e6,
        antenna_gain: 1.0,
        antenna_height: 1.5,
        system_loss: 1.0,
        receive_threshold: 3.652e-10,
        carrier_sense_threshold: 1.559e-11,
        capture_ratio: 10.0,
    };

    /// The radio of Mehani et al., "Rate control adaptation for heterogeneous handovers", Table 1: ns-2's
    /// with 2.472 GHz and a receive threshold that gives 400 m under [`PathLoss::TwoRayGround`].
    pub const FREEZE: Self = Self { frequency: 2.472e9, receive_threshold: 5.573_46e-11, ..Self::NS2 };

    /// The wavelength in metres.
    pub fn wavelength(&self) -> f64 {
        SPEED_OF_LIGHT / self.frequency
    }

    /// The class of a signal of this power in watts at this receiver.
    pub fn classify(&self, power: f64) -> SignalClass {
        if power < self.carrier_sense_threshold {
            SignalClass::Undetected
        } else if power < self.receive_threshold {
            SignalClass::Sensed
        } else {
            SignalClass::Decodable
        }
    }

    /// `true` if a frame of this power survives the overlap with interference of that power.
    pub fn captures(&self, power: f64, interference: f64) -> bool {
        power >= self.capture_ratio * interference
    }

    /// Sets the thresholds such that the ranges between radios of this kind are these, in metres.
    pub fn with_ranges(mut self, path_loss: &PathLoss, ranges: Ranges) -> Self {
        let budget = LinkBudget::new(path_loss, &self, &self);
        self.receive_threshold = budget.power(ranges.receive * ranges.receive);
        self.carrier_sense_threshold = budget.power(ranges.carrier_sense * ranges.carrier_sense);
        self
    }

    /// The receivers' thresholds for a [medium](crate::medium) of stations with this radio.
    pub fn medium(&self, rule: CaptureRule) -> MediumConfig {
        MediumConfig {
            carrier_sense_threshold: self.carrier_sense_threshold as f32,
            receive_threshold: self.receive_threshold as f32,
            capture_ratio: self.capture_ratio as f32,
            rule,
        }
    }

    /// An error for the first field whose value no radio has: its name and the range expected.
    pub fn check(&self) -> Result<(), InvalidRadio> {
        let positive = [
            ("transmit_power", self.transmit_power),
            ("frequency", self.frequency),
            ("antenna_gain", self.antenna_gain),
            ("antenna_height", self.antenna_height),
            ("receive_threshold", self.receive_threshold),
            ("carrier_sense_threshold", self.carrier_sense_threshold),
        ];
        for (field, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(InvalidRadio { field, value, expected: "a positive number" });
            }
        }
        for (field, value) in [("system_loss", self.system_loss), ("capture_ratio", self.capture_ratio)] {
            if !(value >= 1.0 && value.is_finite()) {
                return Err(InvalidRadio { field, value, expected: "a ratio of at least 1" });
            }
        }
        if self.carrier_sense_threshold > self.receive_threshold {
            return Err(InvalidRadio {
                field: "carrier_sense_threshold",
                value: self.carrier_sense_threshold,
                expected: "at most receive_threshold",
            });
        }
        Ok(())
    }
}

/// A field of a [`Radio`] with a value that no radio has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InvalidRadio {
    /// Name of the field.
    pub field: &'static str,
    /// The value.
    pub value: f64,
    /// Description of the valid values.
    pub expected: &'static str,
}

impl core::fmt::Display for InvalidRadio {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "radio: {} is {}, expected {}", self.field, self.value, self.expected)
    }
}

impl core::error::Error for InvalidRadio {}

/// The received power between two radios as a function of their distance.
///
/// Everything but the distance is computed once; [`power`](Self::power) takes the *squared* distance, so that
/// the power laws of even degree need neither a root nor a logarithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkBudget {
    attenuation: Attenuation,
    /// Upper bound in watts: power sent times the antenna gains.
    limit: f64,
    /// Thresholds of the receiver in watts.
    thresholds: (f64, f64),
}

impl LinkBudget {
    /// The budget from `sender` to `receiver`.
    pub fn new(path_loss: &PathLoss, sender: &Radio, receiver: &Radio) -> Self {
        Self {
            attenuation: path_loss.attenuation(sender, receiver),
            limit: sender.transmit_power * sender.antenna_gain * receiver.antenna_gain / sender.system_loss,
            thresholds: (receiver.receive_threshold, receiver.carrier_sense_threshold),
        }
    }

    /// The received power in watts over a squared distance in square metres.
    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        self.bounded(self.attenuation.power(distance_squared))
    }

    /// Also maps the infinity of distance 0 to the limit.
    #[inline]
    fn bounded(&self, power: f64) -> f64 {
        if power < self.limit { power } else { self.limit }
    }

    /// Appends the received powers in watts over squared distances in square metres.
    pub(super) fn powers(&self, squared: &[f64], powers: &mut Vec<f64>) {
        let limit = *self;
        let bounded = |power| limit.bounded(power);
        match self.attenuation {
            // A loop of its own, so that the law is no decision for each station.
            law @ Attenuation::Polynomial { .. } => {
                powers.extend(squared.iter().map(|&squared| bounded(law.power(squared))));
            }
            law @ Attenuation::Power { .. } => {
                powers.extend(squared.iter().map(|&squared| bounded(law.power(squared))));
            }
        }
    }

    /// The largest distance in metres at which the received power is at least `threshold` watts; 0 if it is
    /// less at every distance.
    pub fn range(&self, threshold: f64) -> f64 {
        if threshold > self.limit { 0.0 } else { libm::sqrt(self.attenuation.distance_squared(threshold)) }
    }

    /// The ranges that the receiver's thresholds give.
    pub fn ranges(&self) -> Ranges {
        Ranges { receive: self.range(self.thresholds.0), carrier_sense: self.range(self.thresholds.1) }
    }
}

#[cfg(test)]
mod tests;
