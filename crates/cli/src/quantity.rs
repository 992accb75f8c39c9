//! Rates, lengths of time and Service Codes as people type them.

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

/// Reads a number of seconds, such as `10` or `0.5`.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.trim().trim_end_matches('s').parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value <= 1e6 => Ok(Duration::from_secs_f64(value)),
        _ => Err(format!("{text:?} is not a length of time: expected seconds above 0, such as 10 or 0.5")),
    }
}

/// Reads a Service Code: a number, or one to four letters, filled up with spaces (RFC 4340, Section 8.1.2).
pub(crate) fn parse_service_code(text: &str) -> Result<ServiceCode, String> {
    let expected =
        || format!("{text:?} is no service code: expected a number below 4294967295 or one to four letters");
    if let Ok(number) = text.parse() {
        // RFC 4340, Section 8.1.2: this one is invalid.
        return if number == u32::MAX { Err(expected()) } else { Ok(ServiceCode(number)) };
    }
    let is_name = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_name {
        return Err(expected());
    }
    let mut letters = [b' '; 4];
    letters[..text.len()].copy_from_slice(text.as_bytes());
    Ok(ServiceCode(u32::from_be_bytes(letters)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_as_people_type_them() {
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
    fn times_are_positive_seconds() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_seconds("10s"), Ok(Duration::from_secs(10)));
        for wrong in ["0", "-1", "", "inf", "soon"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn service_codes_are_numbers_or_names() {
        assert_eq!(parse_service_code("42"), Ok(ServiceCode(42)));
        assert_eq!(parse_service_code("perf"), Ok(ServiceCode(1_885_696_614)));
        assert_eq!(parse_service_code("rtp").map(|code| code.to_string()), Ok("SC:rtp".into()));
        for wrong in ["", "video", "4294967295", "4294967296", "-1", "a b", "x1"] {
            assert!(parse_service_code(wrong).unwrap_err().contains("expected"), "{wrong}");
        }
    }
}
