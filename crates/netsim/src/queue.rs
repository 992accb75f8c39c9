//! Queue disciplines: the order in which packets leave an egress, and which of them are dropped or marked.
//!
//! A link without a discipline is a drop-tail FIFO and needs no code from here: its departures are known
//! when packets arrive. Every other discipline decides when the transmitter becomes free, so the link asks
//! it for one packet at a time.
//!
//! The disciplines are pure machines over sizes, ECN codepoints and times. Each is checked against the
//! pseudo-code of its specification.

mod codel;
mod dualpi2;
mod fifo;
mod fq_codel;
mod pie;
mod priority;
mod red;

pub use codel::{CoDel, CoDelConfig};
pub use dualpi2::{DualPi2, DualPi2Config, QueueProtectionConfig};
pub use fifo::DropTail;
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use pie::{Pie, PieConfig};
pub use priority::PriorityQueue;
pub use red::{Red, RedConfig};

use core::fmt;

use whimbrel_units::Instant;

use crate::packets::PacketSlot;
use crate::random::{RandomStream, mix};
use crate::{Count, Ecn, FlowId, NodeId, QueueLimit};

/// A packet in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedPacket {
    /// Bytes on the link.
    pub size: u32,
    /// The ECN codepoint. A discipline marks a packet by setting it to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The flow that the packet belongs to.
    pub flow: FlowKey,
    /// Time of entry into the queue.
    pub arrival: Instant,
    /// The packet's slot in the packet store.
    pub(crate) slot: PacketSlot,
}

impl QueuedPacket {
    /// A packet outside a simulator, for tests and measurements of a discipline.
    pub fn new(arrival: Instant, size: u32, ecn: Ecn, flow: FlowKey) -> Self {
        Self { size, ecn, flow, arrival, slot: PacketSlot::NONE }
    }

    /// Marks the packet, if its transport understands marks. Returns whether the packet carries one now.
    pub fn mark(&mut self) -> bool {
        if self.ecn.is_capable() {
            self.ecn = Ecn::Ce;
        }
        self.ecn == Ecn::Ce
    }
}

/// The identity of a packet's flow to a router: the addresses and ports of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct FlowKey {
    /// The sending node.
    pub source: NodeId,
    /// The node to deliver to.
    pub destination: NodeId,
    /// The flow.
    pub flow: FlowId,
}

impl FlowKey {
    /// A hash that is the same in every run.
    pub(crate) fn hash(self) -> u64 {
        let addresses = u64::from(self.source.0) << 32 | u64::from(self.destination.0);
        mix(mix(addresses) ^ u64::from(self.flow.0))
    }
}

/// Reason for a drop by a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The queue was full.
    Overflow,
    /// Active queue management dropped the packet to signal congestion.
    Early,
}

/// The packets that a discipline has dropped in one call.
#[derive(Default, Debug)]
pub struct Drops(Vec<(QueuedPacket, DropReason)>);

impl Drops {
    /// Adds a dropped packet.
    pub fn push(&mut self, packet: QueuedPacket, reason: DropReason) {
        self.0.push((packet, reason));
    }

    /// Takes the dropped packets, in the order of addition.
    pub fn take(&mut self) -> Vec<(QueuedPacket, DropReason)> {
        core::mem::take(&mut self.0)
    }

    /// Keeps the memory of a list that [`take`](Self::take) returned.
    pub(crate) fn reuse(&mut self, mut taken: Vec<(QueuedPacket, DropReason)>) {
        if self.0.is_empty() {
            taken.clear();
            self.0 = taken;
        }
    }

    /// The dropped packets in the order of addition.
    pub fn iter(&self) -> impl Iterator<Item = &(QueuedPacket, DropReason)> {
        self.0.iter()
    }
}

