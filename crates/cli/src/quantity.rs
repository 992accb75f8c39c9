//! Rates, lengths of time and Service Codes as typed on the command line. Quantities have the syntax of
//! [`whimbrel_units::quantity`]; some options accept a number without a unit.

use whimbrel_relay::mechanisms;
use whimbrel_units::{DataRate, Duration, quantity};
use whimbrel_wire::ServiceCode;

/// Longest time that an option accepts, besides delays.
const LONGEST: Duration = Duration::from_secs(1_000_000);
/// Longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// A rate with its unit, such as `2Mbit/s`, `250kB/s` or `2M`, or a number of bit/s.
fn rate(text: &str) -> Option<DataRate> {
    quantity::rate(text).or_else(|| {
        let (number, unit) = quantity::split(text)?;
        // iperf accepts the short units in both cases.
        let factor = match unit {
            "" => 1.0,
            "K" => 1e3,
            "m" => 1e6,
            "g" => 1e9,
            _ => return None,
        };
        Some(DataRate::from_bits_per_second(number * factor))
    })
}

/// Reads a rate, such as `2Mbit/s` or `2M`, or a number of bit/s; `0` means no limit.
pub(crate) fn parse_rate(text: &str) -> Result<DataRate, String> {
    match rate(text) {
        Some(rate) if rate.is_zero() => Ok(DataRate::INFINITE),
        Some(rate) if rate < DataRate::INFINITE => Ok(rate),
        _ => Err(format!("{text:?} is not a rate: expected {RATE}{}", meant(text, quantity::RATE_UNITS))),
    }
}

/// Reads an amount of data, such as `10MB`, `10M` or `64KiB`, or a number of bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let short = || rate(text).map(DataRate::as_bits_per_second).filter(|bytes| *bytes <= 1e18);
    let bare_or_short =
        || text.trim().ends_with(|last: char| last.is_ascii_digit() || "kKmMgG".contains(last));
    let bytes = match quantity::size(text) {
        Some(size) => Some(size.as_u64()),
        None if bare_or_short() => short().map(|bytes| bytes as u64),
        None => None,
    };
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        format!("{text:?} is not a number of bytes: expected 1 or more, such as 1500, 10MB or 64KiB")
    })
}

/// A time with its unit, such as `500ms`, or a number of seconds; not longer than the longest.
fn time(text: &str) -> Option<Duration> {
    let bare = || match quantity::split(text)? {
        (number, "") => Some(Duration::from_secs_f64(number)),
        _ => None,
    };
    quantity::time(text).or_else(bare).filter(|time| *time <= LONGEST)
}

/// Reads a time above zero, such as `500ms` or `2min`, or a number of seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    time(text).filter(|time| !time.is_zero()).ok_or_else(|| {
        format!(
            "{text:?} is not a length of time: expected a time above 0, such as 500ms, 2min or seconds such as 10{}",
            meant(text, quantity::TIME_UNITS)
        )
    })
}

/// Reads a time that may be zero, such as `500ms`, or a number of seconds.
pub(crate) fn parse_seconds_or_none(text: &str) -> Result<Duration, String> {
    time(text).ok_or_else(|| {
        format!(
            "{text:?} is not a length of time: expected a time such as 500ms or 2min, or seconds such as 0 or 10{}",
            meant(text, quantity::TIME_UNITS)
        )
    })
}

/// Reads a delay with its unit, such as `50ms` or `0.1 s`: up to a minute.
pub(crate) fn parse_delay(text: &str) -> Result<Duration, String> {
    quantity::time(text).filter(|time| !time.is_zero() && *time <= LONGEST_DELAY).ok_or_else(|| {
        format!(
            "{text:?} is not a delay: expected a time above 0 with its unit, such as 50ms or 0.1s, a minute at most{}",
            meant(text, quantity::TIME_UNITS)
        )
    })
}

/// Reads a latency: a delay, or 0.
pub(crate) fn parse_latency(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    quantity::time(text).filter(|time| *time <= LONGEST_DELAY).ok_or_else(|| {
        format!(
            "{text:?} is not a latency: expected a time with its unit, such as 150ms or 0.1s, a minute at most, or 0 for no repair{}",
            meant(text, quantity::TIME_UNITS)
        )
    })
}

/// The end of a message for a text whose unit has two meanings: `; did you mean 2Mbit/s?`, or nothing.
fn meant(text: &str, units: &[quantity::Unit]) -> String {
    let found = quantity::meant(text, units);
    // A value with a clear unit may be refused for its size.
    let found = found.filter(|(_, unit)| !text.trim_end().ends_with(unit));
    found.map_or_else(String::new, |(number, unit)| format!("; did you mean {number}{unit}?"))
}

