//! Flows of all transports over ad hoc routes, in one simulator.

use whimbrel_lab::metrics::{Counters, Meter, Recording};
use whimbrel_lab::routing::{Protocol, Router, add_routers};
use whimbrel_lab::tcp::{TcpConfig, Variant};
use whimbrel_lab::traffic::{Cbr, Pattern, TrafficSource};
use whimbrel_lab::transport::dccp::{Attachment, DccpAgent};
use whimbrel_lab::transport::tcp::{TcpReceiverAgent, TcpSenderAgent};
use whimbrel_lab::transport::udp::{UdpSink, UdpSource};
use whimbrel_lab::transport::{FlowAgent, FlowEnd};
use whimbrel_netsim::medium::{WifiConfig, WifiMedium};
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::{
    AgentId, FixedRoutes, FlowId, NodeId, QueueLimit, SimulationConfig, Simulator, StationId,
};
use whimbrel_proto::Config;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Path, Position, Presence};
use whimbrel_wifi::phy::{Phy, Preamble, Rate};
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::routing::aodv::AodvConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;
use whimbrel_wifi::site::Site;

/// A row of nodes 200 m apart with routing agents.
fn row(count: usize, protocol: Protocol) -> (Simulator<FlowAgent>, Vec<NodeId>, Vec<AgentId>) {
    let mut simulator = Simulator::new(SimulationConfig::default());
    simulator.set_routing(FixedRoutes);
    let place = |k| (Path::fixed(Position { x: 200.0 * k as f64, y: 0.0 }), Presence::ALWAYS);
    let site = Site::new(ChannelConfig::ns2(), (0..count).map(place)).unwrap();
    let mac = MacConfig::standard(Phy::hr_dsss(Preamble::Long), Rate::Hr11);
    let medium = simulator.add_medium(WifiMedium::new(site, WifiConfig::standard(mac, 1)));
    let nodes: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    let station =
        |&node| simulator.add_station(node, medium, &Discipline::DropTail, QueueLimit::Packets(50)).unwrap();
    let stations: Vec<StationId> = nodes.iter().map(station).collect();
    let routers = add_routers(&mut simulator, &stations, protocol);
    (simulator, nodes, routers)
}

fn meter() -> Meter {
    Meter::new(Instant::ZERO, &[], Recording { packets: false, losses: false })
}

/// 10 datagrams per second from 15 s on, until 25 s.
fn source() -> TrafficSource {
    let cbr = Cbr::new(Instant::from_secs(15), Duration::from_millis(100), 400);
    TrafficSource::new(Pattern::Cbr(cbr), Instant::from_secs(25))
}

fn router(simulator: &Simulator<FlowAgent>, agent: AgentId) -> &Router {
    match simulator.agent(agent) {
        FlowAgent::Router(router) => router,
        _ => panic!("a routing agent"),
    }
}

#[test]
fn udp_tcp_and_dccp_run_over_the_routes_of_either_protocol() {
    for protocol in [Protocol::Dsdv(DsdvConfig::default()), Protocol::Aodv(AodvConfig::default())] {
        let (mut simulator, nodes, routers) = row(4, protocol);
        let (from, to) = (nodes[0], nodes[3]);
        let tcp = TcpConfig { segment_size: 400, ..TcpConfig::ns2(Variant::NewReno) };
        let at = |peer| Attachment { peer, flow: FlowId(2), lower_headers: 20 };
        let start = Instant::from_secs(15);
        let ends: [[FlowAgent; 2]; 3] = [
            [UdpSource::new(to, FlowId(0), 28, source(), meter()).into(), UdpSink::new(meter()).into()],
            [
                TcpSenderAgent::new(to, FlowId(1), &tcp, source(), meter()).into(),
                TcpReceiverAgent::new(from, FlowId(1), &tcp, meter()).into(),
            ],
            [
                DccpAgent::client(at(to), Config::default(), 1, start, source(), meter()).into(),
                DccpAgent::server(at(from), Config::default(), 2, meter()).into(),
            ],
        ];
        let sinks: Vec<AgentId> = (0u32..)
            .zip(ends)
            .map(|(flow, [sender, receiver])| {
                simulator.add_agent(from, FlowId(flow), sender);
                simulator.add_agent(to, FlowId(flow), receiver)
            })
            .collect();
        simulator.run_until(Instant::from_secs(20));
        assert_eq!(router(&simulator, routers[0]).next_hop(to), Some(nodes[1]));
        simulator.run_until(Instant::from_secs(40));
        let delivered = |agent| simulator.agent(agent).meter().counters().delivered_bytes;
        let delivered: Vec<u64> = sinks.into_iter().map(delivered).collect();
        assert_eq!(delivered[..2], [40_000; 2], "{protocol:?}");
        assert!((39_000..=40_000).contains(&delivered[2]), "{protocol:?}: {delivered:?}");
        let first = router(&simulator, routers[0]);
        let Counters { sent_packets, sent_bytes, received_packets, .. } = *first.meter().counters();
        assert!(sent_packets > 0 && received_packets > 0);
        // Each message has the headers of IP and UDP.
        assert!(sent_bytes > 28 * sent_packets, "{sent_bytes} bytes in {sent_packets} messages");
    }
}
