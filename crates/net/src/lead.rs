//! How long before an outage to stop sending.

use std::fmt;
use std::str::FromStr;

use whimbrel_units::{Duration, Instant};

/// How long before an outage to freeze. What leaves later than a one-way trip before it does not arrive, and what the
/// other end should stop needs a one-way trip to be told, so that one round trip is enough for all
/// (`papers/freeze`, Section 4.3).
///
/// It reads `1rtt`, `2.5rtt`, `200ms` or `0.2s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lead {
    /// So many round-trip times, as measured when the warning comes.
    RoundTrips(f64),
    /// So long.
    Time(Duration),
}

impl Default for Lead {
    fn default() -> Self {
        Self::RoundTrips(1.0)
    }
}

impl Lead {
    /// When to freeze for an outage at `outage`. A round-trip time that is not known is taken for none.
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
        let number = |text: &str, most: f64| {
            text.trim().parse().ok().filter(|value: &f64| (0.0..=most).contains(value))
        };
        let parsed = if let Some(count) = text.strip_suffix("rtt") {
            number(count, 1e3).map(Self::RoundTrips)
        } else if let Some(milliseconds) = text.strip_suffix("ms") {
            number(milliseconds, 1e9).map(|value| Self::Time(Duration::from_secs_f64(value * 1e-3)))
        } else {
            text.strip_suffix('s')
                .and_then(|seconds| number(seconds, 1e6))
                .map(|value| Self::Time(Duration::from_secs_f64(value)))
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