const TIME: &str = "a time with its unit (ns, us, ms, s, min, h), such as 50ms";
const RATE: &str = "a rate such as 2Mbit/s, 250kB/s or 500k, or a number of bit/s";
const SHARE: &str = "a share from 0 to 1, such as 1% or 0.01";

/// Reads a quantity for a command that is not written in Rust, in seconds, bit/s or as a part of 1.
///
/// # Errors
/// The text is no `kind` (`time`, `rate` or `share`), or the kind is unknown; the message states what was
/// expected.
pub fn parse_quantity(kind: &str, text: &str) -> Result<f64, String> {
    let (value, expected, units) = match kind {
        // Not rounded to nanoseconds: 150ms are 0.15.
        "time" => (quantity::in_units(text, quantity::TIME_UNITS), TIME, quantity::TIME_UNITS),
        "rate" => {
            let rate = rate(text).map(DataRate::as_bits_per_second).filter(|rate| rate.is_finite());
            (rate, RATE, quantity::RATE_UNITS)
        }
        "share" => (quantity::share(text), SHARE, &[] as &[quantity::Unit]),
        _ => return Err(format!("{kind:?} is no kind of quantity: expected time, rate or share")),
    };
    value.ok_or_else(|| format!("{text:?} is not {expected}{}", meant(text, units)))
}

/// Reads the number or the name of a CCID of this implementation.
pub(crate) fn parse_ccid(text: &str) -> Result<u8, String> {
    let mechanisms = mechanisms();
    let ccid = mechanisms.parse(text).map(|ccid| ccid.0);
    ccid.ok_or_else(|| format!("expected {}", mechanisms.describe(|_| true)))
}

/// Reads a Service Code: one of the forms of RFC 4340, Section 8.1.2 (`SC:RTPV`, `SC=1381257302`,
/// `SC=x52545056`), or just the number or the letters.
pub(crate) fn parse_service_code(text: &str) -> Result<ServiceCode, String> {
    let bare = || match text.parse() {
        Ok(number) => Some(ServiceCode(number)).filter(|code| *code != ServiceCode::INVALID),
        // An invalid number must not become a name.
        Err(_) if text.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            ServiceCode::from_letters(text)
        }
        Err(_) => None,
    };
    text.parse().ok().or_else(bare).ok_or_else(|| {
        format!(
            "{text:?} is no service code: expected a number below 4294967295, one to four letters, \
             SC:abcd or SC=x6664707A"
        )
    })
}

#[cfg(test)]
mod tests {
    use whimbrel_net::Ccid;
    use whimbrel_relay::accepted_ccids;

    use super::*;

