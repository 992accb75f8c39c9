//! Scenario keys of handovers: a link goes down, becomes another network, and comes back.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use whimbrel_netsim::random::RandomStream;
use whimbrel_units::Duration;

use super::link::WhenDown;
use super::networks::MeasuredNetwork;
use super::quantity::{Rate, TextVisitor, Time};
use super::signals::HandoverFreeze;

/// A break-before-make handover of a link, in both of its directions.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    /// Time at which the link goes down.
    pub time: Time,
    /// A random delay of that, uniform between zero and this.
    #[serde(default)]
    pub jitter: Time,
    /// The link.
    pub link: String,
    /// The measured network that it becomes. Its queue stays what it is.
    #[serde(default)]
    pub to: Option<MeasuredNetwork>,
    /// The new rate; by default, the rate of `to`, or the old one.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// The new delay; by default, the delay of `to`, or the old one.
    #[serde(default)]
    pub delay: Option<Time>,
    /// Duration of the outage: a time, `"mobile-ipv6"`, or a distribution of recorded handovers.
    pub duration: HandoverDuration,
    /// Handling of its packets; ns-2's `rtmodel` loses the queued ones and delivers those in transit.
    #[serde(default)]
    pub when_down: WhenDown,
    /// The flows that are notified in advance.
    #[serde(default)]
    pub freeze: Option<HandoverFreeze>,
}

/// The duration of a handover.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HandoverDuration {
    /// A fixed time.
    Fixed(Duration),
    /// 2.5 s and a round-trip time of the new network when it is full (paper `freeze`, Section 3.5).
    MobileIpv6,
    /// A draw from a recorded distribution, for each handover.
    Recorded(RecordedHandovers),
}

/// Durations of recorded handovers: the execution times, from the command to the first message on the new cell, for
/// three kinds of cellular networks (Hassan and others, SIGCOMM 2022, "HO" of 43,856 handovers). Only quantiles are kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecordedHandovers {
    name: &'static str,
    /// Milliseconds at [`PROBABILITIES`].
    quantiles: [f64; 8],
}

const PROBABILITIES: [f64; 8] = [0.01, 0.10, 0.25, 0.50, 0.75, 0.90, 0.99, 1.0];

/// LTE: 7,167 changes of the cell. 5G with LTE (NSA): 13,980 of the LTE cell. 5G alone (SA): 461.
const RECORDED: [RecordedHandovers; 3] = [
    RecordedHandovers { name: "lte", quantiles: [13.0, 15.0, 17.0, 19.0, 25.0, 34.0, 67.0, 125.0] },
    RecordedHandovers { name: "5g-nsa", quantiles: [11.0, 15.0, 18.0, 34.0, 44.0, 56.0, 81.0, 126.0] },
    RecordedHandovers { name: "5g-sa", quantiles: [50.0, 51.0, 53.0, 54.0, 56.0, 57.0, 59.0, 85.0] },
];

impl RecordedHandovers {
    /// The duration that a share `p` of the handovers does not exceed: a straight line between quantiles, the first of them
    /// below.
    pub fn quantile(&self, p: f64) -> Duration {
        let above = PROBABILITIES.iter().position(|known| p <= *known).unwrap_or(PROBABILITIES.len() - 1);
        let milliseconds = match above.checked_sub(1) {
            None => self.quantiles[0],
            Some(below) => {
                let part = (p - PROBABILITIES[below]) / (PROBABILITIES[above] - PROBABILITIES[below]);
                self.quantiles[below] + part.min(1.0) * (self.quantiles[above] - self.quantiles[below])
            }
        };
        Duration::from_secs_f64(milliseconds / 1e3)
    }
}

impl HandoverDuration {
    /// One duration; `rtt` is the new network's.
    pub fn draw(&self, rtt: Duration, random: &mut RandomStream) -> Duration {
        match self {
            Self::Fixed(duration) => *duration,
            Self::MobileIpv6 => whimbrel_control::handover_model::mobile_ipv6_duration(rtt),
            Self::Recorded(recorded) => recorded.quantile(random.uniform()),
        }
    }
}

const MOBILE_IPV6: &str = "mobile-ipv6";
const EXPECTED: &str = "a time with its unit such as \"2.5 s\", \"mobile-ipv6\", or recorded handovers: \"lte\", \"5g-nsa\", \"5g-sa\"";

impl HandoverDuration {
    fn parse(text: &str) -> Option<Self> {
        if text == MOBILE_IPV6 {
            return Some(Self::MobileIpv6);
        }
        let recorded = RECORDED.into_iter().find(|recorded| recorded.name == text);
        recorded.map(Self::Recorded).or_else(|| Time::parse(text).map(|Time(duration)| Self::Fixed(duration)))
    }
}

impl<'de> Deserialize<'de> for HandoverDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor { parse: Self::parse, expected: EXPECTED })
    }
}

impl JsonSchema for HandoverDuration {
    fn schema_name() -> Cow<'static, str> {
        "HandoverDuration".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": EXPECTED, "examples": ["2.5 s", MOBILE_IPV6, "5g-nsa"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_recorded_handovers_lie_on_lines_between_the_kept_ones() {
        let nsa = RECORDED[1];
        for (p, milliseconds) in
            [(0.0, 11.0), (0.01, 11.0), (0.5, 34.0), (0.625, 39.0), (0.995, 103.5), (1.0, 126.0)]
        {
            let drawn = nsa.quantile(p).as_secs_f64() * 1e3;
            assert!((drawn - milliseconds).abs() < 1e-6, "{p}: {drawn}");
        }
    }
}
