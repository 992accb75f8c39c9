//! Rates in tables of comma-separated values, as data sets and measuring programs write them.
//!
//! The first line is a header. The time is in the first column whose name says so (`time`, `timestamp`,
//! `seconds`, `t`, with or without a unit such as `_s` or `_ms`; seconds by default), and counts from the
//! first line's. The rate is in the column whose name ends with a unit: `rate_kbps`, `DL_bitrate_kbps`,
//! `Mbit/s`, `throughput (Mbps)`. Other columns are ignored.

use whimbrel_units::{DataRate, Instant};

use super::TraceError;
use super::rate_steps::add;

const HEADER: &str =
    "a header with one column of times and one of rates with its unit, such as `time_s,rate_kbps`";

/// Units of rates by the end of a column's name, in lower case without signs, in bit/s. Longer ones first.
const RATE_UNITS: [(&str, f64); 12] = [
    ("kbits", 1e3),
    ("mbits", 1e6),
    ("gbits", 1e9),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bits", 1.0),
    ("bps", 1.0),
    ("bit", 1.0),
];

/// Names of columns of times, in lower case without signs, in seconds.
const TIMES: [(&str, f64); 14] = [
    ("time", 1.0),
    ("timestamp", 1.0),
    ("seconds", 1.0),
    ("t", 1.0),
    ("times", 1.0),
    ("timestamps", 1.0),
    ("timesec", 1.0),
    ("timeseconds", 1.0),
    ("timems", 1e-3),
    ("timestampms", 1e-3),
    ("timemilliseconds", 1e-3),
    ("milliseconds", 1e-3),
    ("ts", 1.0),
    ("tms", 1e-3),
];

/// Reads the lines of a table, with their positions in the file.
pub(super) fn parse<'a>(
    mut lines: impl Iterator<Item = (usize, &'a str)>,
) -> Result<Vec<(Instant, DataRate)>, TraceError> {
    let (head_index, head) = lines.next().ok_or(TraceError::Whole { expected: HEADER })?;
    let separator = if head.contains(',') { ',' } else { ';' };
    let names: Vec<String> = head.split(separator).map(plain).collect();
    let wrong = || TraceError::line(head_index, HEADER, head);
    let time_of = |name: &String| TIMES.iter().find(|(time, _)| time == name).map(|(_, scale)| *scale);
    let rate_of =
        |name: &String| RATE_UNITS.iter().find(|(unit, _)| name.ends_with(unit)).map(|(_, scale)| *scale);
    let (time_column, seconds) =
        names.iter().enumerate().find_map(|(index, name)| Some((index, time_of(name)?))).ok_or_else(wrong)?;
    let rates: Vec<(usize, f64)> =
        names.iter().enumerate().filter_map(|(index, name)| Some((index, rate_of(name)?))).collect();
    let [(rate_column, bits)] = rates[..] else { return Err(wrong()) };
    let mut steps = Vec::new();
    let mut first = None;
    for (index, line) in lines {
        let fields: Vec<&str> = line.split(separator).map(|field| field.trim().trim_matches('"')).collect();
        let number = |column: usize| fields.get(column).and_then(|field| field.parse::<f64>().ok());
        let (Some(time), Some(rate)) = (number(time_column), number(rate_column)) else {
            return Err(TraceError::line(
                index,
                "numbers in the columns of the time, such as seconds (not a time of day), and of the rate",
                line,
            ));
        };
        let zero = *first.get_or_insert(time);
        add(&mut steps, index, line, (time - zero) * seconds, rate * bits)?;
    }
    Ok(steps)
}

/// The name of a column in lower case, without signs.
fn plain(name: &str) -> String {
    name.chars().filter(|one| one.is_ascii_alphanumeric()).map(|one| one.to_ascii_lowercase()).collect()
}
