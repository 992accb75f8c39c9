//! Which packets are lost: holes in the sequence numbers that did not fill in time.
//!
//! A packet counts as lost once [`NDUPACK`] packets with higher sequence numbers have arrived, so
//! that mild reordering is not mistaken for loss (RFC 5348, Section 5.1); once one has, where somebody else has
//! put packets into order before (a [`ReorderBuffer`](crate::reordering::ReorderBuffer)). Everything below the
//! lowest open hole is *settled*: it is known whether it was received or lost. [`LossDetector`]
//! settles packets strictly in the order of their sequence numbers and each exactly once, which
//! makes the laws built on it functions of an ordered stream: [`Settled`].
//!
//! While nothing is missing, a packet is settled as it arrives. Behind a hole at most two received
//! packets wait, since the third declares the hole lost; memory is fixed.

use whimbrel_units::{Duration, Instant};

use super::loss_intervals::INTERVALS;
use super::lost_set::LostSet;
use crate::loss_differentiation::{LossClass, LossGap};

#[cfg(test)]
mod tests;

/// Arrivals above a hole that declare it lost (RFC 5348, Section 5.1).
pub const NDUPACK: usize = 3;

/// Packets missing in a row that are an outage: as many as there are loss intervals in the history.
const OUTAGE: u64 = INTERVALS as u64;

/// A packet that arrived, as far as loss is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedPacket {
    /// Its sequence number, unwrapped to 64 bits.
    pub sequence: u64,
    /// When it arrived.
    pub at: Instant,
    /// Whether the network marked it (ECN's Congestion Experienced): as good as lost.
    pub marked: bool,
    /// Whether it belongs to the stream being controlled. Packets that do not (acknowledgements
    /// that share the sequence numbers, say) prove that a hole is a hole, but marks on them do not
    /// count, and nor do they in the length of a loss interval (RFC 4342, Section 6.1.1).
    pub carries_data: bool,
    /// How many packets right before this one are known to have carried no data (from DCCP's NDP
    /// Count, say). Where they are missing, nothing was lost.
    pub empty_before: u64,
    /// The sender's window counter modulo 16, which advances by one every quarter of a round-trip
    /// time (RFC 5348, Section 3.2.1; RFC 4342, Section 8.1). Zero where there is none.
    pub window_counter: u8,
}

impl ArrivedPacket {
    /// An unmarked data packet.
    pub fn new(at: Instant, sequence: u64) -> Self {
        Self { sequence, at, marked: false, carries_data: true, empty_before: 0, window_counter: 0 }
    }
}

/// What an arrival was to the record of receptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// Above all arrivals so far.
    Newest,
    /// It filled (a part of) a hole that had not been declared lost yet.
    Reordered,
    /// It had been declared lost.
    Late,
    /// It had arrived before, or is too old to tell.
    Duplicate,
}

/// Where a hole lies in time, to tell when its packets would have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// S_before and T_before: the last packet to arrive before the hole opened.
    before: (u64, Instant),
    /// S_after and T_after: the packet that opened it.
    after: (u64, Instant),
    /// The first packet missing in the hole.
    first: u64,
    /// The time between the last two arrivals before the hole opened; zero where there were none.
    spacing: Duration,
    /// What a loss differentiation said of it then.
    pub class: LossClass,
}

impl Gap {
    /// No hole: a packet that arrived itself.
    pub fn at(sequence: u64, at: Instant) -> Self {
        let here = (sequence, at);
        let (first, class) = (sequence, LossClass::Congestion);
        Self { before: here, after: here, first, spacing: Duration::ZERO, class }
    }

    /// Whether the hole is an outage, which makes one loss event of its losses however long it lasted: at least
    /// [`OUTAGE`] packets are missing, or nothing arrived for longer than t_RTO = 4R of a stream of at least a packet per
    /// round-trip time, judged by the last two arrivals.
    ///
    /// RFC 5348, Section 5.2, interpolates arrival times over the hole, so that an outage of many round-trip times becomes
    /// that many loss events, which replace the whole history and bring p close to 1. The path gave one sign of congestion,
    /// or none: to a TCP it is one timeout, and by the window counters of RFC 4342, Section 10.2, it is one event, as no
    /// packet received lies between the losses. Shorter holes are left to Section 5.2. There consecutive losses of a slow
    /// stream are signs of their own, and at loss rates of 30 % holes of some round-trip times are common without any outage.
    pub(super) fn is_outage(&self, rtt: Duration) -> bool {
        let is_silence = self.after.1 - self.before.1 > rtt * 4 && self.spacing <= rtt;
        self.after.0 - self.first >= OUTAGE || is_silence
    }

    /// The first packet missing in the hole.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// T_loss: when a packet in the hole would have arrived (RFC 5348, Section 5.2).
    pub fn arrival_time(&self, sequence: u64) -> Instant {
        let (before, span) = self.span();
        if span == 0 {
            return self.after.1;
        }
        let elapsed = u128::from((self.after.1 - before.1).as_nanos());
        let part = elapsed * u128::from(sequence.saturating_sub(before.0)) / u128::from(span);
        Instant::from_nanos(before.1.as_nanos() + part as u64)
    }

