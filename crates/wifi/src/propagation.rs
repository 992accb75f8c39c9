//! Radio propagation: the power that a signal has where it is received, and the consequences for its
//! reception.
//!
//! - [`PathLoss`]: deterministic attenuation over distance (Friis, two-ray ground, log-distance).
//! - [`Fading`] and [`BlockFading`]: random gains (log-normal shadowing, Rayleigh, Rician).
//! - [`Radio`] and [`LinkBudget`]: power, antennas and thresholds; received power and ranges of a pair of
//!   radios.
//! - [`success_probability`] and [`NoiseFloor`]: frame success probability of each rate at a signal-to-noise
//!   ratio.
//! - [`loss_probability`]: loss of frames of 802.11n, ac and ax, by curves of link simulations.
//! - [`Channel`]: the stations that a transmission reaches, for the [medium](crate::medium).
//! - [`SpatialIndex`]: the nodes within a range, at a cost that depends on the nodes nearby only.
//!
//! Everything is a function of its arguments; random numbers come from a [`Random`](crate::Random) stream.

mod channel;
#[cfg(test)]
mod counted;
mod error_rate;
mod fading;
mod measurement;
mod mode_error;
mod path_loss;
mod radio;
mod spatial_index;

pub use channel::{Channel, ChannelConfig, corrupt_by_noise};
pub use error_rate::{NoiseFloor, log_success_per_bit, success_probability};
pub use fading::{BlockFading, Fading};
pub use mode_error::loss_probability;
pub use path_loss::{PathLoss, SPEED_OF_LIGHT};
pub use radio::{InvalidRadio, LinkBudget, Radio, Ranges, SignalClass};
pub use spatial_index::{Positions, SpatialIndex};

/// The power ratio of a level in decibels.
pub fn from_decibels(decibels: f64) -> f64 {
    libm::pow(10.0, decibels / 10.0)
}

/// The level in decibels of a power ratio.
pub fn to_decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}
