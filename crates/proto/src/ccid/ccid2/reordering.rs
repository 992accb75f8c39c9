//! Packets that are only late: the time to wait for them (RACK, RFC 8985), and the undoing of a reduction for
//! which no packet was lost (RFC 4015).
//!
//! RFC 4341, Section 5 takes a packet for lost when three later ones have arrived. On a path that reorders,
//! this halves the window again and again. Ack Vectors show each late packet: when it arrives before it
//! counts as lost, the path is known to reorder, and when it arrives after, the wait was too short. From the
//! first sign of reordering on, a packet is lost when three later ones have arrived *and* RACK's reordering
//! window has passed. Without reordering nothing differs from RFC 4341.

use std::collections::VecDeque;

use whimbrel_control::reordering::ReorderWindow;
use whimbrel_control::window::Window;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

/// The most lost packets whose late arrival is noticed.
const MAX_LOST: usize = 1024;

/// The state before a reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) window: Window,
    /// The last packet sent at the congestion event before.
    pub(super) recovery: Option<SeqNo>,
}

/// A reduction that is undone if no packet was lost.
#[derive(Clone, Copy, Debug)]
struct Undo {
    before: Reduction,
    /// The last packet sent when it was reduced: losses up to it belong to the same event.
    until: SeqNo,
    /// Number of lost packets of the event that have not arrived.
    missing: u32,
}

/// Known reordering of the path, and lost packets that may arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Reordering {
    law: ReorderWindow,
    /// `RACK.xmit_ts` and `RACK.rtt`: of the packet sent last among those that have arrived.
    newest: Option<(Instant, Duration)>,
    /// Packets that counted as lost, in order of their numbers.
    lost: VecDeque<SeqNo>,
    undo: Option<Undo>,
}

impl Reordering {
    /// Processes the first acknowledgement of a packet. `is_overtaken`: a later packet was acknowledged
    /// earlier.
    pub(super) fn on_arrival(&mut self, now: Instant, sent: Instant, is_overtaken: bool) {
        if self.newest.is_none_or(|(newest, _)| sent >= newest) {
            self.newest = Some((sent, now - sent));
        }
        if is_overtaken {
            self.law.on_reordered(now);
        }
    }

    /// Processes a round-trip time sample.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        self.law.on_rtt(now, rtt);
    }

    /// Time from the transmission of a packet after which it is lost, if three later ones have arrived;
    /// `None` while there was no reordering.
    pub(super) fn patience(&self) -> Option<Duration> {
        let (_, rtt) = self.newest?;
        self.law.window().map(|window| rtt + window)
    }

    /// Processes a loss.
    pub(super) fn on_lost(&mut self, now: Instant, sequence: SeqNo) {
        self.law.on_lost(now);
        if self.lost.len() == MAX_LOST {
            self.lost.pop_front();
        }
        self.lost.push_back(sequence);
        if let Some(undo) = self.undo.as_mut().filter(|undo| !sequence.is_after(undo.until)) {
            undo.missing += 1;
        }
    }

    /// A reduction for the newest `losses`, after the transmission of packet `until`, follows.
    pub(super) fn on_reduction(&mut self, before: Reduction, until: SeqNo, losses: u32) {
        self.undo = Some(Undo { before, until, missing: losses });
    }

    /// A mark belongs to the last congestion event: its reduction was not needless.
    pub(super) fn on_mark(&mut self) {
        self.undo = None;
    }

    /// Processes the acknowledgement of a packet that is not in flight. Returns `true` if it counted as lost.
    pub(super) fn on_late(&mut self, now: Instant, sequence: SeqNo) -> bool {
        let base = self.lost.front().copied().unwrap_or(sequence);
        let Ok(place) =
            self.lost.binary_search_by_key(&sequence.distance_from(base), |lost| lost.distance_from(base))
        else {
            return false;
        };
        self.lost.remove(place);
        self.law.on_late(now);
        if let Some(undo) = self.undo.as_mut().filter(|undo| !sequence.is_after(undo.until)) {
            undo.missing = undo.missing.saturating_sub(1);
        }
        true
    }

    /// The state before the last reduction, once all packets for which the window was reduced have arrived.
    pub(super) fn take_undo(&mut self) -> Option<Reduction> {
        self.undo.take_if(|undo| undo.missing == 0).map(|undo| undo.before)
    }
}
