//! One direction of a TCP connection at the capture point (RFC 9293): retransmissions, missing data,
//! round-trip times.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::follow::Spread;
use crate::segment::{Segment, TcpHeader};

#[cfg(test)]
mod tests;

/// Maximum number of ranges of missing data, and of segments that await acknowledgement.
const MAX_HOLES: usize = 256;
const MAX_SENT: usize = 4096;
/// Data that close a hole within this time were overtaken on the path, if the round-trip time is not known
/// yet: a retransmission takes longer.
const OVERTAKEN_WITHIN: Duration = Duration::from_millis(3);

/// The place of a segment's application data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpPlace {
    /// Number of its first byte, unwrapped.
    pub sequence: u64,
    /// Segments that are missing before it, of the size of the largest.
    pub missing: u64,
    /// The data was sent before: the first copy was captured, or lost before the capture point.
    pub is_retransmission: bool,
    /// The data was captured for the first time.
    pub is_new: bool,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Instant,
    is_repeated: bool,
}

#[derive(Clone, Copy, Debug)]
struct Hole {
    from: u64,
    to: u64,
    opened: Instant,
}

/// State of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpState {
    /// Number behind the last byte captured, unwrapped; `None` before the first segment.
    next: Option<u64>,
    holes: VecDeque<Hole>,
    sent: VecDeque<Sent>,
    largest: u32,
    pub(crate) rtt: Spread,
    /// Retransmitted segments, and their bytes.
    pub(crate) retransmissions: u64,
    pub(crate) retransmitted_bytes: u64,
    /// Of these, segments whose data was lost before the capture point.
    pub(crate) lost_before: u64,
    /// Segments that were overtaken.
    pub(crate) late: u64,
    pub(crate) is_closed: bool,
    pub(crate) is_reset: bool,
}

impl TcpState {
    /// Numbers of the first segment leave room below.
    const FIRST: u64 = 1 << 33;

    fn unwrap(&self, number: u32) -> u64 {
        match self.next {
            None => Self::FIRST + u64::from(number),
            Some(next) => next.wrapping_add_signed(i64::from(number.wrapping_sub(next as u32).cast_signed())),
        }
    }

    /// Processes a segment; returns the place of its data.
    pub(super) fn on_segment(&mut self, segment: &Segment<TcpHeader>) -> Option<TcpPlace> {
        let header = &segment.packet;
        self.is_closed |= header.flags & TcpHeader::FIN != 0;
        self.is_reset |= header.flags & TcpHeader::RST != 0;
        // Numbers of a Reset may follow the other end's view.
        if header.flags & TcpHeader::RST != 0 {
            return None;
        }
        let is_syn = header.flags & TcpHeader::SYN != 0;
        let numbered = header.sequence.wrapping_add(u32::from(is_syn));
        if is_syn && self.next.is_some_and(|next| numbered != next as u32 && self.is_closed) {
            // Another connection between the same ports.
            *self = Self { rtt: self.rtt, ..Self::default() };
        }
        let start = self.unwrap(numbered);
        if is_syn && self.next.is_none() {
            self.sent.push_back(Sent { end: start, at: segment.first_at, is_repeated: false });
        }
        let next = *self.next.get_or_insert(start);
        let size = u64::from(header.size);
        // A probe of the other end has the last byte again.
        if size == 0 || size == 1 && start + 1 == next {
            return None;
        }
        self.largest = self.largest.max(header.size.min(1 << 16));
        let end = start.saturating_add(size);
        let mut place = TcpPlace { sequence: start, missing: 0, is_retransmission: false, is_new: true };
        if start > next {
            place.missing = (start - next).div_ceil(u64::from(self.largest));
            if self.holes.len() == MAX_HOLES {
                self.holes.pop_front();
            }
            self.holes.push_back(Hole { from: next, to: start, opened: segment.at });
        }
        if start < next {
            let fills = self.fill(start, end.min(next));
            place.is_new = fills.is_some() || end > next;
            let within = if self.rtt.count > 0 { self.rtt.least } else { OVERTAKEN_WITHIN };
            let is_late = fills.is_some_and(|opened| segment.at.saturating_since(opened) < within);
            if is_late {
                self.late += 1;
            } else {
                place.is_retransmission = true;
                self.retransmissions += 1;
                self.retransmitted_bytes += end.min(next) - start;
                self.lost_before += u64::from(fills.is_some());
                self.mark_repeated(start, end);
            }
        }
        if end > next {
            self.next = Some(end);
            if self.sent.len() == MAX_SENT {
                self.sent.pop_front();
            }
            self.sent.push_back(Sent { end, at: segment.first_at, is_repeated: place.is_retransmission });
        }
        Some(place)
    }

    /// Removes a range from the holes; returns the time at which the first of those was opened.
    fn fill(&mut self, start: u64, end: u64) -> Option<Instant> {
        let mut opened = None;
        let mut rest = VecDeque::with_capacity(self.holes.len() + 1);
        for hole in self.holes.drain(..) {
            if hole.to <= start || hole.from >= end {
                rest.push_back(hole);
                continue;
            }
            opened = opened.or(Some(hole.opened));
            if hole.from < start {
                rest.push_back(Hole { to: start, ..hole });
            }
            if hole.to > end {
                rest.push_back(Hole { from: end, ..hole });
            }
        }
        rest.truncate(MAX_HOLES);
        self.holes = rest;
        opened
    }

    fn mark_repeated(&mut self, start: u64, end: u64) {
        let from = self.sent.partition_point(|sent| sent.end <= start);
        // Segments end in the order of their numbers; the one that contains `end` is repeated as well.
        for sent in self.sent.iter_mut().skip(from) {
            sent.is_repeated = true;
            if sent.end >= end {
                break;
            }
        }
    }

    /// Processes an acknowledgement of the other end; returns a sample of the round-trip time to it.
    pub(super) fn on_ack(&mut self, at: Instant, ack: u32) -> Option<Duration> {
        let next = self.next?;
        let ack = self.unwrap(ack);
        // FIN has a number of its own.
        if ack > next + 1 {
            return None;
        }
        let mut newest = None;
        while let Some(sent) = self.sent.front().filter(|sent| sent.end <= ack) {
            newest = Some(*sent);
            self.sent.pop_front();
        }
        // RFC 6298, Section 3: no samples of repeated segments.
        let sent = newest.filter(|sent| !sent.is_repeated)?;
        let rtt = at.saturating_since(sent.at);
        self.rtt.add(rtt);
        Some(rtt)
    }

    /// Bytes between the first and the last that were not captured.
    pub(crate) fn missing_bytes(&self) -> u64 {
        self.holes.iter().map(|hole| hole.to - hole.from).sum()
    }
}
