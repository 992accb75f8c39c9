//! Quantities as text: times, rates, amounts of data and shares.
//!
//! Scenarios and all commands have this one syntax: a number and its unit, with or without a space, such as
//! `50ms`, `2 Mbit/s`, `762 B` or `1 %`. Other names of a unit are accepted where they have one meaning only:
//! `2Mbps`, but not `2mb/s`, which may be bits or bytes. A caller may allow a bare number where its own
//! documentation names the unit.
//!
//! ```
//! use whimbrel_units::{DataRate, Duration, quantity};
//!
//! assert_eq!(quantity::time("1.5 min"), Some(Duration::from_secs(90)));
//! assert_eq!(quantity::rate("2M"), Some(DataRate::from_megabits_per_second(2.0)));
//! assert_eq!(quantity::share("7.8 %"), Some(0.078));
//! ```

use crate::{ByteCount, DataRate, Duration};

#[cfg(test)]
mod tests;

/// A unit: its name, and its value in the base unit.
pub type Unit = (&'static str, f64);

/// Units of time, in seconds.
pub const TIME_UNITS: &[Unit] =
    &[("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
/// Units of data rates, in bit/s. `k`, `M` and `G` are short forms of `kbit/s`, `Mbit/s` and `Gbit/s`.
pub const RATE_UNITS: &[Unit] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B/s", 8.0),
    ("kB/s", 8e3),
    ("MB/s", 8e6),
    ("GB/s", 8e9),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
];
/// Units of amounts of data, in bytes.
pub const SIZE_UNITS: &[Unit] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

/// Length of the longest number that is read, in characters.
const LONGEST_NUMBER: usize = 64;

/// Splits `"1.5e3 kbit/s"` into its finite, non-negative number and its unit, which may be empty.
pub fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // The unit begins at the first letter or sign that is not part of a float's notation; an `e` belongs
    // to the number only where digits or a signed number follow.
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' | b'+' | b'-' => end += 1,
            b'e' | b'E' if bytes.get(end + 1).is_some_and(|b| matches!(b, b'0'..=b'9' | b'+' | b'-')) => {
                end += 2
            }
            _ => break,
        }
    }
    let number = number(text.get(..end)?)?;
    (number.is_finite() && number >= 0.0 && !number.is_sign_negative())
        .then(|| (number, text[end..].trim_start()))
}

/// The number of digits with underscores between them.
fn number(text: &str) -> Option<f64> {
    let mut digits = [0; LONGEST_NUMBER];
    let mut length = 0;
    for byte in text.bytes().filter(|byte| *byte != b'_') {
        *digits.get_mut(length)? = byte;
        length += 1;
    }
    core::str::from_utf8(&digits[..length]).ok()?.parse().ok()
}

/// Other names of units in lower case. Any case is accepted, except for a `B` in the name of a rate of bits.
const NAMES: &[(&[&str], &str)] = &[
    (&["bps", "bit", "bits/s"], "bit/s"),
    (&["kbps", "kbit", "kbit/s", "kbits/s"], "kbit/s"),
    (&["mbps", "mbit", "mbit/s", "mbits/s"], "Mbit/s"),
    (&["gbps", "gbit", "gbit/s", "gbits/s"], "Gbit/s"),
    (&["msec", "msecs", "millis"], "ms"),
    (&["usec", "usecs", "\u{b5}s", "\u{3bc}s"], "us"),
    (&["sec", "secs", "second", "seconds"], "s"),
    (&["mins", "minute", "minutes"], "min"),
    (&["hour", "hours", "hr"], "h"),
    (&["byte", "bytes", "octets"], "B"),
    (&["kbyte", "kbytes"], "kB"),
    (&["mbyte", "mbytes"], "MB"),
    (&["gbyte", "gbytes"], "GB"),
    (&["kib"], "KiB"),
    (&["mib"], "MiB"),
    (&["gib"], "GiB"),
];

/// Units in lower case that are probably meant, but have another meaning as well.
const DOUBTFUL: &[(&[&str], &str)] = &[
    (&["b/s"], "bit/s"),
    (&["kb/s"], "kbit/s"),
    (&["mb/s"], "Mbit/s"),
    (&["gb/s"], "Gbit/s"),
    (&["ms"], "ms"),
    (&["us"], "us"),
    (&["s"], "s"),
    (&["kb"], "kB"),
    (&["mb"], "MB"),
    (&["gb"], "GB"),
    (&["bps", "b/s"], "B/s"),
    (&["kbps", "kb/s"], "kB/s"),
    (&["mbps", "mb/s"], "MB/s"),
    (&["gbps", "gb/s"], "GB/s"),
];

/// A quantity with one of `units`, in the base unit, in which it is finite; `None` if it is not one.
pub fn in_units(text: &str, units: &[Unit]) -> Option<f64> {
    let (number, unit) = split(text)?;
    let scale = scale(unit, units).or_else(|| scale(renamed(unit, NAMES, units)?, units))?;
    Some(number * scale).filter(|value| value.is_finite())
}

fn scale(unit: &str, units: &[Unit]) -> Option<f64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

/// The unit of `units` that has another name in `table`.
fn renamed(unit: &str, table: &[(&[&str], &'static str)], units: &[Unit]) -> Option<&'static str> {
    let is_name =
        |names: &[&str]| names.iter().any(|name| name.chars().eq(unit.chars().flat_map(char::to_lowercase)));
    // `MBps` counts bytes.
    let contradicts = |named: &str| named.ends_with("bit/s") && unit.contains('B');
    let fits = |named: &str| scale(named, units).is_some() && !contradicts(named);
    table.iter().find(|(names, named)| is_name(names) && fits(named)).map(|(_, named)| *named)
}

/// The number and the unit that a text with a unit of two meanings probably means: `2mb/s` is 2 Mbit/s.
pub fn meant<'a>(text: &'a str, units: &[Unit]) -> Option<(&'a str, &'static str)> {
    let (_, unit) = split(text)?;
    let number = text.trim().strip_suffix(unit)?.trim_end();
    Some((number, renamed(unit, DOUBTFUL, units)?))
}

/// A time with its unit, such as `50ms`; `None` if it is not one, or above 584 years.
pub fn time(text: &str) -> Option<Duration> {
    in_units(text, TIME_UNITS).map(Duration::from_secs_f64).filter(|time| *time < Duration::MAX)
}

/// A rate with its unit, such as `150 kbit/s`, `1.2MB/s` or `2M`; `None` if it is not one.
pub fn rate(text: &str) -> Option<DataRate> {
    in_units(text, RATE_UNITS).map(DataRate::from_bits_per_second)
}

/// A whole number of bytes with its unit, such as `762 B` or `64kB`; `None` if it is not one.
pub fn size(text: &str) -> Option<ByteCount> {
    let bytes = in_units(text, SIZE_UNITS)?;
    // The largest float below 2^64 is the largest that a cast keeps.
    (bytes < u64::MAX as f64 && bytes % 1.0 == 0.0).then_some(ByteCount::new(bytes as u64))
}

/// A share of a whole from 0 to 1: `1 %` or `0.01`; `None` if it is not one.
pub fn share(text: &str) -> Option<f64> {
    in_units(text, &[("%", 0.01), ("", 1.0)]).filter(|share| *share <= 1.0)
}
