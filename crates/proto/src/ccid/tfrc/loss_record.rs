//! The sender's record of losses, from Loss Intervals options.

use smallvec::SmallVec;
use whimbrel_control::loss_detection::NDUPACK;
use whimbrel_control::tfrc::LossEventRate;
use whimbrel_control::tfrc::loss_intervals::{HISTORY, loss_event_rate, short_length};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::{LossInterval, TfrcOption};
use whimbrel_wire::{DccpOption, SeqNo};

#[cfg(test)]
mod tests;

/// Number of packets that the handshake may have taken before congestion control began; a receiver may count
/// them into the first interval.
const HANDSHAKE_PACKETS: u64 = 128;

/// Distance from the latest acknowledged packet up to which a packet is identified by its number: half of the
/// range in which circular numbers can be ordered.
const HORIZON: u64 = SeqNo::MODULUS / 4;

/// The intervals of a report, newest first.
type Intervals = SmallVec<[Interval; HISTORY]>;

/// A loss interval with its sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Interval {
    first: SeqNo,
    lossy_end: SeqNo,
    end: SeqNo,
    data_length: u32,
    /// Number of packets of the lossy part that were lost or marked: all of them, unless Dropped Packets says
    /// otherwise.
    losses: u32,
    /// `true` if the interval is at most two round-trip times long, if that matters.
    short: bool,
    /// `true` if that was decided after its end.
    judged: bool,
    /// Transmission time of its first packet, if known and needed.
    began: Option<Instant>,
    /// `true` if it began earlier than `first`, by an unknown amount: it was too long for the fields of the
    /// option when it was first reported.
    is_floating: bool,
}

impl Interval {
    /// `true` if a loss began it: the case for all but the connection's first.
    fn has_loss(&self) -> bool {
        self.first != self.lossy_end
    }

    fn sequence_length(&self) -> u64 {
        self.end.distance_from(self.first).unsigned_abs()
    }

    fn loss_length(&self) -> u32 {
        u32::try_from(self.lossy_end.distance_from(self.first).unsigned_abs()).unwrap_or(u32::MAX)
    }

    /// Its length in the average, if it is not cut.
    fn counted(&self) -> f64 {
        if self.short { short_length(self.data(), self.losses.into()) } else { self.data() }
    }

    /// Its length in data packets, at least one.
    ///
    /// A length that saturates its field is known only as a lower bound; "in the absence of better
    /// information" all packets count as data (RFC 4342, Section 6.1.1).
    fn data(&self) -> f64 {
        match self.data_length {
            LossInterval::MAX_LENGTH.. => self.sequence_length().max(self.data_length.into()) as f64,
            length => f64::from(length).max(1.0),
        }
    }

    /// `true` if `known` is this interval, seen earlier, when it has more packets than the fields of the
    /// option can hold, so that it appears to begin later than it did.
    fn continues(&self, known: &Self, is_lossless_saturated: bool) -> bool {
        let limited = |length: u32| length.min(LossInterval::MAX_LOSS_LENGTH);
        let same_losses = if is_lossless_saturated {
            limited(self.loss_length()) == limited(known.loss_length())
        } else {
            // The end of the lossy part is known, and may have grown; two intervals cannot overlap.
            known.lossy_end.is_after(self.first)
        };
        same_losses && !known.first.is_after(self.first)
    }
}

/// The last nine loss intervals as reported by the receiver (RFC 4342, Section 8.6), and losses reported only
/// by Data Dropped options.
#[derive(Clone, Debug)]
pub(super) struct LossRecord {
    /// The first packet sent under this congestion control.
    start: SeqNo,
    /// The intervals, newest first.
    intervals: Vec<Interval>,
    /// First packets of loss events within parts that the receiver reports as lossless, newest first.
    dropped: Vec<SeqNo>,
    /// Transmission time of the newest of these.
    last_dropped: Option<Instant>,
    /// Number of intervals covered by the last report.
    reported: usize,
    /// `true` if Dropped Packets options count the losses.
    counted: bool,
    /// From the first packet sent during an outage to the one after the last: losses among them are one
    /// event.
    outage: Option<(SeqNo, SeqNo)>,
    /// Number of intervals of the synthetic history that the receiver may have created, as it does while this
    /// end probes; `None` if it may not.
    may_fit: Option<usize>,
    /// `true` if it has: the oldest interval then stands for that many.
    is_fitted: bool,
    /// Number of losses in intervals no longer stored.
    forgotten_losses: u64,
}

