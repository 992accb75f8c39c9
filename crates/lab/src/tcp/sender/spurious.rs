//! Response to evidence that losses were only reordering, as in Linux (with RACK).
//!
//! A D-SACK (RFC 2883) reports that a retransmission and its original have both arrived. An acknowledgement
//! that echoes a timestamp from before the first retransmission is one of an original (Eifel detection, RFC
//! 3522). If no retransmission of a recovery was needed, its reduction of the window is undone (RFC 3708; RFC
//! 4015 for timeouts). In either case more reordering is tolerated from then on.

use whimbrel_control::window::Window;
use whimbrel_units::Instant;

use super::{SenderPhase, TcpSender};
use crate::tcp::clock;
use crate::tcp::ranges::ByteRange;
use crate::tcp::segment::Segment;

/// Number of recoveries for which a larger reordering window persists (RFC 8985, Section 6.2, Step 4).
const PERSISTENCE: u32 = 16;

/// The largest degree of reordering, in segments (Linux's `tcp_max_reordering`).
const MAX_DEGREE: u64 = 300;

/// The largest reordering window, in quarters of the least round-trip time (Linux).
const MAX_MULTIPLIER: u32 = 255;

/// The state before a recovery, kept as long as the recovery can be undone.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// `undo_marker`: SND.UNA at the beginning.
    marker: u64,
    /// The window before the reduction.
    prior: Window,
    /// Retransmissions that no D-SACK has reported as duplicates, in segments (`undo_retrans`).
    unreported: u64,
    /// Time of the first retransmission (`retrans_stamp`).
    first: Option<Instant>,
}

/// The reordering of a path, as the sender has seen it, and the recovery that may have been spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spurious {
    undo: Option<Undo>,
    /// The number of duplicate acknowledgements that indicate a loss: the largest extent of reordering in
    /// segments, at least DupThresh.
    degree: u64,
    /// `RACK.reo_wnd_mult`.
    multiplier: u32,
    /// `RACK.reo_wnd_persist`.
    persistence: u32,
    /// `RACK.dsack_round`: the multiplier does not grow again until this is acknowledged.
    round: Option<u64>,
    /// Duplicate segments reported so far.
    reported: u64,
}

/// The consequence of an acknowledgement for loss detection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Evidence {
    /// Losses are detected as usual.
    None,
    /// An original has arrived while retransmissions are in flight: nothing more is marked as lost.
    Reordering,
}

impl Spurious {
    pub(super) fn new(duplicate_threshold: u32) -> Self {
        Self {
            undo: None,
            degree: duplicate_threshold.into(),
            multiplier: 1,
            persistence: 0,
            round: None,
            reported: 0,
        }
    }

    /// The present threshold for duplicates, in segments.
    pub(super) fn degree(&self) -> u64 {
        self.degree
    }

    /// `RACK.reo_wnd_mult`.
    pub(super) fn multiplier(&self) -> u32 {
        self.multiplier
    }

    /// Data of `segments` segments was overtaken.
    pub(super) fn note_extent(&mut self, segments: u64) {
        self.degree = self.degree.max(segments.min(MAX_DEGREE));
    }

    /// A segment is sent again.
    pub(super) fn on_retransmission(&mut self, now: Instant) {
        if let Some(undo) = &mut self.undo {
            undo.first.get_or_insert(now);
            undo.unreported += 1;
        }
    }

    /// The growth of the reordering window (RFC 8985, Section 6.2, Step 4).
    pub(super) fn grow(&mut self, unacknowledged: u64, high: u64) {
        if self.round.is_some_and(|end| unacknowledged < end) {
            return;
        }
        self.round = Some(high);
        self.multiplier = (self.multiplier + 1).min(MAX_MULTIPLIER);
        self.persistence = PERSISTENCE;
    }

    /// A recovery has ended and is not undone.
    pub(super) fn on_recovery_end(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.multiplier = 1;
        }
    }

    /// `true` if each retransmission was reported as a duplicate.
    fn is_explained(&self) -> bool {
        self.undo.is_some_and(|undo| undo.first.is_some() && undo.unreported == 0)
    }

    /// `true` if an acknowledgement is of data that was sent before the first retransmission.
    fn is_of_original(&self, segment: &Segment) -> bool {
        let first = self.undo.and_then(|undo| undo.first);
        let (Some(first), Some(timestamps)) = (first, segment.timestamps) else { return false };
        (timestamps.echo.wrapping_sub(clock(first)) as i32) < 0
    }
}

