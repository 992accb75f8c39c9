//! Throughputs and distributions by theory, for validation of the machines.
//!
//! - [`BackoffChain`]: Bianchi's fixed point for the probabilities of transmission and collision.
//! - [`ExchangeTimes`]: the time that a success and a collision occupy the medium.
//! - [`saturation`]: throughput of Bianchi's model (2000) and of Bianchi and Tinnirello's (2005).
//! - [`HeSingleUser`]: the time that a full aggregate of 802.11ax occupies the medium.
//! - [`monte_carlo`]: the slotted rule itself, drawn.
//! - [`SingleSender`]: the maximum throughput of one sender.
//! - [`SharingPair`], [`HiddenPair`], [`NearFar`]: exposed and hidden senders, capture.
//! - [`kolmogorov`]: comparison of a sample with a distribution, for example of random waypoint.

mod chain;
mod distribution;
mod he;
mod hidden;
mod monte_carlo;
mod near_far;
mod pair;
mod saturation;
mod single_sender;
mod times;

pub use chain::{BackoffChain, Operation};
pub use distribution::{kolmogorov, waypoint_coordinate, waypoint_speed};
pub use he::{AggregateTimes, HeSingleUser};
pub use hidden::HiddenPair;
pub use monte_carlo::{MonteCarlo, MonteCarloResult, monte_carlo};
pub use near_far::NearFar;
pub use pair::SharingPair;
pub use saturation::{Saturation, saturation};
pub use single_sender::SingleSender;
pub use times::ExchangeTimes;

#[cfg(test)]
mod tests;
