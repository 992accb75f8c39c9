//! Numbers with units, as a scenario writes them: `"150 kbit/s"`, `"10 ms"`, `"762 B"`, `"6 packets"`.
//!
//! The syntax is that of [`whimbrel_units::quantity`].
//! A number without its unit is refused wherever a unit is needed: `delay = 10` would be ambiguous.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant, quantity};

/// A length of time: `"10 ms"`. Units: `ns us ms s min h`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Time(pub Duration);

/// A data rate: `"150 kbit/s"`. Units: `bit/s kbit/s Mbit/s Gbit/s` (also `k M G`) and `B/s kB/s MB/s GB/s`, all decimal.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Rate(pub DataRate);

/// A frequency in hertz: `"78.6 Hz"`. Units: `Hz kHz MHz`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Frequency(pub f64);

/// An amount of data: `"762 B"`. Units: `B kB MB GB` (decimal) and `KiB MiB GiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub struct Size(pub ByteCount);

/// A queue limit: `"6 packets"`, or an amount of data such as `"64 kB"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// That many packets.
    Packets(u32),
    /// That much data.
    Bytes(ByteCount),
    /// Any amount: `"unlimited"`.
    Unlimited,
}

/// A probability: a number from 0 to 1, or a string such as `"7.8 %"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Probability(pub f64);

impl Time {
    /// The instant that long after the start of the simulation.
    pub fn after_start(self) -> Instant {
        Instant::ZERO + self.0
    }
}

const FREQUENCY_UNITS: &[(&str, f64)] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6)];
const TIME: &str = "a time with its unit (ns, us, ms, s, min, h), such as \"10 ms\"";
const RATE: &str =
    "a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as \"150 kbit/s\"";
const FREQUENCY: &str = "a frequency with its unit (Hz, kHz, MHz), such as \"78.6 Hz\"";
const SIZE: &str = "an amount of data with its unit (B, kB, MB, KiB, MiB), such as \"762 B\"";
const QUEUE: &str = "a queue limit in packets or bytes, such as \"6 packets\" or \"64 kB\", or \"unlimited\"";
const PROBABILITY: &str = "a probability from 0 to 1, or a percentage such as \"7.8 %\"";

impl Time {
    /// Parses a text; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        quantity::time(text).map(Self)
    }
}
impl Rate {
    /// Parses a text; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        quantity::rate(text).map(Self)
    }
}
impl Frequency {
    fn parse(text: &str) -> Option<Self> {
        quantity::in_units(text, FREQUENCY_UNITS).map(Self)
    }
}
impl Size {
    fn parse(text: &str) -> Option<Self> {
        quantity::size(text).map(Self)
    }
}
impl QueueLimit {
    /// Parses a text; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == "unlimited" {
            return Some(Self::Unlimited);
        }
        if let Some(Size(bytes)) = Size::parse(text) {
            return (bytes > ByteCount::ZERO).then_some(Self::Bytes(bytes));
        }
        let (number, unit) = quantity::split(text)?;
        let whole = number >= 1.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
        (whole && matches!(unit, "packet" | "packets")).then_some(Self::Packets(number as u32))
    }
}
impl Probability {
    fn parse(text: &str) -> Option<Self> {
        quantity::share(text).map(Self)
    }
}

/// Reads a string through a type's `parse` function.
pub struct TextVisitor<T> {
    /// The parser.
    pub parse: fn(&str) -> Option<T>,
    /// The expected text, for messages.
    pub expected: &'static str,
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! textual {
    ($type:ident, $expected:expr, $example:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor { parse: Self::parse, expected: $expected })
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $expected, "examples": [$example] })
            }
        }
    };
}

textual!(Time, TIME, "10 ms");
textual!(Rate, RATE, "150 kbit/s");
textual!(Frequency, FREQUENCY, "78.6 Hz");
textual!(Size, SIZE, "762 B");
textual!(QueueLimit, QUEUE, "6 packets");

struct ProbabilityVisitor;

impl Visitor<'_> for ProbabilityVisitor {
    type Value = Probability;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PROBABILITY)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Probability, E> {
        Probability::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Probability, E> {
        if (0.0..=1.0).contains(&value) {
            return Ok(Probability(value));
        }
        Err(E::invalid_value(Unexpected::Float(value), &self))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Probability, E> {
        self.visit_f64(value as f64)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Probability, E> {
        self.visit_f64(value as f64)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ProbabilityVisitor)
    }
}
impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": PROBABILITY,
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "examples": ["7.8 %"] }]
        })
    }
}

#[cfg(test)]
mod tests;
