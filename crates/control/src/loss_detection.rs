//! Loss detection: holes in the sequence numbers that were not filled in time.
//!
//! A packet is declared lost once [`NDUPACK`] packets with higher sequence numbers have arrived, so that mild
//! reordering is not mistaken for loss (RFC 5348, Section 5.1); once one has, if packets were put into order
//! before (by a [`ReorderBuffer`](crate::reordering::ReorderBuffer)). All packets below the lowest open hole
//! are *settled*: either received or lost. [`LossDetector`] settles packets strictly in the order of their
//! sequence numbers and each exactly once, so that the laws built on it are functions of an ordered stream:
//! [`Settled`].
//!
//! Without a hole, a packet is settled on arrival. Behind a hole at most two received packets wait, since the
//! third declares the hole lost; memory is fixed.

use whimbrel_units::{Duration, Instant};

mod gap;
mod lost_set;

pub(crate) use gap::OUTAGE;
pub use gap::{Gap, LossClass, LossGap};
pub(crate) use lost_set::LostSet;

#[cfg(test)]
mod tests;

/// Number of arrivals above a hole that declare it lost (RFC 5348, Section 5.1).
pub const NDUPACK: usize = 3;

/// Maximum number of packets of one hole that are classified one by one: a longer hole is an outage, or
/// caused by a forged sequence number, and its remainder counts as congestion.
pub(crate) const MAX_CLASSIFIED_SINGLY: u64 = 4096;

/// Properties of a received packet that matter for loss detection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedPacket {
    /// Sequence number, unwrapped to 64 bits.
    pub sequence: u64,
    /// Arrival time.
    pub at: Instant,
    /// `true` if the packet is marked (ECN's Congestion Experienced), which is equivalent to a loss.
    pub marked: bool,
    /// `true` if the packet belongs to the controlled stream. Other packets (such as acknowledgements that
    /// share the sequence numbers) confirm a hole, but marks on them do not count, and they are not part of
    /// the length of a loss interval (RFC 4342, Section 6.1.1).
    pub carries_data: bool,
    /// Number of packets directly before this one that are known to have carried no data (from DCCP's NDP
    /// Count, for example). If they are missing, no data was lost.
    pub empty_before: u64,
    /// The sender's window counter modulo 16, which advances by one every quarter of a round-trip time (RFC
    /// 5348, Section 3.2.1; RFC 4342, Section 8.1). Zero if there is none.
    pub window_counter: u8,
}

impl ArrivedPacket {
    /// An unmarked data packet.
    pub fn new(at: Instant, sequence: u64) -> Self {
        Self { sequence, at, marked: false, carries_data: true, empty_before: 0, window_counter: 0 }
    }
}

/// Classification of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// Higher than all sequence numbers so far.
    Newest,
    /// Fills (a part of) a hole that had not been declared lost.
    Reordered,
    /// Arrives after it was declared lost.
    Late,
    /// A duplicate, or too old to be classified.
    Duplicate,
}

/// The next received packet in order, with the losses directly before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The packet.
    pub arrival: ArrivedPacket,
    /// The first packet missing before it, if `lost` is not zero.
    pub first_lost: u64,
    /// Number of packets lost in a row from there.
    pub lost: u64,
    /// Number of further missing packets after those, which carried no data.
    pub empty: u64,
    /// The hole in time; meaningful if `lost` is not zero.
    pub gap: Gap,
}

/// Receives the results of a [`LossDetector`].
pub trait LossObserver {
    /// Classifies a hole that has opened.
    fn classify(&mut self, gap: &LossGap) -> LossClass;
    /// Processes the next settled packet.
    fn on_settled(&mut self, settled: &Settled);
}

/// A received packet above an open hole.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: ArrivedPacket,
    /// The hole right below it, if there is one.
    gap: Gap,
}

/// Detects lost packets.
#[derive(Clone, Debug)]
pub struct LossDetector {
    /// The lowest sequence number not settled; all waiting packets are above it.
    next: u64,
    started: bool,
    /// The received packets above the lowest open hole, in order of sequence numbers.
    waiting: [Waiting; NDUPACK],
    waiting_len: usize,
    /// Number of arrivals above a hole that declare it lost, at most [`NDUPACK`].
    enough: usize,
    last_arrival: Option<(u64, Instant)>,
    /// Time between the last two arrivals; zero if there are none.
    spacing: Duration,
    lost: LostSet,
}

impl LossDetector {
    /// A detector for packets numbered from `first`, or from the first to arrive if that is not known: losses
    /// before the first arrival are then not detected.
    pub fn new(first: Option<u64>) -> Self {
        Self::with_threshold(first, NDUPACK)
    }

    /// A detector that declares a hole lost after `enough` arrivals above it: 1 to [`NDUPACK`], to which it
    /// is clamped.
    pub fn with_threshold(first: Option<u64>, enough: usize) -> Self {
        let nothing =
            Waiting { arrival: ArrivedPacket::new(Instant::ZERO, 0), gap: Gap::at(0, Instant::ZERO) };
        Self {
            next: first.unwrap_or(0),
            started: first.is_some(),
            waiting: [nothing; NDUPACK],
            waiting_len: 0,
            enough: enough.clamp(1, NDUPACK),
            last_arrival: None,
            spacing: Duration::ZERO,
            lost: LostSet::default(),
        }
    }

