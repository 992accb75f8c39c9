//! Stations with a physical layer, or with parameters of the MAC, of their own.

use whimbrel_netsim::medium::{InfrastructureConfig, StationRole};
use whimbrel_wifi::dcf::{self, MacConfig};
use whimbrel_wifi::phy::{Modulation, Rate, RateSet};

use super::mac::{mac, own_mac};
use super::stations;
use crate::Scenario;
use crate::error::ScenarioError;
use crate::wifi::{MacRules, Standard, Wifi};

/// The MACs of a medium: its stations' common one, and one for each station that differs.
pub(super) struct Macs {
    pub(super) common: MacConfig,
    /// By station.
    pub(super) own: Vec<(usize, MacConfig)>,
    /// The protection of OFDM frames follows from the stations: the scenario does not decide on it.
    pub(super) is_protection_derived: bool,
}

impl Macs {
    /// `true` if a station decodes OFDM frames.
    fn is_erp(&self, station: usize) -> bool {
        let mut own = self.own.iter().filter(|(number, _)| *number == station);
        let phy = own.next().map_or(&self.common.phy, |(_, config)| &config.phy);
        phy.supported.iter().any(|rate| rate.modulation() == Modulation::Ofdm)
    }

    /// If the protection follows from the stations, access points and clients protect their OFDM frames only
    /// while a client is associated that does not decode them, and access points announce it.
    pub(super) fn announce(&self, infrastructure: &mut InfrastructureConfig) {
        if !self.is_protection_derived {
            return;
        }
        infrastructure.protection = Some(self.common.protection);
        for (station, role) in infrastructure.roles.iter_mut().enumerate() {
            let is_erp = self.is_erp(station);
            match role {
                StationRole::AdHoc { .. } => {}
                StationRole::AccessPoint(config) => config.announces_erp = is_erp,
                StationRole::Client { config, .. } => config.is_erp = is_erp,
            }
        }
    }
}

/// The names of the physical layers in scenarios.
const fn name(standard: Standard) -> &'static str {
    match standard {
        Standard::Dsss => "802.11",
        Standard::HrDsss => "802.11b",
        Standard::Ofdm => "802.11a",
        Standard::ErpOfdm => "802.11g",
        Standard::ErpMixed => "802.11bg",
        Standard::Ocb => "802.11p",
        Standard::Ht => "802.11n",
        Standard::Vht => "802.11ac",
        Standard::He => "802.11ax",
    }
}

/// The physical layers of stations that exchange frames with stations of this one: those with the same slots
/// and with a part of its rates.
const fn companions(standard: Standard) -> &'static [Standard] {
    match standard {
        Standard::ErpMixed => &[Standard::ErpMixed, Standard::HrDsss, Standard::Dsss],
        Standard::HrDsss => &[Standard::HrDsss, Standard::Dsss],
        Standard::Dsss => &[Standard::Dsss],
        Standard::Ofdm => &[Standard::Ofdm],
        Standard::ErpOfdm => &[Standard::ErpOfdm],
        Standard::Ocb => &[Standard::Ocb],
        Standard::Ht => &[Standard::Ht],
        Standard::Vht => &[Standard::Vht],
        Standard::He => &[Standard::He],
    }
}

