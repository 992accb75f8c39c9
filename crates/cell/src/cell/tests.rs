use std::vec::Vec;

use proptest::prelude::*;
use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use super::{
    BearerConfig, BlockSizes, Cell, CellConfig, Channel, Fate, HarqConfig, LossCause, PacketOutcome,
};
use crate::amc::lte::{Direction, LteMcs};
use crate::amc::{Adaptation, McsTable, SelectionRule};
use crate::duplex::{Duplex, Pattern, SpecialSlot};
use crate::harq::{Combining, HarqTiming};
use crate::level::Decibels;
use crate::numerology::{Numerology, ResourceBlocks};
use crate::packet::{Packet, PacketId};
use crate::queue::QueueConfig;
use crate::rlc::Mode;
use crate::rrc::RrcConfig;
use crate::scheduler::{Groups, Newcomer, Policy, UserIndex};
use crate::uplink::{Occasions, UplinkConfig};

const MS: Duration = Duration::from_millis(1);
const AM: Mode =
    Mode::Acknowledged { poll_retransmit: Duration::from_millis(80), status_prohibit: MS, repetitions: 32 };

/// The same ratio for all, at all times.
struct Constant(f64);

impl Channel for Constant {
    fn sinr(&mut self, _: Instant, _: UserIndex, _: Direction) -> Decibels {
        Decibels(self.0)
    }

    fn reported(&mut self, now: Instant, user: UserIndex, direction: Direction) -> Decibels {
        self.sinr(now, user, direction)
    }
}

fn bearer(mode: Mode) -> BearerConfig {
    BearerConfig {
        queue: QueueConfig { limit: ByteCount::new(6_000_000), discard: None, marks: None },
        mode,
        reassembly: MS * 35,
        reordering: None,
        header: ByteCount::new(5),
        status_delay: MS * 5,
    }
}

/// LTE on 5 MHz.
fn lte(mode: Mode, combining: Combining) -> CellConfig {
    let tables = |direction| LteMcs { direction, table: McsTable::Qam64 };
    let (down, up) = (tables(Direction::Down), tables(Direction::Up));
    CellConfig {
        numerology: Numerology::KHZ_15,
        duplex: Duplex::Frequency,
        groups: Groups { blocks: ResourceBlocks(25), size: 2, has_incomplete: false },
        down: Policy::ProportionalFair { memory: 100.0, newcomer: Newcomer::Mean },
        up: Policy::RoundRobin { least: 2 },
        adaptation: [down, up].map(|tables| Adaptation::lte(SelectionRule::TenPercent, tables)),
        sizes: [down, up].map(BlockSizes::Lte),
        harq: HarqConfig { timing: HarqTiming::LTE, combining, transmissions: 4, processes: 8 },
        bearer: bearer(mode),
        uplink: UplinkConfig {
            requests: Occasions { period: 10, offset: 2 },
            station: 4,
            terminal: 4,
            first_grant: ByteCount::new(150),
            configured: None,
        },
        rrc: None,
        outer_loop: None,
        load: 0.0,
    }
}

/// NR on 20 MHz, `DDDSU`.
fn nr(mode: Mode, combining: Combining) -> CellConfig {
    let duplex = Duplex::Time(Pattern::new("DDDSU", SpecialSlot { down: 10, gap: 2 }).unwrap());
    let mut config = lte(mode, combining);
    config.numerology = Numerology::KHZ_30;
    config.duplex = duplex;
    config.groups = Groups { blocks: ResourceBlocks(51), size: 4, has_incomplete: true };
    config.adaptation = [Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam256); 2];
    config.sizes = [BlockSizes::Nr { table: McsTable::Qam256, control: 2, layers: 1 }; 2];
    config.harq.timing = HarqTiming { feedback: 2, processing: 3 };
    config.harq.processes = 16;
    config.uplink.station = 3;
    config.uplink.terminal = 3;
    config.bearer.reordering = Some(MS * 220);
    config
}

