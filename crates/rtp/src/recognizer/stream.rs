//! One stream: the evidence for it, and its frames.

use whimbrel_units::{Duration, Instant};

use crate::RtpPacket;

/// Packets in sequence that make a stream, and contradictions in a row that unmake it.
const SEQUENTIAL: u8 = 5;
const CONTRADICTIONS: u8 = 5;
/// The longest gap in the sequence numbers of what is not recognized yet: programs lose little on the way to
/// this host.
const SMALL_GAP: u16 = 16;
/// The longest gap and the most reordering of a stream (RFC 3550, Appendix A.1: MAX_DROPOUT, MAX_MISORDER).
const MAX_DROPOUT: u16 = 3000;
const MAX_MISORDER: u16 = 100;
/// The slowest and the fastest clock of a timestamp, in units per second: text has 1000 (RFC 4103), audio
/// 192,000, video 90,000.
const SLOWEST: u64 = 500;
const FASTEST: u64 = 1_000_000;
/// Time for which a timestamp may be ahead or behind: pictures are sent in the order in which they are
/// decoded.
const LEEWAY: Duration = Duration::from_secs(1);
/// Time in which a timestamp must have moved; then the measurement begins again.
const MEASURED: Duration = Duration::from_secs(5);
/// Time after which a frame has ended, though the timestamp stands still: telephone events (RFC 4733) and
/// some senders do not move it. A key frame that is paced for longer is rare.
const FRAME_TIME: Duration = Duration::from_millis(250);
/// Frames of which packets may still come: the last ones that were overtaken.
const OPEN_FRAMES: usize = 4;

/// The evidence of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// The next of its stream.
    Good,
    /// Of its stream, after a loss, or late.
    Neutral,
    /// With the number of the packet before: a sender may send each packet twice, but other protocols have a
    /// constant there.
    Repeated,
    /// Of a stream that was not known.
    Unknown,
    /// The packet contradicts its stream.
    Bad,
}

/// A frame whose packets may still come.
#[derive(Clone, Copy, Debug)]
struct Frame {
    number: u32,
    timestamp: u32,
    began: Instant,
    /// Sequence number of the packet with the marker bit, if it came.
    end: Option<u16>,
}

impl Frame {
    fn has(&self, now: Instant, packet: &RtpPacket<'_>) -> bool {
        let is_before_end = self.end.is_none_or(|end| (packet.sequence().wrapping_sub(end) as i16) <= 0);
        packet.timestamp() == self.timestamp && now < self.began + FRAME_TIME && is_before_end
    }
}

/// A stream of a flow, or what may be one.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) source: u32,
    /// Time of the last packet.
    pub(super) used: Instant,
    /// The highest sequence number, and the timestamp of the last packet.
    sequence: u16,
    timestamp: u32,
    /// Time and timestamp from which the clock is measured.
    origin: (Instant, u32),
    sequential: u8,
    contradictions: u8,
    has_evidence: bool,
    frames: [Option<Frame>; OPEN_FRAMES],
    next_frame: u32,
    /// The frame before the newest had a marker bit at its end.
    has_markers: bool,
}

impl Stream {
    pub(super) fn new(now: Instant, packet: &RtpPacket<'_>) -> Self {
        Self {
            source: packet.source(),
            used: now,
            sequence: packet.sequence(),
            timestamp: packet.timestamp(),
            origin: (now, packet.timestamp()),
            sequential: 0,
            contradictions: 0,
            has_evidence: false,
            frames: [None; OPEN_FRAMES],
            next_frame: 0,
            has_markers: false,
        }
    }

    pub(super) fn has_evidence(&self) -> bool {
        self.has_evidence
    }

    pub(super) fn is_recognized(&self, is_announced: bool) -> bool {
        self.has_evidence || is_announced
    }

    /// A packet with the stream's SSRC has arrived.
    pub(super) fn on_packet(&mut self, now: Instant, packet: &RtpPacket<'_>) -> Fit {
        let step = packet.sequence().wrapping_sub(self.sequence);
        let is_late = step.wrapping_neg() <= MAX_MISORDER && step != 0;
        let moved = packet.timestamp().wrapping_sub(self.timestamp).cast_signed().unsigned_abs();
        let elapsed = now.saturating_since(self.used);
        let is_plausible = u64::from(moved) <= units(FASTEST, elapsed + LEEWAY);
        let fit = match step {
            _ if !is_plausible => Fit::Bad,
            0 => Fit::Repeated,
            1 => Fit::Good,
            2..=SMALL_GAP => Fit::Neutral,
            2..=MAX_DROPOUT if self.has_evidence => Fit::Neutral,
            _ if is_late => Fit::Neutral,
            _ => Fit::Bad,
        };
        self.used = now;
        if !is_late || fit == Fit::Bad {
            (self.sequence, self.timestamp) = (packet.sequence(), packet.timestamp());
        }
        match fit {
            Fit::Good => self.on_good(now),
            Fit::Repeated => self.contradict(),
            Fit::Bad => {
                (self.sequential, self.origin) = (0, (now, self.timestamp));
                self.contradict();
            }
            Fit::Neutral | Fit::Unknown => {}
        }
        fit
    }

    fn on_good(&mut self, now: Instant) {
        (self.contradictions, self.sequential) = (0, self.sequential.saturating_add(1));
        if self.has_evidence {
            return;
        }
        let (since, first) = self.origin;
        let (elapsed, moved) = (now.saturating_since(since), self.timestamp.wrapping_sub(first));
        let moved = u64::from(moved.cast_signed().unsigned_abs());
        let moves = moved > 0 && moved >= units(SLOWEST, elapsed);
        self.has_evidence = self.sequential >= SEQUENTIAL && moves;
        if !self.has_evidence && elapsed > MEASURED {
            self.origin = (now, self.timestamp);
        }
    }

    fn contradict(&mut self) {
        self.contradictions = self.contradictions.saturating_add(1);
        self.has_evidence &= self.contradictions < CONTRADICTIONS;
    }

    /// `true` if the frame before the newest had a marker bit at its end.
    pub(super) fn has_markers(&self) -> bool {
        self.has_markers
    }

    /// The number of a packet's frame: an open one, or a new one.
    pub(super) fn frame(&mut self, now: Instant, packet: &RtpPacket<'_>) -> u32 {
        let end = packet.marker().then(|| packet.sequence());
        let mut open = self.frames.iter_mut().flatten();
        if let Some(frame) = open.find(|frame| frame.has(now, packet)) {
            frame.end = frame.end.or(end);
            return frame.number;
        }
        let number = self.next_frame;
        let newest = self.frames[number.wrapping_sub(1) as usize % OPEN_FRAMES];
        self.has_markers = newest.is_some_and(|frame| frame.end.is_some());
        self.next_frame = number.wrapping_add(1);
        let place = number as usize % OPEN_FRAMES;
        self.frames[place] = Some(Frame { number, timestamp: packet.timestamp(), began: now, end });
        number
    }
}

/// The units of a clock of that rate in a time.
fn units(per_second: u64, time: Duration) -> u64 {
    (time.as_micros() / 1000).saturating_mul(per_second) / 1000
}
