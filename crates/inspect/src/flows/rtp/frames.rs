//! Frames of an RTP stream: the packets with one timestamp.

use std::collections::VecDeque;

/// Frames that may still get packets that were overtaken.
const OPEN: usize = 32;

/// A frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    timestamp: i64,
    first: u64,
    last: u64,
    packets: u64,
    has_marker: bool,
}

/// Counts frames, and those without a missing packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    open: VecDeque<Frame>,
    /// The last number of the frame before the open ones.
    before: Option<u64>,
    total: u64,
    whole: u64,
    /// `true` if the stream marks the last packets of its frames.
    has_markers: bool,
}

impl Frames {
    /// The timestamps begin anew.
    pub(super) fn restart(&mut self) {
        while self.close() {}
    }

    /// Processes a packet with a new number.
    pub(super) fn on_packet(&mut self, sequence: u64, timestamp: i64, marker: bool) {
        self.has_markers |= marker;
        if let Some(frame) = self.open.iter_mut().rev().find(|frame| frame.timestamp == timestamp) {
            frame.first = frame.first.min(sequence);
            frame.last = frame.last.max(sequence);
            frame.packets += 1;
            frame.has_marker |= marker;
            return;
        }
        // Frames are coded in another order than they are shown: their numbers have the order of the stream.
        let at = self.open.iter().rposition(|frame| frame.first < sequence).map_or(0, |index| index + 1);
        let new = Frame { timestamp, first: sequence, last: sequence, packets: 1, has_marker: marker };
        self.open.insert(at, new);
        if self.open.len() > OPEN {
            self.close();
        }
    }

    fn close(&mut self) -> bool {
        let Some(frame) = self.open.pop_front() else { return false };
        let is_whole = self.is_whole(&frame, self.before);
        self.total += 1;
        self.whole += u64::from(is_whole);
        self.before = Some(frame.last);
        true
    }

    /// `true` if no packet of the frame is missing. Its beginning follows the frame before; its end has the
    /// marker.
    fn is_whole(&self, frame: &Frame, before: Option<u64>) -> bool {
        frame.packets == frame.last - frame.first + 1
            && before.is_none_or(|before| before + 1 == frame.first)
            && (frame.has_marker || !self.has_markers)
    }

    /// Number of frames, and of those without a missing packet.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let (mut total, mut whole, mut before) = (self.total, self.whole, self.before);
        for (index, frame) in self.open.iter().enumerate() {
            // The last one may continue after the capture.
            let is_last = index + 1 == self.open.len();
            let frame = Frame { has_marker: frame.has_marker || is_last, ..*frame };
            total += 1;
            whole += u64::from(self.is_whole(&frame, before));
            before = Some(frame.last);
        }
        (total, whole)
    }
}
