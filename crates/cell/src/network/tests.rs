mod ns3;

use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::*;
use crate::amc::SelectionRule;
use crate::cell::{CellConfig, Fate, LossCause};
use crate::handover::{A3Config, HandoverConfig, RadioLinkConfig};
use crate::harq::Combining;
use crate::level::{Decibels, PowerLevel};
use crate::numerology::ResourceBlocks;
use crate::packet::PacketId;
use crate::radio::{Environment, Hertz, Sight};
use crate::rlc::Mode;

const MS: Duration = Duration::from_millis(1);

/// All terminals drive along the sites at this speed in m/s, at a distance of 30 m.
struct Road(f64);

/// All terminals stand there.
struct At(f64);

impl Mobility for At {
    fn place(&self, _: UserIndex, _: Instant) -> Place {
        Place { x: self.0, y: 0.0 }
    }

    fn travelled(&self, _: UserIndex, _: Instant) -> Metres {
        Metres(0.0)
    }
}

impl Mobility for Road {
    fn place(&self, _: UserIndex, now: Instant) -> Place {
        Place { x: self.0 * (now - Instant::ZERO).as_secs_f64(), y: 30.0 }
    }

    fn travelled(&self, _: UserIndex, now: Instant) -> Metres {
        Metres(self.0 * (now - Instant::ZERO).as_secs_f64())
    }
}

/// A site without shadows, fades and errors, whose terminals are always connected.
fn site(x: f64, blocks: ResourceBlocks) -> SiteConfig {
    let carrier = Hertz::from_gigahertz(2.0);
    let mut cell = CellConfig::lte(blocks);
    (cell.rrc, cell.outer_loop) = (None, None);
    cell.harq.combining = Combining::Fixed([0.0; 4]);
    let radio = RadioConfig {
        path_loss: crate::radio::PathLoss::new(Environment::Macro36942, carrier),
        sight: Some(Sight::Obstructed),
        fading: None,
        ..RadioConfig::urban(carrier, blocks)
    };
    SiteConfig { place: Place { x, y: 0.0 }, cell, radio, background: None }
}

fn network(sites: Vec<SiteConfig>) -> NetworkConfig {
    NetworkConfig {
        handover: HandoverConfig::lte(sites.len() as u32),
        sites,
        shadowing: ShadowingConfig { deviation: Decibels::ZERO, distance: Metres(50.0) },
        least_speed: 0.0,
        reports: ReportConfig { period: MS * 5, delay: MS * 6, error: Decibels::ZERO },
        a3: None,
        forwards: true,
        radio_link: RadioLinkConfig::DEFAULT,
        seed: 3,
    }
}

fn street() -> NetworkConfig {
    network([0.0, 500.0, 1000.0].map(|x| site(x, ResourceBlocks(50))).into())
}

fn first(planned: &[(Instant, CellIndex)]) -> TerminalConfig {
    TerminalConfig { cell: CellIndex(0), planned: planned.to_vec() }
}

/// Runs a network over packets, given as times, terminals, directions and bytes and numbered in this order.
fn run<M: Mobility>(
    network: &mut Network<M>,
    arrivals: &[(Instant, UserIndex, Direction, u64)],
    end: Instant,
) -> (Vec<PacketOutcome>, Vec<NetworkEvent>, u64) {
    let (mut outcomes, mut events, mut wakes) = (Vec::new(), Vec::new(), 0);
    let mut waiting = (0..).zip(arrivals).peekable();
    loop {
        let deadline = network.poll_timeout();
        let arrival = waiting.peek().map(|(_, arrival)| arrival.0);
        let Some(now) = deadline.into_iter().chain(arrival).min().filter(|now| *now < end) else { break };
        if deadline.is_some_and(|deadline| deadline <= now) {
            network.handle_timeout(now);
            wakes += 1;
            assert!(network.poll_timeout().is_none_or(|next| next > now), "no progress at {now}");
        } else if let Some((id, &(_, user, direction, size))) = waiting.next() {
            let packet = Packet { id: PacketId(id), size: ByteCount::new(size), ecn: Ecn::NotEct };
            network.handle_packet(now, user, direction, packet);
        }
        outcomes.extend(core::iter::from_fn(|| network.poll_outcome()));
        events.extend(core::iter::from_fn(|| network.poll_event()));
    }
    (outcomes, events, wakes)
}

