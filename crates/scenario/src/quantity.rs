//! Numbers with units, as a scenario writes them: `"150 kbit/s"`, `"10 ms"`, `"762 B"`, `"6 packets"`.
//!
//! The syntax is defined in [`whimbrel_units::quantity`]. A number without its unit is refused wherever a
//! unit is needed: `delay = 10` would be ambiguous.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant, quantity};
use whimbrel_wifi::propagation::from_decibels;

/// A length of time: `"10 ms"`. Units: `ns us ms s min h`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Time(pub Duration);

/// A data rate: `"150 kbit/s"`. Units: `bit/s kbit/s Mbit/s Gbit/s` (also `k M G`) and `B/s kB/s MB/s GB/s`,
/// all decimal.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Rate(pub DataRate);

/// A frequency in hertz: `"78.6 Hz"`. Units: `Hz kHz MHz GHz`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Frequency(pub f64);

/// An amount of data: `"762 B"`. Units: `B kB MB GB` (decimal) and `KiB MiB GiB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub struct Size(pub ByteCount);

/// A queue limit: `"6 packets"`, or an amount of data such as `"64 kB"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// A number of packets.
    Packets(u32),
    /// An amount of data.
    Bytes(ByteCount),
    /// Any amount: `"unlimited"`.
    Unlimited,
}

/// A probability: a number from 0 to 1, or a string such as `"7.8 %"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Probability(pub f64);

/// The variation of a time: a part of it, such as `0.5` or `"50 %"`, or another time, such as `"1 ms"`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Variation {
    /// A part of the time, 0 to 1.
    Share(f64),
    /// A time.
    Time(Duration),
}

/// A length: `"250 m"`. Units: `m km`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Length(pub f64);

/// A speed in metres per second: `"5 m/s"`. Units: `m/s km/h`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Speed(pub f64);

/// A power in watts: `"20 dBm"`. Units: `dBm W mW`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Power(pub f64);

/// A ratio of powers in decibels: `"10 dB"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Decibels(pub f64);

impl Time {
    /// The instant that long after the start of the simulation.
    pub fn after_start(self) -> Instant {
        Instant::ZERO + self.0
    }
}

const FREQUENCY_UNITS: &[(&str, f64)] = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6), ("GHz", 1e9)];
const LENGTH_UNITS: &[(&str, f64)] = &[("m", 1.0), ("km", 1e3)];
const SPEED_UNITS: &[(&str, f64)] = &[("m/s", 1.0), ("km/h", 1.0 / 3.6)];
const POWER_UNITS: &[(&str, f64)] = &[("W", 1.0), ("mW", 1e-3)];
const TIME: &str = "a time with its unit (ns, us, ms, s, min, h), such as \"10 ms\"";
const RATE: &str =
    "a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as \"150 kbit/s\"";
const FREQUENCY: &str = "a frequency with its unit (Hz, kHz, MHz, GHz), such as \"78.6 Hz\"";
const LENGTH: &str = "a length with its unit (m, km), such as \"250 m\"";
const SPEED: &str = "a speed with its unit (m/s, km/h), such as \"5 m/s\"";
const POWER: &str = "a power with its unit (dBm, W, mW), such as \"20 dBm\"";
const DECIBELS: &str = "a ratio with its unit (dB), such as \"10 dB\"";
const SIZE: &str = "an amount of data with its unit (B, kB, MB, KiB, MiB), such as \"762 B\"";
const QUEUE: &str = "a queue limit in packets or bytes, such as \"6 packets\" or \"64 kB\", or \"unlimited\"";
const VARIATION: &str =
    "a part of the interval from 0 to 1, a percentage such as \"50 %\", or a time such as \"1 ms\"";
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
impl Length {
    fn parse(text: &str) -> Option<Self> {
        quantity::in_units(text, LENGTH_UNITS).map(Self)
    }
}
impl Speed {
    fn parse(text: &str) -> Option<Self> {
        quantity::in_units(text, SPEED_UNITS).map(Self)
    }
}
impl Power {
    fn parse(text: &str) -> Option<Self> {
        match decibels(text, "dBm") {
            Some(level) => Some(Self(from_decibels(level) * 1e-3)),
            None => quantity::in_units(text, POWER_UNITS).map(Self),
        }
    }
}
impl Decibels {
    fn parse(text: &str) -> Option<Self> {
        decibels(text, "dB").map(Self)
    }

    /// The ratio itself.
    pub fn ratio(self) -> f64 {
        from_decibels(self.0)
    }
}

/// A level, which may be negative.
fn decibels(text: &str, unit: &'static str) -> Option<f64> {
    let text = text.trim();
    let (sign, level) = text.strip_prefix('-').map_or((1.0, text), |level| (-1.0, level));
    quantity::in_units(level, &[(unit, 1.0)]).map(|level| sign * level)
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
        (self.parse)(text).ok_or_else(|| match meant(text) {
            Some((number, unit)) if (self.parse)(&format!("{number} {unit}")).is_some() => {
                E::custom(format_args!("{}; did you mean \"{number} {unit}\"?", self.expected))
            }
            _ => E::invalid_value(Unexpected::Str(text), &self),
        })
    }
}

/// The number and the unit that a text in another notation probably means.
fn meant(text: &str) -> Option<(&str, &'static str)> {
    [quantity::RATE_UNITS, quantity::TIME_UNITS, quantity::SIZE_UNITS]
        .into_iter()
        .find_map(|units| quantity::meant(text, units))
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
textual!(Length, LENGTH, "250 m");
textual!(Speed, SPEED, "5 m/s");
textual!(Power, POWER, "20 dBm");
textual!(Decibels, DECIBELS, "10 dB");
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

impl Variation {
    fn parse(text: &str) -> Option<Self> {
        let time = Time::parse(text).map(|Time(time)| Self::Time(time));
        time.or_else(|| quantity::share(text).map(Self::Share))
    }
}

struct VariationVisitor;

impl Visitor<'_> for VariationVisitor {
    type Value = Variation;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(VARIATION)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Variation, E> {
        Variation::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Variation, E> {
        if (0.0..=1.0).contains(&value) {
            return Ok(Variation::Share(value));
        }
        Err(E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Variation, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Variation, E> {
        self.visit_f64(value as f64)
    }
}

impl<'de> Deserialize<'de> for Variation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VariationVisitor)
    }
}
impl JsonSchema for Variation {
    fn schema_name() -> Cow<'static, str> {
        "Variation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": VARIATION,
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "type": "string", "examples": ["50 %", "1 ms"] }]
        })
    }
}

#[cfg(test)]
mod tests;
