//! Frames of live media: which arrive whole and in time, and for how long the picture stands still.

use std::collections::BTreeMap;

use whimbrel_units::{Duration, Instant};

/// The place of a datagram in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FramePart {
    /// The number of the frame.
    pub frame: u64,
    /// The datagram's place in it.
    pub index: u32,
    /// Datagrams of the frame.
    pub count: u32,
    /// `true` if the frame refers to no other.
    pub is_key: bool,
}

/// Outcomes of the frames of a flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FrameSummary {
    /// Frames that were handed over.
    pub sent: u64,
    /// Frames that arrived whole and in time.
    pub in_time: u64,
    /// Frames of these of which all are there that they refer to: those back to the last key frame.
    pub decodable: u64,
    /// Times for which the picture stood still, in ascending order.
    pub freezes: Vec<Duration>,
    /// Datagrams that repair brought.
    pub repaired: u64,
    /// Bytes of repeats, coded packets and identifiers, and bytes of the data.
    pub repair_bytes: u64,
    /// See `repair_bytes`.
    pub source_bytes: u64,
}

impl FrameSummary {
    /// The time for which the picture stood still in all.
    pub fn frozen(&self) -> Duration {
        self.freezes.iter().fold(Duration::ZERO, |sum, freeze| sum + *freeze)
    }

    /// The freeze than which so large a share of all is not longer.
    pub fn freeze(&self, share: f64) -> Duration {
        let last = self.freezes.len().saturating_sub(1);
        self.freezes.get((share * last as f64).round() as usize).copied().unwrap_or(Duration::ZERO)
    }
}

/// Watches the frames that arrive at an end.
#[derive(Debug)]
pub struct FrameMeter {
    /// Frames captured between these times count.
    from: Instant,
    until: Instant,
    /// A frame is in time if it is whole so long after the fastest datagram of its capture time could arrive.
    latency: Duration,
    /// The least time from capture to arrival.
    fastest: Option<Duration>,
    /// Datagrams of frames that are not whole.
    parts: BTreeMap<u64, u32>,
    /// The newest frame that was in time, and when its successor would have been shown.
    newest: Option<(u64, Instant)>,
    in_time: u64,
    /// The newest frame that can be decoded.
    newest_decodable: Option<u64>,
    decodable: u64,
    freezes: Vec<Duration>,
}

/// A frame may be later than the latency by this. A receiver that follows the sender's clock and the fastest
/// datagram of the last ten seconds, as `whimbrel-repair` does, delivers later than the fastest datagram of
/// all tells, which may have been a shorter one, and clocks drift by 5 ms in that time.
const TOLERANCE: Duration = Duration::from_millis(10);
/// Frames that may be incomplete at one time.
const MOST_PARTIAL: usize = 4096;

impl FrameMeter {
    /// Counts frames captured from `from` until before `until`.
    pub fn new(from: Instant, until: Instant, latency: Duration) -> Self {
        Self {
            from,
            until,
            latency,
            fastest: None,
            parts: BTreeMap::new(),
            newest: None,
            in_time: 0,
            newest_decodable: None,
            decodable: 0,
            freezes: Vec::new(),
        }
    }

    /// `true` if a frame of that time counts.
    pub fn counts(&self, captured: Instant) -> bool {
        (self.from..self.until).contains(&captured)
    }

    /// An original arrived.
    pub fn on_arrival(&mut self, now: Instant, captured: Instant) {
        let taken = now - captured;
        self.fastest = Some(self.fastest.map_or(taken, |fastest| fastest.min(taken)));
    }

    /// The time at which a datagram is due at a constant latency, by the fastest so far.
    pub fn due(&self, captured: Instant) -> Instant {
        captured + self.fastest.unwrap_or(Duration::ZERO) + self.latency
    }

    /// The application received a datagram.
    pub fn on_delivery(&mut self, now: Instant, captured: Instant, part: FramePart) {
        let received = self.parts.entry(part.frame).or_default();
        *received += 1;
        let is_whole = *received >= part.count;
        if self.parts.len() > MOST_PARTIAL {
            self.parts.pop_first();
        }
        if !is_whole {
            return;
        }
        self.parts.remove(&part.frame);
        let limit = self.due(captured) + TOLERANCE;
        if now > limit {
            return;
        }
        let refers_to = part.frame.checked_sub(1);
        let is_decodable = part.is_key || (refers_to.is_some() && self.newest_decodable == refers_to);
        if is_decodable {
            self.newest_decodable = Some(part.frame);
        }
        if !self.counts(captured) {
            return;
        }
        self.in_time += 1;
        self.decodable += u64::from(is_decodable);
        if let Some((newest, at)) = self.newest {
            let steps = part.frame.saturating_sub(newest);
            if steps == 0 {
                return;
            }
            if steps > 1 {
                // The picture stands still from when the first missing frame would have been shown.
                let since = now.saturating_since(at);
                self.freezes.push(since - since / steps);
            }
        }
        self.newest = Some((part.frame, now));
    }

    /// Outcomes of the frames that this end knows.
    pub fn summary(&self) -> FrameSummary {
        let mut freezes = self.freezes.clone();
        freezes.sort_unstable();
        FrameSummary { in_time: self.in_time, decodable: self.decodable, freezes, ..FrameSummary::default() }
    }
}

#[cfg(test)]
mod tests;
