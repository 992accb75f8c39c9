//! The parameters of a cell.

use whimbrel_units::{ByteCount, Duration};

use crate::amc::lte::{Direction, LteMcs};
use crate::amc::nr::{Allocation, Block};
use crate::amc::{Adaptation, Mcs, McsTable};
use crate::duplex::Duplex;
use crate::harq::{Combining, HarqTiming};
use crate::numerology::{Numerology, ResourceBlocks};
use crate::queue::QueueConfig;
use crate::radio::OuterLoop;
use crate::rlc::Mode;
use crate::rrc::RrcConfig;
use crate::scheduler::{Groups, Policy};
use crate::uplink::UplinkConfig;

/// The sizes of transport blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockSizes {
    /// LTE's table.
    Lte(LteMcs),
    /// NR's formula.
    Nr {
        /// The table of MCSs.
        table: McsTable,
        /// Symbols of a slot that are not for data.
        control: u32,
        /// Layers.
        layers: u32,
    },
}

impl BlockSizes {
    /// Bytes of a block on so many resource blocks, in a slot with so many symbols of its direction.
    pub fn size(&self, mcs: Mcs, blocks: ResourceBlocks, symbols: u32) -> ByteCount {
        match *self {
            Self::Lte(table) => table.block_size(mcs, blocks),
            Self::Nr { table, control, layers } => {
                let symbols = symbols.saturating_sub(control);
                let allocation = Allocation { blocks, symbols, reference: 12, layers };
                Block::new(allocation, table.scheme(mcs)).size()
            }
        }
    }
}

/// Parameters of the repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HarqConfig {
    /// Rounds.
    pub timing: HarqTiming,
    /// Combining of the transmissions of a block.
    pub combining: Combining,
    /// The most transmissions of a block.
    pub transmissions: u8,
    /// Processes of a terminal in one direction.
    pub processes: u8,
}

/// Parameters of a bearer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BearerConfig {
    /// The queue.
    pub queue: QueueConfig,
    /// The mode of RLC.
    pub mode: Mode,
    /// t-Reassembly (LTE's t-Reordering).
    pub reassembly: Duration,
    /// PDCP's t-Reordering; `None` where RLC keeps the order.
    pub reordering: Option<Duration>,
    /// Headers of a segment.
    pub header: ByteCount,
    /// From a status to its reading by the sender.
    pub status_delay: Duration,
}

/// Parameters of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct CellConfig {
    /// Spacing of subcarriers.
    pub numerology: Numerology,
    /// Downlink and uplink slots.
    pub duplex: Duplex,
    /// Resource blocks and their groups.
    pub groups: Groups,
    /// The scheduler of the downlink.
    pub down: Policy,
    /// The scheduler of the uplink.
    pub up: Policy,
    /// CQI and MCS of downlink and uplink.
    pub adaptation: [Adaptation; 2],
    /// Sizes of the blocks of downlink and uplink.
    pub sizes: [BlockSizes; 2],
    /// Repetitions.
    pub harq: HarqConfig,
    /// Bearers.
    pub bearer: BearerConfig,
    /// Grants of the uplink.
    pub uplink: UplinkConfig,
    /// States of the terminals; `None` for terminals that are always connected and awake.
    pub rrc: Option<RrcConfig>,
    /// Correction of reports by acknowledgements, with which terminals begin; `None` for none.
    pub outer_loop: Option<OuterLoop>,
    /// Share of the resource blocks that users outside the model have, from 0 to 1.
    pub load: f64,
}

impl CellConfig {
    pub(super) const fn sizes(&self, direction: Direction) -> &BlockSizes {
        &self.sizes[direction as usize]
    }
}
