//! The presets and published distributions: how far apart they are.
//!
//! ```sh
//! cargo run --release -p whimbrel-cell --example presets
//! ```
//!
//! A distance is the greatest difference between the share of a run's values below a published quantile and
//! the quantile's share (Kolmogorov and Smirnov's, at the quantiles that are published).

use whimbrel_cell::amc::lte::Direction;
use whimbrel_cell::cell::{CellConfig, Fate};
use whimbrel_cell::duplex::{Duplex, Pattern, SpecialSlot};
use whimbrel_cell::handover::{A3Config, CellIndex, HandoverConfig, RadioLinkConfig};
use whimbrel_cell::level::Decibels;
use whimbrel_cell::network::{
    Background, Mobility, Network, NetworkConfig, RadioConfig, ReportConfig, ShadowingConfig, SiteConfig,
    TerminalConfig,
};
use whimbrel_cell::packet::{Packet, PacketId};
use whimbrel_cell::radio::{Hertz, Metres, Place};
use whimbrel_cell::scheduler::UserIndex;
use whimbrel_cell::{Numerology, ResourceBlocks};
use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

/// A terminal that starts here and drives along the sites at this speed in m/s.
struct Drive(f64, f64);

impl Mobility for Drive {
    fn place(&self, terminal: UserIndex, now: Instant) -> Place {
        Place { x: self.0 + self.travelled(terminal, now).0, y: 30.0 }
    }

    fn travelled(&self, _: UserIndex, now: Instant) -> Metres {
        Metres((now - Instant::ZERO).as_secs_f64() * self.1)
    }
}

/// Users of each cell, and the rate of each in kbit/s.
type Load = (u32, f64);

fn network(
    cell: &CellConfig,
    carrier: f64,
    (users, rate): Load,
    sites: &[f64],
    walk: Drive,
) -> Network<Drive> {
    let milliseconds = Duration::from_millis;
    let background = Background {
        users,
        radius: Metres(250.0),
        rate: DataRate::from_kilobits_per_second(rate),
        size: ByteCount::new(500_000),
    };
    let site = |x: &f64| SiteConfig {
        place: Place { x: *x, y: 0.0 },
        cell: cell.clone(),
        radio: RadioConfig::urban(Hertz::from_gigahertz(carrier), cell.groups.blocks),
        background: Some(background),
    };
    let config = NetworkConfig {
        sites: sites.iter().map(site).collect(),
        shadowing: ShadowingConfig { deviation: Decibels(6.0), distance: Metres(50.0) },
        least_speed: 1.0 / 3.6,
        reports: ReportConfig { period: milliseconds(5), delay: milliseconds(6), error: Decibels(1.0) },
        a3: Some(A3Config {
            margin: Decibels(3.0),
            time_to_trigger: milliseconds(256),
            period: milliseconds(200),
            filter: 4,
        }),
        handover: HandoverConfig::lte(sites.len() as u32),
        forwards: true,
        radio_link: RadioLinkConfig::DEFAULT,
        seed: 5,
    };
    let first = TerminalConfig { cell: CellIndex(0), planned: Vec::new() };
    Network::new(config, &[first], walk).expect("cells")
}

/// Delivery times and delays in ms of packets of so many bytes that are sent at these times.
fn deliver(network: &mut Network<Drive>, times: &[Instant], size: u64, end: Instant) -> Vec<(Instant, f64)> {
    let mut waiting = (0..).zip(times).peekable();
    let mut found = Vec::new();
    loop {
        let arrival = waiting.peek().map(|(_, at)| **at);
        let Some(now) = network.poll_timeout().into_iter().chain(arrival).min().filter(|at| *at < end) else {
            return found;
        };
        if arrival == Some(now) {
            if let Some((id, at)) = waiting.next() {
                let packet = Packet { id: PacketId(id), size: ByteCount::new(size), ecn: Ecn::NotEct };
                network.handle_packet(*at, UserIndex(0), Direction::Down, packet);
            }
        } else {
            network.handle_timeout(now);
        }
        while let Some(outcome) = network.poll_outcome() {
            if outcome.fate == Fate::Delivered {
                let delay = outcome.at - times[outcome.packet.id.0 as usize];
                found.push((outcome.at, delay.as_secs_f64() * 1e3));
            }
        }
        while network.poll_event().is_some() {}
    }
}

fn distance(values: &[f64], published: &[(f64, f64)]) -> f64 {
    let below = |limit: f64| values.iter().filter(|value| **value <= limit).count() as f64;
    let gap = |&(share, quantile): &(f64, f64)| (below(quantile) / values.len() as f64 - share).abs();
    published.iter().map(gap).fold(0.0, f64::max)
}

fn quantiles(values: &mut [f64]) -> Vec<String> {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    [0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95].map(|share| format!("{:.1}", at(share))).into()
}

/// Packets after gaps of these bounds in ms, uniform.
fn sparse(low: u64, high: u64, count: u64) -> Vec<Instant> {
    let mut at = 20_000;
    let step = |number: u64| low + (number * 7_919) % (high - low);
    (0..count)
        .map(|number| {
            at += step(number);
            Instant::from_millis(at)
        })
        .collect()
}