/// Times in ms of the commands of a drive over three cells.
fn commands(kilometres_per_hour: f64, a3: A3Config) -> Vec<u64> {
    let config = NetworkConfig { a3: Some(a3), ..street() };
    let mut network = Network::new(config, &[first(&[])], Road(kilometres_per_hour / 3.6)).unwrap();
    let (_, events, wakes) = run(&mut network, &[], Instant::from_secs(60));
    assert!(wakes < 500, "{wakes} wake-ups of a minute without data");
    let commands = events
        .iter()
        .filter(|event| matches!(event.change, Change::Handover(HandoverEvent::Commanded { .. })));
    commands.map(|event| event.at.as_nanos() / 1_000_000).collect()
}

#[test]
fn a_straight_drive_changes_its_cells_at_the_computed_times() {
    let a3 = |margin, time_to_trigger: u64, filter| A3Config {
        margin: Decibels(margin),
        time_to_trigger: MS * time_to_trigger,
        period: MS * 200,
        filter,
    };
    // Reports at samples of each 200 ms, and 52 ms of preparation.
    assert_eq!(commands(60.0, a3(3.0, 256, 0)), [16_656 + 52, 46_656 + 52]);
    assert_eq!(commands(120.0, a3(3.0, 256, 0)), [8_456 + 52, 23_456 + 52]);
    assert_eq!(commands(60.0, a3(1.0, 40, 0)), [15_640 + 52, 45_640 + 52]);
    // Behind the filter the first samples over the margin are those at 16.6 and 46.6 s.
    assert_eq!(commands(60.0, a3(3.0, 256, 4)), [16_856 + 52, 46_856 + 52]);
}

#[test]
fn packets_of_a_gap_wait_for_its_end_and_come_in_order() {
    let change = (Instant::from_secs(1), CellIndex(1));
    let arrivals: Vec<_> = (0..200)
        .map(|number| (Instant::from_millis(number * 10), UserIndex(0), Direction::Down, 500))
        .collect();
    let mut network = Network::new(street(), &[first(&[change])], At(250.0)).unwrap();
    let (outcomes, events, _) = run(&mut network, &arrivals, Instant::from_secs(3));
    let at = |event: &NetworkEvent| event.at.as_nanos() / 1_000_000;
    assert_eq!(events.iter().map(at).collect::<Vec<_>>(), [948, 1_000, 1_034]);
    let silent = outcomes.iter().filter(|outcome| {
        outcome.at > Instant::from_millis(1_001) && outcome.at < Instant::from_millis(1_035)
    });
    assert_eq!(silent.count(), 0);
    assert!(outcomes.iter().all(|outcome| outcome.fate == Fate::Delivered));
    assert!(outcomes.is_sorted_by_key(|outcome| outcome.packet.id));
    // The packets of 1.00 to 1.03 s leave in the first slot behind the gap.
    let late = outcomes.iter().filter(|outcome| outcome.at == Instant::from_millis(1_035));
    assert_eq!(late.count(), 4);
}

#[test]
fn without_forwarding_the_old_cell_loses_what_it_holds() {
    let change = (Instant::from_secs(1), CellIndex(1));
    let config = NetworkConfig { forwards: false, ..street() };
    let arrivals: Vec<_> =
        (0..300).map(|_| (Instant::from_nanos(989_500_000), UserIndex(0), Direction::Down, 1_400)).collect();
    let mut network = Network::new(config, &[first(&[change])], At(250.0)).unwrap();
    let (outcomes, ..) = run(&mut network, &arrivals, Instant::from_secs(3));
    let lost = outcomes.iter().filter(|outcome| outcome.fate == Fate::Lost(LossCause::Handover)).count();
    let delivered = outcomes.iter().filter(|outcome| outcome.fate == Fate::Delivered).count();
    // Blocks of MCS 28 on 50 resource blocks: 4587 B in each of ten slots.
    assert_eq!((lost + delivered, delivered), (300, 10 * 4_587 / 1_405));
}

