//! 802.11 media, resolved.

use whimbrel_netsim::medium::{
    ArpConfig, InfrastructureConfig, QosConfig, QosMedium, StationRole, WifiConfig, WifiMedium,
};
use whimbrel_netsim::random::RandomStreams;
use whimbrel_netsim::{FlowId, LinkRate, StationIndex, Topology, queue};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::{MacConfig, ProbeConfig};
use whimbrel_wifi::medium::CaptureRule;
use whimbrel_wifi::mobility::Presence;
use whimbrel_wifi::phy::{Rate, RateSet};
use whimbrel_wifi::propagation::{self, BlockFading, ChannelConfig, PathLoss, Radio, Ranges};
use whimbrel_wifi::routing::aodv::AodvConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;
use whimbrel_wifi::site::Site;

use super::discipline::discipline;
use super::physical_layers;
use super::qos;
use super::roles;
use super::stations::{self, StationPlan};
use super::{Names, Note, quoted};
use crate::Scenario;
use crate::controller::{self, ControllerPlan};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::quantity;
use crate::wifi::{
    Antenna, AodvRules, Fading, Interference, MacRules, Propagation, Routing, RoutingTiming, Wifi,
};

/// A coherence time that never ends.
const FOR_EVER: Duration = Duration::MAX;

/// An 802.11 medium, resolved.
#[derive(Clone, Debug)]
pub struct WifiPlan {
    /// Its name.
    pub name: String,
    /// Its stations, in the order of their nodes.
    pub stations: Vec<StationPlan>,
    /// Radio and propagation, without the seed of the fading.
    pub channel: ChannelConfig,
    /// Distribution and coherence time of the fading.
    pub fading: (propagation::Fading, Duration),
    /// Receivers and MACs, without a seed.
    pub config: WifiConfig,
    /// MACs of stations with a physical layer or parameters of their own, by station.
    pub own_macs: Vec<(usize, MacConfig)>,
    /// The roles of the stations; `None` if all are ad hoc.
    pub infrastructure: Option<InfrastructureConfig>,
    /// The MACs of 802.11n, ac and ax, without a seed; `None` up to 802.11g. `config` has the receivers then.
    pub qos: Option<QosConfig>,
    /// The limit of each station's queue.
    pub limit: whimbrel_netsim::QueueLimit,
    /// The discipline of each station's queue.
    pub discipline: queue::Discipline,
    /// The choice of routes.
    pub routing: RoutingPlan,
    /// Explicit rate control at each station.
    pub controller: Option<ControllerPlan>,
}

/// The choice of routes between the stations of a medium.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RoutingPlan {
    /// The fewest hops, computed anew at this interval where the links change.
    ShortestPath {
        /// The interval.
        interval: Duration,
    },
    /// A routing agent at each node with a station.
    Dsdv(DsdvConfig),
    /// A routing agent at each node with a station.
    Aodv(AodvConfig),
}

impl RoutingPlan {
    /// `true` if routing agents exchange messages over the medium.
    pub const fn has_agents(&self) -> bool {
        !matches!(self, Self::ShortestPath { .. })
    }
}

/// Interval at which routes are computed anew by default.
const ROUTE_INTERVAL: Duration = Duration::from_millis(100);

impl WifiPlan {
    /// The stations of a run, with the names of the plan's nodes.
    pub fn site(&self, nodes: &[String], streams: RandomStreams, end: Instant) -> Site {
        let (fading, coherence) = self.fading;
        let seed = streams.stream(&self.name, "fading").next_u64();
        let channel =
            ChannelConfig { fading: BlockFading::new(fading, coherence, seed), ..self.channel.clone() };
        let present = self.stations.iter().map(|station| {
            (station.movement.path(&nodes[station.node], streams, end), station.presence.clone())
        });
        Site::new(channel, present).expect("the radio was checked with the scenario")
    }

    /// The configuration of a run's medium.
    pub fn config(&self, streams: RandomStreams) -> WifiConfig {
        WifiConfig { seed: streams.stream(&self.name, "mac").next_u64(), ..self.config.clone() }
    }

