//! The segments sent and not cumulatively acknowledged, with the times of their last transmission: loss
//! detection by time (RACK, RFC 8985).

use std::collections::{BTreeSet, VecDeque};

use whimbrel_units::{Duration, Instant};

use super::ranges::{ByteRange, RangeSet};

/// State of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In the network, as far as is known.
    InFlight,
    /// Lost, and to be sent again.
    Lost,
    /// Selectively acknowledged.
    Received,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    range: ByteRange,
    /// Time of the last transmission, and its place in the order of all.
    at: Instant,
    order: u64,
    is_retransmission: bool,
    state: State,
}

/// Changes by an acknowledgement.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Acknowledged {
    /// Data newly acknowledged, cumulatively or selectively, in bytes.
    pub(super) delivered: u64,
    /// Send time of the last of them that were sent only once.
    pub(super) timed: Option<Instant>,
    /// The largest distance by which data that was sent only once was overtaken: from its start to the
    /// end of the highest data acknowledged.
    pub(super) extent: u64,
}

/// The parameters of the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) smoothed_rtt: Option<Duration>,
    pub(super) is_recovering: bool,
    /// `RACK.reo_wnd_mult`.
    pub(super) multiplier: u32,
    /// Bytes selectively acknowledged that suffice for a loss as long as no reordering was seen: the
    /// threshold for duplicates.
    pub(super) enough: u64,
}

/// The scoreboard of RACK.
#[derive(Clone, Debug, Default)]
pub(super) struct Transmissions {
    /// By sequence number, without gaps from SND.UNA on.
    records: VecDeque<Record>,
    received: RangeSet,
    /// Pieces of a block that are new; kept for its memory.
    pieces: Vec<ByteRange>,
    /// Starts of the lost segments.
    lost: BTreeSet<u64>,
    /// Transmissions in their order: the start of the segment, and its place. Entries of segments that were
    /// sent again, or are acknowledged, are stale.
    queue: VecDeque<(u64, u64)>,
    next_order: u64,
    unacknowledged: u64,
    /// Bytes in flight, and selectively acknowledged.
    pipe: u64,
    sacked: u64,
    /// Bytes in flight that were sent again.
    retransmitted: u64,
    /// `RACK.xmit_ts` and `RACK.end_seq`, as the order of that transmission; and `RACK.rtt`.
    newest: Option<u64>,
    rtt: Duration,
    /// `RACK.min_RTT`.
    least_rtt: Option<Duration>,
    /// `RACK.fack`.
    highest: u64,
    reordering_seen: bool,
    /// Places of the transmissions newly acknowledged and newly lost, where BBR takes them.
    journal: Option<Journal>,
}

/// Changes for BBR; kept for its memory.
#[derive(Clone, Default, Debug)]
struct Journal {
    delivered: Vec<u64>,
    lost: Vec<u64>,
}

impl Transmissions {
    /// Nothing sent; `has_journal` if [`take_delivered`](Self::take_delivered) and
    /// [`take_lost`](Self::take_lost) are called.
    pub(super) fn new(has_journal: bool) -> Self {
        Self { journal: has_journal.then(Journal::default), ..Self::default() }
    }

    /// The place of the next transmission in the order of all.
    pub(super) fn next_order(&self) -> u64 {
        self.next_order
    }

    /// The places of the transmissions acknowledged since the last call.
    pub(super) fn take_delivered(&mut self) -> impl Iterator<Item = u64> {
        self.journal.iter_mut().flat_map(|journal| journal.delivered.drain(..))
    }

    /// The places of the transmissions that were found to be lost since the last call.
    pub(super) fn take_lost(&mut self) -> impl Iterator<Item = u64> {
        self.journal.iter_mut().flat_map(|journal| journal.lost.drain(..))
    }

    /// New data is sent.
    pub(super) fn push(&mut self, range: ByteRange, now: Instant) {
        let order = self.take_order(range.start);
        self.records.push_back(Record {
            range,
            at: now,
            order,
            is_retransmission: false,
            state: State::InFlight,
        });
        self.pipe += range.length();
    }