impl TcpSender {
    /// A recovery begins: its reduction may have to be undone. To be called before the reduction.
    pub(super) fn begin_undo(&mut self) {
        if !self.config.recovery.undo {
            return;
        }
        let Window { cwnd, ssthresh } = self.window;
        // A loss probe in flight is one of the retransmissions to be explained.
        let unreported = self.whole_segments(self.transmissions.retransmitted());
        // Linux: three quarters of the window at least.
        let prior = Window { cwnd, ssthresh: ssthresh.max(0.75 * cwnd) };
        self.spurious.undo = Some(Undo { marker: self.unacknowledged, prior, unreported, first: None });
    }

    /// The retransmission timer has expired; `repeated` if it had before for the same segment.
    pub(super) fn prepare_undo_of_timeout(&mut self, repeated: bool) {
        match self.recovery.phase {
            SenderPhase::Open => {
                let threshold = self.config.recovery.duplicate_threshold;
                let degree = self.spurious.degree * u64::from(self.config.segment_size);
                if self.transmissions.sacked() >= degree {
                    // Duplicates enough for any reordering, and the segment has not come.
                    self.spurious.degree = threshold.into();
                }
                self.begin_undo();
            }
            SenderPhase::Timeout if !repeated => self.begin_undo(),
            // The reduction of the present recovery is the one to be undone.
            SenderPhase::Timeout | SenderPhase::FastRecovery => {}
        }
    }

    /// Processes the D-SACK of an acknowledgement, and undoes the last recovery if it was needless. `before`:
    /// SND.UNA before the acknowledgement.
    pub(super) fn find_spurious(&mut self, segment: &Segment, before: u64) -> Evidence {
        if !self.config.recovery.undo {
            return Evidence::None;
        }
        if self.spurious.round.is_some_and(|end| self.unacknowledged >= end) {
            self.spurious.round = None;
        }
        if let Some(range) = segment.duplicate() {
            self.on_duplicate_sack(range);
        }
        let advances = self.unacknowledged > before;
        let is_of_original = advances && self.spurious.is_of_original(segment);
        let is_over = self.unacknowledged >= self.recovery.point;
        match self.recovery.phase {
            SenderPhase::FastRecovery if is_of_original && !is_over => {
                self.transmissions.note_reordering();
                let extent = self.transmissions.highest().saturating_sub(before);
                let extent = self.whole_segments(extent);
                self.spurious.note_extent(extent);
                if self.transmissions.retransmitted() > 0 {
                    return Evidence::Reordering;
                }
                self.undo(true);
            }
            SenderPhase::Timeout if advances && (is_of_original || self.spurious.is_explained()) => {
                self.undo(true);
            }
            SenderPhase::FastRecovery if is_of_original => self.undo(false),
            SenderPhase::Open | SenderPhase::FastRecovery if self.spurious.is_explained() => {
                let spurious = &mut self.spurious;
                spurious.persistence = (spurious.persistence + 1).min(PERSISTENCE);
                self.undo(false);
            }
            _ => {}
        }
        Evidence::None
    }

    /// A D-SACK has arrived.
    fn on_duplicate_sack(&mut self, range: ByteRange) {
        let segments = self.whole_segments(range.length());
        self.spurious.reported += segments;
        // More duplicates than retransmissions: the network makes copies.
        if self.spurious.reported > self.counts.retransmits {
            return;
        }
        // A probe is sent before anything is known to be lost.
        if !(self.probe.is_retransmission && self.probe.end == Some(range.end)) {
            self.spurious.grow(self.unacknowledged, self.high);
        }
        let is_above = range.end > self.unacknowledged;
        if is_above && !self.transmissions.is_retransmitted(range.start) {
            return;
        }
        if is_above {
            self.transmissions.note_reordering();
            let extent = self.transmissions.highest().saturating_sub(range.start);
            let extent = self.whole_segments(extent);
            self.spurious.note_extent(extent);
        }
        if let Some(undo) = self.spurious.undo.as_mut().filter(|undo| range.end > undo.marker) {
            undo.unreported = undo.unreported.saturating_sub(segments);
        }
    }

    /// Returns to the window before the last recovery. `is_unmarked`: what is marked as lost counts as in
    /// flight again.
    fn undo(&mut self, is_unmarked: bool) {
        let Some(Undo { prior, .. }) = self.spurious.undo.take() else { return };
        self.window.cwnd = self.window.cwnd.max(prior.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(prior.ssthresh);
        self.congestion_echo.announce = false;
        self.paced.undo();
        self.counts.undone += 1;
        self.rate_reduction = None;
        self.recovery.resend = false;
        self.recovery.phase = SenderPhase::Open;
        if is_unmarked {
            self.transmissions.unmark_lost();
        }
    }

    fn whole_segments(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.config.segment_size))
    }
}
