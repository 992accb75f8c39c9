//! Frames of an 802.11 medium and packets of a cell cost no heap allocation in the steady state.

use allocation_counter::measure;
use whimbrel_cell::ResourceBlocks;
use whimbrel_cell::cell::CellConfig;
use whimbrel_cell::handover::{CellIndex, HandoverConfig, RadioLinkConfig};
use whimbrel_cell::level::Decibels;
use whimbrel_cell::network::{
    NetworkConfig, RadioConfig, ReportConfig, ShadowingConfig, SiteConfig, TerminalConfig,
};
use whimbrel_cell::radio::{Hertz, Metres, Place};
use whimbrel_netsim::medium::{
    ArpConfig, CellularMedium, InfrastructureConfig, StationRole, WifiConfig, WifiMedium,
};
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::{
    Agent, Ecn, FlowId, HostConfig, LinkConfig, NodeId, Packet, PacketId, QueueLimit, SimulationConfig,
    Simulator,
};
use whimbrel_units::{DataRate, Duration, Instant};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::infrastructure::{AccessPointConfig, Ssid, StationConfig};
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::site::Site;

/// Sends packets at a fixed interval, or counts what it receives.
struct Constant {
    to: Option<NodeId>,
    flow: FlowId,
    interval: Duration,
    next: Instant,
    received: u64,
}

impl Agent for Constant {
    type Payload = ();

    fn handle_packet(&mut self, _: Instant, _: Packet<()>) {
        self.received += 1;
    }

    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<()>> {
        let destination = self.to.filter(|_| self.next <= now)?;
        self.next += self.interval;
        let (flow, source, ecn) = (self.flow, NodeId::default(), Ecn::NotEct);
        Some(Packet { id: PacketId(0), flow, source, destination, size: 500, ecn, payload: () })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.to.map(|_| self.next)
    }
}

/// An access point or a peer, and three other stations. Each of these exchanges packets with the first
/// station in both directions, the third one with the second. Entries of address resolution are made
/// anew all the time where they have a lifetime. Returns the allocations and the packets received in five
/// seconds.
fn run(has_roles: bool, arp: Option<ArpConfig>, interval: Duration) -> (u64, u64) {
    let place = |k: u32| Path::fixed(Position { x: f64::from(k), y: 0.0 });
    let site =
        Site::new(ChannelConfig::ns2(), (0..4).map(|k| (place(k), Presence::ALWAYS))).expect("a radio");
    let config = WifiConfig::standard(MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11), 1);
    let config = WifiConfig { arp, ..config };
    let ssid = Ssid::new("net").expect("a short name");
    let role = |k: u32| match k {
        0 => StationRole::AccessPoint(AccessPointConfig::new(MacAddress::station(0), ssid, 1)),
        _ => StationRole::client(StationConfig::new(MacAddress::station(k), ssid, vec![1])),
    };
    let medium = if has_roles {
        let roles = InfrastructureConfig::new((0..4).map(role).collect());
        WifiMedium::with_infrastructure(site, config, &roles).expect("sound roles")
    } else {
        WifiMedium::new(site, config)
    };
    let mut simulator = Simulator::new(SimulationConfig::default());
    let medium = simulator.add_medium(medium);
    let host = simulator.add_node("host");
    let nodes: Vec<NodeId> = (0..4).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    for &node in &nodes {
        simulator.add_station(node, medium, &Discipline::DropTail, QueueLimit::Packets(50)).expect("a queue");
    }
    simulator.add_duplex(host, nodes[0], LinkConfig::new(DataRate::INFINITE, Duration::from_millis(1)));
    let ends = [(host, nodes[1]), (nodes[1], host), (host, nodes[2]), (nodes[2], nodes[3]), (nodes[3], host)];
    let mut sinks = Vec::new();
    for (number, (from, to)) in (0..).zip(ends) {
        let (flow, next) = (FlowId(number), Instant::from_millis(200 + u64::from(number)));
        simulator.add_agent(from, flow, Constant { to: Some(to), flow, interval, next, received: 0 });
        sinks.push(simulator.add_agent(to, flow, Constant { to: None, flow, interval, next, received: 0 }));
    }
    simulator.run_until(Instant::from_secs(5));
    let received = |simulator: &Simulator<Constant>| -> u64 {
        sinks.iter().map(|&sink| simulator.agent(sink).received).sum()
    };
    let before = received(&simulator);
    let info = measure(|| simulator.run_until(Instant::from_secs(10)));
    (info.count_total, received(&simulator) - before)
}