fn packet(id: u64, size: u64) -> Packet {
    Packet { id: PacketId(id), size: ByteCount::new(size), ecn: Ecn::NotEct }
}

/// A packet's arrival: microseconds, terminal, direction, bytes.
type Arrival = (u64, u32, Direction, u64);

/// Runs a cell of so many terminals over packets, which are numbered in this order. Returns the outcomes and
/// the number of wake-ups.
fn run(
    config: CellConfig,
    users: u32,
    arrivals: &[Arrival],
    channel: &mut impl Channel,
) -> (Vec<PacketOutcome>, u64) {
    let mut cell = Cell::new(config, 7);
    for _ in 0..users {
        cell.add_terminal();
    }
    let mut waiting = arrivals.iter().enumerate().peekable();
    let (mut outcomes, mut wakes) = (Vec::new(), 0);
    let end = Instant::from_secs(60);
    loop {
        let arrival = waiting.peek().map(|(_, arrival)| Instant::ZERO + Duration::from_micros(arrival.0));
        let deadline = cell.poll_timeout();
        let Some(now) = arrival.into_iter().chain(deadline).min().filter(|now| *now < end) else { break };
        if deadline.is_some_and(|deadline| deadline <= now) {
            cell.handle_timeout(now, channel);
            wakes += 1;
            assert!(cell.poll_timeout().is_none_or(|next| next > now), "no progress at {now}");
        } else if let Some((id, (_, user, direction, size))) = waiting.next() {
            cell.handle_packet(now, UserIndex(*user), *direction, packet(id as u64, *size));
        }
        outcomes.extend(core::iter::from_fn(|| cell.poll_outcome()));
    }
    for user in (0..users).map(UserIndex) {
        for direction in [Direction::Down, Direction::Up] {
            assert_eq!(cell.backlog(user, direction), ByteCount::new(0));
        }
    }
    (outcomes, wakes)
}

const NO_ERRORS: Combining = Combining::Fixed([0.0; 4]);

#[test]
fn a_lone_packet_takes_a_slot_down_and_a_grant_up() {
    let arrivals = [(0, 0, Direction::Down, 100), (20_000, 0, Direction::Up, 100)];
    let (outcomes, wakes) = run(lte(AM, NO_ERRORS), 1, &arrivals, &mut Constant(20.0));
    let at: Vec<Instant> = outcomes.iter().map(|outcome| outcome.at).collect();
    // Up: the request in slot 22, the block in slot 30.
    assert_eq!(at, [Instant::from_millis(1), Instant::from_millis(31)]);
    assert!(wakes < 20, "{wakes} wake-ups in a second of silence");
}

#[test]
fn small_packets_of_several_terminals_share_a_slot() {
    let arrivals: Vec<Arrival> = (0..4).map(|user| (500, user, Direction::Down, 200)).collect();
    let (outcomes, _) = run(lte(AM, NO_ERRORS), 4, &arrivals, &mut Constant(20.0));
    assert_eq!(outcomes.len(), 4);
    assert!(outcomes.iter().all(|outcome| outcome.at == Instant::from_millis(2)), "{outcomes:?}");
}

#[test]
fn a_saturated_cell_has_the_rate_of_its_blocks() {
    let arrivals: Vec<Arrival> = (0..4_000).map(|id| (0, id % 4, Direction::Down, 1_000)).collect();
    for (combining, share) in [(NO_ERRORS, 1.0), (Combining::Fixed([0.1; 4]), 0.9)] {
        let (outcomes, _) = run(lte(AM, combining), 4, &arrivals, &mut Constant(30.0));
        let until = Instant::from_millis(1_500);
        let arrived = outcomes.iter().filter(|outcome| outcome.at <= until).count();
        // MCS 28 on 24 resource blocks: 2196 B a millisecond, of which headers take a percent.
        let rate = arrived as f64 * 1_000.0 / 1.5 / 2_196_000.0 / share;
        let bounds = if share == 1.0 { 0.990..0.998 } else { 0.97..1.02 };
        assert!(bounds.contains(&rate), "{rate} of the blocks");
    }
}

