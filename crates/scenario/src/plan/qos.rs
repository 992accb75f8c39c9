//! MACs of 802.11n, ac and ax, resolved.

use whimbrel_netsim::StationIndex;
use whimbrel_netsim::medium::{InfrastructureConfig, QosConfig, StationRole};
use whimbrel_units::Duration;
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::AggregateLimits;
use whimbrel_wifi::edca::{
    ACCESS_POINT_CATEGORIES, AccessCategory, CategoryParameters, EdcaConfig, TransmitRate,
};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::phy::{Format, GuardInterval, InvalidMode, LONGEST_PPDU, Mode, Width};

use super::{quoted, stations};
use crate::Scenario;
use crate::error::ScenarioError;
use crate::quantity::{Size, Time};
use crate::wifi::qos::{Band, Category};
use crate::wifi::{MacRules, Preamble, RateControl, Standard, Wifi};

/// The largest A-MSDU of 802.11n, and of the longest MPDU of 802.11ac and ax.
const AMSDU_HT: u64 = 7_935;
const AMSDU_VHT: u64 = 11_398;
/// TXOP limits are counted in units of 32 us by 8 bits.
const LONGEST_TXOP: Duration = Duration::from_micros(255 * 32);

/// The format of a standard; `None` up to 802.11g.
pub(super) const fn format(standard: Standard) -> Option<Format> {
    match standard {
        Standard::Ht => Some(Format::Ht),
        Standard::Vht => Some(Format::Vht),
        Standard::He => Some(Format::He),
        _ => None,
    }
}

const fn name(format: Format) -> &'static str {
    match format {
        Format::Ht => "802.11n",
        Format::Vht => "802.11ac",
        Format::He | Format::HeExtendedRange => "802.11ax",
    }
}

fn invalid<T>(
    key: &str,
    name: &str,
    found: impl core::fmt::Display,
    expected: String,
) -> Result<T, ScenarioError> {
    Err(ScenarioError::invalid(format!("{key}.{name}"), found, expected))
}

/// The medium's MACs, without a seed; `None` up to 802.11g, which have none of the keys of the others.
pub(super) fn plan(
    scenario: &Scenario,
    key: &str,
    wifi: &Wifi,
    infrastructure: Option<&InfrastructureConfig>,
    air: MediumConfig,
    noise: Option<f64>,
) -> Result<Option<QosConfig>, ScenarioError> {
    let Some(format) = format(wifi.standard) else {
        for (name, is_given) in own_keys(wifi) {
            if is_given {
                let expected =
                    "no such key: it is one of \"802.11n\", \"802.11ac\" and \"802.11ax\"".to_owned();
                return invalid(key, name, "...", expected);
            }
        }
        return Ok(None);
    };
    for (name, is_given) in foreign_keys(wifi) {
        if is_given {
            let expected = format!("no such key: it is not one of {}", quoted(self::name(format)));
            return invalid(key, name, "...", expected);
        }
    }
    for (position, node) in stations::members(scenario, &wifi.name) {
        let own = [("standard", node.standard.is_some()), ("station", node.station.is_some())];
        if let Some((name, _)) = own.into_iter().find(|(_, is_given)| *is_given) {
            let expected = format!("none in a medium of {}: all stations are alike", self::name(format));
            return invalid(&format!("node[{position}]"), name, "...", expected);
        }
        if node.access_point.as_ref().is_some_and(|point| point.rate.is_some()) {
            let expected =
                "none: the rate follows from `mcs`, `width` and `streams` of the medium".to_owned();
            return invalid(&format!("node[{position}].access_point"), "rate", "...", expected);
        }
    }
    let mode = mode(key, wifi, format)?;
    let phy = match band(wifi) {
        Band::Ghz5 => Phy::ofdm(),
        Band::Ghz2_4 => Phy::erp_ofdm(),
    };
    let base = EdcaConfig::station(phy, TransmitRate::Mode(mode));
    let limits = limits(key, wifi, format, base.limits)?;
    let threshold = |Size(size): Size| u32::try_from(size.as_u64()).unwrap_or(u32::MAX);
    let mut mac = EdcaConfig {
        limits,
        rts_threshold: wifi.rts_threshold.map_or(u32::MAX, threshold),
        retry_limit: match wifi.short_retries {
            Some(0) => {
                return invalid(key, "short_retries", 0, "at least 1: the first attempt counts".to_owned());
            }
            Some(limit) => Some(limit),
            None => base.retry_limit,
        },
        buffer: 2 * usize::from(limits.window),
        ..base
    };
    let mut access_point = EdcaConfig { categories: ACCESS_POINT_CATEGORIES, ..mac.clone() };
    if let Some(category) = wifi.edca.and_then(|edca| edca.best_effort) {
        let key = format!("{key}.edca.best_effort");
        for config in [&mut mac, &mut access_point] {
            let of_mac = &mut config.categories[AccessCategory::BestEffort as usize];
            *of_mac = self::category(&key, &category, *of_mac)?;
        }
    }
    let cells = infrastructure.map_or(Ok(Vec::new()), |roles| cells(scenario, wifi, roles))?;
    Ok(Some(QosConfig { air, mac, access_point, cells, noise, seed: 0 }))
}

