//! Arrivals of packets with transport-wide sequence numbers, and the feedback about them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use whimbrel_units::Instant;

use crate::transport_feedback::{Received, TICK, TransportFeedback};

#[cfg(test)]
mod tests;

/// Received packets in one message, which has then 1100 bytes at most: four for the chunks of each packet and
/// two for its delta.
const MAX_RECEIVED: usize = 180;
/// Arrivals that wait for a report; beyond, the oldest is not reported as received.
const MAX_WAITING: usize = 8192;
/// A packet that is further behind the latest one is the first of another transport, or of one that has begun
/// again.
const MAX_LATE: i16 = 3000;
/// Ticks in a unit of the reference time.
const REFERENCE: u64 = 256;

/// The arrivals of a transport's packets that have not been reported yet.
///
/// A report covers the packets after the last one of the report before. A packet that arrives when later ones
/// have been reported gets a report of its own.
///
/// ```
/// use whimbrel_rtp::ArrivalLog;
/// use whimbrel_units::Instant;
///
/// let mut log = ArrivalLog::new();
/// log.record(10, Instant::from_millis(100));
/// log.record(12, Instant::from_millis(104));
/// let feedback = log.poll(1, 2).expect("a report");
/// assert_eq!((feedback.base, feedback.count, feedback.received.len()), (10, 3, 2));
/// assert_eq!(log.poll(1, 2), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArrivalLog {
    /// Arrivals that wait for a report, in ticks, by the number of the packet without wrap.
    waiting: BTreeMap<u64, u64>,
    /// The latest packet, and the first one that no report has covered.
    latest: Option<u64>,
    next: u64,
    /// Number of the next report.
    number: u8,
}

impl ArrivalLog {
    /// A log without arrivals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the arrival of a packet. Of several with the same number the first one counts, until it is
    /// reported.
    pub fn record(&mut self, sequence: u16, at: Instant) {
        // Numbers begin at 2^16, so that earlier ones are positive.
        let first = u64::from(sequence) + (1 << 16);
        let number = match self.latest {
            None => self.restart(first),
            Some(latest) => match sequence.wrapping_sub(latest as u16) as i16 {
                ahead if ahead >= 0 => latest + ahead as u64,
                behind if behind < -MAX_LATE => self.restart(first),
                behind => latest - u64::from(behind.unsigned_abs()),
            },
        };
        self.latest = self.latest.max(Some(number));
        self.waiting.entry(number).or_insert(at.as_nanos() / TICK.as_nanos());
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_first();
        }
    }

    /// Forgets the packets so far; the number of the reports goes on. Returns the first packet's number.
    fn restart(&mut self, first: u64) -> u64 {
        *self = Self { next: first, latest: Some(first), number: self.number, ..Self::default() };
        first
    }

    /// `true` if there is an arrival to report.
    pub fn has_arrivals(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next report; `None` if all arrivals have been reported. `sender`: the SSRC of this end; `media`: a
    /// stream's.
    ///
    /// A message has 1100 bytes at most, so many arrivals take several.
    pub fn poll(&mut self, sender: u32, media: u32) -> Option<TransportFeedback> {
        let (first, time) = self.waiting.iter().next().map(|(number, time)| (*number, *time))?;
        let is_late = first < self.next;
        // Packets between the last report and the first arrival are lost, or will be late.
        let base = if is_late || first - self.next >= u64::from(u16::MAX) { first } else { self.next };
        let reference = time / REFERENCE;
        let (mut before, mut end) = (reference * REFERENCE, base);
        let mut received: Vec<Received> = Vec::new();
        while let Some(entry) = self.waiting.first_entry().filter(|_| received.len() < MAX_RECEIVED) {
            let (number, time) = (*entry.key(), *entry.get());
            // A late packet does not report those again that are between it and another one.
            let continues = !is_late || received.is_empty() || (number == end && number < self.next);
            let delta = i16::try_from(time.wrapping_sub(before) as i64);
            let (Ok(offset), Ok(delta), true) = (u16::try_from(number - base), delta, continues) else {
                break;
            };
            if offset == u16::MAX {
                break;
            }
            entry.remove();
            received.push(Received { offset, delta });
            (before, end) = (time, number + 1);
        }
        self.next = self.next.max(end);
        let number = self.number;
        self.number = number.wrapping_add(1);
        let count = (end - base) as u16;
        Some(TransportFeedback {
            sender,
            media,
            base: base as u16,
            count,
            // 24 bits with a sign.
            reference: (reference as u32 as i32) << 8 >> 8,
            number,
            received,
        })
    }
}