#[test]
fn a_released_terminal_waits_for_its_connection() {
    let config = CellConfig { rrc: Some(RrcConfig::LTE), ..lte(AM, NO_ERRORS) };
    let arrivals = [(100_000, 0, Direction::Down, 100), (1_600_000, 0, Direction::Down, 100)];
    let (outcomes, _) = run(config, 1, &arrivals, &mut Constant(20.0));
    let at: Vec<Instant> = outcomes.iter().map(|outcome| outcome.at).collect();
    // The page at 1280 ms, the promotion until 1570 ms; then the terminal is awake.
    assert_eq!(at, [Instant::from_millis(1_571), Instant::from_millis(1_601)]);
}

#[test]
fn losses_have_their_causes() {
    let arrivals: Vec<Arrival> = (0..200).map(|id| (id * 1_000, 0, Direction::Down, 500)).collect();
    let causes = |config, sinr| -> Vec<LossCause> {
        let (outcomes, _) = run(config, 1, &arrivals, &mut Constant(sinr));
        let mut found: Vec<LossCause> = outcomes
            .iter()
            .filter_map(|outcome| match outcome.fate {
                Fate::Lost(cause) => Some(cause),
                Fate::Delivered => None,
            })
            .collect();
        found.sort();
        found.dedup();
        found
    };
    let unacknowledged = |errors| lte(Mode::Unacknowledged, Combining::Fixed(errors));
    assert_eq!(causes(unacknowledged([0.5; 4]), 20.0), [LossCause::Harq]);
    let mut small = unacknowledged([0.0; 4]);
    small.bearer.queue.limit = ByteCount::new(1_000);
    small.bearer.queue.discard = Some(MS * 3);
    assert_eq!(causes(small, -6.0), [LossCause::Queue, LossCause::Discard]);
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let direction = prop_oneof![Just(Direction::Down), Just(Direction::Up)];
    let one = (0_u64..400_000, 0_u32..3, direction, 1_u64..4_000);
    prop::collection::vec(one, 1..120).prop_map(|mut list| {
        list.sort();
        list
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Each packet has one outcome, those that are delivered are in order, and AM loses none.
    #[test]
    fn each_packet_is_delivered_once_in_order_or_lost_with_a_cause(
        arrivals in arrivals(),
        is_nr in any::<bool>(),
        is_acknowledged in any::<bool>(),
        error in 0.0_f64..0.5,
        sinr in -3.0_f64..30.0,
    ) {
        let mode = if is_acknowledged { AM } else { Mode::Unacknowledged };
        let combining = Combining::Fixed([error, error, error / 2.0, error / 4.0]);
        let config = if is_nr { nr(mode, combining) } else { lte(mode, combining) };
        let (outcomes, _) = run(config, 3, &arrivals, &mut Constant(sinr));
        let mut ids: Vec<u64> = outcomes.iter().map(|outcome| outcome.packet.id.0).collect();
        ids.sort();
        prop_assert_eq!(ids, (0..arrivals.len() as u64).collect::<Vec<_>>());
        for user in (0..3).map(UserIndex) {
            for direction in [Direction::Down, Direction::Up] {
                let own = outcomes.iter().filter(|outcome| (outcome.user, outcome.direction) == (user, direction));
                let delivered: Vec<u64> = own
                    .filter(|outcome| outcome.fate == Fate::Delivered)
                    .map(|outcome| outcome.packet.id.0)
                    .collect();
                prop_assert!(delivered.is_sorted(), "{delivered:?}");
            }
        }
        if is_acknowledged {
            prop_assert!(outcomes.iter().all(|outcome| outcome.fate == Fate::Delivered));
        }
    }
}