/// Keys of 802.11n, ac and ax, and whether they are given.
const fn own_keys(wifi: &Wifi) -> [(&'static str, bool); 8] {
    [
        ("band", wifi.band.is_some()),
        ("width", wifi.width.is_some()),
        ("streams", wifi.streams.is_some()),
        ("guard_interval", wifi.guard_interval.is_some()),
        ("mcs", wifi.mcs.is_some()),
        ("ampdu", wifi.ampdu.is_some()),
        ("amsdu", wifi.amsdu.is_some()),
        ("edca", wifi.edca.is_some()),
    ]
}

/// Keys of the standards up to 802.11g, and whether they are given.
fn foreign_keys(wifi: &Wifi) -> [(&'static str, bool); 11] {
    [
        ("preamble", wifi.preamble != Preamble::Long),
        ("mac", wifi.mac == MacRules::Ns2),
        ("rate", wifi.rate.is_some()),
        ("rate_control", wifi.rate_control != RateControl::Fixed),
        ("protection", wifi.protection.is_some()),
        ("control_rate", wifi.control_rate.is_some()),
        ("group_rate", wifi.group_rate.is_some()),
        ("long_retries", wifi.long_retries.is_some()),
        ("arp", wifi.arp),
        ("probes", wifi.probes.is_some()),
        ("controller", wifi.controller.is_some()),
    ]
}

fn band(wifi: &Wifi) -> Band {
    wifi.band.unwrap_or_default()
}

/// The mode of data frames: by default that of a router and a phone of today.
fn mode(key: &str, wifi: &Wifi, format: Format) -> Result<Mode, ScenarioError> {
    let is_low = band(wifi) == Band::Ghz2_4;
    if is_low && format == Format::Vht {
        return invalid(key, "band", "\"2.4 GHz\"", "\"5 GHz\", the band of 802.11ac".to_owned());
    }
    let default_width = match (is_low, format) {
        (true, _) => Width::Mhz20,
        (false, Format::Ht) => Width::Mhz40,
        (false, _) => Width::Mhz80,
    };
    let width = match wifi.width {
        None => default_width,
        Some(frequency) => {
            let megahertz = frequency.0 / 1e6;
            let found = || quoted(&format!("{megahertz} MHz"));
            let widest = match (is_low, format) {
                (true, _) | (_, Format::Ht) => Width::Mhz40,
                (false, _) => Width::Mhz160,
            };
            let widths: Vec<_> = Width::ALL.into_iter().filter(|width| *width <= widest).collect();
            match widths.iter().find(|width| f64::from(width.megahertz()) == megahertz) {
                Some(&width) => width,
                None => {
                    let names: Vec<_> =
                        widths.iter().map(|width| format!("\"{} MHz\"", width.megahertz())).collect();
                    let band = if is_low { "2.4 GHz" } else { "5 GHz" };
                    let expected = format!("a width of {} at {band}: {}", name(format), names.join(", "));
                    return invalid(key, "width", found(), expected);
                }
            }
        }
    };
    let streams = wifi.streams.unwrap_or(2);
    let guard = match wifi.guard_interval {
        None if format == Format::He => GuardInterval::Ns800,
        None => GuardInterval::Ns400,
        Some(Time(length)) => {
            let known = GuardInterval::from_duration(length);
            known.map_or_else(|| wrong_guard(key, format, length), Ok)?
        }
    };
    let highest = || {
        let modes = (0..format.schemes()).rev();
        modes.into_iter().find(|&mcs| Mode::new(format, mcs, streams, width, guard).is_ok()).unwrap_or(0)
    };
    let mcs = wifi.mcs.unwrap_or_else(highest);
    Mode::new(format, mcs, streams, width, guard).or_else(|error| match error {
        InvalidMode::Scheme { .. } => {
            invalid(key, "mcs", mcs, format!("a scheme of {}: 0 to {}", name(format), format.schemes() - 1))
        }
        InvalidMode::Streams { .. } => invalid(key, "streams", streams, "1 to 4 spatial streams".to_owned()),
        InvalidMode::Guard { .. } => wrong_guard(key, format, guard.duration()),
        InvalidMode::Excluded { .. } | InvalidMode::Width { .. } => {
            invalid(key, "mcs", mcs, format!("a scheme that exists: {error}"))
        }
    })
}

fn wrong_guard<T>(key: &str, format: Format, length: Duration) -> Result<T, ScenarioError> {
    let guards =
        if format == Format::He { "\"0.8 us\", \"1.6 us\", \"3.2 us\"" } else { "\"0.4 us\", \"0.8 us\"" };
    let found = quoted(&format!("{} us", length.as_nanos() as f64 / 1e3));
    invalid(key, "guard_interval", found, format!("a guard interval of {}: {guards}", name(format)))
}

fn limits(
    key: &str,
    wifi: &Wifi,
    format: Format,
    default: AggregateLimits,
) -> Result<AggregateLimits, ScenarioError> {
    let mut limits = default;
    let ampdu = wifi.ampdu.unwrap_or_default();
    if let Some(Size(size)) = ampdu.size {
        let longest = u64::from(format.longest_psdu());
        if size.as_u64() == 0 || size.as_u64() > longest {
            let expected = format!("1 to {longest} B; `window = 1` is for single frames");
            return invalid(key, "ampdu.size", quoted(&size.to_string()), expected);
        }
        limits.ampdu_bytes = size.as_u64() as u32;
    }
    if let Some(Time(time)) = ampdu.time {
        if time.is_zero() || time > LONGEST_PPDU {
            let expected = "a time above zero, at most \"5484 us\"".to_owned();
            return invalid(key, "ampdu.time", time, expected);
        }
        limits.ampdu_time = time;
    }
    if let Some(window) = ampdu.window {
        if window == 0 || window > default.window {
            let expected = format!("1 to {}", default.window);
            return invalid(key, "ampdu.window", window, expected);
        }
        limits.window = window;
    }
    if let Some(Size(size)) = wifi.amsdu {
        let longest = if format == Format::Ht { AMSDU_HT } else { AMSDU_VHT };
        if size.as_u64() == 0 || size.as_u64() > longest {
            return invalid(key, "amsdu", quoted(&size.to_string()), format!("1 to {longest} B"));
        }
        limits.amsdu_bytes = size.as_u64() as u32;
    }
    Ok(limits)
}

fn category(
    key: &str,
    keys: &Category,
    default: CategoryParameters,
) -> Result<CategoryParameters, ScenarioError> {
    let window = |name: &str, given: Option<u16>, default: u16| match given {
        None => Ok(default),
        Some(window) if window < 0x8000 && (window + 1).is_power_of_two() => Ok(window),
        Some(window) => invalid(key, name, window, "a power of two minus one, up to 32767".to_owned()),
    };
    let cw_min = window("cw_min", keys.cw_min, default.cw_min)?;
    let cw_max = window("cw_max", keys.cw_max, default.cw_max.max(cw_min))?;
    if cw_max < cw_min {
        return invalid(key, "cw_max", cw_max, format!("at least `cw_min`, {cw_min}"));
    }
    let aifsn = match keys.aifsn {
        Some(aifsn) if !(1..=15).contains(&aifsn) => {
            return invalid(key, "aifsn", aifsn, "1 to 15 slots".to_owned());
        }
        given => given.unwrap_or(default.aifsn),
    };
    let txop_limit = match keys.txop_limit {
        Some(Time(limit)) if limit > LONGEST_TXOP => {
            return invalid(key, "txop_limit", limit, "at most \"8160 us\"".to_owned());
        }
        given => given.map_or(default.txop_limit, |limit| limit.0),
    };
    Ok(CategoryParameters { aifsn, cw_min, cw_max, txop_limit })
}

/// The access point of each client: the one of its network.
fn cells(
    scenario: &Scenario,
    wifi: &Wifi,
    roles: &InfrastructureConfig,
) -> Result<Vec<Option<StationIndex>>, ScenarioError> {
    let points = || {
        roles.roles.iter().enumerate().filter_map(|(number, role)| match role {
            StationRole::AccessPoint(point) => Some((number, point)),
            _ => None,
        })
    };
    let members = stations::members(scenario, &wifi.name);
    let channel = points().next().map(|(_, point)| point.channel);
    if let Some((number, point)) = points().find(|(_, point)| Some(point.channel) != channel) {
        let expected = "one channel for all access points of a medium: another channel is another medium";
        let key = format!("node[{}].access_point.channel", members[number].0);
        return Err(ScenarioError::invalid(key, point.channel, expected));
    }
    let cell = |(number, role): (usize, &StationRole)| match role {
        StationRole::AccessPoint(_) => Ok(None),
        StationRole::AdHoc { .. } => {
            let expected = "`access_point` or `client`, as other stations of the medium have";
            Err(ScenarioError::invalid(format!("node[{}]", members[number].0), "...", expected))
        }
        StationRole::Client { config, .. } => {
            let mut own = points().filter(|(_, point)| point.ssid == config.ssid);
            match (own.next(), own.next()) {
                (Some((point, _)), None) => Ok(Some(StationIndex::new(point))),
                (None, _) => {
                    let key = format!("node[{}].client.ssid", members[number].0);
                    Err(ScenarioError::invalid(key, "...", "the `ssid` of an access point of the medium"))
                }
                (Some(_), Some((second, _))) => {
                    let key = format!("node[{}].access_point.ssid", members[second].0);
                    let expected = "another name: clients stay with the one access point of their network";
                    Err(ScenarioError::invalid(key, "...", expected))
                }
            }
        }
    };
    roles.roles.iter().enumerate().map(cell).collect()
}
