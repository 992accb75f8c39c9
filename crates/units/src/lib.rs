//! Units of time, data and data rate used throughout Whimbrel.
//!
//! Protocol, control laws and simulator never read a clock: every entry point takes `now:` [`Instant`]. An
//! instant counts nanoseconds since the *driver's* epoch, which a socket driver takes from a monotonic clock
//! and the simulator from its event queue. Durations are [`Duration`]s (never negative), amounts of data
//! [`ByteCount`]s, and their quotient a [`DataRate`], so that `bytes / rate` is a duration and `rate * time`
//! an amount.
//!
//! ```
//! use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
//!
//! let packet = ByteCount::new(1_500);
//! let link = DataRate::from_kilobits_per_second(150.0);
//! assert_eq!(packet / link, Duration::from_millis(80));
//! let later = Instant::ZERO + packet / link;
//! assert_eq!(later.as_nanos(), 80_000_000);
//! ```
//!
//! # Design
//!
//! - `units::Duration` is our own type, one machine word of nanoseconds, instead of the standard library's
//!   two, because the simulator does arithmetic on it for every packet and hop. It converts both ways.
//! - Random streams are here because machines of several crates draw from them: one interface, so that a
//!   driver's streams serve all.
//! - Quantities on command lines, in scenarios and in Python commands have one parser, `units::quantity`.
#![no_std]

mod byte_count;
mod data_rate;
mod duration;
mod ecn;
mod instant;
pub mod quantity;
pub mod random;

pub use byte_count::ByteCount;
pub use data_rate::DataRate;
pub use duration::Duration;
pub use ecn::Ecn;
pub use instant::Instant;

#[cfg(test)]
mod tests;