    /// The segment that begins at `start` is sent again.
    pub(super) fn on_retransmitted(&mut self, start: u64, now: Instant) {
        let order = self.take_order(start);
        let Some(record) = self.find(start) else { return };
        let was_lost = record.state == State::Lost;
        let was_counted = record.state == State::InFlight && record.is_retransmission;
        let length = record.range.length();
        (record.at, record.order, record.is_retransmission) = (now, order, true);
        if was_lost {
            record.state = State::InFlight;
            self.lost.remove(&start);
            self.pipe += length;
        }
        if !was_counted {
            self.retransmitted += length;
        }
    }

    fn take_order(&mut self, start: u64) -> u64 {
        let order = self.next_order;
        self.next_order += 1;
        self.queue.push_back((start, order));
        order
    }

    fn find(&mut self, start: u64) -> Option<&mut Record> {
        let index = self.records.partition_point(|record| record.range.end <= start);
        self.records.get_mut(index).filter(|record| record.range.start == start)
    }

    /// Processes the acknowledgement of all below `ack` and of `blocks`; `high` is the end of the data sent
    /// (`RACK_update`, Steps 2 and 3).
    pub(super) fn on_ack(&mut self, now: Instant, ack: u64, blocks: &[ByteRange], high: u64) -> Acknowledged {
        let mut news = Acknowledged::default();
        while let Some(record) = self.records.front().copied().filter(|record| record.range.start < ack) {
            if record.range.end > ack {
                self.split(ack);
                continue;
            }
            self.records.pop_front();
            self.deliver(now, record, &mut news);
            if record.state == State::Received {
                self.sacked -= record.range.length();
            }
        }
        self.unacknowledged = self.unacknowledged.max(ack);
        self.received.remove_below(self.unacknowledged, |_| {});
        for &block in blocks {
            if block.end > high || block.end <= self.unacknowledged {
                continue;
            }
            let block = ByteRange::new(block.start.max(self.unacknowledged), block.end);
            let mut pieces = core::mem::take(&mut self.pieces);
            self.received.insert(block, |piece| pieces.push(piece));
            for piece in pieces.drain(..) {
                self.receive(now, piece, &mut news);
            }
            self.pieces = pieces;
        }
        news
    }

    /// Cuts the first record at `at`.
    fn split(&mut self, at: u64) {
        let Some(first) = self.records.front_mut() else { return };
        let mut head = *first;
        head.range.end = at;
        let (start, order) = (first.range.start, first.order);
        first.range.start = at;
        if self.lost.remove(&start) {
            self.lost.insert(start);
            self.lost.insert(at);
        }
        self.records.push_front(head);
        // The rest keeps the place of its transmission.
        if let Some(entry) = self.queue.iter().position(|entry| entry.1 == order) {
            self.queue.insert(entry + 1, (at, order));
        }
    }

    /// Marks the segments of which the last part is in `piece`.
    fn receive(&mut self, now: Instant, piece: ByteRange, news: &mut Acknowledged) {
        let mut index = self.records.partition_point(|record| record.range.end <= piece.start);
        while let Some(record) = self.records.get(index).copied().filter(|it| it.range.start < piece.end) {
            let around = self.received.containing_or_after(record.range.start);
            let is_whole = around
                .is_some_and(|range| range.start <= record.range.start && range.end >= record.range.end);
            if is_whole && record.state != State::Received {
                self.deliver(now, record, news);
                self.records[index].state = State::Received;
                self.sacked += record.range.length();
            }
            index += 1;
        }
    }

    /// A segment is newly acknowledged, unless it was before.
    fn deliver(&mut self, now: Instant, record: Record, news: &mut Acknowledged) {
        let length = record.range.length();
        match record.state {
            State::Received => return,
            State::InFlight => {
                self.pipe -= length;
                if record.is_retransmission {
                    self.retransmitted -= length;
                }
            }
            State::Lost => {
                self.lost.remove(&record.range.start);
            }
        }
        news.delivered += length;
        if let Some(journal) = &mut self.journal {
            journal.delivered.push(record.order);
        }
        let rtt = now - record.at;
        if !record.is_retransmission {
            news.timed = news.timed.max(Some(record.at));
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            if record.range.end < self.highest {
                self.reordering_seen = true;
                news.extent = news.extent.max(self.highest - record.range.start);
            }
        } else if self.least_rtt.is_some_and(|least| rtt < least) {
            // The acknowledgement is probably of an earlier transmission.
            self.highest = self.highest.max(record.range.end);
            return;
        }
        self.highest = self.highest.max(record.range.end);
        if self.newest.is_none_or(|newest| record.order > newest) {
            self.newest = Some(record.order);
            self.rtt = rtt;
        }
    }

