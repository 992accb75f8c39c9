//! The receiving half: packets from their parts.

use alloc::collections::VecDeque;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::{Mode, Status};
use crate::packet::{Gap, Number, Packet, Segment};

/// Ranges of bytes, in order and apart.
type Ranges = SmallVec<[(u64, u64); 2]>;

/// A packet from `next` on.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    /// Nothing has arrived.
    Missing,
    /// These bytes of a packet of this size have arrived.
    Partial(Ranges, u64),
    /// The packet has arrived, or was given up.
    Done,
}

/// The receiving half of RLC.
#[derive(Clone, PartialEq, Debug)]
pub struct Receiver {
    mode: Mode,
    reassembly: Duration,
    /// The first packet that is neither complete nor given up.
    next: Number,
    /// The packets from `next` on, up to the last of which something has arrived.
    entries: VecDeque<Entry>,
    /// The end of t-Reassembly, and the number up to which it is decided then.
    timer: Option<(Instant, Number)>,
    /// AM: packets that a status covers: all before this number.
    known: Number,
    /// The last packet of a poll, which the status must cover.
    polled: Option<Number>,
    wants_status: bool,
    /// The end of t-StatusProhibit.
    prohibited_until: Instant,
    complete: VecDeque<(Number, Packet)>,
    given_up: VecDeque<Number>,
}

impl Receiver {
    /// A receiver with this t-Reassembly.
    pub const fn new(mode: Mode, reassembly: Duration) -> Self {
        Self {
            mode,
            reassembly,
            next: Number(0),
            entries: VecDeque::new(),
            timer: None,
            known: Number(0),
            polled: None,
            wants_status: false,
            prohibited_until: Instant::ZERO,
            complete: VecDeque::new(),
            given_up: VecDeque::new(),
        }
    }

    /// A block arrives.
    pub fn handle_block(&mut self, now: Instant, segments: &[Segment], is_poll: bool) {
        for segment in segments {
            self.take(segment);
        }
        self.advance();
        if is_poll && let Some(last) = segments.iter().map(|segment| segment.number).max() {
            self.polled = self.polled.max(Some(last));
        }
        self.answer_poll();
        self.run_timer(now);
    }

