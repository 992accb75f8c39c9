//! Lead time of a freeze before an outage.

use std::fmt;
use std::str::FromStr;

use whimbrel_units::{Duration, Instant, quantity};

/// Longest fixed time that is read.
const LONGEST: Duration = Duration::from_secs(1_000_000);

/// Lead time of a freeze before an outage. Packets that leave less than a one-way trip before it do not
/// arrive, and the other end stops a one-way trip after it is notified, so that one round trip is enough for
/// both (`papers/freeze`, Section 4.3).
///
/// Parses from `1rtt`, `2.5rtt`, `200ms` or `0.2s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lead {
    /// A number of round-trip times, as measured at the warning.
    RoundTrips(f64),
    /// A fixed time.
    Time(Duration),
}

impl Default for Lead {
    fn default() -> Self {
        Self::RoundTrips(1.0)
    }
}

impl Lead {
    /// Time at which to freeze for an outage at `outage`. An unknown round-trip time counts as zero.
    pub fn before(self, outage: Instant, rtt: Option<Duration>) -> Instant {
        let lead = match self {
            Self::RoundTrips(count) => rtt.unwrap_or(Duration::ZERO).mul_f64(count),
            Self::Time(time) => time,
        };
        outage.saturating_sub(lead)
    }
}

impl FromStr for Lead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = match quantity::split(text) {
            Some((count, "rtt")) if count <= 1e3 => Some(Self::RoundTrips(count)),
            _ => quantity::time(text).filter(|time| *time <= LONGEST).map(Self::Time),
        };
        parsed.ok_or_else(|| {
            format!("{text:?} is not a time before an outage: expected for example 1rtt, 200ms or 0.2s")
        })
    }
}

impl fmt::Display for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundTrips(count) => write!(f, "{count}rtt"),
            Self::Time(time) => write!(f, "{}ms", time.as_secs_f64() * 1e3),
        }
    }
}

#[cfg(test)]
mod tests;