impl LossRecord {
    /// Creates the record of a sender whose first packet is `start`.
    pub(super) fn new(start: SeqNo) -> Self {
        Self {
            start,
            intervals: Vec::new(),
            dropped: Vec::new(),
            last_dropped: None,
            reported: 0,
            counted: false,
            outage: None,
            may_fit: None,
            is_fitted: false,
            forgotten_losses: 0,
        }
    }

    /// The path was unavailable while the packets from `from` up to but not including `to` were sent.
    ///
    /// If arrival times are interpolated (RFC 5348, Section 5.2), an outage produces a loss event for each of
    /// its round-trip times, which would replace the whole history. An outage is no sign of congestion,
    /// however long it lasts.
    pub(super) fn on_outage(&mut self, from: SeqNo, to: SeqNo) {
        self.outage = Some((from, to));
    }

    /// `true` if a packet was lost in a recorded outage: the receiver's p then differs.
    pub(super) fn has_outage(&self) -> bool {
        self.intervals.iter().any(|interval| self.is_of_outage(interval))
    }

    fn is_of_outage(&self, interval: &Interval) -> bool {
        let of = |(from, to)| !interval.first.is_before(from) && interval.first.is_before(to);
        interval.has_loss() && self.outage.is_some_and(of)
    }

    /// Merges the loss events of an outage into one.
    fn join_outage(&self, intervals: &mut Intervals) {
        let of_outage = |interval: &Interval| self.is_of_outage(interval);
        let Some(newest) = intervals.iter().position(of_outage) else { return };
        let count = intervals[newest..].iter().take_while(|interval| self.is_of_outage(interval)).count();
        let oldest = intervals[newest + count - 1];
        let losses = intervals[newest..newest + count].iter().map(|interval| interval.losses).sum();
        let joined = &mut intervals[newest];
        (joined.first, joined.losses) = (oldest.first, losses);
        intervals.drain(newest + 1..newest + count);
    }

    /// This end probes for a higher rate: the receiver may create a synthetic history when it detects that
    /// (`papers/freeze`, Section 4.6). `intervals` is the number of its intervals.
    pub(super) fn expect_fit(&mut self, intervals: usize) {
        self.may_fit = Some(intervals);
    }

    /// Number of closed loss intervals from which p is computed.
    pub(super) fn closed_intervals(&self) -> usize {
        self.lengths(Interval::counted).len().saturating_sub(1)
    }

    /// The first packet of the latest loss event.
    pub(super) fn newest_loss(&self) -> Option<SeqNo> {
        self.intervals.first().filter(|newest| newest.has_loss()).map(|newest| newest.first)
    }

    /// Processes the Loss Intervals options of a packet with Acknowledgement Number `ack`. Returns `true` if
    /// they report a new loss event; `None` if there are none, or they are invalid, and nothing has changed.
    pub(super) fn update(&mut self, ack: SeqNo, options: &[DccpOption]) -> Option<bool> {
        let mut intervals = self.read(ack, options)?;
        self.join_outage(&mut intervals);
        let known = self.newest_loss();
        let newest = intervals.first()?;
        let is_news = newest.has_loss() && known.is_none_or(|known| newest.first.is_after(known));
        // Section 8.6.1: the receiver need not repeat intervals that the sender is known to have.
        let last = *intervals.last()?;
        self.is_fitted = self.is_made_up(&last);
        // No interval is older than a synthetic history.
        let (oldest, end) = if self.is_fitted { (self.start, last.end) } else { (last.first, last.first) };
        // Only the connection's first interval lacks a loss, so there is only one of them.
        let is_first_again = |known: &Interval| !known.has_loss() && !last.has_loss();
        self.reported = intervals.len();
        // Both are in order, and mostly the same: the search goes on where the last one ended.
        let mut from = 0;
        for interval in &mut intervals {
            let (before, after) = self.intervals.split_at(from);
            let mut known = after.iter().chain(before);
            if let Some(position) = known.position(|known| known.first == interval.first) {
                from = (from + position) % self.intervals.len();
                let known = &self.intervals[from];
                (interval.began, interval.short, interval.judged) = (known.began, known.short, known.judged);
            }
        }
        let (counted, older) = (self.counted, self.intervals.iter());
        for older in older.filter(|kept| kept.first.is_before(end)) {
            if intervals.len() < HISTORY && older.first.is_before(oldest) && !is_first_again(older) {
                intervals.push(*older);
            } else {
                self.forgotten_losses += proven_losses(older, counted);
            }
        }
        self.intervals.clear();
        self.intervals.extend_from_slice(&intervals);
        self.forget_beyond(ack.sub(HORIZON));
        Some(is_news)
    }