#[test]
fn a_terminal_beyond_all_cells_says_so_and_comes_back() {
    let mut config = street();
    for site in &mut config.sites {
        site.radio.power = PowerLevel(16.0);
        site.place.x += 3_000.0;
    }
    let mut network = Network::new(config, &[first(&[])], Road(50.0)).unwrap();
    let arrival = (Instant::from_secs(5), UserIndex(0), Direction::Down, 500);
    let (outcomes, events, _) = run(&mut network, &[arrival], Instant::from_secs(70));
    let changes: Vec<_> = events.iter().map(|event| event.change).collect();
    assert_eq!(
        changes[..2],
        [
            Change::Handover(HandoverEvent::Failed { cell: CellIndex(0) }),
            Change::Handover(HandoverEvent::Reestablished { cell: CellIndex(0) }),
        ]
    );
    // Qout for 200 ms, five more indications, and T310.
    assert_eq!(events[0].at, Instant::from_millis(1_250));
    assert_eq!(outcomes.len(), 1);
    assert!(outcomes[0].at > events[1].at && outcomes[0].fate == Fate::Delivered, "{outcomes:?}");
}

#[test]
fn neighbours_with_load_cost_the_rate_that_the_link_budget_says() {
    // Link A: the third of a neighbour's distance, full load, ns-3's rule.
    let rate = |load: f64| {
        let mut config = network(vec![site(0.0, ResourceBlocks(50)), site(500.0, ResourceBlocks(50))]);
        for site in &mut config.sites {
            site.radio.penetration = Decibels(20.0);
            site.cell.bearer.header = ByteCount::new(0);
            for adaptation in &mut site.cell.adaptation {
                adaptation.rule = SelectionRule::Ns3;
            }
        }
        config.sites[1].cell.load = load;
        let mut network = Network::new(config, &[first(&[])], At(150.0)).unwrap();
        let arrivals: Vec<_> =
            (0..4_000).map(|_| (Instant::from_millis(200), UserIndex(0), Direction::Down, 1_400)).collect();
        let (outcomes, ..) = run(&mut network, &arrivals, Instant::from_millis(1_200));
        outcomes.iter().filter(|outcome| outcome.fate == Fate::Delivered).count() as f64 * 1_400.0
    };
    // One neighbour at -70.957 dBm and noise at -95.458 leave 13.82 dB: MCS 14 or so; without it 38.34 dB.
    let (disturbed, alone) = (rate(1.0), rate(0.0));
    let expected = |sinr: f64| {
        let cell = site(0.0, ResourceBlocks(50)).cell;
        let mut adaptation = cell.adaptation[0];
        adaptation.rule = SelectionRule::Ns3;
        let mcs = adaptation.mcs(adaptation.cqi(Decibels(sinr)).unwrap());
        cell.sizes[0].size(mcs, ResourceBlocks(50), 14).as_f64() * 999.0
    };
    assert!((disturbed / expected(13.82) - 1.0).abs() < 0.005, "{disturbed}");
    assert!((alone / expected(38.33) - 1.0).abs() < 0.005, "{alone}");
}

/// Bytes a second that each of so many users of one MCS gets through the network, with full buffers.
fn shares(users: u32, mcs: u8, whole: f64) -> Vec<f64> {
    let mut one = site(0.0, ResourceBlocks(25));
    one.cell.groups.has_incomplete = false;
    one.cell.bearer.header = ByteCount::new(0);
    one.cell.bearer.queue.limit = ByteCount::new(20_000_000);
    for adaptation in &mut one.cell.adaptation {
        adaptation.rule = SelectionRule::Ns3;
    }
    let adaptation = one.cell.adaptation[0];
    let is_wanted =
        |sinr: &f64| adaptation.cqi(Decibels(*sinr)).is_some_and(|cqi| adaptation.mcs(cqi).0 == mcs);
    let wanted = (-20..400).map(|tenth| f64::from(tenth) / 10.0).find(is_wanted).unwrap() + 0.05;
    // 30 m from the site, in 4.5 MHz with a noise figure of 9 dB.
    let loss = 128.1 + 37.6 * libm::log10(0.03);
    one.radio.power = PowerLevel(wanted - 107.468 + 9.0 + loss) - one.radio.gain;
    let terminals: Vec<_> = (0..users).map(|_| first(&[])).collect();
    let mut network = Network::new(network(vec![one]), &terminals, Road(0.0)).unwrap();
    let packets = (whole * 6.6 / 250.0) as u32 / users;
    let arrivals: Vec<_> = (0..packets)
        .flat_map(|_| (0..users).map(|user| (Instant::ZERO, UserIndex(user), Direction::Down, 250)))
        .collect();
    let (outcomes, ..) = run(&mut network, &arrivals, Instant::from_secs(6));
    let of = |user| outcomes.iter().filter(move |outcome| outcome.user == UserIndex(user)).count();
    (0..users).map(|user| of(user) as f64 * 250.0 / 6.0).collect()
}

