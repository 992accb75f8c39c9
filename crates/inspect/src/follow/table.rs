//! Statistics per interval.

use serde::Serialize;
use whimbrel_units::{Duration, Instant};

use super::rtt::Spread;
use crate::names::seconds as in_seconds;

#[cfg(test)]
mod tests;

/// Maximum number of rows kept. If more are needed, intervals become twice as long.
const MAX_ROWS: usize = 4096;

/// Statistics of one direction in an interval.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Row {
    index: u64,
    pub(crate) packets: u64,
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) acknowledged: u64,
    pub(crate) holes: i64,
    pub(crate) lost: i64,
    /// Acknowledgements with an Ack Vector.
    pub(crate) ack_vectors: u64,
    pub(crate) marked_here: u64,
    pub(crate) marked: u64,
    pub(crate) syncs: u64,
    /// Retransmitted segments of TCP.
    pub(crate) retransmitted: u64,
    pub(crate) loss_event_rate: Option<f64>,
    received: f64,
    received_in: Duration,
    pub(crate) rtt: Spread,
}

impl Row {
    /// Processes a receive rate in bytes per second that applies to `time`.
    pub(crate) fn add_receive_rate(&mut self, rate: u32, time: Duration) {
        self.received += f64::from(rate) * time.as_secs_f64();
        self.received_in += time;
    }

    fn merge(&mut self, later: &Self) {
        self.packets += later.packets;
        self.datagrams += later.datagrams;
        self.bytes += later.bytes;
        self.acknowledged += later.acknowledged;
        self.holes += later.holes;
        self.lost += later.lost;
        self.ack_vectors += later.ack_vectors;
        self.marked_here += later.marked_here;
        self.marked += later.marked;
        self.syncs += later.syncs;
        self.retransmitted += later.retransmitted;
        self.loss_event_rate = later.loss_event_rate.or(self.loss_event_rate);
        self.received += later.received;
        self.received_in += later.received_in;
        self.rtt.merge(&later.rtt);
    }
}

/// An interval's row, in the units of the report.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Start of the interval, in seconds since the capture's first packet.
    pub start_s: f64,
    /// Length in seconds: the last interval ends with the connection, and one without packets with the next
    /// packet's interval.
    pub length_s: f64,
    /// Packets captured.
    pub packets: u64,
    /// Of these, packets with application data.
    pub datagrams: u64,
    /// Application data captured, in bit/s.
    pub send_rate_bps: f64,
    /// Application data received, in bit/s: by Ack Vectors, or by the receiver's Receive Rates, each for the
    /// time since the previous one.
    pub goodput_bps: Option<f64>,
    /// Sequence numbers that were not captured, minus those that were late; `None` if no packet of this
    /// direction was captured in the interval.
    pub holes: Option<i64>,
    /// Packets reported as not received by Ack Vectors, minus those reported as received later; `None` if no
    /// Ack Vector was captured in the interval.
    pub lost: Option<i64>,
    /// The last loss event rate that the receiver reported, from 0 to 1.
    pub loss_event_rate: Option<f64>,
    /// Mean round-trip time from the capture point to the receiver, in seconds.
    pub rtt_s: Option<f64>,
    /// Packets captured with ECN codepoint CE.
    pub marked_here: u64,
    /// Packets reported as marked by the receiver; `None` if no Ack Vector was captured in the interval.
    pub marked: Option<u64>,
    /// Sync and SyncAck packets.
    pub syncs: u64,
    /// Retransmitted segments of TCP.
    #[serde(skip)]
    pub retransmitted: u64,
}

/// The rows of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    start: Instant,
    width: Duration,
    rows: Vec<Row>,
}

impl Table {
    /// A table with intervals of `width`, the first one starting at `start`.
    pub(crate) fn new(start: Instant, width: Duration) -> Self {
        let width = if width.is_zero() { Duration::from_secs(1) } else { width };
        Self { start, width, rows: Vec::new() }
    }

    /// The row of the interval that contains `at`. A decreasing time counts as unchanged.
    pub(crate) fn row(&mut self, at: Instant) -> &mut Row {
        if self.rows.len() == MAX_ROWS && self.is_beyond(at) {
            self.widen();
        }
        if self.rows.is_empty() || self.is_beyond(at) {
            let index = self.index(at);
            self.rows.push(Row { index, ..Row::default() });
        }
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    fn index(&self, at: Instant) -> u64 {
        at.saturating_since(self.start).as_nanos() / self.width.as_nanos()
    }

    fn is_beyond(&self, at: Instant) -> bool {
        self.rows.last().is_some_and(|row| row.index < self.index(at))
    }

    /// Doubles the interval length until the rows fit.
    fn widen(&mut self) {
        while self.rows.len() == MAX_ROWS {
            let Some(width) = self.width.as_nanos().checked_mul(2) else { return };
            self.width = Duration::from_nanos(width);
            let mut rows: Vec<Row> = Vec::with_capacity(MAX_ROWS);
            for row in &self.rows {
                let index = row.index / 2;
                match rows.last_mut() {
                    Some(last) if last.index == index => last.merge(row),
                    _ => rows.push(Row { index, ..*row }),
                }
            }
            self.rows = rows;
        }
    }

    /// The resulting interval length.
    pub(crate) fn width(&self) -> Duration {
        self.width
    }

    /// The rows in the units of the report. `zero`: the capture's first packet; `last`: the connection's
    /// last.
    pub(crate) fn intervals(&self, zero: Instant, last: Instant) -> Vec<Interval> {
        let whole = last.saturating_since(self.start).as_nanos();
        let mut intervals = Vec::with_capacity(self.rows.len());
        let mut next = 0;
        for row in &self.rows {
            // Intervals without packets are one row.
            if row.index > next {
                intervals.push(self.interval(
                    &Row { index: next, ..Row::default() },
                    row.index - next,
                    zero,
                    whole,
                ));
            }
            intervals.push(self.interval(row, 1, zero, whole));
            next = row.index + 1;
        }
        intervals
    }

    /// `row` over a number of intervals, of a connection that took `whole` nanoseconds.
    fn interval(&self, row: &Row, intervals: u64, zero: Instant, whole: u64) -> Interval {
        let width = self.width.as_nanos();
        let begin = row.index.saturating_mul(width);
        let length = whole.saturating_sub(begin).min(width.saturating_mul(intervals));
        let seconds = in_seconds(Duration::from_nanos(length));
        let rate = |bytes: f64| if length == 0 { 0.0 } else { bytes * 8.0 / seconds };
        let reported =
            (!row.received_in.is_zero()).then(|| row.received * 8.0 / row.received_in.as_secs_f64());
        let acknowledged = (row.acknowledged > 0).then(|| rate(row.acknowledged as f64));
        Interval {
            start_s: in_seconds(self.start.saturating_since(zero) + Duration::from_nanos(begin)),
            length_s: seconds,
            packets: row.packets,
            datagrams: row.datagrams,
            send_rate_bps: rate(row.bytes as f64),
            goodput_bps: acknowledged.or(reported),
            holes: (row.packets > 0).then_some(row.holes),
            lost: (row.ack_vectors > 0).then_some(row.lost),
            loss_event_rate: row.loss_event_rate,
            rtt_s: row.rtt.mean().map(in_seconds),
            marked_here: row.marked_here,
            marked: (row.ack_vectors > 0).then_some(row.marked),
            syncs: row.syncs,
            retransmitted: row.retransmitted,
        }
    }
}