    /// Moves intervals that began before `horizon` up to it, so that circular numbers stay comparable.
    fn forget_beyond(&mut self, horizon: SeqNo) {
        self.start = self.start.max(horizon);
        self.dropped.retain(|cut| cut.is_after(horizon));
        self.intervals.retain(|interval| interval.end.is_after(horizon));
        for interval in self.intervals.iter_mut().filter(|interval| interval.first.is_before(horizon)) {
            interval.lossy_end = horizon.add(interval.loss_length().into());
            interval.first = horizon;
            interval.is_floating = true;
        }
    }

    /// `true` if the oldest interval reported is synthetic: it has no loss, though a packet was lost before
    /// its end.
    fn is_made_up(&self, last: &Interval) -> bool {
        let was_loss = |known: &Interval| known.has_loss() && known.first.is_before(last.end);
        self.may_fit.is_some() && !last.has_loss() && (self.is_fitted || self.intervals.iter().any(was_loss))
    }

    /// TFRC-SP: processes the Drop Counts of the last report, the newest interval first, and determines which
    /// intervals are at most two round-trip times long. `sent` returns the transmission time of a packet.
    ///
    /// An interval lasts from its first packet to the next one's, as they were sent; one that is not known to
    /// be short is long. A closed interval keeps the class that it had when it closed, however the round-trip
    /// time changes.
    pub(super) fn count_losses(
        &mut self,
        drop_counts: impl Iterator<Item = u32>,
        sent: impl Fn(SeqNo) -> Option<Instant>,
        rtt: Duration,
    ) {
        // RFC 5622, Section 8.7: counts beyond the intervals reported are ignored; a count beyond the Loss
        // Length, or a missing one, is the Loss Length.
        for (interval, count) in self.intervals[..self.reported].iter_mut().zip(drop_counts) {
            self.counted = true;
            interval.losses = count.min(interval.loss_length());
        }
        let mut newer: Option<Instant> = None;
        for (i, interval) in self.intervals.iter_mut().enumerate() {
            interval.began = interval.began.or_else(|| sent(interval.first));
            let until = if i == 0 { sent(interval.end.previous()) } else { newer };
            if !(interval.judged && i > 0)
                && let (Some(began), Some(until)) = (interval.began, until)
            {
                interval.short = interval.has_loss() && until - began <= rtt * 2;
                interval.judged = i > 0;
            }
            newer = interval.began;
        }
    }

    /// Number of packets certainly lost or marked: those counted, or the first and the last of lossy parts.
    pub(super) fn losses(&self) -> u64 {
        let proven = |interval| proven_losses(interval, self.counted);
        self.forgotten_losses + self.intervals.iter().map(proven).sum::<u64>()
    }

