//! F2: mobile nodes with 802.11b radios, an ad hoc routing protocol and constant-bit-rate flows, under ns-2's rules.
//!
//! `cargo run --release -p whimbrel-lab --example manet -- MOBILITY [key value]...`, with the keys of
//! `benches/peers/manet.tcl`, which is the same in ns-2, and of which the output has the names (`measure` has no effect;
//! `causes 1` prints the causes of losses). It is followed by the CPU
//! seconds, the transmissions of the MACs, and the microseconds of CPU per transmission.

use std::collections::BTreeMap;
use std::error::Error;
use std::{env, fs};

use whimbrel_lab::metrics::{Meter, Recording};
use whimbrel_lab::routing::{Protocol, Router, add_routers};
use whimbrel_lab::traffic::{Cbr, Pattern, TrafficSource};
use whimbrel_lab::transport::FlowAgent;
use whimbrel_lab::transport::udp::{UdpSink, UdpSource};
use whimbrel_netsim::medium::{WifiConfig, WifiMedium};
use whimbrel_netsim::queue::Discipline;
use whimbrel_netsim::{
    AgentId, FixedRoutes, FlowId, LossCause, NodeId, QueueLimit, SimulationConfig, Simulator, StationId,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::MacConfig;
use whimbrel_wifi::mobility::{Presence, setdest};
use whimbrel_wifi::phy::Rate;
use whimbrel_wifi::propagation::ChannelConfig;
use whimbrel_wifi::routing::aodv::AodvConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;
use whimbrel_wifi::site::Site;

/// Bytes of a packet's data, and of the header that ns-2's routing agents add to it.
const PACKET: (u32, u32) = (512, 20);

fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e-9
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

fn meter() -> Meter {
    Meter::new(Instant::ZERO, &[], Recording { packets: false, losses: false })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mobility, options @ ..] = &arguments[..] else { return Err("the file of the movements".into()) };
    let options: BTreeMap<&str, &str> =
        options.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let number = |key: &str, default: f64| -> Result<f64, Box<dyn Error>> {
        options.get(key).map_or(Ok(default), |text| Ok(text.parse::<f64>()?))
    };
    let seed = number("seed", 1.0)? as u64;
    let end = Instant::from_secs_f64(number("duration", 100.0)?);
    let begin = number("begin", 5.0)?;
    let flows = number("flows", 20.0)? as usize;
    let interval = Duration::from_secs_f64(number("interval", 0.064)?);
    let protocol = match options.get("protocol").copied() {
        None | Some("DSDV") => Protocol::Dsdv(DsdvConfig::NS2),
        Some("AODV") => Protocol::Aodv(AodvConfig::NS2),
        Some(other) => return Err(format!("protocol {other}: expected DSDV or AODV").into()),
    };
    let paths = setdest::parse(&fs::read_to_string(mobility)?, None)?;

    let started = cpu_seconds();
    let mut simulator: Simulator<FlowAgent> = Simulator::new(SimulationConfig { seed, run: 0 });
    simulator.set_routing(FixedRoutes);
    let site = Site::new(ChannelConfig::ns2(), paths.into_iter().map(|path| (path, Presence::ALWAYS)))?;
    let count = site.stations();
    let mac =
        MacConfig { data_rate: Rate::Hr11, rts_threshold: number("rts", 0.0)? as u32, ..MacConfig::ns2() };
    let medium = simulator.add_medium(WifiMedium::new(site, WifiConfig { mac, ..WifiConfig::ns2(seed) }));
    let nodes: Vec<NodeId> = (0..count).map(|k| simulator.add_node(&format!("n{k}"))).collect();
    let queue = Discipline::Priority { flows: vec![FlowId::ROUTING], rest: Box::new(Discipline::DropTail) };
    let mut stations: Vec<StationId> = Vec::new();
    for &node in &nodes {
        stations.push(simulator.add_station(node, medium, &queue, QueueLimit::Packets(50))?);
    }
    let routers = add_routers(&mut simulator, &stations, protocol);
    let mut ends = Vec::new();
    for (number, id) in (0..flows).zip((0u32..).map(FlowId)) {
        let start = Instant::from_secs_f64(begin + 0.25 * number as f64);
        let source = TrafficSource::endless(Pattern::Cbr(Cbr::new(start, interval, PACKET.0)), end);
        let (from, to) = (nodes[2 * number % count], nodes[(2 * number + 1) % count]);
        let sender = UdpSource::new(to, id, PACKET.1, source, meter());
        ends.push((
            simulator.add_agent(from, id, sender.into()),
            simulator.add_agent(to, id, UdpSink::new(meter()).into()),
        ));
    }
    if options.contains_key("causes") {
        simulator.record_losses();
    }
    simulator.run_until(end);
    let cpu = cpu_seconds() - started;

    let counters = |agent: AgentId| *simulator.agent(agent).meter().counters();
    let sent: u64 = ends.iter().map(|ends| counters(ends.0).sent_packets).sum();
    let received: u64 = ends.iter().map(|ends| counters(ends.1).received_packets).sum();
    let delay: f64 = ends
        .iter()
        .map(|ends| {
            let count = counters(ends.1).received_packets;
            if count == 0 {
                0.0
            } else {
                simulator.agent(ends.1).meter().delay().mean().unwrap_or(0.0) * count as f64
            }
        })
        .sum();
    let overhead = |agent: &AgentId| match simulator.agent(*agent) {
        FlowAgent::Router(router) => Router::overhead(router),
        _ => (0, 0),
    };
    let messages: u64 = routers.iter().map(|agent| overhead(agent).0).sum();
    let bytes: u64 = routers.iter().map(|agent| overhead(agent).1).sum();
    let heard: u64 = routers.iter().map(|&agent| counters(agent).received_packets).sum();
    let arrived: u64 =
        stations.iter().map(|&station| simulator.station_stats(station).received.packets).sum();
    let transmissions = simulator.medium::<WifiMedium>(medium).ok_or("no medium")?.transmissions();
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for loss in simulator.losses().iter().filter(|loss| loss.flow != FlowId::ROUTING) {
        *causes.entry(cause_name(loss.cause)).or_default() += 1;
    }
    causes.iter().for_each(|(cause, count)| eprintln!("{cause} {count}"));
    println!("sent received hops delay messages bytes cpu_s transmissions us_per_transmission");
    println!(
        "{sent} {received} {:.6} {:.9} {messages} {bytes} {cpu:.4} {transmissions} {:.3}",
        (arrived - heard) as f64 / received as f64,
        delay / received as f64,
        cpu / transmissions as f64 * 1e6,
    );
    Ok(())
}
