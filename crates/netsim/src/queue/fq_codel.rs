//! Flow queueing with CoDel (RFC 8290): each flow has a queue, served round robin with a byte quantum, and
//! CoDel controls the delay of each. Queues that have just become active are served first.

use std::collections::VecDeque;

use whimbrel_units::Instant;

use super::codel::{CoDelConfig, Law};
use super::fifo::Fifo;
use super::{DisciplineError, DropReason, Drops, FlowKey, QueueDiscipline, QueuedPacket};
use crate::{Count, QueueLimit};

/// The parameters of FQ-CoDel.
#[derive(Clone, PartialEq, Debug)]
pub struct FqCoDelConfig {
    /// CoDel's parameters. ECN is on by default, as in RFC 8290, Section 5.2.5.
    pub codel: CoDelConfig,
    /// The number of queues that flows are hashed into. Default 1024 (RFC 8290, Section 5.2.4).
    pub queues: u32,
    /// The bytes that a queue may send in its turn. Default 1514 (RFC 8290, Section 5.2.3).
    pub quantum: u32,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self { codel: CoDelConfig { ecn: true, ..CoDelConfig::default() }, queues: 1_024, quantum: 1_514 }
    }
}

/// At most this many packets of the longest queue are dropped above the limit (RFC 8290, Section 4.1).
const DROP_BATCH: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

struct Queue {
    fifo: Fifo,
    law: Law,
    /// The bytes that the queue may still send in this turn.
    credits: i64,
    list: List,
}

/// A queue for each flow, with CoDel.
pub struct FqCoDel {
    config: FqCoDelConfig,
    limit: QueueLimit,
    queues: Vec<Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    backlog: Count,
}

impl FqCoDel {
    /// An empty queue. `limit` bounds all flows together.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(config: &FqCoDelConfig, limit: QueueLimit) -> Result<Self, DisciplineError> {
        config.codel.check()?;
        let check = DisciplineError::check;
        check((1..=65_536).contains(&config.queues), "queues", &config.queues, "1 to 65536")?;
        check(config.quantum > 0, "quantum", &config.quantum, "above 0")?;
        let queue = |_| Queue { fifo: Fifo::default(), law: Law::default(), credits: 0, list: List::None };
        Ok(Self {
            config: config.clone(),
            limit,
            queues: (0..config.queues).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Count::default(),
        })
    }

    fn queue_of(&self, flow: FlowKey) -> u32 {
        (flow.hash() % u64::from(self.config.queues)) as u32
    }

    /// Drops half of the longest queue, from its head.
    #[cold]
    fn drop_from_longest(&mut self, drops: &mut Drops) {
        let longest = self.queues.iter_mut().max_by_key(|queue| queue.fifo.backlog().bytes);
        let Some(Queue { fifo, .. }) = longest else { return };
        let number = fifo.backlog().packets.div_ceil(2).min(DROP_BATCH);
        for packet in (0..number).map_while(|_| fifo.pop()) {
            self.backlog -= Count { packets: 1, bytes: u64::from(packet.size) };
            drops.push(packet, DropReason::Overflow);
        }
    }

    fn select(&self) -> Option<u32> {
        self.new.front().or(self.old.front()).copied()
    }

    /// Takes the selected queue off the head of its list.
    fn take_off(&mut self, index: u32) -> List {
        let list = core::mem::replace(&mut self.queues[index as usize].list, List::None);
        match list {
            List::New => self.new.pop_front(),
            List::Old => self.old.pop_front(),
            List::None => None,
        };
        list
    }

    fn append_to_old(&mut self, index: u32) {
        self.queues[index as usize].list = List::Old;
        self.old.push_back(index);
    }
}

impl QueueDiscipline for FqCoDel {
    fn enqueue(&mut self, _: Instant, packet: QueuedPacket, drops: &mut Drops) {
        let index = self.queue_of(packet.flow);
        let fits = self.limit.admits(self.backlog, packet.size);
        let queue = &mut self.queues[index as usize];
        queue.fifo.push(packet);
        self.backlog.add_packet(packet.size);
        if queue.list == List::None {
            queue.list = List::New;
            queue.credits = i64::from(self.config.quantum);
            self.new.push_back(index);
        }
        if !fits {
            self.drop_from_longest(drops);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<QueuedPacket> {
        loop {
            let index = self.select()?;
            let queue = &mut self.queues[index as usize];
            // A queue that has sent a quantum gives way. (The RFC's text says "negative", its parenthesis "at
            // least a quantum", which includes zero, as does Linux.)
            if queue.credits <= 0 {
                queue.credits += i64::from(self.config.quantum);
                self.take_off(index);
                self.append_to_old(index);
                continue;
            }
            let before = queue.fifo.backlog();
            let packet = queue.law.dequeue(now, &mut queue.fifo, &self.config.codel, drops);
            self.backlog -= before;
            self.backlog += queue.fifo.backlog();
            if let Some(packet) = packet {
                queue.credits -= i64::from(packet.size);
                return Some(packet);
            }
            // An empty new queue becomes an old one first: a flow cannot stay ahead by sending one packet at
            // a time.
            if self.take_off(index) == List::New {
                self.append_to_old(index);
            }
        }
    }

    fn backlog(&self) -> Count {
        self.backlog
    }

    fn shed(&mut self, drops: &mut Drops) {
        self.drop_from_longest(drops);
    }

    fn visit(&self, show: &mut dyn FnMut(&QueuedPacket)) {
        self.queues.iter().flat_map(|queue| queue.fifo.iter()).for_each(show);
    }
}

#[cfg(test)]
mod tests;