    /// `RACK_detect_loss` (Steps 4 and 5): marks what is lost. Returns `true` if anything was, and the time
    /// at which more may be.
    pub(super) fn detect(&mut self, now: Instant, patience: &Patience) -> (bool, Option<Instant>) {
        let Some(newest) = self.newest else { return (false, None) };
        let waits = self.reordering_seen || !(patience.is_recovering || self.sacked >= patience.enough);
        let window = match self.least_rtt {
            Some(least) if waits => {
                let window = least / 4 * u64::from(patience.multiplier);
                window.min(patience.smoothed_rtt.unwrap_or(Duration::ZERO))
            }
            _ => Duration::ZERO,
        };
        let wait = self.rtt + window;
        let mut found = false;
        while let Some(&(start, order)) = self.queue.front() {
            let record = self.find(start).filter(|record| record.order == order);
            let Some(record) = record.filter(|record| record.state == State::InFlight) else {
                self.queue.pop_front();
                continue;
            };
            if order >= newest {
                return (found, None);
            }
            if record.at + wait > now {
                // The last of those sent before the newest one delivered would be `RACK.reo_timeout`; each is
                // checked in turn.
                return (found, Some(record.at + wait));
            }
            self.queue.pop_front();
            self.mark_lost(start);
            found = true;
        }
        (found, None)
    }

    fn mark_lost(&mut self, start: u64) {
        if let Some(record) = self.find(start).filter(|record| record.state == State::InFlight) {
            record.state = State::Lost;
            let (length, is_retransmission) = (record.range.length(), record.is_retransmission);
            let order = record.order;
            if let Some(journal) = &mut self.journal {
                journal.lost.push(order);
            }
            self.pipe -= length;
            if is_retransmission {
                self.retransmitted -= length;
            }
            self.lost.insert(start);
        }
    }

    /// The retransmission timer has expired (`RACK_mark_losses_on_RTO`): the first segment is lost, and those
    /// that were sent long enough ago.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        let due: Vec<u64> = self
            .records
            .iter()
            .enumerate()
            .filter(|(index, record)| {
                record.state == State::InFlight && (*index == 0 || record.at + self.rtt <= now)
            })
            .map(|(_, record)| record.range.start)
            .collect();
        due.into_iter().for_each(|start| self.mark_lost(start));
    }

    /// Counts the segments that are marked as lost as in flight again, each with its last transmission.
    pub(super) fn unmark_lost(&mut self) {
        self.lost.clear();
        self.queue.clear();
        for record in &mut self.records {
            if record.state == State::Lost {
                record.state = State::InFlight;
                let length = record.range.length();
                self.pipe += length;
                if record.is_retransmission {
                    self.retransmitted += length;
                }
            }
            if record.state == State::InFlight {
                self.queue.push_back((record.range.start, record.order));
            }
        }
        self.queue.make_contiguous().sort_by_key(|&(_, order)| order);
    }

    /// Reordering was seen otherwise than by the order of acknowledgements.
    pub(super) fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// `true` if the segment that begins at `start` is still known and was sent again.
    pub(super) fn is_retransmitted(&self, start: u64) -> bool {
        let index = self.records.partition_point(|record| record.range.end <= start);
        self.records.get(index).is_some_and(|record| record.range.start == start && record.is_retransmission)
    }

    /// The lowest lost segment.
    pub(super) fn next_lost(&self) -> Option<ByteRange> {
        let start = *self.lost.first()?;
        let index = self.records.partition_point(|record| record.range.end <= start);
        self.records.get(index).map(|record| record.range)
    }

    /// The highest segment sent, unless it was acknowledged.
    pub(super) fn last(&self) -> Option<ByteRange> {
        self.records.back().filter(|record| record.state != State::Received).map(|record| record.range)
    }

    /// Bytes in the network.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes in the network that were sent again.
    pub(super) fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// `RACK.fack`: the end of the highest data acknowledged.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// Bytes selectively acknowledged.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }
}

#[cfg(test)]
mod tests;
