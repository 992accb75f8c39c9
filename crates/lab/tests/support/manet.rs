//! Mobile nodes with 802.11b radios, an ad hoc routing protocol and constant-bit-rate flows, under ns-2's
//! rules: the network of `benches/peers/manet.tcl`.

#![allow(dead_code, reason = "not every user needs all of it")]

use std::collections::BTreeMap;
use std::error::Error;

use whimbrel_lab::metrics::{Meter, Recording};
use whimbrel_lab::routing::{Protocol, add_routers};
use whimbrel_lab::traffic::{Cbr, Pattern, TrafficSource};
use whimbrel_lab::transport::FlowAgent;
use whimbrel_lab::transport::udp::{UdpSink, UdpSource};
use whimbrel_netsim::medium::{ArpConfig, WifiConfig, WifiMedium};
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::{
    AgentId, FixedRoutes, FlowId, LossCause, NodeId, QueueLimit, SimulationConfig, Simulator, StationId,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Presence};
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::site::Site;

/// Bytes of a packet's data, and of the header that ns-2's routing agents add to it.
const PACKET: (u32, u32) = (512, 20);

/// The network, with the keys of `manet.tcl`.
pub(crate) struct Manet {
    pub(crate) paths: Vec<Path>,
    pub(crate) protocol: Protocol,
    pub(crate) seed: u64,
    pub(crate) duration: f64,
    pub(crate) flows: usize,
    pub(crate) interval: f64,
    pub(crate) begin: f64,
    pub(crate) rts: u32,
    /// `true` if each flow goes to the node that is nearest to its sender at the beginning.
    pub(crate) nearest: bool,
    /// Address resolution; `None` if the stations know all addresses.
    pub(crate) arp: Option<ArpConfig>,
}

/// The figures of a run, with the names of `manet.tcl`.
#[derive(Clone, Default, Debug)]
pub(crate) struct Figures {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) hops: f64,
    pub(crate) delay: f64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Transmissions of the MACs.
    pub(crate) transmissions: u64,
    /// Stations that they reached.
    pub(crate) arrivals: u64,
    /// Losses of the flows' packets by cause.
    pub(crate) losses: BTreeMap<&'static str, u64>,
}

fn meter() -> Meter {
    Meter::new(Instant::ZERO, &[], Recording { packets: false, losses: false })
}

fn cause_name(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Medium(_, cause) => cause.name(),
        LossCause::StationOverflow(_) => "queue",
        LossCause::NoRoute(_) => "no-route",
        LossCause::HopLimit(_) => "hop-limit",
        _ => "other",
    }
}

impl Manet {
    /// The node that a flow goes to.
    fn receiver(&self, flow: usize) -> usize {
        let count = self.paths.len();
        if !self.nearest {
            return (2 * flow + 1) % count;
        }
        let place = |node: usize| self.paths[node].position(Instant::ZERO);
        let sender = 2 * flow % count;
        let distance = |node: &usize| place(*node).distance_squared(place(sender));
        let others = (0..count).filter(|&node| node != sender);
        others.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(sender)
    }

    pub(crate) fn run(self) -> Result<Figures, Box<dyn Error>> {
        let end = Instant::from_secs_f64(self.duration);
        let receivers: Vec<usize> = (0..self.flows).map(|flow| self.receiver(flow)).collect();
        let mut simulator: Simulator<FlowAgent> =
            Simulator::new(SimulationConfig { seed: self.seed, run: 0 });
        simulator.set_routing(FixedRoutes);
        let present = self.paths.into_iter().map(|path| (path, Presence::ALWAYS));
        let site = Site::new(ChannelConfig::ns2(), present)?;
        let count = site.stations();
        let mac = MacConfig { data_rate: Rate::Hr11, rts_threshold: self.rts, ..MacConfig::ns2() };
        let config = WifiConfig { mac, arp: self.arp, ..WifiConfig::ns2(self.seed) };
        let medium = simulator.add_medium(WifiMedium::new(site, config));
        let nodes: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("n{k}"))).collect();
        let rest = Box::new(Discipline::DropTail);
        let queue = Discipline::Priority { flows: vec![FlowId::ROUTING], rest };
        let mut stations: Vec<StationId> = Vec::new();
        for &node in &nodes {
            stations.push(simulator.add_station(node, medium, &queue, QueueLimit::Packets(50))?);
        }
        let routers = add_routers(&mut simulator, &stations, self.protocol);
        let mut ends = Vec::new();
        for ((number, &receiver), id) in receivers.iter().enumerate().zip((0u32..).map(FlowId)) {
            let start = Instant::from_secs_f64(self.begin + 0.25 * number as f64);
            let cbr = Cbr::new(start, Duration::from_secs_f64(self.interval), PACKET.0);
            let source = TrafficSource::endless(Pattern::Cbr(cbr), end);
            let (from, to) = (nodes[2 * number % count], nodes[receiver]);
            let sender = UdpSource::new(to, id, PACKET.1, source, meter());
            ends.push((
                simulator.add_agent(from, id, sender.into()),
                simulator.add_agent(to, id, UdpSink::new(meter()).into()),
            ));
        }
        simulator.record_losses();
        simulator.run_until(end);

        let mut figures = Figures::default();
        let counters = |agent: AgentId| *simulator.agent(agent).meter().counters();
        for &(sender, sink) in &ends {
            figures.sent += counters(sender).sent_packets;
            let received = counters(sink).received_packets;
            figures.received += received;
            figures.delay +=
                simulator.agent(sink).meter().delay().mean().unwrap_or_default() * received as f64;
        }
        let mut heard = 0;
        for &agent in &routers {
            heard += counters(agent).received_packets;
            if let FlowAgent::Router(router) = simulator.agent(agent) {
                let (messages, bytes) = router.overhead();
                (figures.messages, figures.bytes) = (figures.messages + messages, figures.bytes + bytes);
            }
        }
        let arrived: u64 =
            stations.iter().map(|&station| simulator.station_stats(station).received.packets).sum();
        figures.hops = (arrived - heard) as f64 / figures.received as f64;
        figures.delay /= figures.received as f64;
        let air = simulator.medium::<WifiMedium>(medium).ok_or("the medium")?;
        (figures.transmissions, figures.arrivals) = (air.transmissions(), air.arrivals());
        for loss in simulator.losses().iter().filter(|loss| loss.flow != FlowId::ROUTING) {
            *figures.losses.entry(cause_name(loss.cause)).or_default() += 1;
        }
        Ok(figures)
    }
}
