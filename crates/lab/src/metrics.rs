//! What is measured while packets come and go: counters, delays, jitter.
//!
//! Words: *goodput* is application data delivered, *throughput* bytes that left the bottleneck
//! (whatever became of them on the radio behind it), *send rate* bytes that left the sender.

mod counters;
mod delay;
mod jitter;
mod judgement;
mod meter;

pub use counters::Counters;
pub use delay::DelayStatistics;
pub use jitter::Jitter;
pub use judgement::Judgement;
pub(crate) use judgement::{Notice, cause_of};
pub use meter::{Fate, LossRow, Meter, PacketRow, Recording};
pub(crate) use meter::{Sighting, cause_name};

use whimbrel_units::Duration;

/// A time in seconds: the number next to it, so that 60 ms print as `0.06`.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests;
