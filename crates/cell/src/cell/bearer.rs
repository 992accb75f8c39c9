//! A bearer in one direction: queue, RLC, HARQ and order, and the fate of each packet.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::config::CellConfig;
use crate::amc::lte::Direction;
use crate::harq::{Harq, Outcome};
use crate::level::Decibels;
use crate::packet::{Number, Packet, Segment};
use crate::pdcp::Reordering;
use crate::queue::{BearerQueue, QueueDrop};
use crate::rlc::{Mode, Receiver, Sender, Status};

/// A transport block.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    pub(super) segments: Vec<Segment>,
    pub(super) is_poll: bool,
    /// Groups of resource blocks, which a repetition needs, too.
    pub(super) groups: u16,
    /// The ratio at which 10 % of its kind fail.
    pub(super) needed: Decibels,
}

/// Cause of a loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LossCause {
    /// The queue was full, or its management dropped the packet.
    Queue,
    /// The discard timer of PDCP has expired.
    Discard,
    /// All transmissions of a block failed, and UM does not repeat.
    Harq,
    /// RLC has given up waiting.
    Rlc,
    /// PDCP has not waited for the packet.
    Order,
    /// The terminal has left the cell that had the packet, and nothing forwards or repeats it.
    Handover,
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet was delivered.
    Delivered,
    /// The packet was lost.
    Lost(LossCause),
}

/// A bearer.
#[derive(Debug)]
pub(super) struct Bearer {
    mode: Mode,
    status_delay: Duration,
    pub(super) queue: BearerQueue,
    pub(super) sender: Sender,
    pub(super) harq: Harq<Block>,
    receiver: Receiver,
    order: Reordering,
    statuses: VecDeque<(Instant, Status)>,
    /// Packets whose fate is open, with their numbers.
    open: VecDeque<(Number, Packet)>,
    pub(super) fates: VecDeque<(Packet, Fate)>,
    /// From when on packets can be sent: a terminal may have to wake up, or to connect.
    pub(super) ready_at: Instant,
}

impl Bearer {
    pub(super) fn new(config: &CellConfig, direction: Direction, seed: u64) -> Self {
        let (bearer, harq) = (&config.bearer, config.harq);
        Self {
            mode: bearer.mode,
            status_delay: bearer.status_delay,
            queue: BearerQueue::new(bearer.queue, seed),
            sender: Sender::new(bearer.mode, bearer.header),
            harq: Harq::new(direction, harq.timing, harq.combining, harq.transmissions, harq.processes),
            receiver: Receiver::new(bearer.mode, bearer.reassembly),
            order: Reordering::new(bearer.reordering),
            statuses: VecDeque::new(),
            open: VecDeque::new(),
            fates: VecDeque::new(),
            ready_at: Instant::ZERO,
        }
    }

    /// Bytes to be sent.
    pub(super) fn backlog(&self) -> ByteCount {
        self.queue.bytes() + self.sender.pending()
    }

    /// Fills a block.
    pub(super) fn fill(&mut self, now: Instant, room: ByteCount, segments: &mut Vec<Segment>) -> bool {
        let filled = self.sender.fill(now, room, &mut self.queue, segments);
        for segment in segments.iter() {
            if self.open.back().is_none_or(|(last, _)| *last < segment.number) && segment.from == 0 {
                self.open.push_back((segment.number, segment.packet));
            }
        }
        filled.is_poll
    }

    /// A block has arrived, or was given up. Gives its empty list back, for the next block.
    pub(super) fn handle_outcome(&mut self, now: Instant, outcome: Outcome<Block>) -> Vec<Segment> {
        let mut segments = match outcome {
            Outcome::Received { block, .. } => {
                self.receiver.handle_block(now, &block.segments, block.is_poll);
                block.segments
            }
            Outcome::GivenUp { block } => {
                if self.mode == Mode::Unacknowledged {
                    for segment in &block.segments {
                        self.close(segment.number, Fate::Lost(LossCause::Harq));
                    }
                }
                block.segments
            }
        };
        segments.clear();
        segments
    }

    /// Another cell serves from now on. With `forwards` it gets what waits and what AM has not seen
    /// acknowledged. The queue of the uplink is the terminal's own and stays in any case.
    pub(super) fn change_cell(
        &mut self,
        now: Instant,
        config: &CellConfig,
        direction: Direction,
        forwards: bool,
    ) {
        let harq = config.harq;
        self.harq = Harq::new(direction, harq.timing, harq.combining, harq.transmissions, harq.processes);
        self.statuses.clear();
        if !forwards && direction == Direction::Down {
            self.queue.clear(now);
        }
        self.reestablish(forwards);
        self.release(now, LossCause::Handover);
    }

    /// RLC begins anew after a report of PDCP. Without the report a busy bearer would repeat everything since
    /// its last status, which may be seconds old, before the packets that are missing.
    fn reestablish(&mut self, forwards: bool) {
        self.sender.handle_status(&self.receiver.report());
        self.receiver.reestablish(self.sender.reestablish(forwards));
    }

    /// Ends the wait for a packet's fate, once.
    fn close(&mut self, number: Number, fate: Fate) {
        if let Ok(place) = self.open.binary_search_by_key(&number, |(number, _)| *number)
            && let Some((_, packet)) = self.open.remove(place)
        {
            self.fates.push_back((packet, fate));
        }
    }

    /// Timers, statuses, and what they release.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.queue.handle_timeout(now);
        while let Some((packet, drop)) = self.queue.poll_drop() {
            let cause = match drop {
                QueueDrop::Full | QueueDrop::Early => LossCause::Queue,
                QueueDrop::Discarded => LossCause::Discard,
                QueueDrop::Left => LossCause::Handover,
            };
            self.fates.push_back((packet, Fate::Lost(cause)));
        }
        while self.statuses.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, status)) = self.statuses.pop_front() else { break };
            self.sender.handle_status(&status);
        }
        self.sender.handle_timeout(now);
        if self.sender.has_failed() {
            // The terminal connects again to the same cell.
            self.reestablish(true);
        }
        self.receiver.handle_timeout(now);
        if let Some(status) = self.receiver.poll_status(now) {
            self.statuses.push_back((now + self.status_delay, status));
        }
        self.release(now, LossCause::Rlc);
    }

    /// Puts what RLC has completed or given up in order, and closes what leaves.
    fn release(&mut self, now: Instant, given_up: LossCause) {
        while let Some((number, packet)) = self.receiver.poll_packet() {
            if self.order.handle_packet(now, number, packet).is_err() {
                self.close(number, Fate::Lost(LossCause::Order));
            }
        }
        while let Some(number) = self.receiver.poll_given_up() {
            self.order.handle_given_up(now, number);
            self.close(number, Fate::Lost(given_up));
        }
        self.order.handle_timeout(now);
        while let Some((number, _)) = self.order.poll_packet() {
            self.close(number, Fate::Delivered);
        }
    }

    /// The next deadline of a timer.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let status = self.statuses.front().map(|(due, _)| *due);
        [
            self.queue.poll_timeout(),
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
            self.order.poll_timeout(),
            status,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
