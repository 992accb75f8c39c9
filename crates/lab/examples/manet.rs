//! F2: mobile nodes with 802.11b radios, ad hoc routing and constant-bit-rate flows, under ns-2's rules.
//!
//! `cargo run --release -p whimbrel-lab --example manet -- MOBILITY [key value]...`, with the file of the
//! movements, or a number of nodes that move by random waypoints at the density of 50 nodes in a square
//! kilometre; and with the keys of `benches/peers/manet.tcl`, which is the same in ns-2, and of which the
//! output has the names (`measure` has no effect; `causes 1` prints the causes of losses, `nearest 1` sends
//! each flow to the nearest node). CPU seconds, the transmissions of the MACs and the stations that they
//! reached, and the microseconds of CPU for each follow.

#[path = "../tests/support/manet.rs"]
mod manet;

use std::collections::BTreeMap;
use std::error::Error;
use std::{env, fs};

use manet::Manet;
use whimbrel_lab::routing::Protocol;
use whimbrel_netsim::medium::ArpConfig;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::SplitMix64;
use whimbrel_wifi::mobility::{Area, Path, Position, RandomWaypoint, Start, setdest};
use whimbrel_wifi::routing::aodv::AodvConfig;
use whimbrel_wifi::routing::dsdv::DsdvConfig;

fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e-9
}

/// Nodes at 50 per square kilometre that move at 1 to 20 m/s without pauses.
fn random_waypoints(nodes: u32, duration: f64, seed: u64) -> Result<Vec<Path>, Box<dyn Error>> {
    let side = (f64::from(nodes) / 50.0).sqrt() * 1_000.0;
    let area = Area { low: Position::default(), high: Position { x: side, y: side } };
    let pause = (Duration::ZERO, Duration::ZERO);
    let model = RandomWaypoint { area, speed: (1.0, 20.0), pause, start: Start::Stationary };
    let (end, streams) = (Instant::from_secs_f64(duration), SplitMix64::new(seed));
    let paths = (0..nodes).map(|node| model.path(end, &mut streams.stream(u64::from(node))));
    Ok(paths.collect::<Result<_, _>>()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mobility, options @ ..] = &arguments[..] else { return Err("the file of the movements".into()) };
    let options: BTreeMap<&str, &str> =
        options.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let number = |key: &str, default: f64| -> Result<f64, Box<dyn Error>> {
        options.get(key).map_or(Ok(default), |text| Ok(text.parse::<f64>()?))
    };
    let protocol = match options.get("protocol").copied() {
        None | Some("DSDV") => Protocol::Dsdv(DsdvConfig::NS2),
        Some("AODV") => Protocol::Aodv(AodvConfig::NS2),
        Some("RFC3561") => Protocol::Aodv(AodvConfig::default()),
        Some(other) => return Err(format!("protocol {other}: expected DSDV, AODV or RFC3561").into()),
    };
    let (duration, seed) = (number("duration", 100.0)?, number("seed", 1.0)? as u64);
    let started = cpu_seconds();
    let paths = match mobility.parse::<u32>() {
        Ok(nodes) => random_waypoints(nodes, duration, seed)?,
        Err(_) => {
            let nodes = setdest::parse(&fs::read_to_string(mobility)?, None)?;
            nodes.into_iter().map(|(_, path)| path).collect()
        }
    };
    let network = Manet {
        paths,
        protocol,
        seed,
        duration,
        flows: number("flows", 20.0)? as usize,
        interval: number("interval", 0.064)?,
        begin: number("begin", 5.0)?,
        rts: number("rts", 0.0)? as u32,
        nearest: options.contains_key("nearest"),
        arp: Some(ArpConfig::NS2),
    };
    let figures = network.run()?;
    let cpu = cpu_seconds() - started;
    if options.contains_key("causes") {
        figures.losses.iter().for_each(|(cause, count)| eprintln!("{cause} {count}"));
    }
    println!(
        "sent received hops delay messages bytes cpu_s transmissions us_per_transmission arrivals us_per_arrival"
    );
    println!(
        "{} {} {:.6} {:.9} {} {} {cpu:.4} {} {:.3} {} {:.4}",
        figures.sent,
        figures.received,
        figures.hops,
        figures.delay,
        figures.messages,
        figures.bytes,
        figures.transmissions,
        cpu / figures.transmissions as f64 * 1e6,
        figures.arrivals,
        cpu / figures.arrivals as f64 * 1e6,
    );
    Ok(())
}
