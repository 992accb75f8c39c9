//! The sending half: blocks from the queue of a bearer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::{ByteCount, Instant};

use super::{Mode, Status};
use crate::packet::{Gap, Number, Packet, Segment};
use crate::queue::BearerQueue;

/// Content of a block, in addition to its segments.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Filled {
    /// Bytes in use, with headers.
    pub used: ByteCount,
    /// The block asks for a status.
    pub is_poll: bool,
}

/// A packet of AM that is not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unacknowledged {
    number: Number,
    packet: Packet,
    repetitions: u32,
}

/// The sending half of RLC.
#[derive(Clone, PartialEq, Debug)]
pub struct Sender {
    mode: Mode,
    /// Bytes of headers (PDCP, RLC and MAC) of each segment.
    header: u64,
    next: Number,
    /// The packet that the next block continues, with the bytes sent.
    current: Option<(Number, Packet, u64)>,
    unacknowledged: VecDeque<Unacknowledged>,
    missing: VecDeque<Gap>,
    /// The end of t-PollRetransmit, and the last packet that the poll asks about.
    poll: Option<(Instant, Number)>,
    has_failed: bool,
}

impl Sender {
    /// A sender that puts `header` bytes before each segment: 5 to 10 in practice.
    pub const fn new(mode: Mode, header: ByteCount) -> Self {
        Self {
            mode,
            header: header.as_u64(),
            next: Number(0),
            current: None,
            unacknowledged: VecDeque::new(),
            missing: VecDeque::new(),
            poll: None,
            has_failed: false,
        }
    }

    /// Bytes to be sent that are no longer in the queue.
    pub fn pending(&self) -> ByteCount {
        let rest = self.current.map_or(0, |(_, packet, sent)| packet.size.as_u64() - sent);
        let missing: u64 = self.missing.iter().map(|gap| self.length(gap)).sum();
        ByteCount::new(rest + missing)
    }

    fn length(&self, gap: &Gap) -> u64 {
        self.packet(gap.number).map_or(0, |packet| gap.to.min(packet.size.as_u64()).saturating_sub(gap.from))
    }

    fn packet(&self, number: Number) -> Option<Packet> {
        let place = self.unacknowledged.binary_search_by_key(&number, |sent| sent.number).ok()?;
        Some(self.unacknowledged[place].packet)
    }

    /// Fills a block of `room` bytes with repetitions first, then with packets of the queue.
    pub fn fill(
        &mut self,
        now: Instant,
        room: ByteCount,
        queue: &mut BearerQueue,
        segments: &mut Vec<Segment>,
    ) -> Filled {
        let mut rest = room.as_u64();
        while let Some(part) = self.next_part(now, queue).filter(|_| rest > self.header) {
            let room = rest - self.header;
            let to = part.to.min(part.from + room);
            self.advance(&part, to);
            rest -= self.header + (to - part.from);
            segments.push(Segment { to, ..part });
        }
        let used = ByteCount::new(room.as_u64() - rest);
        let is_poll = self.ask(now, used, queue);
        Filled { used, is_poll }
    }

    /// The next part, up to its packet's end.
    fn next_part(&mut self, now: Instant, queue: &mut BearerQueue) -> Option<Segment> {
        while let Some(gap) = self.missing.front().copied() {
            match self.packet(gap.number) {
                Some(packet) if gap.from < packet.size.as_u64() => {
                    let to = gap.to.min(packet.size.as_u64());
                    return Some(Segment { number: gap.number, packet, from: gap.from, to });
                }
                // Acknowledged in the meantime.
                _ => self.missing.pop_front(),
            };
        }
        if self.current.is_none() {
            let packet = queue.poll_packet(now)?;
            self.current = Some((self.next, packet, 0));
            self.next = self.next.next();
            if matches!(self.mode, Mode::Acknowledged { .. }) {
                let number = self.current?.0;
                self.unacknowledged.push_back(Unacknowledged { number, packet, repetitions: 0 });
            }
        }
        let (number, packet, sent) = self.current?;
        Some(Segment { number, packet, from: sent, to: packet.size.as_u64() })
    }

