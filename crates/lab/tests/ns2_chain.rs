//! TCP over chains of 802.11 nodes with DSDV, compared with figures that ns-2.35 itself produced
//! (`benches/peers/chain.tcl`).

use whimbrel_lab::metrics::{Meter, Recording};
use whimbrel_lab::routing::{Protocol, add_routers};
use whimbrel_lab::tcp::{TcpConfig, Variant};
use whimbrel_lab::traffic::{Bulk, Pattern, TrafficSource};
use whimbrel_lab::transport::FlowAgent;
use whimbrel_lab::transport::tcp::{TcpReceiverAgent, TcpSenderAgent};
use whimbrel_netsim::medium::{WifiConfig, WifiMedium};
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::{FixedRoutes, FlowId, NodeId, QueueLimit, SimulationConfig, Simulator, StationId};
use whimbrel_units::Instant;
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;
use whimbrel_wifi::site::Site;

const SEGMENT: u32 = 1_460;
const BEGIN: u64 = 150;
const DURATION: u64 = 60;

/// Segments delivered per second over a chain of `hops` hops.
fn segments_per_second(hops: usize, seed: u64) -> f64 {
    let mut simulator: Simulator<FlowAgent> = Simulator::new(SimulationConfig { seed, run: 0 });
    simulator.set_routing(FixedRoutes);
    let place = |k| (Path::fixed(Position { x: 200.0 * k as f64, y: 0.0 }), Presence::ALWAYS);
    let site = Site::new(ChannelConfig::ns2(), (0..=hops).map(place)).unwrap();
    let mac = MacConfig { data_rate: Rate::Hr11, rts_threshold: 3_000, ..MacConfig::ns2() };
    // ns-2's DSDV adds a header of 20 bytes to every packet, although TCP has counted one.
    let config = WifiConfig { mac, llc_bytes: 20, ..WifiConfig::ns2(seed) };
    let medium = simulator.add_medium(WifiMedium::new(site, config));
    let nodes: Vec<NodeId> = (0..=hops).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    let rest = Box::new(Discipline::DropTail);
    let queue = Discipline::Priority { flows: vec![FlowId::ROUTING], rest };
    let station = |&node| simulator.add_station(node, medium, &queue, QueueLimit::Packets(50)).unwrap();
    let stations: Vec<StationId> = nodes.iter().map(station).collect();
    add_routers(&mut simulator, &stations, Protocol::Dsdv(DsdvConfig::NS2));
    let tcp = TcpConfig { segment_size: SEGMENT, ..TcpConfig::ns2(Variant::NewReno).with_window(32.0) };
    let (begin, end) = (Instant::from_secs(BEGIN), Instant::from_secs(BEGIN + DURATION));
    let source = TrafficSource::endless(Pattern::Bulk(Bulk::new(begin, SEGMENT)), end);
    let meter = || Meter::new(Instant::ZERO, &[], Recording { packets: false, losses: false });
    let (from, to, flow) = (nodes[0], nodes[hops], FlowId(0));
    simulator.add_agent(from, flow, TcpSenderAgent::new(to, flow, &tcp, source, meter()).into());
    let sink = simulator.add_agent(to, flow, TcpReceiverAgent::new(from, flow, &tcp, meter()).into());
    simulator.run_until(end);
    let delivered = simulator.agent(sink).meter().counters().delivered_bytes;
    delivered as f64 / f64::from(SEGMENT) / DURATION as f64
}

/// The median of a side's runs: a run in which DSDV has a loop for the last quarter, as one of ns-2's, does
/// not move it.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { (figures[middle - 1] + figures[middle]) / 2.0 }
}

/// Medians of the runs of each side, with 1 % between them.
#[test]
fn tcp_over_one_to_four_hops_agrees_with_ns2() {
    for hops in 1..=4 {
        let rows = include_str!("data/ns2_chain.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
        let figures: Vec<f64> = rows
            .map(|row| row.split(',').collect::<Vec<&str>>())
            .filter(|row| row[0] == hops.to_string())
            .map(|row| row[2].parse().expect("a number"))
            .collect();
        assert_eq!(figures.len(), 4);
        let theirs = median(figures);
        let ours = median((1..=3).map(|seed| segments_per_second(hops, seed)).collect());
        println!("{hops} hops: {ours:.2} segments per second, ns-2 {theirs:.2}");
        assert!((ours / theirs - 1.0).abs() < 0.01, "{hops} hops: {ours} and {theirs}");
    }
}
