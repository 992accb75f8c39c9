//! Counts frames in RTP streams: frames sent by local programs, and how much of each frame of the peer's
//! programs has arrived.
//!
//! The sequence numbers show how many packets are missing, and the marker bits and timestamps in which
//! frames: after a frame that has ended, a packet is missing of the next one. Of a frame of which nothing has
//! arrived only the timestamps say, by the usual distance of two frames: where that changes, or pictures are
//! sent in another order than they are shown, such frames may be counted as one, with a neighbour.

use std::collections::VecDeque;

use serde::Serialize;
use whimbrel_rtp::{FrameId, Media, RtpPacket};

/// Streams of a flow that are followed; the oldest makes room.
const MAX_STREAMS: usize = 8;
/// Frames of a stream whose packets may still come.
const OPEN: usize = 2;
/// The longest gap in the sequence numbers (RFC 3550, Appendix A.1: MAX_DROPOUT). After a longer one a stream
/// begins anew.
const MAX_GAP: i16 = 3000;

/// Frames of a flow of RTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct FrameCounts {
    /// Frames that local programs have sent.
    pub(crate) sent: u64,
    /// Frames of the peer's programs that have arrived without a repair.
    pub(crate) whole: u64,
    /// Frames that have arrived with packets that the path had lost.
    pub(crate) repaired: u64,
    /// Frames with a missing packet.
    pub(crate) given_up: u64,
}

/// The frames of a flow, in both directions.
#[derive(Debug, Default)]
pub(super) struct Frames {
    counts: FrameCounts,
    /// The newest frame of each stream that is sent.
    sent: VecDeque<FrameId>,
    received: VecDeque<Stream>,
}

/// A stream that is received.
#[derive(Debug)]
struct Stream {
    source: u32,
    /// The highest sequence number.
    highest: u16,
    /// Distance of two frames, in units of the timestamp.
    step: Option<i32>,
    open: VecDeque<Frame>,
}

/// A frame whose packets may still come.
#[derive(Debug)]
struct Frame {
    number: u32,
    timestamp: u32,
    missing: u32,
    is_repaired: bool,
    /// `None` if the stream has no marker bits.
    has_ended: Option<bool>,
}

impl Frames {
    pub(super) fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// A local program has sent a packet of a frame.
    pub(super) fn on_sent(&mut self, frame: FrameId) {
        match self.sent.iter_mut().find(|newest| newest.source == frame.source) {
            // A packet that was overtaken belongs to an earlier one.
            Some(newest) if frame.number <= newest.number => return,
            Some(newest) => *newest = frame,
            None => {
                self.sent.truncate(MAX_STREAMS - 1);
                self.sent.push_front(frame);
            }
        }
        self.counts.sent += 1;
    }

    /// A packet of a frame has arrived.
    pub(super) fn on_received(&mut self, media: &Media, packet: &RtpPacket<'_>, is_repaired: bool) {
        let (source, sequence) = (media.frame.source, packet.sequence());
        let known = self.received.iter_mut().find(|stream| stream.source == source);
        let stream = match known {
            Some(stream) if sequence.wrapping_sub(stream.highest).cast_signed() <= MAX_GAP => stream,
            _ => {
                self.received.retain(|stream| stream.source != source);
                self.received.truncate(MAX_STREAMS - 1);
                let highest = sequence.wrapping_sub(1);
                self.received.push_front(Stream { source, highest, step: None, open: VecDeque::new() });
                &mut self.received[0]
            }
        };
        stream.on_packet(&mut self.counts, media, packet, is_repaired);
    }
}

impl Stream {
    fn on_packet(
        &mut self,
        counts: &mut FrameCounts,
        media: &Media,
        packet: &RtpPacket<'_>,
        is_repaired: bool,
    ) {
        let number = media.frame.number;
        let ahead = packet.sequence().wrapping_sub(self.highest).cast_signed();
        if ahead <= 0 {
            return self.on_late(number, ahead, is_repaired);
        }
        self.highest = packet.sequence();
        let missing = u32::from(ahead.unsigned_abs()) - 1;
        let mut frame = Frame {
            number,
            timestamp: packet.timestamp(),
            missing: 0,
            is_repaired,
            has_ended: media.ends_frame,
        };
        if let Some(last) = self.open.back_mut() {
            if last.number == number {
                last.missing += missing;
                last.is_repaired |= is_repaired;
                last.has_ended = media.ends_frame;
                return;
            }
            let moved = frame.timestamp.wrapping_sub(last.timestamp).cast_signed();
            let between = self.step.map_or(0, |step| lost_between(moved, step));
            let least_of_last = u32::from(last.has_ended == Some(false)).min(missing);
            let whole = between.min(missing - least_of_last);
            counts.given_up += u64::from(whole);
            match (last.has_ended, missing - whole) {
                (Some(true), rest) if whole == 0 => frame.missing = rest,
                // Further packets of the frames between them.
                (Some(true), _) => {}
                (_, rest) => last.missing += rest,
            }
            if missing == 0 && moved > 0 {
                self.step = Some(moved);
            }
        }
        self.open.push_back(frame);
        while self.open.len() > OPEN {
            let Some(frame) = self.open.pop_front() else { return };
            let count = match frame {
                Frame { missing: 1.., .. } => &mut counts.given_up,
                Frame { is_repaired: true, .. } => &mut counts.repaired,
                _ => &mut counts.whole,
            };
            *count += 1;
        }
    }

    /// A packet that others have overtaken, or that came before.
    fn on_late(&mut self, number: u32, ahead: i16, is_repaired: bool) {
        if ahead == 0 {
            return;
        }
        let own = self.open.iter().position(|frame| frame.number == number && frame.missing > 0);
        // Between two frames it is not known of which a packet is missing.
        let place = own.or_else(|| self.open.iter().position(|frame| frame.missing > 0));
        if let Some(place) = place {
            self.open[place].missing -= 1;
            self.open[place].is_repaired |= is_repaired;
        }
    }
}

/// Frames of which nothing has come, between two that are so far apart.
fn lost_between(moved: i32, step: i32) -> u32 {
    let steps = (i64::from(moved) + i64::from(step) / 2) / i64::from(step).max(1);
    u32::try_from(steps - 1).unwrap_or(0)
}

#[cfg(test)]
mod tests;
