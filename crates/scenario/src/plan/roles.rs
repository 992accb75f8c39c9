//! Roles of stations, resolved.

use whimbrel_netsim::medium::{InfrastructureConfig, InvalidRole, StationRole};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::edca::AccessCategory;
use whimbrel_wifi::infrastructure::{
    AccessPointConfig, HandoverTrigger, InvalidInfrastructure, PowerSaveConfig, Scan, Ssid, StationConfig,
};
use whimbrel_wifi::phy::RateSet;
use whimbrel_wifi::propagation::from_decibels;

use super::mac::phy_rate;
use super::stations::{self, StationPlan};
use super::{Note, channels, quoted};
use crate::error::ScenarioError;
use crate::infrastructure::{self as keys, AccessPoint, Client};
use crate::wifi::Wifi;
use crate::{Node, Scenario};

/// The default margin by which another access point must be received with more power, in decibels.
const HYSTERESIS: f64 = 6.0;

/// The roles of the stations of a medium; `None` if all are ad hoc.
pub(super) fn plan(
    scenario: &Scenario,
    wifi: &Wifi,
    stations: &[StationPlan],
    rates: RateSet,
    notes: &mut Vec<Note>,
) -> Result<Option<InfrastructureConfig>, ScenarioError> {
    let members = stations::members(scenario, &wifi.name);
    let channel = channels::default_channel(wifi);
    if members.iter().all(|(_, node)| node.access_point.is_none() && node.client.is_none()) {
        return Ok(None);
    }
    let mut roles = Vec::with_capacity(members.len());
    for (number, &(position, node)) in members.iter().enumerate() {
        let key = format!("node[{position}]");
        let address = MacAddress::station(number as u32);
        roles.push(match (&node.access_point, &node.client) {
            (Some(_), Some(_)) => {
                let expected = "either `access_point` or `client`";
                return Err(ScenarioError::invalid(format!("{key}.client"), "{...}", expected));
            }
            (Some(point), None) => {
                let point = AccessPoint { channel: point.channel.or(Some(channel)), ..point.clone() };
                StationRole::AccessPoint(access_point(&key, &point, address, rates)?)
            }
            (None, Some(client)) => client_role(scenario, wifi, &key, client, address)?,
            (None, None) => StationRole::default(),
        });
    }
    announce_groups(&mut roles, &members);
    let distribution_delay = wifi.distribution_delay.0;
    let config = InfrastructureConfig { distribution_delay, ..InfrastructureConfig::new(roles) };
    let config = config.with_staggered_beacons();
    config.check(stations.len()).map_err(|error| explain(error, &members))?;
    note_channels(&config, &members, notes);
    Ok(Some(config))
}

/// Beacons before group frames between two of them with a map, as hostapd has it.
const DTIM_PERIOD: u8 = 2;

/// Beacons have a map of kept packets if a client saves power.
fn announce_groups(roles: &mut [StationRole], members: &[(usize, &Node)]) {
    let saves = |role: &StationRole| matches!(role, StationRole::Client { config, .. } if config.power_save.is_some());
    if !roles.iter().any(saves) {
        return;
    }
    for (role, (_, node)) in roles.iter_mut().zip(members) {
        if let (StationRole::AccessPoint(point), Some(keys)) = (role, &node.access_point) {
            point.dtim_period = Some(keys.dtim_period.unwrap_or(DTIM_PERIOD));
        }
    }
}

/// Notes the entries of clients that do not scan the channels of their network's access points.
fn note_channels(config: &InfrastructureConfig, members: &[(usize, &Node)], notes: &mut Vec<Note>) {
    let mut noted = None;
    for (role, &(position, _)) in config.roles.iter().zip(members) {
        if let StationRole::Client { config: client, .. } = role
            && !config.serves(client)
            && noted.replace(position) != Some(position)
        {
            let text = format!(
                "no access point of its network is on a channel that it scans ({}): it is never associated",
                client.channels.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
            );
            notes.push(Note::of_plan(&format!("node[{position}].client.channels"), text));
        }
    }
}

/// The same error, with the key of the station at fault.
fn explain(error: InvalidRole, members: &[(usize, &Node)]) -> ScenarioError {
    let key = |station: usize| format!("node[{}]", members[station].0);
    let role = |station: usize| if members[station].1.client.is_some() { "client" } else { "access_point" };
    match error {
        InvalidRole::Parameter { station, error } => match error {
            InvalidInfrastructure::Value { parameter, expected } => {
                let key = format!("{}.{}.{parameter}", key(station.index()), role(station.index()));
                ScenarioError::invalid(key, "...", expected)
            }
            other => ScenarioError::invalid(key(station.index()), "...", other.to_string()),
        },
        InvalidRole::DuplicateAddress { address, stations: (first, second) } => {
            let expected = format!(
                "an address that `{}` has not: a BSSID is that of one access point",
                key(first.index())
            );
            ScenarioError::invalid(
                format!("{}.{}.bssid", key(second.index()), role(second.index())),
                quoted(&address.to_string()),
                expected,
            )
        }
        InvalidRole::GroupAddress { address, station } => {
            let key = format!("{}.{}.bssid", key(station.index()), role(station.index()));
            ScenarioError::invalid(
                key,
                quoted(&address.to_string()),
                "the address of one station: an even first byte",
            )
        }
        other => ScenarioError::invalid("node", "...", other.to_string()),
    }
}

