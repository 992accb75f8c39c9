//! Data in any order: each segment is acknowledged by its number, and handed over when it arrives.

use std::collections::VecDeque;

use crate::tcp::ranges::{ByteRange, RangeSet};
use crate::tcp::segment::Segment;

/// The data that has arrived, and the acknowledgements to send.
#[derive(Clone, Default, Debug)]
pub(super) struct Unordered {
    arrived: RangeSet,
    /// Bytes of `arrived`.
    pub(super) bytes: u64,
    /// Sequence space of segments that no acknowledgement covers yet.
    owed: VecDeque<ByteRange>,
}

impl Unordered {
    /// Processes a segment, and returns `true` if a byte of it is new.
    pub(super) fn handle_segment(&mut self, segment: &Segment) -> bool {
        self.owed.push_back(ByteRange::new(segment.seq, segment.end()));
        let before = self.bytes;
        let data = ByteRange::new(segment.seq, segment.seq + u64::from(segment.length));
        if data.length() > 0 {
            self.arrived.insert(data, |piece| self.bytes += piece.length());
        }
        self.bytes > before
    }

    /// The next acknowledgement: the sequence number of a segment, and its end as acknowledgement number.
    pub(super) fn poll_transmit(&mut self) -> Option<Segment> {
        let range = self.owed.pop_front()?;
        Some(Segment { seq: range.start, ack: range.end, ..Segment::default() })
    }
}