    /// Processes an arrival and reports its consequences to `observer`.
    #[inline]
    pub fn on_arrival(&mut self, arrival: &ArrivedPacket, observer: &mut impl LossObserver) -> Reception {
        let sequence = arrival.sequence;
        if !self.started {
            self.started = true;
            self.next = sequence;
        }
        if self.waiting_len == 0 && sequence == self.next {
            // No packet is missing: the usual case.
            self.settle(arrival, &Gap::at(sequence, arrival.at), observer);
            self.note_arrival(arrival);
            return Reception::Newest;
        }
        self.on_arrival_around_a_hole(arrival, observer)
    }

    fn on_arrival_around_a_hole(
        &mut self,
        arrival: &ArrivedPacket,
        observer: &mut impl LossObserver,
    ) -> Reception {
        let sequence = arrival.sequence;
        if sequence < self.next {
            let late = self.lost.remove(sequence, self.next);
            self.note_arrival(arrival);
            return if late { Reception::Late } else { Reception::Duplicate };
        }
        let waiting = &self.waiting[..self.waiting_len];
        let place = waiting.partition_point(|held| held.arrival.sequence < sequence);
        if waiting.get(place).is_some_and(|held| held.arrival.sequence == sequence) {
            self.note_arrival(arrival);
            return Reception::Duplicate;
        }
        let reception = if place == self.waiting_len { Reception::Newest } else { Reception::Reordered };
        let gap = match reception {
            // The packet splits the hole below its successor.
            Reception::Reordered => self.waiting[place].gap,
            _ => self.open(arrival, observer),
        };
        self.waiting.copy_within(place..self.waiting_len, place + 1);
        self.waiting[place] = Waiting { arrival: *arrival, gap };
        self.waiting_len += 1;
        self.note_arrival(arrival);

        // RFC 5348, Section 5.1: a mark is known at once, and the congestion that it indicates began with
        // the packets missing below it.
        let certain = if arrival.marked && arrival.carries_data { place + 1 } else { 0 };
        self.settle_waiting(certain, observer);
        reception
    }

    #[inline]
    fn note_arrival(&mut self, arrival: &ArrivedPacket) {
        if let Some((_, before)) = self.last_arrival.replace((arrival.sequence, arrival.at)) {
            self.spacing = arrival.at - before;
        }
    }

    /// The highest sequence number received; the one before the first if none was received.
    pub fn greatest(&self) -> u64 {
        match self.waiting[..self.waiting_len].last() {
            Some(held) => held.arrival.sequence,
            None => self.next.saturating_sub(1),
        }
    }

    /// The lowest sequence number that is neither received nor declared lost; the one after
    /// [`greatest`](Self::greatest) if no packet is missing.
    pub fn first_open(&self) -> u64 {
        self.next
    }

    /// Opens the hole below the newest arrival.
    fn open(&self, arrival: &ArrivedPacket, observer: &mut impl LossObserver) -> Gap {
        let first = match self.waiting[..self.waiting_len].last() {
            Some(held) => held.arrival.sequence + 1,
            None => self.next,
        };
        // Before the first arrival there is no time to measure from.
        let before = self.last_arrival.unwrap_or((first.saturating_sub(1), arrival.at));
        let count = arrival.sequence - first;
        let class = if count == 0 {
            LossClass::Congestion
        } else {
            observer.classify(&LossGap { first, count, before: before.1, after: arrival.at })
        };
        Gap { before, after: (arrival.sequence, arrival.at), first, spacing: self.spacing, class }
    }

    /// Settles waiting packets from the lowest on: `certain` of them in any case, then as long as no packet
    /// is missing below them or enough have arrived above.
    fn settle_waiting(&mut self, certain: usize, observer: &mut impl LossObserver) {
        let mut done = 0;
        while done < self.waiting_len {
            let held = self.waiting[done];
            let enough_above = self.waiting_len - done >= self.enough;
            if !(done < certain || enough_above || held.arrival.sequence == self.next) {
                break;
            }
            self.settle(&held.arrival, &held.gap, observer);
            done += 1;
        }
        self.waiting.copy_within(done..self.waiting_len, 0);
        self.waiting_len -= done;
    }

    fn settle(&mut self, arrival: &ArrivedPacket, gap: &Gap, observer: &mut impl LossObserver) {
        let first_lost = self.next;
        let missing = arrival.sequence - first_lost;
        let empty = arrival.empty_before.min(missing);
        let lost = missing - empty;
        self.next = arrival.sequence.saturating_add(1);
        self.lost.advance(first_lost, self.next);
        if lost > 0 {
            self.lost.insert(first_lost, lost, self.next);
        }
        observer.on_settled(&Settled { arrival: *arrival, first_lost, lost, empty, gap: *gap });
    }
}
