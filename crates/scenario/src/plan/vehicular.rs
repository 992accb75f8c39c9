//! MACs of 802.11p, resolved: vehicles outside the context of a BSS.

use std::collections::BTreeMap;

use whimbrel_netsim::StationIndex;
use whimbrel_netsim::medium::QosConfig;
use whimbrel_wifi::edca::{EdcaConfig, OCB_CATEGORIES, TransmitRate};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::phy::{Phy, Rate, RateSet};

use super::{qos, quoted, stations};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::quantity::Size;
use crate::wifi::{Standard, Wifi};

/// The default rate, which vehicles use on the control channel: 6 Mbit/s.
const DEFAULT_RATE: Rate = Rate::Ofdm12;

/// The medium's MACs, without a seed.
pub(super) fn plan(
    scenario: &Scenario,
    key: &str,
    wifi: &Wifi,
    air: MediumConfig,
    noise: Option<f64>,
) -> Result<QosConfig, ScenarioError> {
    refuse_keys(scenario, key, wifi)?;
    let mut phy = Phy::ofdm_10_mhz();
    let rate = rate(key, wifi, &phy)?;
    // Groups are sent at the lowest basic rate, here the highest mandatory one that is not above `rate`.
    let group = phy.basic.iter().filter(|basic| *basic <= rate).last().unwrap_or_else(|| phy.basic.lowest());
    phy.basic = RateSet::new(&phy.basic.iter().filter(|basic| *basic >= group).collect::<Vec<_>>());
    let base = EdcaConfig::station(phy, TransmitRate::Legacy(rate));
    let threshold = |Size(size): Size| u32::try_from(size.as_u64()).unwrap_or(u32::MAX);
    let mac = EdcaConfig {
        categories: qos::categories(&format!("{key}.edca"), wifi.edca.as_ref(), OCB_CATEGORIES)?,
        rts_threshold: wifi.rts_threshold.map_or(u32::MAX, threshold),
        retry_limit: match wifi.short_retries {
            Some(0) => {
                let expected = "at least 1: the first attempt counts";
                return Err(ScenarioError::invalid(format!("{key}.short_retries"), 0, expected));
            }
            limit => limit.or(base.retry_limit),
        },
        ..base
    };
    let mut own_categories = BTreeMap::new();
    for (number, (position, node)) in stations::members(scenario, &wifi.name).into_iter().enumerate() {
        let Some(station) = &node.station else { continue };
        let key = format!("node[{position}].station");
        if let Some(name) = qos::foreign_station_key(station) {
            return Err(refused(&key, name));
        }
        if station.airtime_weight.is_some() {
            return Err(refused(&key, "airtime_weight"));
        }
        if station.edca.is_some() {
            let own = qos::categories(&format!("{key}.edca"), station.edca.as_ref(), mac.categories)?;
            own_categories.insert(StationIndex::new(number), own);
        }
    }
    Ok(QosConfig {
        air,
        access_point: mac.clone(),
        mac,
        own_categories,
        weights: BTreeMap::new(),
        cells: Vec::new(),
        categories: BTreeMap::new(),
        queues: None,
        noise,
        seed: 0,
    })
}

fn refused(key: &str, name: &str) -> ScenarioError {
    ScenarioError::invalid(format!("{key}.{name}"), "...", "no such key: it is not one of \"802.11p\"")
}

/// Keys of other standards, and of networks with access points.
fn refuse_keys(scenario: &Scenario, key: &str, wifi: &Wifi) -> Result<(), ScenarioError> {
    let own = qos::own_keys(wifi).into_iter().filter(|(name, _)| *name != "edca");
    let foreign = qos::foreign_keys(wifi).into_iter().filter(|(name, _)| *name != "rate");
    if let Some((name, _)) = own.chain(foreign).find(|(_, is_given)| *is_given) {
        return Err(refused(key, name));
    }
    for (position, node) in stations::members(scenario, &wifi.name) {
        let key = format!("node[{position}]");
        let roles = [("access_point", node.access_point.is_some()), ("client", node.client.is_some())];
        if let Some((name, _)) = roles.into_iter().find(|(_, is_given)| *is_given) {
            let expected = "none: stations of \"802.11p\" send to each other without an association";
            return Err(ScenarioError::invalid(format!("{key}.{name}"), "{...}", expected));
        }
        if node.standard.is_some_and(|standard| standard != Standard::Ocb) {
            let expected = "none in a medium of \"802.11p\": all stations are alike";
            return Err(ScenarioError::invalid(format!("{key}.standard"), "...", expected));
        }
    }
    Ok(())
}

/// The rate of unicast data frames, in Mbit/s of a channel of 10 MHz.
fn rate(key: &str, wifi: &Wifi, phy: &Phy) -> Result<Rate, ScenarioError> {
    let Some(given) = wifi.rate else { return Ok(DEFAULT_RATE) };
    let bits = given.0.as_bits_per_second();
    phy.supported.iter().find(|rate| phy.bits_per_second(*rate) as f64 == bits).ok_or_else(|| {
        let rates: Vec<String> =
            phy.supported.iter().map(|rate| (phy.bits_per_second(rate) as f64 / 1e6).to_string()).collect();
        let expected = format!("a rate of a channel of 10 MHz: {} Mbit/s", rates.join(", "));
        ScenarioError::invalid(format!("{key}.rate"), quoted(&format!("{} Mbit/s", bits / 1e6)), expected)
    })
}
