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

/// Durations of recorded handovers, for three kinds of cellular networks: from the command until the random
/// access to the new cell has ended, after which data flows again (Hassan and others, SIGCOMM 2022: "HO" and
/// "RCH", whose sum is their Figure 9, of the handovers that have both). Only quantiles are kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RecordedHandovers {
    name: &'static str,
    /// Milliseconds at [`PROBABILITIES`].
    quantiles: [f64; 9],
}

/// With one in the tail, which a line from 99 % to the longest of thousands would make too heavy.
const PROBABILITIES: [f64; 9] = [0.01, 0.10, 0.25, 0.50, 0.75, 0.90, 0.99, 0.999, 1.0];

/// LTE: 5,693 changes of the cell. 5G with LTE (NSA): 6,571 of the LTE cell. 5G alone (SA): 461.
const RECORDED: [RecordedHandovers; 3] = [
    RecordedHandovers { name: "lte", quantiles: [24.0, 28.0, 30.0, 34.0, 39.0, 47.0, 94.0, 270.0, 887.0] },
    RecordedHandovers { name: "5g-nsa", quantiles: [24.0, 30.0, 38.0, 52.0, 58.0, 69.0, 99.0, 148.0, 251.0] },
    RecordedHandovers { name: "5g-sa", quantiles: [60.0, 62.0, 64.0, 66.0, 68.0, 69.0, 74.0, 86.0, 94.0] },
];

impl RecordedHandovers {
    /// The duration that a share `p` of the handovers does not exceed: a straight line between quantiles, the
    /// first of them below.
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
            [(0.0, 24.0), (0.01, 24.0), (0.5, 52.0), (0.625, 55.0), (0.9995, 199.5), (1.0, 251.0)]
        {
            let drawn = nsa.quantile(p).as_secs_f64() * 1e3;
            assert!((drawn - milliseconds).abs() < 1e-6, "{p}: {drawn}");
        }
    }

    /// Data flow again after the random access: medians of the first part alone would be 19, 34 and 54 ms.
    #[test]
    fn recorded_handovers_last_until_the_random_access_has_ended() {
        let medians = RECORDED.map(|kind| (kind.name, kind.quantile(0.5)));
        let expected = [("lte", 34), ("5g-nsa", 52), ("5g-sa", 66)];
        assert_eq!(medians, expected.map(|(name, median)| (name, Duration::from_millis(median))));
        // Linear between quantiles, the mean is within 4 % of the recordings' 37.77, 51.22 and 66.02 ms.
        for (kind, recorded) in RECORDED.iter().zip([37.768, 51.215, 66.017]) {
            let draws = (0..10_000).map(|draw| kind.quantile((f64::from(draw) + 0.5) / 1e4).as_secs_f64());
            let mean = draws.sum::<f64>() / 1e4 * 1e3;
            assert!((mean / recorded - 1.0).abs() < 0.04, "{}: {mean}", kind.name);
        }
    }
}