fn ssid(key: &str, name: &str) -> Result<Ssid, ScenarioError> {
    Ssid::new(name)
        .map_err(|_| ScenarioError::invalid(format!("{key}.ssid"), quoted(name), "at most 32 bytes"))
}

fn access_point(
    key: &str,
    point: &AccessPoint,
    address: MacAddress,
    rates: RateSet,
) -> Result<AccessPointConfig, ScenarioError> {
    let key = format!("{key}.access_point");
    let address = point.bssid.as_deref().map_or(Ok(address), |text| {
        let wrong = || {
            let expected = "six bytes, such as \"02:00:00:00:00:01\"";
            ScenarioError::invalid(format!("{key}.bssid"), quoted(text), expected)
        };
        text.parse().map_err(|_| wrong())
    })?;
    let default = AccessPointConfig::new(address, ssid(&key, &point.ssid)?, point.channel.unwrap_or(1));
    Ok(AccessPointConfig {
        beacon_interval: point.beacon_interval.map_or(default.beacon_interval, |time| time.0),
        max_stations: point.max_clients.map_or(default.max_stations, |count| count as usize),
        dtim_period: point.dtim_period,
        power_save_buffer: point.power_save_buffer.map_or(default.power_save_buffer, |count| count as usize),
        power_save_lifetime: point.power_save_lifetime.map_or(default.power_save_lifetime, |time| time.0),
        data_rate: point.rate.map(|rate| phy_rate(&format!("{key}.rate"), rate.0, rates)).transpose()?,
        ..default
    })
}

fn category(name: keys::CategoryName) -> AccessCategory {
    match name {
        keys::CategoryName::Background => AccessCategory::Background,
        keys::CategoryName::BestEffort => AccessCategory::BestEffort,
        keys::CategoryName::Video => AccessCategory::Video,
        keys::CategoryName::Voice => AccessCategory::Voice,
    }
}

fn client_role(
    scenario: &Scenario,
    wifi: &Wifi,
    key: &str,
    client: &Client,
    address: MacAddress,
) -> Result<StationRole, ScenarioError> {
    let key = format!("{key}.client");
    let networks: Vec<&AccessPoint> = scenario
        .node
        .iter()
        .filter(|node| node.wifi.as_deref() == Some(&wifi.name))
        .filter_map(|node| node.access_point.as_ref())
        .collect();
    let default_channel = channels::default_channel(wifi);
    let of_network = networks.iter().filter(|point| point.ssid == client.ssid);
    let mut channels: Vec<u8> = of_network.map(|point| point.channel.unwrap_or(default_channel)).collect();
    if channels.is_empty() {
        let names: Vec<String> = networks.iter().map(|point| point.ssid.clone()).collect();
        let expected = format!("the network of an access point: {}", super::abridged(&names));
        return Err(ScenarioError::invalid(format!("{key}.ssid"), quoted(&client.ssid), expected));
    }
    channels.sort_unstable();
    channels.dedup();
    let channels = client.channels.clone().unwrap_or(channels);
    let default = StationConfig::new(address, ssid(&key, &client.ssid)?, channels);
    let limit = |given: Option<u32>, default: Option<u32>| match given {
        Some(0) => None,
        Some(limit) => Some(limit),
        None => default,
    };
    let scan = match (&client.scan, default.scan) {
        (
            keys::Scan::Active { min_channel_time, max_channel_time },
            Scan::Active { probe_delay, min_channel_time: min, max_channel_time: max },
        ) => Scan::Active {
            probe_delay,
            min_channel_time: min_channel_time.map_or(min, |time| time.0),
            max_channel_time: max_channel_time.map_or(max, |time| time.0),
        },
        (keys::Scan::Passive { channel_time }, _) => match (channel_time, StationConfig::NS2_PASSIVE) {
            (Some(time), _) => Scan::Passive { channel_time: time.0 },
            (None, default) => default,
        },
        (_, default) => default,
    };
    let power_save = client.power_save.as_ref().map(|keys| {
        let linux = PowerSaveConfig::default();
        PowerSaveConfig {
            timeout: keys.timeout.map_or(linux.timeout, |time| time.0),
            listen_interval: keys.listen_interval.unwrap_or(linux.listen_interval),
            uapsd: keys.uapsd.iter().fold(linux.uapsd, |set, &name| set.with(category(name))),
        }
    });
    // Twenty attempts are three packets that find their rate late, for which no client of today leaves.
    let failed_attempts =
        default.trigger.failed_attempts.filter(|_| super::qos::format(wifi.standard).is_none());
    let ratio = client.hysteresis.map_or_else(|| from_decibels(HYSTERESIS), |ratio| ratio.ratio());
    let config = StationConfig {
        scan,
        switch_time: client.switch_time.map_or(default.switch_time, |time| time.0),
        trigger: HandoverTrigger {
            failed_attempts: limit(client.failed_attempts, failed_attempts),
            missed_beacons: limit(client.missed_beacons, default.trigger.missed_beacons),
            weak_signal: client.weak_signal.map(|power| (power.0, ratio)),
        },
        scans_once: client.scans_once,
        key_exchange: client.key_exchange.map_or(default.key_exchange, |time| time.0),
        fast_transition: client.fast_transition.map(|time| time.0),
        power_save,
        ..default
    };
    Ok(StationRole::Client { config, joins_at: client.joins_at.after_start() })
}