/// `scheduler-cells.csv`: ns-3's expectations of proportional fairness, whose test asks for 10 %.
#[test]
fn proportional_fairness_gives_the_shares_of_ns3_within_a_percent() {
    for (mcs, whole) in [(28, 2_196_000.0), (22, 1_383_000.0), (14, 775_000.0), (8, 421_000.0)] {
        for users in [1, 3, 6, 12, 15] {
            for share in shares(users, mcs, whole) {
                let expected = whole / f64::from(users);
                assert!((share / expected - 1.0).abs() < 0.01, "{users} of MCS {mcs}: {share} of {expected}");
            }
        }
    }
}

#[test]
fn background_users_make_the_load_that_they_are_to_make() {
    let mut config = street();
    config.sites[0].background = Some(Background {
        users: 10,
        radius: Metres(100.0),
        rate: DataRate::from_kilobits_per_second(400.0),
        size: ByteCount::new(50_000),
    });
    let mut network = Network::new(config, &[first(&[])], Road(0.0)).unwrap();
    run(&mut network, &[], Instant::from_secs(30));
    // 4 Mbit/s of the 36.7 Mbit/s of MCS 28 on 50 resource blocks; 30 s have about 2400 downloads.
    let used = network.cells()[0].used(Direction::Down) as f64 / (17.0 * 30_000.0);
    assert!((used / (4.0 / 36.7) - 1.0).abs() < 0.15, "{used}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Each packet has one outcome, those that are delivered are in order, and AM with forwarding loses none.
    #[test]
    fn each_packet_survives_handovers_or_is_lost_with_a_cause(
        mut arrivals in prop::collection::vec((0_u64..2_000, 0_u32..2, any::<bool>(), 1_u64..4_000), 1..150),
        mut times in prop::collection::vec((0_u64..2_000, 0_u32..3), 0..8),
        is_acknowledged in any::<bool>(),
        forwards in any::<bool>(),
        error in 0.0_f64..0.5,
    ) {
        let mut config = NetworkConfig { forwards, ..street() };
        for site in &mut config.sites {
            site.cell.harq.combining = Combining::Fixed([error, error, error / 2.0, error / 4.0]);
            if !is_acknowledged {
                site.cell.bearer.mode = Mode::Unacknowledged;
            }
        }
        arrivals.sort();
        times.sort();
        let planned: Vec<_> =
            times.iter().map(|(at, cell)| (Instant::from_millis(*at), CellIndex(*cell))).collect();
        let list: Vec<_> = arrivals
            .iter()
            .map(|(at, user, is_down, size)| {
                let direction = if *is_down { Direction::Down } else { Direction::Up };
                (Instant::from_millis(*at), UserIndex(*user), direction, *size)
            })
            .collect();
        let mut network = Network::new(config, &[first(&planned), first(&[])], Road(10.0)).unwrap();
        let (outcomes, ..) = run(&mut network, &list, Instant::from_secs(40));
        let mut ids: Vec<u64> = outcomes.iter().map(|outcome| outcome.packet.id.0).collect();
        ids.sort();
        prop_assert_eq!(ids, (0..list.len() as u64).collect::<Vec<_>>());
        for user in (0..2).map(UserIndex) {
            for direction in [Direction::Down, Direction::Up] {
                let own = outcomes.iter().filter(|outcome| (outcome.user, outcome.direction) == (user, direction));
                let mut delivered = own.filter(|outcome| outcome.fate == Fate::Delivered);
                prop_assert!(delivered.by_ref().is_sorted_by_key(|outcome| outcome.packet.id));
            }
        }
        if is_acknowledged && forwards {
            prop_assert!(outcomes.iter().all(|outcome| outcome.fate == Fate::Delivered));
        }
    }
}