    #[test]
    fn rates_are_parsed_in_all_their_forms() {
        assert_eq!(parse_rate("500k"), Ok(DataRate::from_kilobits_per_second(500.0)));
        assert_eq!(parse_rate("1.5G"), Ok(DataRate::from_megabits_per_second(1500.0)));
        assert_eq!(parse_rate("10M"), Ok(DataRate::from_megabits_per_second(10.0)));
        assert_eq!(parse_rate("64000"), Ok(DataRate::from_bits_per_second(64e3)));
        assert_eq!(parse_rate("0"), Ok(DataRate::INFINITE));
        for same in ["2M", "2m", "2 Mbit/s", "2000kbit/s", "250kB/s", "2e6", "2000K", "2Mbps", "2mbit"] {
            assert_eq!(parse_rate(same), Ok(DataRate::from_megabits_per_second(2.0)), "{same}");
        }
        for wrong in ["", "k", "ten", "-1k", "NaN", "inf", "5 mb/s", "1e400", "10ms"] {
            assert!(parse_rate(wrong).unwrap_err().contains("not a rate"), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_counted_in_powers_of_ten() {
        assert_eq!([parse_bytes("1500"), parse_bytes("10M")], [Ok(1500), Ok(10_000_000)]);
        assert_eq!([parse_bytes("10 MB"), parse_bytes("64KiB")], [Ok(10_000_000), Ok(65_536)]);
        for wrong in ["0", "", "-1", "ten", "1T", "2Mbit/s", "1e19"] {
            assert!(parse_bytes(wrong).unwrap_err().contains("not a number of bytes"), "{wrong}");
        }
    }

    #[test]
    fn times_are_positive_seconds() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_seconds("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(
            [parse_seconds("500ms"), parse_seconds("2 min")],
            [500, 120_000].map(|ms| Ok(Duration::from_millis(ms)))
        );
        for wrong in ["0", "0ms", "-1", "", "inf", "soon", "1e7", "300h"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_patience_may_be_none() {
        assert_eq!(parse_seconds_or_none("0"), Ok(Duration::ZERO));
        assert_eq!(parse_seconds_or_none("0.5s"), Ok(Duration::from_millis(500)));
        for wrong in ["-1", "", "inf", "NaN", "soon"] {
            assert!(parse_seconds_or_none(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn delays_need_a_unit() {
        assert_eq!(
            [parse_delay("50ms"), parse_delay("0.05 s")],
            [(); 2].map(|()| Ok(Duration::from_millis(50)))
        );
        for wrong in ["50", "0ms", "61s", "-1ms", ""] {
            assert!(parse_delay(wrong).unwrap_err().contains("with its unit"), "{wrong}");
        }
    }

    #[test]
    fn a_latency_may_be_none() {
        for none in ["0", " 0 ", "0ms", "0 s"] {
            assert_eq!(parse_latency(none), Ok(Duration::ZERO), "{none}");
        }
        assert_eq!(
            [parse_latency("150ms"), parse_latency("1min"), parse_latency("0.15 s")],
            [150, 60_000, 150].map(|ms| Ok(Duration::from_millis(ms)))
        );
        for wrong in ["150", "61s", "-5ms", "abc", "", "NaN"] {
            let error = parse_latency(wrong).unwrap_err();
            assert!(error.contains("or 0 for no repair") && !error.contains("above 0"), "{error}");
        }
    }

    #[test]
    fn only_a_doubtful_unit_has_a_suggestion() {
        for (wrong, suggestion) in
            [("50MS", Some("50ms")), ("700S", Some("700s")), ("700s", None), ("2min2", None)]
        {
            for error in [parse_latency(wrong).unwrap_err(), parse_delay(wrong).unwrap_err()] {
                let expected = suggestion.map(|meant| format!("did you mean {meant}?"));
                assert_eq!(error.split("; ").nth(1), expected.as_deref(), "{error}");
            }
        }
        assert!(!parse_seconds("2000000s").unwrap_err().contains("did you mean"));
    }

    #[test]
    fn other_commands_read_the_same_syntax() {
        assert_eq!(
            [parse_quantity("time", "150ms"), parse_quantity("time", "1.5 min")],
            [Ok(0.15), Ok(90.0)]
        );
        assert_eq!([parse_quantity("rate", "898kbit/s"), parse_quantity("rate", "2M")], [Ok(898e3), Ok(2e6)]);
        assert_eq!([parse_quantity("share", "1%"), parse_quantity("share", "0.01")], [Ok(0.01), Ok(0.01)]);
        for (kind, wrong) in
            [("time", "150"), ("rate", "fast"), ("rate", "1e400"), ("share", "1.5"), ("colour", "1")]
        {
            assert!(parse_quantity(kind, wrong).unwrap_err().contains("is n"), "{kind} {wrong}");
        }
    }

    #[test]
    fn service_codes_are_numbers_or_names() {
        assert_eq!(parse_service_code("42"), Ok(ServiceCode(42)));
        assert_eq!(parse_service_code("perf"), Ok(ServiceCode(1_885_696_614)));
        assert_eq!(parse_service_code("rtp").map(|code| code.to_string()), Ok("SC:rtp".into()));
        for text in ["SC:RTPV", "SC=1381257302", "SC=x52545056", "RTPV", "1381257302"] {
            assert_eq!(parse_service_code(text), Ok(ServiceCode::RTP_VIDEO), "{text}");
        }
        for wrong in ["", "video", "4294967295", "4294967296", "-1", "a b", "SC=4294967295", "SC:video"] {
            assert!(parse_service_code(wrong).unwrap_err().contains("expected"), "{wrong}");
        }
    }

    #[test]
    fn a_ccid_is_a_number_or_a_name_and_a_capture_is_explained_by_the_same() {
        assert_eq!((parse_ccid("2"), parse_ccid("cubic"), parse_ccid("254")), (Ok(2), Ok(248), Ok(254)));
        assert_eq!(parse_ccid("delay-aware"), Ok(252));
        let error = parse_ccid("bbr").expect_err("no such CCID");
        assert!(error.contains("248 (CUBIC)"), "{error}");
        let mechanisms = mechanisms();
        for ccid in mechanisms.ccids() {
            let name = mechanisms.mechanism(ccid).map(|mechanism| mechanism.name());
            let expected = name.filter(|_| ccid.0 >= 248);
            assert_eq!(whimbrel_inspect::follow::experiment(ccid.0.into()), expected, "{ccid}");
        }
        let accepted = accepted_ccids();
        assert_eq!(accepted[0], Ccid::TFRC);
        assert_eq!(accepted.len(), mechanisms.ccids().count());
    }
}
