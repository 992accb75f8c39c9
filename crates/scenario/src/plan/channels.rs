//! Access points and clients of 802.11n, ac and ax: whether they associate, and their channels.

use whimbrel_netsim::StationIndex;
use whimbrel_netsim::medium::{InfrastructureConfig, StationRole};
use whimbrel_wifi::infrastructure::AccessPointConfig;
use whimbrel_wifi::phy::Width;

use super::stations;
use crate::error::ScenarioError;
use crate::infrastructure::Client;
use crate::wifi::Wifi;
use crate::wifi::qos::Band;
use crate::{Node, Scenario};

/// The first channels of the blocks of adjacent channels at 5 GHz, and their last ones.
const BLOCKS: [(u8, u8); 3] = [(36, 64), (100, 144), (149, 177)];

/// The channel of access points without one.
pub(super) fn default_channel(wifi: &Wifi) -> u8 {
    let is_high = super::qos::format(wifi.standard).is_some() && super::qos::band(wifi) == Band::Ghz5;
    if is_high { 36 } else { 1 }
}

/// The number of the group of channels that a transmission of this width occupies at 5 GHz; `None` for a
/// channel that is not of that band.
fn group(channel: u8, width: Width) -> Option<(u8, u8)> {
    let (first, _) = BLOCKS.into_iter().find(|(first, last)| (*first..=*last).contains(&channel))?;
    let (place, rest) = ((channel - first) / 4, (channel - first) % 4);
    let channels = match width {
        Width::Mhz20 => 1,
        Width::Mhz40 => 2,
        Width::Mhz80 => 4,
        Width::Mhz160 => 8,
    };
    (rest == 0).then_some((first, place / channels))
}

/// `true` if transmissions on two channels of a band disturb each other.
fn overlap(one: u8, other: u8, band: Band, width: Width) -> bool {
    match band {
        // Channels are 5 MHz apart.
        Band::Ghz2_4 => u16::from(one.abs_diff(other)) * 5 < width.megahertz(),
        Band::Ghz5 => group(one, width) == group(other, width),
    }
}

/// The access points, with their numbers as stations.
fn points(roles: &InfrastructureConfig) -> impl Iterator<Item = (usize, &AccessPointConfig)> {
    roles.roles.iter().enumerate().filter_map(|(number, role)| match role {
        StationRole::AccessPoint(point) => Some((number, point)),
        _ => None,
    })
}

/// Refuses a channel of another band.
fn check_band(key: &str, channel: u8, band: Band) -> Result<(), ScenarioError> {
    let (is_known, expected) = match band {
        Band::Ghz2_4 => ((1..=14).contains(&channel), "a channel of the medium's band, 2.4 GHz: 1 to 14"),
        Band::Ghz5 => (
            group(channel, Width::Mhz20).is_some(),
            "a channel of the medium's band, 5 GHz: 36, 40, ... 64, 100, ... 144, 149, ... 177",
        ),
    };
    if is_known { Ok(()) } else { Err(ScenarioError::invalid(key, channel, expected)) }
}

/// Refuses channels of another band, and channels that overlap without being one.
fn check_channels(
    members: &[(usize, &Node)],
    band: Band,
    width: Width,
    roles: &InfrastructureConfig,
) -> Result<(), ScenarioError> {
    let key = |number: usize| format!("node[{}].access_point.channel", members[number].0);
    for (number, point) in points(roles) {
        check_band(&key(number), point.channel, band)?;
        let clash = |(_, other): &(usize, &AccessPointConfig)| {
            other.channel != point.channel && overlap(other.channel, point.channel, band, width)
        };
        if let Some((_, other)) = points(roles).take_while(|(before, _)| *before < number).find(clash) {
            let expected = format!(
                "{}, or a channel that does not overlap it with a width of {} MHz",
                other.channel,
                width.megahertz()
            );
            return Err(ScenarioError::invalid(key(number), point.channel, expected));
        }
    }
    for (number, role) in roles.roles.iter().enumerate() {
        if let StationRole::Client { config, .. } = role {
            let key = format!("node[{}].client.channels", members[number].0);
            config.channels.iter().try_for_each(|&channel| check_band(&key, channel, band))?;
        }
    }
    Ok(())
}