    /// The first sequence number that would have arrived later than `instant`; it may lie beyond
    /// the hole.
    pub fn first_later_than(&self, instant: Instant) -> u64 {
        let (before, span) = self.span();
        let elapsed = u128::from((self.after.1 - before.1).as_nanos());
        if elapsed == 0 {
            return if instant < self.after.1 { before.0 } else { u64::MAX };
        }
        if instant < before.1 {
            return before.0;
        }
        let wanted = u128::from((instant - before.1).as_nanos()) + 1;
        let steps = (wanted * u128::from(span)).div_ceil(elapsed);
        before.0.saturating_add(u64::try_from(steps).unwrap_or(u64::MAX))
    }

    fn span(&self) -> ((u64, Instant), u64) {
        (self.before, self.after.0 - self.before.0)
    }
}

/// The next packet that was received, and what is now known to be missing right before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The packet.
    pub arrival: ArrivedPacket,
    /// The first packet missing before it, where `lost` is not zero.
    pub first_lost: u64,
    /// How many packets in a row from there are lost.
    pub lost: u64,
    /// How many more are missing after those, which carried no data.
    pub empty: u64,
    /// The hole in time; meaningful where `lost` is not zero.
    pub gap: Gap,
}

/// Who is told what a [`LossDetector`] finds.
pub trait LossObserver {
    /// A hole opened. What would explain it?
    fn classify(&mut self, gap: &LossGap) -> LossClass;
    /// The next packet is settled.
    fn on_settled(&mut self, settled: &Settled);
}

/// A received packet above an open hole.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    arrival: ArrivedPacket,
    /// The hole right below it, if there is one.
    gap: Gap,
}

/// Tells which packets are lost.
#[derive(Clone, Debug)]
pub struct LossDetector {
    /// The lowest sequence number not settled; everything waiting is above it.
    next: u64,
    started: bool,
    /// The received packets above the lowest open hole, in the order of their sequence numbers.
    waiting: [Waiting; NDUPACK],
    waiting_len: usize,
    /// Arrivals above a hole that declare it lost, at most [`NDUPACK`].
    enough: usize,
    last_arrival: Option<(u64, Instant)>,
    /// The time between the last two arrivals; zero where there are none.
    spacing: Duration,
    lost: LostSet,
}

impl LossDetector {
    /// A detector for packets numbered from `first`, or from the first to arrive if that is not
    /// known: then packets lost before the first arrival go unnoticed.
    pub fn new(first: Option<u64>) -> Self {
        Self::with_threshold(first, NDUPACK)
    }

    /// The same, which declares a hole lost after `enough` arrivals above it: 1 to [`NDUPACK`], to which it is clamped.
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

    /// Accounts for an arrival, and tells `observer` what follows from it.
    #[inline]
    pub fn on_arrival(&mut self, arrival: &ArrivedPacket, observer: &mut impl LossObserver) -> Reception {
        let sequence = arrival.sequence;
        if !self.started {
            self.started = true;
            self.next = sequence;
        }
        if self.waiting_len == 0 && sequence == self.next {
            // Nothing is missing: the usual case.
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
            // It splits the hole below the packet that it comes to stand before.
            Reception::Reordered => self.waiting[place].gap,
            _ => self.open(arrival, observer),
        };
        self.waiting.copy_within(place..self.waiting_len, place + 1);
        self.waiting[place] = Waiting { arrival: *arrival, gap };
        self.waiting_len += 1;
        self.note_arrival(arrival);

        // RFC 5348, Section 5.1: a mark is known at once, and the congestion that it tells of began
        // with whatever is missing below it.
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

    /// The highest sequence number that arrived; that before the first, if none did.
    pub fn greatest(&self) -> u64 {
        match self.waiting[..self.waiting_len].last() {
            Some(held) => held.arrival.sequence,
            None => self.next.saturating_sub(1),
        }
    }

    /// The lowest sequence number of which it is still open whether it is lost or late; the one
    /// after [`greatest`](Self::greatest) where nothing is missing.
    pub fn first_open(&self) -> u64 {
        self.next
    }

    /// The hole that the newest arrival opened.
    fn open(&self, arrival: &ArrivedPacket, observer: &mut impl LossObserver) -> Gap {
        let first = match self.waiting[..self.waiting_len].last() {
            Some(held) => held.arrival.sequence + 1,
            None => self.next,
        };
        // Before the first arrival there is no time to reckon from.
        let before = self.last_arrival.unwrap_or((first.saturating_sub(1), arrival.at));
        let count = arrival.sequence - first;
        let class = if count == 0 {
            LossClass::Congestion
        } else {
            observer.classify(&LossGap { first, count, before: before.1, after: arrival.at })
        };
        Gap { before, after: (arrival.sequence, arrival.at), first, spacing: self.spacing, class }
    }

    /// Settles waiting packets from the lowest on: `certain` of them in any case, then as long as
    /// nothing is missing below them or enough have arrived above.
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