    /// Adds the hops between the stations: those in range of each other where this is the same at all times
    /// and in all runs, and if ranges are to count, else all of them.
    pub(super) fn add_hops(&self, nodes: &[String], has_ranges: bool, topology: &mut Topology) {
        let constant = (has_ranges && self.is_constant())
            .then(|| self.site(nodes, RandomStreams::new(0, 0), Instant::ZERO));
        for (from, sender) in self.stations.iter().enumerate() {
            for (to, receiver) in self.stations.iter().enumerate() {
                if from != to
                    && self.may_exchange(from, to)
                    && constant.as_ref().is_none_or(|site| {
                        site.reaches(StationIndex::new(from), StationIndex::new(to), Instant::ZERO)
                    })
                {
                    topology.add_link(sender.node, receiver.node);
                }
            }
        }
    }

    /// `true` if the roles of two stations let frames pass between them.
    fn may_exchange(&self, from: usize, to: usize) -> bool {
        let Some(infrastructure) = &self.infrastructure else { return true };
        match (&infrastructure.roles[from], &infrastructure.roles[to]) {
            (StationRole::AdHoc { .. }, StationRole::AdHoc { .. }) => true,
            (StationRole::AccessPoint(point), StationRole::Client { config, .. })
            | (StationRole::Client { config, .. }, StationRole::AccessPoint(point)) => {
                point.ssid == config.ssid
            }
            _ => false,
        }
    }

    /// The medium of a run with 802.11n, ac or ax; `None` up to 802.11g.
    pub(crate) fn qos_medium(
        &self,
        nodes: &[String],
        streams: RandomStreams,
        end: Instant,
    ) -> Option<QosMedium> {
        let config = self.qos.clone()?;
        let seed = streams.stream(&self.name, "mac").next_u64();
        let (site, config) = (self.site(nodes, streams, end), QosConfig { seed, ..config });
        Some(match &self.infrastructure {
            Some(roles) if config.cells.is_empty() => {
                QosMedium::with_infrastructure(site, config, roles).expect("checked with the scenario")
            }
            _ => QosMedium::new(site, config),
        })
    }

    /// The medium of a run up to 802.11g.
    pub(crate) fn medium(&self, nodes: &[String], streams: RandomStreams, end: Instant) -> WifiMedium {
        let (site, config) = (self.site(nodes, streams, end), self.config(streams));
        let mut medium = match &self.infrastructure {
            Some(roles) => {
                WifiMedium::with_infrastructure(site, config, roles).expect("checked with the scenario")
            }
            None => WifiMedium::new(site, config),
        };
        self.own_macs
            .iter()
            .for_each(|(station, mac)| medium.set_mac(StationIndex::new(*station), mac.clone()));
        medium
    }

    /// `true` if routes change without a notice of the medium: those between ad hoc stations.
    pub(super) fn needs_reroutes(&self) -> bool {
        let has_ad_hoc = self.infrastructure.as_ref().is_none_or(|infrastructure| {
            infrastructure.roles.iter().any(|role| matches!(role, StationRole::AdHoc { .. }))
        });
        has_ad_hoc && !self.is_constant() && !self.routing.has_agents()
    }

    /// `true` if the links between the stations are the same at all times and in all runs.
    pub fn is_constant(&self) -> bool {
        let is_fixed = |station: &StationPlan| {
            station.movement.fixed().is_some_and(|path| path.max_speed() == 0.0)
                && station.presence == Presence::ALWAYS
        };
        self.fading.0 == propagation::Fading::None && self.stations.iter().all(is_fixed)
    }
}