/// A key that matters to clients only if they associate.
fn association_key(client: &Client) -> Option<&'static str> {
    let given = [
        ("channels", client.channels.is_some()),
        ("scan", client.scan != crate::infrastructure::Scan::default()),
        ("switch_time", client.switch_time.is_some()),
        ("missed_beacons", client.missed_beacons.is_some()),
        ("failed_attempts", client.failed_attempts.is_some()),
        ("weak_signal", client.weak_signal.is_some()),
        ("hysteresis", client.hysteresis.is_some()),
        ("scans_once", client.scans_once),
        ("joins_at", client.joins_at.after_start() > whimbrel_units::Instant::ZERO),
        ("key_exchange", client.key_exchange.is_some()),
        ("fast_transition", client.fast_transition.is_some()),
        ("power_save", client.power_save.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

/// `true` if a scenario cannot do without associations: a network has several access points, there are
/// several channels, or a client has keys of its own for that.
fn needs_association(members: &[(usize, &Node)], roles: &InfrastructureConfig) -> bool {
    let has_several = points(roles).any(|(number, point)| {
        points(roles)
            .any(|(other, it)| other != number && (it.ssid == point.ssid || it.channel != point.channel))
    });
    let has_key =
        |(_, node): &(usize, &Node)| node.client.as_ref().is_some_and(|it| association_key(it).is_some());
    has_several || members.iter().any(has_key)
}

/// The access point of each client that belongs to it from the beginning; empty if the clients associate.
pub(super) fn plan(
    scenario: &Scenario,
    wifi: &Wifi,
    width: Width,
    roles: &InfrastructureConfig,
) -> Result<Vec<Option<StationIndex>>, ScenarioError> {
    let members = stations::members(scenario, &wifi.name);
    let invalid = |number: usize, name: &str, expected: &str| {
        ScenarioError::invalid(format!("node[{}]{name}", members[number].0), "...", expected)
    };
    check_channels(&members, super::qos::band(wifi), width, roles)?;
    for (number, role) in roles.roles.iter().enumerate() {
        if matches!(role, StationRole::AdHoc { .. }) {
            return Err(invalid(
                number,
                "",
                "`access_point` or `client`, as other stations of the medium have",
            ));
        }
        if members[number].1.access_point.as_ref().is_some_and(|point| point.bssid.is_some()) {
            let expected = "none: addresses follow from the stations' numbers";
            return Err(invalid(number, ".access_point.bssid", expected));
        }
    }
    if wifi.association.unwrap_or_else(|| needs_association(&members, roles)) {
        return Ok(Vec::new());
    }
    let channel = points(roles).next().map(|(_, point)| point.channel);
    if let Some((number, _)) = points(roles).find(|(_, point)| Some(point.channel) != channel) {
        let expected = "one channel for all access points of a medium without `association`";
        return Err(invalid(number, ".access_point.channel", expected));
    }
    let cell = |(number, role): (usize, &StationRole)| {
        let StationRole::Client { config, .. } = role else { return Ok(None) };
        if let Some(name) = members[number].1.client.as_ref().and_then(association_key) {
            let name = format!(".client.{name}");
            return Err(invalid(number, &name, "no such key without `association` of the medium"));
        }
        let mut own = points(roles).filter(|(_, point)| point.ssid == config.ssid);
        match (own.next(), own.next()) {
            (Some((point, _)), None) => Ok(Some(StationIndex::new(point))),
            (None, _) => Err(invalid(number, ".client.ssid", "the `ssid` of an access point of the medium")),
            (Some(_), Some((second, _))) => {
                let expected = "another name: without `association`, a network has one access point";
                Err(invalid(second, ".access_point.ssid", expected))
            }
        }
    };
    roles.roles.iter().enumerate().map(cell).collect()
}

#[cfg(test)]
mod tests;