    /// Reads and validates the options: the limits of RFC 4342, Section 8.6.1; that only the connection's
    /// first interval lacks a loss, or has more data packets than packets; that no more is reported than was
    /// sent. That a lossy part lasts at most a round-trip time depends on which of its packets arrived, and
    /// cannot be validated from the options (Section 9.2).
    fn read(&self, ack: SeqNo, options: &[DccpOption]) -> Option<Intervals> {
        let reports = options.iter().filter_map(|option| match TfrcOption::parse(option) {
            Some(TfrcOption::LossIntervals(report)) => Some(report),
            _ => None,
        });
        let horizon = ack.sub(HORIZON);
        let mut intervals = Intervals::new();
        let mut end: Option<SeqNo> = None;
        'reports: for report in reports {
            match end {
                None if usize::from(report.skip_length) > NDUPACK => return None,
                None => {}
                // A later option continues the first, or is ignored.
                Some(_) if report.skip_length != 0 => continue,
                Some(_) => {}
            }
            let mut newest = end.unwrap_or_else(|| ack.next().sub(report.skip_length.into()));
            for reported in report.iter() {
                match intervals.last() {
                    Some(newer) if !newer.has_loss() => return None,
                    // Its position is not known. The older intervals known from earlier reports are kept.
                    Some(newer) if newer.is_floating => break 'reports,
                    Some(_) if newest.is_before(horizon) => break 'reports,
                    _ => {}
                }
                let lossy_end = newest.sub(reported.lossless_length.into());
                let first = lossy_end.sub(reported.loss_length.into());
                let mut interval = Interval {
                    first,
                    lossy_end,
                    end: newest,
                    data_length: reported.data_length,
                    losses: reported.loss_length,
                    short: false,
                    judged: false,
                    began: None,
                    is_floating: false,
                };
                let possible = 1..=interval.sequence_length();
                if reported.is_saturated() {
                    self.anchor(&mut interval, reported.lossless_length == LossInterval::MAX_LENGTH);
                } else if interval.has_loss() && !possible.contains(&reported.data_length.into()) {
                    return None;
                }
                newest = interval.first;
                end = Some(newest);
                intervals.push(interval);
            }
        }
        let reported = ack.distance_from(end?);
        let sent = ack.distance_from(self.start);
        let plausible = sent >= 0 && reported <= sent.saturating_add_unsigned(HANDSHAKE_PACKETS);
        intervals.truncate(HISTORY);
        (plausible && !intervals.is_empty()).then_some(intervals)
    }

    /// Finds the first packet of an interval that has become too long for the fields of the option (RFC 4342,
    /// Section 8.6).
    ///
    /// As reported, such an interval begins later with every packet that it grows by. It keeps the position
    /// that it had when it could still be reported: otherwise it would look like another interval each time,
    /// with its former self behind it as a short one, and p would approach 1 on a path without losses.
    fn anchor(&self, interval: &mut Interval, is_lossless_saturated: bool) {
        let continued = |known: &&Interval| interval.continues(known, is_lossless_saturated);
        let Some(known) = self.intervals.iter().find(continued) else {
            interval.is_floating = true;
            return;
        };
        interval.first = known.first;
        if is_lossless_saturated {
            interval.lossy_end = known.lossy_end;
        }
        interval.is_floating = known.is_floating;
    }

    /// Packet `sequence`, sent at `sent`, arrived, but was reported with a Drop Code that counts as a mark
    /// (RFC 4340, Section 11.7.2). Returns `true` if it is a new loss event, rather than within a round-trip
    /// time of the last one.
    pub(super) fn on_dropped(&mut self, sequence: SeqNo, sent: Instant, rtt: Duration) -> bool {
        if self.last_dropped.is_some_and(|last| sent <= last + rtt) {
            return false;
        }
        self.last_dropped = Some(sent);
        self.dropped.truncate(HISTORY - 1);
        self.dropped.insert(0, sequence);
        true
    }

    /// p, from the lengths of the intervals in data packets (RFC 5348, Section 5.4; RFC 4828, Section 3).
    pub(super) fn loss_event_rate(&self) -> LossEventRate {
        let mut lengths = self.lengths(Interval::counted);
        match lengths[..] {
            // Only the interval of the latest loss event is known.
            [length] if self.intervals.iter().any(Interval::has_loss) => {
                LossEventRate::from_average_interval(length)
            }
            _ => {
                if self.intervals.first().is_some_and(|open| open.short) {
                    lengths[0] = 0.0;
                }
                loss_event_rate(&lengths)
            }
        }
    }

    /// `true` if dropped data has cut any of the intervals.
    pub(super) fn has_cuts(&self) -> bool {
        let oldest = self.intervals.last().map(|interval| interval.first);
        self.dropped.first().is_some_and(|newest| oldest.is_some_and(|oldest| newest.is_after(oldest)))
    }

    /// The longest interval, in data packets.
    pub(super) fn longest(&self) -> f64 {
        self.lengths(Interval::data).into_iter().fold(1.0, f64::max)
    }

    /// The intervals' lengths, newest first, cut where data was dropped. In an interval that is cut, all
    /// packets count as data; `length` gives the others'.
    fn lengths(&self, length: impl Fn(&Interval) -> f64) -> SmallVec<[f64; HISTORY]> {
        let mut lengths = SmallVec::new();
        for interval in &self.intervals {
            let mut end = interval.end;
            for &cut in &self.dropped {
                if !cut.is_before(interval.lossy_end) && cut.is_before(end) {
                    lengths.push(end.distance_from(cut) as f64);
                    end = cut;
                }
            }
            lengths.push(if end == interval.end {
                length(interval)
            } else {
                (end.distance_from(interval.first) as f64).max(1.0)
            });
        }
        lengths.truncate(HISTORY);
        if let (true, Some(&oldest)) = (self.is_fitted, lengths.last()) {
            // One of the synthetic intervals is reported, and stands for the others.
            let unreported = self.may_fit.unwrap_or(1) - 1;
            lengths.resize((lengths.len() + unreported).min(HISTORY), oldest);
        }
        lengths
    }
}

fn proven_losses(interval: &Interval, counted: bool) -> u64 {
    u64::from(if counted { interval.losses } else { interval.loss_length().min(2) })
}
