//! Measurements of flows: counters, delays, jitter.
//!
//! Terms: *goodput* is application data delivered, *throughput* bytes that left the bottleneck
//! (including those lost on the radio behind it), *send rate* bytes that left the sender.

mod classified_loss;
mod counters;
mod delay;
mod event_log;
mod frames;
mod jitter;
mod meter;

pub use classified_loss::ClassifiedLoss;
pub(crate) use classified_loss::{CorruptionNotice, cause_of};
pub use counters::Counters;
pub use delay::DelayStatistics;
pub use event_log::{PacketEvent, PacketEventKind};
pub use frames::{FrameMeter, FramePart, FrameSummary};
pub use jitter::Jitter;
pub(crate) use meter::cause_name;
pub use meter::{LossRow, Meter, PacketInfo, PacketOutcome, PacketRow, Recording};

use whimbrel_units::Duration;

/// A time in seconds: the number next to it, so that 60 ms print as `0.06`.
pub(crate) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests;
