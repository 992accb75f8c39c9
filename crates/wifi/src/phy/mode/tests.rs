use std::string::ToString;
use std::vec::Vec;

use super::LONGEST_PPDU;
use super::{Format, GuardInterval, InvalidMode, Mode, Width};
use crate::phy::Rate;
use whimbrel_units::Duration;

pub(crate) fn format(name: &str) -> Format {
    match name {
        "ht" => Format::Ht,
        "vht" => Format::Vht,
        "he" => Format::He,
        _ => panic!("the format {name}"),
    }
}

pub(crate) fn width(text: &str) -> Width {
    Width::from_megahertz(text.parse().unwrap()).unwrap()
}

pub(crate) fn guard(text: &str) -> GuardInterval {
    let nanos = text.parse::<f64>().unwrap() * 1e3;
    GuardInterval::from_duration(Duration::from_nanos(nanos.round() as u64)).unwrap()
}

fn nanos(text: &str) -> u64 {
    (text.parse::<f64>().unwrap() * 1e3).round() as u64
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|row| row.split(',').collect())
}

/// Bits, encoders, rates and the largest PSDU of every mode; the standard has no others.
#[test]
fn the_table_of_bits_holds_for_all_modes() {
    let mut known = Vec::new();
    for row in rows(include_str!("../../../tests/data/today/bits.csv")) {
        let [phy, megahertz, streams, mcs, bits, encoders, slowest, fastest, psdu] = row[..] else {
            panic!("{row:?}")
        };
        let (format, width) = (format(phy), width(megahertz));
        let (mcs, streams) = (mcs.parse().unwrap(), streams.parse().unwrap());
        let is_he = format == Format::He;
        let (long, short) = if is_he {
            (GuardInterval::Ns3200, GuardInterval::Ns800)
        } else {
            (GuardInterval::Ns800, GuardInterval::Ns400)
        };
        let mode = |guard| Mode::new(format, mcs, streams, width, guard).unwrap();
        assert_eq!(mode(long).data_bits().to_string(), bits, "{row:?}");
        assert_eq!(mode(long).encoders().to_string(), encoders, "{row:?}");
        for (guard, rate) in [(long, slowest), (short, fastest)] {
            let expected = rate.parse::<f64>().unwrap();
            assert!((mode(guard).bits_per_second() as f64 / 1e6 - expected).abs() < 6e-5, "{row:?}");
        }
        let sized = mode(GuardInterval::Ns800);
        assert_eq!(sized.largest_psdu(LONGEST_PPDU).to_string(), psdu, "{row:?}");
        assert!(sized.duration(sized.largest_psdu(LONGEST_PPDU)) <= LONGEST_PPDU);
        assert!(sized.duration(sized.largest_psdu(LONGEST_PPDU) + 1) > LONGEST_PPDU);
        known.push((format, mcs, streams, width));
    }
    assert_eq!(known.len(), 411);
    let mut all = 0;
    for format in [Format::Ht, Format::Vht, Format::He] {
        for (mcs, streams) in (0..16).flat_map(|mcs| (0..6).map(move |streams| (mcs, streams))) {
            for width in Width::ALL {
                let mode = Mode::new(format, mcs, streams, width, GuardInterval::Ns800);
                assert_eq!(mode.is_ok(), known.contains(&(format, mcs, streams, width)), "{mode:?}");
                if let Ok(mode) = mode {
                    all += 1;
                    assert_eq!((mode.format(), mode.mcs(), mode.streams()), (format, mcs, streams));
                    assert_eq!((mode.width(), mode.guard()), (width, GuardInterval::Ns800));
                }
            }
        }
    }
    assert_eq!(all, 411);
}

#[test]
fn transmissions_last_as_long_as_the_table_has_it() {
    let mut count = 0;
    for row in rows(include_str!("../../../tests/data/today/ppdu.csv")) {
        let [phy, mcs, streams, megahertz, interval, band, extended, bytes, symbols, time, ns3, _] = row[..]
        else {
            panic!("{row:?}")
        };
        let format = if extended == "1" { Format::HeExtendedRange } else { format(phy) };
        let (mcs, streams) = (mcs.parse().unwrap(), streams.parse().unwrap());
        let mode = Mode::new(format, mcs, streams, width(megahertz), guard(interval)).unwrap();
        let bytes = bytes.parse().unwrap();
        let extension = if band == "2.4" { 6_000 } else { 0 };
        assert_eq!(mode.symbols(bytes).to_string(), symbols, "{row:?}");
        assert_eq!(mode.duration(bytes).as_nanos() + extension, nanos(time), "{row:?}");
        assert_eq!(ns3_nanos(mode, bytes) + extension, nanos(ns3), "{row:?}");
        count += 1;
    }
    assert_eq!(count, 60);
}