/// Resolves the MACs of the stations of a medium.
pub(super) fn macs(scenario: &Scenario, key: &str, wifi: &Wifi) -> Result<Macs, ScenarioError> {
    for (position, node) in scenario.node.iter().enumerate() {
        if node.wifi.as_deref() == Some(&*wifi.name)
            && let Some(standard) = node.standard
        {
            check(&format!("node[{position}].standard"), standard, wifi)?;
        }
    }
    let members = stations::members(scenario, &wifi.name);
    let mut common = mac(key, wifi)?;
    let mut own = Vec::new();
    for (number, (_, node)) in members.iter().enumerate() {
        let Some(standard) = node.standard.filter(|&standard| standard != wifi.standard) else { continue };
        // The highest rate of the station, if the medium's is above.
        let keys = Wifi { standard, rate: None, group_rate: None, control_rate: None, ..wifi.clone() };
        let mut config = mac(key, &keys)?;
        let is_known = |rate: &Rate| config.phy.supported.contains(*rate);
        for (name, rate) in [("group_rate", Some(common.group_rate)), ("control_rate", common.control_rate)] {
            if let Some(rate) = rate.filter(|rate| !is_known(rate)) {
                return Err(ScenarioError::invalid(
                    format!("{key}.{name}"),
                    format!("\"{} Mbit/s\"", rate.bits_per_second() as f64 / 1e6),
                    format!(
                        "a rate of all stations: some are {} stations",
                        super::quoted(self::name(standard))
                    ),
                ));
            }
        }
        config.data_rate = highest(config.phy.supported, common.data_rate);
        (config.group_rate, config.control_rate) = (common.group_rate, common.control_rate);
        config.protection = dcf::Protection::None;
        own.push((number, config));
    }
    // Every station supports the basic rates.
    let is_common = |rate: &Rate| own.iter().all(|(_, config)| config.phy.supported.contains(*rate));
    let basic = RateSet::new(&common.phy.basic.iter().filter(is_common).collect::<Vec<_>>());
    common.phy.basic = basic;
    own.iter_mut().for_each(|(_, config)| config.phy.basic = basic);
    // Stations that do not decode OFDM frames are protected unless the scenario decides otherwise (19.2).
    let lacks_ofdm = |(_, config): &(usize, MacConfig)| config.phy.supported != common.phy.supported;
    let is_protection_derived =
        wifi.protection.is_none() && wifi.standard == Standard::ErpMixed && own.iter().any(lacks_ofdm);
    if is_protection_derived {
        common.protection = dcf::Protection::CtsToSelf { rate: common.phy.basic.lowest() };
    }
    for (number, &(position, node)) in members.iter().enumerate() {
        let Some(keys) = &node.station else { continue };
        let key = format!("node[{position}].station");
        let of_today = [("edca", keys.edca.is_some()), ("airtime_weight", keys.airtime_weight.is_some())];
        if let Some((name, _)) = of_today.into_iter().find(|(_, is_given)| *is_given)
            && super::qos::format(wifi.standard).is_none()
            && wifi.standard != Standard::Ocb
        {
            let expected = "no such key: it is one of \"802.11n\", \"802.11ac\" and \"802.11ax\"";
            return Err(ScenarioError::invalid(format!("{key}.{name}"), "...", expected));
        }
        match own.iter_mut().find(|(station, _)| *station == number) {
            Some((_, config)) => *config = own_mac(&key, keys, config.clone())?,
            None => own.push((number, own_mac(&key, keys, common.clone())?)),
        }
    }
    Ok(Macs { common, own, is_protection_derived })
}

/// The highest rate of a set that is not above another one.
fn highest(supported: RateSet, limit: Rate) -> Rate {
    let below = supported.iter().filter(|rate| rate.bits_per_second() <= limit.bits_per_second());
    below.max_by_key(|rate| rate.bits_per_second()).unwrap_or_else(|| supported.lowest())
}

fn check(key: &str, standard: Standard, wifi: &Wifi) -> Result<(), ScenarioError> {
    let found = || super::quoted(name(standard));
    if standard != wifi.standard && wifi.mac == MacRules::Ns2 {
        let expected = "the physical layer of the medium, as with all stations under the rules of ns-2";
        return Err(ScenarioError::invalid(key, found(), expected));
    }
    let companions = companions(wifi.standard);
    if companions.contains(&standard) {
        return Ok(());
    }
    let names: Vec<&str> = companions.iter().map(|&standard| name(standard)).collect();
    let expected = format!("a physical layer beside that of the medium: {}", names.join(", "));
    Err(ScenarioError::invalid(key, found(), expected))
}
