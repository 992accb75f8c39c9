//! The cost of a datagram: DCCP over UDP, raw UDP and QUIC DATAGRAM, compared on loopback in one run.
//!
//! Each carrier moves the same number of 1200-byte datagrams from one thread to another as fast as
//! its congestion control allows. The figure is the processor time of the whole process (both ends,
//! kernel included) per datagram that arrived. Rounds alternate, so that a drift of the machine's
//! speed meets all carriers alike; the median is printed, and the ratio to QUIC.
//!
//! Usage: whimbrel-bench-sockets [DATAGRAMS [ROUNDS [CARRIER]]]
//!
//! A carrier (udp, quic, ccid2, ccid3, ccid2-dtls, ccid3-dtls) alone is for profiling.

mod dccp;
mod quic;
mod udp;

use std::collections::BTreeMap;
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

    fn datagrams_per_second(&self) -> f64 {
        self.delivered as f64 / self.wall_s
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

/// Moves so many datagrams; returns how many arrived.
type Carrier = fn(u64) -> anyhow::Result<u64>;

const CARRIERS: [(&str, Carrier); 6] = [
    ("udp", udp::run),
    ("quic", quic::run),
    ("ccid2", |n| dccp::run(n, 2, false)),
    ("ccid3", |n| dccp::run(n, 3, false)),
    ("ccid2-dtls", |n| dccp::run(n, 2, true)),
    ("ccid3-dtls", |n| dccp::run(n, 3, true)),
];

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let datagrams = args.next().map_or(Ok(300_000), |text| text.parse())?;
    let rounds = args.next().map_or(Ok(5), |text| text.parse())?;
    let only = args.next();
    let mut results = BTreeMap::<&str, Vec<Round>>::new();
    for _ in 0..rounds {
        for (name, carrier) in
            CARRIERS.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name))
        {
            let round = measure(|| carrier(datagrams))?;
            eprintln!(
                "{name:>10}: {:6.0} ns/datagram, {:7.0} datagrams/s, {} of {datagrams} delivered",
                round.nanoseconds_per_datagram(),
                round.datagrams_per_second(),
                round.delivered
            );
            results.entry(name).or_default().push(round);
        }
    }
    let cost = |name| {
        results.get(name).map(|rounds| median(rounds.iter().map(Round::nanoseconds_per_datagram).collect()))
    };
    let quic = cost("quic");
    // Each round next to the same round of QUIC.
    let range = |rounds: &[Round]| {
        let quic = results.get("quic")?;
        let ratios = rounds.iter().zip(quic).map(|(ours, quic)| {
            ours.nanoseconds_per_datagram() / quic.nanoseconds_per_datagram()
        });
        Some(ratios.fold([f64::MAX, 0.0_f64], |[from, to], ratio| [from.min(ratio), to.max(ratio)]))
    };
    let rows: Vec<_> = results
        .iter()
        .map(|(name, rounds)| {
            let cost = cost(name);
            serde_json::json!({
                "carrier": name,
                "cpu_ns_per_datagram": cost,
                "datagrams_per_s": median(rounds.iter().map(Round::datagrams_per_second).collect()),
                "cpu_ratio_to_quic": cost.zip(quic).map(|(ours, quic)| ours / quic),
                "cpu_ratio_range": range(rounds),
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
