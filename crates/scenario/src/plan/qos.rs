//! MACs of 802.11n, ac and ax, resolved.

use std::collections::BTreeMap;

use whimbrel_netsim::medium::{InfrastructureConfig, QosConfig, ReceiverQueues};
use whimbrel_netsim::queue::{CoDelConfig, FqCoDelConfig};
use whimbrel_netsim::{FlowId, QueueLimit, StationIndex};
use whimbrel_units::Duration;
use whimbrel_wifi::Phy;
use whimbrel_wifi::aggregation::AggregateLimits;
use whimbrel_wifi::airtime::QueueLimits;
use whimbrel_wifi::edca::{
    ACCESS_POINT_CATEGORIES, AccessCategory, Adaptation, CategoryParameters, EdcaConfig, TransmitRate, Turns,
};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::phy::{Format, GuardInterval, InvalidMode, LONGEST_PPDU, Mode, Width};

use super::{channels, quoted, stations, vehicular};
use crate::error::ScenarioError;
use crate::quantity::{Size, Time};
use crate::wifi::qos::{Band, Category, Edca};
use crate::wifi::{MacRules, Preamble, RateControl, Standard, Station, Wifi};
use crate::{Node, Scenario};

/// The largest A-MSDU of 802.11n, and of the longest MPDU of 802.11ac and ax.
const AMSDU_HT: u64 = 7_935;
const AMSDU_VHT: u64 = 11_398;
/// FQ-CoDel as mac80211 sets it up (`ieee80211_txq_setup_flows`), for one receiver and category. Linux
/// divides 4096 queues among all.
const CODEL_TARGET: Duration = Duration::from_millis(20);
const FQ_QUANTUM: u32 = 300;
const FLOW_QUEUES: u32 = 256;
/// Packets of all receivers and categories together.
pub(super) const DEVICE_LIMIT: QueueLimit = QueueLimit::Packets(8_192);
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
    if wifi.standard == Standard::Ocb {
        return vehicular::plan(scenario, key, wifi, air, noise).map(Some);
    }
    let Some(format) = format(wifi.standard) else {
        for (name, is_given) in own_keys(wifi) {
            if is_given {
                let expected =
                    "no such key: it is one of \"802.11n\", \"802.11ac\" and \"802.11ax\"".to_owned();
                return invalid(key, name, "...", expected);
            }
        }
        for (position, node) in stations::members(scenario, &wifi.name) {
            if let Some(name) = infrastructure_key(node) {
                let expected =
                    "no such key: it is one of \"802.11n\", \"802.11ac\" and \"802.11ax\"".to_owned();
                return invalid(&format!("node[{position}]"), name, "...", expected);
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
        if node.standard.is_some() {
            let expected = format!("none in a medium of {}: all stations are alike", self::name(format));
            return invalid(&format!("node[{position}]"), "standard", "...", expected);
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
    let adaptation = match wifi.rate_control {
        RateControl::Minstrel if wifi.mcs.is_some() => {
            let expected = "no such key beside `rate_control`, which chooses".to_owned();
            return invalid(key, "mcs", "...", expected);
        }
        RateControl::Minstrel => Adaptation::MinstrelHt,
        _ => Adaptation::Fixed,
    };
    let base = EdcaConfig { adaptation, ..EdcaConfig::station(phy, TransmitRate::Mode(mode)) };
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
    let queues = queues(key, wifi)?;
    let is_fair = wifi.airtime_fairness.unwrap_or(queues.is_some());
    mac.turns = if is_fair { Turns::Airtime } else { Turns::Transmissions };
    let mut access_point = EdcaConfig { categories: ACCESS_POINT_CATEGORIES, ..mac.clone() };
    for config in [&mut mac, &mut access_point] {
        config.categories = categories(&format!("{key}.edca"), wifi.edca.as_ref(), config.categories)?;
    }
    let cells =
        infrastructure.map_or(Ok(Vec::new()), |roles| channels::plan(scenario, wifi, mode.width(), roles))?;
    let (mut own_categories, mut weights) = (BTreeMap::new(), BTreeMap::new());
    for (number, (position, node)) in stations::members(scenario, &wifi.name).into_iter().enumerate() {
        let Some(station) = &node.station else { continue };
        let key = format!("node[{position}].station");
        if let Some(name) = foreign_station_key(station) {
            let expected = format!("no such key: it is not one of {}", quoted(self::name(format)));
            return invalid(&key, name, "...", expected);
        }
        let station_index = StationIndex::new(number);
        if station.edca.is_some() {
            let is_point = node.access_point.is_some();
            let default = if is_point { access_point.categories } else { mac.categories };
            let own = categories(&format!("{key}.edca"), station.edca.as_ref(), default)?;
            own_categories.insert(station_index, own);
        }
        match station.airtime_weight {
            Some(0) => return invalid(&key, "airtime_weight", 0, "a weight above zero".to_owned()),
            Some(weight) => weights.extend([(station_index, weight)]),
            None => {}
        }
    }
    let categories = BTreeMap::new();
    Ok(Some(QosConfig {
        air,
        mac,
        access_point,
        own_categories,
        weights,
        cells,
        categories,
        queues,
        noise,
        seed: 0,
    }))
}

/// The queues of Linux, unless the scenario has a queue of its own.
fn queues(key: &str, wifi: &Wifi) -> Result<Option<ReceiverQueues>, ScenarioError> {
    if wifi.queue.is_some() || wifi.discipline.is_some() {
        if wifi.aql.is_some() {
            let expected = "no such key beside `queue` and `discipline`, which a driver empties".to_owned();
            return invalid(key, "aql", "...", expected);
        }
        return Ok(None);
    }
    let keys = wifi.aql.unwrap_or_default();
    let linux = QueueLimits::LINUX;
    let time = |name: &str, given: Option<Time>, default: Duration| match given {
        Some(Time(time)) if time.is_zero() => {
            invalid(&format!("{key}.aql"), name, time, "a time above zero".to_owned())
        }
        given => Ok(given.map_or(default, |time| time.0)),
    };
    let limits = QueueLimits {
        low: time("low", keys.low, linux.low)?,
        high: time("high", keys.high, linux.high)?,
        threshold: time("threshold", keys.threshold, linux.threshold)?,
    };
    let codel = CoDelConfig { target: CODEL_TARGET, ecn: true, ..CoDelConfig::default() };
    let queue = FqCoDelConfig { codel, queues: FLOW_QUEUES, quantum: FQ_QUANTUM };
    Ok(Some(ReceiverQueues { queue, limits }))
}

/// The categories of flows, without best effort.
pub(super) fn categories_of_flows(
    scenario: &Scenario,
) -> Result<BTreeMap<FlowId, AccessCategory>, ScenarioError> {
    let mut categories = BTreeMap::new();
    let mut flows = 0..;
    for (position, flow) in scenario.flow.iter().enumerate() {
        let category = match &flow.dscp {
            None => AccessCategory::BestEffort,
            Some(dscp) => match dscp.value() {
                Some(value) => AccessCategory::of_dscp(value),
                None => {
                    let expected =
                        "a name, such as \"EF\", \"AF41\", \"CS1\" or \"LE\", or a number up to 63";
                    return Err(ScenarioError::invalid(format!("flow[{position}].dscp"), dscp, expected));
                }
            },
        };
        let ids = flows.by_ref().take(super::copies(flow.count).len()).map(FlowId);
        if category == AccessCategory::BestEffort {
            ids.for_each(drop);
        } else {
            categories.extend(ids.map(|id| (id, category)));
        }
    }
    Ok(categories)
}

/// A key of access points and clients of 802.11n, ac and ax that is given.
fn infrastructure_key(node: &Node) -> Option<&'static str> {
    let (point, client) = (node.access_point.as_ref(), node.client.as_ref());
    let given = [
        ("access_point.dtim_period", point.is_some_and(|point| point.dtim_period.is_some())),
        ("access_point.power_save_buffer", point.is_some_and(|point| point.power_save_buffer.is_some())),
        ("access_point.power_save_lifetime", point.is_some_and(|point| point.power_save_lifetime.is_some())),
        ("client.power_save", client.is_some_and(|client| client.power_save.is_some())),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

/// A key of stations up to 802.11g that is given.
pub(super) fn foreign_station_key(station: &Station) -> Option<&'static str> {
    let given = [
        ("rate", station.rate.is_some()),
        ("cw_min", station.cw_min.is_some()),
        ("cw_max", station.cw_max.is_some()),
        ("aifsn", station.aifsn.is_some()),
        ("short_retries", station.short_retries.is_some()),
        ("long_retries", station.long_retries.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

/// Keys of 802.11n, ac and ax, and whether they are given.
pub(super) const fn own_keys(wifi: &Wifi) -> [(&'static str, bool); 11] {
    [
        ("band", wifi.band.is_some()),
        ("width", wifi.width.is_some()),
        ("streams", wifi.streams.is_some()),
        ("guard_interval", wifi.guard_interval.is_some()),
        ("mcs", wifi.mcs.is_some()),
        ("ampdu", wifi.ampdu.is_some()),
        ("amsdu", wifi.amsdu.is_some()),
        ("edca", wifi.edca.is_some()),
        ("airtime_fairness", wifi.airtime_fairness.is_some()),
        ("aql", wifi.aql.is_some()),
        ("association", wifi.association.is_some()),
    ]
}

/// Keys of the standards up to 802.11g, and whether they are given.
pub(super) fn foreign_keys(wifi: &Wifi) -> [(&'static str, bool); 11] {
    [
        ("preamble", wifi.preamble != Preamble::Long),
        ("mac", wifi.mac == MacRules::Ns2),
        ("rate", wifi.rate.is_some()),
        ("rate_control", wifi.rate_control == RateControl::Arf),
        ("protection", wifi.protection.is_some()),
        ("control_rate", wifi.control_rate.is_some()),
        ("group_rate", wifi.group_rate.is_some()),
        ("long_retries", wifi.long_retries.is_some()),
        ("arp", wifi.arp),
        ("probes", wifi.probes.is_some()),
        ("controller", wifi.controller.is_some()),
    ]
}

pub(super) fn band(wifi: &Wifi) -> Band {
    wifi.band.unwrap_or_default()
}

/// The mode of data frames: by default, the mode of a router and a phone of today.
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

/// The parameters of all categories, as far as `keys` has others than `default`.
pub(super) fn categories(
    key: &str,
    keys: Option<&Edca>,
    default: [CategoryParameters; 4],
) -> Result<[CategoryParameters; 4], ScenarioError> {
    let mut parameters = default;
    let Some(keys) = keys else { return Ok(parameters) };
    let given = [
        ("background", keys.background),
        ("best_effort", keys.best_effort),
        ("video", keys.video),
        ("voice", keys.voice),
    ];
    for (parameters, (name, given)) in parameters.iter_mut().zip(given) {
        if let Some(given) = given {
            *parameters = category(&format!("{key}.{name}"), &given, *parameters)?;
        }
    }
    Ok(parameters)
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