fn main() {
    let lte = CellConfig::lte(ResourceBlocks(50));
    // Round-trip times of Verizon's 4G after gaps (Narayanan et al., SIGCOMM 2021), with a floor of 65 ms for
    // the rest of the path.
    for (name, low, high, published) in [
        ("1 to 5 s", 1_000, 5_000, [(0.1, 90.0), (0.5, 214.0), (0.9, 338.0)]),
        ("11.5 to 15 s", 11_500, 15_000, [(0.1, 479.0), (0.5, 959.0), (0.9, 1_453.0)]),
    ] {
        let times = sparse(low, high, 400);
        let end = *times.last().expect("times") + Duration::from_secs(5);
        let awake = CellConfig { rrc: None, ..lte.clone() };
        for (how, cell) in [("as it is", &lte), ("without sleep and release", &awake)] {
            let mut cells = network(cell, 2.0, (0, 2_000.0), &[0.0], Drive(80.0, 0.0));
            let found = deliver(&mut cells, &times, 100, end);
            let mut rtt: Vec<f64> = found.iter().map(|(_, delay)| delay + 65.0).collect();
            let apart = distance(&rtt, &published);
            let values = quantiles(&mut rtt);
            println!("lte, {how}, RTT after gaps of {name}: {values:?} ms, distance {apart:.3}");
        }
    }
    let pattern = Pattern::new("DDDSU", SpecialSlot { down: 10, gap: 2 }).expect("a pattern");
    let nr = CellConfig::nr(Numerology::KHZ_30, ResourceBlocks(245), Duplex::Time(pattern));
    // One-way delays of the radio of Vodafone (Fezeu et al., SIGCOMM 2024).
    let italy = [(0.05, 0.27), (0.25, 1.9), (0.5, 2.9), (0.75, 6.2), (0.95, 9.3)];
    let germany = [(0.05, 0.73), (0.25, 1.3), (0.5, 2.1), (0.75, 4.0), (0.95, 7.7)];
    let times: Vec<Instant> =
        (0..20_000_u64).map(|number| Instant::from_nanos(2_000_000_000 + number * 5_137_311)).collect();
    let frequency = CellConfig { duplex: Duplex::Frequency, ..nr.clone() };
    let mut once = nr.clone();
    once.harq.transmissions = 1;
    let slow = CellConfig::nr(Numerology::KHZ_15, ResourceBlocks(106), Duplex::Frequency);
    for (name, cell, load) in [
        ("as it is", &nr, (0, 0.0)),
        ("without time division", &frequency, (0, 0.0)),
        ("without repetitions", &once, (0, 0.0)),
        ("with slots of 1 ms", &slow, (0, 0.0)),
        ("among 10 users of 20 Mbit/s", &nr, (10, 20_000.0)),
        ("among 20 users of 20 Mbit/s", &nr, (20, 20_000.0)),
        ("among 40 users of 20 Mbit/s", &nr, (40, 20_000.0)),
    ] {
        let mut cells = network(cell, 3.5, load, &[0.0], Drive(150.0, 0.0));
        let found = deliver(&mut cells, &times, 1_200, Instant::from_secs(120));
        let mut delays: Vec<f64> = found.iter().map(|(_, delay)| *delay).collect();
        let apart = [italy, germany].map(|published| distance(&delays, &published));
        let values = quantiles(&mut delays);
        println!("nr-fr1-tdd of 90 MHz, {name}, radio delay: {values:?} ms, distances {apart:.3?}");
    }
    // A saturated car in a town: cars and bars of the recordings of mahimahi.
    let times: Vec<Instant> = (0..140_000_u64).flat_map(|at| [Instant::from_millis(at); 4]).collect();
    let sites: Vec<f64> = (0..5).map(|number| f64::from(number) * 500.0).collect();
    for users in [0, 5, 10] {
        let mut cells = network(&lte, 2.0, (users, 2_000.0), &sites, Drive(0.0, 14.0));
        let found = deliver(&mut cells, &times, 1_200, Instant::from_secs(140));
        let rate = |milliseconds: f64| -> Vec<f64> {
            let mut bins = vec![0.0; (140_000.0 / milliseconds) as usize];
            for (at, _) in &found {
                let bin = ((*at - Instant::ZERO).as_secs_f64() * 1e3 / milliseconds) as usize;
                if let Some(bin) = bins.get_mut(bin) {
                    *bin += 1.0;
                }
            }
            bins
        };
        let deviation = |bins: &[f64]| {
            let mean = bins.iter().sum::<f64>() / bins.len() as f64;
            let square = bins.iter().map(|bin| (bin - mean) * (bin - mean)).sum::<f64>() / bins.len() as f64;
            square.sqrt() / mean
        };
        let tens = rate(10.0);
        let empty = tens.iter().filter(|bin| **bin == 0.0).count() as f64 / tens.len() as f64;
        println!(
            "lte, a saturated car among {users} users a cell: {:.1} Mbit/s, CoV of 100 ms {:.2}, empty 10 ms {:.3}",
            found.len() as f64 * 1_200.0 * 8.0 / 140e6,
            deviation(&rate(100.0)),
            empty
        );
    }
}