/// The time in ns-3, which leaves out VHT-SIG-B, takes 8 us for each training field of HE, and does not round
/// the data of short guard intervals.
fn ns3_nanos(mode: Mode, bytes: u32) -> u64 {
    let preamble = mode.preamble().as_nanos();
    let fields = mode.training_fields();
    let preamble = match mode.format() {
        Format::Ht => preamble,
        Format::Vht => preamble - 4_000,
        Format::He | Format::HeExtendedRange => preamble - fields * mode.training_field() + fields * 8_000,
    };
    preamble + mode.symbols(bytes) * mode.symbol().as_nanos()
}

#[test]
fn the_times_that_ns3_asserts_come_out_with_its_deviations() {
    let mut count = 0;
    for row in rows(include_str!("../../../tests/data/today/ns3-durations.csv")) {
        let [phy, mcs, megahertz, interval, bytes, time] = row[..] else { panic!("{row:?}") };
        let mode =
            Mode::new(format(phy), mcs.parse().unwrap(), 1, width(megahertz), guard(interval)).unwrap();
        assert_eq!(ns3_nanos(mode, bytes.parse().unwrap()), nanos(time), "{row:?}");
        count += 1;
    }
    assert_eq!(count, 117);
}

#[test]
fn the_longest_psdu_of_the_short_guard_interval_fits_after_rounding() {
    for streams in 1..=4 {
        for mcs in 0..8 {
            let mode = Mode::new(Format::Ht, mcs, streams, Width::Mhz20, GuardInterval::Ns400).unwrap();
            for limit in [LONGEST_PPDU, Duration::from_micros(1_001), Duration::from_micros(333)] {
                let largest = mode.largest_psdu(limit);
                assert!(mode.duration(largest) <= limit, "{mode}");
                assert!(mode.duration(largest + 1) > limit, "{mode}");
            }
        }
    }
}

#[test]
fn modes_that_do_not_exist_are_named() {
    let mode = |format, mcs, streams, width, guard| {
        Mode::new(format, mcs, streams, width, guard).unwrap_err().to_string()
    };
    use GuardInterval::{Ns400, Ns800, Ns1600};
    use Width::{Mhz20, Mhz80, Mhz160};
    assert_eq!(mode(Format::Ht, 8, 1, Mhz20, Ns800), "HT has the MCS 0 to 7 and no MCS 8");
    assert_eq!(mode(Format::He, 11, 5, Mhz20, Ns800), "HE has 1 to 4 streams, not 5");
    assert_eq!(mode(Format::Ht, 7, 1, Mhz80, Ns800), "HT has channels of 20 and 40 MHz, not 80 MHz");
    assert_eq!(
        mode(Format::Vht, 7, 1, Mhz80, Ns1600),
        "VHT has guard intervals of 0.4 and 0.8 us, not 1.6 us"
    );
    assert_eq!(
        mode(Format::He, 7, 1, Mhz80, Ns400),
        "HE has guard intervals of 0.8, 1.6 and 3.2 us, not 0.4 us"
    );
    assert_eq!(mode(Format::Vht, 9, 3, Mhz160, Ns800), "VHT leaves out MCS 9 with 3 streams at 160 MHz");
    assert_eq!(
        Mode::new(Format::Vht, 9, 1, Mhz20, Ns800),
        Err(InvalidMode::Excluded { mcs: 9, streams: 1, width: Mhz20 })
    );
    assert_eq!(mode(Format::HeExtendedRange, 0, 2, Mhz20, Ns800), "HE ER has one stream, not 2");
}

#[test]
fn responses_go_by_the_modulation() {
    let phy = crate::phy::Phy::ofdm();
    let response = |mcs| {
        let mode = Mode::new(Format::He, mcs, 1, Width::Mhz20, GuardInterval::Ns800).unwrap();
        phy.response_rate(mode.reference_rate())
    };
    assert_eq!(response(0), Rate::Ofdm6);
    assert_eq!([response(1), response(2)], [Rate::Ofdm12; 2]);
    assert!((3..12).all(|mcs| response(mcs) == Rate::Ofdm24));
}
