//! Bounded packet delay variation without reordering within a flow (RFC 8868, Section 4.5.2, NR-BPDV).
//!
//! The delay of each packet is drawn from a truncated normal distribution (Section 4.5.3); a packet that
//! would leave before its predecessor of the same flow leaves one serialization time after it, or the time
//! between their arrivals if that is shorter: where the rate of the link has risen since it was configured,
//! the variation does not limit it.

use std::collections::BTreeMap;

use thiserror::Error;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use crate::packets::FlowId;
use crate::random::RandomStream;

#[cfg(test)]
mod tests;

/// Delay variation, as data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayVariationConfig {
    /// Standard deviation before truncation (`std`).
    pub deviation: Duration,
    /// Largest distance from the mean, in standard deviations (`N_STD`). The mean is as large, so that the
    /// least delay is zero.
    pub bound: f64,
    /// Rate at which packets leave that follow each other as closely as possible: the path's lowest rate.
    pub rate: DataRate,
}

impl DelayVariationConfig {
    /// The recommended values of RFC 8868, Section 4.5.3: 5 ms and 3, that is 0 to 30 ms.
    pub const fn recommended(rate: DataRate) -> Self {
        Self { deviation: Duration::from_millis(5), bound: 3.0, rate }
    }

    /// Checks that the parameters are in range.
    ///
    /// # Errors
    /// The bound is not a positive number, or the rate is zero.
    pub fn check(&self) -> Result<(), DelayVariationError> {
        if !(self.bound.is_finite() && self.bound > 0.0) {
            return Err(DelayVariationError::Bound(self.bound));
        }
        if self.rate.is_zero() {
            return Err(DelayVariationError::Rate);
        }
        Ok(())
    }
}

/// A [`DelayVariationConfig`] that makes no sense.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum DelayVariationError {
    /// The bound is not a positive number.
    #[error("a bound of {0} is not a positive number")]
    Bound(f64),
    /// Packets could never leave.
    #[error("a rate of zero")]
    Rate,
}

/// The last packet of a flow.
#[derive(Clone, Copy, Debug)]
struct Last {
    arrival: Instant,
    release: Instant,
    serialization: Duration,
}

/// Draws the delays of a link.
#[derive(Clone, Debug)]
pub(crate) struct DelayVariation {
    config: DelayVariationConfig,
    last: BTreeMap<FlowId, Last>,
    random: RandomStream,
}

impl DelayVariation {
    /// # Errors
    /// The configuration makes no sense.
    pub(crate) fn new(
        config: DelayVariationConfig,
        random: RandomStream,
    ) -> Result<Self, DelayVariationError> {
        config.check()?;
        Ok(Self { config, last: BTreeMap::new(), random })
    }

    /// Time at which a packet leaves that arrives now.
    pub(crate) fn release(&mut self, now: Instant, flow: FlowId, size: u32) -> Instant {
        let bound = self.config.bound;
        let draw = self.random.normal(0.0, 1.0).clamp(-bound, bound);
        let drawn = now + self.config.deviation.mul_f64(bound + draw);
        let release = self.last.get(&flow).map_or(drawn, |last| {
            let distance = last.serialization.min(now - last.arrival);
            drawn.max(last.release + distance)
        });
        let serialization = ByteCount::new(u64::from(size)) / self.config.rate;
        self.last.insert(flow, Last { arrival: now, release, serialization });
        release
    }
}
