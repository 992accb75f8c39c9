use std::string::ToString;

use whimbrel_units::Duration;

use super::super::{MacConfig, Protection};
use crate::phy::{Phy, Preamble, Rate, RateSet};
use crate::rate_control::{Arf, Minstrel, RateControl};

fn standard() -> MacConfig {
    MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11)
}

#[test]
fn the_configurations_that_the_crate_offers_are_valid() {
    use crate::dcf::AfterCollision::{Difs, Eifs};
    for config in [
        standard(),
        MacConfig::ns2(),
        MacConfig::standard(Phy::dsss(), Rate::Dsss2),
        MacConfig::standard(Phy::ofdm(), Rate::Ofdm54),
        MacConfig::synchronous(Phy::erp_ofdm(), Rate::Ofdm9, Difs),
        MacConfig::synchronous(Phy::erp_ofdm(), Rate::Ofdm6, Eifs),
        MacConfig {
            protection: Protection::CtsToSelf { rate: Rate::Hr5_5 },
            rate_control: RateControl::Minstrel(Minstrel::default()),
            ..MacConfig::standard(Phy::erp_mixed(Preamble::Short), Rate::Ofdm54)
        },
    ] {
        assert_eq!(config.check(), Ok(()));
    }
}

#[test]
fn impossible_values_are_refused_with_field_value_and_expectation() {
    let good = standard();
    let phy = |change: fn(&mut Phy)| {
        let mut phy = standard().phy;
        change(&mut phy);
        MacConfig { phy, ..standard() }
    };
    let arf = |successes, failures| RateControl::Arf(Arf { successes, failures, ..Arf::default() });
    let minstrel = |lookaround_percent, old_weight_percent| {
        RateControl::Minstrel(Minstrel { lookaround_percent, old_weight_percent, ..Minstrel::default() })
    };
    let of_phy = "expected a rate of the PHY: 1, 2, 5.5, 11 Mbit/s";
    let cases = [
        (
            MacConfig { data_rate: Rate::Ofdm54, ..good.clone() },
            &*std::format!("mac: data_rate is 54 Mbit/s, {of_phy}"),
        ),
        (
            MacConfig { control_rate: Some(Rate::Ofdm6), ..good.clone() },
            &*std::format!("mac: control_rate is 6 Mbit/s, {of_phy}"),
        ),
        (
            MacConfig { group_rate: Rate::Ofdm24, ..good.clone() },
            &*std::format!("mac: group_rate is 24 Mbit/s, {of_phy}"),
        ),
        (
            MacConfig { protection: Protection::RtsCts { rate: Rate::Hr11 }, ..good.clone() },
            "mac: protection.rate is 11 Mbit/s, expected a basic rate of 1, 2, 5.5 or 11 Mbit/s",
        ),
        (
            MacConfig {
                protection: Protection::CtsToSelf { rate: Rate::Ofdm6 },
                ..MacConfig::standard(Phy::erp_ofdm(), Rate::Ofdm54)
            },
            "mac: protection.rate is 6 Mbit/s, expected a basic rate of 1, 2, 5.5 or 11 Mbit/s",
        ),
        (
            MacConfig { short_retry_limit: Some(0), ..good.clone() },
            "mac: short_retry_limit is 0, expected at least 1 attempt, or none for no limit",
        ),
        (MacConfig { long_retry_limit: Some(0), ..good.clone() }, "mac: long_retry_limit is 0, expected"),
        (MacConfig { header_bytes: 0, ..good.clone() }, "mac: header_bytes is 0, expected at least 1"),
        (MacConfig { rate_control: arf(0, 2), ..good.clone() }, "mac: rate_control.successes is 0"),
        (MacConfig { rate_control: arf(10, 0), ..good.clone() }, "mac: rate_control.failures is 0"),
        (
            MacConfig { rate_control: minstrel(101, 75), ..good.clone() },
            "mac: rate_control.lookaround_percent is 101, expected at most 100",
        ),
        (
            MacConfig { rate_control: minstrel(10, 200), ..good },
            "mac: rate_control.old_weight_percent is 200",
        ),
        (phy(|phy| phy.supported = RateSet::new(&[])), "mac: phy.supported is empty"),
        (
            phy(|phy| phy.basic = RateSet::new(&[])),
            "mac: phy.basic is empty, expected some of 1, 2, 5.5, 11 Mbit/s",
        ),
        (phy(|phy| phy.basic = RateSet::all()), "mac: phy.basic is 6 Mbit/s, expected some of 1, 2, 5.5, 11"),
        (phy(|phy| phy.slot = Duration::ZERO), "mac: phy.slot is 0, expected a time above 0"),
        (phy(|phy| phy.sifs = Duration::ZERO), "mac: phy.sifs is 0"),
        (phy(|phy| phy.cw_min = 32), "mac: phy.cw_min is 32, expected a power of two minus one"),
        (phy(|phy| phy.cw_max = 1_000), "mac: phy.cw_max is 1000"),
        (phy(|phy| phy.cw_min = 2_047), "mac: phy.cw_min is 2047, expected at most phy.cw_max, 1023"),
    ];
    for (config, message) in cases {
        let found = config.check().unwrap_err().to_string();
        assert!(found.starts_with(message), "{found}\nexpected: {message}");
    }
}
