//! No repair before all data was sent once: the agent of RCP's authors for ns-2.
//!
//! The receiver acknowledges each segment by its number. When the application has ended and all of its data
//! was sent, what is not acknowledged is sent again, from below, in passes with a pause of two round-trip
//! times. Data of an application that does not end is never sent again. The authors' sender knows the number
//! of acknowledged packets only, and sends as many as are missing; with lost acknowledgements the two differ.

use std::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::TcpSender;
use super::transmit::Choice;
use crate::tcp::ranges::{ByteRange, RangeSet};
use crate::tcp::segment::Segment;

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
    fn without_holes(&self) -> u64 {
        self.acknowledged.first().filter(|range| range.start == 0).map_or(0, |range| range.end)
    }

    fn on_acknowledged(&mut self, range: ByteRange) {
        self.acknowledged.insert(range, |_| ());
        let Some(position) = self.outstanding.iter().position(|sent| sent.start == range.start) else {
            return;
        };
        for sent in self.outstanding.drain(..=position) {
            self.in_network -= sent.length();
        }
    }
}

impl TcpSender {
    pub(super) fn choose_at_the_end(&mut self) -> Option<Choice> {
        let room = self.congestion_window().min(self.receive_window());
        let repeats = &self.at_the_end;
        let choice = match self.new_data() {
            Some(range) => Choice::New(range),
            None => {
                let hole = repeats.position.and_then(|position| repeats.hole(position, self.high));
                let Some(hole) = hole else {
                    self.window_used = false;
                    return None;
                };
                Choice::Retransmission(self.cut(hole.start, hole.end))
            }
        };
        (repeats.in_network + self.payload(choice.range()) <= room).then_some(choice)
    }

    /// Records a segment that is sent.
    pub(super) fn note_outstanding(&mut self, now: Instant, range: ByteRange) {
        let repeats = &mut self.at_the_end;
        if let Some(position) = &mut repeats.position {
            *position = range.end;
        }
        repeats.outstanding.push_back(range);
        repeats.in_network += range.length();
        self.await_acknowledgements(now);
    }

    pub(super) fn on_ack_of_one_segment(&mut self, now: Instant, segment: &Segment) {
        self.timers.last_acknowledged = now;
        self.measure(now, segment);
        self.at_the_end.on_acknowledged(ByteRange::new(segment.seq, segment.ack));
        self.unacknowledged = self.at_the_end.without_holes();
        self.await_acknowledgements(now);
    }

    /// No acknowledgement for two round-trip times: nothing is in the network. If all data was sent, what is
    /// missing is sent again.
    pub(super) fn on_silence(&mut self) {
        self.counts.timeouts += 1;
        self.timers.retransmission = None;
        self.at_the_end.outstanding.clear();
        self.at_the_end.in_network = 0;
        if self.stream.is_closed() && self.new_data().is_none() {
            self.at_the_end.position = Some(0);
        }
    }

    fn await_acknowledgements(&mut self, now: Instant) {
        let pause = self.rtt.smoothed().map_or(self.rtt.rto(), |rtt| (rtt * 2).max(SHORTEST));
        self.timers.retransmission = (!self.is_finished()).then(|| now + pause);
    }
}
