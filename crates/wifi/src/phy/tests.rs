use whimbrel_units::Duration;

use super::{Modulation, Phy, Preamble, Rate, RateSet};

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// Every row of the table of published frame times, exactly.
#[test]
fn frame_durations_are_the_published_ones() {
    let mut rows = 0;
    for row in include_str!("../../tests/data/frame-durations.csv").lines().skip(1) {
        let columns: std::vec::Vec<&str> = row.split(',').collect();
        let [name, bytes, mbps, preamble, part, expected, _] = columns[..] else { panic!("{row}") };
        let phy = match (name, preamble) {
            ("HR/DSSS", "long") => Phy::hr_dsss(Preamble::Long),
            ("DSSS", "long") => Phy::dsss(),
            ("OFDM (11a)", _) => Phy::ofdm(),
            ("ERP-OFDM (11g)", _) => Phy::erp_ofdm(),
            _ => panic!("an unknown PHY: {row}"),
        };
        let rate = Rate::from_megabits_per_second(mbps.parse().unwrap()).unwrap();
        let bytes = bytes.parse().unwrap();
        let computed = if part == "payload only" {
            Phy::payload_duration(rate, bytes)
        } else {
            phy.duration(rate, bytes)
        };
        assert_eq!(micros(computed), expected.parse::<f64>().unwrap(), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 14);
}

#[test]
fn interframe_spaces_follow_from_slot_and_sifs() {
    let b = Phy::hr_dsss(Preamble::Long);
    assert_eq!((micros(b.difs()), micros(b.eifs())), (50.0, 364.0));
    let g = Phy::erp_ofdm();
    // An acknowledgement at 6 Mbit/s: 20 + 6 symbols + 6.
    assert_eq!((micros(g.difs()), micros(g.eifs())), (28.0, 10.0 + 50.0 + 28.0));
    let a = Phy::ofdm();
    assert_eq!((micros(a.difs()), micros(a.eifs())), (34.0, 16.0 + 44.0 + 34.0));
}

/// Channels of 10 MHz double the times of OFDM: preamble and header 40 us, symbols of 8 us.
#[test]
fn durations_at_10_mhz_are_twice_those_at_20_mhz() {
    let (whole, half) = (Phy::ofdm(), Phy::ofdm_10_mhz());
    for rate in half.supported.iter() {
        for bytes in [14, 38, 300, 1_536, 2_304] {
            assert_eq!(half.duration(rate, bytes), whole.duration(rate, bytes) * 2);
        }
    }
    // 300 bytes at 6 Mbit/s: 40 us and 51 symbols of 48 bits.
    assert_eq!(micros(half.duration(Rate::Ofdm12, 300)), 40.0 + 51.0 * 8.0);
    assert_eq!(half.bits_per_second(Rate::Ofdm12), 6_000_000);
    assert_eq!((micros(half.difs()), micros(half.rx_start_delay())), (58.0, 49.0));
    // An acknowledgement at 3 Mbit/s: 40 us and 6 symbols.
    assert_eq!(micros(half.eifs()), 32.0 + 88.0 + 58.0);
}

#[test]
fn the_short_preamble_halves_the_plcp_but_not_at_one_megabit() {
    let phy = Phy::hr_dsss(Preamble::Short);
    assert_eq!(micros(phy.duration(Rate::Dsss1, 14)), 192.0 + 112.0);
    assert_eq!(micros(phy.duration(Rate::Dsss2, 14)), 96.0 + 56.0);
    assert_eq!(micros(phy.duration(Rate::Hr11, 1_536)), 96.0 + 1_118.0);
    assert_eq!(micros(phy.rx_start_delay()), 96.0);
}

#[test]
fn responses_use_the_highest_basic_rate_that_is_not_above_the_frame() {
    let b = Phy::hr_dsss(Preamble::Long);
    for (rate, response) in [
        (Rate::Dsss1, Rate::Dsss1),
        (Rate::Dsss2, Rate::Dsss2),
        (Rate::Hr5_5, Rate::Dsss2),
        (Rate::Hr11, Rate::Dsss2),
    ] {
        assert_eq!(b.response_rate(rate), response);
    }
    let g = Phy::erp_ofdm();
    for (rate, response) in [
        (Rate::Ofdm6, Rate::Ofdm6),
        (Rate::Ofdm9, Rate::Ofdm6),
        (Rate::Ofdm18, Rate::Ofdm12),
        (Rate::Ofdm54, Rate::Ofdm24),
    ] {
        assert_eq!(g.response_rate(rate), response);
    }
    // The response to an OFDM frame is an OFDM frame, although 5.5 Mbit/s is basic and 6 Mbit/s is not.
    let mixed = Phy::erp_mixed(Preamble::Long);
    assert_eq!(mixed.response_rate(Rate::Ofdm9), Rate::Ofdm6);
    assert_eq!(mixed.response_rate(Rate::Ofdm54), Rate::Ofdm24);
    assert_eq!(mixed.response_rate(Rate::Hr11), Rate::Hr11);
    // Without a basic rate that is low enough, a mandatory rate of the same modulation serves.
    let only_fast = Phy { basic: RateSet::new(&[Rate::Ofdm24]), ..Phy::erp_ofdm() };
    assert_eq!(only_fast.response_rate(Rate::Ofdm18), Rate::Ofdm12);
}

#[test]
fn a_set_iterates_in_the_order_of_speed() {
    let speeds: std::vec::Vec<u64> = RateSet::all().iter().map(Rate::bits_per_second).collect();
    assert!(speeds.is_sorted());
    assert_eq!(speeds.len(), Rate::ALL.len());
    assert_eq!(RateSet::of(Modulation::HrDsss), RateSet::new(&[Rate::Hr5_5, Rate::Hr11]));
    assert_eq!(Rate::from_megabits_per_second(7.0), None);
}