/// A queue with its scheduler and its active queue management.
///
/// Every packet that enters leaves exactly once: from [`dequeue`](Self::dequeue), or as one of the `drops`.
/// Calls come in the order of time. A discipline with a periodic update runs the updates that have come
/// due at the beginning of each call, before it looks at the packet.
pub trait QueueDiscipline: Send {
    /// A packet arrives. It is queued or dropped; other packets may be dropped in its place.
    fn enqueue(&mut self, now: Instant, packet: QueuedPacket, drops: &mut Drops);

    /// The transmitter is free. Returns the packet to transmit, `None` if none is left.
    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<QueuedPacket>;

    /// Packets and bytes that wait.
    fn backlog(&self) -> Count;

    /// Gives up the packet that would leave last; `None` if the discipline cannot.
    fn evict(&mut self) -> Option<QueuedPacket> {
        None
    }

    /// Drops some packets, because others that share a limit with them need the room. Nothing if the
    /// discipline cannot.
    fn shed(&mut self, drops: &mut Drops) {
        let _ = drops;
    }

    /// Shows the packets that wait, in any order; none if the discipline cannot.
    fn visit(&self, show: &mut dyn FnMut(&QueuedPacket)) {
        let _ = show;
    }
}

/// A queue discipline as data.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Discipline {
    /// A FIFO that refuses what does not fit.
    #[default]
    DropTail,
    /// Random Early Detection.
    Red(RedConfig),
    /// Controlled Delay.
    CoDel(CoDelConfig),
    /// Flow queueing with CoDel.
    FqCoDel(FqCoDelConfig),
    /// Proportional Integral controller Enhanced.
    Pie(PieConfig),
    /// The dual-queue coupled AQM with a PI² controller.
    DualPi2(DualPi2Config),
    /// The packets of some flows first, and the others by a discipline of their own ([`PriorityQueue`]).
    Priority {
        /// The flows with priority.
        flows: Vec<FlowId>,
        /// The discipline of the others.
        rest: Box<Discipline>,
    },
}

impl Discipline {
    /// Builds the queue; `None` for drop-tail, which links implement themselves.
    ///
    /// `limit` bounds what waits, without the packet being transmitted. Only RED and PIE draw from `random`.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn build(
        &self,
        limit: QueueLimit,
        random: RandomStream,
    ) -> Result<Option<Box<dyn QueueDiscipline>>, DisciplineError> {
        Ok(match self {
            Self::DropTail => None,
            Self::Red(config) => Some(Box::new(Red::new(config, limit, random)?)),
            Self::CoDel(config) => Some(Box::new(CoDel::new(config, limit)?)),
            Self::FqCoDel(config) => Some(Box::new(FqCoDel::new(config, limit)?)),
            Self::Pie(config) => Some(Box::new(Pie::new(config, limit, random)?)),
            Self::DualPi2(config) => Some(Box::new(DualPi2::new(config, limit)?)),
            Self::Priority { flows, rest } => {
                let rest = rest.build(limit, random)?.unwrap_or_else(|| Box::new(DropTail::new(limit)));
                Some(Box::new(PriorityQueue::new(flows, limit, rest)))
            }
        })
    }

    /// `true` if the discipline draws random numbers.
    pub fn is_random(&self) -> bool {
        match self {
            Self::Red(_) | Self::Pie(_) => true,
            Self::Priority { rest, .. } => rest.is_random(),
            _ => false,
        }
    }
}

/// A parameter of a discipline that is out of range.
#[derive(Clone, PartialEq, Debug)]
pub struct DisciplineError {
    /// The parameter.
    pub parameter: &'static str,
    /// Its value.
    pub value: String,
    /// The permitted range.
    pub expected: &'static str,
}

impl DisciplineError {
    pub(crate) fn check(
        sound: bool,
        parameter: &'static str,
        value: &dyn fmt::Display,
        expected: &'static str,
    ) -> Result<(), Self> {
        if sound { Ok(()) } else { Err(Self { parameter, value: value.to_string(), expected }) }
    }
}

impl fmt::Display for DisciplineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}", self.parameter, self.value, self.expected)
    }
}

impl core::error::Error for DisciplineError {}

#[cfg(test)]
mod tests;
