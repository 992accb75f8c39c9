//! The lengths of loss intervals as a Loss Intervals option carries them (RFC 4342, Section 8.6).

use super::TfrcReceiver;
use crate::loss_detection::NDUPACK;
use crate::tfrc::loss_intervals::LossInterval;

/// Maximum of a Lossless Length and of a Data Length: 24 bits.
pub const MAX_LENGTH: u32 = (1 << 24) - 1;
/// Maximum of a Loss Length: 23 bits.
pub const MAX_LOSS_LENGTH: u32 = (1 << 23) - 1;

/// The loss intervals to report.
#[derive(Clone, Copy, Debug)]
pub struct IntervalReport<'a> {
    /// Number of packets up to the acknowledged one that are not part of any interval, because holes before
    /// them are open: Skip Length, at most [`NDUPACK`].
    pub skip_length: u64,
    /// The number that follows the last packet of the newest interval.
    end: u64,
    intervals: &'a [LossInterval],
}

/// The lengths of a loss interval in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntervalLengths {
    /// Length of the lossless part.
    pub lossless: u32,
    /// Length of the lossy part before it.
    pub loss: u32,
    /// Number of data packets in both.
    pub data: u32,
    /// Number of packets lost or marked in the lossy part, for TFRC-SP (RFC 5622, Section 8.7).
    pub losses: u32,
}

impl TfrcReceiver {
    /// The loss intervals to report with feedback that acknowledges the greatest number.
    pub fn interval_report(&self) -> IntervalReport<'_> {
        let end = self.greatest.next;
        // The option's limit is three packets, but a hole of more than two makes more packets wait: the rest
        // counts as received until it is declared lost, one or two packets later.
        let skip_length = (end - self.history.first_open().min(end)).min(NDUPACK as u64);
        let intervals = self.history.intervals();
        // Of synthetic intervals only the newest is reported, which has the position of the one that it
        // replaces: all of them would cover more packets than were ever sent.
        let synthetic = intervals.iter().skip(1).position(|interval| interval.lossy_end == interval.first);
        let intervals = &intervals[..synthetic.map_or(intervals.len(), |position| position + 2)];
        IntervalReport { skip_length, end: end - skip_length, intervals }
    }
}

impl<'a> IntervalReport<'a> {
    /// The lengths of the intervals, the newest first.
    pub fn lengths(self) -> impl Iterator<Item = IntervalLengths> + 'a {
        let seen_loss = self.intervals.len() > 1;
        self.intervals.iter().enumerate().map(move |(i, interval)| {
            let is_open = i == 0;
            let end = if is_open { self.end } else { interval.end };
            let data = match (is_open, seen_loss) {
                // RFC 4342, Section 6.1.1: before any loss, the Data Length is undefined; it is zero here.
                (true, false) => 0,
                (true, true) => (end - interval.first).saturating_sub(interval.empty).max(1),
                (false, _) => interval.data_length() as u64,
            };
            let loss_length = interval.lossy_end - interval.first;
            let lossless = saturate(end - interval.lossy_end, MAX_LENGTH);
            let loss = saturate(loss_length, MAX_LOSS_LENGTH);
            // If the other lengths are too long for their fields, this one still must not exceed their sum
            // (RFC 4342, Section 6.1.1), or the report is invalid. The interval before the first loss may.
            let most = if loss > 0 { lossless + loss } else { MAX_LENGTH };
            let data = saturate(data, most.min(MAX_LENGTH));
            let losses = u32::try_from(interval.losses.min(loss_length)).unwrap_or(u32::MAX);
            IntervalLengths { lossless, loss, data, losses }
        })
    }
}

fn saturate(length: u64, most: u32) -> u32 {
    u32::try_from(length).unwrap_or(most).min(most)
}
