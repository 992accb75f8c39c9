//! No repair before all data was sent once: the agent of RCP's authors for ns-2.
//!
//! The receiver acknowledges each segment by its number. When the application has ended and all of its data
//! was sent, what is not acknowledged is sent again, from below, in passes with a pause of two round-trip
//! times. Data of an application that does not end is never sent again. The authors' sender knows the number
//! of acknowledged packets only, and sends as many as are missing; with lost acknowledgements the two differ.

use std::collections::VecDeque;

use whimbrel_control::window::rto::RttEstimator;
use whimbrel_units::Duration;

use crate::tcp::ranges::{ByteRange, RangeSet};

/// The smallest pause between two passes: in a network without delay two round-trip times are none.
const SHORTEST: Duration = Duration::from_millis(1);

/// Acknowledged data, and segments that may be in the network.
#[derive(Clone, Debug, Default)]
pub(super) struct AtTheEnd {
    acknowledged: RangeSet,
    /// Segments in the order in which they were sent. The network keeps the order: the acknowledgement of a
    /// segment ends the wait for those before it.
    outstanding: VecDeque<ByteRange>,
    /// Bytes of `outstanding`.
    in_network: u64,
    /// The byte from which the present pass continues; `None` before the first.
    position: Option<u64>,
}

impl AtTheEnd {
    /// Bytes that may be in the network.
    pub(super) fn in_network(&self) -> u64 {
        self.in_network
    }

    /// The data below `end` that is not acknowledged, from `byte` on.
    fn hole(&self, byte: u64, end: u64) -> Option<ByteRange> {
        let start = match self.acknowledged.containing_or_after(byte) {
            Some(range) if range.start <= byte => range.end,
            _ => byte,
        };
        let hole_end = self.acknowledged.containing_or_after(start).map_or(end, |range| range.start.min(end));
        (start < hole_end).then(|| ByteRange::new(start, hole_end))
    }

    /// Bytes of data that were sent and are acknowledged without a hole before them.
    pub(super) fn without_holes(&self) -> u64 {
        self.acknowledged.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    /// The next data of the present pass that is not acknowledged, of the data below `high`.
    pub(super) fn missing(&self, high: u64) -> Option<ByteRange> {
        self.hole(self.position?, high)
    }

    /// Records a segment that is sent.
    pub(super) fn on_sent(&mut self, range: ByteRange) {
        if let Some(position) = &mut self.position {
            *position = range.end;
        }
        self.outstanding.push_back(range);
        self.in_network += range.length();
    }

    /// Nothing is in the network. If all data was sent, a pass through what is missing begins.
    pub(super) fn on_silence(&mut self, all_was_sent: bool) {
        self.outstanding.clear();
        self.in_network = 0;
        if all_was_sent {
            self.position = Some(0);
        }
    }

    pub(super) fn on_acknowledged(&mut self, range: ByteRange) {
        self.acknowledged.insert(range, |_| ());
        let Some(position) = self.outstanding.iter().position(|sent| sent.start == range.start) else {
            return;
        };
        for sent in self.outstanding.drain(..=position) {
            self.in_network -= sent.length();
        }
    }
}

/// Time without an acknowledgement after which nothing is in the network.
pub(super) fn pause(rtt: &RttEstimator) -> Duration {
    rtt.smoothed().map_or(rtt.rto(), |smoothed| (smoothed * 2).max(SHORTEST))
}
