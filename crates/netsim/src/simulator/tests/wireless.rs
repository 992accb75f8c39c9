//! Networks of 802.11 stations for tests.

use whimbrel_wifi::MacAddress;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::infrastructure::{AccessPointConfig, Ssid, StationConfig};
use whimbrel_wifi::medium::MediumConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::propagation::{ChannelConfig, Radio};
use whimbrel_wifi::site::Site;

use super::*;
use crate::medium::{InfrastructureConfig, Medium, StationRole, WifiConfig, WifiMedium};
use crate::queue::Discipline;
use crate::{MediumId, QueueLimit};

/// 802.11b at 11 Mbit/s with the long preamble.
pub(super) fn mac() -> MacConfig {
    MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11)
}

/// A site of stations on these paths, with the radio of ns-2.
pub(super) fn site(stations: impl IntoIterator<Item = (Path, Presence)>) -> Site {
    Site::new(ChannelConfig::ns2(), stations).expect("a radio")
}

/// Stations that sense each other up to 350 m and receive each other up to 250 m. Those 249 m from a third
/// one on opposite sides are hidden from each other.
pub(super) fn hidden(
    stations: impl IntoIterator<Item = (Path, Presence)>,
    mac: MacConfig,
) -> (Site, WifiConfig) {
    let threshold = 1.0e-10;
    let radio = Radio { carrier_sense_threshold: threshold, ..Radio::NS2 };
    let site = Site::new(ChannelConfig { radio, ..ChannelConfig::ns2() }, stations).expect("a radio");
    let air = MediumConfig { carrier_sense_threshold: threshold as f32, ..MediumConfig::additive() };
    (site, WifiConfig { air, ..WifiConfig::standard(mac, 5) })
}

/// The medium, with each of its stations on a node of its own and a queue of `limit` packets.
pub(super) fn add(
    simulator: &mut Simulator<Script>,
    medium: WifiMedium,
    limit: u32,
) -> (MediumId, Vec<NodeId>, Vec<StationId>) {
    let count = medium.site().stations();
    add_stations(simulator, medium, count, limit)
}

/// A medium, with `count` stations on nodes of their own, each with a queue of `limit` packets.
pub(super) fn add_stations(
    simulator: &mut Simulator<Script>,
    medium: impl Medium,
    count: usize,
    limit: u32,
) -> (MediumId, Vec<NodeId>, Vec<StationId>) {
    let medium = simulator.add_medium(medium);
    let nodes: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    let limit = QueueLimit::Packets(limit);
    let stations = nodes
        .iter()
        .map(|&node| simulator.add_station(node, medium, &Discipline::DropTail, limit).unwrap())
        .collect();
    (medium, nodes, stations)
}

/// Equal stations on these paths, with queues of 50 packets.
pub(super) fn stations(
    simulator: &mut Simulator<Script>,
    paths: Vec<Path>,
    config: WifiConfig,
) -> (MediumId, Vec<NodeId>, Vec<StationId>) {
    let site = site(paths.into_iter().map(|path| (path, Presence::ALWAYS)));
    add(simulator, WifiMedium::new(site, config), 50)
}

pub(super) fn row(count: usize, metres: f64) -> Vec<Path> {
    (0..count).map(|k| at_metre(k as f64 * metres)).collect()
}

pub(super) fn tags(simulator: &Simulator<Script>, agent: AgentId) -> Vec<u64> {
    simulator.agent(agent).received.iter().map(|&(_, tag)| tag).collect()
}

/// A station that stays at this place of a line.
pub(super) fn at_metre(x: f64) -> Path {
    Path::fixed(Position { x, y: 0.0 })
}

/// A station that goes along a line from one place to another between two times in seconds.
pub(super) fn moving((from, start): (f64, u64), (to, end): (f64, u64)) -> Path {
    let place = |x| Position { x, y: 0.0 };
    Path::through(&[(Instant::from_secs(start), place(from)), (Instant::from_secs(end), place(to))])
        .expect("a path")
}

pub(super) fn ssid() -> Ssid {
    Ssid::new("net").expect("a short name")
}

/// An access point on this channel. Station `number` has the address of that number.
pub(super) fn access_point(number: u32, channel: u8) -> StationRole {
    StationRole::AccessPoint(AccessPointConfig::new(MacAddress::station(number), ssid(), channel))
}