pub(super) fn plan(
    scenario: &Scenario,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<WifiPlan>, ScenarioError> {
    stations::check(scenario)?;
    Names::collect("wifi", scenario.wifi.iter().map(|wifi| (wifi.name.as_str(), None)))?;
    let plan = |(position, wifi)| one(scenario, &format!("wifi[{position}]"), wifi, files, notes);
    scenario.wifi.iter().enumerate().map(plan).collect()
}

fn one(
    scenario: &Scenario,
    key: &str,
    wifi: &Wifi,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<WifiPlan, ScenarioError> {
    let map = wifi.area.map(|size| stations::area(&format!("{key}.area"), Some(size), None)).transpose()?;
    let stations = stations::plan(scenario, &wifi.name, map, files, notes)?;
    if stations.is_empty() {
        let expected = format!("the name of a medium that nodes join by `wifi = \"{}\"`", wifi.name);
        return Err(ScenarioError::invalid(format!("{key}.name"), quoted(&wifi.name), expected));
    }
    let macs = physical_layers::macs(scenario, key, wifi)?;
    let path_loss = path_loss(&format!("{key}.propagation"), &wifi.propagation)?;
    let radio = radio(&format!("{key}.radio"), &wifi.radio, &path_loss)?;
    let (fading, coherence, fading_margin) = fading(&format!("{key}.fading"), &wifi.fading)?;
    let rule = match (wifi.interference, wifi.mac) {
        (Some(Interference::FirstFrame), _) | (None, MacRules::Ns2) => CaptureRule::FirstFrame,
        (Some(Interference::Additive), _) | (None, MacRules::Standard) => {
            CaptureRule::Interference { switches_to_stronger: false }
        }
        (Some(Interference::Switching), _) => CaptureRule::Interference { switches_to_stronger: true },
    };
    let rules = match wifi.mac {
        MacRules::Standard => WifiConfig::standard(macs.common.clone(), 0),
        MacRules::Ns2 => WifiConfig { mac: macs.common.clone(), ..WifiConfig::ns2(0) },
    };
    let limit = super::links::queue_limit(wifi.queue.unwrap_or(Wifi::DEFAULT_QUEUE));
    let nominal = rules.mac.data_rate.data_rate();
    let controller = controller::plan(key, wifi.controller.as_ref(), nominal, limit, None)?;
    let mut rules = rules;
    rules.arp = wifi.arp.then_some(match wifi.mac {
        MacRules::Standard => ArpConfig::STANDARD,
        MacRules::Ns2 => ArpConfig::NS2,
    });
    // rt-Winf observes the steps of the MAC.
    rules.mac.is_traced |= controller.is_some_and(|controller| controller.is_estimated);
    rules.mac.probe = probes(key, wifi, controller.as_ref())?;
    let mut own_macs = macs.own.clone();
    own_macs.iter_mut().for_each(|(_, mac)| {
        (mac.is_traced, mac.probe) = (rules.mac.is_traced, rules.mac.probe);
    });
    let rate = LinkRate::Constant(nominal);
    let queue_discipline = wifi.discipline.clone().unwrap_or_default();
    let routing = routing(&format!("{key}.routing"), &wifi.routing)?;
    let mut discipline = discipline(&format!("{key}.discipline"), &queue_discipline, &rate)?;
    if routing.has_agents() {
        // Messages of the protocol precede data, as in ns-2.
        discipline = queue::Discipline::Priority { flows: vec![FlowId::ROUTING], rest: Box::new(discipline) };
    }
    // Rates that all stations support.
    let is_common = |rate: &Rate| own_macs.iter().all(|(_, mac)| mac.phy.supported.contains(*rate));
    let rates = RateSet::new(&rules.mac.phy.supported.iter().filter(is_common).collect::<Vec<_>>());
    let mut infrastructure = roles::plan(scenario, wifi, &stations, rates, notes)?;
    if let Some(infrastructure) = &mut infrastructure {
        macs.announce(infrastructure);
    }
    let (air, noise) = (radio.medium(rule), noise(key, wifi)?);
    let qos = qos::plan(scenario, key, wifi, infrastructure.as_ref(), air, noise)?;
    let has_receiver_queues = qos.as_ref().is_some_and(|qos| qos.queues.is_some());
    let limit = if has_receiver_queues { qos::DEVICE_LIMIT } else { limit };
    Ok(WifiPlan {
        name: wifi.name.clone(),
        stations,
        own_macs,
        infrastructure,
        channel: ChannelConfig {
            radio,
            path_loss,
            fading: BlockFading::new(propagation::Fading::None, FOR_EVER, 0),
            fading_margin,
        },
        fading: (fading, coherence),
        config: WifiConfig { air, noise, ..rules },
        qos,
        limit,
        discipline,
        routing,
        controller,
    })
}

/// Time without frames that counts as absence of traffic by default: about a beacon interval.
const QUIET: Duration = Duration::from_millis(100);
/// Longest payload of a data frame (IEEE Std 802.11-2012, 8.2.4.7.1).
const LONGEST_MSDU: u64 = 2_304;

fn probes(
    key: &str,
    wifi: &Wifi,
    controller: Option<&ControllerPlan>,
) -> Result<Option<ProbeConfig>, ScenarioError> {
    let Some(keys) = &wifi.probes else { return Ok(None) };
    if !controller.is_some_and(|controller| controller.is_estimated) {
        let expected = "a `controller` with `law` \"xcp-winf\" or \"rcp-winf\", which estimates from them";
        return Err(ScenarioError::invalid(format!("{key}.probes"), "{...}", expected));
    }
    let size = keys.size.map_or(1_500, |size| size.0.as_u64());
    if size == 0 || size > LONGEST_MSDU {
        let expected = format!("1 to {LONGEST_MSDU} bytes");
        return Err(ScenarioError::invalid(
            format!("{key}.probes.size"),
            quoted(&format!("{size} B")),
            expected,
        ));
    }
    Ok(Some(ProbeConfig { size: size as u32, quiet: keys.quiet.map_or(QUIET, |time| time.0) }))
}

fn routing(key: &str, routing: &Routing) -> Result<RoutingPlan, ScenarioError> {
    match *routing {
        Routing::ShortestPath { interval } => {
            let interval = interval.map_or(ROUTE_INTERVAL, |time| time.0);
            if interval < Duration::from_millis(1) {
                return Err(ScenarioError::invalid(format!("{key}.interval"), interval, "at least \"1 ms\""));
            }
            Ok(RoutingPlan::ShortestPath { interval })
        }
        Routing::Dsdv { timing: RoutingTiming::Sane } => Ok(RoutingPlan::Dsdv(DsdvConfig::default())),
        Routing::Dsdv { timing: RoutingTiming::Ns2 } => Ok(RoutingPlan::Dsdv(DsdvConfig::NS2)),
        Routing::Aodv { rules: AodvRules::Rfc3561 } => Ok(RoutingPlan::Aodv(AodvConfig::default())),
        Routing::Aodv { rules: AodvRules::Ns2 } => Ok(RoutingPlan::Aodv(AodvConfig::NS2)),
    }
}

fn noise(key: &str, wifi: &Wifi) -> Result<Option<f64>, ScenarioError> {
    match wifi.noise {
        Some(quantity::Power(watts)) if watts <= 0.0 => {
            let found = quoted(&format!("{watts} W"));
            Err(ScenarioError::invalid(format!("{key}.noise"), found, "a power above zero"))
        }
        power => Ok(power.map(|power| power.0)),
    }
}

fn path_loss(key: &str, propagation: &Propagation) -> Result<PathLoss, ScenarioError> {
    match *propagation {
        Propagation::TwoRayGround => Ok(PathLoss::TwoRayGround),
        Propagation::Friis => Ok(PathLoss::Friis),
        Propagation::LogDistance { exponent, reference } => {
            let reference = reference.map_or(1.0, |length| length.0);
            if !(exponent.is_finite() && exponent > 0.0) {
                return Err(ScenarioError::invalid(format!("{key}.exponent"), exponent, "a number above 0"));
            }
            if reference <= 0.0 {
                let found = quoted(&format!("{reference} m"));
                return Err(ScenarioError::invalid(format!("{key}.reference"), found, "a length above 0"));
            }
            Ok(PathLoss::LogDistance { exponent, reference })
        }
    }
}

fn radio(key: &str, keys: &Antenna, path_loss: &PathLoss) -> Result<Radio, ScenarioError> {
    let both = [
        ("range", keys.range.is_some(), "receive_threshold", keys.receive_threshold.is_some()),
        (
            "carrier_sense_range",
            keys.carrier_sense_range.is_some(),
            "carrier_sense_threshold",
            keys.carrier_sense_threshold.is_some(),
        ),
    ];
    for (range, has_range, threshold, has_threshold) in both {
        if has_range && has_threshold {
            let expected = format!("either `{range}` or `{threshold}`");
            return Err(ScenarioError::invalid(format!("{key}.{range}"), "\"...\"", expected));
        }
    }
    let default = Radio::NS2;
    let radio = Radio {
        transmit_power: keys.power.map_or(default.transmit_power, |power| power.0),
        frequency: keys.frequency.map_or(default.frequency, |frequency| frequency.0),
        antenna_gain: keys.gain.map_or(default.antenna_gain, |gain| gain.ratio()),
        antenna_height: keys.height.map_or(default.antenna_height, |height| height.0),
        receive_threshold: keys.receive_threshold.map_or(default.receive_threshold, |power| power.0),
        carrier_sense_threshold: keys
            .carrier_sense_threshold
            .map_or(default.carrier_sense_threshold, |power| power.0),
        capture_ratio: keys.capture.map_or(default.capture_ratio, |ratio| ratio.ratio()),
        ..default
    };
    let checked = |radio: Radio| {
        radio.check().map(|()| radio).map_err(|error| {
            let name = match error.field {
                "transmit_power" => "power",
                "antenna_gain" => "gain",
                "antenna_height" => "height",
                "capture_ratio" => "capture",
                "carrier_sense_threshold" if keys.carrier_sense_range.is_some() || keys.range.is_some() => {
                    let expected = "a range of carrier sense that is not below that of reception";
                    return ScenarioError::invalid(format!("{key}.carrier_sense_range"), "\"...\"", expected);
                }
                other => other,
            };
            ScenarioError::invalid(format!("{key}.{name}"), error.value, error.expected)
        })
    };
    // Ranges follow from thresholds and the reverse: the budget of a valid radio converts them.
    let valid = Radio { receive_threshold: 1.0, carrier_sense_threshold: 1.0, ..radio };
    checked(valid)?;
    let ranges = |range: quantity::Length| {
        let ranges = Ranges { receive: range.0, carrier_sense: range.0 };
        valid.with_ranges(path_loss, ranges).receive_threshold
    };
    checked(Radio {
        receive_threshold: keys.range.map_or(radio.receive_threshold, ranges),
        carrier_sense_threshold: keys.carrier_sense_range.map_or(radio.carrier_sense_threshold, ranges),
        ..radio
    })
}

/// The distribution, the coherence time, and the gain in decibels that is not exceeded but in a few of
/// 100,000 draws.
fn fading(key: &str, keys: &Fading) -> Result<(propagation::Fading, Duration, f64), ScenarioError> {
    let coherent = |time: quantity::Time| {
        if time.0.is_zero() {
            return Err(ScenarioError::invalid(format!("{key}.coherence"), time.0, "a time above zero"));
        }
        Ok(time.0)
    };
    Ok(match *keys {
        Fading::None => (propagation::Fading::None, FOR_EVER, 0.0),
        Fading::Shadowing { deviation, coherence } => {
            if deviation.0 < 0.0 {
                let found = quoted(&format!("{} dB", deviation.0));
                return Err(ScenarioError::invalid(format!("{key}.deviation"), found, "at least 0 dB"));
            }
            let coherence = coherence.map_or(Ok(FOR_EVER), coherent)?;
            (propagation::Fading::Shadowing { deviation: deviation.0 }, coherence, 4.0 * deviation.0)
        }
        Fading::Rayleigh { coherence } => (propagation::Fading::Rayleigh, coherent(coherence)?, 10.5),
        Fading::Rician { ratio, coherence } => {
            (propagation::Fading::Rician { ratio: ratio.ratio() }, coherent(coherence)?, 10.5)
        }
    })
}
