//! The usual parameters of LTE and NR.

use whimbrel_units::{ByteCount, Duration};

use crate::amc::lte::{Direction, LteMcs};
use crate::amc::{Adaptation, McsTable, SelectionRule};
use crate::cell::{BearerConfig, BlockSizes, CellConfig, HarqConfig};
use crate::duplex::Duplex;
use crate::harq::{Combining, HarqTiming};
use crate::level::Decibels;
use crate::numerology::{Numerology, ResourceBlocks};
use crate::queue::QueueConfig;
use crate::radio::OuterLoop;
use crate::rlc::Mode;
use crate::rrc::RrcConfig;
use crate::scheduler::{Groups, Newcomer, Policy};
use crate::uplink::{Occasions, UplinkConfig};

/// Slots over which proportional fairness averages.
const MEMORY: f64 = 100.0;
/// The target of the outer loop, its step in dB and the limit of its margin.
const OUTER_LOOP: OuterLoop = OuterLoop::new(0.1, Decibels(0.1), Decibels(10.0));
/// Time between two requests of the uplink: the default of srsRAN.
const REQUESTS: Duration = Duration::from_millis(20);

/// A queue as operators have it: megabytes, and nothing that bounds the delay.
const QUEUE: QueueConfig = QueueConfig { limit: ByteCount::new(6_172_672), discard: None, marks: None };

const fn acknowledged(status_prohibit: Duration) -> Mode {
    Mode::Acknowledged { poll_retransmit: Duration::from_millis(80), status_prohibit, repetitions: 32 }
}

/// Slots of a time, one at least.
pub const fn slots(time: Duration, numerology: Numerology) -> u64 {
    let slots = time.as_nanos() / numerology.slot().as_nanos();
    if slots == 0 { 1 } else { slots }
}

impl CellConfig {
    /// LTE with FDD, proportional fairness, AM and 64QAM.
    pub fn lte(blocks: ResourceBlocks) -> Self {
        let tables = |direction| LteMcs { direction, table: McsTable::Qam64 };
        let both = [tables(Direction::Down), tables(Direction::Up)];
        Self {
            numerology: Numerology::KHZ_15,
            duplex: Duplex::Frequency,
            groups: Groups { blocks, size: blocks.lte_group().0, has_incomplete: true },
            down: Policy::ProportionalFair { memory: MEMORY, newcomer: Newcomer::Mean },
            up: Policy::RoundRobin { least: 1 },
            adaptation: both.map(|tables| Adaptation::lte(SelectionRule::TenPercent, tables)),
            sizes: both.map(BlockSizes::Lte),
            harq: HarqConfig {
                timing: HarqTiming::LTE,
                combining: Combining::Chase,
                transmissions: 4,
                processes: 8,
            },
            bearer: BearerConfig {
                queue: QUEUE,
                mode: acknowledged(Duration::from_millis(10)),
                reassembly: Duration::from_millis(50),
                reordering: None,
                header: ByteCount::new(5),
                status_delay: Duration::from_millis(5),
            },
            uplink: UplinkConfig {
                requests: Occasions { period: slots(REQUESTS, Numerology::KHZ_15), offset: 0 },
                station: 4,
                terminal: 4,
                first_grant: ByteCount::new(150),
                configured: None,
            },
            rrc: Some(RrcConfig::LTE),
            outer_loop: Some(OUTER_LOOP),
            load: 0.0,
        }
    }

    /// NR with proportional fairness, AM, 256QAM and two layers in the downlink.
    pub fn nr(numerology: Numerology, blocks: ResourceBlocks, duplex: Duplex) -> Self {
        // TS 38.214, Table 5.1.2.2.1-1, configuration 1.
        let size = match blocks.0 {
            0..=36 => 2,
            37..=72 => 4,
            73..=144 => 8,
            _ => 16,
        };
        let sizes = |layers| BlockSizes::Nr { table: McsTable::Qam256, control: 2, layers };
        let lte = Self::lte(blocks);
        Self {
            numerology,
            duplex,
            groups: Groups { blocks, size, has_incomplete: true },
            adaptation: [Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam256); 2],
            sizes: [sizes(2), sizes(1)],
            harq: HarqConfig { timing: HarqTiming { feedback: 4, processing: 3 }, processes: 16, ..lte.harq },
            bearer: BearerConfig {
                reassembly: Duration::from_millis(40),
                reordering: Some(Duration::from_millis(220)),
                ..lte.bearer
            },
            uplink: UplinkConfig {
                requests: Occasions { period: slots(REQUESTS, numerology), offset: 0 },
                station: 3,
                terminal: 3,
                ..lte.uplink
            },
            rrc: Some(RrcConfig::NR),
            ..lte
        }
    }
}
