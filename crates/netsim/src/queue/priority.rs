//! Packets of some flows before all others.

use whimbrel_units::Instant;

use super::fifo::Fifo;
use super::{DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::{Count, FlowId, QueueLimit};

/// A queue in which the packets of some flows, such as a routing protocol's, precede all others.
///
/// The limit applies to both together. In a full queue a packet with priority takes the place of the one
/// without that would leave last, if the discipline of these can give one up ([`QueueDiscipline::evict`]).
/// ns-2's `Queue/DropTail/PriQueue` has the same rules, except that there a packet with priority precedes
/// those with priority that wait already.
pub struct PriorityQueue {
    flows: Vec<FlowId>,
    limit: QueueLimit,
    urgent: Fifo,
    rest: Box<dyn QueueDiscipline>,
}

impl PriorityQueue {
    /// A queue that gives priority to the packets of `flows`; the others are in `rest`.
    pub fn new(flows: &[FlowId], limit: QueueLimit, rest: Box<dyn QueueDiscipline>) -> Self {
        let mut flows = flows.to_vec();
        flows.sort_unstable();
        Self { flows, limit, urgent: Fifo::default(), rest }
    }

    fn admits(&self, size: u32) -> bool {
        self.limit.admits(self.backlog(), size)
    }
}

impl QueueDiscipline for PriorityQueue {
    fn enqueue(&mut self, now: Instant, packet: QueuedPacket, drops: &mut Drops) {
        let is_urgent = self.flows.binary_search(&packet.flow.flow).is_ok();
        if is_urgent {
            while !self.admits(packet.size)
                && let Some(evicted) = self.rest.evict()
            {
                drops.push(evicted, DropReason::Overflow);
            }
        }
        if !self.admits(packet.size) {
            drops.push(packet, DropReason::Overflow);
        } else if is_urgent {
            self.urgent.push(packet);
        } else {
            self.rest.enqueue(now, packet, drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<QueuedPacket> {
        self.urgent.pop().or_else(|| self.rest.dequeue(now, drops))
    }

    fn backlog(&self) -> Count {
        let mut backlog = self.urgent.backlog();
        backlog += self.rest.backlog();
        backlog
    }
}

#[cfg(test)]
mod tests;
