//! What a datagram costs: DCCP over UDP beside raw UDP and QUIC DATAGRAM, on loopback, in one run.
//!
//! Each carrier moves the same number of 1200-byte datagrams from one thread to another as fast as
//! its congestion control allows. The figure is the processor time of the whole process (both ends,
//! kernel included) per datagram that arrived. Rounds alternate, so that a drift of the machine's
//! speed meets all carriers alike; the median is printed, and the ratio to QUIC.
//!
//! Usage: whimbrel-bench-sockets [DATAGRAMS [ROUNDS]]

mod dccp;
mod quic;
mod udp;

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Application data per datagram in bytes.
const SIZE: usize = 1200;
/// No carrier may take longer for one round.
const ROUND_LIMIT: Duration = Duration::from_secs(60);

/// One round of one carrier.
#[derive(Clone, Copy, Debug)]
struct Round {
    cpu_s: f64,
    wall_s: f64,
    delivered: u64,
}

impl Round {
    fn nanoseconds_per_datagram(&self) -> f64 {
        self.cpu_s * 1e9 / self.delivered.max(1) as f64
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Runs a carrier to the end and measures it.
fn measure(carrier: impl FnOnce() -> anyhow::Result<u64>) -> anyhow::Result<Round> {
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    let delivered = carrier()?;
    Ok(Round { cpu_s: cpu_seconds() - cpu, wall_s: wall.elapsed().as_secs_f64(), delivered })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let datagrams = args.next().map_or(Ok(300_000), |text| text.parse())?;
    let rounds = args.next().map_or(Ok(5), |text| text.parse())?;
    type Carrier = (&'static str, fn(u64) -> anyhow::Result<u64>);
    let carriers: [Carrier; 4] = [
        ("udp", udp::run),
        ("quic datagram", quic::run),
        ("dccp ccid 2", |n| dccp::run(n, 2)),
        ("dccp ccid 3", |n| dccp::run(n, 3)),
    ];
    let mut results = vec![Vec::new(); carriers.len()];
    for _ in 0..rounds {
        for (results, (name, carrier)) in results.iter_mut().zip(carriers) {
            let round = measure(|| carrier(datagrams))?;
            eprintln!("{name:>14}: {:7.0} ns/datagram, {:7.0} datagrams/s, {} delivered", round.nanoseconds_per_datagram(), round.delivered as f64 / round.wall_s, round.delivered);
            results.push(round);
        }
    }
    let costs: Vec<f64> =
        results.iter().map(|rounds| median(rounds.iter().map(Round::nanoseconds_per_datagram).collect())).collect();
    let rates: Vec<f64> =
        results.iter().map(|rounds| median(rounds.iter().map(|r| r.delivered as f64 / r.wall_s).collect())).collect();
    let rows: Vec<_> = carriers
        .iter()
        .enumerate()
        .map(|(i, (name, _))| {
            serde_json::json!({
                "carrier": name, "cpu_ns_per_datagram": costs[i], "datagrams_per_s": rates[i], "cpu_ratio_to_quic": costs[i] / costs[1],
            })
        })
        .collect();
    println!("{}", serde_json::to_string_pretty(&rows)?);
    Ok(())
}

/// A runtime for one end.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