    fn take(&mut self, segment: &Segment) {
        let Some(place) = segment.number.0.checked_sub(self.next.0) else { return };
        let place = place as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, Entry::Missing);
        }
        let entry = &mut self.entries[place];
        let mut ranges = match entry {
            Entry::Done => return,
            Entry::Missing => Ranges::new(),
            Entry::Partial(ranges, _) => core::mem::take(ranges),
        };
        insert(&mut ranges, (segment.from, segment.to));
        let size = segment.packet.size.as_u64();
        *entry = if ranges[..] == [(0, size)] {
            self.complete.push_back((segment.number, segment.packet));
            Entry::Done
        } else {
            Entry::Partial(ranges, size)
        };
    }

    /// A poll is answered once the receiver knows about its last packet, at the end of t-Reassembly at the
    /// latest (TS 38.322, Section 5.3.4).
    fn answer_poll(&mut self) {
        if self.polled.is_some_and(|last| last < self.known) {
            self.polled = None;
            self.wants_status = matches!(self.mode, Mode::Acknowledged { .. });
        }
    }

    /// Forgets the packets at the beginning that are done.
    fn advance(&mut self) {
        while self.entries.front() == Some(&Entry::Done) {
            self.entries.pop_front();
            self.next = self.next.next();
        }
        let is_done =
            |entries: &VecDeque<Entry>, place: u64| entries.get(place as usize) == Some(&Entry::Done);
        self.known = self.known.max(self.next);
        while is_done(&self.entries, self.known.0 - self.next.0) {
            self.known = self.known.next();
        }
    }

    /// The number after the last packet of which something has arrived.
    fn end(&self) -> Number {
        Number(self.next.0 + self.entries.len() as u64)
    }

    /// `true` if bytes are missing before the last that has arrived, from `first` on.
    fn has_gap(&self, first: Number) -> bool {
        let skipped = first.0.saturating_sub(self.next.0) as usize;
        let Some(last) = self.entries.len().checked_sub(1) else { return false };
        self.entries.iter().enumerate().skip(skipped).any(|(place, entry)| match entry {
            Entry::Done => false,
            Entry::Missing => true,
            Entry::Partial(ranges, _) => place < last || ranges.len() > 1 || ranges[0].0 > 0,
        })
    }

    /// Stops t-Reassembly if what it waited for has arrived, and starts it at a new gap (TS 38.322,
    /// 5.2.2.2.3).
    fn run_timer(&mut self, now: Instant) {
        if let Some((_, until)) = self.timer {
            let place = until.0.saturating_sub(self.next.0) as usize;
            let is_open = self.entries.iter().take(place).any(|entry| *entry != Entry::Done);
            if !is_open {
                self.timer = None;
            }
        }
        let first = if self.mode == Mode::Unacknowledged { self.next } else { self.known };
        if self.timer.is_none() && self.has_gap(first) {
            self.timer = Some((now + self.reassembly, self.end()));
        }
    }

    /// t-Reassembly ends: UM gives up what is missing, AM asks for it.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some((deadline, until)) = self.timer else { return };
        if now < deadline {
            return;
        }
        self.timer = None;
        let count = until.0.saturating_sub(self.next.0) as usize;
        if self.mode == Mode::Unacknowledged {
            for (place, entry) in self.entries.iter_mut().take(count).enumerate() {
                if *entry != Entry::Done {
                    *entry = Entry::Done;
                    self.given_up.push_back(Number(self.next.0 + place as u64));
                }
            }
        } else {
            self.known = self.known.max(until);
            self.wants_status = true;
        }
        self.advance();
        self.answer_poll();
        self.run_timer(now);
    }

    /// PDCP's report to another cell (TS 36.323, Section 5.4): packets that have arrived whole are not
    /// repeated.
    pub fn report(&self) -> Status {
        let mut report = Status { next: self.end(), ..Status::default() };
        for (place, _) in self.entries.iter().enumerate().filter(|(_, entry)| **entry != Entry::Done) {
            report.gaps.push(Gap { number: Number(self.next.0 + place as u64), from: 0, to: u64::MAX });
        }
        report
    }

    /// Another cell serves from now on: parts of packets are forgotten, complete ones are not. Packets
    /// before `until`, the [sender's](super::Sender::reestablish) number, will not be repeated, and are
    /// given up.
    pub fn reestablish(&mut self, until: Number) {
        for entry in &mut self.entries {
            if matches!(entry, Entry::Partial(..)) {
                *entry = Entry::Missing;
            }
        }
        let count = until.0.saturating_sub(self.next.0) as usize;
        if self.entries.len() < count {
            self.entries.resize(count, Entry::Missing);
        }
        for (place, entry) in self.entries.iter_mut().take(count).enumerate() {
            if *entry == Entry::Missing {
                *entry = Entry::Done;
                self.given_up.push_back(Number(self.next.0 + place as u64));
            }
        }
        (self.timer, self.polled, self.wants_status) = (None, None, false);
        self.known = self.next;
        self.advance();
    }

    /// The end of t-Reassembly, or of t-StatusProhibit if a status is wanted.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let status = self.wants_status.then_some(self.prohibited_until);
        let timer = self.timer.map(|(deadline, _)| deadline);
        status.into_iter().chain(timer).min()
    }

    /// The status that is due.
    pub fn poll_status(&mut self, now: Instant) -> Option<Status> {
        let Mode::Acknowledged { status_prohibit, .. } = self.mode else { return None };
        if !self.wants_status || now < self.prohibited_until {
            return None;
        }
        (self.wants_status, self.polled) = (false, self.polled.filter(|last| *last >= self.known));
        self.prohibited_until = now + status_prohibit;
        let mut status = Status { next: self.known, ..Status::default() };
        let count = self.known.0.saturating_sub(self.next.0) as usize;
        for (place, entry) in self.entries.iter().take(count).enumerate() {
            let number = Number(self.next.0 + place as u64);
            let mut from = 0;
            let (ranges, size) = match entry {
                Entry::Done => continue,
                Entry::Missing => (&[][..], u64::MAX),
                Entry::Partial(ranges, size) => (&ranges[..], *size),
            };
            for range in ranges {
                if range.0 > from {
                    status.gaps.push(Gap { number, from, to: range.0 });
                }
                from = range.1;
            }
            if from < size {
                // The size is known with the last segment only.
                status.gaps.push(Gap { number, from, to: u64::MAX });
            }
        }
        Some(status)
    }

    /// The next packet that is complete, with its place in the order.
    pub fn poll_packet(&mut self) -> Option<(Number, Packet)> {
        self.complete.pop_front()
    }

    /// The next packet that was given up.
    pub fn poll_given_up(&mut self) -> Option<Number> {
        self.given_up.pop_front()
    }
}

/// Adds a range, and joins those that touch.
fn insert(ranges: &mut Ranges, (mut from, mut to): (u64, u64)) {
    ranges.retain(|range| {
        let is_apart = range.1 < from || to < range.0;
        if !is_apart {
            (from, to) = (from.min(range.0), to.max(range.1));
        }
        is_apart
    });
    let place = ranges.partition_point(|range| range.0 < from);
    ranges.insert(place, (from, to));
}