/// Packets each 2 ms in five flows are more than the medium carries: queues overflow.
#[test]
fn packets_do_not_allocate_in_the_steady_state() {
    // A request that collides delays the packets of a neighbour until its repetition.
    let (lifetime, repeat_interval) = (Some(Duration::from_millis(500)), Some(Duration::from_millis(5)));
    let arp = ArpConfig { lifetime, repeat_interval, ..ArpConfig::STANDARD };
    for (has_roles, arp) in [(false, None), (false, Some(arp)), (true, None)] {
        for interval in [8, 2] {
            let (allocations, packets) = run(has_roles, arp, Duration::from_millis(interval));
            // A collision of more stations than ever before needs another list of receivers.
            assert!(
                allocations < 10 && packets > 3_000,
                "{allocations} for {packets} packets each {interval} ms, roles: {has_roles}, {arp:?}"
            );
        }
    }
}

/// Packets each 1 ms wait for a processor that needs 2 ms for each: the send queue is always full.
#[test]
fn packets_of_a_host_do_not_allocate_in_the_steady_state() {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let [a, b] = ["a", "b"].map(|name| simulator.add_node(name));
    simulator.add_link(a, b, LinkConfig::new(DataRate::INFINITE, Duration::from_millis(1)));
    let cost = Duration::from_millis(2);
    let queue = QueueLimit::Packets(50);
    simulator.set_host(a, HostConfig { send_cost: cost, send_cost_per_byte: Duration::ZERO, queue });
    let agent = |to| Constant {
        to,
        flow: FlowId(0),
        interval: Duration::from_millis(1),
        next: Instant::ZERO,
        received: 0,
    };
    simulator.add_agent(a, FlowId(0), agent(Some(b)));
    let sink = simulator.add_agent(b, FlowId(0), agent(None));
    simulator.run_until(Instant::from_secs(1));
    let before = simulator.agent(sink).received;
    let info = measure(|| simulator.run_until(Instant::from_secs(2)));
    assert_eq!((info.count_total, simulator.agent(sink).received - before), (0, 500));
}

/// Packets each 2 ms to and from each of three terminals of a cell, two of which fade.
#[test]
fn packets_of_a_cell_do_not_allocate_in_the_steady_state() {
    let (carrier, blocks) = (Hertz::from_gigahertz(2.0), ResourceBlocks(50));
    let site = SiteConfig {
        place: Place::default(),
        cell: CellConfig::lte(blocks),
        radio: RadioConfig::urban(carrier, blocks),
        background: None,
    };
    let milliseconds = Duration::from_millis;
    let config = NetworkConfig {
        sites: vec![site],
        shadowing: ShadowingConfig { deviation: Decibels(6.0), distance: Metres(50.0) },
        least_speed: 1.0,
        reports: ReportConfig { period: milliseconds(5), delay: milliseconds(6), error: Decibels(1.0) },
        a3: None,
        handover: HandoverConfig::lte(1),
        forwards: true,
        radio_link: RadioLinkConfig::DEFAULT,
        seed: 1,
    };
    let first = TerminalConfig { cell: CellIndex(0), planned: Vec::new() };
    let path = |k: u32| Path::fixed(Position { x: 60.0 + 70.0 * f64::from(k), y: 0.0 });
    let medium =
        CellularMedium::new(config, &[first.clone(), first.clone(), first], (0..3).map(path).collect());
    let mut simulator = Simulator::new(SimulationConfig::default());
    let medium = simulator.add_medium(medium.expect("a cell"));
    let nodes: Vec<NodeId> = (0..4).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    for &node in &nodes {
        simulator.add_station(node, medium, &Discipline::DropTail, QueueLimit::Unlimited).expect("a queue");
    }
    let mut sinks = Vec::new();
    for number in 0..6 {
        let (flow, interval, next) = (FlowId(number), milliseconds(2), Instant::ZERO);
        let terminal = nodes[1 + number as usize / 2];
        let (from, to) = if number % 2 == 0 { (nodes[0], terminal) } else { (terminal, nodes[0]) };
        simulator.add_agent(from, flow, Constant { to: Some(to), flow, interval, next, received: 0 });
        sinks.push(simulator.add_agent(to, flow, Constant { to: None, flow, interval, next, received: 0 }));
    }
    simulator.run_until(Instant::from_secs(20));
    let received = |simulator: &Simulator<Constant>| -> u64 {
        sinks.iter().map(|&sink| simulator.agent(sink).received).sum()
    };
    let before = received(&simulator);
    let info = measure(|| simulator.run_until(Instant::from_secs(25)));
    let packets = received(&simulator) - before;
    assert!(info.count_total < 10 && packets > 14_000, "{} for {packets} packets", info.count_total);
}
