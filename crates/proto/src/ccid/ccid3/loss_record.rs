//! What the sender knows of losses, from Loss Intervals options.

use smallvec::SmallVec;
use whimbrel_control::tfrc::LossEventRate;
use whimbrel_control::tfrc::loss_detection::NDUPACK;
use whimbrel_control::tfrc::loss_intervals::{HISTORY, loss_event_rate};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::TfrcOption;
use whimbrel_wire::{DccpOption, SeqNo};

#[cfg(test)]
mod tests;

/// Packets that a connection's handshake may have taken before congestion control began; a
/// receiver may count them into the first interval.
const HANDSHAKE_PACKETS: u64 = 128;

/// Intervals, the newest first.
type Intervals = SmallVec<[Interval; HISTORY]>;

/// A loss interval in its place among the sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Interval {
    first: SeqNo,
    lossy_end: SeqNo,
    end: SeqNo,
    data_length: u32,
}

impl Interval {
    /// Whether a loss began it: true of all but the connection's first.
    fn has_loss(&self) -> bool {
        self.first != self.lossy_end
    }
    fn sequence_length(&self) -> u64 {
        self.end.distance_from(self.first).unsigned_abs()
    }
}

/// The last nine loss intervals as the receiver has reported them (RFC 4342, Section 8.6), and
/// losses that only Data Dropped options tell of.
#[derive(Clone, Debug)]
pub(super) struct LossRecord {
    /// The first packet sent under this congestion control.
    start: SeqNo,
    intervals: Intervals,
    /// The first packets of loss events in what the receiver calls lossless parts, the newest first.
    dropped: SmallVec<[SeqNo; HISTORY]>,
    /// When the newest of these was sent.
    last_dropped: Option<Instant>,
}

impl LossRecord {
    /// The record of a sender whose first packet is `start`.
    pub(super) fn new(start: SeqNo) -> Self {
        Self { start, intervals: Intervals::new(), dropped: SmallVec::new(), last_dropped: None }
    }

    /// Takes the Loss Intervals options of a packet with Acknowledgement Number `ack`, and says
    /// whether they tell of a new loss event. `None`: there are none, or they are invalid, and
    /// nothing has changed.
    pub(super) fn update(&mut self, ack: SeqNo, options: &[DccpOption]) -> Option<bool> {
        let mut intervals = self.read(ack, options)?;
        let known = self.intervals.first().filter(|newest| newest.has_loss()).map(|newest| newest.first);
        let newest = intervals.first()?;
        let is_news = newest.has_loss() && known.is_none_or(|known| newest.first.is_after(known));
        // Section 8.6.1: what the receiver knows to be known it need not repeat.
        let oldest = intervals.last()?.first;
        let older = self.intervals.iter().filter(|kept| kept.first.is_before(oldest));
        let room = HISTORY.saturating_sub(intervals.len());
        intervals.extend(older.copied().take(room));
        self.intervals = intervals;
        Some(is_news)
    }

    /// Reads and checks: the limits of RFC 4342, Section 8.6.1; that only the connection's first
    /// interval lacks a loss, or has more data packets than packets; that no more is reported than
    /// was sent. That a lossy part lasts no longer than a round-trip time depends on which of its
    /// packets arrived, and cannot be told from the options (Section 9.2).
    fn read(&self, ack: SeqNo, options: &[DccpOption]) -> Option<Intervals> {
        let reports = options.iter().filter_map(|option| match TfrcOption::parse(option) {
            Some(TfrcOption::LossIntervals(report)) => Some(report),
            _ => None,
        });
        let mut intervals = Intervals::new();
        let mut end: Option<SeqNo> = None;
        for report in reports {
            match end {
                None if usize::from(report.skip_length) > NDUPACK => return None,
                None => {}
                // A later option continues the first, or else is to be ignored.
                Some(_) if report.skip_length != 0 => continue,
                Some(_) => {}
            }
            let mut newest = end.unwrap_or_else(|| ack.next().sub(report.skip_length.into()));
            for reported in report.iter() {
                if intervals.last().is_some_and(|older: &Interval| !older.has_loss()) {
                    return None;
                }
                let lossy_end = newest.sub(reported.lossless_length.into());
                let first = lossy_end.sub(reported.loss_length.into());
                let interval = Interval { first, lossy_end, end: newest, data_length: reported.data_length };
                let possible = 1..=interval.sequence_length();
                if interval.has_loss() && !possible.contains(&reported.data_length.into()) {
                    return None;
                }
                intervals.push(interval);
                newest = first;
            }
            end = Some(newest);
        }
        let reported = ack.distance_from(end?);
        let sent = ack.distance_from(self.start);
        let plausible = sent >= 0 && reported <= sent.saturating_add_unsigned(HANDSHAKE_PACKETS);
        intervals.truncate(HISTORY);
        (plausible && !intervals.is_empty()).then_some(intervals)
    }

    /// Packet `sequence`, sent at `sent`, arrived, but for a reason that counts as a mark (RFC 4340,
    /// Section 11.7.2). Whether that is a new loss event: it is within a round-trip time of the last
    /// otherwise.
    pub(super) fn on_dropped(&mut self, sequence: SeqNo, sent: Instant, rtt: Duration) -> bool {
        if self.last_dropped.is_some_and(|last| sent <= last + rtt) {
            return false;
        }
        self.last_dropped = Some(sent);
        self.dropped.truncate(HISTORY - 1);
        self.dropped.insert(0, sequence);
        true
    }

    /// p, from the lengths of the intervals in data packets (RFC 5348, Section 5.4).
    pub(super) fn loss_event_rate(&self) -> LossEventRate {
        let lengths = self.lengths();
        match lengths[..] {
            // All that is known is the interval of the latest loss event.
            [length] if self.intervals.iter().any(Interval::has_loss) => {
                LossEventRate::from_average_interval(length)
            }
            _ => loss_event_rate(&lengths),
        }
    }

    /// The longest interval, in data packets.
    pub(super) fn longest(&self) -> f64 {
        self.lengths().into_iter().fold(1.0, f64::max)
    }

    /// The intervals' lengths, the newest first, cut where data were dropped. Of an interval that is
    /// cut, all packets count as data.
    fn lengths(&self) -> SmallVec<[f64; HISTORY]> {
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
                f64::from(interval.data_length).max(1.0)
            } else {
                (end.distance_from(interval.first) as f64).max(1.0)
            });
        }
        lengths.truncate(HISTORY);
        lengths
    }
}