/// A client that scans these channels.
pub(super) fn client(number: u32, channels: &[u8]) -> StationRole {
    StationRole::client(StationConfig::new(MacAddress::station(number), ssid(), channels.to_vec()))
}

/// A wired host, and access points and clients with 802.11b at 11 Mbit/s. The host has a link of 1 ms to each
/// access point.
pub(super) struct Campus {
    pub(super) simulator: Simulator<Script>,
    pub(super) medium: MediumId,
    pub(super) host: NodeId,
    pub(super) nodes: Vec<NodeId>,
    pub(super) stations: Vec<StationId>,
}

impl Campus {
    /// Stations on these paths with these roles; beacons are staggered.
    pub(super) fn new(stations: Vec<(Path, StationRole)>) -> Self {
        let (paths, roles): (Vec<Path>, Vec<StationRole>) = stations.into_iter().unzip();
        let site = site(paths.into_iter().map(|path| (path, Presence::ALWAYS)));
        let roles = InfrastructureConfig::new(roles).with_staggered_beacons();
        Self::on(site, WifiConfig::standard(mac(), 1), &roles)
    }

    pub(super) fn on(site: Site, config: WifiConfig, roles: &InfrastructureConfig) -> Self {
        let mut simulator = simulator();
        let host = simulator.add_node("host");
        let medium = WifiMedium::with_infrastructure(site, config, roles).expect("sound roles");
        let (medium, nodes, stations) = add(&mut simulator, medium, 50);
        let wire = LinkConfig::new(DataRate::INFINITE, Duration::from_millis(1));
        for (&node, role) in nodes.iter().zip(&roles.roles) {
            if matches!(role, StationRole::AccessPoint(_)) {
                simulator.add_duplex(host, node, wire.clone());
            }
        }
        simulator.record_losses();
        Self { simulator, medium, host, nodes, stations }
    }

    pub(super) fn wifi(&self) -> &WifiMedium {
        self.simulator.medium(self.medium).expect("an 802.11 medium")
    }

    /// Packets of 1000 bytes from one node to another, at these microseconds. Returns sender and receiver.
    pub(super) fn flow(&mut self, flow: u32, from: NodeId, to: NodeId, times: &[u64]) -> (AgentId, AgentId) {
        let mut script = sender(to, times);
        script.sends.iter_mut().for_each(|send| send.flow = FlowId(flow));
        let source = self.simulator.add_agent(from, FlowId(flow), script);
        (source, self.simulator.add_agent(to, FlowId(flow), Script::default()))
    }

    /// An agent that records the observations of a station.
    pub(super) fn observer(&mut self, station: usize) -> AgentId {
        let flow = FlowId(1_000 + station as u32);
        let agent = self.simulator.add_agent(self.host, flow, Script::default());
        self.simulator.observe(self.stations[station], agent);
        agent
    }

    pub(super) fn run(&mut self, seconds: u64) {
        self.simulator.run_until(Instant::from_secs(seconds));
    }

    /// The packets that an agent has received and lost, by tag.
    pub(super) fn outcome(&self, sink: AgentId) -> (Vec<u64>, Vec<(u64, LossCause)>) {
        let sink = self.simulator.agent(sink);
        let received = sink.received.iter().map(|&(_, tag)| tag).collect();
        (received, sink.losses.iter().map(|&(_, tag, cause)| (tag, cause)).collect())
    }
}

/// Flows of 60 packets each: sender, receiver and microseconds between packets. Returns the receivers.
pub(super) fn sixty_packets(
    simulator: &mut Simulator<Script>,
    nodes: &[NodeId],
    flows: Vec<(usize, usize, u64)>,
) -> Vec<AgentId> {
    let mut sinks = Vec::new();
    for (number, (from, to, gap)) in flows.into_iter().enumerate() {
        let (from, to) = (nodes[from % nodes.len()], nodes[to % nodes.len()]);
        let flow = FlowId(number as u32 + 1);
        let mut script = sender(to, &(0..60).map(|k| k * gap).collect::<Vec<u64>>());
        script.sends.iter_mut().for_each(|send| send.flow = flow);
        simulator.add_agent(from, flow, script);
        if from != to {
            sinks.push(simulator.add_agent(to, flow, Script::default()));
        }
    }
    sinks
}
