//! Rates, lengths of time and Service Codes as typed on the command line.

use whimbrel_net::{Ccid, Registry};
use whimbrel_units::{DataRate, Duration};
use whimbrel_wire::ServiceCode;

/// Reads `10M`, `500k`, `1.5G` or a plain number of bit/s; `0` means no limit.
pub(crate) fn parse_rate(text: &str) -> Result<DataRate, String> {
    let expected = || {
        format!("{text:?} is not a rate: expected a number of bit/s with an optional k, M or G, such as 500k")
    };
    let (number, factor) = match text.trim().char_indices().last() {
        Some((at, 'k' | 'K')) => (&text.trim()[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text.trim()[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text.trim()[..at], 1e9),
        _ => (text.trim(), 1.0),
    };
    let value: f64 = number.parse().map_err(|_| expected())?;
    if !value.is_finite() || value < 0.0 {
        return Err(expected());
    }
    Ok(if value == 0.0 { DataRate::INFINITE } else { DataRate::from_bits_per_second(value * factor) })
}

/// Reads `10M`, `500k`, `2G` or a plain number of bytes, in powers of ten.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    match parse_rate(text) {
        Ok(rate) if (1.0..=1e18).contains(&rate.as_bits_per_second()) => Ok(rate.as_bits_per_second() as u64),
        _ => Err(format!(
            "{text:?} is not a number of bytes: expected 1 or more with an optional k, M or G, such as 10M"
        )),
    }
}

/// Reads a number of seconds, such as `10` or `0.5`.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value <= 1e6 => Ok(Duration::from_secs_f64(value)),
        _ => Err(format!("{text:?} is not a length of time: expected seconds above 0, such as 10 or 0.5")),
    }
}

/// Reads a number of seconds that may be none, such as `0` or `0.5`.
pub(crate) fn parse_seconds_or_none(text: &str) -> Result<Duration, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if (0.0..=1e6).contains(&value) => Ok(Duration::from_secs_f64(value)),
        _ => Err(format!("{text:?} is not a length of time: expected seconds, such as 0, 10 or 0.5")),
    }
}

/// Reads a delay with its unit, such as `50ms` or `0.1 s`: up to a minute.
pub(crate) fn parse_delay(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, scale) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => ("", 0.0),
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value > 0.0 && value * scale <= 60.0 => Ok(Duration::from_secs_f64(value * scale)),
        _ => Err(format!(
            "{text:?} is not a delay: expected a time above 0 with its unit, such as 50ms or 0.1s, a minute at most"
        )),
    }
}

/// Reads the number of a CCID of this implementation.
pub(crate) fn parse_ccid(text: &str) -> Result<u8, String> {
    let mechanisms = Registry::default();
    let known = |number: &u8| mechanisms.mechanism(Ccid(*number)).is_some();
    text.parse().ok().filter(known).ok_or_else(|| format!("expected {}", mechanisms.describe(|_| true)))
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
    use super::*;

    #[test]
    fn rates_are_parsed_in_all_their_forms() {
        assert_eq!(parse_rate("500k"), Ok(DataRate::from_kilobits_per_second(500.0)));
        assert_eq!(parse_rate("1.5G"), Ok(DataRate::from_megabits_per_second(1500.0)));
        assert_eq!(parse_rate("10M"), Ok(DataRate::from_megabits_per_second(10.0)));
        assert_eq!(parse_rate("64000"), Ok(DataRate::from_bits_per_second(64e3)));
        assert_eq!(parse_rate("0"), Ok(DataRate::INFINITE));
        for wrong in ["", "k", "ten", "-1k", "NaN", "inf", "5 Mbit"] {
            assert!(parse_rate(wrong).unwrap_err().contains("not a rate"), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_counted_in_powers_of_ten() {
        assert_eq!([parse_bytes("1500"), parse_bytes("10M")], [Ok(1500), Ok(10_000_000)]);
        for wrong in ["0", "", "-1", "ten", "1T"] {
            assert!(parse_bytes(wrong).unwrap_err().contains("not a number of bytes"), "{wrong}");
        }
    }

    #[test]
    fn times_are_positive_seconds() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_seconds("10s"), Ok(Duration::from_secs(10)));
        for wrong in ["0", "-1", "", "inf", "soon"] {
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
}