    /// Bytes of a part up to `to` are in a block.
    fn advance(&mut self, part: &Segment, to: u64) {
        if let Some(gap) = self.missing.front_mut() {
            if to < part.to {
                gap.from = to;
            } else {
                self.missing.pop_front();
            }
        } else {
            self.current = (to < part.to).then_some((part.number, part.packet, to));
        }
    }

    /// AM polls with the last block before it has nothing more to send (TS 38.322, Section 5.3.3.2).
    fn ask(&mut self, now: Instant, used: ByteCount, queue: &BearerQueue) -> bool {
        let Mode::Acknowledged { poll_retransmit, .. } = self.mode else { return false };
        let is_last = self.missing.is_empty() && self.current.is_none() && queue.is_empty();
        if used == ByteCount::new(0) || !is_last {
            return false;
        }
        let last = Number(self.next.0.saturating_sub(1));
        self.poll = Some((now + poll_retransmit, last));
        true
    }

    /// A status arrives.
    pub fn handle_status(&mut self, status: &Status) {
        let Mode::Acknowledged { repetitions, .. } = self.mode else { return };
        // A status of before the poll does not answer it.
        self.poll = self.poll.filter(|(_, last)| *last >= status.next);
        // Earlier requests are in this status, too, unless they have arrived.
        self.missing.clear();
        let mut gaps = status.gaps.iter().peekable();
        let (missing, has_failed) = (&mut self.missing, &mut self.has_failed);
        let current = self.current;
        self.unacknowledged.retain_mut(|sent| {
            let mut is_missing = sent.number >= status.next;
            while let Some(gap) = gaps.next_if(|gap| gap.number <= sent.number) {
                if gap.number < sent.number {
                    continue;
                }
                // The rest of the packet in progress is sent in any case.
                let limit =
                    current.filter(|(number, ..)| *number == gap.number).map_or(gap.to, |(.., sent)| sent);
                let gap = Gap { to: gap.to.min(limit), ..*gap };
                sent.repetitions += u32::from(!is_missing);
                is_missing = true;
                if gap.from < gap.to {
                    missing.push_back(gap);
                }
            }
            *has_failed |= sent.repetitions > repetitions;
            is_missing
        });
    }

    /// The status that a poll asked for has not come: the last packet is repeated, as a new poll.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Mode::Acknowledged { repetitions, poll_retransmit, .. } = self.mode else { return };
        let Some((_, number)) = self.poll.filter(|(deadline, _)| *deadline <= now) else { return };
        // The timer goes on: a status may arrive before the repetition is sent, and replace it.
        self.poll = (!self.unacknowledged.is_empty()).then_some((now + poll_retransmit, number));
        let is_idle = self.missing.is_empty() && self.current.is_none();
        if let Some(last) = self.unacknowledged.back_mut()
            && is_idle
        {
            last.repetitions += 1;
            self.has_failed |= last.repetitions > repetitions;
            self.missing.push_back(Gap { number: last.number, from: 0, to: u64::MAX });
        }
    }

    /// When a poll is repeated.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.poll.map(|(deadline, _)| deadline)
    }

    /// A packet was repeated too often: the radio link has failed.
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Another cell serves from now on, whose receiver [forgets](super::Receiver::reestablish) the parts of
    /// packets.
    ///
    /// With `forwarding` AM sends everything again that is not acknowledged, under its numbers. Without, and
    /// in UM, what was begun is lost. Returns the number of the next packet: the receiver has seen the end
    /// of all before it that are not repeated.
    pub fn reestablish(&mut self, forwarding: bool) -> Number {
        (self.current, self.poll) = (None, None);
        self.has_failed = false;
        self.missing.clear();
        if !forwarding {
            self.unacknowledged.clear();
        }
        for sent in &mut self.unacknowledged {
            sent.repetitions = 0;
            self.missing.push_back(Gap { number: sent.number, from: 0, to: u64::MAX });
        }
        self.unacknowledged.front().map_or(self.next, |sent| sent.number)
    }
}
