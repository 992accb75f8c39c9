//! MACs of stations, resolved.

use whimbrel_units::DataRate;
use whimbrel_wifi::dcf::{self, MacConfig};
use whimbrel_wifi::phy::{self, Phy, Rate, RateSet};
use whimbrel_wifi::rate_control::{self, Arf, Minstrel};

use super::quoted;
use crate::error::ScenarioError;
use crate::quantity;
use crate::wifi::{MacRules, Preamble, Protection, RateControl, Standard, Station, Wifi};

/// The MAC of the stations of a medium.
pub(super) fn mac(key: &str, wifi: &Wifi) -> Result<MacConfig, ScenarioError> {
    let preamble = match wifi.preamble {
        Preamble::Long => phy::Preamble::Long,
        Preamble::Short => phy::Preamble::Short,
    };
    let phy = match wifi.standard {
        Standard::Dsss => Phy::dsss(),
        Standard::HrDsss => Phy::hr_dsss(preamble),
        Standard::Ofdm => Phy::ofdm(),
        Standard::ErpOfdm => Phy::erp_ofdm(),
        Standard::ErpMixed => Phy::erp_mixed(preamble),
        // Their rates follow from modes; see `qos` and `vehicular`.
        Standard::Ocb | Standard::Ht | Standard::Vht | Standard::He => Phy::ofdm(),
    };
    let supported = phy.supported;
    let rate = |name: &str, rate: Option<quantity::Rate>| {
        rate.map(|rate| phy_rate(&format!("{key}.{name}"), rate.0, supported)).transpose()
    };
    let data_rate = rate("rate", wifi.rate.filter(|_| wifi.standard != Standard::Ocb))?;
    let group_rate = rate("group_rate", wifi.group_rate)?;
    let control_rate = rate("control_rate", wifi.control_rate)?;
    let highest = supported.iter().max_by_key(|rate| rate.bits_per_second()).unwrap_or(Rate::Dsss1);
    let lowest = phy.basic.lowest();
    let rules = match wifi.mac {
        MacRules::Standard => MacConfig::standard(phy, highest),
        MacRules::Ns2 => {
            let phy = Phy { basic: RateSet::new(&[lowest]), has_exact_times: true, ..phy };
            MacConfig { phy, data_rate: lowest, group_rate: lowest, ..MacConfig::ns2() }
        }
    };
    let retries = |name: &str, given, default| retries(&format!("{key}.{name}"), given, default);
    let threshold = |quantity::Size(size): quantity::Size| u32::try_from(size.as_u64()).unwrap_or(u32::MAX);
    let config = MacConfig {
        rate_control: match wifi.rate_control {
            RateControl::Fixed => rate_control::RateControl::Fixed,
            RateControl::Arf => rate_control::RateControl::Arf(Arf::default()),
            RateControl::Minstrel => rate_control::RateControl::Minstrel(Minstrel::default()),
        },
        protection: match wifi.protection {
            None | Some(Protection::None) => dcf::Protection::None,
            Some(Protection::CtsToSelf) => dcf::Protection::CtsToSelf { rate: lowest },
            Some(Protection::RtsCts) => dcf::Protection::RtsCts { rate: lowest },
        },
        data_rate: data_rate.unwrap_or(rules.data_rate),
        group_rate: group_rate.unwrap_or(rules.group_rate),
        control_rate: control_rate.or(rules.control_rate),
        rts_threshold: wifi.rts_threshold.map_or(rules.rts_threshold, threshold),
        short_retry_limit: retries("short_retries", wifi.short_retries, rules.short_retry_limit)?,
        long_retry_limit: retries("long_retries", wifi.long_retries, rules.long_retry_limit)?,
        ..rules
    };
    checked(key, config)
}

/// The MAC of a station, given its medium's.
pub(super) fn own_mac(key: &str, keys: &Station, common: MacConfig) -> Result<MacConfig, ScenarioError> {
    let supported = common.phy.supported;
    let rate = keys.rate.map(|rate| phy_rate(&format!("{key}.rate"), rate.0, supported)).transpose()?;
    let retries = |name: &str, given, default| retries(&format!("{key}.{name}"), given, default);
    let config = MacConfig {
        data_rate: rate.unwrap_or(common.data_rate),
        rate_control: if rate.is_some() { rate_control::RateControl::Fixed } else { common.rate_control },
        short_retry_limit: retries("short_retries", keys.short_retries, common.short_retry_limit)?,
        long_retry_limit: retries("long_retries", keys.long_retries, common.long_retry_limit)?,
        phy: Phy {
            cw_min: keys.cw_min.unwrap_or(common.phy.cw_min),
            cw_max: keys.cw_max.unwrap_or(common.phy.cw_max.max(keys.cw_min.unwrap_or(0))),
            aifsn: keys.aifsn.unwrap_or(common.phy.aifsn),
            ..common.phy
        },
        ..common
    };
    checked(key, config)
}

/// Attempts, of which the first one counts.
fn retries(key: &str, given: Option<u16>, default: Option<u16>) -> Result<Option<u16>, ScenarioError> {
    match given {
        Some(0) => Err(ScenarioError::invalid(key, 0, "at least 1: the first attempt counts")),
        Some(limit) => Ok(Some(limit)),
        None => Ok(default),
    }
}

fn checked(key: &str, config: MacConfig) -> Result<MacConfig, ScenarioError> {
    config.check().map(|()| config).map_err(|error| {
        let name = match error.field {
            "short_retry_limit" => "short_retries",
            "long_retry_limit" => "long_retries",
            "data_rate" => "rate",
            other => other.strip_prefix("phy.").unwrap_or(other),
        };
        ScenarioError::invalid(format!("{key}.{name}"), error.value, error.expected.replace("phy.", ""))
    })
}

/// The rate of a physical layer with that number of bits per second.
pub(super) fn phy_rate(key: &str, rate: DataRate, supported: RateSet) -> Result<Rate, ScenarioError> {
    let megabits = rate.as_bits_per_second() / 1e6;
    supported.iter().find(|other| other.data_rate() == rate).ok_or_else(|| {
        let rates: Vec<String> =
            supported.iter().map(|rate| (rate.bits_per_second() as f64 / 1e6).to_string()).collect();
        let expected = format!("a rate of the physical layer: {} Mbit/s", rates.join(", "));
        ScenarioError::invalid(key, quoted(&format!("{megabits} Mbit/s")), expected)
    })
}
