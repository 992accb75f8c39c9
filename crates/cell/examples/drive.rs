//! A hundred terminals that drive through three LTE cells for a minute, or for `--seconds`: for timing and
//! profiles.
//!
//! ```sh
//! cargo build --release -p whimbrel-cell --example drive && time target/release/examples/drive
//! ```

use whimbrel_cell::cell::{CellConfig, Fate};
use whimbrel_cell::handover::{A3Config, CellIndex, HandoverConfig, RadioLinkConfig};
use whimbrel_cell::level::Decibels;
use whimbrel_cell::network::{
    Mobility, Network, NetworkConfig, RadioConfig, ReportConfig, ShadowingConfig, SiteConfig, TerminalConfig,
};
use whimbrel_cell::packet::{Packet, PacketId};
use whimbrel_cell::radio::{Hertz, Metres, Place};
use whimbrel_cell::scheduler::UserIndex;
use whimbrel_cell::{ResourceBlocks, amc::lte::Direction};
use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

const TERMINALS: u32 = 100;

/// Terminals at equal distances, all of which drive at 30 km/h.
struct Road;

impl Mobility for Road {
    fn place(&self, terminal: UserIndex, now: Instant) -> Place {
        Place { x: f64::from(terminal.0) * 10.0 + self.travelled(terminal, now).0, y: 30.0 }
    }

    fn travelled(&self, _: UserIndex, now: Instant) -> Metres {
        Metres((now - Instant::ZERO).as_secs_f64() * 30.0 / 3.6)
    }
}

fn main() {
    let (carrier, blocks) = (Hertz::from_gigahertz(2.0), ResourceBlocks(50));
    let milliseconds = Duration::from_millis;
    let site = |x| SiteConfig {
        place: Place { x, y: 0.0 },
        cell: CellConfig::lte(blocks),
        radio: RadioConfig::urban(carrier, blocks),
        background: None,
    };
    let config = NetworkConfig {
        sites: [0.0, 500.0, 1000.0].map(site).into(),
        shadowing: ShadowingConfig { deviation: Decibels(6.0), distance: Metres(50.0) },
        least_speed: 0.3,
        reports: ReportConfig { period: milliseconds(5), delay: milliseconds(6), error: Decibels(1.0) },
        a3: Some(A3Config {
            margin: Decibels(3.0),
            time_to_trigger: milliseconds(256),
            period: milliseconds(200),
            filter: 4,
        }),
        handover: HandoverConfig::lte(3),
        forwards: true,
        radio_link: RadioLinkConfig::DEFAULT,
        seed: 1,
    };
    let first = |terminal: u32| TerminalConfig { cell: CellIndex(terminal / 34), planned: Vec::new() };
    let terminals: Vec<_> = (0..TERMINALS).map(first).collect();
    let mut network = Network::new(config, &terminals, Road).expect("three cells");
    let (mut sent, mut delivered, mut changes) = (0_u64, 0_u64, 0_u64);
    let mut arguments = std::env::args().skip_while(|argument| argument != "--seconds").skip(1);
    let seconds = arguments.next().map_or(60, |text| text.parse().expect("a number of seconds"));
    // A packet of 1200 B each 20 ms down, of 200 B each 40 ms up: 0.48 Mbit/s and 40 kbit/s.
    for tick in 0..seconds * 100 {
        let now = Instant::from_millis(tick * 10);
        while let Some(at) = network.poll_timeout().filter(|at| *at < now) {
            network.handle_timeout(at);
            while let Some(outcome) = network.poll_outcome() {
                delivered += u64::from(outcome.fate == Fate::Delivered);
            }
            changes += core::iter::from_fn(|| network.poll_event()).count() as u64;
        }
        for terminal in 0..TERMINALS {
            let phase = tick + u64::from(terminal);
            for (direction, size, every) in [(Direction::Down, 1_200, 2), (Direction::Up, 200, 4)] {
                if phase % every == 0 {
                    let packet = Packet { id: PacketId(sent), size: ByteCount::new(size), ecn: Ecn::NotEct };
                    network.handle_packet(now, UserIndex(terminal), direction, packet);
                    sent += 1;
                }
            }
        }
    }
    let blocks: u64 = network.cells().iter().map(whimbrel_cell::Cell::blocks).sum();
    println!("packets delivered blocks changes\n{sent} {delivered} {blocks} {changes}");
}
